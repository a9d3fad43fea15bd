"""Thousands of histories of the shipped night and ledger: not one may end with other than what should stand."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.mutants import MUTANTS, Mutate
from triagebot.simulator import history, script
from triagebot.simulator.history import Result

HISTORIES = 1_000
PARTS = 8
ENOUGH = 400


def explained(result: Result) -> str:
    """The seed, what was violated, and the shortest script that still fails."""
    shortest = history.shrink(result.script, lambda shorter: bool(history.run(shorter).violations))
    return f"{result.violations}\nfull: seed {result.script.seed}\nshortest that fails:\n{shortest}"


@pytest.mark.parametrize("part", range(PARTS))
def test_every_history_comes_to_the_rest_that_the_promise_names(part: int) -> None:
    for seed in range(part, HISTORIES, PARTS):
        result = history.run(script.draw(seed))
        assert not result.violations, explained(result)


def test_a_seed_replays_exactly() -> None:
    one, other = (history.run(script.draw(7)) for _ in range(2))
    assert one.counts == other.counts


@pytest.mark.parametrize("mutate", MUTANTS.values(), ids=MUTANTS.keys())
def test_a_guard_that_is_taken_away_is_noticed(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    caught = (seed for seed in range(ENOUGH) if history.run(script.draw(seed)).violations)
    assert next(caught, None) is not None, f"not noticed in {ENOUGH} histories"


def test_what_a_failing_history_needs_is_all_that_is_left_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shrunk script still fails, and is shorter."""
    MUTANTS["the digest in the look"](monkeypatch)
    failing = next(r for seed in range(ENOUGH) if (r := history.run(script.draw(seed))).violations)
    shortest = history.shrink(failing.script, lambda shorter: bool(history.run(shorter).violations))
    assert history.run(shortest).violations
    assert len(shortest.events) < len(failing.script.events)


def test_the_histories_hold_every_kind_of_trouble() -> None:
    """What never occurs is a hole in the proof."""
    counts: Counter[str] = Counter()
    for seed in range(0, 300):
        counts += history.run(script.draw(seed)).counts
    for what in (*script.PEOPLE, *script.TROUBLE):
        assert counts[f"event: {what}"], what
