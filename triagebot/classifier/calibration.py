"""From margins to probabilities, and the confidence from which on the history says that the answer can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from sklearn.linear_model import LogisticRegression

NEVER = 1.01  # above every confidence
_PRECISION = 0.90
_ENOUGH = 10  # issues; fewer right answers in a row are luck

Floats = numpy.typing.NDArray[numpy.float64]
Truth = numpy.typing.NDArray[numpy.bool_]


class Calibration:
    """Platt's scaling for each label, after which labels that exclude each other share what there is.

    `groups` hold columns of which an issue carries one at most. `whole` says that it
    carries exactly one of all labels.
    """

    def __init__(self, margins: Any, truth: Truth, *, groups: Sequence[Sequence[int]], whole: bool) -> None:
        self._groups = [list(group) for group in groups]
        self._whole = whole
        self._sigmoids = [_sigmoid(margins[:, [column]], truth[:, column]) for column in range(truth.shape[1])]

    def probabilities(self, margins: Any) -> Floats:
        """Return the probability of each label (columns) for each text (rows)."""
        table = numpy.column_stack(
            [
                sigmoid.predict_proba(margins[:, [column]].astype(numpy.float64))[:, 1]
                for column, sigmoid in enumerate(self._sigmoids)
            ]
        )
        for group in self._groups:
            table[:, group] /= numpy.maximum(table[:, group].sum(axis=1, keepdims=True), 1.0)
        return table / table.sum(axis=1, keepdims=True) if self._whole else table


def _sigmoid(margin: Any, truth: Truth) -> LogisticRegression:
    """Fit a curve that rises with the margin, or stays at the share of the label.

    A falling one would call the classifier's answers wrong by rule: history with twins of
    another label looks so, for what is held out is then always contradicted.
    """
    sigmoid = LogisticRegression(C=10.0).fit(margin.astype(numpy.float64), truth)
    if sigmoid.coef_[0, 0] < 0:
        sigmoid.coef_[:] = 0.0
        sigmoid.intercept_[:] = numpy.log(truth.mean() / (1 - truth.mean()))
    return sigmoid


def sure_at(table: Floats, truth: Truth) -> float:
    """Return the least confidence of the top label from which on 90 % of the answers are right, or `NEVER`."""
    top = table.argmax(axis=1)
    order = numpy.argsort(-table.max(axis=1), kind="stable")
    confidence, right = table.max(axis=1)[order], truth[numpy.arange(len(top)), top][order]
    precision = numpy.cumsum(right) / numpy.arange(1, len(right) + 1)
    # A bar lets in all that are as confident as the last: look only where the confidence falls.
    last_of_equals = numpy.append(confidence[1:] < confidence[:-1], True)
    good = numpy.flatnonzero((precision >= _PRECISION) & last_of_equals & (numpy.arange(1, len(right) + 1) >= _ENOUGH))
    return float(confidence[good[-1]]) if len(good) else NEVER
