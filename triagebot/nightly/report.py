"""What happened in a night, counted once and told in several ways."""

from __future__ import annotations

import enum
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from triagebot.core.rows import Night
from triagebot.core.verdict import Usage, Vote
from triagebot.nightly.place import Place
from triagebot.nightly.purse import Purse


class Ended(enum.StrEnum):
    """What became of one issue tonight."""

    LABELLED = "labelled"
    NOTHING_FITS = "nothing fits"
    UNANSWERABLE = "not answerable"
    STANDING = "answered before"
    SKIPPED = "skipped"
    WAITING = "waiting"
    FAILED = "failed"
    DEAD = "dead"
    HELD = "held by another worker"
    LEFT = "left over"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One line of the summary."""

    issue: int
    ended: Ended
    title: str = ""
    labels: tuple[Vote, ...] = ()
    reason: str = ""
    usage: Usage = Usage()


class Observer(Protocol):
    """Somebody who watches a night: a progress display, a plain log, or nobody."""

    def stage(self, name: str, total: int | None = None) -> None: ...

    def advance(self, steps: int = 1) -> None: ...

    def say(self, line: str) -> None: ...


class Nobody:
    """An observer that does not look."""

    def stage(self, name: str, total: int | None = None) -> None:
        del name, total

    def advance(self, steps: int = 1) -> None:
        del steps

    def say(self, line: str) -> None:
        del line


@dataclass
class Tally:
    """The night's counts and entries, safe to add to from every thread."""

    observer: Observer = field(default_factory=Nobody)
    entries: dict[int, Entry] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    usage: Usage = Usage()
    failed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, entry: Entry) -> None:
        """Record what became of an issue; the last word counts."""
        with self._lock:
            self.entries[entry.issue] = entry
            if entry.ended is Ended.SKIPPED:
                self.skipped[entry.reason] += 1

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number

    def spend(self, usage: Usage) -> None:
        with self._lock:
            self.usage = self.usage + usage

    def drop(self, dropped: tuple[str, ...]) -> None:
        with self._lock:
            self.dropped.update(dropped)

    def note(self, line: str, *, failed: bool = False) -> None:
        """Say something that the summary must repeat; `failed` makes the exit code 1."""
        with self._lock:
            self.failed = self.failed or failed
            if line not in self.notes:
                self.notes.append(line)
        self.observer.say(line)

    def totals(self) -> Mapping[str, int]:
        """All counts of the night under stable names: what `nights.counts` and the JSON summary hold."""
        with self._lock:
            ends = Counter(entry.ended.value.replace(" ", "_") for entry in self.entries.values())
            cost = {
                "model_requests": self.usage.requests,
                "tokens_in": self.usage.tokens_in or 0,
                "tokens_out": self.usage.tokens_out or 0,
            }
            return dict(sorted((ends + self.counts).items())) | cost

    @property
    def incomplete(self) -> bool:
        """Whether something failed or was left to others, which exit code 1 tells."""
        trouble = {Ended.FAILED, Ended.HELD}
        return self.failed or any(entry.ended in trouble for entry in self.entries.values())


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
