"""Whole nights with their ledger on PostgreSQL, through the command line, on the embedded GitHub and model."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.ledger import servers
from tests.ledger.pieces import parse_server
from tests.world import World
from triagebot.ledger import opening, postgres

PASSWORD = "hunter2-and-more"


@pytest.fixture
def here(world: World, schema: str) -> World:
    world.env["TRIAGEBOT_LEDGER"] = schema
    return world


def test_a_night_is_like_any_other(here: World) -> None:
    issue = here.crash()
    here.night()
    assert len(here.own(issue)) == 1
    here.night()
    assert here.stand.count == 1
    assert "1 labelled" in here.run(command="status").out
    assert "finished" in here.run(str(issue), command="show").out
    assert here.run(command="retry").code == 0


def test_a_dry_run_leaves_the_server_alone(here: World, schema: str) -> None:
    here.crash()
    ran = here.night("--dry-run")
    assert [payload["action"] for payload in ran.json["payloads"]] == ["labels", "comment"]
    with psycopg.connect(parse_server(schema).url) as connection:
        (made,) = connection.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname = %s", [parse_server(schema).schema]
        )
    assert made == (0,)


def test_an_older_copy_of_the_ledger_brings_no_second_comment(here: World, schema: str, tmp_path: Path) -> None:
    """A standby took over that had not heard of the last night: the markers on the issues tell."""
    first = here.crash()
    here.night()
    copy = str(tmp_path / "before.db")
    assert here.run("copy", schema, copy, command="ledger").code == 0
    second = here.crash("It crashes again", "Error: once more")
    here.night()
    postgres.drop_schema(parse_server(schema))
    assert here.run("copy", copy, schema, command="ledger").code == 0
    for _ in range(2):
        here.night()
    assert [len(here.own(number)) for number in (first, second)] == [1, 1]
    assert here.stand.count == 2


def test_moving_and_pruning_are_told_in_a_sentence(here: World, schema: str, tmp_path: Path) -> None:
    here.crash()
    here.night()
    moved = here.run("copy", schema, str(tmp_path / "to.db"), command="ledger")
    assert moved.code == 0
    assert f"copied {parse_server(schema).called} to {tmp_path / 'to.db'}: 1 runs, 2 outbox, 1 nights" in moved.out
    assert "copying: 0 of " in moved.err
    again = here.run("copy", schema, str(tmp_path / "to.db"), command="ledger")
    assert again.code == 2
    assert "knows something already" in again.err
    assert here.run("prune", command="ledger").out == "dropped 0 events, 0 nights, 0 runs, 0 writes, 0 outcomes\n"
    short = here.run("prune", "--older-than", "1d", command="ledger")
    assert (short.code, short.err.count("\n")) == (2, 1)


def test_no_server_is_one_sentence_and_no_password(here: World) -> None:
    here.crash()
    ran = here.run(TRIAGEBOT_LEDGER=f"postgresql://bot:{PASSWORD}@127.0.0.1:1/triage")
    assert ran.code == 2
    assert ran.err.startswith(
        "triagebot: ledger postgresql://127.0.0.1:1/triage: cannot be reached (Connection refused"
    )
    assert ran.err.count("\n") == 1
    assert PASSWORD not in ran.err + ran.out
    assert here.stand.count == 0, "nothing is paid for that could not be recorded"


@pytest.fixture
def own_server() -> Iterator[Any]:
    with servers.own() as server:
        yield server


def at_the_nth(what: str, act: Callable[[], object], n: int = 1) -> Callable[..., Any]:
    """`psycopg`'s execute, before which something happens at the nth statement that holds `what`."""
    shipped, seen = psycopg.Connection.execute, [0]

    def execute(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        if what == query if what == "COMMIT" else what in str(query):
            seen[0] += 1
            if seen[0] == n:
                act()
        return shipped(self, query, *args, **kwargs)

    return execute


@pytest.mark.slow
@pytest.mark.skipif(bool(servers.ELSEWHERE), reason="stops its server")
def test_a_server_that_goes_away_ends_the_night_in_a_sentence_and_the_next_one_catches_up(
    world: World, own_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.env["TRIAGEBOT_LEDGER"] = own_server.get_uri()
    numbers = [world.crash(f"Crash {n}") for n in range(5)]
    monkeypatch.setattr(opening, "open_ledger", functools.partial(opening.open_ledger, timeout=1.0))
    gone = at_the_nth("SET status = 'done'", lambda: servers.stop(own_server))
    monkeypatch.setattr(psycopg.Connection, "execute", gone)
    began = time.monotonic()
    ran = world.run("--workers", "2")
    assert time.monotonic() - began < 20
    assert (ran.code, ran.err.count("triagebot: ")) == (2, 1)
    assert "cannot be reached" in ran.err
    assert world.own_per_issue() == [0] * 5
    asked = world.stand.count
    own_server.ensure_postgres_running()
    with psycopg.connect(own_server.get_uri()) as connection:
        connection.execute("UPDATE triagebot.runs SET lease_until = 0 WHERE status = 'running'")
    world.night()
    assert [len(world.own(number)) for number in numbers] == [1] * 5
    assert asked <= 2
    assert world.stand.count <= 5 + 2


@pytest.mark.slow
@pytest.mark.skipif(bool(servers.ELSEWHERE), reason="restarts its server")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.parametrize(
    "what",
    [
        "INSERT INTO runs",
        "SET status = 'done'",
        "INSERT INTO outbox",
        "COMMIT",
        "SET was = status",
        "SET status = 'sent'",
    ],
)
def test_a_server_that_restarts_in_mid_transaction_costs_nothing(
    world: World, own_server: Any, monkeypatch: pytest.MonkeyPatch, mode: str, what: str
) -> None:
    world.env["TRIAGEBOT_LEDGER"] = own_server.get_uri()
    numbers = [world.crash(f"Crash {n}") for n in range(3)]
    restarted = []

    def restart() -> None:
        restarted.append(1)
        servers.stop(own_server, mode)
        own_server.ensure_postgres_running()

    monkeypatch.setattr(psycopg.Connection, "execute", at_the_nth(what, restart, 3 if what == "COMMIT" else 1))
    world.run("--workers", "2")
    monkeypatch.undo()
    assert restarted == [1]
    with psycopg.connect(own_server.get_uri()) as connection:
        connection.execute("UPDATE triagebot.runs SET lease_until = 0 WHERE status = 'running'")
    for _ in range(2):
        world.run()
    assert [len(world.own(number)) for number in numbers] == [1, 1, 1]
    assert world.stand.count <= 3 + 2
