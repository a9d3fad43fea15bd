"""What is held out is never learnt from, and the same file is always split the same way."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.evaluation.pieces import case
from triagebot.core.faults import Misconfigured
from triagebot.evaluation import splits
from triagebot.evaluation.cases import Case

LABELS = ["bug"] * 6 + ["feature"] * 3 + ["question"]
CASES = [case(row, LABELS[row % 10], repo=f"o/r{row % 3}", day=(row * 37) % 200) for row in range(200)]


def test_by_time_nothing_of_the_history_is_newer_than_a_test_issue_of_its_repository() -> None:
    trial = splits.by_time(CASES, 0.8)
    for repo in ("o/r0", "o/r1", "o/r2"):
        learnt = [c.created_at for c in trial.history if c.repo == repo]
        held = [c.created_at for c in trial.test if c.repo == repo]
        assert max(t for t in learnt if t) <= min(t for t in held if t)
        assert len(learnt) == round(0.8 * (len(learnt) + len(held)))
    assert {c.row for c in trial.history} | {c.row for c in trial.test} == set(range(200))


def test_without_times_a_split_by_time_says_what_to_do() -> None:
    with pytest.raises(Misconfigured, match=r"row 1 \(counted from 0\) has no created_at.*--folds"):
        splits.by_time([case(0, "bug", day=1), case(1, "bug")], 0.8)
    with pytest.raises(Misconfigured, match=r"1 issues split at 0\.8 leave no history or no test"):
        splits.by_time([case(0, "bug", day=1)], 0.8)


def test_each_case_is_held_out_once_and_never_learnt_from_meanwhile() -> None:
    trials = splits.folds(CASES, 5)
    assert sorted(c.row for trial in trials for c in trial.test) == list(range(200))
    for trial in trials:
        assert {c.row for c in trial.history}.isdisjoint(c.row for c in trial.test)
        assert len(trial.history) + len(trial.test) == 200


def test_a_fold_has_its_share_of_each_label_of_each_repository() -> None:
    for trial in splits.folds(CASES, 5):
        for repo in ("o/r0", "o/r1", "o/r2"):
            held, whole = _mix(trial.test, repo), _mix(CASES, repo)
            assert all(abs(held[name] - whole[name] / 5) < 1 for name in whole)


def _mix(cases: object, repo: str) -> Counter[str]:
    assert isinstance(cases, list | tuple)
    return Counter(c.truth[0] for c in cases if c.repo == repo)


def test_folds_of_rare_combinations_are_of_one_size() -> None:
    """Forty combinations that occur once each must not all land in the first fold."""
    found = splits.folds([case(row, f"label {row}") for row in range(40)], 4)
    assert [len(trial.test) for trial in found] == [10, 10, 10, 10]


def test_the_split_does_not_depend_on_the_order_of_other_repositories() -> None:
    first = splits.folds(CASES, 5)
    shuffled = random.Random(1).sample(CASES, len(CASES))
    assert [{c.row for c in trial.test} for trial in first] == [
        {c.row for c in trial.test} for trial in splits.folds(_by_row(shuffled), 5)
    ]
    assert {c.row for c in first[0].test} != {c.row for c in splits.folds(CASES, 5, seed=1)[0].test}


def _by_row(cases: list[Case]) -> list[Case]:
    return sorted(cases, key=lambda c: c.row)


def test_too_few_issues_for_the_folds_are_told() -> None:
    with pytest.raises(Misconfigured, match="o/r has 3 issues, too few for 5 folds"):
        splits.folds([case(row, "bug") for row in range(3)], 5)


def test_a_sample_is_always_the_same_and_keeps_each_repository_in_proportion() -> None:
    trials = splits.folds(CASES, 5)
    once, again = splits.sample(trials, 30), splits.sample(trials, 30)
    assert once == again
    held = [c for trial in once for c in trial.test]
    assert Counter(c.repo for c in held) == {"o/r0": 10, "o/r1": 10, "o/r2": 10}
    assert [trial.history for trial in once] == [trial.history for trial in trials]
    assert splits.sample(trials, 200) == trials
