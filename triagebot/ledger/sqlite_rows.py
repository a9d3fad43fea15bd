"""Statements on a connection to a SQLite file, and what they return."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from triagebot.ledger.statements import Row


def fetch(connection: sqlite3.Connection, sql: str, values: Mapping[str, object]) -> list[Row]:
    # Fetched at once: until then, an INSERT or UPDATE with RETURNING is not done, and blocks the commit.
    cursor = connection.execute(sql, values)
    if not (rows := cursor.fetchall()):
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in rows]


def pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchall()[0][0])


def split(script: str) -> Iterator[str]:
    """Single statements: `executescript` would commit the transaction that they belong to."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
