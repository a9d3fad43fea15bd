"""The measures are those of the textbooks, which scikit-learn has too."""

from __future__ import annotations

from collections import Counter

import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer

from tests.evaluation.pieces import prediction, random_predictions
from triagebot.evaluation import metrics
from triagebot.evaluation.metrics import NONE, Outcome, Score, Silence


@pytest.mark.parametrize("seed", range(5))
def test_one_label_is_measured_as_scikit_learn_measures_it(seed: int) -> None:
    found = random_predictions(200, seed=seed)
    truth, said = [p.case.truth[0] for p in found], [p.said.top for p in found]
    outcomes = metrics.top_outcomes(found)
    assert metrics.macro_f1(outcomes) == pytest.approx(f1_score(truth, said, average="macro"))
    assert metrics.micro_f1(outcomes) == pytest.approx(f1_score(truth, said, average="micro"))
    expected = precision_recall_fscore_support(truth, said, labels=["bug", "feature", "question"])
    scores = metrics.per_label(outcomes)
    for name, *numbers in zip(scores, *expected, strict=True):
        score = scores[name]
        assert [score.precision, score.recall, score.f1, score.support] == pytest.approx(numbers)
    table = metrics.confusion(outcomes)
    names = sorted(table)
    assert [[table[t].get(s, 0) for s in names] for t in names] == confusion_matrix(truth, said).tolist()


def test_several_labels_are_measured_as_scikit_learn_measures_them() -> None:
    outcomes: Counter[Outcome] = Counter(
        {(("a", "b"), ("a",)): 3, ((), ("b",)): 2, (("b",), ()): 4, (("b",), ("b", "c")): 5, ((), ()): 6}
    )
    rows = [(truth, said) for (truth, said), number in outcomes.items() for _ in range(number)]
    binary = MultiLabelBinarizer(classes=["a", "b", "c"])
    binary.fit([])
    truth, said = binary.transform([t for t, _ in rows]), binary.transform([s for _, s in rows])
    assert metrics.micro_f1(outcomes) == pytest.approx(f1_score(truth, said, average="micro"))
    assert metrics.macro_f1(outcomes) == pytest.approx(f1_score(truth, said, average="macro", zero_division=0))


def test_the_top_label_is_right_if_it_is_among_several_and_the_others_are_missed() -> None:
    scores = metrics.per_label(metrics.top_outcomes([prediction(0, ("a", "b"), "a")]))
    assert scores == {"a": Score(tp=1), "b": Score(fn=1)}


def test_issues_that_nobody_labelled_say_nothing_about_the_top_label() -> None:
    assert metrics.top_outcomes([prediction(0, (), "a"), prediction(1, "a", None)]) == {(("a",), ()): 1}


def test_a_label_without_an_issue_has_no_score_and_no_division_by_nought() -> None:
    assert metrics.macro_f1({}) == metrics.micro_f1({}) == metrics.accuracy({}) == 0.0
    assert (Score().precision, Score(fn=2).precision, Score(fp=1).recall) == (0.0, 0.0, 0.0)


def test_labels_that_do_not_occur_count_as_nought_where_their_number_is_given() -> None:
    assert metrics.macro_f1({(("a",), ("a",)): 1}, 4) == 0.25


def test_a_confusion_matrix_has_a_place_for_saying_nothing() -> None:
    outcomes = {(("a",), ()): 2, ((), ("b",)): 3, (("a", "b"), ("b",)): 5, (("a", "b"), ("c",)): 7}
    assert metrics.confusion(outcomes) == {"a": {NONE: 2, "c": 7}, "b": {"b": 5, "c": 7}, NONE: {"b": 3}}


def test_silence_is_counted_on_both_kinds_of_issues() -> None:
    outcomes = {((), ()): 1, ((), ("a",)): 2, (("a",), ()): 4, (("a",), ("a", "b")): 8, (("a",), ("a",)): 16}
    assert metrics.silence(outcomes) == Silence(3, 1, 28, 8, 4)
