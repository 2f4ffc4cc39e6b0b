"""Tests on ranks or signs: Wilcoxon's signed-rank and rank-sum tests, and the sign test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.assumptions import check_paired, check_unpaired
from cranfield.comparison.data import (
    Matrix,
    check_common_topics,
    difference_blocks,
    differences,
    noise,
    noise_of_pairs,
    paired,
    unpaired,
)
from cranfield.comparison.distributions import (
    mean_ranks,
    normal_p,
    rank_sum_tails,
    sign_p,
    signed_rank_tails,
    signed_ranks,
    tail,
    zero_ranks,
)
from cranfield.comparison.effects import effect_of_samples
from cranfield.comparison.methods.t import same_scores_note
from cranfield.comparison.pair_tests import PairTests, TestSettings, pair_test
from cranfield.comparison.test_result import Effect, Interval, TestResult, check_settings
from cranfield.notes import method_note
from cranfield.text import counted
from cranfield.types import Array, Index64

RANKS_DIFFERENCES = "ranks of differences"
"""What in the signed-rank test needs an interval scale: differences must be evenly spaced to be ranked."""
SAME = "the systems have the same score on every topic"
ZEROS = ("wilcox", "pratt", "zsplit")
_OF_ZEROS = {"wilcox": "left out", "pratt": "ranked, then left out", "zsplit": "ranked, half of each sign"}
METHODS = ("auto", "exact", "normal")
TIES = ("drop", "split")

MOST_EXACT = 100
"""Up to this many differences other than 0 (or scores of both samples together), p is exact."""
MOST_PATTERNS = 10_000
"""In tests of all pairs, p is exact for at most this many patterns of ties."""


def wilcoxon(
    x: Any,
    y: Any = None,
    *,
    zeros: str = "wilcox",
    method: str = "auto",
    continuity: float = 1.0,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> TestResult:
    r"""Wilcoxon's signed-rank test: are the differences symmetric about 0?

    .. math:: W = \sum_i \operatorname{sgn}(d_i)\, r_i, \qquad z = \frac{|W| - c}{\sqrt{\sum_i r_i^2}}

    r are the ranks of the absolute differences; ties share their mean rank. Without ties the sum of squares is
    n(n+1)(2n+1)/6, (16). `zeros`: differences of 0 are left out ("wilcox"), ranked and then left out ("pratt"), or
    ranked, with half of their ranks for each sign ("zsplit"), so that W stays as it is but its variance includes them.
    `method`: "exact" counts all 2ⁿ signs, with or without ties; "normal" uses z; "auto" is exact up to 100 differences.
    `continuity` is c: 1 is half the step of W, as in R; IR Evaluation, course notes, 2015 (17) uses 0.5.

    The sign of W says which system is higher. It is a test of the mean, and of the median, only if the differences are
    symmetric: otherwise many small losses can outweigh one large gain that decides the mean, so that W and the mean
    have opposite signs. It ranks differences, so it needs scores on an interval scale, as the t test does; the sign
    test and the rank-sum test need only an order (Ferro & Maistro 2024 §7.5). The estimate is the median of the means
    of any two differences. The effect is the share of ranks in favour of x minus the share in favour of y.
    References: Wilcoxon, Biometrics Bulletin 1(6), 1945; Pratt, JASA 54(287), 1959

    The depression scores of Hollander & Wolfe (R's `wilcox.test`: V = 40, p = 0.01953); W is V minus the other sum, 5:

    >>> before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    >>> after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    >>> result = wilcoxon(before, after, alternative="greater")
    >>> result.statistic, round(result.p, 5), result.exact
    (35.0, 0.01953, True)
    """
    check_settings("wilcoxon", alternative, level)
    _check_wilcoxon(zeros, method, continuity)
    pair = paired(x, y, systems=systems, measure=measure)
    d = differences(pair.x, pair.y)
    ranks = signed_ranks(d[None, :], zeros, noise(pair.x, pair.y))[0]
    used = ranks[ranks != 0]
    w, total = float(used.sum()), float(np.abs(used).sum())
    sizes = np.abs(ranks) + zero_ranks(d[None, :], zeros)[0]
    sizes = sizes[sizes > 0]
    exact = method == "exact" or (method == "auto" and len(sizes) <= MOST_EXACT)
    if exact:
        below, above = signed_rank_tails(sizes, (w + float(sizes.sum())) / 2)
        p = float(tail(below, above, alternative)) if len(used) else 1.0
    else:
        p = float(normal_p(np.array([w]), np.sqrt([(sizes**2).sum()]), alternative, continuity)[0])
        p = p if len(used) else 1.0
    notes = []
    if len(used) == 0:
        notes.append(f"{SAME}: p = 1")
    elif len(used) < len(d):
        notes.append(method_note(f"{len(d) - len(used)} of {len(d)} differences are 0 and were {_OF_ZEROS[zeros]}"))
    share = w / total if total else 0.0
    estimate, interval = _pseudomedian(d, alternative, level)
    return TestResult(
        test="Wilcoxon signed-rank",
        statistic_name="W",
        statistic=w,
        p=p,
        alternative=alternative,
        n=(len(d),),
        estimate_name="pseudomedian of differences",
        estimate=estimate,
        interval=interval,
        effect=Effect("rank-biserial r", share, level=level),
        exact=exact,
        assumptions=check_paired(d, pair.measure, normal=False, needs=RANKS_DIFFERENCES),
        **pair.facts(*notes),
    )


def sign_test(
    x: Any,
    y: Any = None,
    *,
    margin: float = 0.0,
    ties: str = "drop",
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> TestResult:
    r"""Is one system better on more topics than chance explains (Ferro & Maistro 2024 §4)?

    .. math:: p = \Pr\big(B \ge \max(w, l)\big) \cdot 2, \qquad B \sim \mathrm{Bin}(w + l, 1/2)

    x has w wins and l losses. Differences up to `margin` are ties. `ties`: they are left out ("drop"), or half of them
    count as wins and half as losses ("split"; an odd one is left out). The test assumes independent topics and scores
    on an ordinal scale. The estimate is the share of wins, with Clopper and Pearson's interval. The effect is
    (w − l)/(w + l + ties).
    Reference: Dixon & Mood, The Statistical Sign Test, JASA 41(236), 1946

    >>> result = sign_test([0.4, 0.5, 0.6, 0.7, 0.8, 0.3], [0.3, 0.4, 0.5, 0.6, 0.7, 0.3])
    >>> result.statistic, result.p  # 5 wins of 5: 2 / 2**5
    (5.0, 0.0625)
    """
    check_settings("sign_test", alternative, level)
    _check_margin("sign_test", margin)
    check.one_of("sign_test", TIES, ties=ties)
    pair = paired(x, y, systems=systems, measure=measure)
    d = differences(pair.x, pair.y)
    within = widened(margin)
    wins, losses = int((d > within).sum()), int((d < -within).sum())
    tied = len(d) - wins - losses
    effect = Effect("wins − losses, share", (wins - losses) / len(d), level=level)
    notes = [f"{wins} wins, {tied} ties, {losses} losses"]
    if ties == "split":
        wins, losses = wins + tied // 2, losses + tied // 2
    n = wins + losses
    if n == 0:
        notes.append(f"{SAME if margin == 0 else f'the systems are within {margin:g} on every topic'}: p = 1")
    p = float(sign_p(np.array([wins]), np.array([losses]), alternative)[0])
    return TestResult(
        test="sign",
        statistic_name="wins",
        statistic=float(wins),
        p=p,
        alternative=alternative,
        n=(len(d),),
        estimate_name="share of wins" if n else "",
        estimate=wins / n if n else math.nan,
        interval=_clopper_pearson(wins, n, alternative, level) if n else None,
        effect=effect,
        exact=True,
        assumptions=check_paired(d, pair.measure, normal=False, needs=None),
        **pair.facts(*notes),
    )


def rank_sum(
    x: Any,
    y: Any = None,
    *,
    method: str = "auto",
    continuity: float = 0.5,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> TestResult:
    r"""Wilcoxon's rank-sum test, or Mann and Whitney's U: does one of two independent samples have larger scores?

    .. math:: U = \#\{x_i > y_j\} + \tfrac12 \#\{x_i = y_j\}

    `method`: "exact" counts all ways to choose the ranks of x, with or without ties; "normal" uses z with a variance
    corrected for ties and `continuity`; "auto" is exact up to 100 scores in total. The test assumes scores on an
    ordinal scale and, as a test of medians, distributions of the same shape. The estimate is the median of all
    differences x_i − y_j. The effect is Cliff's δ = 2U/(n_x n_y) − 1.
    Reference: Mann & Whitney, Annals of Mathematical Statistics 18(1), 1947

    Permeability constants from Hollander & Wolfe (R's `wilcox.test`: W = 35, p = 0.1272):

    >>> term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    >>> result = rank_sum(term, [1.15, 0.88, 0.90, 0.74, 1.21], alternative="greater")
    >>> result.statistic, round(result.p, 4)
    (35.0, 0.1272)
    """
    check_settings("rank_sum", alternative, level)
    check.one_of("rank_sum", METHODS, method=method)
    check.not_negative("rank_sum", continuity=continuity)
    pair = unpaired(x, y, systems=systems, measure=measure)
    n, m = len(pair.x), len(pair.y)
    together = np.concatenate([pair.x, pair.y])
    ranks = mean_ranks(together[None, :], noise(together))[0]
    total = float(ranks[:n].sum())
    u = total - n * (n + 1) / 2
    exact = method == "exact" or (method == "auto" and n + m <= MOST_EXACT)
    notes = []
    if ranks.max() == ranks.min():
        p = 1.0
        notes.append("all scores are the same: p = 1")
    elif exact:
        below, above = rank_sum_tails(ranks, n, total)
        p = float(tail(below, above, alternative))
    else:
        spread = math.sqrt(n * m / ((n + m) * (n + m - 1)) * float(((ranks - ranks.mean()) ** 2).sum()))
        p = float(normal_p(np.array([u - n * m / 2]), np.array([spread]), alternative, continuity)[0])
    estimate, interval = _shift(pair.x, pair.y, alternative, level)
    return TestResult(
        test="Wilcoxon rank-sum",
        statistic_name="U",
        statistic=u,
        p=p,
        alternative=alternative,
        n=(n, m),
        estimate_name="median of differences",
        estimate=estimate,
        interval=interval,
        effect=effect_of_samples(pair.x, pair.y, "cliff", level) if min(n, m) > 1 else None,
        exact=exact,
        assumptions=check_unpaired(pair.x, pair.y, pair.measure, normal=False, needs=None),
        **pair.facts(*notes),
    )


# -- all pairs


@pair_test(
    "wilcoxon",
    aliases=("signed-rank", "wilcoxon-signed-rank", "signed-ranks"),
    function=wilcoxon,
    statistic="W",
    settings=("zeros", "method", "continuity"),
    needs=RANKS_DIFFERENCES,
    source="Wilcoxon, Biometrics Bulletin 1(6), 1945; IR Evaluation, course notes, 2015 (14)-(17)",
)
def wilcoxon_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """Wilcoxon's signed-rank test of every pair, without intervals."""
    zeros, method, continuity = settings.zeros, settings.method, settings.continuity
    _check_wilcoxon(zeros, method, continuity)
    w, p, n, counts = (np.zeros(len(first)) for _ in range(4))
    some_zeros = False
    close = noise_of_pairs(matrix, first, second)
    patterns: dict[bytes, list[int]] = {}  # pairs with the same ranks share a distribution
    for block, difference in difference_blocks(matrix, first, second):
        n[block] = (~np.isnan(difference)).sum(axis=1)
        ranks = signed_ranks(difference, zeros, close[block])
        some_zeros = some_zeros or (zeros != "wilcox" and bool((difference == 0).any()))
        w[block] = ranks.sum(axis=1)
        counts[block] = (ranks != 0).sum(axis=1)
        sizes = np.abs(ranks) + zero_ranks(difference, zeros)
        p[block] = normal_p(w[block], np.sqrt((sizes**2).sum(axis=1)), settings.alternative, continuity)
        p[block][counts[block] == 0] = 1.0
        if method == "normal":
            continue
        used = (sizes > 0).sum(axis=1)
        small = np.flatnonzero((counts[block] > 0) & ((used <= MOST_EXACT) | (method == "exact")))
        kept = np.sort(sizes[small], axis=1)[:, -max(MOST_EXACT, int(used[small].max(initial=0))) :]
        for row, size in zip((small + block.start).tolist(), kept, strict=True):
            key = size.tobytes()
            if key in patterns or len(patterns) < MOST_PATTERNS or method == "exact":
                patterns.setdefault(key, []).append(row)
    exactly = sum(map(len, patterns.values()))
    for key, rows in patterns.items():
        used = np.frombuffer(key)
        used = used[used > 0]
        below, above = signed_rank_tails(used, (w[rows] + used.sum()) / 2)
        p[rows] = tail(below, above, settings.alternative)
    notes = [*check_common_topics(n, 1, "Wilcoxon's test"), *same_scores_note(int(((counts == 0) & (n > 0)).sum()))]
    exact = exactly + int((counts == 0).sum()) == len(first)
    if not exact:
        corrected = "" if continuity == 1 else f", with a continuity correction of {continuity:g}"
        how = f"the normal approximation{corrected}"
        exact_part = f"{exactly:,} of {len(first):,} p-values are exact, the others use"
        notes.insert(0, f"p-values use {how}" if method == "normal" else f"{exact_part} {how}")
    if some_zeros:
        notes.append(method_note(f"differences of 0 were {_OF_ZEROS[zeros]}"))
    return _without_interval(w, p, n, exact, notes, w)


@pair_test(
    "sign",
    aliases=("sign-test", "signs"),
    function=sign_test,
    statistic="wins",
    settings=("margin",),
    needs=None,
    source="Dixon & Mood, JASA 41(236), 1946",
)
def sign_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """The sign test of every pair, without ties."""
    _check_margin("sign", settings.margin)
    within = widened(settings.margin)
    wins, losses, n = (np.zeros(len(first)) for _ in range(3))
    for block, difference in difference_blocks(matrix, first, second):
        wins[block], losses[block] = (difference > within).sum(axis=1), (difference < -within).sum(axis=1)
        n[block] = (~np.isnan(difference)).sum(axis=1)
    tied = int(((wins + losses == 0) & (n > 0)).sum())
    notes = [*check_common_topics(n, 1, "a sign test")]
    if not settings.margin:
        notes += same_scores_note(tied)
    else:
        notes.append(method_note(f"differences up to {settings.margin:g} count as ties, in wins and losses too"))
        if tied:
            notes.append(f"no difference is above {settings.margin:g} in {counted(tied, 'pair')}: p = 1")
    return _without_interval(wins, sign_p(wins, losses, settings.alternative), n, True, notes, wins - losses)


def widened(margin: float) -> float:
    """A margin that includes its own edge in spite of rounding: 0.35 − 0.3 is within 0.05."""
    return margin * (1 + 1e-12)


def _check_margin(caller: str, margin: float) -> None:
    check.finite(caller, margin=margin)
    check.not_negative(caller, margin=margin)


def _check_wilcoxon(zeros: str, method: str, continuity: float) -> None:
    check.one_of("wilcoxon", ZEROS, zeros=zeros)
    check.one_of("wilcoxon", METHODS, method=method)
    check.finite("wilcoxon", continuity=continuity)
    check.not_negative("wilcoxon", continuity=continuity)


def _without_interval(
    statistic: Array, p: Array, n: Array, exact: bool, notes: list[str], direction: Array
) -> PairTests:
    statistic, p = (np.where(n < 1, np.nan, values) for values in (statistic, p))
    none, topics = np.full(len(n), np.nan), n.astype(np.int64)
    return PairTests(statistic, p, none, none.copy(), topics, exact=exact, notes=tuple(notes), direction=direction)


# -- estimates and their intervals


_MOST_MEANS = 4_000_000
"""No estimate is computed from more means, or differences, of two scores than this."""


def _pseudomedian(d: Array, alternative: str, level: float) -> tuple[float, Interval | None]:
    """The median of the means of every two differences, and the interval that matches the test."""
    n = len(d)
    if n * (n + 1) // 2 > _MOST_MEANS:
        return math.nan, None
    i, j = np.triu_indices(n)
    ranks = np.arange(1.0, n + 1) if n <= MOST_EXACT else None
    below = None if ranks is None else lambda k: float(signed_rank_tails(ranks, k)[0])
    return _between((d[i] + d[j]) / 2, below, math.sqrt(n * (n + 1) * (2 * n + 1) / 24), alternative, level)


def _shift(x: Array, y: Array, alternative: str, level: float) -> tuple[float, Interval | None]:
    """The median of all differences between the samples, and the interval that matches the test."""
    n, m = len(x), len(y)
    if n * m > _MOST_MEANS:
        return math.nan, None
    ranks, least = np.arange(1.0, n + m + 1), n * (n + 1) / 2
    below = (lambda k: float(rank_sum_tails(ranks, n, k + least)[0])) if n + m <= MOST_EXACT else None
    return _between(np.subtract.outer(x, y).ravel(), below, math.sqrt(n * m * (n + m + 1) / 12), alternative, level)


def _between(
    values: Array, below: Callable[[float], float] | None, spread: float, alternative: str, level: float
) -> tuple[float, Interval]:
    """The median, and the order statistics that have at least the level of confidence between them.

    `below` is the exact lower tail of the statistic; without it, the tail is normal with the deviation `spread`.
    """
    from scipy.special import ndtr

    ordered = np.sort(values)
    tail_of = below or (lambda k: float(ndtr((k + 0.5 - len(ordered) / 2) / spread)))
    low, high = 0, len(ordered)
    while low < high:  # the first count whose lower tail exceeds the error
        middle = (low + high) // 2
        low, high = (low, middle) if tail_of(middle) > _outside(alternative, level) else (middle + 1, high)
    # If there are very few scores, only the whole line has this level.
    start = -math.inf if low == 0 or alternative == "less" else float(ordered[low - 1])
    end = math.inf if low == 0 or alternative == "greater" else float(ordered[len(ordered) - low])
    return float(np.median(ordered)), Interval(start, end, level, "ranks")


def _outside(alternative: str, level: float) -> float:
    """The probability beyond each end of an interval."""
    return (1 - level) / (2 if alternative == "two-sided" else 1)


def _clopper_pearson(wins: int, n: int, alternative: str, level: float) -> Interval:
    from scipy.special import betaincinv

    outside = _outside(alternative, level)
    low = 0.0 if wins == 0 or alternative == "less" else float(betaincinv(wins, n - wins + 1, outside))
    high = 1.0 if wins == n or alternative == "greater" else float(betaincinv(wins + 1, n - wins, 1 - outside))
    return Interval(low, high, level, "Clopper–Pearson")
