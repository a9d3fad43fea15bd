"""One night over one repository: open, sweep, reconcile, triage, deliver, close.

Reads like the list in the design on purpose: every step is a room of its own, and this
file only says in which order they happen and how the night ends.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from triagebot.core import faults, standing
from triagebot.core.issue import Snapshot
from triagebot.core.rows import Night
from triagebot.nightly import choice, reconcile
from triagebot.nightly import place as places
from triagebot.nightly.asking import Asker
from triagebot.nightly.book import Book
from triagebot.nightly.courier import Courier
from triagebot.nightly.crew import Thread
from triagebot.nightly.healing import Healer
from triagebot.nightly.learning import Learner
from triagebot.nightly.pacer import Pacer
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Clock, Crew, Hand, History, Ledger, Model, Pupil, Tracker
from triagebot.nightly.probe import Probe
from triagebot.nightly.purse import Purse
from triagebot.nightly.reconcile import Item, Reconciler
from triagebot.nightly.report import Ended, Entry, Tally
from triagebot.nightly.settings import Orders, Settings
from triagebot.nightly.stop import Stop
from triagebot.nightly.triage import Triage
from triagebot.nightly.writer import Writer

_GRACE = 2.0
"""Seconds that a request under way gets when the process is told to end; it must be gone within 5."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """The world of a night: everything it talks to."""

    ledger: Ledger
    tracker: Tracker
    model: Model
    clock: Clock
    stop: Stop
    crew: Crew = Thread
    history: History | None = None
    pupil: Pupil | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """How a night went: the place, the counts, and how it ended."""

    place: Place
    night: Night
    tally: Tally
    purse: Purse
    how: str
    waiting: int
    seconds: float

    @property
    def oldest_left(self) -> int | None:
        """The oldest issue that was left over, which is the one that waits longest."""
        return min((e.issue for e in self.tally.entries.values() if e.ended is Ended.LEFT), default=None)


def run(parts: Parts, settings: Settings, orders: Orders, tally: Tally) -> Summary:
    """Run one night to its end. Raises `Misconfigured` where it cannot even begin."""
    tally.observer.stage("open")
    started = parts.clock.monotonic()
    place = places.find(parts.tracker, settings.labels)
    day = orders.day or parts.clock.now().date()
    night = parts.ledger.open_night(repo_id=place.repository.id, repo=place.repository.name, day=day)
    shift = Shift(parts, settings, orders, tally, place, night, started + settings.deadline)
    how = "crashed"
    try:
        shift.work()
        how = _how(parts.stop, tally)
    except faults.Fault as fault:
        how = f"stopped: {fault}"
        raise
    finally:
        parts.ledger.close_night(night, how=how, counts=tally.totals())
    return Summary(
        place=place,
        night=night,
        tally=tally,
        purse=shift.purse,
        how=how,
        waiting=shift.waiting,
        seconds=parts.clock.monotonic() - started,
    )


def _how(stop: Stop, tally: Tally) -> str:
    if stop.signal is not None:
        return "interrupted"
    if stop.fault is not None:
        return f"stopped: {stop.fault}"
    return "incomplete" if tally.incomplete else "done"


@dataclass
class Shift:
    """The steps of one night and the threads that take them."""

    parts: Parts
    settings: Settings
    orders: Orders
    tally: Tally
    place: Place
    night: Night
    deadline: float
    purse: Purse = field(init=False)
    waiting: int = 0
    _hands: list[Hand] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts, settings, tally, place = self.parts, self.settings, self.tally, self.place
        self.purse = Purse(settings.budget)
        self.probe = Probe(parts.stop, parts.clock)
        account, rests = parts.tracker.account, self.probe.writing_rests
        self.pacer = Pacer(parts.ledger, account, settings.pace, parts.clock, parts.stop, self.deadline, rests)
        self.reconciler = Reconciler(parts.ledger, place, settings, self.orders, self.night, parts.clock, tally)
        self.healer = Healer(parts.ledger, parts.tracker, self.pacer, tally)
        history, pupil, clock = parts.history, parts.pupil, parts.clock
        self.learner = Learner(history, pupil, parts.tracker, place, settings, clock, parts.stop, tally, self.deadline)
        self.writer = self._writer()
        self.courier = self._courier()
        self.triage = self._triage()

    def work(self) -> None:
        """Sweep and reconcile first, then triage and deliver at the same time, then close."""
        items = choice.cut(self._sweep(), self.settings.budget, self.tally) if self.orders.triage else []
        self.learner.prepare(len(items))
        self._start(items)
        try:
            self._await_workers()
        finally:  # a worker that died of a bug must not leave the other rows and claims in mid-air
            self._await_courier()
        if not self.parts.stop.asked:
            self._look_back()
        self._tell_what_waits()

    # --- sweep and reconcile

    def _sweep(self) -> list[Item]:
        self.tally.observer.stage("sweep")
        items, seen = [], set[int]()
        for issue in self._issues():
            if issue.number in seen:
                continue  # a list that changes while it is paged through may show an issue twice
            seen.add(issue.number)
            self.tally.count("seen")
            self.tally.observer.advance()
            item = self.reconciler.consider(issue)
            if item is not None:
                items.append(item)
            if self.parts.stop.asked:
                return []
        return reconcile.in_order(items, newest_first=self.night.first and self.reconciler.own_seen)

    def _issues(self) -> Iterator[Snapshot]:
        """Every open issue, or just those asked for, each as it is now."""
        if not self.orders.issues:
            yield from self.parts.tracker.sweep()
        for number in dict.fromkeys(self.orders.issues):
            memory = self.parts.ledger.recall(self.place.repository.id, number, "")
            try:
                yield self.parts.tracker.look(number, memory.recorded)
            except (faults.Gone, faults.Moved) as fault:
                self.tally.enter(Entry(issue=number, ended=Ended.FAILED, reason=str(fault)))

    # --- triage and deliver

    def _start(self, items: list[Item]) -> None:
        self.tally.observer.stage("triage", len(items))
        for issue in self.reconciler.twins:
            self.courier.heal_later(issue)
        todo: queue.SimpleQueue[Item] = queue.SimpleQueue()
        for item in items:
            todo.put(item)
        workers = min(self.settings.workers, len(items))
        stop = self.parts.stop
        self._hands = [self.parts.crew(f"worker-{n}", lambda: self.triage.work(todo), stop) for n in range(workers)]
        self._courier_hand = self.parts.crew("courier", self.courier.run, stop)
        for hand in (*self._hands, self._courier_hand):
            hand.start()

    def _await_workers(self) -> None:
        """Until all issues are worked through. Only a signal does not wait for answers that are paid for."""
        try:
            while not all(hand.come_home(0.05) for hand in self._hands):
                if self.parts.stop.signal is not None:
                    break
        finally:
            self.triage.abandon()

    def _await_courier(self) -> None:
        self.tally.observer.stage("deliver")
        self.courier.no_more.set()
        self.courier.ring()
        try:
            while not self._courier_hand.come_home(0.1):
                if self.parts.stop.asked:
                    self.courier.ring()
                    self._courier_hand.come_home(_GRACE)
                    break
        finally:
            self.courier.abandon()

    # --- close

    def _look_back(self) -> None:
        """One more look at tonight's posts, once they can be seen: two workers may have posted to one issue."""
        posted = list(self.writer.posted.values())
        if not posted:
            return
        self.tally.observer.stage("close", len(posted))
        self.parts.clock.sleep(self.writer.posted_at + self.settings.pace.settle - self.parts.clock.monotonic())
        twins = [issue for issue in self._posted_issues(posted) if standing.twins(issue) and not issue.closed]
        self.tally.observer.advance(len(posted))
        for issue in twins:
            self.courier.heal_later(issue)
        self._deliver_again()
        mended = [self.reconciler.mend(replace(issue, comments=issue.marked[:1])) for issue in twins]
        if any(mended):
            self._deliver_again()

    def _deliver_again(self) -> None:
        self._courier_hand = self.parts.crew("courier", self.courier.run, self.parts.stop)
        self._courier_hand.start()
        self._await_courier()

    def _posted_issues(self, nodes: list[str]) -> list[Snapshot]:
        try:
            return list(self.parts.tracker.look_again(nodes))
        except faults.TrackerFault as fault:
            self.tally.note(f"the look back at tonight's comments is left to the next night: {fault}", failed=True)
            return []

    def _tell_what_waits(self) -> None:
        """Whatever kept it waiting, work that is left makes the night an incomplete one."""
        repo_id = self.place.repository.id
        self.waiting = sum(self.parts.ledger.waiting(repo_id).values())
        if self.waiting:
            self.tally.note(f"{self.waiting} writes wait in the outbox for the next night", failed=True)
        elif self.parts.ledger.next_due(repo_id, self.night) is not None:
            self.tally.note("a write is in the hands of another worker, or of one that was killed", failed=True)

    # --- who does it

    def _writer(self) -> Writer:
        parts, settings = self.parts, self.settings
        book = Book(parts.ledger, self.night, settings.pace.settle, self.tally)
        return Writer(
            ledger=parts.ledger,
            tracker=parts.tracker,
            place=self.place,
            settings=settings,
            clock=parts.clock,
            pacer=self.pacer,
            probe=self.probe,
            tally=self.tally,
            book=book,
        )

    def _courier(self) -> Courier:
        return Courier(
            ledger=self.parts.ledger,
            settings=self.settings,
            night=self.night,
            clock=self.parts.clock,
            pacer=self.pacer,
            probe=self.probe,
            stop=self.parts.stop,
            tally=self.tally,
            writer=self.writer,
            healer=self.healer,
        )

    def _triage(self) -> Triage:
        return Triage(
            ledger=self.parts.ledger,
            asker=Asker(self.parts.model, self.place, self.settings, self.purse, self.learner.examples),
            settings=self.settings,
            night=self.night,
            clock=self.parts.clock,
            tally=self.tally,
            probe=self.probe,
            purse=self.purse,
            stop=self.parts.stop,
            deadline=self.deadline,
            ready=self.courier.ring,
        )
