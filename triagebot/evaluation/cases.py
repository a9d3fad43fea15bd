"""What is judged: issues whose labels are known, and what a predictor said of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from triagebot.core.past import Past
from triagebot.core.verdict import Usage

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One issue of a file. `row` counts from 0 over all rows of it, those that are left out included.

    `truth` holds the labels that people gave it, of those that may be set; empty where they gave none.
    """

    row: int
    title: str
    body: str
    truth: tuple[str, ...]
    repo: str = ""
    number: int | None = None
    created_at: datetime | None = None

    def past(self) -> Past:
        """The same issue as something to learn from."""
        return Past(
            title=self.title,
            body=self.body,
            labels=self.truth,
            number=self.number,
            created_at=self.created_at,
            repo=self.repo,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a predictor said of one case.

    `votes` are (label, confidence in 0..1), surest first, before any threshold; none means "nothing
    fits", or no usable answer, and then `invalid` names its kind. `chosen` is what would be set, with
    the threshold, the groups and the limit of the settings. `sure` tells that the confidence reached
    a bar which was found on the history alone; `None` where the predictor has no such bar.
    """

    votes: tuple[tuple[str, float], ...] = ()
    chosen: tuple[str, ...] = ()
    invalid: str = ""
    sure: bool | None = None
    usage: Usage = Usage()

    @property
    def top(self) -> str | None:
        return self.votes[0][0] if self.votes else None

    @property
    def confidence(self) -> float:
        """That of the top label; 0 where there is none."""
        return self.votes[0][1] if self.votes else 0.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """A case and what was said of it; `fold` is the trial that it was held out in."""

    case: Case
    said: Said
    fold: int = 0


def by_repo(items: Iterable[T]) -> dict[str, list[T]]:
    """Cases or predictions by repository, in the order of their names."""
    found: dict[str, list[T]] = {}
    for item in items:
        found.setdefault(_repo(item), []).append(item)
    return dict(sorted(found.items()))


def _repo(item: object) -> str:
    case = item.case if isinstance(item, Prediction) else item
    assert isinstance(case, Case)
    return case.repo


def one_label(cases: Sequence[Case]) -> bool:
    """Whether every issue carries exactly one label: then labels exclude each other."""
    return all(len(case.truth) == 1 for case in cases)


def commonest(cases: Sequence[Case]) -> tuple[str, float] | None:
    """The label that most of the cases carry, and the share that does; the first by name among equals."""
    counts = Counter(name for case in cases for name in case.truth)
    if not counts:
        return None
    name = min(counts, key=lambda each: (-counts[each], each))
    return name, counts[name] / len(cases)
