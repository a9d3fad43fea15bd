"""A PostgreSQL server for whatever test asks for one, and a schema of the test's own on it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.ledger import servers
from tests.ledger.pieces import parse_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a real PostgreSQL."""
    folder = tmp_path_factory.getbasetemp()
    return servers.shared(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder)


@pytest.fixture
def schema(server: str) -> Iterator[str]:
    """The address of a schema of the test's own, which is not there yet."""
    address = f"{server}{'&' if '?' in server else '?'}schema=test_{uuid.uuid4().hex[:16]}"
    yield address
    if servers.ELSEWHERE:
        _clear_up(server, parse_server(address).schema)


def _clear_up(server: str, prefix: str) -> None:
    with psycopg.connect(server, autocommit=True) as admin:
        made = admin.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", [prefix]).fetchall()
        for (name,) in made:
            admin.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
