"""Whole nights whose server is taken over by an older copy of itself, hangs, has no room, or undoes what it was told.

Two servers behind one address: the second has what a dump of the first one brought. What the ledger no longer knows,
the markers on the issues tell.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.ledger import proxy, servers
from tests.ledger.pieces import parse_server
from tests.ledger.proxy import Proxy
from tests.ledger.test_nights_on_a_server import at_the_nth
from tests.world import World
from triagebot.ledger import postgres
from triagebot.ledger.postgres_pool import Limits
from triagebot.sandbox import faults

pytestmark = pytest.mark.skipif(bool(servers.ELSEWHERE), reason="needs two servers of its own")

STEPS = [
    "INSERT INTO runs",
    "SET status = 'done'",
    "INSERT INTO outbox",
    "COMMIT",
    "SET was = status",
    "SET status = 'sent'",
]


@dataclass
class Address:
    """Where the ledger lies for the bot: on `first`, and after `take_over` on `second`, which is as old as the dump."""

    way: Proxy
    first: str
    second: str
    programs: Path
    schema: str

    @property
    def now(self) -> str:
        """The server that answers."""
        return next(each for each in (self.first, self.second) if proxy.socket_of(each) == self.way.server)

    def dump(self) -> None:
        """Bring the second server up to what the first one knows now, by the servers' own means."""
        assert self.now == self.first, "another one has taken over already"
        with psycopg.connect(self.second, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")
        dump = [self.programs / "pg_dump", f"--dbname={self.first}", f"--schema={self.schema}"]
        told = subprocess.run(dump, check=True, capture_output=True).stdout
        restore = [self.programs / "psql", f"--dbname={self.second}", "--quiet", "--set=ON_ERROR_STOP=1"]
        subprocess.run(restore, input=told, check=True, stdout=subprocess.DEVNULL)

    def take_over(self) -> None:
        self.way.server = proxy.socket_of(self.second)
        self.way.close()

    def end_leases(self) -> None:
        """As time does: what a worker held that is no more."""
        for table, status in (("runs", "running"), ("outbox", "sending")):
            words = f"UPDATE {self.schema}.{table} SET lease_until = 0 WHERE status = '{status}'"
            with psycopg.connect(self.now, autocommit=True) as connection:
                connection.execute(words)


@pytest.fixture(scope="module")
def standby() -> Iterator[Any]:
    with servers.own() as made:
        yield made


@pytest.fixture
def here(world: World, server: str, standby: Any) -> Iterator[Address]:
    schema = f"test_{uuid.uuid4().hex[:16]}"
    with proxy.before(server) as way:
        world.env["TRIAGEBOT_LEDGER"] = way.address(schema)
        yield Address(way, server, standby.get_uri(), Path(standby.bin_path), schema)


def posts(world: World, what: str) -> list[str]:
    return [seen.path for seen in world.hub.writes() if seen.method == "POST" and seen.path.endswith(f"/{what}")]


def test_what_the_older_copy_does_not_know_the_issues_tell(world: World, here: Address) -> None:
    known, changed, deleted, edited, unlabelled = (world.crash(f"Known {n}") for n in range(5))
    world.night()
    here.dump()
    late = world.crash("Late", "Error: later than the copy")
    world.repo.edit_issue(changed, body="Error: it fails at start, and at the end")
    world.repo.delete_comment(world.own(deleted)[0].id)
    world.repo.edit_comment(world.own(edited)[0].id, world.own(edited)[0].body + "\nMine now.")
    world.repo.unlabel(unlabelled, "bug")
    world.night()
    bodies = {number: [c.body for c in world.own(number)] for number in (known, changed, edited, unlabelled, late)}
    labelled, asked, before = posts(world, "labels"), world.stand.count, len(world.hub.writes())
    here.take_over()
    for _ in range(3):
        world.night()
    assert world.writes_since(before) == []
    assert {number: [c.body for c in world.own(number)] for number in bodies} == bodies
    assert [len(world.own(number)) for number in (known, changed, deleted, edited, unlabelled, late)] == [
        1,
        1,
        0,
        1,
        1,
        1,
    ]
    assert posts(world, "labels") == labelled
    assert world.stand.count == asked


@pytest.mark.parametrize(
    ("as_of", "step", "nth"),
    [
        ("", "INSERT INTO runs", 2),
        ("", "SET status = 'done'", 2),
        ("", "INSERT INTO outbox", 2),
        ("", "COMMIT", 4),
        ("", "SET was = status", 2),
        ("", "SET status = 'sent'", 2),
        ("SET was = status", "SET was = status", 2),
        ("SET was = status", "SET status = 'sent'", 1),
        ("SET was = status", "SET status = 'sent'", 2),
        ("SET status = 'sent'", "SET status = 'sent'", 2),
    ],
)
@pytest.mark.slow
def test_a_take_over_in_mid_night_leaves_one_comment_and_no_twin(
    world: World, here: Address, monkeypatch: pytest.MonkeyPatch, as_of: str, step: str, nth: int
) -> None:
    """The copy is from before the night, or from the first time that a row is about to be sent, or is sent."""
    world.crash("Known")
    world.night()
    here.dump()
    numbers = [world.crash(f"Crash {n}", f"Error: number {n}") for n in range(3)]
    monkeypatch.setattr(psycopg.Connection, "execute", at_the_nth(step, here.take_over, nth))
    if as_of:
        monkeypatch.setattr(psycopg.Connection, "execute", at_the_nth(as_of, here.dump))
    world.run("--workers", "2")
    monkeypatch.undo()
    assert here.now == here.second, "nothing took over"
    here.end_leases()
    for _ in range(3):
        world.run()
    assert world.own_per_issue() == [1] * 4
    assert [name for number in numbers for name in world.repo.issue(number).labels] == ["bug"] * 3
    assert len(posts(world, "comments")) == 4, "a twin was posted, and removed again"
    assert len(posts(world, "labels")) <= 4 + 1, "of what was on its way, one may be repeated"
    before = len(world.hub.writes())
    world.night()
    assert world.writes_since(before) == []


def test_a_worker_that_posts_after_another_took_over_leaves_no_twin(world: World, here: Address) -> None:
    """It stalls between its last look and its POST, its server is gone, and another one answers from the older copy."""
    world.night()
    here.dump()
    number = world.crash()

    def take_over() -> None:
        here.take_over()
        process = world.start()
        assert process.wait(60) in {0, 1}
        assert len(world.own(number)) == 1

    world.once(faults.POST_COMMENT.fits, take_over)
    world.run()
    assert len(posts(world, "comments")) == 2, "no twin arose"
    for _ in range(2):
        world.run()
    assert len(world.own(number)) == 1
    assert world.stand.count == 2


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives up after a second, not after a minute."""
    shipped = postgres.open_schema
    limits = Limits(statement=1.0, connect=2, silence=1.0)
    monkeypatch.setattr(
        postgres, "open_schema", lambda *a, **how: shipped(*a, **how | {"limits": limits, "timeout": 1})
    )


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("step", [*(pytest.param(step, marks=pytest.mark.slow) for step in STEPS[:-1]), STEPS[-1]])
def test_a_server_that_hangs_ends_the_night_in_a_sentence_and_the_next_one_catches_up(
    world: World, here: Address, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    world.crash("Known")
    world.night()
    numbers = [world.crash(f"Crash {n}", f"Error: number {n}") for n in range(3)]
    hang = at_the_nth(step, lambda: setattr(here.way, "silent", True), 4 if step == "COMMIT" else 2)
    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", hang)
        ran = world.run("--workers", "2")
    assert here.way.silent, "nothing hung"
    assert (ran.code, ran.err.count("triagebot: ledger ")) == (2, 1)
    assert "cannot be reached" in ran.err or "the connection was lost" in ran.err
    here.way.silent = False
    here.way.close()
    here.end_leases()
    for _ in range(2):
        world.run()
    assert world.own_per_issue() == [1] * 4
    assert [name for number in numbers for name in world.repo.issue(number).labels] == ["bug"] * 3


@pytest.mark.parametrize("state", ["40001", "40P01", "57P01"])
def test_whatever_the_server_undoes_once_costs_nothing(
    world: World, schema: str, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """A serialization failure, a deadlock, a session that an administrator ended: once at each step of one night."""
    world.env["TRIAGEBOT_LEDGER"] = schema
    numbers = [world.crash(f"Crash {n}", f"Error: number {n}") for n in range(3)]
    shipped, left = psycopg.Connection.execute, set(STEPS)

    def execute(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        step = next((each for each in left if each in str(query) and not str(query).startswith("BEGIN")), "")
        left.discard(step)
        if step:
            shipped(self, f"DO $$ BEGIN RAISE EXCEPTION 'undone' USING ERRCODE = '{state}'; END $$")
        return shipped(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    world.night("--workers", "2")
    assert left == set()
    assert [len(world.own(number)) for number in numbers] == [1, 1, 1]
    assert world.stand.count == 3
    assert len(posts(world, "labels")) == 3


def test_a_server_with_room_for_one_connection_only_is_enough(world: World, server: str, schema: str) -> None:
    role, name = f"crowd_{uuid.uuid4().hex[:8]}", parse_server(schema).schema
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1")
        admin.execute(f"CREATE SCHEMA {name} AUTHORIZATION {role}")
    world.env["TRIAGEBOT_LEDGER"] = schema.replace("//postgres:@", f"//{role}@")
    numbers = [world.crash(f"Crash {n}", f"Error: number {n}") for n in range(6)]
    world.night("--workers", "4")
    assert [len(world.own(number)) for number in numbers] == [1] * 6


SHIFTED = """
import datetime, sys, time

shift, now = float(sys.argv.pop(1)), time.time


class Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=shift)


datetime.datetime, time.time = Shifted, lambda: now() + shift

from triagebot.cli.main import main

sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("shift", [-86400.0, 86400.0])
def test_a_host_whose_clock_is_wrong_by_a_day_takes_nothing_from_another(
    world: World, schema: str, shift: float
) -> None:
    """By its clock every lease is over, or begins tomorrow; a night of it goes by between a claim and its POST."""
    world.env["TRIAGEBOT_LEDGER"] = schema
    number, codes = world.crash(), []
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        SHIFTED,
        str(shift),
        "run",
        "--config",
        str(world.folder / "config.yml"),
    ]

    def wrong() -> None:
        codes.append(subprocess.run(words, env={**os.environ, **world.env}, timeout=60, check=False).returncode)

    world.once(faults.POST_COMMENT.fits, wrong)
    world.night()
    assert codes in ([0], [1])
    assert len(world.own(number)) == len(posts(world, "comments")) == len(posts(world, "labels")) == 1
    later = world.crash("Later", "Error: another one")
    wrong()  # the day before, the issue is not there yet
    world.night()
    assert len(world.own(later)) == 1
    assert len(posts(world, "comments")) == len(posts(world, "labels")) == world.stand.count == 2
