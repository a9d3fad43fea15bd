"""What can be learnt from a history: which labels, from which examples, and whether it is enough."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from triagebot.core.faults import TooLittleHistory
from triagebot.core.past import Past

LEAST_PER_LABEL = 10
LEAST_IN_ALL = 40
_MOST_OWN = 5_000  # the newest; the kernel of a fit grows with the square
_MOST = 6_000

Truth = numpy.typing.NDArray[numpy.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """Labels (columns) that are learnt from the same examples (rows), and which of those carry them."""

    labels: list[int]
    examples: numpy.typing.NDArray[Any]
    truth: Truth


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """All examples, the `own` ones first; `home` numbers their repositories from 0, the own one."""

    labels: tuple[str, ...]
    one_of: bool
    whole: bool  # each own issue carries exactly one of the labels that are learnt
    groups: tuple[tuple[int, ...], ...]
    examples: tuple[Past, ...]
    own: int
    home: numpy.typing.NDArray[Any]
    truth: Truth  # of the own examples
    lessons: tuple[Lesson, ...]


def plan(
    past: Sequence[Past], *, allowed: Sequence[str], groups: Sequence[Sequence[str]], others: Sequence[Past]
) -> Plan:
    """Choose labels and examples. Raises `TooLittleHistory`."""
    own = _newest(past, _MOST_OWN)
    labels = _learnable(own, allowed)
    carried = Counter(len(set(allowed).intersection(issue.labels)) for issue in own)
    truth = _truth(own, labels)
    abroad = _spread(others, _MOST - len(own))
    repos = {name: number for number, name in enumerate(sorted({issue.repo for issue in abroad}), start=1)}
    home = numpy.array([0] * len(own) + [repos[issue.repo] for issue in abroad])
    elsewhere = _truth(abroad, [name.casefold() for name in labels], fold=True)
    exclusive = [[labels.index(name) for name in group if name in labels] for group in groups]
    if set(carried) <= {0, 1}:
        exclusive.append(list(range(len(labels))))
    return Plan(
        labels=labels,
        one_of=set(carried) == {1},
        whole=bool((truth.sum(axis=1) == 1).all()),
        groups=tuple(tuple(group) for group in exclusive if len(group) > 1),
        examples=(*own, *abroad),
        own=len(own),
        home=home,
        truth=truth,
        lessons=tuple(_lessons(numpy.vstack([truth, elsewhere]), home)),
    )


def _learnable(past: Sequence[Past], allowed: Sequence[str]) -> tuple[str, ...]:
    counts = Counter(name for issue in past for name in set(issue.labels))
    enough = range(LEAST_PER_LABEL, len(past) - LEAST_PER_LABEL + 1)
    labels = tuple(name for name in dict.fromkeys(allowed) if counts[name] in enough)
    if len(past) >= LEAST_IN_ALL and labels:
        return labels
    raise TooLittleHistory(
        f"The history is too small to learn labels from: it holds {len(past)} issues, and {len(labels)} of the "
        f"{len(set(allowed))} allowed labels stand on at least {LEAST_PER_LABEL} of them and are missing on as many; "
        f"at least {LEAST_IN_ALL} issues and one such label are needed: name a model at an endpoint (model.name), "
        f"or give a longer history with --history."
    )


def _newest(past: Sequence[Past], most: int) -> list[Past]:
    def age(issue: Past) -> tuple[float, int]:
        return (issue.created_at.timestamp() if issue.created_at else 0.0, issue.number or 0)

    return sorted(past, key=age)[-most:]


def _spread(others: Sequence[Past], most: int) -> list[Past]:
    """Every n-th of them, so that no repository is left out."""
    return list(others[:: max(1, -(-len(others) // most))]) if most > 0 else []


def _truth(past: Sequence[Past], labels: Sequence[str], *, fold: bool = False) -> Truth:
    carried = [{name.casefold() if fold else name for name in issue.labels} for issue in past]
    return numpy.array([[name in names for name in labels] for names in carried], dtype=bool).reshape(-1, len(labels))


def _lessons(truth: Truth, home: numpy.typing.NDArray[Any]) -> Iterator[Lesson]:
    """A repository teaches only labels that it uses itself: elsewhere, the lack of a label says nothing."""
    taught: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for column in range(truth.shape[1]):
        users = {0, *home[truth[:, column]].tolist()}
        taught[tuple(sorted(users))].append(column)
    for repositories, columns in sorted(taught.items()):
        examples = numpy.flatnonzero(numpy.isin(home, repositories))
        yield Lesson(labels=columns, examples=examples, truth=truth[examples][:, columns])
