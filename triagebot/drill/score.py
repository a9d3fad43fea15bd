"""What a drill has seen: the rules, how often each was checked and held, and what broke one."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from triagebot.drill.crew import Trouble


class Rule(enum.StrEnum):
    """The parts of the promise that a ledger has to keep."""

    ONE_WINNER = "one key, one winner"
    LEASE = "a killed claim waits for its lease, then attempt 2"
    SENT_ONCE = "finished as one, delivered twice, sent once"
    FENCED = "a late worker's writes hit nothing"
    LOCKED = '"database is locked" is no win'


@dataclass(frozen=True, kw_only=True, slots=True)
class Breach:
    """A rule that did not hold, in which round (from 1), and what was seen instead."""

    rule: Rule
    round: int
    seen: str


class RoundEnds(Exception):
    """A process did not do what it was told: nothing that would come after it can be believed."""


@dataclass
class Score:
    """Counts by rule: `checks` are single facts that were looked at, `held` rounds in which all of them were right.

    `contended` counts the rounds in which another process was inside its claim while the winner was in its own.
    """

    rounds: int = 0
    contended: int = 0
    checks: Counter[Rule] = field(default_factory=Counter)
    held: Counter[Rule] = field(default_factory=Counter)
    breaches: list[Breach] = field(default_factory=list)
    _about: Rule = Rule.ONE_WINNER
    _checked: set[Rule] = field(default_factory=set)

    @contextmanager
    def about(self, rule: Rule) -> Iterator[None]:
        """What is checked here is a check of `rule`, and so is that the processes do what they are told."""
        self._about = rule
        try:
            yield
        except Trouble as trouble:
            self.check(False, str(trouble))
            raise RoundEnds from trouble

    def check(self, right: bool, seen: str, *, answers: int = 1) -> None:
        """Count a fact, or the `answers` that it was made from; if not `right`, `seen` says what was there instead."""
        self.checks[self._about] += answers
        self._checked.add(self._about)
        if not right:
            self.breaches.append(Breach(rule=self._about, round=self.rounds + 1, seen=seen))

    def end_round(self) -> None:
        self.rounds += 1
        broken = {breach.rule for breach in self.breaches}
        self.held.update(self._checked - broken)
        self._checked.clear()
