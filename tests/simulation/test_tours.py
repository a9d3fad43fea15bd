"""The same histories, spread over several repositories: nights are tours, which are killed, overlap and are told to
end. Each repository comes to the rest that the promise names, and none stands in another's way."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.test_simulator import explained
from tests.simulation.tour_mutants import TOUR_MUTANTS
from triagebot.simulator import history, script, spread
from triagebot.simulator.script import STEPS
from triagebot.simulator.spread import TOUR_STEPS

# Coverage slows a history several times, and other tests reach the same lines.
pytestmark = pytest.mark.no_cover

ENOUGH = 150
NOTICED_BY = {  # the history that noticed each when last counted, asked first; any of the first few notices the others
    "a tombstone is its repository's": 35,
    "one purse": 11,
    "a repository's fault is its own": 114,
    "a repository that cannot be opened holds up no other": 135,
    "twins of all are removed": 22,
}


def played(seeds: range, repos: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        result = history.run(spread.draw(seed, repos))
        assert not result.violations, explained(result)
        counts += result.counts
    return counts


def test_a_tour_brings_each_of_its_repositories_to_rest() -> None:
    counts = played(range(40), 2)
    assert counts["tour ended"] > counts["night ended"] > 0
    assert counts["ended by a signal"] > 5


@pytest.mark.slow
def test_many_histories_over_two_repositories_hold_every_kind_of_trouble() -> None:
    counts = played(range(1_000), 2)
    assert [what for what in OCCURS if not counts[what]] == [], "what never occurs is a hole in the proof"
    assert "twin by nothing" not in counts


@pytest.mark.slow
def test_many_histories_over_three_repositories_of_two_owners() -> None:
    assert played(range(300), 3)["tour ended"] > 0


OCCURS = (
    *(f"end on {step}" for step in (*STEPS, *TOUR_STEPS)),
    *(f"kill on {step}" for step in TOUR_STEPS),
    *(f"stall on {step}" for step in TOUR_STEPS),
    *(f"sweep: {fault}" for fault in ("unclear", "undelivered", "limit")),
    *(f"told: {what}" for what in ("a summary", "a fault", "nothing")),
    *(f"night stopped by {fault}" for fault in ("ModelUnusable", "LedgerUnusable")),
    "state: released",
)


def test_over_one_repository_a_seed_is_the_history_that_it_was() -> None:
    assert spread.draw(7, 1) == script.draw(7)
    assert script.draw(7).others == ()
    assert not any(event.tour or event.end_on for event in script.draw(7).events)


@pytest.mark.parametrize("name", TOUR_MUTANTS)
def test_a_guard_of_a_tour_that_is_taken_away_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    TOUR_MUTANTS[name](monkeypatch)
    seeds = [NOTICED_BY.get(name, 0), *range(ENOUGH)]
    caught = (seed for seed in seeds if history.run(spread.draw(seed, 2)).violations)
    assert next(caught, None) is not None, f"not noticed in {ENOUGH} histories"
