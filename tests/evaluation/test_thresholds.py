"""Coverage against precision, and a suggestion that says how far it can be trusted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.evaluation.pieces import prediction, random_predictions
from triagebot.evaluation import thresholds
from triagebot.evaluation.cases import Prediction

# Sure ones are right: at 0.8 all of 4, at 0.6 five of 6, at 0 five of 8.
FOUND = [
    *(prediction(row, "bug", "bug", 0.8) for row in range(4)),
    prediction(4, "bug", "bug", 0.6),
    prediction(5, "bug", "feature", 0.6),
    prediction(6, "bug", "feature", 0.3),
    prediction(7, "bug", "feature", 0.3),
]


def test_the_curve_counts_what_is_at_or_above_each_threshold() -> None:
    points = thresholds.curve(FOUND)
    assert [point.min_confidence for point in points] == [step / 100 for step in range(101)]
    assert [(points[at].coverage, points[at].set) for at in (0, 30, 31, 60, 61, 80, 81)] == [
        (1.0, 8),
        (1.0, 8),
        (0.75, 6),
        (0.75, 6),
        (0.5, 4),
        (0.5, 4),
        (0.0, 0),
    ]
    assert points[30].precision == pytest.approx(5 / 8)
    assert points[31].precision == pytest.approx(5 / 6)
    assert points[81].precision is None


def test_the_suggestion_is_the_least_threshold_with_nine_right_in_ten() -> None:
    found = thresholds.suggested(thresholds.curve(FOUND))
    assert found is not None
    assert (found.min_confidence, found.coverage, found.precision) == (0.61, 0.5, 1.0)


def test_there_is_no_suggestion_where_no_threshold_is_good() -> None:
    assert thresholds.suggested(thresholds.curve([prediction(0, "bug", "feature")])) is None
    assert thresholds.suggested(thresholds.curve([])) is None


def test_a_label_on_an_issue_that_nobody_labelled_is_a_wrong_one_and_silence_is_no_label() -> None:
    points = thresholds.curve([prediction(0, (), "bug", 0.9), prediction(1, "bug", None)])
    assert (points[0].coverage, points[0].precision) == (0.5, 0.0)


def test_cross_fitting_never_uses_a_fold_to_choose_its_own_threshold() -> None:
    """Two folds with opposite thresholds: each is judged by the other's."""
    low = [prediction(row, "bug", "bug", 0.4, fold=0) for row in range(10)]
    high = [
        *(prediction(row, "bug", "bug", 0.9, fold=1) for row in range(10, 20)),
        *(prediction(row, "bug", "feature", 0.5, fold=1) for row in range(20, 30)),
    ]
    found = thresholds.cross_fitted([*low, *high])
    # Fold 0 suggests 0, by which fold 1 is half right; fold 1 suggests 0.51, by which fold 0 says nothing.
    assert found is not None
    assert (found.set, found.precision) == (20, 0.5)
    assert found.min_confidence == pytest.approx((0.51 + 0.0) / 2)
    assert thresholds.cross_fitted(low) is None


def test_cross_fitting_flatters_less_than_choosing_on_the_same_issues() -> None:
    """Over many draws, the threshold that was chosen elsewhere keeps the goal less often than the one chosen here."""
    here, elsewhere = [], []
    for seed in range(30):
        found = random_predictions(150, seed=seed)
        chosen, fitted = thresholds.suggested(thresholds.curve(found)), thresholds.cross_fitted(found)
        if chosen and chosen.precision and fitted and fitted.precision:
            here.append(chosen.precision)
            elsewhere.append(fitted.precision)
    assert len(here) > 10
    assert sum(elsewhere) / len(elsewhere) < sum(here) / len(here)


def test_what_the_predictor_called_sure_is_counted_as_it_said() -> None:
    assert thresholds.sure(FOUND) is None
    found = thresholds.sure([_sure(p, p.said.confidence > 0.7) for p in FOUND])
    assert found is not None
    assert (found.min_confidence, found.coverage, found.precision) == (0.8, 0.5, 1.0)
    never = thresholds.sure([_sure(p, False) for p in FOUND])
    assert never is not None
    assert (never.min_confidence, never.coverage, never.precision) == (1.01, 0.0, None)


def _sure(prediction: Prediction, sure: bool) -> Prediction:
    return replace(prediction, said=replace(prediction.said, sure=sure))
