"""What other bots met in the field, and what must hold here instead."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.world import CONFIG, World
from triagebot.ledger import opening, sqlite, statements
from triagebot.sandbox import faults
from triagebot.sandbox.exchange import Call

ROOT = Path(__file__).parents[2]


def time_passes(world: World) -> None:
    """Leases, settle times and gates are over."""
    world.sql("UPDATE runs SET lease_until = 0 WHERE status = 'running'")
    world.sql("UPDATE outbox SET lease_until = 0 WHERE status = 'sending'")
    world.sql("UPDATE outbox SET not_before = 0")
    world.sql("UPDATE pace SET closed_until = 0")


def sent(world: World, ending: str) -> int:
    return sum(write.startswith("POST") and write.endswith(ending) for write in world.writes_since(0))


# --- nights on end


def test_an_untouched_issue_is_answered_once_however_many_nights_pass(world: World) -> None:
    number = world.crash()
    for day in ("2025-12-01", "2025-12-02", "2025-12-06"):
        world.night("--day", day)
    assert len(world.own(number)) == 1
    assert len(world.hub.writes()) == 2
    assert world.stand.count == 1


def test_what_came_in_while_no_night_ran_is_taken_by_the_next(world: World) -> None:
    world.configure(CONFIG.replace("horizon: off", "horizon: 30d"))
    for days in (1, 2, 3):
        world.crash(f"Crash {days}", created_at=world.hub.now() - timedelta(days=days))
    world.night()
    assert world.own_per_issue() == [1, 1, 1]


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def moves(to: str) -> None:
        monkeypatch.setenv("TZ", to)
        time.tzset()

    yield moves
    monkeypatch.delenv("TZ")
    time.tzset()


def test_the_clocks_of_no_zone_make_a_second_night(world: World, zone: Callable[[str], None]) -> None:
    """At any moment it is another date in one of these zones than in the other."""
    number, days = world.crash(), set()
    for name in ("Pacific/Kiritimati", "Etc/GMT+12"):
        zone(name)
        days.add(world.night().json["day"])
    assert days == {world.own(number)[0].created_at.date().isoformat()}
    assert len(world.hub.writes()) == 2
    assert world.stand.count == 1


def test_a_ledger_of_some_nights_ago_leads_to_no_second_comment(world: World) -> None:
    """As a cache restores it that was never saved again."""
    world.crash()
    world.night("--day", "2025-12-01")
    old = world.folder / "old.db"
    with closing(sqlite3.connect(world.ledger)) as ledger, closing(sqlite3.connect(old)) as copy:
        ledger.backup(copy)
    for day in range(2, 6):
        world.crash(f"Crash {day}")
        world.night("--day", f"2025-12-0{day}")
    world.lose_the_ledger()
    shutil.copy(old, world.ledger)
    world.night("--day", "2025-12-06")
    assert world.own_per_issue() == [1] * 5
    assert world.stand.count == 5, "a comment with today's digest is the answer"


def test_the_papers_say_how_a_schedule_ends_in_silence_and_how_to_notice() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for words in ("60 days", "status --max-age"):
        assert words in readme


@pytest.mark.parametrize("workflow", [".github/workflows/triage.yml", "triagebot/cli/templates/workflow.yml.j2"])
def test_no_schedule_that_we_write_ends_a_night_that_is_running(workflow: str) -> None:
    assert "cancel-in-progress: false" in (ROOT / workflow).read_text(encoding="utf-8")


# --- limits and refusals


def test_a_night_that_a_limit_cut_short_is_gone_on_with_where_it_ended(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(8)]
    limit = faults.secondary_limit(faults.POST_COMMENT, retry_after="3600")
    world.hub.faults.add(limit, skip=3, times=None)
    assert world.run("--deadline", "20s").code == 1
    assert [len(world.own(n)) for n in numbers].count(1) == 3
    world.hub.faults.clear()
    time_passes(world)
    world.night()
    assert [len(world.own(n)) for n in numbers] == [1] * 8
    assert sent(world, "/comments") == 8 + 1, "each once, and the one that met the limit"
    assert world.stand.count == 8


def test_a_limit_between_an_issues_two_writes_repeats_neither(world: World) -> None:
    number = world.crash()
    world.hub.faults.add(faults.secondary_limit(faults.POST_COMMENT, retry_after="3600"))
    assert world.run("--deadline", "20s").code == 1
    assert world.repo.issue(number).labels == ["bug"]
    time_passes(world)
    world.night()
    assert len(world.own(number)) == 1
    assert sent(world, "/labels") == 1
    assert world.stand.count == 1


def test_a_refusal_in_unknown_words_belongs_to_its_issue_until_there_are_five(world: World) -> None:
    numbers = [world.crash(f"Crash {n}") for n in range(9)]
    odd = {"message": "The moon is in the wrong house"}
    world.hub.faults.add(faults.answers(faults.POST_COMMENT, 403, odd))
    ran = world.run("--limit", "2", "--workers", "1")
    assert ran.code == 1
    assert sorted(len(world.own(n)) for n in numbers[:2]) == [0, 1]
    before = len(world.hub.writes())
    world.hub.faults.add(faults.answers(faults.ANY_WRITE, 403, odd), times=None)
    ran = world.run()
    assert ran.code == 1
    assert "stopped after 5 failures in a row" in ran.err
    assert len(world.hub.writes()) == before + 5


def test_a_pull_request_is_no_issue(world: World) -> None:
    number = world.crash()
    world.repo.open_pull_request(title="It crashes no more", body="Error: it failed at start")
    ran = world.night()
    assert ran.json["counts"]["seen"] == 1
    assert world.stand.count == 1
    assert [write for write in world.writes_since(0) if f"/{number}/" not in write] == []


# --- a ledger in trouble


class Refusing(sqlite3.Connection):
    """Its disk fails when the transaction that holds the statement `name` is to be committed."""

    name = ""
    code, errorname = sqlite3.SQLITE_FULL, "SQLITE_FULL"
    hit = False

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:  # type: ignore[override]
        if self.name and sql == statements.queries(sqlite._MACROS)[self.name]:
            self.hit = True
        if sql == "COMMIT" and self.hit:
            self.hit = False
            error = sqlite3.OperationalError("simulated")
            error.sqlite_errorcode, error.sqlite_errorname = self.code, self.errorname
            raise error
        return super().execute(sql, *values)


def disk_fails_at(name: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(self: sqlite.SQLite) -> sqlite3.Connection:
        address = f"{self._path.as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, factory=Refusing)

    monkeypatch.setattr(Refusing, "name", name)
    monkeypatch.setattr(Refusing, "errorname", code)
    monkeypatch.setattr(Refusing, "code", getattr(sqlite3, code))
    monkeypatch.setattr(sqlite.SQLite, "_connect", connect)


@pytest.mark.parametrize("code", ["SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CORRUPT"])
@pytest.mark.parametrize(
    ("name", "asked"), [("claim", 0), ("finish", 1), ("claim_row", 1)], ids=["claim", "verdict", "outbox"]
)
def test_nothing_is_asked_or_sent_that_could_not_be_recorded_first(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, asked: int, code: str
) -> None:
    number = world.crash()
    with monkeypatch.context() as patch:
        disk_fails_at(name, code, patch)
        ran = world.run()
    assert ran.code == 2
    assert str(world.ledger) in ran.err
    assert code in ran.err
    assert world.stand.count == asked
    assert world.hub.writes() == []
    time_passes(world)
    world.night()
    assert len(world.own(number)) == 1
    assert sent(world, "/comments") == 1


def test_a_comment_whose_end_could_not_be_recorded_is_found_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.configure(CONFIG + "labels: {mode: suggest}\n")
    number = world.crash()
    with monkeypatch.context() as patch:
        disk_fails_at("sent", "SQLITE_FULL", patch)
        assert world.run().code == 2
    assert len(world.own(number)) == 1
    time_passes(world)
    world.night()
    assert len(world.own(number)) == 1
    assert sent(world, "/comments") == 1
    assert world.stand.count == 1


def locked(world: World) -> sqlite3.Connection:
    """Somebody else writes, and does not come to an end."""
    other = sqlite3.connect(world.ledger, check_same_thread=False, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_a_lock_that_passes_is_waited_for_and_costs_nothing(world: World) -> None:
    number, held = world.crash(), []

    def hold() -> None:
        other = locked(world)
        held.append(threading.Timer(1.0, lambda: (other.execute("ROLLBACK"), other.close())))
        held[0].start()

    world.once(lambda call: call.operation == "Sweep", hold)
    ran = world.night()
    held[0].join()
    assert ran.json["seconds"] >= 1.0
    assert len(world.own(number)) == 1
    assert world.stand.count == 1


@pytest.mark.parametrize("operation", ["Sweep", "Look"])
def test_a_ledger_that_is_locked_for_ever_ends_the_night_and_sends_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    monkeypatch.setitem(opening.open_ledger.__kwdefaults__, "timeout", 0.2)
    number, held = world.crash(), []
    world.once(lambda call: call.operation == operation, lambda: held.append(locked(world)))
    ran = world.run()
    held[0].close()
    assert ran.code == 1
    assert "stayed locked for 0.2 s" in ran.err
    assert world.hub.writes() == []
    time_passes(world)
    world.night()
    assert len(world.own(number)) == 1


def test_a_ledger_that_a_newer_version_takes_over_in_mid_night_is_left_to_it(world: World) -> None:
    number = world.crash()
    [(version,)] = (world.night("--issue", "1"), world.sql("PRAGMA user_version"))[1]
    other = world.crash("Crash 2")

    def migrate(call: Call | None = None) -> None:
        world.sql("PRAGMA user_version = 99")

    world.once(lambda call: call.operation == "Look", migrate)
    ran = world.run()
    assert ran.code == 2
    assert "another version of triagebot" in ran.err
    assert world.own(other) == []
    world.sql(f"PRAGMA user_version = {version}")
    time_passes(world)
    world.night()
    assert [len(world.own(n)) for n in (number, other)] == [1, 1]
