"""Bootstrap intervals: how far a measure would move with other issues from the same repositories."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from itertools import accumulate
from typing import TypeVar

ROUNDS = 1_000
_LEAST_ROUNDS = 200  # below it the ends of a 95 % interval rest on five rounds
DRAWS = 20_000_000
"""Issues drawn in all rounds together: some 10 s."""

_SEED = 1_979  # the year of Efron's paper; any fixed number does

Interval = tuple[float, float]
Cell = TypeVar("Cell", bound=Hashable)


def bootstrap(
    strata: Mapping[str, Counter[Cell]],
    measures: Callable[[Mapping[str, Counter[Cell]]], Mapping[str, float]],
    *,
    rounds: int = ROUNDS,
    draws: int = DRAWS,
    seed: int = _SEED,
) -> dict[str, Interval]:
    """The 95 % percentile interval of each measure, by its name (Efron 1979).

    Issues are drawn with replacement within each stratum (a repository), as many as it has; labels of one
    issue stay together. Deterministic. Where `draws` do not last for all rounds there are fewer, and
    never fewer than 200.
    """
    rng = random.Random(seed)  # noqa: S311 - statistics, no secret
    size = sum(counts.total() for counts in strata.values())
    rounds = max(_LEAST_ROUNDS, min(rounds, draws // max(1, size)))
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, value in measures({key: _drawn(counts, rng) for key, counts in strata.items()}).items():
            found.setdefault(name, []).append(value)
    return {name: _middle(values) for name, values in found.items()}


def _drawn(counts: Counter[Cell], rng: random.Random) -> Counter[Cell]:
    """Which cells come is drawn by their place, for a place is cheaper to hash than an outcome."""
    cells = list(counts)
    places = rng.choices(range(len(cells)), cum_weights=list(accumulate(counts.values())), k=counts.total())
    return Counter({cells[place]: number for place, number in Counter(places).items()})


def _middle(values: list[float]) -> Interval:
    ranked = sorted(values)
    last = len(ranked) - 1
    return ranked[round(0.025 * last)], ranked[round(0.975 * last)]
