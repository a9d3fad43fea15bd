"""SQL is text with a name and the database's own words put in; each file ships with the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import triagebot.ledger
from triagebot.ledger import copying, statements
from triagebot.ledger.statements import Transaction

ROOM = Path(triagebot.ledger.__file__).parent
WORDS = {"now": "NOW", "utc": "UTC", "max": "GREATEST", "min": "LEAST", "serial": "SERIAL"}
WORDS |= {"hold": "HOLD(:issue)", "try_to_hold": "TRY(:issue)", "skip_locked": "SKIP LOCKED", "numbered": "SETVAL"}
WORDS |= {"bytewise": "BINARY", "walk_by_key": "1"}
COPIED = {f"{act}_{table}" for act in ("page", "put", "cut", "count") for table in copying._TABLES}


def test_every_statement_is_used_and_every_name_exists() -> None:
    code = "".join(source.read_text() for source in ROOM.glob("*.py"))
    for name in statements.queries(WORDS):
        assert name in COPIED or f'"{name}"' in code, name
    assert statements.queries(WORDS).keys() >= COPIED
    for used in re.findall(r'tx\.(?:all|first|one)\(\s*"(\w+)"', code):
        assert used in statements.queries(WORDS), used


def test_a_dialect_puts_its_own_words_in() -> None:
    assert statements.expand("SELECT {now}, '{}', {max}(1, 2)", WORDS) == "SELECT NOW, '{}', GREATEST(1, 2)"
    with pytest.raises(KeyError):
        statements.expand("SELECT {unheard_of}", WORDS)
    assert "{now}" not in statements.queries(WORDS)["claim"]
    assert "SERIAL" in statements.migrations(WORDS)[0]


def test_no_word_of_one_database_stands_in_the_shared_sql() -> None:
    own = re.compile(r"julianday|strftime|unixepoch|AUTOINCREMENT|INSERT OR|json_|PRAGMA|rowid|now\(\)", re.IGNORECASE)
    found = [(file.name, own.findall(file.read_text())) for file in (ROOM / "sql").rglob("*.sql")]
    assert [each for each in found if each[1]] == []


def test_migrations_are_numbered_without_a_gap() -> None:
    names = sorted(file.name for file in (ROOM / "sql" / "migrations").glob("*.sql"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


def test_two_statements_of_one_name_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"b\.sql: a second statement is named claim"):
        statements.named({"a.sql": "-- name: claim\nSELECT 1;", "b.sql": "-- name: claim\nSELECT 2;"})


def test_a_statement_that_must_return_one_row_returns_one() -> None:
    none = Transaction(lambda sql, values: [], {"count": "SELECT"})
    with pytest.raises(ValueError, match="unpack"):
        none.one("count")
    assert none.first("count") is None
