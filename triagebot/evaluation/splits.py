"""What is learnt from and what is held out. Nothing of a test part is ever in its own history."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from triagebot.core.faults import Misconfigured
from triagebot.evaluation.cases import Case, by_repo

SEED = 20_240_420
"""Any fixed number: the same file is always split the same way."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One history and the cases that are held out from it."""

    history: tuple[Case, ...]
    test: tuple[Case, ...]


def by_time(cases: Sequence[Case], share: float) -> Trial:
    """The oldest `share` (0..1) of each repository's issues is the history, the rest is the test.

    Raises `Misconfigured` where a row has no time, or a repository is too short to be split.
    """
    undated = next((case for case in cases if case.created_at is None), None)
    if undated is not None:
        raise Misconfigured(
            f"row {undated.row} (counted from 0) has no created_at, so the file cannot be split by time: "
            "give --folds, or --history and --test."
        )
    history: list[Case] = []
    test: list[Case] = []
    for ours in by_repo(cases).values():
        aged = sorted(ours, key=lambda case: (case.created_at, case.row))
        cut = round(len(aged) * share)
        history += aged[:cut]
        test += aged[cut:]
    if not history or not test:
        raise Misconfigured(f"{len(cases)} issues split at {share:g} leave no history or no test: give more issues.")
    return Trial(tuple(history), _in_order(test))


def folds(cases: Sequence[Case], number: int, *, seed: int = SEED) -> list[Trial]:
    """Cross-validation: each case is held out once, with the same mix of labels in every fold.

    The folds are dealt within each repository and combination of labels, so that each fold has its share of
    each. A fold is held out of every repository at once: what other repositories
    lend as a prior comes from the folds that are learnt from, too.
    """
    dealt = _dealt(cases, number, random.Random(seed))  # noqa: S311 - a split, no secret
    return [
        Trial(
            tuple(case for case in cases if dealt[case.row] != fold),
            _in_order([case for case in cases if dealt[case.row] == fold]),
        )
        for fold in range(number)
    ]


def _dealt(cases: Sequence[Case], number: int, rng: random.Random) -> dict[int, int]:
    """The fold of each row. Dealing goes on where the last stack ended, or rare labels would all fall into fold 0."""
    fold_of: dict[int, int] = {}
    for repo, ours in by_repo(cases).items():
        stacks: dict[tuple[str, ...], list[Case]] = {}
        for case in ours:
            stacks.setdefault(tuple(sorted(case.truth)), []).append(case)
        if len(ours) < number:
            raise Misconfigured(
                f"{_named(repo)} has {len(ours)} issues, too few for {number} folds: give more issues or fewer folds."
            )
        place = 0
        for _, stack in sorted(stacks.items()):
            rng.shuffle(stack)
            for case in stack:
                fold_of[case.row] = place % number
                place += 1
    return fold_of


def sample(trials: Sequence[Trial], limit: int, *, seed: int = SEED) -> list[Trial]:
    """The trials with `limit` test cases in all, drawn once for good; each repository keeps its share of them."""
    everyone = [(fold, case) for fold, trial in enumerate(trials) for case in trial.test]
    if limit >= len(everyone):
        return list(trials)
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    rng.shuffle(everyone)
    ranks: dict[str, int] = {}
    sizes = {repo: len(cases) for repo, cases in by_repo(case for _, case in everyone).items()}
    ranked: list[tuple[float, int, int]] = []
    for fold, case in everyone:
        ranks[case.repo] = ranks.get(case.repo, 0) + 1
        ranked.append((ranks[case.repo] / sizes[case.repo], fold, case.row))
    kept = {(fold, row) for _, fold, row in sorted(ranked)[:limit]}
    return [
        Trial(trial.history, tuple(case for case in trial.test if (fold, case.row) in kept))
        for fold, trial in enumerate(trials)
    ]


def _in_order(cases: Sequence[Case]) -> tuple[Case, ...]:
    return tuple(sorted(cases, key=lambda case: case.row))


def _named(repo: str) -> str:
    return repo or "the file"
