"""Logistic regression by Newton's method, with standard errors that respect groups of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.types import Array

MOST_STEPS = 50
CONVERGED = 1e-10
LARGEST = 25.0
"""Standardised coefficients beyond this mean that a signal separates the labels: the likelihood has no maximum."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The coefficients of a logistic regression; the first one is the constant."""

    coefficients: Array
    errors: Array
    """Standard errors, robust against dependence within groups."""
    log_likelihood: float
    steps: int

    def predict(self, features: Array) -> Array:
        """The probabilities of rows of features."""
        return logistic(self.coefficients[0] + features @ self.coefficients[1:])


def logistic(x: Array) -> Array:
    """1 / (1 + exp(−x)), without overflow."""
    from scipy.special import expit

    return np.asarray(expit(x))


def fit_logistic(
    features: Array, labels: Array, groups: NDArray[np.generic] | None = None, *, ridge: float = 0.0
) -> LogisticFit:
    r"""Fit a logistic regression of labels (0 or 1) on features (rows × features), with a constant.

    .. math:: p = \frac{1}{1 + e^{-(\beta_0 + x \cdot \beta)}}, \quad
        \beta \leftarrow \beta + (X^T W X + \lambda I)^{-1} (X^T (y - p) - \lambda \beta)

    Features are standardised for the steps; `ridge` (λ) draws the standardised coefficients towards 0, not the
    constant. A step that lowers the likelihood is halved. Errors are the sandwich over `groups` (rows, without them),
    with the correction G / (G − 1) · (n − 1) / (n − k), as statsmodels computes it.
    Reference: Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 2009, §4.4

    >>> fit = fit_logistic(np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0.0, 1.0, 1.0, 1.0]), ridge=1.0)
    >>> fit.coefficients.round(3).tolist()
    [0.601, 1.167]
    """
    check.not_negative("fit_logistic", ridge=ridge)
    labels = np.asarray(labels, dtype=np.float64)
    n, k = features.shape
    if not 0 < labels.sum() < n:
        raise UsageError(f"all {n:,} labels are {'1' if labels.sum() else '0'}; a classifier needs both labels")
    centre, spread = features.mean(axis=0), features.std(axis=0)
    varies = spread > 0
    design = np.column_stack([np.ones(n), (features[:, varies] - centre[varies]) / spread[varies]])
    penalty = np.diag([0.0, *np.full(design.shape[1] - 1, ridge)])
    beta = np.zeros(design.shape[1])
    beta[0] = np.log(labels.mean() / (1 - labels.mean()))
    value, steps = _objective(design, labels, beta, ridge), 0
    while steps < MOST_STEPS:
        steps += 1
        p = logistic(design @ beta)
        gradient = design.T @ (labels - p) - penalty @ beta
        hessian = (design * (p * (1 - p))[:, None]).T @ design + penalty
        step = _solve(hessian, gradient)
        better = _objective(design, labels, beta + step, ridge)
        while better < value - 1e-12 and np.abs(step).max() > 1e-12:
            step = step / 2
            better = _objective(design, labels, beta + step, ridge)
        beta, value = beta + step, better
        if np.abs(beta[1:]).max(initial=0.0) > LARGEST:
            raise UsageError("some signal separates the labels, so the fit has no end; to hold it back: ridge=1")
        if np.abs(step).max() < CONVERGED:
            break
    p = logistic(design @ beta)
    covariance = _sandwich(design, labels - p, p, penalty, groups)
    scale = np.zeros((k + 1, design.shape[1]))  # from standardised coefficients to those of the features
    scale[0, 0] = 1.0
    scale[0, 1:] = -centre[varies] / spread[varies]
    scale[1 + np.flatnonzero(varies), 1 + np.arange(int(varies.sum()))] = 1 / spread[varies]
    errors = np.sqrt(np.maximum(np.diag(scale @ covariance @ scale.T), 0.0))
    errors[1:][~varies] = np.nan
    return LogisticFit(scale @ beta, errors, _objective(design, labels, beta, 0.0), steps)


def _objective(design: Array, labels: Array, beta: Array, ridge: float) -> float:
    linear = design @ beta
    likelihood = labels @ linear - np.logaddexp(0, linear).sum()
    return float(likelihood - ridge / 2 * (beta[1:] @ beta[1:]))


def _solve(matrix: Array, vector: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise UsageError("some signals determine others, so the fit is not unique; to allow this: ridge=1") from None


def _sandwich(design: Array, residual: Array, p: Array, penalty: Array, groups: NDArray[np.generic] | None) -> Array:
    n, k = design.shape
    bread = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design + penalty)
    scores = design * residual[:, None]
    count = n
    if groups is not None:
        number = np.unique(groups, return_inverse=True)[1]
        count = int(number.max()) + 1
        scores = np.stack([np.bincount(number, column, count) for column in scores.T], axis=1)
    correction = count / (count - 1) * (n - 1) / (n - k) if count > 1 and n > k else np.nan
    return np.asarray(correction * bread @ (scores.T @ scores) @ bread)
