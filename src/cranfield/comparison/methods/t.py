"""Student's t: does a mean differ from a number, from another mean, topic by topic or sample by sample?

No variance and no difference: t = 0, p = 1, and a note. No variance but a difference: t is infinite and p = 0 (1 on the
other side), the limits as the variance shrinks, and a note.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.assumptions import check_paired, check_sample, check_unpaired
from cranfield.comparison.data import Matrix, check_topics, paired, single, unpaired
from cranfield.comparison.differences import difference_blocks, differences, gap, row_moments
from cranfield.comparison.effects import effect_of_samples, paired_effect, spread_of
from cranfield.comparison.registry import PairTests, TestSettings, pair_test
from cranfield.comparison.test_result import Effect, Interval, TestResult, check_asked
from cranfield.types import Array, Index64


def one_sample_t(
    x: Any,
    mu: float = 0.0,
    *,
    system: str | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> TestResult:
    r"""Is a system's mean score the one aimed at (IR Evaluation, course notes, 2015 (12))?

    .. math:: t = \frac{\bar x - \mu}{s / \sqrt n}, \qquad df = n - 1

    `x` holds one system's scores: an array, {topic: score}, a Series, or `Scores` (with `system`, if of several).
    Assumes independent topics and a mean that is about normal. The effect is Cohen's d, (x̄ − μ)/s.
    Reference: Student, The Probable Error of a Mean, Biometrika 6(1), 1908

    >>> print(one_sample_t([0.7, 0.8, 0.9, 0.6, 0.8], mu=0.75))  # doctest: +ELLIPSIS
    score, x: one-sample t test, two-sided: t(4) = 0.196, p = 0.8541, n = 5
    mean = 0.7600 [0.6184, 0.9016] (95% t)
    ...
    """
    check_asked("one_sample_t", alternative, level)
    check.finite("one_sample_t", mu=mu)
    values, name, named, notes = single(x, system=system, measure=measure)
    check_topics(len(values), 2, "a one-sample t test")
    away = differences(values, mu)
    found = _of_differences(away, alternative, level)
    effect = paired_effect(away, np.zeros(len(away)), level=level)
    return TestResult(
        test="one-sample t",
        statistic_name="t",
        statistic=found[0],
        p=found[1],
        alternative=alternative,
        n=(len(values),),
        df=(len(values) - 1.0,),
        estimate_name="mean",
        estimate=float(values.mean()),
        interval=Interval(found[2] + mu, found[3] + mu, level),
        effect=Effect("Cohen's d", effect.value, effect.low, effect.high, level, effect.words),
        assumptions=check_sample(values, named),
        notes=(*notes, *_degenerate(away, f"every score is {mu:g}", "every score is the same")),
        measure=named,
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

    `x` and `y` are arrays of one length or {topic: score}, or `x` alone holds both systems. `alternative="greater"`
    asks whether x is better. Assumes independent topics and a mean difference that is about normal; scores on an
    interval scale. The effect is d_z.
    Reference: Student, The Probable Error of a Mean, Biometrika 6(1), 1908

    Student's own example, hours of sleep gained with two drugs, as R has it (`t.test` on `sleep`):

    >>> a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    >>> b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    >>> result = paired_t(a, b)
    >>> round(result.statistic, 4), round(result.p, 6), str(result.interval)
    (-4.0621, 0.002833, '[-2.4599, -0.7001] (95% t)')
    """
    check_asked("paired_t", alternative, level)
    pair = paired(x, y, systems=systems, measure=measure)
    d = differences(pair.x, pair.y)
    check_topics(len(d), 2, "a paired t test")
    t, p, low, high = _of_differences(d, alternative, level)
    return TestResult(
        test="paired t",
        statistic_name="t",
        statistic=t,
        p=p,
        alternative=alternative,
        n=(len(d),),
        df=(len(d) - 1.0,),
        estimate_name="mean difference",
        estimate=float(d.mean()),
        interval=Interval(low, high, level),
        effect=paired_effect(pair.x, pair.y, kind="d_z", level=level),
        assumptions=check_paired(d, pair.measure),
        notes=(*pair.notes, *_degenerate(d, SAME, "the difference is the same on every topic")),
        measure=pair.measure,
        systems=pair.names,
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
    r"""Do the means of two samples differ that share no topics, such as one system on two collections?

    .. math:: t = \frac{\bar x - \bar y}{\sqrt{s_x^2/n_x + s_y^2/n_y}}

    with Welch's degrees of freedom; with `equal_variance` Student's pooled variance and n_x + n_y − 2. On the same
    topics `paired_t` finds smaller differences. The effect is Hedges' g.
    Reference: Welch, The Generalization of "Student's" Problem, Biometrika 34, 1947

    >>> a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    >>> b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    >>> result = unpaired_t(a, b)  # R's t.test(extra ~ group, data = sleep): t = -1.8608, df = 17.776, p = 0.07939
    >>> round(result.statistic, 4), round(result.df[0], 3), round(result.p, 5)
    (-1.8608, 17.776, 0.07939)
    """
    check_asked("unpaired_t", alternative, level)
    pair = unpaired(x, y, systems=systems, measure=measure)
    n, m = len(pair.x), len(pair.y)
    check_topics(min(n, m), 2, "an unpaired t test, in each sample,")
    facts = [(one.mean(), spread_of(one) ** 2, len(one)) for one in (pair.x, pair.y)]
    mean, variance, size = (np.array(part, dtype=np.float64)[:, None] for part in zip(*facts, strict=True))
    apart, se, df = _two_means(mean[0], mean[1], variance[0], variance[1], size[0], size[1], equal_variance)
    t, p, low, high = (float(one[0]) for one in t_of(apart, se, df, alternative, level))
    notes = list(pair.notes)
    if se[0] == 0:
        notes.append("all scores are the same: p = 1" if apart[0] == 0 else f"no variance in either sample: {LIMIT}")
    return TestResult(
        test="unpaired t" if equal_variance else "Welch's t",
        statistic_name="t",
        statistic=t,
        p=p,
        alternative=alternative,
        n=(n, m),
        df=(float(df[0]),),
        estimate_name="difference of means",
        estimate=float(apart[0]),
        interval=Interval(low, high, level),
        effect=effect_of_samples(pair.x, pair.y, "hedges", level),
        assumptions=check_unpaired(pair.x, pair.y, pair.measure, equal_variance=equal_variance),
        notes=tuple(notes),
        measure=pair.measure,
        systems=pair.names,
    )


# -- all pairs


@pair_test(
    "t",
    aliases=("paired-t", "student", "t-test", "paired-t-test", "ttest"),
    function=paired_t,
    statistic="t",
    source="Student, Biometrika 6(1), 1908; IR Evaluation, course notes, 2015 (13)",
)
def t_of_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    """The paired t test of every pair, on the topics both systems have."""
    out, n = np.full((4, len(first)), np.nan), np.zeros(len(first))
    same = steady = 0
    for block, difference in difference_blocks(matrix, first, second):
        n[block], mean, spread = row_moments(difference)
        enough = np.where(n[block] >= 2, n[block], np.nan)
        se = spread / np.sqrt(enough)
        same += int(((mean == 0) & (se == 0)).sum())
        steady += int(((mean != 0) & (se == 0)).sum())
        out[:, block] = t_of(mean, se, enough - 1, asked.alternative, asked.level)
    check_some(n, 2, "a paired t test")
    notes = [lacking(n, 2)] if (n < 2).any() else []
    if same:
        notes.append(f"{pairs_are(same)} the same score on every topic: p = 1")
    if steady:
        notes.append(f"{pairs_are(steady)} the same difference on every topic: {LIMIT}")
    t, p, low, high = out
    return PairTests(t, p, low, high, n.astype(np.int64), notes=tuple(notes))


@pair_test(
    "welch",
    aliases=("unpaired-t", "welch-t", "two-sample-t"),
    function=unpaired_t,
    statistic="t",
    source="Welch, Biometrika 34, 1947",
)
def welch_of_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    """Welch's t test of every pair, as if no two systems had topics in common."""
    there = ~np.isnan(matrix.values)
    count = there.sum(axis=0).astype(np.float64)
    mean, variance = np.full((2, len(count)), np.nan)
    for system in np.flatnonzero(count >= 2).tolist():
        values = matrix.values[there[:, system], system]
        mean[system], variance[system] = values.mean(), spread_of(values) ** 2
    n, m = count[first], count[second]
    check_some(np.minimum(n, m), 2, "Welch's t test")
    apart, se, df = _two_means(mean[first], mean[second], variance[first], variance[second], n, m, False)
    notes = [lacking(np.minimum(n, m), 2)] if (np.minimum(n, m) < 2).any() else []
    if there.all() and len(first):
        notes.append("the systems share their topics; a paired test would find smaller differences")
    if (se == 0).any():
        notes.append(f"{pairs_are(int((se == 0).sum()))} no variance: p = 1 if means are the same, else {LIMIT}")
    t, p, low, high = t_of(apart, se, df, asked.alternative, asked.level)
    return PairTests(t, p, low, high, np.minimum(n, m).astype(np.int64), notes=tuple(notes))


# -- shared by the tests


SAME = "the systems score the same on every topic"
LIMIT = "t is infinite and p its limit"


def t_of(mean: Array, se: Array, df: Array, alternative: str, level: float) -> tuple[Array, Array, Array, Array]:
    """t, p and the interval of a mean from its standard error; one-sided intervals are open on the other side."""
    from scipy.special import stdtr, stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((mean == 0) & (se == 0), 0.0, mean / se)
    tail = {"two-sided": -np.abs(t), "greater": -t, "less": t}[alternative]
    p = np.asarray(stdtr(df, tail)) * (2 if alternative == "two-sided" else 1)
    p = np.where(np.isinf(t), np.where(tail < 0, 0.0, 1.0), p)
    p = np.where((mean == 0) & (se == 0), 1.0, p)
    half = np.asarray(stdtrit(df, (1 + level) / 2 if alternative == "two-sided" else level)) * se
    low = np.full_like(mean, -np.inf) if alternative == "less" else mean - half
    high = np.full_like(mean, np.inf) if alternative == "greater" else mean + half
    unknown = np.isnan(t)
    return t, p, np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def check_some(n: Array, least: int, what: str) -> None:
    """At least one pair with enough topics."""
    if len(n) and n.max() < least:
        check_topics(int(n.max()), least, what)


def lacking(n: Array, least: int) -> str:
    few = int((n < least).sum())
    return f"{few:,} of {len(n):,} pairs were not tested: fewer than {least} topics in common"


def pairs_are(count: int) -> str:
    return f"{count:,} pair{' has' if count == 1 else 's have'}"


def _of_differences(d: Array, alternative: str, level: float) -> tuple[float, float, float, float]:
    n = len(d)
    mean = np.array([d.mean()]) if d.max() > d.min() else d[:1]
    se = np.array([d.std(ddof=1) / math.sqrt(n) if d.max() > d.min() else 0.0])
    t, p, low, high = t_of(mean, se, np.array([n - 1.0]), alternative, level)
    return float(t[0]), float(p[0]), float(low[0]), float(high[0])


def _two_means(
    mean_x: Array, mean_y: Array, var_x: Array, var_y: Array, n: Array, m: Array, equal_variance: bool
) -> tuple[Array, Array, Array]:
    """The difference of means, its standard error and the degrees of freedom."""
    apart = gap(mean_x, mean_y)
    if equal_variance:
        df = n + m - 2
        pooled = ((n - 1) * var_x + (m - 1) * var_y) / df
        return apart, np.sqrt(pooled * (1 / n + 1 / m)), df
    a, b = var_x / n, var_y / m
    with np.errstate(invalid="ignore", divide="ignore"):
        df = np.where(a + b > 0, (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)), n + m - 2)
    return apart, np.sqrt(a + b), df


def _degenerate(d: Array, same: str, steady: str) -> tuple[str, ...]:
    if d.max() > d.min():
        return ()
    return (f"{same}: p = 1",) if d[0] == 0 else (f"{steady}: {LIMIT}",)
