"""`undo` when time passes or the ledger fails in the middle: nothing of a person's goes, and what was done is told."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from tests.brutal.killing import Stepped
from tests.world import World
from triagebot.core.faults import LedgerBusy, LedgerUnusable
from triagebot.github.tracker import GitHubTracker
from triagebot.ledger import opening, sqlite
from triagebot.nightly.pacer import Pacer
from triagebot.nightly.ports import Tracker
from triagebot.nightly.rehearsal import DryRun
from triagebot.nightly.report import Nobody
from triagebot.nightly.settings import Pace
from triagebot.nightly.stop import Stop
from triagebot.nightly.undo import Fate, Undo, Undone
from triagebot.nightly.writer import FRESH
from triagebot.sandbox import faults
from triagebot.sandbox.exchange import Call
from triagebot.sandbox.hub import TOKEN

BUSY = "ledger here: stayed locked for 30 s"


UNPACED = Pace(settle=0.0, per_second=None, per_hour=None)


class Listener(Nobody):
    """An observer that knows what was said to it."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)


@dataclass
class Clock:
    """Time that only the test moves, for the night and the ledger alike."""

    start: datetime = field(default_factory=lambda: datetime.now(UTC))
    passed: float = 0.0
    meanwhile: Callable[[], object] = lambda: None

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.now().timestamp()

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        if seconds > 0:
            self.meanwhile()

    def wait(self, event: Event, seconds: float) -> None:
        raise AssertionError("an undo waits for nobody")


@dataclass
class Bench:
    """An undo in this process, which tells `at` of each of its steps, before and after."""

    world: World
    clock: Clock = field(default_factory=Clock)
    at: Callable[[str], object] = lambda _: None
    pace: Pace = UNPACED
    rehearsal: DryRun | None = None
    observer: Listener = field(default_factory=Listener)

    def on(self, step: str, act: Callable[[], object], *, nth: int = 1) -> None:
        """Do something the nth time that a step is taken, and then no more."""
        left = nth

        def at(taken: str) -> None:
            nonlocal left
            left -= taken == step
            if left == 0 and taken == step:
                act()

        self.at = at

    def rehearse(self, tracker: Tracker) -> Tracker:
        self.rehearsal = DryRun(tracker, "https://api.example", "octo/demo")
        return self.rehearsal

    def undo(self, *issues: int, through: Callable[[Tracker], Tracker] = lambda github: github) -> Iterator[Undone]:
        stop, until = Stop(), self.clock.monotonic() + 3600
        github = GitHubTracker(self.world.env["GITHUB_API_URL"], TOKEN, "octo/demo")
        with closing(github), opening.open_ledger(self.world.ledger, timeout=0.1, now=self.clock.monotonic) as real:
            ledger, tracker = Stepped(real, "ledger", self.at), Stepped(through(github), "github", self.at)
            pacer = Pacer(ledger, github.account, self.pace, self.clock, stop, until, lambda _: None)
            undo = Undo(ledger, tracker, pacer, stop, self.observer, tracker.repository(), tracker.identity())
            yield from undo.run(issues)


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world)


def answered(world: World, count: int = 1) -> list[int]:
    """Issues with a label and a comment of the bot's."""
    numbers = [world.crash(f"Crash {n}") for n in range(count)]
    world.night()
    return numbers


def labels(world: World, number: int) -> list[str]:
    return list(world.repo.issue(number).labels)


def tells_the_truth(world: World, told: Undone, comment: int) -> None:
    """What is told is what is seen: the label, and the comment with this id."""
    assert told.labels == (() if labels(world, told.issue) else ("bug",))
    assert told.comments == (() if world.own(told.issue) else (comment,))


def raises(fault: Exception) -> Callable[[], None]:
    def act() -> None:
        raise fault

    return act


# --- a look that grows old


@pytest.mark.parametrize(("step", "nth", "tombstones"), [("before ledger.renew", 2, 0), ("after ledger.silence", 1, 1)])
def test_a_comment_that_a_person_edits_while_the_ledger_keeps_us_waiting_stands(
    world: World, bench: Bench, step: str, nth: int, tombstones: int
) -> None:
    """The label is off by then, and stays told. A tombstone beside an edited comment changes nothing."""
    [number] = answered(world)
    [comment] = world.own(number)
    edited = comment.body + "\nA person's words."

    def slow() -> None:
        bench.clock.sleep(FRESH)
        world.repo.edit_comment(comment.id, edited)

    bench.on(step, slow, nth=nth)
    assert [*bench.undo(number)] == [
        Undone(issue=number, fate=Fate.UNDONE, labels=("bug",), stays=(f"comment {comment.id}: a person edited it",))
    ]
    assert labels(world, number) == []
    assert [left.body for left in world.own(number)] == [edited]
    assert world.sql("SELECT count(*) FROM tombstones") == [(tombstones,)]
    assert world.rows(number) == {"labels": ("withdrawn", "undone"), "comment": ("sent", None)}


def test_a_label_that_a_person_sets_again_while_the_first_one_goes_stays(world: World, bench: Bench) -> None:
    votes = [{"name": name, "confidence": 0.9, "reason": "x"} for name in ("bug", "question")]
    world.stand.script = lambda _: json.dumps({"labels": votes})
    [number] = answered(world)

    def slow() -> None:
        bench.clock.sleep(FRESH)
        world.repo.unlabel(number, "question")
        world.repo.label(number, "question")

    bench.on("before ledger.renew", slow, nth=2)
    [told] = bench.undo(number)
    assert (told.fate, told.labels, told.stays) == (Fate.UNDONE, ("bug",), ("label question: maintainer set it last",))
    assert labels(world, number) == ["question"]
    assert world.own(number) == []


@pytest.mark.parametrize("nth", [1, 2])
def test_a_look_too_old_that_nobody_used_costs_another_look_and_nothing_else(
    world: World, bench: Bench, nth: int
) -> None:
    [number] = answered(world)
    [comment], before = world.own(number), len(world.hub.writes())
    bench.on("before ledger.renew", lambda: bench.clock.sleep(FRESH), nth=nth)
    told = Undone(issue=number, fate=Fate.UNDONE, labels=("bug",), comments=(comment.id,))
    assert [*bench.undo(number)] == [told]
    assert world.writes_since(before) == [
        f"DELETE /repos/octo/demo/issues/{number}/labels/bug",
        f"DELETE /repos/octo/demo/issues/comments/{comment.id}",
    ]


def test_a_dry_run_that_looks_twice_shows_each_request_once(world: World, bench: Bench) -> None:
    """What it looks at does not change by what it did not send."""
    [number] = answered(world)
    bench.on("before ledger.renew", lambda: bench.clock.sleep(FRESH), nth=2)
    [told] = bench.undo(number, through=bench.rehearse)
    assert bench.rehearsal is not None
    assert [payload["action"] for payload in bench.rehearsal.payloads] == ["labels", "comment"]
    assert told.labels == ("bug",)
    assert labels(world, number) == ["bug"]


def test_a_ledger_that_is_slow_each_time_ends_in_a_sentence_and_nothing_is_sent(world: World, bench: Bench) -> None:
    """However often it looks: it must come to an end, and hold nothing."""
    [number] = answered(world)
    before, looks = len(world.hub.writes()), []

    def at(step: str) -> None:
        bench.clock.sleep(FRESH if step == "before ledger.renew" else 0.0)
        looks.append(step == "before github.look")

    bench.at = at
    [told] = bench.undo(number)
    assert (told.fate, sum(looks)) == (Fate.FAILED, 5)
    assert "5 looks in a row were older than 10 s before anything could be written" in told.reason
    assert world.writes_since(before) == []
    assert world.rows(number) == {"labels": ("sent", None), "comment": ("sent", None)}


def test_a_gate_that_closes_while_a_slot_is_waited_for_is_heeded(world: World, bench: Bench) -> None:
    """Another worker met a limit after our look: nothing is written through the closed gate."""
    [number] = answered(world)
    opens, sent = bench.clock.monotonic() + 60.0, []

    def close() -> None:
        bench.clock.meanwhile = lambda: None
        world.sql("UPDATE pace SET closed_until = ?", opens)

    def at(step: str) -> None:
        if step.startswith("before github.send"):
            sent.append(bench.clock.monotonic())
        if step == "after github.send.RemoveLabel":
            bench.clock.meanwhile = close

    bench.at, bench.pace = at, Pace()
    [told] = bench.undo(number)
    assert told.fate is Fate.UNDONE
    assert [moment >= opens for moment in sent] == [False, True]


# --- a ledger that fails


VERBS = ("gate", "reserve_slot", "claim_written", "renew", "silence", "open_gate", "withdraw")


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("verb", VERBS)
def test_a_ledger_locked_at_any_step_costs_one_issue_and_what_was_done_is_told(
    world: World, bench: Bench, verb: str, nth: int
) -> None:
    first, second = answered(world, 2)
    comments = {number: world.own(number)[0].id for number in (first, second)}
    bench.on(f"before ledger.{verb}", raises(LedgerBusy(BUSY)), nth=nth)
    one, other = bench.undo(first, second)
    failed = next(told for told in (one, other) if told.fate is not Fate.UNDONE)
    assert (failed.fate, failed.reason) == (Fate.FAILED, BUSY)
    assert [told.fate for told in (one, other)].count(Fate.UNDONE) == 1, "the other issue was not held up"
    for told in (one, other):
        tells_the_truth(world, told, comments[told.issue])
    bench.at = lambda _: None
    again = [*bench.undo(first, second)]
    assert not any(told.incomplete for told in again), "the rows went back"
    assert [(labels(world, number), world.own(number)) for number in (first, second)] == [([], []), ([], [])]


def test_a_claim_that_others_lock_is_a_failure_and_no_write_of_a_night(world: World, bench: Bench) -> None:
    [number] = answered(world)
    with closing(sqlite3.connect(world.ledger, isolation_level=None)) as other:
        bench.on("before ledger.claim_written", lambda: other.execute("BEGIN IMMEDIATE"))
        [told] = bench.undo(number)
    assert (told.fate, told.reason) == (Fate.FAILED, "the ledger stayed locked: run the same command again later")


def test_rows_that_cannot_be_put_back_are_no_complete_undo(world: World, bench: Bench) -> None:
    [number] = answered(world)
    [comment] = world.own(number)
    world.repo.edit_comment(comment.id, comment.body + "\nA person's words.")
    bench.on("before ledger.put_back", raises(LedgerBusy(BUSY)))
    [told] = bench.undo(number)
    assert (told.fate, told.labels, told.reason) == (Fate.FAILED, ("bug",), BUSY)
    assert told.stays == (f"comment {comment.id}: a person edited it",)


def test_rows_that_cannot_be_put_back_do_not_hide_what_had_failed_before(world: World, bench: Bench) -> None:
    [number] = answered(world)
    world.hub.faults.add(faults.answers(faults.DELETE_COMMENT, 502))
    bench.on("before ledger.put_back", raises(LedgerBusy(BUSY)))
    [told] = bench.undo(number)
    assert (told.fate, told.labels) == (Fate.FAILED, ("bug",))
    assert "502" in told.reason
    assert bench.observer.said == [f"issue {number} stays in hand for 120 s: {BUSY}"]


def test_a_ledger_locked_before_a_new_look_ends_that_issue_instead_of_finding_its_own_rows_held(
    world: World, bench: Bench
) -> None:
    [number] = answered(world)

    def at(step: str) -> None:
        if step == "before ledger.renew":
            bench.clock.sleep(FRESH)
        if step == "before ledger.put_back":
            raise LedgerBusy(BUSY)

    bench.at = at
    [told] = bench.undo(number)
    assert (told.fate, told.reason) == (Fate.FAILED, BUSY)


def test_a_ledger_that_stays_locked_ends_the_undo_and_the_rest_is_left(world: World, bench: Bench) -> None:
    numbers, before = answered(world, 7), len(world.hub.writes())

    def at(step: str) -> None:
        if step == "before ledger.renew":
            raise LedgerBusy(BUSY)

    bench.at = at
    told = [*bench.undo(*numbers)]
    assert [each.fate for each in told] == [Fate.FAILED] * 5 + [Fate.LEFT] * 2
    assert told[-1].reason == f"stopped after 5 failures in a row, the last one: {BUSY}"
    assert world.writes_since(before) == []


def test_a_ledger_that_cannot_be_used_any_more_is_raised_after_all_is_told(world: World, bench: Bench) -> None:
    numbers = answered(world, 3)
    comments = {number: world.own(number)[0].id for number in numbers}
    bench.on("before ledger.silence", raises(LedgerUnusable("disk full; free some space")), nth=2)
    told: list[Undone] = []
    with pytest.raises(LedgerUnusable, match="disk full"):
        told.extend(bench.undo(*numbers))
    assert [each.fate for each in told] == [Fate.UNDONE, Fate.FAILED, Fate.LEFT]
    assert [each.reason for each in told] == ["", *["disk full; free some space"] * 2]
    for each in told:
        tells_the_truth(world, each, comments[each.issue])


# --- on the command line


def takes_off(number: int) -> Callable[[Call], bool]:
    return lambda call: call.method == "DELETE" and f"/issues/{number}/labels" in call.path


@pytest.mark.parametrize("shape", ["text", "json"])
def test_locked_by_another_program_it_says_what_it_did_and_ends_with_1(
    world: World, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    monkeypatch.setitem(opening.open_ledger.__kwdefaults__, "timeout", 0.2)
    first, second, third = answered(world, 3)
    [comment] = world.own(first)
    other = sqlite3.connect(world.ledger, check_same_thread=False, isolation_level=None)
    world.once_stored(takes_off(second), lambda: other.execute("BEGIN IMMEDIATE"))
    with closing(other):
        ran = world.run("--night", "1", "--format", shape, command="undo")
    assert ran.code == 1, ran.err
    if shape == "json":
        told = ran.json["issues"]
        assert [(each["fate"], each["labels"]) for each in told] == [
            ("undone", ["bug"]),
            ("failed", ["bug"]),
            ("failed", []),
        ]
        assert all("stayed locked for 0.2 s" in each["reason"] for each in told[1:])
        assert ran.json["counts"] == {"issues": 1, "labels": 2, "comments": 1, "incomplete": 2}
    else:
        assert f"issue {first}: took off bug, deleted comment {comment.id}\n" in ran.out
        assert f"issue {second}: took off bug; failed: ledger {world.ledger}: stayed locked" in ran.out
        assert f"issue {third}: failed; failed: ledger {world.ledger}: stayed locked" in ran.out
        assert ran.out.endswith("not complete on 2 issues: the same command goes on from here\n")


def test_on_a_disk_that_fills_up_it_says_what_it_did_before_it_says_why_it_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file cannot grow any more: a step that nobody chose is the one that fails."""
    numbers = answered(world, 20)
    shipped = sqlite.SQLite._connect

    def connect(self: sqlite.SQLite) -> sqlite3.Connection:
        connection = shipped(self)
        [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    monkeypatch.setattr(sqlite.SQLite, "_connect", connect)
    ran = world.run("--night", "1", "--format", "json", command="undo")
    assert ran.code == 2
    assert "disk full (SQLITE_FULL); free some space and run again" in ran.err
    told = ran.json["issues"]
    assert [each["issue"] for each in told] == numbers
    assert [each["issue"] for each in told if each["labels"]] == [n for n in numbers if not labels(world, n)]
    assert [each["issue"] for each in told if each["comments"]] == [n for n in numbers if not world.own(n)]
    assert 0 < ran.json["counts"]["issues"] < 20


def test_stopped_by_a_signal_it_says_what_it_did(world: World) -> None:
    first, second = answered(world, 2)
    world.once_stored(takes_off(second), lambda: os.kill(os.getpid(), signal.SIGTERM))
    ran = world.run("--night", "1", command="undo")
    assert ran.code == 143
    assert f"issue {first}: took off bug, deleted comment " in ran.out
    assert f"issue {second}: took off bug" in ran.out
    assert "interrupted by SIGTERM" in ran.err


def test_what_ends_before_anything_was_taken_back_is_one_sentence(world: World) -> None:
    """There is nothing to list."""
    answered(world, 2)
    world.once(lambda call: call.operation == "Look", lambda: world.sql("PRAGMA user_version = 99"))
    ran = world.run("--night", "1", command="undo")
    assert (ran.code, ran.out) == (2, "")
    assert "another version of triagebot" in ran.err
