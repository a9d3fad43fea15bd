"""`doctor` where the ledger is a schema on a PostgreSQL server: read as it is, neither made nor brought up to date."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.ledger.conftest import schema, server
from tests.ledger.pieces import parse_server
from tests.world import World

__all__ = ["schema", "server"]

Doctor = Callable[..., tuple[int, dict[str, dict[str, str]]]]


def _execute(address: str, statement: str) -> list[tuple[object, ...]]:
    place = parse_server(address)
    with psycopg.connect(place.url) as connection:
        cursor = connection.execute(statement.format(schema=place.schema))
        return cursor.fetchall() if cursor.description else []


def test_a_schema_that_is_not_there_is_not_made(world: World, doctor: Doctor, schema: str) -> None:
    code, found = doctor(TRIAGEBOT_LEDGER=schema)
    assert (code, found["ledger"]["state"]) == (0, "ok")
    assert "is not there yet and will be made" in found["ledger"]["fact"]
    assert found["schedule"]["state"] == "warning"
    name = parse_server(schema).schema
    assert _execute(schema, f"SELECT 1 FROM pg_namespace WHERE nspname = '{name}'") == []


def test_a_server_tells_of_its_nights(world: World, doctor: Doctor, schema: str) -> None:
    world.crash()
    world.night(TRIAGEBOT_LEDGER=schema)
    code, found = doctor("--max-age", "26h", TRIAGEBOT_LEDGER=schema)
    assert code == 0
    assert [name for name, row in found.items() if row["state"] != "ok"] == []
    assert "last night 0 min ago" in found["ledger"]["fact"]


def test_an_older_schema_is_told_and_left(world: World, doctor: Doctor, schema: str) -> None:
    world.night(TRIAGEBOT_LEDGER=schema)
    _execute(schema, "UPDATE {schema}.schema_version SET version = 0")
    code, found = doctor(TRIAGEBOT_LEDGER=schema)
    assert (code, found["ledger"]["state"]) == (0, "ok")
    assert "schema 0, to be brought to" in found["ledger"]["fact"]
    assert found["schedule"] == {
        "check": "schedule",
        "state": "warning",
        "fact": "not looked at",
        "mend": 'mend "ledger" first',
    }
    assert _execute(schema, "SELECT version FROM {schema}.schema_version") == [(0,)]


@pytest.mark.parametrize("address", ["postgresql://bot:hunter22@127.0.0.1:9/triage", "postgresql://bot:hunter22@"])
def test_a_server_that_is_away_is_broken_without_its_password(world: World, doctor: Doctor, address: str) -> None:
    code, found = doctor(TRIAGEBOT_LEDGER=address)
    assert code == 2
    assert "hunter22" not in str(found)
