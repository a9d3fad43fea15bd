"""Learning to label from what people labelled before, and labelling with the words that decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy
from scipy import sparse
from threadpoolctl import threadpool_limits

from triagebot.classifier import lessons, reading, reasons, ridge
from triagebot.classifier.calibration import Calibration, Floats, sure_at
from triagebot.classifier.lessons import LEAST_IN_ALL, LEAST_PER_LABEL
from triagebot.classifier.views import Views
from triagebot.core.past import Past
from triagebot.core.verdict import Vote

__all__ = ["LEAST_IN_ALL", "LEAST_PER_LABEL", "Classifier", "train"]

_WORTH_A_WORD = 0.05  # less is no vote at all
_AT_ONCE = 256  # texts whose features are held in memory together


def train(
    past: Sequence[Past],
    *,
    allowed: Sequence[str],
    groups: Sequence[Sequence[str]] = (),
    others: Sequence[Past] = (),
) -> Classifier:
    """Learn the labels `allowed` from `past`; deterministic, and in seconds for thousands of issues.

    A label is learnt if at least `LEAST_PER_LABEL` past issues carry it and as many do not;
    the others are not offered. Raises `TooLittleHistory` if no label is left or `past` holds
    fewer than `LEAST_IN_ALL` issues. Names are compared as they are written.

    The history is one-of if each issue carries exactly one allowed label; otherwise each label is
    judged by itself, and an issue without a label is an example of "nothing fits". Names in one of
    `groups` exclude each other.

    `others` are issues of other repositories: they tell what a label of the same name (in any
    case) looks like elsewhere, and count for less than the own ones.
    """
    plan = lessons.plan(past, allowed=allowed, groups=groups, others=others)
    with threadpool_limits(1):  # sums of another order are other numbers: one thread gives the same bits everywhere
        return _learn(plan)


def _learn(plan: lessons.Plan) -> Classifier:
    views = Views()
    rows = views.fit([reading.read(issue.title, issue.body) for issue in plan.examples])
    count = len(plan.labels)
    weights = numpy.zeros((rows.shape[1], count), dtype=numpy.float32)
    level = numpy.zeros(count, dtype=numpy.float32)
    held_out = numpy.zeros((plan.own, count), dtype=numpy.float32)
    for lesson in plan.lessons:
        fitted = ridge.fit(rows[lesson.examples], plan.home[lesson.examples], lesson.truth)
        weights[:, lesson.labels], level[lesson.labels] = fitted.weights, fitted.level
        held_out[:, lesson.labels] = fitted.held_out
    truth = plan.truth
    calibration = Calibration(held_out, truth, groups=plan.groups, whole=plan.whole)
    return Classifier(
        labels=plan.labels,
        one_of=plan.one_of,
        sure_at=sure_at(calibration.probabilities(held_out), truth),
        views=views,
        weights=weights,
        level=level,
        calibration=calibration,
    )


class Classifier:
    """What one history taught. Safe to share between threads: nothing in it changes.

    `labels` can be answered; `one_of` says that each issue carries exactly one; `sure_at` is
    the least confidence of the top label at which nine of ten answers were right on issues
    of the history that were held out (1.01: at none).
    """

    def __init__(
        self,
        *,
        labels: tuple[str, ...],
        one_of: bool,
        sure_at: float,
        views: Views,
        weights: ridge.Floats,
        level: ridge.Floats,
        calibration: Calibration,
    ) -> None:
        self.labels = labels
        self.one_of = one_of
        self.sure_at = sure_at
        self._views = views
        self._weights = weights
        self._level = level
        self._calibration = calibration
        self._spoken = views.spoken()

    def scores(self, texts: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
        """Return the calibrated probability (0..1) of each label for each (title, body)."""
        found: list[dict[str, float]] = []
        for start in range(0, len(texts), _AT_ONCE):
            rows = self._rows(texts[start : start + _AT_ONCE])
            found += [dict(zip(self.labels, map(float, row), strict=True)) for row in self._judged(rows)]
        return found

    def votes(self, title: str, body: str) -> tuple[Vote, ...]:
        """Return the labels that may fit, surest first, with the words that decided as reason."""
        row = self._rows([(title, body)])
        scores = self._judged(row)[0]
        order = sorted(range(len(scores)), key=lambda column: (-scores[column], column))
        return tuple(
            Vote(name=self.labels[column], confidence=float(scores[column]), reason=self._reason(row, column))
            for column in order
            if scores[column] >= _WORTH_A_WORD
        )

    def _rows(self, texts: Sequence[tuple[str, str]]) -> sparse.csr_matrix:
        return self._views.rows([reading.read(title, body) for title, body in texts])

    def _judged(self, rows: sparse.csr_matrix) -> Floats:
        return self._calibration.probabilities(rows @ self._weights + self._level)

    def _reason(self, row: sparse.csr_matrix, column: int) -> str:
        spoke: defaultdict[str, float] = defaultdict(float)
        for feature, value in zip(row.indices, row.data, strict=True):
            if (term := self._spoken.get(int(feature))) is not None:
                weight = self._weights[feature]
                spoke[term] += float(value) * float(weight[column] - (weight.mean() if self.one_of else 0))
        return reasons.told(spoke)
