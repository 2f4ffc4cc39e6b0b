"""Resampling tests of two independent samples, such as one system on two collections."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Annotated, Any, Unpack

import numpy as np

from cranfield import _core
from cranfield.comparison.assumptions import MEANS, check_unpaired
from cranfield.comparison.data import Pair, check_topics, gap, unpaired
from cranfield.comparison.distributions import extremeness
from cranfield.comparison.effects import effect_of_samples, spread_of
from cranfield.comparison.methods.t import unpaired_t, welch_interval
from cranfield.comparison.resampling import (
    TIE,
    Resampling,
    ResamplingSettings,
    interval_ends,
    p_of,
    rank_of_critical,
    resample,
    threads_of,
)
from cranfield.comparison.test_result import Interval, TestResult
from cranfield.declared.operation import about, operation, with_defaults
from cranfield.notes import rewritten
from cranfield.scores.summary import GMEAN_FLOOR, area_of_worst
from cranfield.types import Array

SUMMARIES = ("t", "mean", "gmean", "median", "area")
"""What is compared: t is the difference of means divided by its standard error, which is Welch's t."""
Summary = Annotated[str, about("What is compared: {names}.", choices=SUMMARIES)]
SOURCES = ("pool", "own", "deal")
"""Where resamples come from: all scores, those of each sample, or all scores dealt out to two samples."""
LEAST_FOR_AREA = 8
"""A quarter of fewer scores is less than 2."""
MOST_EXACT = 2**20
"""Up to this many ways to divide the scores into two samples are all counted."""
_BLOCK = 2_000_000
"""The number of scores in memory at once."""


@operation
def unpaired_bootstrap(
    x: Any, y: Any = None, *, summary: Summary = "t", **settings: Unpack[ResamplingSettings]
) -> TestResult:
    r"""Do two independent samples differ in their mean, geometric mean, median, or area of the worst?

    .. math:: \hat d = M(x) - M(y) \qquad p = \frac{1 + |\{b : |M(x^{*b}) - M(y^{*b})| \ge |\hat d|\}|}{1 + B}

    By default (`summary="t"`), Welch's t takes the place of M(x) − M(y), x* is drawn from x − x̄ and y* from y − ȳ, and
    the interval of the difference of means is the symmetric bootstrap-t: the two samples may have different sizes and
    variances. The other summaries test whether both samples come from one distribution, as in Sakai's papers: x* and y*
    are drawn with replacement from all scores together, so samples of different sizes and variances may differ
    significantly although their summaries do not. Their interval is the percentile bootstrap, with x* drawn from x and
    y* from y. The geometric mean replaces scores below 0.00001 by 0.00001, as trec_eval does; `area` is the area under
    the mean of the x worst topics, down to a quarter of them (`cranfield.scores.summary.area_of_worst`).

    References: Efron & Tibshirani, An Introduction to the Bootstrap, 1993; Sakai, SIGIR 2006 (Sakai 2014 Fig. 13-14)

    >>> result = unpaired_bootstrap([0.1, 0.3, 0.4], [0.2, 0.0, 0.0, 0.1], summary="mean", resamples=2000)
    >>> round(result.estimate, 4), round(result.p, 2)
    (0.1917, 0.08)
    """
    own = with_defaults(ResamplingSettings, settings)
    resamples, seed, progress = own["resamples"], own["seed"], own.get("progress")
    samples = _Samples.of("unpaired_bootstrap", x, y, summary, own)

    def draw(source: str, before: int) -> Resampling:
        def more(drawn: list[Array], begin: int, end: int) -> list[Array]:
            return [*drawn, samples.draw(source, seed, begin, end, own["threads"])]

        def shown(done: int, total: int) -> None:
            if progress is not None:
                progress(before + done, 2 * total)

        state = resample(resamples, samples.block, [], more, shown)
        return Resampling(state.total, np.concatenate(state.result), state.done)

    state = draw("own" if samples.studentised else "pool", 0)
    p = float(p_of(samples.hits(state.result), state.done, own["asl"]))
    interval, notes = None, state.notes
    if samples.studentised:
        interval = samples.interval(state.result)
    elif not state.interrupted:
        again = draw("own", resamples)
        interval = _percentiles(again.result, own["alternative"], own["level"])
        notes = tuple(rewritten(note, f"interval: {note}") for note in again.notes)
    return samples.result("unpaired bootstrap", p, interval, notes, state.done, seed)


@operation
def permutation(x: Any, y: Any = None, *, summary: Summary = "t", **settings: Unpack[ResamplingSettings]) -> TestResult:
    r"""Do two independent samples differ? All scores are divided into two samples at random.

    .. math:: p = \frac{1 + |\{b : |M(x^b) - M(y^b)| \ge |M(x) - M(y)|\}|}{1 + B}

    x^b and y^b are random divisions of all scores. If there are at most 2^20 divisions, all are counted and p is exact.
    By default (`summary="t"`), Welch's t takes the place of M(x) − M(y): a test of means whose level holds for many
    scores even if the samples have different sizes and variances. With another summary, or few scores, the test is one
    of equal distributions. The interval, for means only, is Welch's t. For matched topics use `randomisation`.

    References: Pitman, Supplement to the Journal of the Royal Statistical Society 4(1), 1937; Janssen, Statistics &
    Probability Letters 36(1), 1997

    >>> permutation([0.1, 0.3, 0.4], [0.2, 0.0, 0.05]).p
    0.2
    """
    own = with_defaults(ResamplingSettings, settings)
    seed = own["seed"]
    samples = _Samples.of("permutation", x, y, summary, own)
    pair = samples.pair
    enough = summary in ("t", "mean") and min(len(pair.x), len(pair.y)) > 1
    interval = welch_interval(pair.x, pair.y, own["level"], own["alternative"]) if enough else None
    ways = math.comb(len(samples.entries), samples.n)
    if ways <= MOST_EXACT:
        hits = sum(samples.hits(block) for block in samples.all_divisions())
        return samples.result("permutation", hits / ways, interval, ())

    def more(hits: int, begin: int, end: int) -> int:
        return hits + samples.hits(samples.draw("deal", seed, begin, end, own["threads"]))

    state = resample(own["resamples"], samples.block, 0, more, own.get("progress"))
    p = float(p_of(state.result, state.done, own["asl"]))
    return samples.result("permutation", p, interval, state.notes, state.done, seed)


@dataclass(frozen=True, eq=False)
class _Samples:
    """Two samples, and the summary and hypothesis by which they are compared."""

    pair: Pair
    summary: str
    alternative: str
    level: float
    entries: Array
    """The scores of x and then those of y; logarithms for the geometric mean."""
    estimate: float
    """The difference of the summaries."""
    observed: float
    """The statistic: the difference, or Welch's t."""
    slack: float
    """A resampled difference counts as equal to the observed one within this distance."""

    @staticmethod
    def of(who: str, x: Any, y: Any, summary: str, own: ResamplingSettings) -> _Samples:
        alternative, level = own["alternative"], own["level"]
        pair = unpaired(x, y, systems=own.get("systems"), measure=own.get("measure"))
        if summary == "area":
            check_topics(min(len(pair.x), len(pair.y)), LEAST_FOR_AREA, f"{who} of areas")
        check_topics(len(pair.x) + len(pair.y), 3, f"{who} of both samples together")
        scores = np.concatenate([pair.x, pair.y])
        entries = np.log(np.maximum(scores, GMEAN_FLOOR)) if summary == "gmean" else scores
        n = len(pair.x)
        estimate = float(gap(_summary(entries[:n], summary), _summary(entries[n:], summary)))
        if summary == "t":
            check_topics(min(len(pair.x), len(pair.y)), 2, f"{who} of t, in each sample,")
            t = float(unpaired_t(pair.x, pair.y).statistic)
            return _Samples(pair, summary, alternative, level, entries, estimate, t, TIE * abs(t) if t != 0 else 0.0)
        slack = TIE * float(np.ptp(scores)) + 1e-14 * float(np.abs(scores).max())
        return _Samples(pair, summary, alternative, level, entries, estimate, estimate, slack)

    @property
    def studentised(self) -> bool:
        return self.summary == "t"

    @property
    def n(self) -> int:
        """The size of x."""
        return len(self.pair.x)

    @property
    def block(self) -> int:
        """The number of resamples drawn at once."""
        return min(8192, max(64, 20_000_000 // len(self.entries)))

    def draw(self, source: str, seed: int, begin: int, end: int, threads: int | None) -> Array:
        """The differences of resamples begin to end; blocks of resamples always begin at the same numbers."""
        if self.summary == "area":
            return self._draw_areas(np.random.default_rng((seed, SOURCES.index(source), begin)), source, end - begin)
        if self.studentised:
            return self._draw_t(source, seed, begin, end, threads)
        return _core.two_sample_differences(
            self.entries, self.n, source, self.summary, seed, begin, end, threads_of(threads)
        )

    def _draw_t(self, source: str, seed: int, begin: int, end: int, threads: int | None) -> Array:
        """Welch's t of resamples: dealt out from all scores, or drawn from the scores of each sample minus its mean.

        Resample b draws the same entries in all calls, so sums of values and of squares belong together.
        """
        n, m = self.n, len(self.entries) - self.n
        values = self.entries - self.entries.mean()
        if source == "own":
            values = np.concatenate([values[:n] - values[:n].mean(), values[n:] - values[n:].mean()])

        def difference(entries: Array) -> Array:
            return _core.two_sample_differences(entries, n, source, "mean", seed, begin, end, threads_of(threads))

        if source == "deal":  # the sums of both parts are known together

            def means(entries: Array) -> tuple[Array, Array]:
                gaps, total = difference(entries), entries.sum()
                return (total + m * gaps) / (n + m), (total - n * gaps) / (n + m)
        else:

            def means(entries: Array) -> tuple[Array, Array]:
                in_x = np.arange(n + m) < n
                return difference(np.where(in_x, entries, 0.0)), -difference(np.where(in_x, 0.0, entries))

        return _welch(means(values), means(values**2), (n, m), float(np.abs(values).max()))

    def interval(self, t: Array) -> Interval:
        """The bootstrap-t interval of the difference of means; it contains 0 exactly if p is above 1 − level."""
        rank = rank_of_critical(len(t), 1 - self.level)
        far = np.sort(extremeness(t, self.alternative))[::-1]
        x, y = self.pair.x, self.pair.y
        error = math.sqrt(spread_of(x) ** 2 / len(x) + spread_of(y) ** 2 / len(y))
        margin = float(far[rank - 1]) * error if rank and error else math.inf
        low, high = interval_ends(np.array([self.estimate]), np.array([margin]), self.alternative)
        return Interval(float(low[0]), float(high[0]), self.level, "bootstrap-t")

    def _draw_areas(self, rng: np.random.Generator, source: str, count: int) -> Array:
        total, n = len(self.entries), self.n
        if source == "deal":
            drawn = rng.permuted(np.tile(np.arange(total), (count, 1)), axis=1)
        elif source == "pool":
            drawn = rng.integers(total, size=(count, total))
        else:
            drawn = np.hstack([rng.integers(n, size=(count, n)), rng.integers(n, total, size=(count, total - n))])
        scores = self.entries[drawn]
        return np.asarray(_summary(scores[:, :n], "area") - _summary(scores[:, n:], "area"))

    def hits(self, differences: Array) -> int:
        """The number of differences that are at least as extreme as the observed one."""
        observed = extremeness(self.observed, self.alternative)
        return int((extremeness(differences, self.alternative) >= observed - self.slack).sum())

    def all_divisions(self) -> Iterator[Array]:
        """The differences of all divisions of the scores into two samples, in blocks."""
        total = len(self.entries)
        chosen = combinations(range(total), self.n)
        step = max(1, _BLOCK // total)
        while (block := np.fromiter(chain.from_iterable(islice(chosen, step)), np.int64)).size:
            block = block.reshape(-1, self.n)
            rest = np.ones((len(block), total), dtype=bool)
            np.put_along_axis(rest, block, False, axis=1)
            others = np.broadcast_to(self.entries, rest.shape)[rest].reshape(len(block), total - self.n)
            if self.studentised:
                centre = self.entries.mean()
                parts = (self.entries[block] - centre, others - centre)
                squares = tuple((part**2).mean(axis=1) for part in parts)
                means = tuple(part.mean(axis=1) for part in parts)
                yield _welch(means, squares, (self.n, total - self.n), float(np.abs(self.entries - centre).max()))
                continue
            yield _summary(self.entries[block], self.summary) - _summary(others, self.summary)

    def result(
        self,
        test: str,
        p: float,
        interval: Interval | None,
        notes: tuple[str, ...],
        resamples: int | None = None,
        seed: int | None = None,
    ) -> TestResult:
        x, y = self.pair.x, self.pair.y
        if np.ptp(np.concatenate([x, y])) == 0:
            notes = (*notes, "all scores are the same: the effect is 0 and p = 1")
        name = f"difference of {'mean' if self.studentised else self.summary}s"
        needs = None if self.summary == "median" else MEANS  # an area is a sum of means
        return TestResult(
            test=test,
            statistic_name="t" if self.studentised else name,
            statistic=self.observed,
            p=p,
            alternative=self.alternative,
            n=(len(x), len(y)),
            estimate_name=name,
            estimate=self.estimate,
            interval=interval,
            effect=effect_of_samples(x, y, "cliff", self.level) if min(len(x), len(y)) > 1 else None,
            resamples=resamples,
            seed=seed,
            exact=resamples is None,
            assumptions=check_unpaired(x, y, self.pair.measure, normal=False, needs=needs),
            **self.pair.facts(*notes),
        )


def _summary(entries: Array, summary: str) -> Array:
    """The summary along the last axis; for the geometric mean, entries are logarithms."""
    if summary == "area":
        return area_of_worst(entries)
    if summary == "median":
        return np.asarray(np.median(entries, axis=-1))
    mean = entries.mean(axis=-1)
    return np.asarray(np.exp(mean) if summary == "gmean" else mean)


def _welch(means: Any, squares: Any, sizes: tuple[int, int], largest: float) -> Array:
    """Welch's t from the means of two samples and of their squares; infinite without variance, 0 without difference."""
    difference = means[0] - means[1]
    error = np.zeros_like(difference)
    for mean, square, n in zip(means, squares, sizes, strict=True):
        variance = square - mean**2
        error += np.where(variance > 1e-13 * largest**2, variance, 0.0) / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(np.abs(difference) <= 1e-13 * largest, 0.0, difference / np.sqrt(error)))


def _percentiles(differences: Array, alternative: str, level: float) -> Interval:
    tail = (1 - level) / (2 if alternative == "two-sided" else 1)
    low = -math.inf if alternative == "less" else float(np.quantile(differences, tail))
    high = math.inf if alternative == "greater" else float(np.quantile(differences, 1 - tail))
    return Interval(low, high, level, "bootstrap percentile")
