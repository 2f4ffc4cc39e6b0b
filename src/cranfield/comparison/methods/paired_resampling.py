"""Resampling tests of paired scores: the studentised bootstrap and the randomisation test, for one pair and for all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from cranfield import _core
from cranfield.comparison.assumptions import check_paired
from cranfield.comparison.data import Matrix, check_common_topics, check_topics, differences, paired
from cranfield.comparison.effects import paired_effect
from cranfield.comparison.methods.t import t_of
from cranfield.comparison.pair_tests import PairTests, TestSettings, pair_test
from cranfield.comparison.resampling import (
    TIE,
    BootstrapGroup,
    Group,
    Moments,
    ResamplingSettings,
    check_resampling,
    groups_of,
    interval_ends,
    moments_of,
    one_pair,
    p_of,
    rank_of_critical,
    resample,
    threads_of,
)
from cranfield.comparison.test_result import Interval, TestResult
from cranfield.declared.operation import operation, with_defaults
from cranfield.notes import caution_note, method_note
from cranfield.types import Array, Index64

EXACT_TOPICS = 20
"""With at most this many topics (on which systems differ), all 2^n ways to flip signs are counted, ..."""
EXACT_WORK = 2**30
"""... unless all pairs together need more than this, and more than the number of resamples."""
MOST_HELD = 25_000_000
"""The number of resampled statistics that are kept for the ends of the bootstrap's intervals: 200 MB."""
ENOUGH = 10_000
"""The number of resamples behind the ends of intervals if there is no room for all."""

_RESAMPLES, _PAIRS = 2_000, 500
"""The size of a block of the shift test; the number of resamples in a block does not change the draws."""


@operation
def paired_bootstrap(x: Any, y: Any = None, **settings: Unpack[ResamplingSettings]) -> TestResult:
    r"""Do two systems differ on the same topics? Topics are drawn with replacement.

    .. math:: t(z) = \frac{\bar z}{\bar\sigma/\sqrt{n}} \qquad p = \frac{1 + |\{b : |t(w^{*b})| \ge |t(z)|\}|}{1 + B}

    z are the differences. w = z − z̄ satisfies the null hypothesis, and each of B resamples w* draws n of its entries. A
    resample without variance has t = 0 if its mean is 0, else infinity. The interval is the symmetric bootstrap-t:
    z̄ ± the quantile of |t(w*)| times σ̄/√n, which contains 0 exactly if p is above 1 − level. `asl="share"` gives p as
    hits / B, as in Sakai 2014 Fig. 12.

    The test assumes that topics are a sample from a population of topics, but not that differences are normal.
    References: Efron & Tibshirani, An Introduction to the Bootstrap, 1993; Sakai, SIGIR 2006,
    doi:10.1145/1148170.1148261 (Sakai 2014 Fig. 11-12, Sakai 2013 Fig. 2)

    >>> result = paired_bootstrap([0.5, 0.7, 0.3, 0.6, 0.4], [0.4, 0.5, 0.3, 0.3, 0.3], resamples=2000)
    >>> round(result.statistic, 3), round(result.p, 3)
    (2.746, 0.092)
    """
    return _result(x, y, "paired bootstrap", "bootstrap-t", settings)


@operation
def randomisation(x: Any, y: Any = None, **settings: Unpack[ResamplingSettings]) -> TestResult:
    r"""Do two systems differ on the same topics? The labels of the systems are swapped at random, topic by topic.

    .. math:: p = \frac{1 + |\{b : |\sum_i s_i^b z_i| \ge |\sum_i z_i|\}|}{1 + B}, \quad s_i^b = \pm 1

    If the systems differ on at most 20 topics, all 2^n sign vectors are counted and p is exact. Ties count as reaching
    the observed sum, up to rounding. The interval of the mean difference is Student's t.

    The test only assumes that under the null hypothesis the two scores of a topic could be swapped.
    References: Fisher, The Design of Experiments, 1935; Smucker, Allan & Carterette, CIKM 2007,
    doi:10.1145/1321440.1321528 (Ferro & Maistro 2024 §4)

    >>> randomisation([0.5, 0.7, 0.3, 0.6, 0.4], [0.4, 0.5, 0.3, 0.3, 0.3]).p
    0.125
    """
    return _result(x, y, "randomisation", "t", settings)


@operation
def bootstrap_shift(x: Any, y: Any = None, **settings: Unpack[ResamplingSettings]) -> TestResult:
    r"""Do two systems differ on the same topics? The bootstrap distribution of the mean difference is shifted to 0.

    .. math:: p = \frac{1 + |\{b : |\bar z^{*b} - \bar z| \ge |\bar z|\}|}{1 + B}

    z are the differences, and each of B resamples z* draws n of them with replacement. Unlike `paired_bootstrap`, the
    statistic is the mean itself, not divided by its standard error, so that p is somewhat too small with few topics.
    The interval of the mean difference is Student's t.

    The test assumes that topics are a sample from a population of topics, but not that differences are normal.
    References: Savoy, Information Processing & Management 33(4), 1997, 495-512; Smucker,
    Allan & Carterette, CIKM 2007, doi:10.1145/1321440.1321528

    >>> result = bootstrap_shift([0.5, 0.7, 0.3, 0.6, 0.4], [0.4, 0.5, 0.3, 0.3, 0.3], resamples=2000)
    >>> round(result.statistic, 3), round(result.p, 3)
    (0.14, 0.003)
    """
    return _result(x, y, "bootstrap shift", "t", settings)


def _result(x: Any, y: Any, test: str, interval_method: str, given: ResamplingSettings) -> TestResult:
    own = with_defaults(ResamplingSettings, given)
    level, asl = own["level"], own["asl"]
    settings = TestSettings(
        own["alternative"], 1 - level, own["resamples"], own["seed"], own["threads"], own.get("progress"), asl=asl
    )
    pair = paired(x, y, systems=own.get("systems"), measure=own.get("measure"))
    check_topics(len(pair.x), 2, f"a {test} test")
    bootstrap = test == "paired bootstrap"
    engine = {"randomisation": randomisation_of_pairs, "bootstrap shift": shift_of_pairs}.get(test, bootstrap_of_pairs)
    tests = engine(*one_pair(pair.x, pair.y), settings)
    statistic, low, high = float(tests.statistic[0]), float(tests.low[0]), float(tests.high[0])
    difference = differences(pair.x, pair.y)
    notes: tuple[str, ...] = ()
    if not difference.any():
        notes = ("the systems have the same score on every topic: the effect is 0 and p = 1",)
    elif statistic == 0:
        notes = ("the systems have the same mean: p = 1",)
    elif np.isinf(statistic):
        notes = (
            caution_note("no resample has variance, so none reaches the observed t: p is the smallest that B allows"),
        )
    return TestResult(
        test=test,
        statistic_name="t" if bootstrap else "mean difference",
        statistic=statistic,
        p=float(tests.p[0]),
        alternative=settings.alternative,
        n=(len(pair.x),),
        estimate_name="mean difference",
        estimate=float(difference.mean()),
        interval=None if np.isnan(low) else Interval(low, high, level, interval_method),
        effect=paired_effect(pair.x, pair.y, level=level),
        resamples=tests.resamples,
        seed=None if tests.exact else settings.seed,
        exact=tests.exact,
        assumptions=check_paired(difference, pair.measure, normal=False),
        **pair.facts(*notes, *tests.notes),
    )


@pair_test(
    "bootstrap",
    aliases=("paired-bootstrap", "bootstrap-t"),
    function=paired_bootstrap,
    statistic="t",
    resampling=True,
    source="Efron & Tibshirani 1993; Sakai 2006 (Sakai 2014 Fig. 11-12)",
)
def bootstrap_of_pairs(
    matrix: Matrix,
    first: Index64,
    second: Index64,
    settings: TestSettings,
    *,
    part: bool = False,
) -> PairTests:
    if settings.alternative == "less":  # is the opposite difference greater?
        return _opposite(bootstrap_of_pairs(matrix, second, first, replace(settings, alternative="greater")))
    # A block of resamples is small enough for the drawn topics to stay in the processor's cache.
    size = min(8192, max(64, 65_536 // max(1, matrix.n) // 8 * 8))
    for_ends, pairs_at_once = _room(len(first), settings, size)
    if len(first) > pairs_at_once:
        return _bootstrap_in_parts(matrix, first, second, settings, pairs_at_once)
    rank = rank_of_critical(for_ends, settings.alpha)
    moments = moments_of(matrix, first, second)
    notes = [] if part else [*check_common_topics(moments.n, 2, "a bootstrap test")]
    two_sided, threads = settings.alternative == "two-sided", threads_of(settings.threads)
    limits = moments.ratio_limits(two_sided)
    groups = [BootstrapGroup.of(group, rank) for group in groups_of(matrix, first, second) if group.n > 1]

    def more(hits: Array, begin: int, end: int) -> Array:
        new = hits.copy()
        for ready in groups:
            group = ready.group
            kept = ready.kept[:, : None if end <= for_ends else 0]
            new[group.pairs] += _core.bootstrap_counts(
                ready.centred, ready.largest, group.first, group.second, limits[group.pairs], two_sided,
                settings.seed, begin, end, threads, kept, ready.sizes, ready.floors,
            )  # fmt: skip
        return new

    start = np.zeros(len(first), dtype=np.int64)
    state = resample(settings.resamples, size, start, more, settings.progress, keep=not part)
    p = np.where(moments.n > 1, p_of(state.result, state.done, settings.asl), np.nan)
    notes = [*state.notes, *notes]
    critical = np.full(len(first), np.nan)
    if state.done < for_ends:
        notes.append(caution_note("there are no intervals, because the test was interrupted"))
    else:
        for ready in groups:
            critical[ready.group.pairs] = ready.critical_t()
        if rank == 0:
            notes.append(
                caution_note(
                    f"{for_ends:,} resamples are too few for intervals at level {settings.level:g}: they are infinite"
                )
            )
        elif for_ends < settings.resamples:
            notes.append(method_note(f"intervals are based on the first {for_ends:,} resamples"))
    with np.errstate(invalid="ignore"):
        margin = np.where((moments.sd == 0) & ~np.isnan(critical), 0.0, critical * moments.error)
    low, high = interval_ends(moments.mean, margin, settings.alternative)
    low[np.isnan(margin)] = high[np.isnan(margin)] = np.nan
    return PairTests(moments.t, p, low, high, moments.n.astype(np.int64), resamples=state.done, notes=tuple(notes))


def _room(pairs: int, settings: TestSettings, size: int) -> tuple[int, int]:
    """The number of resamples behind the ends of intervals, and the number of pairs that fit in memory at once.

    All resamples are used if their statistics fit; otherwise as many as fit, but at least ENOUGH, with fewer pairs.
    """
    for_ends = settings.resamples
    if 2 * pairs * rank_of_critical(for_ends, settings.alpha) > MOST_HELD and for_ends > ENOUGH:
        fit = int(MOST_HELD / (2 * pairs * settings.alpha))
        for_ends = min(for_ends, max(fit, ENOUGH) // size * size)
    return for_ends, max(1, MOST_HELD // max(1, 2 * rank_of_critical(for_ends, settings.alpha)))


def _bootstrap_in_parts(
    matrix: Matrix, first: Index64, second: Index64, settings: TestSettings, pairs_at_once: int
) -> PairTests:
    """Test blocks of pairs one after another, to bound memory; Ctrl-C ends the test."""
    parts = [slice(begin, begin + pairs_at_once) for begin in range(0, len(first), pairs_at_once)]
    results = []
    for i, part in enumerate(parts):

        def progress(done: int, total: int, before: int = i * settings.resamples) -> None:
            if settings.progress is not None:
                settings.progress(before + done, len(parts) * total)

        results.append(
            bootstrap_of_pairs(matrix, first[part], second[part], replace(settings, progress=progress), part=True)
        )
    t, p, low, high, n = (
        np.concatenate([getattr(result, name) for result in results]) for name in ("statistic", "p", "low", "high", "n")
    )
    notes = dict.fromkeys(note for result in results for note in result.notes)
    few = check_common_topics(n, 2, "a bootstrap test")
    return PairTests(t, p, low, high, n, resamples=settings.resamples, notes=(*notes, *few))


@pair_test(
    "randomisation",
    aliases=("permutation", "paired-permutation", "sign-flip"),
    function=randomisation,
    statistic="mean difference",
    resampling=True,
    any_level=True,
    source="Fisher 1935; Smucker, Allan & Carterette 2007 (Ferro & Maistro 2024 §4)",
)
def randomisation_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    if settings.alternative == "less":
        return _opposite(randomisation_of_pairs(matrix, second, first, replace(settings, alternative="greater")))
    moments = moments_of(matrix, first, second)
    notes = check_common_topics(moments.n, 2, "a randomisation test")
    groups = [group for group in groups_of(matrix, first, second) if group.n > 1]
    if len(first) == 1:  # a topic without a difference does not change any sum
        groups = [_topics_that_differ(group) for group in groups]
    two_sided, threads = settings.alternative == "two-sided", threads_of(settings.threads)
    limits = _limits(matrix, first, second, moments, two_sided)

    def count(group: Group, exact: bool, begin: int, end: int) -> Index64:
        limit = limits[group.pairs]
        return _core.flip_counts(
            group.scores, group.first, group.second, limit, two_sided, exact, settings.seed, begin, end, threads
        )

    size = min(65_536, max(64, 2**18 // max(1, *(sum(group.scores.shape) for group in groups), 4)))
    p = np.full(len(first), np.nan)
    drawn = []
    for group in groups:
        ways = 2**group.n
        if group.n > EXACT_TOPICS or (len(first) * ways > EXACT_WORK and ways > settings.resamples):
            drawn.append(group)
            continue
        hits = sum(count(group, True, begin, min(ways, begin + size)) for begin in range(0, ways, size))
        p[group.pairs] = hits / ways
    done: int | None = None
    if drawn:

        def more(hits: Array, begin: int, end: int) -> Array:
            new = hits.copy()
            for group in drawn:
                new[group.pairs] += count(group, False, begin, end)
            return new

        state = resample(settings.resamples, size, np.zeros(len(first), dtype=np.int64), more, settings.progress)
        done = state.done
        pairs = np.concatenate([group.pairs for group in drawn])
        p[pairs] = p_of(state.result[pairs], done, settings.asl)
        notes = (*state.notes, *notes)
    statistic = np.where(moments.n > 1, moments.mean, np.nan)
    _, _, low, high = t_of(
        statistic, moments.error, np.maximum(moments.n - 1, 1), settings.alternative, settings.outside
    )
    return PairTests(
        statistic, p, low, high, moments.n.astype(np.int64), resamples=done, exact=done is None, notes=notes
    )


@pair_test(
    "bootstrap-shift",
    aliases=("shift", "bootstrap-shift-test"),
    function=bootstrap_shift,
    statistic="mean difference",
    resampling=True,
    any_level=True,
    source="Savoy 1997; Smucker, Allan & Carterette 2007",
)
def shift_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    if settings.alternative == "less":
        return _opposite(shift_of_pairs(matrix, second, first, replace(settings, alternative="greater")))
    moments = moments_of(matrix, first, second)
    notes = check_common_topics(moments.n, 2, "a bootstrap test")
    groups = [group for group in groups_of(matrix, first, second) if group.n > 1]
    centred = [group.scores.T - group.scores.mean(axis=1) for group in groups]
    draws = [np.random.default_rng([settings.seed, i]) for i in range(len(groups))]
    two_sided = settings.alternative == "two-sided"
    limits = _limits(matrix, first, second, moments, two_sided)

    def more(hits: Index64, begin: int, end: int) -> Index64:
        new = hits.copy()
        for group, values, rng in zip(groups, centred, draws, strict=True):
            times = rng.multinomial(group.n, np.full(group.n, 1 / group.n), end - begin)
            shifted = np.ascontiguousarray((times @ values).T)
            for at in range(0, len(group.pairs), _PAIRS):
                block = slice(at, at + _PAIRS)
                pairs = group.pairs[block]
                difference = shifted[group.first[block]] - shifted[group.second[block]]
                difference = np.abs(difference) if two_sided else difference
                new[pairs] += (difference >= limits[pairs, None]).sum(axis=1)
        return new

    state = resample(settings.resamples, _RESAMPLES, np.zeros(len(first), dtype=np.int64), more, settings.progress)
    p = np.where(moments.n > 1, p_of(state.result, state.done, settings.asl), np.nan)
    statistic = np.where(moments.n > 1, moments.mean, np.nan)
    _, _, low, high = t_of(
        statistic, moments.error, np.maximum(moments.n - 1, 1), settings.alternative, settings.outside
    )
    n = moments.n.astype(np.int64)
    return PairTests(statistic, p, low, high, n, resamples=state.done, notes=(*state.notes, *notes))


def _limits(matrix: Matrix, first: Index64, second: Index64, moments: Moments, two_sided: bool) -> Array:
    """The sum of differences that a resample must reach to count, lowered slightly so that ties count."""
    sums = moments.mean * moments.n
    sizes = np.nansum(np.abs(matrix.values), axis=0)
    rounding = 1e-14 * (sizes[first] + sizes[second])  # the most that rounding can add to a sum of signed scores
    return np.asarray((np.abs(sums) if two_sided else sums) - TIE * moments.size - rounding)


def _topics_that_differ(group: Group) -> Group:
    """Leave out topics on which the only pair of the group scores the same; at least one topic remains."""
    keep = differences(group.scores[group.first[0]], group.scores[group.second[0]]) != 0
    keep[0] |= not keep.any()
    return replace(group, scores=np.ascontiguousarray(group.scores[:, keep]))


def _opposite(tests: PairTests) -> PairTests:
    return replace(tests, statistic=0.0 - tests.statistic, low=0.0 - tests.high, high=0.0 - tests.low)


# -- the smallest significant difference

MOST_SUMS = 50_000_000
"""The number of resampled means in memory at once: 400 MB."""


@dataclass(frozen=True, eq=False)
class Borderline:
    """The paired bootstrap test of many pairs, an entry per pair."""

    p: Array
    difference: Array
    """|w̄*| of the resample with the Bα-th largest |t(w*)|; NaN if Bα is below 1."""
    notes: tuple[str, ...] = ()


def bootstrap_borderline(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> Borderline:
    r"""The p-value of each pair, and the mean difference from which it would be significant at α.

    .. math:: \Delta_\alpha(X, Y) = |\bar w^{*b'}|, \quad |t(w^{*b'})| \text{ the } B\alpha\text{-th largest}

    Every system needs a score on every topic. Of resamples with the same |t|, the one with the larger mean comes first.
    Reference: Sakai, SIGIR 2006, doi:10.1145/1148170.1148261 (Sakai 2007 Fig. 7, Sakai 2013 Fig. 3)

    >>> matrix = Matrix.of({"a": [0.5, 0.7, 0.3, 0.6, 0.4], "b": [0.4, 0.5, 0.3, 0.3, 0.3]})
    >>> result = bootstrap_borderline(matrix, np.array([0]), np.array([1]), TestSettings(resamples=2000))
    >>> round(float(result.p[0]), 3), round(float(result.difference[0]), 3)
    (0.092, 0.08)
    """
    check_resampling("bootstrap", settings.resamples, settings.seed, settings.threads)
    used = min(settings.resamples, max(1_000, MOST_SUMS // len(matrix.systems)))
    rank = math.floor(used * settings.alpha + 1e-9)
    moments = moments_of(matrix, first, second)
    (group,) = groups_of(matrix, first, second)
    ready = BootstrapGroup.of(group, 0)
    hits, difference = _core.bootstrap_borderline(
        ready.centred, ready.largest, group.first, group.second, moments.ratio_limits(two_sided=True), max(rank, 1),
        settings.seed, used, threads_of(settings.threads),
    )  # fmt: skip
    notes: tuple[str, ...] = ()
    if rank == 0:
        difference = np.full(len(first), np.nan)
        notes = (
            caution_note(f"{used:,} resamples are too few to find the difference needed at α = {settings.alpha:.4g}"),
        )
    if used == settings.resamples:
        return Borderline(p_of(hits, used), difference, notes)
    notes = (*notes, method_note(f"the difference needed is based on the first {used:,} resamples"))
    return Borderline(bootstrap_of_pairs(matrix, first, second, settings).p, difference, notes)
