"""Processes that work in the simulated world: a night, a tour over several repositories, an undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from triagebot.core.actions import Receipt, Write
from triagebot.core.faults import Fault
from triagebot.core.issue import Snapshot
from triagebot.ledger.ledger import Ledger
from triagebot.nightly import night, place
from triagebot.nightly.night import Parts
from triagebot.nightly.pacer import Pacer
from triagebot.nightly.report import Nobody, Tally
from triagebot.nightly.settings import Orders
from triagebot.nightly.stop import Stop, concerns_all
from triagebot.nightly.tour import Site, Told, Tour
from triagebot.nightly.undo import Undo
from triagebot.sandbox.repository import Repository
from triagebot.simulator.parts import SimClock, SimHand, SimLedger
from triagebot.simulator.scheduler import Process
from triagebot.simulator.tracker import SimTracker
from triagebot.simulator.world import World

_PATIENCE = 4.0
"""Seconds from a signal to the end of the process, whatever it is at."""


def a_night(world: World, process: Process, repo: Repository, orders: Orders, *, ledger: str = "main") -> None:
    """Start a process that runs one night over one repository."""
    run = _Run(world, process, ledger)

    def work() -> None:
        world.summaries.append(night.run(run.parts(repo, run.stop), world.settings, orders, Tally()))
        world.counts["night ended"] += 1

    run.start("night", work)


def a_tour(
    world: World, process: Process, repos: Sequence[Repository], orders: Orders, *, ledger: str = "main"
) -> None:
    """Start a process that runs one night over several repositories, which may name one of them twice."""
    run = _Run(world, process, ledger)

    def work() -> None:
        clock = SimClock(world.scheduler, world.wall, run.stop)
        sites = [Site(name=repo.full_name, parts=partial(run.parts, repo)) for repo in repos]
        told = Tour(sites, world.settings, orders, clock, run.stop, hire=run.hire).run()
        world.counts["tour ended"] += 1
        _judge_tour(run, told)

    run.start("night", work)


def an_undo(world: World, process: Process, repo: Repository, issues: Sequence[int]) -> None:
    """Start a process in which a person undoes what stands on issues."""
    run = _Run(world, process, "main")

    def work() -> None:
        tracker, ledger, clock = run.tracker(repo), run.ledger, SimClock(world.scheduler, world.wall, run.stop)
        repository = tracker.repository()
        place.check(repository)
        deadline = clock.monotonic() + world.settings.deadline
        pacer = Pacer(ledger, tracker.account, world.settings.pace, clock, run.stop, deadline, lambda _: None)
        undo = Undo(ledger, tracker, pacer, run.stop, Nobody(), repository, tracker.identity())
        for undone in undo.run(issues):
            world.counts[f"undo: {undone.fate.value}"] += 1

    run.start("undo", work)


@dataclass
class _Run:
    """One process: its stop, its view of the ledger, and how it ends."""

    world: World
    process: Process
    name: str
    stop: Stop = field(default_factory=Stop)
    shipped: Ledger = field(init=False)

    @property
    def ledger(self) -> SimLedger:
        return SimLedger(self.shipped, self.world)

    def start(self, what: str, work: Callable[[], None]) -> None:
        self.process.told = self._told_to_end
        self.world.scheduler.spawn(self.process, "main", lambda: self._attended(what, work))

    def parts(self, repo: Repository, stop: Stop) -> Parts:
        clock = SimClock(self.world.scheduler, self.world.wall, stop)
        ledger, tracker, model = self.ledger, self.tracker(repo), self.world.model
        return Parts(ledger=ledger, tracker=tracker, model=model, clock=clock, stop=stop, crew=self.hire)

    def hire(self, name: str, work: Callable[[], None], stop: Stop) -> SimHand:
        return SimHand(self.world.scheduler, self.process, name, work, stop)

    def tracker(self, repo: Repository) -> SimTracker:
        world, process = self.world, self.process

        def watch(tracker: SimTracker, write: Write, looked: Snapshot | None) -> None:
            world.watch.names(repo, write, tracker.known)
            world.watch.sends(process, self.shipped, repo, write, looked)

        def stored(write: Write, receipt: Receipt) -> None:
            world.watch.stored(process, repo, write, receipt)

        return SimTracker(
            hub=world.hub,
            repo=repo,
            scheduler=world.scheduler,
            random=world.random,
            weather=world.weather,
            counts=world.counts,
            watch=watch,
            stored=stored,
            later=world.later,
        )

    def _attended(self, what: str, work: Callable[[], None]) -> None:
        world = self.world
        self.shipped = Ledger(world.ledger(self.name)._database, settle=world.settings.pace.settle)
        before = datetime.fromtimestamp(world.wall(), UTC).date()
        try:
            work()
        except Fault as fault:
            world.counts[f"{what} ended by {type(fault).__name__}"] += 1
        except Exception as bug:  # noqa: BLE001 - whatever else comes out of it is a finding
            world.violate(f"a process ({what}) crashed: {bug!r}")
        if self.stop.fault is not None:
            world.counts[f"{what} stopped by {type(self.stop.fault).__name__}"] += 1
        if what == "night" and before != datetime.fromtimestamp(world.wall(), UTC).date():
            world.counts["midnight in mid-run"] += 1
        self._leaves_nothing_behind()

    def _leaves_nothing_behind(self) -> None:
        """What it has left to others it has given back; a ledger that fails or was taken away lets nobody do that."""
        world = self.world
        opened = world.ledgers.get(self.name)
        if not world.weather.ledger and opened is not None and opened._database is self.shipped._database:
            world.watch.ends(opened, self.shipped.owner)
        if self.process.ending:
            world.counts["ended by a signal"] += 1
            self.process.dead = True  # with its threads, whatever they wait for

    def _told_to_end(self) -> None:
        self.stop.by_signal(15)

        def patience_is_over() -> None:
            if not (self.process.dead or self.process.stalled):
                self.world.violate(f"a process is still there {_PATIENCE:.0f} s after it was told to end")
            self.process.dead = True

        self.world.later(_PATIENCE, patience_is_over)


def _judge_tour(run: _Run, told: Sequence[Told]) -> None:
    """A repository's trouble is its own, and nobody is passed over; the purse is one for all of them."""
    world, stop = run.world, run.stop
    world.summaries += [each.summary for each in told if each.summary]
    if stop.fault is not None and not concerns_all(stop.fault):
        world.violate(f"a tour was stopped by what concerns one repository: {stop.fault}")
    for each in told:
        world.counts[f"told: {'a fault' if each.fault else 'a summary' if each.summary else 'nothing'}"] += 1
        if stop.asked or each.fault:
            continue
        if each.summary is None or each.summary.how not in {"done", "incomplete"}:
            world.violate(f"a tour passed {each.name} over: {each.summary and each.summary.how}")
    calls, purse = world.model.calls[run.process], world.settings.budget.calls
    if purse is not None and calls > purse:
        world.violate(f"a tour that may ask {purse} times asked {calls} times")
