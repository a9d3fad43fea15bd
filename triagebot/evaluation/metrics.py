"""Precision, recall and F1 from counted outcomes.

An outcome is (the labels people gave, the labels predicted); a `Counter` of outcomes is all that any
measure here needs, which makes a bootstrap round a new set of counts instead of a new list of issues.

F1 of a label is the harmonic mean of its precision and recall, 2tp / (2tp + fp + fn); macro-F1 is the plain
mean over the labels that occur in truth or prediction, micro-F1 is F1 of the summed counts (Sokolova and
Lapalme 2009; scikit-learn's `f1_score` with `average="macro"` and `"micro"` gives the same).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from triagebot.evaluation.cases import Prediction

Outcome = tuple[tuple[str, ...], tuple[str, ...]]
NONE = "(none)"
"""In a confusion matrix: nothing was said, or people gave no label."""


@dataclass(frozen=True, slots=True)
class Score:
    """One label's counts: right, wrongly set, missed."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    @property
    def support(self) -> int:
        """How many issues carry it."""
        return self.tp + self.fn

    @property
    def precision(self) -> float:
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        return _share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def top_outcomes(predictions: Iterable[Prediction]) -> Counter[Outcome]:
    """The top label against the truth, without a threshold, over the issues that people labelled.

    Where an issue has several labels, the top one is right if it is among them, and the others
    count as missed: one label cannot name two.
    """
    return Counter(
        (prediction.case.truth, (prediction.said.top,) if prediction.said.top else ())
        for prediction in predictions
        if prediction.case.truth
    )


def chosen_outcomes(predictions: Iterable[Prediction]) -> Counter[Outcome]:
    """The labels that would be set against the truth, over all issues, those that nobody labelled included."""
    return Counter((prediction.case.truth, prediction.said.chosen) for prediction in predictions)


def per_label(outcomes: Mapping[Outcome, int]) -> dict[str, Score]:
    """Each label that occurs in truth or prediction, by name."""
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    for (truth, said), number in outcomes.items():
        for name in said:
            (right if name in truth else wrong)[name] += number
        for name in truth:
            if name not in said:
                missed[name] += number
    names = sorted(right.keys() | wrong.keys() | missed.keys())
    return {name: Score(right[name], wrong[name], missed[name]) for name in names}


def macro_f1(outcomes: Mapping[Outcome, int], labels: int | None = None) -> float:
    """The mean over the labels that occur, or over `labels` of them: those that do not occur count as 0 then."""
    scores = per_label(outcomes)
    return _share(sum(score.f1 for score in scores.values()), len(scores) if labels is None else labels)


def micro_f1(outcomes: Mapping[Outcome, int]) -> float:
    scores = per_label(outcomes).values()
    return Score(sum(s.tp for s in scores), sum(s.fp for s in scores), sum(s.fn for s in scores)).f1


def accuracy(outcomes: Mapping[Outcome, int]) -> float:
    """The share of issues whose prediction holds at least one label that people gave."""
    right = sum(number for (truth, said), number in outcomes.items() if set(truth) & set(said))
    return _share(right, sum(outcomes.values()))


def confusion(outcomes: Mapping[Outcome, int]) -> dict[str, dict[str, int]]:
    """How often each true label was called what. A right top label counts once, a wrong one under every true label."""
    table: dict[str, Counter[str]] = {}
    for (truth, said), number in outcomes.items():
        called = said[0] if said else NONE
        for name in (called,) if called in truth else (truth or (NONE,)):
            table.setdefault(name, Counter())[called] += number
    return {name: dict(sorted(row.items())) for name, row in sorted(table.items())}


def silence(outcomes: Mapping[Outcome, int]) -> Silence:
    """How saying nothing and saying something went, on issues that people labelled and that they did not."""
    unlabelled = sum(n for (truth, _), n in outcomes.items() if not truth)
    quiet = sum(n for (truth, said), n in outcomes.items() if not truth and not said)
    labelled = sum(n for (truth, _), n in outcomes.items() if truth)
    wrong = sum(n for (truth, said), n in outcomes.items() if truth and set(said) - set(truth))
    mute = sum(n for (truth, said), n in outcomes.items() if truth and not said)
    return Silence(unlabelled, quiet, labelled, wrong, mute)


@dataclass(frozen=True, slots=True)
class Silence:
    """Counts: issues that nobody labelled and on how many of them nothing was said; issues that people labelled, on
    how many of those a label was wrong, and on how many nothing was said."""

    unlabelled: int
    rightly_silent: int
    labelled: int
    something_wrong: int
    silent: int


def mean(values: Sequence[float]) -> float:
    return _share(sum(values), len(values))
