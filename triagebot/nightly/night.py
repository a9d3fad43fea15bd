"""One night over one repository: open, sweep, reconcile, triage, deliver, close.

Reads like the list in the design on purpose: every step is a room of its own, and this
file only says in which order they happen and how the night ends.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from triagebot.core import faults, standing
from triagebot.core.issue import Snapshot
from triagebot.core.rows import Night
from triagebot.nightly import crew
from triagebot.nightly import place as places
from triagebot.nightly.asking import Asker
from triagebot.nightly.book import Book
from triagebot.nightly.courier import Courier
from triagebot.nightly.healing import Healer
from triagebot.nightly.learning import Learner
from triagebot.nightly.pacer import LastWrite, Pacer
from triagebot.nightly.place import Place
from triagebot.nightly.ports import Clock, Crew, Hand, History, Ledger, Model, Pupil, Tracker
from triagebot.nightly.probe import Probe
from triagebot.nightly.purse import Purse
from triagebot.nightly.reconcile import Item, Reconciler
from triagebot.nightly.report import Summary, Tally
from triagebot.nightly.settings import DONE, Budget, Orders, Settings
from triagebot.nightly.stop import Stop
from triagebot.nightly.sweep import Sweep
from triagebot.nightly.triage import Triage
from triagebot.nightly.writer import Writer


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """The world of a night: everything it talks to."""

    ledger: Ledger
    tracker: Tracker
    model: Model
    clock: Clock
    stop: Stop
    crew: Crew = crew.Thread
    history: History | None = None
    pupil: Pupil | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """What the nights of several repositories share: the purse, and one writer, whom any of them may call by `bell`."""

    purse: Purse
    bell: threading.Event = field(default_factory=threading.Event)
    last_write: LastWrite = field(default_factory=LastWrite)


def run(parts: Parts, settings: Settings, orders: Orders, tally: Tally) -> Summary:
    """Run one night to its end. Raises `Misconfigured` where it cannot even begin."""
    deadline = parts.clock.monotonic() + settings.deadline
    shift = begin(parts, settings, orders, tally, deadline)
    how = "crashed"
    try:
        shift.work()
        how = shift.how
    except faults.Fault as fault:
        how = f"stopped: {fault}"
        raise
    finally:
        shift.close(how)
    return shift.summary(how)


def begin(
    parts: Parts, settings: Settings, orders: Orders, tally: Tally, deadline: float, shared: Shared | None = None
) -> Shift:
    """Find the place and open the night; `deadline` is on the monotonic clock. Raises what keeps it from beginning."""
    tally.observer.stage("open")
    started = parts.clock.monotonic()
    place = places.find(parts.tracker, settings.labels)
    day = orders.day or parts.clock.now().date()
    night = parts.ledger.open_night(repo_id=place.repository.id, repo=place.repository.name, day=day)
    shared = shared or Shared(purse=Purse(settings.budget))
    return Shift(parts, settings, orders, tally, place, night, deadline, shared, started)


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
    shared: Shared = field(default_factory=lambda: Shared(purse=Purse(Budget())))
    started: float = 0.0
    waiting: int = 0
    _hands: list[Hand] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts, settings, tally, place = self.parts, self.settings, self.tally, self.place
        self.probe = Probe(parts.stop, parts.clock)
        account, rests = parts.tracker.account, self.probe.writing_rests
        self.pacer = Pacer(
            parts.ledger, account, settings.pace, parts.clock, parts.stop, self.deadline, rests, self.shared.last_write
        )
        self.reconciler = Reconciler(parts.ledger, place, settings, self.orders, self.night, parts.clock, tally)
        self.sweep = self._sweep()
        self.healer = Healer(parts.ledger, parts.tracker, self.pacer, tally)
        history, pupil, clock = parts.history, parts.pupil, parts.clock
        self.learner = Learner(history, pupil, parts.tracker, place, settings, clock, parts.stop, tally, self.deadline)
        self.writer = self._writer()
        self.courier = self._courier()
        self.triage = self._triage()

    def work(self) -> None:
        """Sweep and reconcile first, then triage and deliver at the same time, then close."""
        items = self.sweep.run() if self.orders.triage else []
        self.learner.prepare(len(items))
        self._start(items)
        try:
            crew.await_workers(self._hands, self.parts.stop)
        finally:  # a worker that died of a bug must not leave the other rows and claims in mid-air
            self.triage.abandon()
            self._await_courier()
        self.look_back()

    @property
    def how(self) -> str:
        """How the night ended, once it has."""
        stop = self.parts.stop
        if stop.signal is not None:
            return "interrupted"
        if stop.fault is not None:
            return f"stopped: {stop.fault}"
        return "incomplete" if self.tally.incomplete else DONE

    def close(self, how: str) -> None:
        self.parts.ledger.close_night(self.night, how=self.orders.recorded(how), counts=self.tally.totals())

    def summary(self, how: str) -> Summary:
        return Summary(
            place=self.place,
            night=self.night,
            tally=self.tally,
            purse=self.shared.purse,
            how=how,
            waiting=self.waiting,
            seconds=self.parts.clock.monotonic() - self.started,
        )

    # --- triage and deliver

    def _start(self, items: Sequence[Item]) -> None:
        self.tally.observer.stage("triage", len(items))
        self.heal()
        todo: queue.SimpleQueue[Item] = queue.SimpleQueue()
        for item in items:
            todo.put(item)
        workers = min(self.settings.workers, len(items))
        stop = self.parts.stop
        self._hands = [self.parts.crew(f"worker-{n}", lambda: self.triage.work(todo), stop) for n in range(workers)]
        self._courier_hand = self.parts.crew("courier", self.courier.run, stop)
        for hand in (*self._hands, self._courier_hand):
            hand.start()

    def heal(self) -> None:
        """Leave the twins of the sweep to the courier."""
        for issue in self.reconciler.twins:
            self.courier.heal_later(issue)

    @property
    def has_writes(self) -> bool:
        """Whether there is something to deliver before anything was asked; a locked ledger does not tell."""
        try:
            due = self.parts.ledger.next_due(self.place.repository.id, self.night)
        except faults.LedgerBusy:
            return True
        return bool(self.reconciler.twins) or due is not None

    def _await_courier(self) -> None:
        self.tally.observer.stage("deliver")
        self.courier.no_more.set()
        try:
            crew.await_courier(self._courier_hand, self.courier.ring, self.parts.stop)
        finally:
            self.courier.abandon()

    # --- close

    def look_back(self) -> None:
        """Heal what tonight's posts show once they can be seen, and tell what is left."""
        if not self.parts.stop.asked:
            self._look_again()
        self.triage.settle_held()
        self._tell_what_waits()

    def _look_again(self) -> None:
        """One more look at tonight's posts: two workers may have posted to one issue."""
        if not (posted := list(self.writer.posted.values())):
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

    def _sweep(self) -> Sweep:
        return Sweep(
            ledger=self.parts.ledger,
            tracker=self.parts.tracker,
            reconciler=self.reconciler,
            budget=self.settings.budget,
            orders=self.orders,
            night=self.night,
            stop=self.parts.stop,
            tally=self.tally,
        )

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
            bell=self.shared.bell,
        )

    def _triage(self) -> Triage:
        return Triage(
            ledger=self.parts.ledger,
            asker=Asker(self.parts.model, self.place, self.settings, self.shared.purse, self.learner.examples),
            settings=self.settings,
            night=self.night,
            clock=self.parts.clock,
            tally=self.tally,
            probe=self.probe,
            purse=self.shared.purse,
            stop=self.parts.stop,
            deadline=self.deadline,
            ready=self.courier.ring,
            whole=self.sweep.whole,
        )
