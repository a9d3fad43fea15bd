"""Kernel ridge regression with a home: examples of the own repository count more than those of others.

The kernel of two issues is their likeness, halved where they are of different
repositories: a shared copy of each feature and one of each repository's own, as in
Daume, "Frustratingly Easy Domain Adaptation" (ACL 2007). Ridge regression has a closed
form, so nothing has to converge, and its leave-one-out predictions come from the same
factorisation (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 5.4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from scipy import sparse
from scipy.linalg import lapack

_RIDGE = 0.25
_ABROAD = 0.5  # likeness across repositories
_LEVEL = 0.2  # the kernel's constant part: what is true whatever the text says
_BLOCK = 512  # rows of the kernel that are made at once

Floats = numpy.typing.NDArray[numpy.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """`weights` (features, labels) and `level` (labels) give the margin of a text of the own repository.

    `held_out` (own examples, labels) are the margins that each own example would get
    from a fit without it.
    """

    weights: Floats
    level: Floats
    held_out: Floats


def fit(rows: sparse.csr_matrix, home: numpy.typing.NDArray[Any], truth: numpy.typing.NDArray[numpy.bool_]) -> Fitted:
    """Fit all labels at once. `rows` (examples, features), `truth` (examples, labels).

    `home` (examples) tells the repositories apart; 0 is the own one, and its examples come first.
    """
    target = numpy.where(truth, 1, -1).astype(numpy.float32)
    own = int((home == 0).sum())
    factor, _ = lapack.spotrf(_kernel(rows, home).T, lower=True, overwrite_a=True)
    dual, _ = lapack.spotrs(factor, target, lower=True)
    inverse, _ = lapack.spotri(factor, lower=True, overwrite_c=True)
    held_out = target[:own] - dual[:own] / inverse.diagonal()[:own, None]
    near = numpy.where(home == 0, 1, _ABROAD).astype(numpy.float32)[:, None] * dual
    return Fitted(weights=rows.T @ near, level=_LEVEL * near.sum(axis=0), held_out=held_out)


def _kernel(rows: sparse.csr_matrix, home: numpy.typing.NDArray[Any]) -> Floats:
    """Return the kernel with the ridge on its diagonal, made in blocks: dense, it is the largest thing in memory."""
    kernel = numpy.empty((rows.shape[0], rows.shape[0]), dtype=numpy.float32)
    turned = rows.T.tocsc()
    for start in range(0, rows.shape[0], _BLOCK):
        part = slice(start, start + _BLOCK)
        near = numpy.where(home[part, None] == home[None], 1, _ABROAD).astype(numpy.float32)
        kernel[part] = ((rows[part] @ turned).toarray() + _LEVEL) * near
    kernel[numpy.diag_indices_from(kernel)] += _RIDGE
    return kernel
