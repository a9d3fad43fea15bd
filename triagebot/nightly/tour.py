"""One night over several repositories: all are swept before anything is asked, so that whoever waits longest is first.

They share one budget, one deadline, the workers and the writer; each has a night of its own in the ledger. A
repository that cannot be worked on is told with its reason and does not hold up the others.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from triagebot.core.faults import Fault, LeaseLost, LedgerBusy, Limited, Misconfigured, Unauthorized
from triagebot.nightly import crew, night, stop
from triagebot.nightly.choice import Shortlist
from triagebot.nightly.courier import Pause
from triagebot.nightly.night import Parts, Shared, Shift
from triagebot.nightly.ports import Clock, Crew
from triagebot.nightly.purse import Purse
from triagebot.nightly.reconcile import Item
from triagebot.nightly.report import Nobody, Observer, Summary, Tally
from triagebot.nightly.settings import Orders, Settings
from triagebot.nightly.stop import Stop
from triagebot.nightly.triage import next_of


def _nothing() -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """A repository to be worked on, OWNER/NAME.

    `parts` builds its world when its turn comes, on a stop of its own, and may raise `Misconfigured`. `hang_up`
    gives back what the calling thread holds open for it: there may be hundreds.
    """

    name: str
    parts: Callable[[Stop], Parts]
    tally: Tally = field(default_factory=Tally)
    hang_up: Callable[[], None] = _nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What became of one repository: its summary, or the fault that kept it from one, or both; neither where the
    tour was stopped before it got there."""

    name: str
    summary: Summary | None = None
    fault: Fault | None = None


@dataclass
class _Desk:
    """A repository in work: its night, how many of its issues are still to be asked about, whether it has learnt."""

    site: Site
    shift: Shift
    left: int = 0
    prepared: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Tour:
    """The steps of a night, over all repositories at once."""

    sites: Iterable[Site]
    settings: Settings
    orders: Orders
    clock: Clock
    stop: Stop
    observer: Observer = field(default_factory=Nobody)
    hire: Crew = crew.Thread
    _told: dict[str, Told] = field(default_factory=dict)
    _desks: dict[int, _Desk] = field(default_factory=dict)
    _named: dict[int, str] = field(default_factory=dict)
    _refused: dict[str, Fault] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._deadline = self.clock.monotonic() + self.settings.deadline
        self._shared = Shared(purse=Purse(self.settings.budget))
        self._shortlist = Shortlist(self.settings.budget)

    def run(self) -> list[Told]:
        """Work on all of them; returns what became of each, in their order. Raises what concerns all of them."""
        how = "crashed"
        try:
            self._sweep_all()
            self._work()
            self._end_all()
        except Fault as fault:
            how = f"stopped: {fault}"
            raise
        finally:
            for desk in [*self._desks.values()]:
                self._close(desk, how)
        return [*self._told.values()]

    # --- one repository after the other

    def _sweep_all(self) -> None:
        for site in self.sites:
            self._told[site.name] = Told(name=site.name)
            if not self.stop.asked and self.clock.monotonic() < self._deadline:
                self._attempt(site, partial(self._sweep, site))
        for item in self._shortlist:
            self._desks[item.ref.repo_id].left += 1
        for desk in [*self._desks.values()]:  # the budget may have left all of its issues over
            self._close_idle(desk, desk.left)

    def _end_all(self) -> None:
        for desk in [*self._desks.values()]:
            self._attempt(desk.site, desk.shift.look_back)
            self._close(desk, desk.shift.how)

    def _attempt(self, site: Site, step: Callable[[], None]) -> None:
        """Take a step with one repository. What is its own fault is told, and the others go on."""
        try:
            step()
        except Fault as fault:
            if stop.concerns_all(fault):
                raise
            self._told[site.name] = replace(self._told[site.name], fault=fault)
            site.tally.observer.say(str(fault))
        finally:
            site.hang_up()

    def _sweep(self, site: Site) -> None:
        """Open, sweep and reconcile. A limit or a refused token is taken as said for all of the owner's."""
        owner = site.name.partition("/")[0].casefold()
        if owner in self._refused:
            raise self._refused[owner]
        try:
            self._pass_over(site)
        except (Limited, Unauthorized) as fault:
            self._refused[owner] = fault
            raise

    def _pass_over(self, site: Site) -> None:
        desk = self._open(site)
        try:
            items = desk.shift.sweep.run() if self.orders.triage else []
        except Fault as fault:
            self._close(desk, f"stopped: {fault}")
            raise
        for item in items:
            left = self._shortlist.offer(item, newest_first=desk.shift.sweep.newest_first)
            if left is not None:
                self._desks[left[0].ref.repo_id].shift.sweep.leave(left)
        self._close_idle(desk, len(items))

    def _close_idle(self, desk: _Desk, questions: int) -> None:
        """End a night with nothing to do, as most of a large owner's are: one that is killed, or has seconds to end,
        leaves no more nights open than there is work for."""
        if not questions and not desk.shift.has_writes:
            self._close(desk, desk.shift.how)

    def _open(self, site: Site) -> _Desk:
        parts = site.parts(self.stop.branch())
        shift = night.begin(parts, self.settings, self.orders, site.tally, self._deadline, self._shared)
        desk, found = _Desk(site, shift), shift.place.repository
        if found.id in self._named:
            shift.close("stopped: named twice")
            raise Misconfigured(f"{site.name} is the same repository as {self._named[found.id]}: name it once.")
        self._named[found.id], self._desks[found.id] = site.name, desk
        shift.pacer.rests = self._rests
        return desk

    def _close(self, desk: _Desk, how: str) -> None:
        shift, name = desk.shift, desk.site.name
        del self._desks[shift.place.repository.id]
        fault = self._told[name].fault or (None if self.stop.fault else shift.parts.stop.fault)
        how = how if fault is None else f"stopped: {fault}"
        try:
            shift.close(how)
        except (LedgerBusy, LeaseLost) as lost:
            fault = fault or lost
        self._told[name] = Told(name=name, summary=shift.summary(how), fault=fault)

    # --- all at once

    def _work(self) -> None:
        """Triage and deliver, at the same time."""
        items, desks = self._in_turn(), [*self._desks.values()]
        if not desks:
            return
        self.observer.stage("triage", len(items))
        todo: queue.SimpleQueue[Item] = queue.SimpleQueue()
        for item in items:
            todo.put(item)
        for desk in desks:
            desk.shift.heal()
        workers = min(self.settings.workers, len(items))
        hands = [self.hire(f"worker-{n}", lambda: self._ask(todo), self.stop) for n in range(workers)]
        writer = self.hire("courier", lambda: self._write(desks), self.stop)
        for hand in (*hands, writer):
            hand.start()
        with ExitStack() as stack:  # a worker that died of a bug must not leave the other rows and claims in mid-air
            for desk in desks:
                stack.callback(desk.shift.courier.abandon)
            stack.callback(lambda: crew.await_courier(writer, self._shared.bell.set, self.stop))
            stack.callback(self._no_more, desks)
            crew.await_workers(hands, self.stop)

    def _in_turn(self) -> list[Item]:
        """Longest waiting first; where something has to learn, by repository, so that few are in memory at a time."""
        items = [*self._shortlist]
        if all(desk.shift.parts.pupil is None for desk in self._desks.values()):
            return items
        first: dict[int, int] = {}
        for place, item in enumerate(items):
            first.setdefault(item.ref.repo_id, place)
        return sorted(items, key=lambda item: first[item.ref.repo_id])

    def _ask(self, todo: queue.SimpleQueue[Item]) -> None:
        """A worker's whole life: take the next item, of whichever repository, until there is none."""
        while (item := next_of(todo)) is not None:
            desk = self._desks[item.ref.repo_id]
            self._prepare(desk)
            desk.shift.triage.one(item)
            self._finish(desk)

    def _prepare(self, desk: _Desk) -> None:
        with desk.lock:
            if desk.prepared or desk.shift.parts.stop.asked:
                return
            desk.prepared = True
            try:
                desk.shift.learner.prepare(desk.left)
            except Misconfigured as fault:
                desk.shift.parts.stop.by_fault(fault)

    def _finish(self, desk: _Desk) -> None:
        with desk.lock:
            desk.left -= 1
        if not desk.left and desk.shift.parts.pupil is not None:
            desk.shift.parts.pupil.forget()

    def _write(self, desks: Sequence[_Desk]) -> None:
        """The one writer: the repositories take turns, an issue each."""
        busy = [*desks]
        while busy:
            pauses: dict[int, Pause] = {}
            for place, desk in enumerate(busy):
                pause = desk.shift.courier.go()
                if pause is None:
                    desk.site.hang_up()
                else:
                    pauses[place] = pause
            busy = [busy[place] for place in pauses]
            if pauses:
                _shortest(pauses.values()).take(self.clock, self._shared.bell)

    def _no_more(self, desks: Sequence[_Desk]) -> None:
        self.observer.stage("deliver")
        for desk in desks:
            desk.shift.courier.no_more.set()
        for desk in desks:
            desk.shift.triage.abandon()

    def _rests(self, rests: bool) -> None:
        """The writer waits for all of them, whosever write comes next."""
        for desk in self._desks.values():
            desk.shift.probe.writing_rests(rests)


def _shortest(pauses: Iterable[Pause]) -> Pause:
    waits = [*pauses]
    return Pause(min(pause.seconds for pause in waits), bell=any(pause.bell for pause in waits))
