"""What a history holds, drawn from its seed before it is played: so that a failing one can be made shorter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

DAY = 86_400.0
SETTLE = 60.0
WORDS = ("bug", "question", "enhancement", "none", "refuse")
PEOPLE = (
    "edit text",
    "edit text",
    "edit and change back",
    "close or reopen",
    "lock or unlock",
    "delete our comment",
    "edit our comment",
    "take a label off",
    "put a label on",
    "react to our comment",
    "copy our marker",
    "leave a twin of ours",
    "delete the issue",
    "transfer the issue",
    "open an issue",
    "undo",
)
TROUBLE = ("lose", "back up", "back up", "restore", "clock forward", "clock back", "retry")
HOUSE = (
    "archive",
    "switch issues off",
    "take our permission",
    "rename the repository",
    "drop a label",
    "rename a label",
    "switch comments on or off",
)
MODES = ("suggest", "comments off")
POSTING = "github.send.PostComment"
STEPS = (
    POSTING,
    "github.send.PostComment.stored",
    "github.send.AddLabels.stored",
    "github.send.EditComment.stored",
    "github.look",
    "ledger.finish",
    "ledger.sent",
    "ledger.claim",
    "ledger.claim_parcel",
    "ledger.renew",
    "model.ask",
)
UNDO_STEPS = (
    "github.send.RemoveLabel",
    "github.send.RemoveLabel.stored",
    "github.send.DeleteComment.stored",
    "ledger.claim_written",
    "ledger.silence",
    "ledger.withdraw",
)


_TOLD = (
    "repo",
    "tour",
    "issue",
    "word",
    "again",
    "deliver_only",
    "kill_at",
    "kill_on",
    "stall_on",
    "stall_for",
    "end_on",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happens `at` seconds after the start. `what` is `night`, or a word of PEOPLE, TROUBLE or HOUSE.

    `repo` is the place of the repository that it happens to, or with `tour` those which that night is over.
    """

    at: float
    what: str
    issue: int = 0
    word: str = ""
    ledger: str = "main"
    again: bool = False
    deliver_only: bool = False
    kill_at: int | None = None
    kill_on: str = ""
    stall_on: str = ""
    stall_for: float = 0.0
    end_on: str = ""
    repo: int = 0
    tour: tuple[int, ...] = ()

    def __str__(self) -> str:
        told = {name: getattr(self, name) for name in _TOLD} | {"ledger": self.ledger if self.ledger != "main" else ""}
        return " ".join([f"{self.at:9.1f}s {self.what}", *(f"{name}={value}" for name, value in told.items() if value)])


@dataclass(frozen=True, kw_only=True, slots=True)
class Weather:
    """How likely trouble is for each kind of request, how far lists lag, how poorly the model
    answers, how often the ledger is locked or its disk full, and how often a sweep fails."""

    read: float = 0.0
    write: float = 0.0
    limits: float = 0.0
    late: bool = False
    lag: float = 0.0
    model: float = 0.0
    ledger: float = 0.0
    sweep: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """One history: `titles` are the issues at its start, `poison` the one whose question kills who asks it,
    `mode` how the bot is set up: as it comes, or one of MODES. Where it is about several repositories, `others` are
    the issues of the further ones, and `purse` the number of questions that a run may ask, 0 for no limit."""

    seed: int
    titles: tuple[str, ...]
    events: tuple[Event, ...]
    weather: Weather
    poison: int = 0
    mode: str = ""
    others: tuple[tuple[str, ...], ...] = ()
    purse: int = 0

    @property
    def repos(self) -> int:
        return 1 + len(self.others)

    def all_titles(self) -> Iterator[tuple[int, str]]:
        """The issues at the start, each with the place of its repository."""
        return ((place, title) for place, titles in enumerate((self.titles, *self.others)) for title in titles)

    @property
    def windows(self) -> frozenset[str]:
        """Which of the promise's windows for twins this history opens; empty means that none may ever arise."""
        found = {e.what for e in self.events if e.what in {"lose", "restore", "clock forward", "clock back"}}
        if any(e.ledger == "other" for e in self.events):
            found.add("two ledgers")
        if any(e.stall_for for e in self.events):
            found.add("stall")
        if self.weather.lag > SETTLE or self.weather.late:
            found.add("seen late")
        return frozenset(found)

    @property
    def accidents(self) -> int:
        """How many nights are to be killed or told to end, or to stall."""
        return sum(bool(e.kill_at or e.kill_on or e.stall_for or e.end_on) for e in self.events)

    def without(self, place: int) -> Script:
        return replace(self, events=self.events[:place] + self.events[place + 1 :])

    def __str__(self) -> str:
        titles = "; ".join(", ".join(each) for each in (self.titles, *self.others))
        head = [f"seed {self.seed}: {titles}; {self.mode or 'as it comes'}; {self.weather}"]
        return "\n".join(head + [f"  {event}" for event in self.events])


def draw(seed: int) -> Script:
    """The script of a seed, about one repository."""
    dice = random.Random(seed)  # noqa: S311 - a seed, not a secret
    issues = dice.randint(1, 4)
    calm = dice.random() < 0.1
    two_ledgers = not calm and dice.random() < 0.1
    days = dice.randint(2, 3)
    poison = not calm and dice.random() < 0.05
    events = [event for day in range(days) for event in _day(dice, day, issues, calm=calm, two=two_ledgers)]
    if poison:
        events = _crash_loop(days)
    elif not calm and dice.random() < 0.08:
        events += _duel(dice, days)
    weather = Weather() if calm else _weather(dice)
    scene = 1.0 if calm or poison else dice.random()
    if scene < 0.06:
        events += _crowd(dice, days)
        weather = replace(weather, limits=0.3)
    elif scene < 0.12:
        events += _hurry(dice, days)
        weather = replace(weather, lag=50.0)
    return Script(
        seed=seed,
        titles=tuple(a_title(dice, number) for number in range(1, issues + 1)),
        events=tuple(sorted(events, key=lambda event: event.at)),
        weather=weather,
        poison=int(poison),
        mode=dice.choice(("", "", "", "", "", "", "", *MODES)),
    )


def _crash_loop(days: int) -> list[Event]:
    """Many nights a day, each long enough after the last one for its claim to have lapsed."""
    return [Event(at=day * DAY + 3600 + turn * 600, what="night") for day in range(days) for turn in range(6)]


def _duel(dice: random.Random, days: int) -> list[Event]:
    """A worker that wakes up late, just while the one that took over is at work: leases are 400 s and 120 s."""
    start = days * DAY + 7200
    if dice.random() < 0.5:
        late = Event(at=start, what="night", stall_on="model.ask", stall_for=450.0)
        return [late, Event(at=start + 420, what="night", stall_on="model.ask", stall_for=90.0)]
    late = Event(at=start, what="night", stall_on="ledger.sent", stall_for=230.0)
    return [late, Event(at=start + 190, what="night", stall_on="github.look", stall_for=90.0)]


def _crowd(dice: random.Random, days: int) -> list[Event]:
    """Several couriers wait for slots, side by side, while one of them meets a limit: the gate closes for all."""
    start = days * DAY + 10_800
    new = [Event(at=start + n, what="open an issue", word=a_title(dice, n)) for n in range(4)]
    return new + [Event(at=start + 10 + n, what="night", deliver_only=n == 2) for n in range(3)]


def _hurry(dice: random.Random, days: int) -> list[Event]:
    """A text changes, and is judged anew, before lists show the comment on the old one."""
    start, last = days * DAY + 10_800, 30
    new = [Event(at=start + n, what="open an issue", word=a_title(dice, n)) for n in range(2)]
    edits = [Event(at=start + last, what="edit text", issue=issue, word=a_title(dice, issue)) for issue in range(1, 7)]
    return [*new, Event(at=start + 2, what="night"), *edits, Event(at=start + last + 1, what="night")]


def a_title(dice: random.Random, number: int) -> str:
    return f"{dice.choice(WORDS)} {number} {dice.randint(1, 3)}"


def _weather(dice: random.Random) -> Weather:
    rough = dice.choice([0.0, 0.05, 0.3, 0.3])
    return Weather(
        read=rough / 3,
        write=rough,
        limits=dice.choice([0.0, 0.0, 0.1, 0.3]),
        late=bool(rough) and dice.random() < 0.25,
        lag=dice.choice([0.0, 0.0, 5.0, 50.0, 50.0, 110.0]),
        model=dice.choice([0.0, 0.0, 0.15]),
        ledger=dice.choice([0.0, 0.0, 0.0, 0.02]),
    )


def _day(dice: random.Random, day: int, issues: int, *, calm: bool, two: bool) -> list[Event]:
    start = day * DAY + dice.uniform(0, 900)
    nights = dice.choice([1, 1, 2, 2, 3, 5])
    delays = [0.0, *(dice.choice([0.0, 0.0, 1.0, 8.0, 30.0, 200.0, 1500.0]) for _ in range(nights - 1))]
    events = [_night(dice, start + delay, issues, calm=calm, two=two) for delay in delays]
    for _ in range(dice.randint(0, 6)):
        at = start + dice.choice([dice.uniform(0, 120), dice.uniform(0, 2000)])
        number = dice.randint(1, issues)
        title = a_title(dice, number)
        event = Event(at=at, what=dice.choice(PEOPLE), issue=number, word=title)
        events.append(event if calm or event.what != "undo" else _with_fate(dice, event, (*STEPS, *UNDO_STEPS * 3)))
    if not calm and dice.random() < 0.2:
        events.append(Event(at=start + dice.uniform(0, 2000), what=dice.choice(TROUBLE)))
    if not calm and dice.random() < 0.2:
        at = start + dice.choice([dice.uniform(0, 40), dice.uniform(0, 900)])
        events.append(Event(at=at, what=dice.choice(HOUSE), word=dice.choice(WORDS[:3])))
    if two and dice.random() < 0.3:
        events.append(Event(at=start + dice.uniform(0, 900), what="copy"))
    return events


def _night(dice: random.Random, at: float, issues: int, *, calm: bool, two: bool) -> Event:
    event = Event(at=at, what="night", ledger="other" if two and dice.random() < 0.5 else "main")
    chance = dice.random()
    if chance < 0.05:
        event = replace(event, again=True, issue=dice.choice([0, dice.randint(1, issues)]))
    elif chance < 0.1:
        event = replace(event, deliver_only=True)
    return event if calm else _with_fate(dice, event)


def _with_fate(dice: random.Random, event: Event, steps: tuple[str, ...] = STEPS) -> Event:
    """Maybe it is killed or stalls: at any step, or at the first step of a name where it matters most."""
    chance = dice.random()
    if chance < 0.15:
        return replace(event, kill_at=dice.randint(1, 150))
    if chance < 0.3:
        return replace(event, kill_on=dice.choice(steps))
    if chance < 0.4:
        seconds = dice.choice([5.0, 30.0, 150.0, 700.0])
        return replace(event, stall_on=dice.choice(steps), stall_for=seconds)
    return event
