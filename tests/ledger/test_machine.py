"""Any order of claims, ends, crashes and nights: the ledger agrees with a small model, and its promises hold."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.ledger.pieces import BOTH, COMMENT, LABELLED, LABELS, LEASE, POSTED, REPO, SEND, SETTLE, SPENT, Clock, text
from triagebot.core.faults import LeaseLost
from triagebot.core.key import Ref
from triagebot.core.rows import Claim, Night, OutboxRow, Planned, Unclaimed
from triagebot.ledger import opening
from triagebot.ledger.ledger import Ledger

BOUNDED = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
ISSUES, WORDS, WORKERS = st.sampled_from([1, 2]), st.sampled_from(["one", "two"]), st.sampled_from([0, 1])


class TwoWorkers(RuleBasedStateMachine):
    """Two workers on one ledger, each in a night of its own; days only go forward."""

    def __init__(self, place: Callable[[], str]) -> None:
        super().__init__()
        self.clock = Clock()
        self.stack = contextlib.ExitStack()
        address = place()
        first, second = (opening.open_ledger(address, settle=SETTLE, now=self.clock) for _ in range(2))
        self.workers = [self.stack.enter_context(each) for each in (first, second)]
        self.day = 0
        self.nights = [self.open(worker) for worker in (0, 1)]

    def teardown(self) -> None:
        self.stack.close()

    def open(self, worker: int) -> Night:
        ref = text(day=self.day)
        return self.workers[worker].open_night(repo_id=REPO, repo="octo/demo", day=ref.day)

    @rule(seconds=st.sampled_from([1.0, SETTLE, SEND, LEASE]))
    def time_passes(self, seconds: float) -> None:
        self.clock.pass_(seconds)

    def stored(self, kind: str) -> list[dict[str, Any]]:
        told = [entry for issue in (1, 2) for entry in self.workers[0].history(REPO, issue) if entry.kind == kind]
        return [dict(entry.fields) for entry in told]


@dataclass
class Run:
    """What the model knows of one run."""

    day: int
    status: str
    owner: str
    attempt: int
    tries: int
    night: int
    lease_until: float


class Runs(TwoWorkers):
    """Claims and their ends, against a model in a dict."""

    def __init__(self, place: Callable[[], str]) -> None:
        super().__init__(place)
        self.runs: dict[tuple[int, str, int], Run] = {}  # issue, words, day
        self.claims: list[tuple[Claim, tuple[int, str, int]]] = []

    @rule(worker=WORKERS, days=st.sampled_from([0, 0, 1]))
    def a_night_begins(self, worker: int, days: int) -> None:
        self.day += days
        for key in list(self.runs):
            self._lapse(key, always=True)
        self.nights[worker] = self.open(worker)

    @rule(worker=WORKERS, issue=ISSUES, words=WORDS, again=st.sampled_from([False, False, True]))
    def a_worker_claims(self, worker: int, issue: int, words: str, again: bool) -> None:
        night = self.nights[worker]
        ref = text(words, issue=issue, day=self.day)
        expected = self._claim(worker, night, (issue, words, self.day), again)
        given = self.workers[worker].claim(ref, night, lease=LEASE, again=again)
        if isinstance(expected, Unclaimed):
            assert given is expected
        else:
            assert given == Claim(ref=ref, night=night.id, owner=expected.owner, attempt=expected.attempt)
            self.claims.append((given, (issue, words, self.day)))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), end=st.sampled_from(["finish", "fail", "release"]))
    def a_claim_ends(self, data: st.DataObject, end: str) -> None:
        """Any claim that was ever given, held or not."""
        claim, key = data.draw(st.sampled_from(self.claims))
        worker = next(each for each in self.workers if each.owner == claim.owner)
        run = self.runs[key]
        states = {"running"} if end != "release" else {"running", "failed", "dead"}
        held = (run.owner, run.attempt) == (claim.owner, claim.attempt) and run.status in states
        try:
            if end == "finish":
                worker.finish(claim, LABELLED, BOTH, SPENT)
            else:
                getattr(worker, end)(claim, "a reason", SPENT)
        except LeaseLost:
            assert not held
            return
        assert held
        run.status = "done" if end == "finish" else "failed"
        if end == "release":
            run.tries, run.owner = max(0, run.tries - 1), ""
        if end == "fail":
            self._give_up(key)

    @rule(issue=ISSUES, words=WORDS, worker=WORKERS)
    def a_comment_is_found(self, issue: int, words: str, worker: int) -> None:
        key = (issue, words, self.day)
        run = self.runs.get(key)
        answered = any(each.status == "done" for each in self._same_text(key))
        expected = not answered and (run is None or run.status != "running")
        ref = text(words, issue=issue, day=self.day)
        assert self.workers[worker].adopt(ref, self.nights[worker], POSTED) is expected
        if expected:
            owner = self.workers[worker].owner
            attempt, tries, night = (run.attempt, run.tries, run.night) if run else (0, 0, 0)
            self.runs[key] = Run(self.day, "done", owner, attempt, tries, night, 0.0)

    @rule()
    def a_person_retries(self) -> None:
        self.workers[0].retry()
        for run in self.runs.values():
            if run.status == "dead" or (run.status == "failed" and run.tries):
                run.status, run.tries, run.owner = "failed", 0, ""

    @invariant()
    def the_ledger_agrees_with_the_model(self) -> None:
        digests = {text(words).digest: words for words in ("one", "two")}
        stored = {(r["issue"], digests[r["digest"]], (r["day"])): r for r in self.stored("run")}
        expected = {(issue, words, text(day=day).day.isoformat()): r for (issue, words, day), r in self.runs.items()}
        assert stored.keys() == expected.keys()
        for key, run in expected.items():
            facts = ("status", "owner", "attempt", "tries", "night")
            assert {f: stored[key][f] for f in facts} == {f: getattr(run, f) for f in facts}

    @invariant()
    def an_issue_has_one_worker(self) -> None:
        running = Counter(r["issue"] for r in self.stored("run") if r["status"] == "running")
        assert all(number == 1 for number in running.values())

    # --- the model

    def _same_text(self, key: tuple[int, str, int]) -> list[Run]:
        return [run for other, run in self.runs.items() if other[:2] == key[:2]]

    def _lapse(self, key: tuple[int, str, int], *, always: bool = False) -> None:
        run = self.runs[key]
        if run.status == "running" and run.lease_until <= self.clock() and (always or run.tries >= 3):
            run.status, run.owner = "failed", ""
            self._give_up(key)

    def _give_up(self, key: tuple[int, str, int]) -> None:
        failed = {run.day for run in self._same_text(key) if run.status in ("failed", "dead") and run.tries}
        if len(failed) >= 3:
            self.runs[key].status = "dead"

    def _claim(self, worker: int, night: Night, key: tuple[int, str, int], again: bool) -> Run | Unclaimed:
        for other in list(self.runs):
            if other[0] == key[0]:
                self._lapse(other, always=other != key)
        run, states = self.runs.get(key), {each.status for each in self._same_text(key)}
        if not again and states & {"done", "dead"}:
            return Unclaimed.ANSWERED if "done" in states else Unclaimed.DEAD
        live = [r for k, r in self.runs.items() if k[0] == key[0] and r.status == "running"]
        if any(each.lease_until > self.clock() for each in live):
            return Unclaimed.HELD
        if run is not None and run.night == night.id:
            return Unclaimed.TRIED
        if run is not None and run.tries >= 3 and not (again and run.status != "running"):
            return Unclaimed.SPENT
        before = run or Run(self.day, "", "", 0, 0, 0, 0.0)
        owner, lease = self.workers[worker].owner, self.clock() + LEASE
        self.runs[key] = Run(self.day, "running", owner, before.attempt + 1, before.tries + 1, night.id, lease)
        return self.runs[key]


class Outbox(TwoWorkers):
    """Writes and their ends: what must hold of the outbox, whatever happens."""

    def __init__(self, place: Callable[[], str]) -> None:
        super().__init__(place)
        self.taken: list[tuple[Ledger, OutboxRow]] = []
        self.attempts: dict[int, int] = {}

    @rule(worker=WORKERS, days=st.sampled_from([0, 1]))
    def a_night_begins(self, worker: int, days: int) -> None:
        self.day += days
        self.nights[worker] = self.open(worker)

    @rule(worker=WORKERS, issue=ISSUES, words=WORDS, planned=st.sampled_from([(), (LABELS,), (COMMENT,), BOTH]))
    def a_verdict_comes(self, worker: int, issue: int, words: str, planned: tuple[Planned, ...]) -> None:
        self.nights[worker] = self.open(worker)
        ledger, ref = self.workers[worker], text(words, issue=issue, day=self.day)
        held = ledger.claim(ref, self.nights[worker], lease=LEASE, again=True)
        assert isinstance(held, Claim)
        ledger.finish(held, LABELLED, planned, SPENT)
        self._nothing_older_waits(ref)

    @rule(issue=ISSUES, words=WORDS, planned=st.sampled_from(BOTH), revise=st.booleans())
    def a_difference_is_mended(self, issue: int, words: str, planned: Planned, revise: bool) -> None:
        ref = text(words, issue=issue, day=self.day)
        before = self.workers[0].recall(REPO, issue, "").row(planned.action, ref.digest)
        opened = self.workers[0].mend(ref, planned, revise=revise)
        assert opened is (before is None or before.status in ("sent", "withdrawn"))

    @rule(worker=WORKERS)
    def a_parcel_is_taken(self, worker: int) -> None:
        ledger, night = self.workers[worker], self.nights[worker]
        due = ledger.next_due(REPO, night)
        dead = self._dead()
        parcel = ledger.claim_parcel(REPO, night, lease=SEND)
        if parcel is None:
            # Else a night would ask for it again and again. A row that the claim buried may have been the one due.
            assert due != 0 or self._dead() > dead
            return
        assert due == 0
        assert len({row.action for row in parcel.rows}) == len(parcel.rows)
        assert all(row.status in ("pending", "unknown") for row in parcel.rows)
        for row in parcel.rows:
            before = parcel.memory.row(BOTH[0].action, row.ref.digest)
            assert row.action != "comment" or before is None or before.status not in ("pending", "unknown")
            self.taken.append((ledger, row))

    @precondition(lambda self: self.taken)
    @rule(
        data=st.data(),
        end=st.sampled_from(["renew", "sent", "postpone", "unclear", "rest", "withdraw", "bury"]),
        worker=WORKERS,
    )
    def a_write_ends(self, data: st.DataObject, end: str, worker: int) -> None:
        """Any row that was ever taken, held or not."""
        ledger, row = data.draw(st.sampled_from(self.taken))
        now = next(each for each in self.stored("write") if each["id"] == row.id)
        held = (now["owner"], now["attempt"], now["status"]) == (row.owner, row.attempt, "sending")
        held = held and (end != "renew" or now["lease_until"] > self.clock())
        writes: dict[str, dict[str, Any]] = {
            "renew": {"lease": SEND},
            "sent": {"comment": POSTED},
            "postpone": {"seconds": 30, "reason": "limit"},
            "unclear": {"settle": SETTLE, "reason": "502"},
            "rest": {"night": self.nights[worker], "reason": "written once"},
        }
        try:
            getattr(ledger, end)(row, **writes.get(end, {"reason": "gone"}))
        except LeaseLost:
            assert not held
        else:
            assert held

    @rule()
    def a_person_retries(self) -> None:
        self.workers[0].retry()

    @invariant()
    def one_text_is_in_flight_and_one_waits(self) -> None:
        rows = self.stored("write")
        flying = Counter((r["issue"], r["action"]) for r in rows if r["status"] in ("sending", "unknown"))
        waiting = Counter((r["issue"], r["action"]) for r in rows if r["status"] == "pending")
        assert all(number == 1 for number in (*flying.values(), *waiting.values()))

    @invariant()
    def attempts_never_go_back(self) -> None:
        for row in self.stored("write"):
            assert row["attempt"] >= self.attempts.get(row["id"], 0)
            self.attempts[row["id"]] = row["attempt"]

    def _dead(self) -> int:
        return sum(row["status"] == "dead" for row in self.stored("write"))

    def _nothing_older_waits(self, ref: Ref) -> None:
        for row in self.workers[0].recall(REPO, ref.issue, "").rows:
            assert row.status != "pending" or row.ref.digest == ref.digest


@pytest.fixture
def places(address: str, tmp_path: Path) -> Callable[[], str]:
    """A new address each time, on the test's database."""
    if address.startswith("sqlite"):
        return lambda: str(tmp_path / f"{uuid.uuid4().hex}.db")
    return lambda: f"{address}_{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize("machine", [Runs, Outbox])
def test_the_ledger_keeps_its_promises_in_any_order(machine: type[TwoWorkers], places: Callable[[], str]) -> None:
    # A step costs a server ten times as much, and its words have been compared by then: fewer histories.
    few = settings(BOUNDED, max_examples=4) if places().startswith("postgresql") else BOUNDED
    run_state_machine_as_test(lambda: machine(places), settings=few)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Runs, Outbox])
def test_and_in_many_more_orders(machine: type[TwoWorkers], places: Callable[[], str]) -> None:
    run_state_machine_as_test(lambda: machine(places), settings=BOUNDED)
