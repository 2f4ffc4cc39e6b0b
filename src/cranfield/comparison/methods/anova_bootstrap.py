"""Bootstrap analysis of variance: the residuals of the model are resampled instead of assumed to be normal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.comparison.data import Matrix, all_pairs, check_systems, check_topics
from cranfield.comparison.distributions import extremeness
from cranfield.comparison.pair_tests import PairRecord, PairTests, TestSettings, pair_columns, pair_test
from cranfield.comparison.resampling import Resampling, check_resampling, p_of, resample
from cranfield.comparison.test_result import check_alpha, pairs_differ
from cranfield.errors import UsageError
from cranfield.notes import caution_note, shown_notes
from cranfield.text import listed
from cranfield.types import Array, Index64, Progress

CORRECTION = "benjamini-hochberg"
"""As in the paper; with Holm's and many pairs, no p of the usual number of resamples would be small enough."""
_BLOCK = 4_000_000
"""The number of residuals, or differences, in memory at once; it does not change results."""
_MOST_KEPT = 50_000_000
"""The mean of every system in every resample is kept; this many need less than 1 GB."""
_TIED = 1e-9
"""Differences this close to the observed one, relative to it, count as reaching it."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BootstrapAnova(PairRecord):
    """The means of systems with intervals, and all pairs, by the bootstrap analysis of variance."""

    facts = ("measure", "correction", "alpha", "topics", "shards", "resamples", "seed")

    systems: tuple[str, ...]
    mean: Array
    mean_low: Array
    mean_high: Array
    low: Array
    high: Array
    adjusted: Array
    correction: str
    topics: int
    shards: int
    error: float
    """The mean square of the residuals."""
    df: int
    resamples: int
    seed: int

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Which pairs differ at α, after the correction."""
        return np.asarray(self.adjusted <= self.alpha)

    def sentence(self) -> str:
        """How many pairs differ, and how they were tested."""
        model = "topic + system + topic:system" if self.shards > 1 else "topic + system"
        return (
            f"{pairs_differ(int(self.differ.sum()), len(self.p))} at α = {self.alpha:g} ({self.correction}); "
            f"bootstrap analysis of variance, {model}, B = {self.resamples:,}, seed {self.seed}"
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference, low, high, p, adjusted, differ; a row per pair."""
        numbers = {name: getattr(self, name) for name in ("difference", "low", "high", "p", "adjusted", "differ")}
        return pair_columns(self.systems, self.first, self.second, **numbers)

    def __str__(self) -> str:
        return "\n".join([f"{self.measure}: {self.sentence()}", *shown_notes(self.notes)])


def bootstrap_anova(
    data: Any,
    measure: Any = None,
    *,
    shards: bool = False,
    correction: str = CORRECTION,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> BootstrapAnova:
    r"""System effects and their differences, by resampling the residuals of the analysis of variance.

    With `shards`, `data` is {shard: scores}: the systems are scored on random parts of the documents, which are
    replicates of each topic and system. The model is then :math:`Y_{ijk} = \mu + \tau_i + \alpha_j + (\tau\alpha)_{ij}
    + \varepsilon_{ijk}`, so differences between systems on single topics no longer count as error. Without `shards`,
    it is (7) of Ferro & Maistro 2024.

    As Voorhees, Samarov & Soboroff do, residuals are drawn with replacement, added to the fitted scores, and the means
    of the systems are computed again, B times. Unlike theirs, residuals are first scaled by :math:`\sqrt{N /
    df_{Error}}`, because fitting shrinks them; p is that of the difference itself, :math:`(1 + \#\{|d^* - d| \ge
    |d|\}) / (1 + B)`, and ties count; intervals are percentiles of :math:`d^*`. By default Benjamini and Hochberg's
    `correction` keeps the share of false discoveries below α. A topic needs a score of every system on every shard;
    other topics are left out. The test assumes that all errors have the same distribution.

    Reference: Voorhees, Samarov & Soboroff, Using Replicates in Information Retrieval Evaluation, TOIS 36(2), 2017,
    doi:10.1145/3086701

    >>> result = bootstrap_anova([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6], [0.4, 0.4, 0.7]], resamples=1000)
    >>> print(result.sentence().partition(";")[0])
    3 of 3 pairs differ at α = 0.05 (benjamini-hochberg)
    """
    check_alpha("bootstrap_anova", alpha)
    check_resampling("bootstrap_anova", resamples, seed, None)
    correction = CORRECTIONS.find(correction).name
    matrices = _shards(data, measure) if shards else [Matrix.of(data, measure).complete()]
    matrix = matrices[0]
    cube = np.stack([shard.values for shard in matrices], axis=2)
    first, second = all_pairs(len(matrix.systems))
    settings = TestSettings(alpha=alpha, resamples=int(resamples), seed=int(seed), progress=progress)
    residuals, df = _residuals(cube)
    mean = np.asarray(cube.mean(axis=(0, 2)))
    state = _drawn(residuals, len(matrix.systems), settings)
    p, low, high = _test_pairs(mean, state.result, first, second, settings)
    ends = np.quantile(state.result, [alpha / 2, 1 - alpha / 2], axis=1)
    notes = (*matrix.notes, *state.notes)
    if not residuals.any():
        notes = (
            *notes,
            caution_note("there is no error variance: every difference other than 0 has the smallest p that B allows"),
        )
    return BootstrapAnova(
        measure=matrix.measure,
        systems=matrix.systems,
        mean=mean,
        mean_low=mean + ends[0],
        mean_high=mean + ends[1],
        first=first,
        second=second,
        difference=mean[first] - mean[second],
        low=low,
        high=high,
        p=p,
        adjusted=adjust(p, correction),
        correction=correction,
        alpha=alpha,
        topics=matrix.n,
        shards=len(matrices),
        error=float((residuals**2).mean()),
        df=df,
        resamples=state.done,
        seed=int(seed),
        notes=notes,
    )


def _shards(data: Any, measure: Any) -> list[Matrix]:
    """A matrix per shard, all with the same systems and topics."""
    if not isinstance(data, Mapping) or len(data) < 2:
        raise UsageError(f"shards=True needs {{shard: scores}} with 2 or more shards; it is {type(data).__name__}")
    parts = [Matrix.of(part, measure) for part in data.values()]
    first = parts[0]
    for name, part in zip(data, parts, strict=True):
        if set(part.systems) != set(first.systems):
            odd = sorted(set(part.systems) ^ set(first.systems))
            raise UsageError(f"shard {name!r} has other systems than the first: {listed(odd)}")
    parts = [part.select(first.systems) for part in parts]
    places = [{topic: at for at, topic in enumerate(part.topics)} for part in parts]
    shared = [topic for topic in first.topics if all(topic in place for place in places)]
    rows = [np.array([place[topic] for topic in shared], dtype=np.int64) for place in places]
    values = [part.values[row] for part, row in zip(parts, rows, strict=True)]
    whole = np.asarray(~np.any([np.isnan(scores).any(axis=1) for scores in values], axis=0))
    if not whole.any():
        raise UsageError(f"{first.measure}: no topic has a score of every system on every shard")
    notes = first.notes
    topics = tuple(compress(shared, whole))
    if len(topics) < first.n:
        lost = [topic for topic in first.topics if topic not in topics]
        notes = (
            *notes,
            caution_note(f"{len(lost)} of {first.n} topics left out: a score is missing somewhere ({listed(lost)})"),
        )
    return [Matrix(scores[whole], topics, first.systems, first.measure, notes) for scores in values]


def _residuals(cube: Array) -> tuple[Array, int]:
    """The residuals of topics × systems × shards, scaled to their mean square, and the degrees of freedom."""
    topics, systems, shards = cube.shape
    check_systems(systems, "the bootstrap analysis of variance")
    check_topics(topics, 2, "the bootstrap analysis of variance")
    if shards > 1:
        left = cube - cube.mean(axis=2, keepdims=True)
        df = topics * systems * (shards - 1)
    else:
        left = cube - cube.mean(axis=1, keepdims=True)
        left = left - left.mean(axis=0, keepdims=True)
        df = (topics - 1) * (systems - 1)
    left = np.where(np.abs(left) <= 1e-14 * np.abs(cube).max(), 0.0, left)
    return np.asarray(left.ravel() * math.sqrt(cube.size / df)), df


def _drawn(residuals: Array, systems: int, settings: TestSettings) -> Resampling:
    """The error of the mean of every system in every resample: systems × resamples."""
    most = _MOST_KEPT // systems
    if settings.resamples > most:
        limit = f"must be at most {most:,} for {systems:,} systems"
        raise UsageError(f"bootstrap-anova: resamples == {settings.resamples}, {limit}")
    size = len(residuals)
    rng = np.random.default_rng(settings.seed)

    def more(errors: Array, begin: int, end: int) -> Array:
        picked = residuals[rng.integers(0, size, (end - begin, size), dtype=np.int32)]
        errors[:, begin:end] = picked.reshape(end - begin, systems, -1).mean(axis=2).T
        return errors

    step = max(1, _BLOCK // size)
    state = resample(settings.resamples, step, np.empty((systems, settings.resamples)), more, settings.progress)
    return Resampling(state.total, state.result[:, : state.done], state.done)


def _test_pairs(
    mean: Array, errors: Array, first: Index64, second: Index64, settings: TestSettings
) -> tuple[Array, Array, Array]:
    """The p-value of every pair, and both ends of its interval."""
    difference = mean[first] - mean[second]
    difference = np.where(np.abs(difference) <= 1e-13 * np.abs(mean).max(initial=0.0), 0.0, difference)
    hits = np.empty(len(first), dtype=np.int64)
    ends = np.empty((2, len(first)))
    step = max(1, _BLOCK // errors.shape[1])
    for begin in range(0, len(first), step):
        part = slice(begin, begin + step)
        error = errors[first[part]] - errors[second[part]]
        d = difference[part, None]
        least = extremeness(d, settings.alternative) - _TIED * np.abs(d)
        hits[part] = (extremeness(error, settings.alternative) >= least).sum(axis=1)
        error.sort(axis=1)  # to read off quantiles, which is faster than np.quantile
        ends[:, part] = [_quantile(error, share) for share in (settings.alpha / 2, 1 - settings.alpha / 2)]
    return p_of(hits, errors.shape[1], settings.asl), difference + ends[0], difference + ends[1]


def _quantile(ordered: Array, share: float) -> Array:
    """A quantile of sorted rows, by linear interpolation."""
    position = share * (ordered.shape[1] - 1)
    low = math.floor(position)
    high = min(low + 1, ordered.shape[1] - 1)
    return np.asarray(ordered[:, low] + (position - low) * (ordered[:, high] - ordered[:, low]))


def each_and_together(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> tuple[Array, Array]:
    """The p-value of every pair alone, and that for all pairs together: of the range of the errors of all systems.

    The range is to the resampled errors what Tukey's studentised range is to normal ones.
    """
    residuals, _ = _residuals(matrix.values[:, :, None])
    mean = np.asarray(matrix.values.mean(axis=0))
    errors = _drawn(residuals, len(matrix.systems), settings).result
    each, _, _ = _test_pairs(mean, errors, first, second, settings)
    span = np.sort(errors.max(axis=0) - errors.min(axis=0))
    size = np.abs(mean[first] - mean[second])
    hits = len(span) - np.searchsorted(span, size * (1 - _TIED))
    return each, p_of(hits, len(span), settings.asl)


@pair_test(
    "bootstrap-anova",
    aliases=("anova-bootstrap", "banova"),
    function=bootstrap_anova,
    statistic="difference",
    correction=CORRECTION,
    resampling=True,
    complete=True,
    pooled=True,
    source="Voorhees, Samarov & Soboroff, TOIS 36(2), 2017",
)
def bootstrap_anova_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """Resampled residuals of the two-way model; all pairs share the resamples."""
    residuals, _ = _residuals(matrix.values[:, :, None])
    mean = np.asarray(matrix.values.mean(axis=0))
    state = _drawn(residuals, len(matrix.systems), settings)
    p, low, high = _test_pairs(mean, state.result, first, second, settings)
    n = np.full(len(first), matrix.n, dtype=np.int64)
    return PairTests(mean[first] - mean[second], p, low, high, n, resamples=state.done, notes=state.notes)
