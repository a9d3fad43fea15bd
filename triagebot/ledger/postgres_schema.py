"""The schema of a ledger on a PostgreSQL server: whether it is one, of which version, and how it becomes ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from triagebot.core.faults import LedgerUnusable
from triagebot.ledger import stamps
from triagebot.ledger.postgres_pool import Connection

OLDEST = 13
"""The oldest server: from here on, the fate of a transaction can be asked for by its 64-bit number."""

_FOUND = """
SELECT to_regclass(format('%%I.schema_version', %(schema)s::text)) IS NOT NULL AS ours,
       EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = %(schema)s) AS made,
       (SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p', 'v', 'm')) AS tables
"""


HOLD = "LOCK TABLE schema_version IN ACCESS EXCLUSIVE MODE"
"""Waits for every transaction on the ledger, each of which has read the number, and lets none begin."""
STAMP = "UPDATE schema_version SET version = :stamp WHERE version = :before RETURNING version"


def version(connection: Connection, schema: str, called: str, newest: int, *, half_copied: bool = False) -> int | None:
    """The number that the ledger carries, `None` where there are no tables yet. Raises `LedgerUnusable`.

    `half_copied` lets in one into which a copy has not ended.
    """
    _check_server(connection, called)
    found = _one(connection, _FOUND, schema=schema)
    if not found["ours"]:
        if found["tables"]:
            raise LedgerUnusable(
                f"ledger {called}: the schema {schema} is another program's; name another one with ?schema=NAME"
            )
        return None
    stored = _one(connection, sql.SQL("SELECT version FROM {}.schema_version").format(sql.Identifier(schema)))
    known = int(stored["version"])
    if not half_copied:
        stamps.check_whole(known, called=called)
    stamps.check_known(known, newest, called=called, other="schema")
    return known


def migrate(connection: Connection, schema: str, called: str, steps: Sequence[str], *, lock_timeout: int) -> None:
    """Do the steps that are missing, all in one transaction, while no other process does. `lock_timeout` in ms."""
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = {lock_timeout}")
        key = "SELECT pg_advisory_xact_lock(hashtextextended('triagebot migrates ' || %(schema)s, 0))"
        connection.execute(key, {"schema": schema})
        known = version(connection, schema, called, len(steps))  # another process may have done it
        if known is None:
            _make(connection, schema, called)
        connection.execute(sql.SQL("SET LOCAL search_path TO {}, pg_temp").format(sql.Identifier(schema)))
        for step in steps[known or 0 :]:
            connection.execute(step)
        connection.execute("UPDATE schema_version SET version = %(steps)s", {"steps": len(steps)})


def _make(connection: Connection, schema: str, called: str) -> None:
    name = sql.Identifier(schema)
    try:
        if not _one(connection, _FOUND, schema=schema)["made"]:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        connection.execute(sql.SQL("CREATE TABLE {}.schema_version (version BIGINT NOT NULL)").format(name))
        connection.execute(sql.SQL("INSERT INTO {}.schema_version VALUES (0)").format(name))
    except psycopg.errors.InsufficientPrivilege as error:
        user = connection.info.user
        raise LedgerUnusable(
            f"ledger {called}: the user {user} may not make the schema {schema}; as the database's owner run: "
            f"CREATE SCHEMA IF NOT EXISTS {schema}; GRANT ALL ON SCHEMA {schema} TO {user}"
        ) from error


def _check_server(connection: Connection, called: str) -> None:
    if connection.info.server_version < OLDEST * 10_000:
        raise LedgerUnusable(
            f"ledger {called}: the server is PostgreSQL {connection.info.server_version // 10_000}; take {OLDEST} or "
            "later"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise LedgerUnusable(
            f"ledger {called}: the database is encoded in {encoding}, which cannot hold every text; make one with "
            "createdb --encoding=UTF8 --template=template0"
        )


def _one(connection: Connection, query: str | sql.Composed, **values: object) -> dict[str, Any]:
    (row,) = connection.execute(query, values or None).fetchall()
    return row
