"""One simulated installation: a repository, its ledgers, and nights that run, overlap, stall and die."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from triagebot.core.actions import Receipt, Write
from triagebot.core.faults import Fault
from triagebot.core.issue import Snapshot
from triagebot.core.policy import LabelPolicy, Mode
from triagebot.core.selection import Select
from triagebot.ledger import opening
from triagebot.ledger.ledger import Ledger
from triagebot.nightly import night, place
from triagebot.nightly.pacer import Pacer
from triagebot.nightly.report import Nobody, Summary, Tally
from triagebot.nightly.settings import Budget, Orders, Pace, Settings, Texts
from triagebot.nightly.stop import Stop
from triagebot.nightly.undo import Undo
from triagebot.sandbox.hub import BOT, Hub
from triagebot.sandbox.state import Comment
from triagebot.simulator.parts import LABELS, SimClock, SimHand, SimLedger, SimModel
from triagebot.simulator.scheduler import Process, Scheduler
from triagebot.simulator.script import SETTLE, Weather
from triagebot.simulator.shelf import Shelf
from triagebot.simulator.tracker import SimTracker
from triagebot.simulator.watch import Watch

_START = datetime(2026, 10, 24, 23, 45, tzinfo=UTC).timestamp()  # the night in which Europe's clocks go back


def _template(values: Mapping[str, object]) -> str:
    """The comment, reduced to what the invariants read: the marker and the labels."""
    names = [part["name"] for kind in ("applied", "suggested") for part in values[kind]]  # type: ignore[attr-defined]
    return f"{values['marker']}\n{' '.join(names) or 'nothing fits'}"


SETTINGS = Settings(
    texts=Texts(system="{{labels}}", comment=_template),
    select=Select(horizon=None, skip_labelled=False),
    budget=Budget(issues=None, calls=None, per_author=None),
    pace=Pace(settle=SETTLE, per_second=1.0, per_hour=400),
    workers=2,
    deadline=2 * 3600.0,
    lease=400.0,
)


def settings_for(mode: str) -> Settings:
    """How the bot is set up in a history of that mode."""
    match mode:
        case "suggest":
            return replace(SETTINGS, labels=LabelPolicy(mode=Mode.SUGGEST))
        case "comments off":
            return replace(SETTINGS, comments=False)
        case _:
            return SETTINGS


@dataclass
class World:
    """Everything that one history happens to. `windows` are those of the promise that it opens."""

    seed: int
    shelf: Shelf
    weather: Weather
    windows: frozenset[str]
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    settings: Settings = SETTINGS
    jump: float = 0.0
    gate_closed_at: float = 0.0
    missed: set[str] = field(default_factory=set)  # labels that the repository was without for a while
    summaries: list[Summary] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - a seed, not a secret
        self.scheduler = Scheduler(self.random)
        self.hub = Hub(now=lambda: datetime.fromtimestamp(_START + self.scheduler.now, UTC))
        self.hub.listing_lag = self.weather.lag
        self.repo = self.hub.create_repository("octo/sim", labels=LABELS)
        self.hub.create_repository("octo/elsewhere", labels=LABELS)
        self.model = SimModel(self.scheduler, self.random, self.weather.model, self.counts)
        self.ledgers: dict[str, Ledger] = {}
        self.watch = Watch(self)

    def wall(self) -> float:
        """The clock of the machine, which may be wrong; GitHub's is not."""
        return _START + self.scheduler.now + self.jump

    def violate(self, sentence: str) -> None:
        self.violations.append(f"{self.scheduler.now:.1f}s: {sentence}")

    def own(self, number: int) -> list[Comment]:
        """The bot's comments on an issue that are still seen: neither deleted nor hidden."""
        return [c for c in self.repo.comments(number) if c.author.login == BOT and c.minimized is None]

    # --- ledgers

    def ledger(self, name: str) -> Ledger:
        if name not in self.ledgers:
            address = self.shelf.address(name)
            self.ledgers[name] = opening.open_ledger(address, settle=SETTLE, now=self.wall)
        return self.ledgers[name]

    def lose(self, name: str) -> None:
        """Whoever works with it is told that it is gone."""
        opened = self.ledgers.pop(name, None)
        if opened is not None:
            opened.close()
        self.shelf.lose(name)

    def back_up(self, name: str) -> None:
        self.ledger(name)
        self.shelf.back_up(name)

    def hand_over(self, name: str, to: str) -> None:
        """Somebody sets a second installation up with a copy of the first one's ledger."""
        self.back_up(name)
        self.lose(to)
        self.shelf.restore(to)

    def restore(self, name: str) -> None:
        if self.shelf.has_backup:
            self.lose(name)
            self.shelf.restore(name)

    def end(self) -> None:
        for opened in self.ledgers.values():
            opened.close()

    # --- nights and other happenings

    def night(self, process: Process, orders: Orders, *, ledger: str = "main") -> None:
        """Start a process that runs one night."""
        self.scheduler.spawn(process, "main", lambda: self._run(process, ledger, orders))

    def undo(self, process: Process, issues: Sequence[int]) -> None:
        """Start a process in which a person undoes what stands on issues."""
        self.scheduler.spawn(process, "main", lambda: self._undo(process, issues))

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Something that happens to the world, whoever has died meanwhile."""

        def wait() -> None:
            self.scheduler.sleep(seconds)
            act()

        self.scheduler.spawn(Process("world"), "later", wait)

    def _run(self, process: Process, ledger: str, orders: Orders) -> None:
        stop = Stop()
        shipped = Ledger(self.ledger(ledger)._database, settle=SETTLE)
        parts = night.Parts(
            ledger=SimLedger(shipped, self),
            tracker=self._tracker(process, shipped),
            model=self.model,
            clock=SimClock(self.scheduler, self.wall, stop),
            stop=stop,
            crew=lambda hand, work, until: SimHand(self.scheduler, process, hand, work, until),
        )
        before = datetime.fromtimestamp(self.wall(), UTC).date()
        try:
            self.summaries.append(night.run(parts, self.settings, orders, Tally()))
            self.counts["night ended"] += 1
        except Fault as fault:
            self.counts[f"night ended by {type(fault).__name__}"] += 1
        except Exception as bug:  # noqa: BLE001 - whatever else comes out of a night is a finding
            self.violate(f"a night crashed: {bug!r}")
        if stop.fault is not None:
            self.counts[f"night stopped by {type(stop.fault).__name__}"] += 1
        if before != datetime.fromtimestamp(self.wall(), UTC).date():
            self.counts["midnight in mid-run"] += 1

    def _undo(self, process: Process, issues: Sequence[int]) -> None:
        stop, shipped = Stop(), Ledger(self.ledger("main")._database, settle=SETTLE)
        tracker, ledger = self._tracker(process, shipped), SimLedger(shipped, self)
        clock = SimClock(self.scheduler, self.wall, stop)
        try:
            repository = tracker.repository()
            place.check(repository)
            deadline = clock.monotonic() + self.settings.deadline
            pacer = Pacer(ledger, tracker.account, self.settings.pace, clock, stop, deadline, lambda _: None)
            undo = Undo(ledger, tracker, pacer, stop, Nobody(), repository, tracker.identity())
            for undone in undo.run(issues):
                self.counts[f"undo: {undone.fate.value}"] += 1
        except Fault as fault:
            self.counts[f"undo ended by {type(fault).__name__}"] += 1
        except Exception as bug:  # noqa: BLE001 - whatever else comes out of it is a finding
            self.violate(f"an undo crashed: {bug!r}")

    def _tracker(self, process: Process, ledger: Ledger) -> SimTracker:
        def watch(tracker: SimTracker, write: Write, looked: Snapshot | None) -> None:
            self.watch.names(write, tracker.known)
            self.watch.sends(process, ledger, write, looked)

        def stored(write: Write, receipt: Receipt) -> None:
            self.watch.stored(process, write, receipt)

        return SimTracker(
            hub=self.hub,
            repo=self.repo,
            scheduler=self.scheduler,
            random=self.random,
            weather=self.weather,
            counts=self.counts,
            watch=watch,
            stored=stored,
            later=self.later,
        )
