"""Logistic regression with standard errors that respect groups of rows, and how good its probabilities are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.record import Record, column
from cranfield.types import Array, Index64

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
    if not ridge and np.linalg.matrix_rank(design) < design.shape[1]:
        raise UsageError("some signals determine others, so the fit is not unique; to allow this: ridge=1")
    penalty = np.diag([0.0, *np.full(design.shape[1] - 1, ridge)])
    beta = np.zeros(design.shape[1])
    beta[0] = np.log(labels.mean() / (1 - labels.mean()))
    separated = UsageError("some signal separates the labels, so the fit has no end; to hold it back: ridge=1")
    value, steps = _objective(design, labels, beta, ridge), 0
    while steps < MOST_STEPS:
        steps += 1
        p = logistic(design @ beta)
        gradient = design.T @ (labels - p) - penalty @ beta
        hessian = (design * (p * (1 - p))[:, None]).T @ design + penalty
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            raise separated from None
        better = _objective(design, labels, beta + step, ridge)
        while better < value - 1e-12 and np.abs(step).max() > 1e-12:
            step = step / 2
            better = _objective(design, labels, beta + step, ridge)
        beta, value = beta + step, better
        if np.abs(beta[1:]).max(initial=0.0) > LARGEST:
            raise separated
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


BINS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Record):
    """Predicted probabilities in bins, beside the share of labels that are 1; and the parts of the Brier score."""

    figure = "describe_reliability"
    facts = ("brier", "reliability", "resolution", "uncertainty", "within")

    predicted: Annotated[Array, column()]
    """The mean prediction of each bin."""
    observed: Annotated[Array, column()]
    low: Annotated[Array, column()]
    """Wilson's 95% interval of the observed share."""
    high: Annotated[Array, column()]
    n: Annotated[Index64, column()]
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    """What is left because predictions differ within bins."""


def brier_score(predicted: Array, labels: Array) -> float:
    r"""The mean squared difference of predictions and labels; 0 is best.

    .. math:: \frac{1}{n} \sum (p_i - y_i)^2

    Reference: Brier, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review 78(1), 1950

    >>> brier_score(np.array([0.9, 0.2]), np.array([1, 0]))
    0.025
    """
    return float(np.mean((np.asarray(predicted) - np.asarray(labels)) ** 2).round(15))


def area_under_curve(predicted: Array, labels: Array) -> float:
    r"""The probability that a row with label 1 has a higher prediction than one with label 0; ties count half.

    .. math:: \frac{\sum_{y_i = 1} \text{rank}(p_i) - n_1 (n_1 + 1) / 2}{n_0 n_1}

    NaN if one of the labels is missing.
    Reference: Hanley & McNeil, Radiology 143(1), 1982, doi:10.1148/radiology.143.1.7063747

    >>> area_under_curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
    0.75
    """
    from scipy.stats import rankdata

    labels = np.asarray(labels)
    ones = int((labels == 1).sum())
    zeros = len(labels) - ones
    if not ones or not zeros:
        return float("nan")
    return float((rankdata(predicted)[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def reliability_curve(predicted: Array, labels: Array, bins: int = BINS) -> Reliability:
    r"""Predictions in bins of equal size, beside the share of labels that are 1.

    .. math:: \text{Brier} = \underbrace{\frac{1}{n} \sum_k n_k (\bar p_k - \bar y_k)^2}_{\text{reliability}}
        - \underbrace{\frac{1}{n} \sum_k n_k (\bar y_k - \bar y)^2}_{\text{resolution}}
        + \underbrace{\bar y (1 - \bar y)}_{\text{uncertainty}} + \text{within}

    Equal predictions share a bin. Reliability is 0 if the probabilities are right; resolution is high if they separate
    labels. The last part is what is left because predictions differ within a bin.
    Reference: Murphy, A New Vector Partition of the Probability Score, J. Applied Meteorology 12, 1973; for `within`,
    Stephenson, Coelho & Jolliffe, Weather and Forecasting 23(4), 2008

    >>> curve = reliability_curve(np.array([0.2, 0.2, 0.8, 0.8]), np.array([0, 1, 1, 1]), bins=2)
    >>> curve.predicted.tolist(), curve.observed.tolist(), round(curve.within, 12)
    ([0.2, 0.8], [0.5, 1.0], 0.0)
    """
    check.whole("reliability_curve", bins=bins)
    predicted, labels = np.asarray(predicted, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, bins + 1)[1:-1], method="higher"))
    number = np.searchsorted(edges, predicted, side="right")
    number = np.unique(number, return_inverse=True)[1]
    n = np.bincount(number)
    mean, share = np.bincount(number, predicted) / n, np.bincount(number, labels) / n
    rate = labels.mean()
    brier = float(np.mean((predicted - labels) ** 2))
    reliability = float((n * (mean - share) ** 2).sum() / n.sum())
    resolution = float((n * (share - rate) ** 2).sum() / n.sum())
    uncertainty = float(rate * (1 - rate))
    low, high = wilson(share, n)
    within = brier - (reliability - resolution + uncertainty)
    return Reliability(mean, share, low, high, n, brier, reliability, resolution, uncertainty, within)


def wilson(share: Array, n: NDArray[np.int64], z: float = 1.959963984540054) -> tuple[Array, Array]:
    """Wilson's interval of a share.

    Reference: Wilson, Probable Inference, JASA 22(158), 1927
    """
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - reach, middle + reach
