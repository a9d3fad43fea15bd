"""The shared statements as psycopg wants them, and rows in the form that both sides can hold."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from triagebot.ledger.postgres_pool import Connection
from triagebot.ledger.statements import Row

# Words in comments and in strings are no parameters.
_PARAMETER = re.compile(r"--[^\n]*|('[^']*')|(?<!:):(\w+)|(%)")


@functools.cache
def psycopg_style(text: str) -> str:
    """`:name` is how the shared SQL writes a parameter, and what sqlite3 takes. Once for each statement."""

    def replaced(found: re.Match[str]) -> str:
        quoted, name, percent = found.groups()
        return quoted.replace("%", "%%") if quoted else f"%({name})s" if name else "%%" if percent else ""

    return _PARAMETER.sub(replaced, text)


def fetch(connection: Connection, text: str, values: Mapping[str, object]) -> list[Row]:
    cursor = connection.execute(psycopg_style(text), {name: _storable(value) for name, value in values.items()})
    return list(cursor.fetchall()) if cursor.description else []


def put(connection: Connection, text: str, rows: Sequence[Row]) -> None:
    connection.cursor().executemany(
        psycopg_style(text), [{name: _storable(value) for name, value in row.items()} for row in rows]
    )


def _storable(value: object) -> object:
    """A text of PostgreSQL's holds no NUL, and no half of a surrogate pair (what a model said may hold both)."""
    if not isinstance(value, str):
        return value
    return str(value).replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
