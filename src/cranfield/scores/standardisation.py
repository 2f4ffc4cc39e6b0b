"""Standardisation: scores made comparable across topics. Transformation: scores of a more even variance."""

from __future__ import annotations

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.scores.summary import mean, statistic
from cranfield.scores.t_and_normal import normal_tail
from cranfield.types import Array

STANDARDISATIONS = ("z", "linear", "empirical")
TRANSFORMATIONS = ("arcsine",)
_ROUNDING = 1e-9
"""A score may be outside 0 to 1 by this much."""


def standardise(
    values: Array, reference: Array, method: str, *, cdf: bool = False, a: float = 0.15, b: float = 0.5
) -> Array:
    r"""Scores (… × runs × topics) relative to the scores of reference runs on the same topic.

    | method | score | paper |
    |---|---|---|
    | `z` | :math:`z = (x - m_t) / s_t`; with `cdf`, :math:`\Phi(z)` | Webber, Moffat & Zobel, SIGIR 2008 |
    | `linear` | :math:`a z + b`, cut off at 0 and 1 | Sakai, ICTIR 2016 |
    | `empirical` | the share of reference runs with a score of x or less | Urbano, Lima & Hanjalic, SIGIR 2019 |

    m and s are the mean and sample standard deviation (n - 1) of the scores of the reference runs on the topic.
    z and linear: undefined (NaN) on a topic where all reference runs score the same, or fewer than two have a score.
    (The R code published with the 2019 paper keeps the scores of such a topic, which mixes two scales.)
    empirical: undefined if no reference run has a score; if all score the same, that score becomes 1.
    """
    check.one_of("standardised", STANDARDISATIONS, method=method)
    if cdf and method != "z":
        raise UsageError(f"standardised: cdf == True needs method == 'z', not {method!r}")
    by_topic = np.swapaxes(reference, -1, -2)
    with np.errstate(divide="ignore", invalid="ignore"):
        if method == "empirical":
            n = (~np.isnan(by_topic)).sum(axis=-1)
            below = [(by_topic <= values[..., r, :, None]).sum(axis=-1) / n for r in range(values.shape[-2])]
            share = np.stack(below, axis=-2) if below else np.empty_like(values)
            return np.where(np.isnan(values), np.nan, share)
        centre, spread = mean(by_topic), statistic(by_topic, "std")
        # Equal scores: the computed deviation can be a rounding error above 0.
        same = statistic(by_topic, "min") == statistic(by_topic, "max")
        z = (values - centre[..., None, :]) / np.where(same, np.nan, spread)[..., None, :]
    if method == "linear":
        return np.clip(a * z + b, 0.0, 1.0)
    return normal_tail(-z) if cdf else np.asarray(z)


def arcsine(values: Array) -> Array:
    r"""The arcsine of the square root, :math:`\arcsin\sqrt x`: between 0 and π/2; NaN outside 0 to 1.

    The variance of a share depends on its size; after this transformation it does so much less.
    Reference: Bartlett, The Use of Transformations, Biometrics 3(1), 1947

    >>> arcsine(np.array([0.0, 0.25, 1.0])).round(4).tolist()
    [0.0, 0.5236, 1.5708]
    """
    with np.errstate(invalid="ignore"):
        inside = (values >= -_ROUNDING) & (values <= 1 + _ROUNDING)
        return np.where(inside, np.arcsin(np.sqrt(np.clip(values, 0.0, 1.0))), np.nan)
