"""What a night is told: plain values, already checked by the command line."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

from triagebot.core.policy import LabelPolicy
from triagebot.core.selection import Select

Template = Callable[[Mapping[str, object]], str]

DONE = "done"
"""How a night ended with nothing failed, and nothing left to others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What one night may use; `None` is no limit. USD prices are for a million tokens."""

    issues: int | None = 50
    calls: int | None = 200
    tokens: int | None = None
    usd: float | None = None
    per_author: int | None = 5
    price_in: float = 0.0
    price_out: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How fast writes go out, and how many seconds a write may take to be seen (`settle`)."""

    settle: float = 60.0
    per_second: float | None = 1.0
    per_hour: int | None = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """The texts for the model and for people, and what must never be in the latter."""

    system: str
    comment: Template
    secrets: tuple[str, ...] = field(default=(), repr=False)


class Use(enum.StrEnum):
    """When the model is shown how similar issues were labelled. Auto: where a measure says that it helps this model."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, kw_only=True, slots=True)
class Learning:
    """What is made of the issues that people labelled before.

    `examples` are shown with each question, out of the newest `limit` issues. `model` and `prompt`
    (a template's version) name the measure that decides for `auto`. `follow` keeps the index up
    to date from the tracker; an index of a file stays as it is.
    """

    use: Use = Use.OFF
    examples: int = 4
    limit: int = 5000
    model: str = ""
    prompt: str = ""
    follow: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How every night of this installation goes. Durations are seconds."""

    texts: Texts
    labels: LabelPolicy = LabelPolicy()
    comments: bool = True
    select: Select = Select()
    budget: Budget = Budget()
    pace: Pace = Pace()
    workers: int = 4
    deadline: float = 5 * 3600.0
    lease: float = 900.0
    input_chars: int = 12_000
    learning: Learning = Learning()


@dataclass(frozen=True, kw_only=True, slots=True)
class Orders:
    """What this one night is asked to do. `issues` empty is every open one; `triage` off delivers only."""

    day: date | None = None
    issues: tuple[int, ...] = ()
    again: bool = False
    triage: bool = True

    def recorded(self, how: str) -> str:
        """How the night ended, for the ledger: a part of one that somebody asked for silences no alarm."""
        whole = self.triage and not self.issues
        return how if whole or how != DONE else f"{DONE}: only what was asked for"
