"""One simulated installation: its repositories and ledgers, and the time in which everything happens to them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from triagebot.core.policy import LabelPolicy, Mode
from triagebot.core.selection import Select
from triagebot.ledger import opening
from triagebot.ledger.ledger import Ledger
from triagebot.nightly.report import Summary
from triagebot.nightly.settings import Budget, Pace, Settings, Texts
from triagebot.sandbox.hub import BOT, Hub
from triagebot.sandbox.repository import Repository
from triagebot.sandbox.state import Comment
from triagebot.simulator.parts import LABELS, SimModel
from triagebot.simulator.scheduler import Process, Scheduler
from triagebot.simulator.script import SETTLE, Weather
from triagebot.simulator.shelf import Shelf
from triagebot.simulator.watch import Watch

NAMES = ("octo/sim", "octo/second", "acme/third")
"""The repositories, of two owners: as many of them as a history is about."""

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


def settings_for(mode: str, purse: int = 0) -> Settings:
    """How the bot is set up in a history of that mode; `purse` questions may be asked in one run, 0 is no limit."""
    settings = replace(SETTINGS, budget=replace(SETTINGS.budget, calls=purse or None))
    match mode:
        case "suggest":
            return replace(settings, labels=LabelPolicy(mode=Mode.SUGGEST))
        case "comments off":
            return replace(settings, comments=False)
        case _:
            return settings


@dataclass
class World:
    """Everything that one history happens to. `windows` are those of the promise that it opens; `number` is that of
    the repositories."""

    seed: int
    shelf: Shelf
    weather: Weather
    windows: frozenset[str]
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    settings: Settings = SETTINGS
    number: int = 1
    jump: float = 0.0
    gate_closed_at: float = 0.0
    missed: set[tuple[int, str]] = field(default_factory=set)  # labels that a repository was without for a while
    summaries: list[Summary] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - a seed, not a secret
        self.scheduler = Scheduler(self.random)
        self.hub = Hub(now=lambda: datetime.fromtimestamp(_START + self.scheduler.now, UTC))
        self.hub.listing_lag = self.weather.lag
        self.repo = self.hub.create_repository(NAMES[0], labels=LABELS)
        self.hub.create_repository("octo/elsewhere", labels=LABELS)
        others = [self.hub.create_repository(name, labels=LABELS) for name in NAMES[1 : self.number]]
        self.repos = (self.repo, *others)
        self.model = SimModel(self.scheduler, self.random, self.weather.model, self.counts)
        self.ledgers: dict[str, Ledger] = {}
        self.watch = Watch(self)

    def wall(self) -> float:
        """The clock of the machine, which may be wrong; GitHub's is not."""
        return _START + self.scheduler.now + self.jump

    def violate(self, sentence: str) -> None:
        self.violations.append(f"{self.scheduler.now:.1f}s: {sentence}")

    def issues(self) -> Iterator[tuple[Repository, int]]:
        """Every number that was ever given, with its repository."""
        return ((repo, number) for repo in self.repos for number in repo.kept)

    def own(self, repo: Repository, number: int) -> list[Comment]:
        """The bot's comments on an issue that are still seen: neither deleted nor hidden."""
        return [c for c in repo.comments(number) if c.author.login == BOT and c.minimized is None]

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

    # --- other happenings

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Something that happens to the world, whoever has died meanwhile."""

        def wait() -> None:
            self.scheduler.sleep(seconds)
            act()

        self.scheduler.spawn(Process("world"), "later", wait)
