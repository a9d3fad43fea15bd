"""Coverage against precision: what `labels.min_confidence` would buy."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from triagebot.evaluation.cases import Prediction

GOAL = 0.90
"""The precision that a label must have before it is set without a person: nine in ten are right."""

_STEPS = 100


@dataclass(frozen=True, slots=True)
class Point:
    """At `min_confidence`, the top label is set on the share `coverage` of the issues, `precision` of them rightly.

    `precision` is `None` where nothing is set. `set` counts the issues.
    """

    min_confidence: float
    coverage: float
    precision: float | None
    set: int

    @property
    def good(self) -> bool:
        return self.precision is not None and self.precision >= GOAL


def curve(predictions: Sequence[Prediction]) -> list[Point]:
    """From 0 to 1 in hundredths, over all issues: a label on an issue that nobody labelled is a wrong one."""
    graded = sorted((p.said.confidence, p.said.top in p.case.truth) for p in predictions if p.said.top)
    confidences = [confidence for confidence, _ in graded]
    right_from = [0] * (len(graded) + 1)
    for place in range(len(graded) - 1, -1, -1):
        right_from[place] = right_from[place + 1] + graded[place][1]
    points = []
    for step in range(_STEPS + 1):
        place = bisect_left(confidences, step / _STEPS)
        points.append(_point(step / _STEPS, len(graded) - place, right_from[place], len(predictions)))
    return points


def _point(bar: float, said: int, right: int, issues: int) -> Point:
    return Point(bar, said / issues if issues else 0.0, right / said if said else None, said)


def suggested(points: Sequence[Point]) -> Point | None:
    """The least threshold at which nine in ten are right; `None` where there is none.

    It is chosen on the very issues it is measured on, and so it flatters itself: `cross_fitted` does not.
    """
    return next((point for point in points if point.good), None)


def cross_fitted(predictions: Sequence[Prediction]) -> Point | None:
    """The same rule, each fold with the threshold that the other folds suggest: what to expect of new issues.

    `min_confidence` is the mean of the thresholds. `None` where there are not two folds.
    """
    folds = sorted({prediction.fold for prediction in predictions})
    if len(folds) < 2:
        return None
    bars, said, right = [], 0, 0
    for fold in folds:
        found = suggested(curve([p for p in predictions if p.fold != fold]))
        bars.append(found.min_confidence if found else 1.01)
        held = [p for p in predictions if p.fold == fold and p.said.top and p.said.confidence >= bars[-1]]
        said += len(held)
        right += sum(p.said.top in p.case.truth for p in held)
    return _point(sum(bars) / len(bars), said, right, len(predictions))


def sure(predictions: Sequence[Prediction]) -> Point | None:
    """Coverage and precision of what the predictor itself called sure, by a bar that it found on its history alone.

    `min_confidence` is the least confidence among them. `None` where the predictor has no such bar.
    """
    if all(p.said.sure is None for p in predictions):
        return None
    held = [p for p in predictions if p.said.sure]
    right = sum(p.said.top in p.case.truth for p in held)
    return _point(min((p.said.confidence for p in held), default=1.01), len(held), right, len(predictions))
