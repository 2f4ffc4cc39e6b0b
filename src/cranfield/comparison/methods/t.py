"""Student's t tests: of one mean, of the mean difference on shared topics, and of the means of two samples.

If there is no variance and no difference, t = 0 and p = 1. If there is no variance but a difference, t is infinite and
p is 0 (1 in the other direction), its limit as the variance goes to 0. A note says so in both cases. There is no
interval then: topics that are all alike do not tell how others vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.assumptions import check_paired, check_sample, check_unpaired
from cranfield.comparison.data import (
    Matrix,
    check_common_topics,
    check_topics,
    difference_blocks,
    differences,
    gap,
    paired,
    row_moments,
    single,
    unpaired,
)
from cranfield.comparison.distributions import extremeness
from cranfield.comparison.effects import effect_of_samples, paired_effect, spread_of
from cranfield.comparison.pair_tests import PairTests, TestSettings, pair_test
from cranfield.comparison.resampling import interval_ends
from cranfield.comparison.test_result import Interval, TestResult, check_settings
from cranfield.notes import caution_note
from cranfield.scores.t_and_normal import t_quantile, t_tail
from cranfield.text import counted
from cranfield.types import Array, Index64

LIMIT = "t is infinite and p is its limit"


def one_sample_t(
    x: Any,
    mu: float = 0.0,
    *,
    system: str | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> TestResult:
    r"""Does the mean score of a system differ from a given value (IR Evaluation, course notes, 2015 (12))?

    .. math:: t = \frac{\bar x - \mu}{s / \sqrt n}, \qquad df = n - 1

    `x` holds the scores of one system: an array, {topic: score}, a Series, or `Scores` (`system` names one of several).
    The test assumes independent topics and an approximately normal mean. The effect is Cohen's d, (x̄ − μ)/s.
    Reference: Student, The Probable Error of a Mean, Biometrika 6(1), 1908

    >>> print(one_sample_t([0.7, 0.8, 0.9, 0.6, 0.8], mu=0.75))  # doctest: +ELLIPSIS
    score, x: one-sample t test, two-sided: t(4) = 0.196, p = 0.8541, n = 5
    mean = 0.7600 [0.6184, 0.9016] (95% t)
    ...
    """
    check_settings("one_sample_t", alternative, level)
    check.finite("one_sample_t", mu=mu)
    values, name, measure_name, notes = single(x, system=system, measure=measure)
    check_topics(len(values), 2, "a one-sample t test")
    d = differences(values, mu)
    return TestResult(
        test="one-sample t",
        **_t_of_differences(d, alternative, level, mu),
        n=(len(values),),
        estimate_name="mean",
        estimate=float(values.mean()),
        effect=replace(paired_effect(d, np.zeros(len(d)), level=level), name="Cohen's d"),
        assumptions=check_sample(values, measure_name),
        notes=(*notes, *_constant_note(d, f"every score is {mu:g}", "every score is the same")),
        measure=measure_name,
        systems=(name,),
    )


def paired_t(
    x: Any,
    y: Any = None,
    *,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> TestResult:
    r"""Do two systems differ on the same topics (IR Evaluation, course notes, 2015 (13), Ferro & Maistro 2024 §4)?

    .. math:: t = \frac{\bar d}{s_d / \sqrt n}, \qquad df = n - 1

    `x` and `y` are arrays of the same length or {topic: score}, or `x` alone holds both systems.
    `alternative="greater"` tests whether x is better. The test assumes independent topics, an approximately normal mean
    difference, and scores on an interval scale. The effect is d_z.
    Reference: Student, The Probable Error of a Mean, Biometrika 6(1), 1908

    Student's own example, hours of sleep gained with two drugs (in R: `t.test` on `sleep`):

    >>> a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    >>> b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    >>> result = paired_t(a, b)
    >>> round(result.statistic, 4), round(result.p, 6), str(result.interval)
    (-4.0621, 0.002833, '[-2.4599, -0.7001] (95% t)')
    """
    check_settings("paired_t", alternative, level)
    pair = paired(x, y, systems=systems, measure=measure)
    d = differences(pair.x, pair.y)
    check_topics(len(d), 2, "a paired t test")
    notes = _constant_note(
        d, "the systems have the same score on every topic", "the difference is the same on every topic"
    )
    return TestResult(
        test="paired t",
        **_t_of_differences(d, alternative, level),
        n=(len(d),),
        estimate_name="mean difference",
        estimate=float(d.mean()),
        effect=paired_effect(pair.x, pair.y, kind="d_z", level=level),
        assumptions=check_paired(d, pair.measure),
        **pair.facts(*notes),
    )


def unpaired_t(
    x: Any,
    y: Any = None,
    *,
    equal_variance: bool = False,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> TestResult:
    r"""Do the means of two independent samples differ, such as one system on two collections?

    .. math:: t = \frac{\bar x - \bar y}{\sqrt{s_x^2/n_x + s_y^2/n_y}}

    The degrees of freedom are Welch's; with `equal_variance`, the variance is pooled and they are n_x + n_y − 2. On
    shared topics `paired_t` is more powerful. The effect is Hedges' g.
    Reference: Welch, The Generalization of "Student's" Problem, Biometrika 34, 1947

    >>> a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    >>> b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    >>> result = unpaired_t(a, b)  # R's t.test(extra ~ group, data = sleep): t = -1.8608, df = 17.776, p = 0.07939
    >>> round(result.statistic, 4), round(result.df[0], 3), round(result.p, 5)
    (-1.8608, 17.776, 0.07939)
    """
    check_settings("unpaired_t", alternative, level)
    pair = unpaired(x, y, systems=systems, measure=measure)
    n, m = len(pair.x), len(pair.y)
    check_topics(min(n, m), 2, "an unpaired t test, in each sample,")
    summaries = [(sample.mean(), spread_of(sample) ** 2, len(sample)) for sample in (pair.x, pair.y)]
    mean, variance, size = (np.array(part, dtype=np.float64)[:, None] for part in zip(*summaries, strict=True))
    difference, se, df = _two_means(mean[0], mean[1], variance[0], variance[1], size[0], size[1], equal_variance)
    notes = []
    if se[0] == 0:
        same = difference[0] == 0
        notes.append(
            "all scores are the same: p = 1" if same else caution_note(f"neither sample has variance: {LIMIT}")
        )
    return TestResult(
        test="unpaired t" if equal_variance else "Welch's t",
        **_t_fields(difference, se, df, alternative, level),
        n=(n, m),
        estimate_name="difference of means",
        estimate=float(difference[0]),
        effect=effect_of_samples(pair.x, pair.y, "hedges", level),
        assumptions=check_unpaired(pair.x, pair.y, pair.measure, equal_variance=equal_variance),
        **pair.facts(*notes),
    )


def welch_interval(x: Array, y: Array, level: float, alternative: str = "two-sided") -> Interval:
    """The interval of Welch's test, under that name."""
    interval = unpaired_t(x, y, alternative=alternative, level=level).interval
    assert interval is not None
    return replace(interval, method="Welch's t")


# -- all pairs


@pair_test(
    "t",
    aliases=("paired-t", "student", "t-test", "paired-t-test", "ttest"),
    function=paired_t,
    statistic="t",
    any_level=True,
    normal=True,
    source="Student, Biometrika 6(1), 1908; IR Evaluation, course notes, 2015 (13)",
)
def t_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """The paired t test of every pair, on the topics that both systems have."""
    out, n = np.full((4, len(first)), np.nan), np.zeros(len(first))
    same = constant = 0
    for block, difference in difference_blocks(matrix, first, second):
        n[block], mean, spread = row_moments(difference)
        enough = np.where(n[block] >= 2, n[block], np.nan)
        se = spread / np.sqrt(enough)
        same += int(((mean == 0) & (se == 0)).sum())
        constant += int(((mean != 0) & (se == 0)).sum())
        out[:, block] = t_of(mean, se, enough - 1, settings.alternative, settings.outside)
    notes = [*check_common_topics(n, 2, "a paired t test"), *same_scores_note(same)]
    if constant:
        notes.append(caution_note(f"the difference is the same on every topic in {counted(constant, 'pair')}: {LIMIT}"))
    t, p, low, high = out
    return PairTests(t, p, low, high, n.astype(np.int64), notes=tuple(notes))


@pair_test(
    "welch",
    aliases=("unpaired-t", "welch-t", "two-sample-t"),
    function=unpaired_t,
    statistic="t",
    any_level=True,
    normal=True,
    source="Welch, Biometrika 34, 1947",
)
def welch_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """Welch's t test of every pair, as if systems did not share topics."""
    defined = ~np.isnan(matrix.values)
    count = defined.sum(axis=0).astype(np.float64)
    mean, variance = np.full((2, len(count)), np.nan)
    for system in np.flatnonzero(count >= 2).tolist():
        values = matrix.values[defined[:, system], system]
        mean[system], variance[system] = values.mean(), spread_of(values) ** 2
    n, m = count[first], count[second]
    notes = list(check_common_topics(np.minimum(n, m), 2, "Welch's t test"))
    difference, se, df = _two_means(mean[first], mean[second], variance[first], variance[second], n, m, False)
    if defined.all() and len(first):
        notes.append(caution_note("the systems share their topics; a paired test would be more powerful"))
    if (se == 0).any():
        pairs = counted(int((se == 0).sum()), "pair")
        notes.append(caution_note(f"there is no variance in {pairs}: p = 1 if the means are the same, else {LIMIT}"))
    t, p, low, high = t_of(difference, se, df, settings.alternative, settings.outside)
    n = np.minimum(n, m).astype(np.int64)
    return PairTests(t, p, low, high, n, notes=tuple(notes), direction=t)  # means over all topics of each system


# -- shared by the tests


def t_of(mean: Array, se: Array, df: Array, alternative: str, alpha: float) -> tuple[Array, Array, Array, Array]:
    """t, p, and the interval of a mean from its standard error; one-sided intervals have one infinite end.

    The interval is NaN if the standard error is 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((mean == 0) & (se == 0), 0.0, mean / se)
    tail = -extremeness(t, alternative)
    p = t_tail(-tail, df) * (2 if alternative == "two-sided" else 1)
    p = np.where(np.isinf(t), np.where(tail < 0, 0.0, 1.0), p)
    p = np.where((mean == 0) & (se == 0), 1.0, p)
    half = t_quantile(alpha / 2 if alternative == "two-sided" else alpha, df) * se
    low, high = interval_ends(mean, half, alternative)
    unknown = np.isnan(t) | (se == 0)
    return t, p, np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def same_scores_note(pairs: int) -> tuple[str, ...]:
    return (f"the scores are the same on every topic in {counted(pairs, 'pair')}: p = 1",) if pairs else ()


def _t_of_differences(d: Array, alternative: str, level: float, mu: float = 0.0) -> dict[str, Any]:
    n, mean, spread = row_moments(d[None, :])
    return _t_fields(mean, spread / np.sqrt(n), n - 1, alternative, level, mu)


def _t_fields(mean: Array, se: Array, df: Array, alternative: str, level: float, mu: float = 0.0) -> dict[str, Any]:
    """The fields of a `TestResult` that follow from a mean and its standard error; `mu` shifts the interval."""
    t, p, low, high = (float(part[0]) for part in t_of(mean, se, df, alternative, 1 - level))
    tested = {"statistic_name": "t", "statistic": t, "p": p, "alternative": alternative, "df": (float(df[0]),)}
    return {**tested, "interval": Interval(low + mu, high + mu, level)}


def _two_means(
    mean_x: Array, mean_y: Array, var_x: Array, var_y: Array, n: Array, m: Array, equal_variance: bool
) -> tuple[Array, Array, Array]:
    """The difference of means, its standard error and the degrees of freedom."""
    difference = gap(mean_x, mean_y)
    if equal_variance:
        df = n + m - 2
        pooled = ((n - 1) * var_x + (m - 1) * var_y) / df
        return difference, np.sqrt(pooled * (1 / n + 1 / m)), df
    a, b = var_x / n, var_y / m
    with np.errstate(invalid="ignore", divide="ignore"):
        df = np.where(a + b > 0, (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)), n + m - 2)
    return difference, np.sqrt(a + b), df


def _constant_note(d: Array, zero: str, constant: str) -> tuple[str, ...]:
    if d.max() > d.min():
        return ()
    return (f"{zero}: p = 1",) if d[0] == 0 else (f"{constant}: {LIMIT}",)
