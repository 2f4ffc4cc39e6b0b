"""How good are predicted probabilities? Brier score and its decomposition, reliability curve, area under the curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.record import Record
from cranfield.types import Array

BINS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Record):
    """Predicted probabilities in bins, beside the share of labels that are 1; and the parts of the Brier score."""

    figure = "describe_reliability"
    facts = ("brier", "reliability", "resolution", "uncertainty", "within")

    predicted: Array
    """The mean prediction of each bin."""
    observed: Array
    low: Array
    """Wilson's 95% interval of the observed share."""
    high: Array
    n: NDArray[np.int64]
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    """What is left because predictions differ within bins."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """predicted, observed, low, high, n: a row per bin."""
        return {
            "predicted": self.predicted,
            "observed": self.observed,
            "low": self.low,
            "high": self.high,
            "n": self.n,
        }


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
