"""t tests of all pairs with the pooled error of an analysis of variance, and control of false discoveries."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from cranfield.comparison.anova.anova import two_way
from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.comparison.data import Matrix
from cranfield.comparison.methods.t import t_of
from cranfield.comparison.methods.tukey import LevelPairs, compare_levels, differences_of
from cranfield.comparison.pair_tests import PairTests, TestSettings, pair_test
from cranfield.scores.t_and_normal import t_quantile
from cranfield.types import Array, Index64

CORRECTION = "benjamini-hochberg"


def pooled_t(
    data: Any, measure: Any = None, *, factor: str = "system", alpha: float = 0.05, correction: str = CORRECTION
) -> LevelPairs:
    r"""Pairs of levels by t with the error of the analysis of variance, and few false discoveries among those found.

    .. math:: t = \frac{\bar x_u - \bar x_v}{\sqrt{2\, MS_{Error} / m}}, \qquad df = df_{Error}

    Parameters are those of `tukey`, and the `correction` of the p-values. By default at most a share α of the pairs
    that are found to differ do not, where Tukey's test allows no false one at all: it finds more pairs, and some are
    false. Without a correction ("none") it is Fisher's least significant difference. Intervals of differences are for
    each pair alone.

    References: Faggioli & Ferro, System Effect Estimation by Sharding, ECIR 2021; Ferro & Maistro 2024 §4.2.4

    >>> result = pooled_t([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]])
    >>> result.p.round(4).tolist()
    [0.0179, 0.0022, 0.0084]
    """
    name = CORRECTIONS.find(correction).name
    method = f"t with the pooled error, {'not corrected' if name == 'none' else name}"
    return compare_levels(method, partial(_test_levels, name), "pooled_t", data, measure, factor, alpha)


def _test_levels(
    correction: str, mean: Array, first: Index64, second: Index64, spread: Array, df: int, alpha: float
) -> PairTests:
    se = spread * math.sqrt(2)
    t, p, low, high = t_of(differences_of(mean, first, second), se, np.full(len(first), df), "two-sided", alpha)
    adjusted = adjust(p, correction)
    # The largest p that is significant; the steps of other corrections have no such formula.
    count, found = max(len(p), 1), max(int((adjusted <= alpha).sum()), 1)
    limits = {"none": alpha, "bonferroni": alpha / count, CORRECTION: alpha * found / count}
    same = bool(len(se)) and float(se.max() - se.min()) <= 1e-9 * float(se.max())
    critical = math.nan
    if same and correction in limits:
        critical = float(se[0]) * float(t_quantile(limits[correction] / 2, np.array([df]))[0])
    return PairTests(t, adjusted, low, high, np.zeros(len(first), dtype=np.int64), critical=critical)


@pair_test(
    "pooled-t",
    aliases=("anova", "anova-t", "lsd", "fisher-lsd"),
    function=pooled_t,
    statistic="t",
    any_level=True,
    complete=True,
    normal=True,
    pooled=True,
    correction=CORRECTION,
    source="Faggioli & Ferro, ECIR 2021; Ferro & Maistro 2024 §4.2.4",
)
def pooled_t_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """The t test of every pair, with the error of the two-way model of all systems."""
    error = two_way(matrix)["error"]
    difference = differences_of(np.asarray(matrix.values.mean(axis=0)), first, second)
    se = np.full(len(first), math.sqrt(2 * error.ms / matrix.n))
    df = np.full(len(first), error.df)
    t, p, low, high = t_of(difference, se, df, settings.alternative, settings.outside)
    return PairTests(t, p, low, high, np.full(len(first), matrix.n, dtype=np.int64))
