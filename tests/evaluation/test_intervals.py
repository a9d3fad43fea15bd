"""An interval says how far a measure would move with other issues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from triagebot.evaluation import intervals


def _share(strata: Mapping[str, Counter[bool]]) -> dict[str, float]:
    right = sum(counts[True] for counts in strata.values())
    return {"share": right / sum(counts.total() for counts in strata.values())}


def test_the_interval_of_a_share_is_that_of_the_binomial_distribution() -> None:
    """0.7 of 300 is 0.7 +- 1.96 * sqrt(0.7 * 0.3 / 300), which is 0.648 to 0.752."""
    low, high = intervals.bootstrap({"all": Counter({True: 210, False: 90})}, _share)["share"]
    assert (low, high) == (pytest.approx(0.648, abs=0.008), pytest.approx(0.752, abs=0.008))


def test_each_repository_keeps_its_size() -> None:
    sizes: set[tuple[int, ...]] = set()

    def note(strata: Mapping[str, Counter[bool]]) -> dict[str, float]:
        sizes.add(tuple(counts.total() for counts in strata.values()))
        return {}

    intervals.bootstrap({"a": Counter({True: 3, False: 4}), "b": Counter({True: 5})}, note)
    assert sizes == {(7, 5)}


def test_more_issues_are_a_narrower_interval_and_the_same_ones_the_same() -> None:
    wide = intervals.bootstrap({"a": Counter({True: 7, False: 3})}, _share)["share"]
    narrow = intervals.bootstrap({"a": Counter({True: 700, False: 300})}, _share)["share"]
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 5
    assert narrow == intervals.bootstrap({"a": Counter({True: 700, False: 300})}, _share)["share"]


def test_nothing_to_draw_is_no_failure() -> None:
    assert intervals.bootstrap({}, lambda strata: {"x": 0.0}) == {"x": (0.0, 0.0)}


def test_a_large_test_gets_fewer_rounds_so_that_it_ends_in_seconds() -> None:
    rounds = 0

    def count(strata: Mapping[str, Counter[bool]]) -> dict[str, float]:
        nonlocal rounds
        rounds += 1
        return {}

    intervals.bootstrap({"a": Counter({True: 60})}, count, draws=60 * 300)
    assert rounds == 300
    rounds = 0
    intervals.bootstrap({"a": Counter({True: 60})}, count, draws=60)
    assert rounds == 200
