"""The assumptions of tests, and whether the data agree with them.

A failed check is a caution, not a verdict: t and F are robust if the samples are of similar size (Ferro & Maistro 2024
§4.2.5), and a check finds little with few topics and almost everything with many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.comparison.data import Matrix, all_pairs, difference_blocks, row_moments
from cranfield.comparison.test_result import Assumption
from cranfield.measures.property_tables import OF_LISTS, ScaleType, scale_of
from cranfield.notes import caution_note, method_note
from cranfield.scores.mean_intervals import FEW
from cranfield.scores.t_and_normal import normal_quantile, normal_tail
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

FEW_TOPICS = 25
"""The minimum for a comparison of two systems (Buckley & Voorhees, SIGIR 2000; Ferro & Maistro 2024 §2.3)."""
ENOUGH_TOPICS = 50
"""With this many topics, a test of all pairs that allows for skewness holds for exponential differences."""
MANY_ZEROS = 0.5
"""If two systems have the same score on more than this share of topics, the other topics decide."""
DOUBT = 0.05
"""A check fails if its p-value is below this."""
MOST_PAIRS = 20_000
"""At most this many pairs are checked, evenly spread."""
MEANS = "means"
"""What in a test usually needs an interval scale (Ferro & Maistro 2024 §7.5)."""
OF_TOPICS = f"topics: at least {FEW_TOPICS} (Buckley & Voorhees, SIGIR 2000), or over 50 (Voorhees, SIGIR 2009)"
OF_SCALES = (
    f"interval scale: equal differences of scores mean the same everywhere, {OF_LISTS} "
    "(Ferro & Maistro, Evaluation of IR Systems, 2024, §7.5–7.8)"
)


def check_paired(
    difference: Array, measure: Any = None, *, normal: bool = True, needs: str | None = MEANS
) -> tuple[Assumption, ...]:
    """Check the differences of matched samples: number of topics, zeros, normality, and the scale of the measure.

    `needs` is what in the test needs an interval scale; None if nothing does.

    >>> for assumption in check_paired(np.array([0.1, 0.2, 0.0, 0.3, -0.1])): print(assumption.name, assumption.holds)
    topics False
    zeros True
    normality True
    """
    zeros = int((difference == 0).sum())
    says = f"the systems have the same score on {zeros} of {len(difference)} topics"
    checks = [few_topics(len(difference)), Assumption("zeros", zeros <= MANY_ZEROS * len(difference), says)]
    if normal:
        checks.append(normality(difference, "differences"))
    return (*checks, *_scale(measure, needs))


def check_unpaired(
    x: Array,
    y: Array,
    measure: Any = None,
    *,
    normal: bool = True,
    equal_variance: bool = False,
    needs: str | None = MEANS,
) -> tuple[Assumption, ...]:
    """Check independent samples: number of topics, normality of each, equal variance, and the scale of the measure."""
    checks = [few_topics(min(len(x), len(y)))]
    if normal:
        checks += [normality(x, "scores of the first sample"), normality(y, "scores of the second sample")]
    if equal_variance:
        checks.append(same_variance(x, y))
    return (*checks, *_scale(measure, needs))


def check_sample(x: Array, measure: Any = None) -> tuple[Assumption, ...]:
    """Check one sample whose mean is tested."""
    return (few_topics(len(x)), normality(x, "scores"), *_scale(measure, MEANS))


def check_matrices(
    parts: Sequence[tuple[Matrix, Index64, Index64]],
    *,
    normal: bool = True,
    needs: str | None = MEANS,
    pooled: bool = False,
    corrected: bool = False,
    skewed: bool = False,
    intervals: bool = False,
) -> tuple[Assumption, ...]:
    """`check_paired` for many pairs of one or several measures: in how many of them does each check fail?

    `parts` are scores with the pairs to compare. Each assumption is stated once for all measures. `pooled`: the test
    gives all pairs the same error. `corrected`: p-values under a normal distribution are corrected for many pairs.
    `skewed`: the test of all pairs together is in doubt if many of them are skewed, and topics few. `intervals`: the
    intervals of differences are in doubt if few topics differ.
    """
    zeros, not_normal, rare = _Failures(), _Failures(), 0
    for matrix, first, second in parts:
        taken = np.unique(np.linspace(0, len(first) - 1, min(len(first), MOST_PAIRS)).astype(np.int64))
        same = doubtful = decided = 0
        for _, difference in difference_blocks(matrix, first[taken], second[taken]):
            defined = (~np.isnan(difference)).sum(axis=1)
            equal = (difference == 0).sum(axis=1)
            same += int((equal > MANY_ZEROS * defined).sum())
            rare += int(((equal < defined) & (defined - equal < np.minimum(FEW, defined))).sum())
            if normal:
                p = shapiro_wilk(difference)[1]
                decided += int((~np.isnan(p)).sum())
                doubtful += int((p < DOUBT).sum())
        zeros.add(matrix.measure, same, len(taken), same > 0)
        # Chance alone explains this many failures.
        by_chance = DOUBT * decided + 3 * (DOUBT * (1 - DOUBT) * decided) ** 0.5
        not_normal.add(matrix.measure, doubtful, decided, doubtful > by_chance)
    checks = [few_topics(min(len(matrix.topics) for matrix, _, _ in parts)), _zeros(zeros)]
    if rare and intervals:
        where = "" if zeros.pairs == 1 else f"in {rare:,} of {zeros.pairs:,} pairs "
        says = f"{where}the systems differ on fewer than {FEW} topics, so the interval of the difference is too short"
        checks.append(Assumption("changes", False, f"{says}; max-t allows for it"))
    if not_normal.pairs:
        checks.append(_normality(not_normal, corrected))
    if pooled:
        checks += [check for check in map(_same_variances, *zip(*parts, strict=True)) if check is not None]
    if skewed:
        checks += [check for check in map(_symmetric, *zip(*parts, strict=True)) if check is not None]
    known = [matrix.measure for matrix, _, _ in parts if matrix.measure != "score"]
    return (*checks, *_scales(known, needs))


@dataclass
class _Failures:
    """How many pairs fail a check, and by which measures too many do."""

    count: int = 0
    pairs: int = 0
    measures: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    def add(self, measure: str, count: int, pairs: int, fails: bool) -> None:
        self.count += count
        self.pairs += pairs
        self.checked.append(measure)
        self.measures += [measure] * fails

    @property
    def where(self) -> str:
        """in 3 of 6 pairs; empty if there is only one pair."""
        return "" if self.pairs == 1 else f"in {self.count:,} of {self.pairs:,} pairs "

    @property
    def by(self) -> str:
        """The measures that fail, if others do not."""
        return f", by {listed(dict.fromkeys(self.measures))}" if len(self.measures) < len(self.checked) else ""


def _zeros(failures: _Failures) -> Assumption:
    if not failures.count:
        where = "" if failures.pairs == 1 else f"in each of {failures.pairs:,} pairs "
        return Assumption("zeros", True, f"{where}the systems have different scores on half of the topics or more")
    says = f"{failures.where}the systems have the same score on more than half of the topics{failures.by}"
    return Assumption("zeros", False, says)


def _normality(failures: _Failures, corrected: bool) -> Assumption:
    holds = not failures.measures
    if failures.pairs == 1:
        verdict = "may well be normal" if holds else "do not look normal"
        rough = "" if holds else "; with few topics, the interval may be too short"
        return Assumption(
            "normality", holds, f"differences {verdict} (Shapiro–Wilk, p {'≥' if holds else '<'} {DOUBT:g}){rough}"
        )
    chance = f"by chance alone, {DOUBT * failures.pairs:.0f} would"
    if holds:
        share = f"{failures.count:,} of {failures.pairs:,} pairs have p < {DOUBT:g}; {chance}"
        return Assumption("normality", True, f"differences may well be normal (Shapiro–Wilk: {share})")
    how = f"(Shapiro–Wilk, p < {DOUBT:g}; {chance})"
    # A correction needs p-values far out in the tails, where skewed differences of few topics depart most from t.
    instead = (
        "; corrected p-values may then be too small with few topics; max-t allows for some skewness"
        if corrected
        else ""
    )
    says = f"differences do not look normal {failures.where}{how}{failures.by}{instead}"
    return Assumption("normality", False, says)


def pooled_cautions(matrix: Matrix) -> list[str]:
    """A caution if the differences of some pairs of systems vary more than a test with one error for all can allow."""
    check = _same_variances(matrix, *all_pairs(len(matrix.systems)))
    return [] if check is None or check.holds is not False else [caution_note(f"caution: {check.says}")]


def _symmetric(matrix: Matrix, first: Index64, second: Index64) -> Assumption | None:
    """Are the differences of more pairs skewed than chance explains? None with 50 topics or more.

    The standard error is that of the skewness of normal differences (Fisher, Proc. Royal Society A 130, 1930).
    """
    taken = np.unique(np.linspace(0, len(first) - 1, min(len(first), MOST_PAIRS)).astype(np.int64))
    skewed = 0
    for _, difference in difference_blocks(matrix, first[taken], second[taken]):
        n, mean, spread = row_moments(difference)
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = np.nan_to_num(difference - mean[:, None]) / (spread * np.sqrt((n - 1) / n))[:, None]
            skewness = np.where(spread > 0, (deviation**3).sum(axis=1) / n, 0.0)
            error = np.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
        skewed += int((np.abs(skewness) > 1.96 * error).sum())
    by_chance = DOUBT * len(taken) + 3 * (DOUBT * (1 - DOUBT) * len(taken)) ** 0.5
    if matrix.n >= ENOUGH_TOPICS or len(first) < 2:
        return None
    if skewed <= by_chance:
        return Assumption("symmetry", True, f"{matrix.measure}: differences may well be symmetric")
    says = (
        f"{matrix.measure}: differences are skewed in {skewed:,} of {len(taken):,} pairs; with fewer than "
        f"{ENOUGH_TOPICS} topics even max-t then finds too many of them, so p just below α is no evidence"
    )
    return Assumption("symmetry", False, says)


def _same_variances(matrix: Matrix, first: Index64, second: Index64) -> Assumption | None:
    """Do the differences of all pairs have the variance that a pooled error gives them? None for two systems.

    By chance, the largest ratio of a variance to the pooled one exceeds this quantile of F with probability `DOUBT` at
    most, if differences are normal.
    """
    from scipy.special import fdtri

    values = matrix.values[~np.isnan(matrix.values).any(axis=1)]
    n, m = values.shape
    if m < 3 or n < 3:
        return None
    rest = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    pooled = 2 * float((rest**2).sum()) / ((n - 1) * (m - 1))
    if pooled <= 1e-24 * float((values**2).max()):
        return None
    cross = np.cov(values, rowvar=False)
    own = np.diag(cross)
    ratio = (own[first] + own[second] - 2 * cross[first, second]) / pooled
    limit = float(fdtri(n - 1, (n - 1) * (m - 1), 1 - DOUBT / len(first)))
    larger = int((ratio > limit).sum())
    if not larger:
        return Assumption("equal variance", True, f"{matrix.measure}: pairs may well have the same variance")
    says = (
        f"{matrix.measure}: in {larger:,} of {len(first):,} pairs differences vary more than a pooled error allows, up "
        f"to {ratio.max():.1f} times its variance; these are found too often: use max-t, which has an error per pair"
    )
    return Assumption("equal variance", False, says)


def few_topics(n: int) -> Assumption:
    """Are there enough topics to compare systems?

    >>> few_topics(10).holds, few_topics(50).says
    (False, '50 topics; the minimum is 25')
    """
    if n >= FEW_TOPICS:
        return Assumption("topics", True, f"{n} topics; the minimum is {FEW_TOPICS}")
    minimum = f"the minimum is {FEW_TOPICS}, and {ENOUGH_TOPICS} may not be enough"
    return Assumption("topics", False, f"{counted(n, 'topic is', 'topics are')} few: {minimum}", OF_TOPICS)


def normality(x: Array, noun: str = "scores") -> Assumption:
    """Shapiro and Wilk's test; undecided for fewer than 3 or more than 5,000 values, and if all are the same."""
    w, p = (float(part[0]) for part in shapiro_wilk(np.asarray(x, dtype=np.float64)[None, :]))
    if np.isnan(p):
        why = f"there are {len(x)}" if not FEWEST <= len(x) <= MOST else "all are the same"
        return Assumption("normality", None, f"cannot decide whether {noun} are normal: {why}")
    verdict = "do not look normal" if p < DOUBT else "may well be normal"
    return Assumption("normality", p >= DOUBT, f"{noun} {verdict} (Shapiro–Wilk W = {w:.3f}, p = {p:.4f})")


def same_variance(x: Array, y: Array) -> Assumption:
    """Brown and Forsythe's test: Levene's with deviations from the median (JASA 69(346), 1974)."""
    from scipy.special import fdtrc

    n, m = len(x), len(y)
    undecided = "cannot decide whether variances are equal"
    if n < 2 or m < 2:
        return Assumption("equal variance", None, f"{undecided}: fewer than 2 scores")
    a, b = np.abs(x - np.median(x)), np.abs(y - np.median(y))
    within = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    between = n * m / (n + m) * float(a.mean() - b.mean()) ** 2
    if within <= 1e-24 * float((x**2).sum() + (y**2).sum()):
        return Assumption("equal variance", None, f"{undecided}: the deviations do not vary")
    f = between / (within / (n + m - 2))
    p = float(fdtrc(1, n + m - 2, f))
    verdict = "differ" if p < DOUBT else "may well be equal"
    return Assumption("equal variance", p >= DOUBT, f"variances {verdict} (Brown–Forsythe F = {f:.3f}, p = {p:.4f})")


def interval_scale(measure: Any, needs: str = MEANS) -> Assumption:
    """Is the measure on an interval scale, as tests that use means need (Ferro & Maistro 2024 §7.5)?

    The verdict is that of `measures.property_tables.scale_of`. It does not hold if it depends on conditions that are
    not known, such as equally many relevant documents of all topics.

    >>> interval_scale("AP").holds, interval_scale("P@10").holds, interval_scale("score").holds
    (False, True, None)
    >>> interval_scale("RBP(p=0.5)").holds, interval_scale("RBP").holds
    (True, False)
    """
    return _scales([measure], needs)[0]


def _scales(measures: Sequence[Any], needs: str | None) -> tuple[Assumption, ...]:
    """The checks of the scales, if the test needs one and the measures are known: one for all that are alike."""
    if needs is None:
        return ()
    by_verdict: dict[ScaleType, dict[str, None]] = {}
    for measure in measures:
        by_verdict.setdefault(scale_of(measure), {})[str(measure() if isinstance(measure, type) else measure)] = None
    assumptions = []
    for scale, names in by_verdict.items():
        are = f"{listed(names, most=10)} {'is' if len(names) == 1 else 'are'}"
        if scale.holds is False:
            says = f"{needs} need an interval scale; {are} {scale.lacking}"
            assumptions.append(Assumption("scale", False, says, OF_SCALES))
        else:
            assumptions.append(Assumption("scale", scale.holds, f"{are} {scale.verdict}"))
    return tuple(assumptions)


def scale_cautions(measure: str) -> list[str]:
    """A caution if a method that uses means needs an interval scale and the measure is not known to be on one."""
    return cautions_of(_scale(measure, MEANS))


def cautions_of(assumptions: Iterable[Assumption], share: str = "") -> list[str]:
    """A caution for each assumption that does not hold; why it matters is a note for those who ask for more.

    >>> cautions_of([interval_scale("AP"), few_topics(30)])[0]
    'caution: means need an interval scale; AP is not on one'
    """
    failed = [assumption for assumption in assumptions if assumption.holds is False]
    sources = dict.fromkeys(assumption.source for assumption in failed if assumption.source)
    return [*(caution_note(f"caution: {each.says}{share}") for each in failed), *map(method_note, sources)]


def geometric_cautions(measures: Sequence[Any]) -> list[str]:
    """A caution about geometric means of measures that are not on a ratio scale (Ferro & Maistro 2024 §7.4, §7.6).

    >>> geometric_cautions(["AP"])[0].partition(";")[0]
    'caution: AP is not on a ratio scale'
    """
    names = [str(measure) for measure in measures if scale_of(measure).kind not in ("ratio", "unknown")]
    if not names:
        return []
    verb = "is" if len(names) == 1 else "are"
    why = "a geometric mean needs one (Ferro & Maistro, Evaluation of IR Systems, 2024, §7.4 and §7.6)"
    return [caution_note(f"caution: {listed(names, most=10)} {verb} not on a ratio scale; {why}")]


def _scale(measure: Any, needs: str | None) -> tuple[Assumption, ...]:
    """The check of the scale, if the test needs one and the measure is known."""
    return () if measure is None or measure == "score" else _scales([measure], needs)


FEWEST, MOST = 3, 5000
"""The sample sizes for which Royston's approximation holds."""


def shapiro_wilk(rows: Array) -> tuple[Array, Array]:
    r"""W and its p-value for each row of samples × entries.

    .. math:: W = \frac{(\sum a_i x_{(i)})^2}{\sum (x_i - \bar x)^2}

    with Royston's weights and normalising transformations. NaN entries are left out. The result is NaN for a row with
    fewer than 3 or more than 5,000 entries, or with equal entries only.
    Reference: Royston, Remark AS R94, J. Royal Statistical Society C 44(4), 1995

    >>> w, p = shapiro_wilk(np.array([[0.1, 0.2, 0.25, 0.3, 0.9]]))
    >>> w.round(4).item(), p.round(4).item()
    (0.7724, 0.0474)
    """
    ordered = np.sort(rows, axis=1)  # NaN last
    n = (~np.isnan(rows)).sum(axis=1)
    w, p = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    for size in np.unique(n[(n >= FEWEST) & (n <= MOST)]).tolist():
        rows_of_size = np.flatnonzero(n == size)
        x = ordered[rows_of_size, :size]
        equal = x[:, -1] - x[:, 0] <= 1e-12 * np.abs(x[:, [0, -1]]).max(axis=1)
        rows_of_size, x = rows_of_size[~equal], x[~equal]
        deviation = x - x.mean(axis=1, keepdims=True)
        w[rows_of_size] = np.minimum((deviation @ _weights(size)) ** 2 / (deviation**2).sum(axis=1), 1.0)
        p[rows_of_size] = _p(w[rows_of_size], size)
    return w, p


@lru_cache(maxsize=64)  # they cost more than the rest of a test
def _weights(n: int) -> Array:
    """The weight of each order statistic; antisymmetric, with norm 1."""
    if n == 3:
        return np.array([-math.sqrt(0.5), 0.0, math.sqrt(0.5)])
    m = -normal_quantile((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    square = float(m @ m)
    u = 1 / math.sqrt(n)
    last = np.polyval([-2.706056, 4.434685, -2.071190, -0.147981, 0.221157, m[-1] / math.sqrt(square)], u)
    a = np.empty(n)
    if n <= 5:
        a[1:-1] = m[1:-1] / math.sqrt((square - 2 * m[-1] ** 2) / (1 - 2 * last**2))
    else:
        next_last = np.polyval([-3.582633, 5.682633, -1.752461, -0.293762, 0.042981, m[-2] / math.sqrt(square)], u)
        left = (square - 2 * m[-1] ** 2 - 2 * m[-2] ** 2) / (1 - 2 * last**2 - 2 * next_last**2)
        a[2:-2] = m[2:-2] / math.sqrt(left)
        a[-2], a[1] = next_last, -next_last
    a[-1], a[0] = last, -last
    a.flags.writeable = False  # it is kept
    return a


def _p(w: Array, n: int) -> Array:
    if n == 3:
        exact = 6 / math.pi * (np.arcsin(np.sqrt(w)) - math.asin(math.sqrt(0.75)))
        return np.clip(exact, 0.0, 1.0)
    with np.errstate(divide="ignore"):  # W = 1: p = 1
        y = np.log1p(-w)
    if n <= 11:
        gamma = -2.273 + 0.459 * n
        beyond = y >= gamma
        y = -np.log(gamma - np.where(beyond, gamma - 1, y))
        mean = np.polyval([-0.0006714, 0.025054, -0.39978, 0.5440], n)
        spread = math.exp(np.polyval([-0.0020322, 0.062767, -0.77857, 1.3822], n))
        return np.where(beyond, 1e-19, normal_tail((y - mean) / spread))
    log_n = math.log(n)
    mean = np.polyval([0.0038915, -0.083751, -0.31082, -1.5861], log_n)
    spread = math.exp(np.polyval([0.0030302, -0.082676, -0.4803], log_n))
    return np.asarray(normal_tail((y - mean) / spread))
