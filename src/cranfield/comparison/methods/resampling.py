"""Resampling tests of paired scores: the studentised bootstrap and the randomisation test, for one pair and for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.comparison.assumptions import check_paired
from cranfield.comparison.data import Matrix, Pair, check_topics, paired
from cranfield.comparison.differences import differences
from cranfield.comparison.effects import paired_effect
from cranfield.comparison.methods.randomised_tukey import RandomisedTukey, randomised_tukey, randomized_tukey
from cranfield.comparison.methods.resamples import (
    TIE,
    Gathered,
    Group,
    Moments,
    check_resampling,
    ends,
    groups_of,
    moments_of,
    one_pair,
    p_of,
    rank_of_critical,
    resample,
    threads_of,
)
from cranfield.comparison.methods.t import check_some, lacking, t_of
from cranfield.comparison.methods.two_samples import permutation, unpaired_bootstrap
from cranfield.comparison.registry import PairTests, TestSettings, pair_test
from cranfield.comparison.test_result import Interval, TestResult, check_alpha, check_alternative
from cranfield.types import Array, Index64, Progress

__all__ = [
    "RandomisedTukey",
    "paired_bootstrap",
    "permutation",
    "randomisation",
    "randomised_tukey",
    "randomization",
    "randomized_tukey",
    "unpaired_bootstrap",
]

EXACT_TOPICS = 20
"""With so many topics or fewer (that differ), all 2^n ways to flip signs are counted, ..."""
EXACT_WORK = 2**30
"""... unless that is more than this for all pairs together, and more than the resamples asked for."""
MOST_HELD = 25_000_000
"""How many resampled statistics may be kept for the ends of the bootstrap's intervals: 200 MB."""
ENOUGH = 10_000
"""Resamples for the ends of intervals, where there is no room for all."""


def paired_bootstrap(
    x: Any,
    y: Any = None,
    *,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    asl: str = "plus-one",
    threads: int | None = None,
    progress: Progress | None = None,
) -> TestResult:
    r"""Is the mean difference of two systems on the same topics zero? Topics are drawn with replacement.

    .. math:: t(z) = \frac{\bar z}{\bar\sigma/\sqrt{n}} \qquad p = \frac{1 + |\{b : |t(w^{*b})| \ge |t(z)|\}|}{1 + B}

    z are the differences, w = z − z̄ obeys the null hypothesis, and each of B resamples w* takes n of its entries. A
    resample without variance has t = 0 if its mean is 0, else infinity. The interval is the symmetric bootstrap-t:
    z̄ ± the quantile of |t(w*)| times σ̄/√n, which holds 0 exactly if p is above 1 − level. `asl="share"` leaves out both
    ones, as Sakai 2014 Fig. 12 does.

    Assumes that topics are a sample from a population of topics; no normality.
    References: Efron & Tibshirani, An Introduction to the Bootstrap, 1993; Sakai, SIGIR 2006,
    doi:10.1145/1148170.1148261 (Sakai 2014 Fig. 11-12, Sakai 2013 Fig. 2)

    >>> result = paired_bootstrap([0.5, 0.7, 0.3, 0.6, 0.4], [0.4, 0.5, 0.3, 0.3, 0.3], resamples=2000)
    >>> round(result.statistic, 3), round(result.p, 3)
    (2.746, 0.092)
    """
    check_resampling("paired_bootstrap", resamples, seed, threads, asl)
    pair, found = _one(
        "bootstrap test",
        x,
        y,
        systems,
        measure,
        TestSettings(alternative, level, resamples, seed, threads, progress),
        asl,
    )
    notes = _degenerate(float(found.statistic[0]))
    if np.isinf(found.statistic[0]):
        notes = (*notes, "no resample has variance, so none reaches the observed t: p is the smallest B can give")
    return _record(
        "paired bootstrap", "t", pair, found, TestSettings(alternative, level, seed=seed), "bootstrap-t", notes
    )


def randomisation(
    x: Any,
    y: Any = None,
    *,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    asl: str = "plus-one",
    threads: int | None = None,
    progress: Progress | None = None,
) -> TestResult:
    r"""Could the labels of two systems be swapped topic by topic and nothing be noticed?

    .. math:: p = \frac{1 + |\{b : |\sum_i s_i^b z_i| \ge |\sum_i z_i|\}|}{1 + B}, \quad s_i^b = \pm 1

    With at most 20 topics on which the systems differ, all 2^n sign vectors are counted and p is their exact share.
    Ties count as reaching, rounding apart. The interval of the mean difference is Student's t.

    Assumes only that under the null hypothesis a topic's two scores could have come from either system.
    References: Fisher, The Design of Experiments, 1935; Smucker, Allan & Carterette, CIKM 2007,
    doi:10.1145/1321440.1321528 (Ferro & Maistro 2024 §4)

    >>> randomisation([0.5, 0.7, 0.3, 0.6, 0.4], [0.4, 0.5, 0.3, 0.3, 0.3]).p
    0.125
    """
    check_resampling("randomisation", resamples, seed, threads, asl)
    asked = TestSettings(alternative, level, resamples, seed, threads, progress)
    pair, found = _one("randomisation test", x, y, systems, measure, asked, asl)
    return _record("randomisation", "mean difference", pair, found, asked, "t", _degenerate(float(found.statistic[0])))


randomization = randomisation


def _one(
    what: str,
    x: Any,
    y: Any,
    systems: Sequence[str] | None,
    measure: Any,
    asked: TestSettings,
    asl: str,
) -> tuple[Pair, PairTests]:
    check_alternative(what, asked.alternative)
    check_alpha(what, asked.level, "level")
    pair = paired(x, y, systems=systems, measure=measure)
    check_topics(len(pair.x), 2, f"a {what}")
    matrix, first, second = one_pair(pair.x, pair.y)
    test = _bootstrap if what.startswith("bootstrap") else _randomise
    return pair, test(matrix, first, second, asked, asl)


def _degenerate(statistic: float) -> tuple[str, ...]:
    return ("the systems have the same mean: p is 1",) if statistic == 0 else ()


def _record(
    test: str, statistic: str, pair: Pair, found: PairTests, asked: TestSettings, method: str, notes: tuple[str, ...]
) -> TestResult:
    difference = differences(pair.x, pair.y)
    if not difference.any():
        notes = ("the systems score the same on every topic: no difference, p is 1, effect 0",)
    low, high = float(found.low[0]), float(found.high[0])
    return TestResult(
        test,
        statistic,
        float(found.statistic[0]),
        float(found.p[0]),
        asked.alternative,
        n=(len(pair.x),),
        estimate_name="mean difference",
        estimate=float(difference.mean()),
        interval=None if np.isnan(low) else Interval(low, high, asked.level, method),
        effect=paired_effect(pair.x, pair.y, level=asked.level),
        resamples=found.resamples,
        seed=None if found.exact else asked.seed,
        exact=found.exact,
        assumptions=check_paired(difference, pair.measure, normal=False),
        notes=(*pair.notes, *notes, *found.notes),
        measure=pair.measure,
        systems=pair.names,
    )


@pair_test(
    "bootstrap",
    aliases=("paired-bootstrap", "bootstrap-t"),
    function=paired_bootstrap,
    statistic="t",
    resampling=True,
    source="Efron & Tibshirani 1993; Sakai 2006 (Sakai 2014 Fig. 11-12)",
)
def _all_by_bootstrap(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    return _bootstrap(matrix, first, second, asked)


@pair_test(
    "randomisation",
    aliases=("permutation", "paired-permutation", "sign-flip"),
    function=randomisation,
    statistic="mean difference",
    resampling=True,
    source="Fisher 1935; Smucker, Allan & Carterette 2007 (Ferro & Maistro 2024 §4)",
)
def _all_by_randomisation(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    return _randomise(matrix, first, second, asked)


def _bootstrap(
    matrix: Matrix, first: Index64, second: Index64, asked: TestSettings, asl: str = "plus-one", *, part: bool = False
) -> PairTests:
    if asked.alternative == "less":  # the greater of the opposite differences
        return _opposite(_bootstrap(matrix, second, first, replace(asked, alternative="greater"), asl))
    check_resampling("bootstrap", asked.resamples, asked.seed, asked.threads, asl)
    # So many resamples at a time that the topics drawn stay in a processor's cache.
    size = min(8192, max(64, 65_536 // max(1, matrix.n) // 8 * 8))
    for_ends, at_a_time = _room(len(first), asked, size)
    if len(first) > at_a_time:
        return _bootstrap_in_parts(matrix, first, second, asked, asl, at_a_time)
    rank = rank_of_critical(for_ends, asked.level)
    moments = moments_of(matrix, first, second)
    if not part:
        check_some(moments.n, 2, "a bootstrap test")
    two_sided, threads = asked.alternative == "two-sided", threads_of(asked.threads)
    limits = ratio_limits(moments, two_sided)
    ready = [Gathered.of(group, rank) for group in groups_of(matrix, first, second) if group.n > 1]

    def more(hits: Array, begin: int, end: int) -> Array:
        new = hits.copy()
        for one in ready:
            new[one.group.where] += _core.bootstrap_counts(
                one.centred, one.largest, one.group.first, one.group.second, limits[one.group.where], two_sided,
                asked.seed, begin, end, threads, one.kept[:, : None if end <= for_ends else 0], one.sizes, one.floors,
            )  # fmt: skip
        return new

    state = resample(asked.resamples, size, np.zeros(len(first), dtype=np.int64), more, asked.progress, keep=not part)
    p = np.where(moments.n > 1, p_of(state.found, state.done, asl), np.nan)
    notes = [*state.notes(), *_too_few(moments)]
    critical = np.full(len(first), np.nan)
    if state.done < for_ends:
        notes.append("no intervals: interrupted")
    else:
        for one in ready:
            critical[one.group.where] = one.critical_t()
        if rank == 0:
            notes.append(
                f"{for_ends:,} resamples are too few for intervals at level {asked.level:g}: these are infinite"
            )
        elif for_ends < asked.resamples:
            notes.append(f"intervals rest on the first {for_ends:,} resamples")
    with np.errstate(invalid="ignore"):
        margin = np.where((moments.sd == 0) & ~np.isnan(critical), 0.0, critical * moments.error)
    low, high = ends(moments.mean, margin, asked.alternative)
    lost = np.isnan(margin)
    low[lost] = high[lost] = np.nan
    return PairTests(moments.t, p, low, high, moments.n.astype(np.int64), resamples=state.done, notes=tuple(notes))


def _room(pairs: int, asked: TestSettings, size: int) -> tuple[int, int]:
    """How many resamples the ends of intervals rest on, and how many pairs can be taken at a time.

    All resamples if what is kept of these fits; else as many as fit, but ENOUGH, and fewer pairs at a time.
    """
    for_ends = asked.resamples
    if 2 * pairs * rank_of_critical(for_ends, asked.level) > MOST_HELD and for_ends > ENOUGH:
        fit = int(MOST_HELD / (2 * pairs * (1 - asked.level)))
        for_ends = min(for_ends, max(fit, ENOUGH) // size * size)
    return for_ends, max(1, MOST_HELD // max(1, 2 * rank_of_critical(for_ends, asked.level)))


def _bootstrap_in_parts(
    matrix: Matrix, first: Index64, second: Index64, asked: TestSettings, asl: str, at_a_time: int
) -> PairTests:
    """Some pairs after the others, so that what is kept for their intervals fits in memory; Ctrl-C ends it."""
    parts = [slice(begin, begin + at_a_time) for begin in range(0, len(first), at_a_time)]
    found = []
    for i, part in enumerate(parts):

        def progress(done: int, total: int, before: int = i * asked.resamples) -> None:
            if asked.progress is not None:
                asked.progress(before + done, len(parts) * total)

        shown = replace(asked, progress=progress)
        found.append(_bootstrap(matrix, first[part], second[part], shown, asl, part=True))
    t, p, low, high, n = (
        np.concatenate([getattr(one, name) for one in found]) for name in ("statistic", "p", "low", "high", "n")
    )
    check_some(n, 2, "a bootstrap test")
    said = dict.fromkeys(note for one in found for note in one.notes if "not tested" not in note)
    few = (lacking(n, 2),) if (n < 2).any() else ()
    return PairTests(t, p, low, high, n, resamples=asked.resamples, notes=(*said, *few))


def ratio_limits(moments: Moments, two_sided: bool) -> Array:
    """Student's t as the core compares it, t|t| / (n − 1 + t²), a little lower so that ties count."""
    t = np.clip(np.nan_to_num(np.abs(moments.t) if two_sided else moments.t), -1e150, 1e150)
    t = t - TIE * np.abs(t)
    return np.asarray(np.where(moments.n > 1, t * np.abs(t) / (np.maximum(moments.n - 1, 1) + t * t), 2.0))


def _randomise(
    matrix: Matrix, first: Index64, second: Index64, asked: TestSettings, asl: str = "plus-one"
) -> PairTests:
    if asked.alternative == "less":
        return _opposite(_randomise(matrix, second, first, replace(asked, alternative="greater"), asl))
    check_resampling("randomisation", asked.resamples, asked.seed, asked.threads, asl)
    moments = moments_of(matrix, first, second)
    check_some(moments.n, 2, "a randomisation test")
    parts = [group for group in groups_of(matrix, first, second) if group.n > 1]
    if len(first) == 1:  # a topic without a difference changes no sum, so it need not be flipped
        parts = [_that_differ(group) for group in parts]
    two_sided, threads = asked.alternative == "two-sided", threads_of(asked.threads)
    sums = moments.mean * moments.n
    limits = (np.abs(sums) if two_sided else sums) - TIE * moments.size - _noise(matrix, first, second)

    def count(group: Group, exact: bool, begin: int, end: int) -> Index64:
        limit = limits[group.where]
        return _core.flip_counts(
            group.scores, group.first, group.second, limit, two_sided, exact, asked.seed, begin, end, threads
        )

    size = min(65_536, max(64, 2**18 // max(1, *(sum(group.scores.shape) for group in parts), 4)))
    p = np.full(len(first), np.nan)
    drawn = []
    for group in parts:
        if not _countable(group, len(first), asked.resamples):
            drawn.append(group)
            continue
        ways = 2**group.n
        hits = sum(count(group, True, begin, min(ways, begin + size)) for begin in range(0, ways, size))
        p[group.where] = hits / ways
    notes = _too_few(moments)
    done: int | None = None
    if drawn:

        def more(hits: Array, begin: int, end: int) -> Array:
            new = hits.copy()
            for group in drawn:
                new[group.where] += count(group, False, begin, end)
            return new

        state = resample(asked.resamples, size, np.zeros(len(first), dtype=np.int64), more, asked.progress)
        done = state.done
        where = np.concatenate([group.where for group in drawn])
        p[where] = p_of(state.found[where], done, asl)
        notes = (*state.notes(), *notes)
    statistic = np.where(moments.n > 1, moments.mean, np.nan)
    _, _, low, high = t_of(statistic, moments.error, np.maximum(moments.n - 1, 1), asked.alternative, asked.level)
    return PairTests(
        statistic, p, low, high, moments.n.astype(np.int64), resamples=done, exact=done is None, notes=notes
    )


def _that_differ(group: Group) -> Group:
    """Without the topics on which its one pair scores the same; one topic is left in any case."""
    keep = differences(group.scores[group.first[0]], group.scores[group.second[0]]) != 0
    keep[0] |= not keep.any()
    return replace(group, scores=np.ascontiguousarray(group.scores[:, keep]))


def _countable(group: Group, pairs: int, resamples: int) -> bool:
    return group.n <= EXACT_TOPICS and (pairs * 2**group.n <= EXACT_WORK or 2**group.n <= resamples)


def _noise(matrix: Matrix, first: Index64, second: Index64) -> Array:
    """How much rounding can add to a sum of signed scores."""
    sizes = np.nansum(np.abs(matrix.values), axis=0)
    return np.asarray(1e-14 * (sizes[first] + sizes[second]))


def _too_few(moments: Moments) -> tuple[str, ...]:
    return (lacking(moments.n, 2),) if (moments.n < 2).any() else ()


def _opposite(tests: PairTests) -> PairTests:
    return replace(tests, statistic=0.0 - tests.statistic, low=0.0 - tests.high, high=0.0 - tests.low)
