"""Cases and predictions in one line each."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from triagebot.evaluation.cases import Case, Prediction, Said

START = datetime(2026, 1, 1, tzinfo=UTC)


def case(row: int, *truth: str, repo: str = "o/r", day: int | None = None) -> Case:
    at = None if day is None else START + timedelta(days=day)
    return Case(row=row, title=f"Issue {row}", body="", truth=truth, repo=repo, created_at=at)


def prediction(
    row: int,
    truth: str | tuple[str, ...],
    top: str | None,
    confidence: float = 0.9,
    *,
    repo: str = "o/r",
    fold: int = 0,
) -> Prediction:
    """`top` is the only vote, and is set whatever its confidence."""
    names = (truth,) if isinstance(truth, str) else truth
    votes = ((top, confidence),) if top else ()
    said = Said(votes=votes, chosen=(top,) if top else ())
    return Prediction(case(row, *names, repo=repo), said, fold)


def random_predictions(number: int, *, seed: int, repos: int = 2) -> list[Prediction]:
    """Right about six times in ten, and surer where right."""
    rng = random.Random(seed)
    names = ["bug", "feature", "question"]
    found = []
    for row in range(number):
        truth = rng.choice(names)
        top = truth if rng.random() < 0.5 else rng.choice(names)
        sure = min(1.0, rng.random() * 0.6 + 0.4 * (top == truth))
        found.append(prediction(row, truth, top, sure, repo=f"o/r{row % repos}", fold=row % 5))
    return found
