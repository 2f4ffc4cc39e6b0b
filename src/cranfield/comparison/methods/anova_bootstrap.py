"""Bootstrap analysis of variance: residuals of the model drawn again instead of assumed to be normal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import adjust, find_correction
from cranfield.comparison.data import Matrix, some
from cranfield.comparison.methods.resamples import Resampling, check_resampling, resample
from cranfield.comparison.registry import PairTests, TestSettings, pair_test
from cranfield.comparison.test_result import check_alpha, check_alternative, pair_table, pairs_differ
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.table import Table
from cranfield.types import Array, Index64, Progress

_BLOCK = 4_000_000
"""How many residuals, or differences, are held at a time; nothing that could change the answer depends on it."""
_MOST_KEPT = 50_000_000
"""Every system's mean in every resample is kept; so many need less than 1 GB."""
_TIED = 1e-9
"""Differences this close to the observed one, relative to it, count as reaching it."""


@dataclass(frozen=True, eq=False)
class BootstrapAnova(Record):
    """The means of systems with intervals, and all pairs of them, by the bootstrap analysis of variance."""

    measure: str
    systems: tuple[str, ...]
    mean: Array
    mean_low: Array
    mean_high: Array
    first: Index64
    second: Index64
    difference: Array
    low: Array
    high: Array
    p: Array
    adjusted: Array
    correction: str
    alpha: float
    topics: int
    shards: int
    error: float
    """The mean square of the residuals."""
    df: int
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Which pairs differ at α, after the correction."""
        return np.asarray(self.adjusted <= self.alpha)

    def sentence(self) -> str:
        """How many pairs differ, of how many."""
        model = "topic + system + topic:system" if self.shards > 1 else "topic + system"
        return (
            f"{pairs_differ(int(self.differ.sum()), len(self.p))} at α = {self.alpha:g} ({self.correction}); "
            f"bootstrap analysis of variance, {model}, B = {self.resamples:,}, seed {self.seed}"
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference, low, high, p, adjusted, differ; a row per pair."""
        names = np.array(self.systems, dtype=object)
        return {
            "first": names[self.first],
            "second": names[self.second],
            "difference": self.difference,
            "low": self.low,
            "high": self.high,
            "p": self.p,
            "adjusted": self.adjusted,
            "differ": self.differ,
        }

    def _metadata(self) -> dict[str, Any]:
        facts = ("measure", "correction", "alpha", "topics", "shards", "resamples", "seed")
        return {name: getattr(self, name) for name in facts}

    def table(self) -> Table:
        """A row per pair."""
        return pair_table(self.columns(), caption=self.sentence(), notes=self.notes)

    def __str__(self) -> str:
        return "\n".join([f"{self.measure}: {self.sentence()}", *self.notes])

    __repr__ = __str__


def bootstrap_anova(
    data: Any,
    measure: Any = None,
    *,
    shards: bool = False,
    correction: str = "benjamini-hochberg",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> BootstrapAnova:
    r"""System effects and their differences by resampling the residuals of the analysis of variance.

    With `shards`, `data` is {shard: scores}: systems scored on random parts of the documents, which are replicates of
    each topic and system. The model is then :math:`Y_{ijk} = \mu + \tau_i + \alpha_j + (\tau\alpha)_{ij} +
    \varepsilon_{ijk}`: what systems find hard in single topics no longer counts as error. Without, it is (7) of
    Ferro & Maistro 2024.

    Residuals are drawn with replacement from all of them and added to the fitted scores, B times, and the means of the
    systems taken anew, as Voorhees, Samarov & Soboroff do. Told apart from theirs: residuals are first scaled by
    :math:`\sqrt{N / df_{Error}}`, as fitting shrinks them; p is for the difference itself,
    :math:`(1 + \#\{|d^* - d| \ge |d|\}) / (1 + B)`, ties counted; the intervals are percentiles of :math:`d^*`. The
    share of false discoveries is kept below α by Benjamini and Hochberg's method, or `correction` names another.
    A topic needs a value for every system on every shard; others are left out. Assumes that errors are alike.

    Reference: Voorhees, Samarov & Soboroff, Using Replicates in Information Retrieval Evaluation, TOIS 36(2), 2017,
    doi:10.1145/3086701

    >>> found = bootstrap_anova([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6], [0.4, 0.4, 0.7]], resamples=1000)
    >>> print(found.sentence().partition(";")[0])
    3 of 3 pairs differ at α = 0.05 (benjamini-hochberg)
    """
    check_alpha("bootstrap_anova", alpha)
    check_resampling("bootstrap_anova", resamples, seed, None)
    how = find_correction(correction).name
    matrices = _shards(data, measure) if shards else [Matrix.of(data, measure).complete()]
    whole = matrices[0]
    cube = np.stack([matrix.values for matrix in matrices], axis=2)
    k = len(whole.systems)
    first, second = (index.astype(np.int64) for index in np.triu_indices(k, 1))
    asked = TestSettings("two-sided", 1 - alpha, int(resamples), int(seed), None, progress)
    residuals, df = _residuals(cube)
    mean = np.asarray(cube.mean(axis=(0, 2)))
    state = _drawn(residuals, k, asked)
    p, low, high = _judged(mean, state.found, first, second, asked)
    ends = np.quantile(state.found, [alpha / 2, 1 - alpha / 2], axis=1)
    notes = (*whole.notes, *state.notes())
    if not residuals.any():
        notes = (*notes, "no error is left: every difference that is not 0 is as significant as B allows")
    return BootstrapAnova(
        whole.measure,
        whole.systems,
        mean,
        mean + ends[0],
        mean + ends[1],
        first,
        second,
        mean[first] - mean[second],
        low,
        high,
        p,
        adjust(p, how),
        how,
        alpha,
        whole.n,
        len(matrices),
        float((residuals**2).mean()),
        df,
        state.done,
        int(seed),
        notes,
    )


def _shards(data: Any, measure: Any) -> list[Matrix]:
    """One matrix per shard, of the systems and topics that all have."""
    if not isinstance(data, Mapping) or len(data) < 2:
        raise UsageError(f"shards=True needs {{shard: scores}} with 2 or more shards; it is {type(data).__name__}")
    parts = [Matrix.of(part, measure) for part in data.values()]
    first = parts[0]
    for name, part in zip(data, parts, strict=True):
        if set(part.systems) != set(first.systems):
            odd = sorted(set(part.systems) ^ set(first.systems))
            raise UsageError(f"shard {name!r} has other systems than the first: {', '.join(odd[:5])}")
    parts = [part.select(first.systems) for part in parts]
    shared = [topic for topic in first.topics if all(topic in part.topics for part in parts)]
    rows = [np.array([part.topics.index(topic) for topic in shared], dtype=np.int64) for part in parts]
    values = [part.values[row] for part, row in zip(parts, rows, strict=True)]
    kept = np.asarray(~np.any([np.isnan(one).any(axis=1) for one in values], axis=0))
    if not kept.any():
        raise UsageError(f"{first.measure}: no topic has a value for every system on every shard")
    notes = first.notes
    if not kept.all() or len(shared) < first.n:
        lost = first.n - int(kept.sum())
        notes = (*notes, f"{lost} of {first.n} topics left out: no value somewhere ({some(shared, ~kept)})")
    topics = tuple(topic for topic, keep in zip(shared, kept.tolist(), strict=True) if keep)
    return [Matrix(one[kept], topics, first.systems, first.measure, notes) for one in values]


def _residuals(cube: Array) -> tuple[Array, int]:
    """What the model leaves of topics × systems × shards, scaled to its mean square, and the degrees of freedom."""
    topics, systems, shards = cube.shape
    if systems < 2:
        raise UsageError(f"{systems} system, the bootstrap analysis of variance needs 2 or more")
    if topics < 2:
        raise UsageError(f"{topics} topic, the bootstrap analysis of variance needs 2 or more")
    if shards > 1:
        left = cube - cube.mean(axis=2, keepdims=True)
        df = topics * systems * (shards - 1)
    else:
        left = cube - cube.mean(axis=1, keepdims=True)
        left = left - left.mean(axis=0, keepdims=True)
        df = (topics - 1) * (systems - 1)
    left = np.where(np.abs(left) <= 1e-14 * np.abs(cube).max(), 0.0, left)
    return np.asarray(left.ravel() * math.sqrt(cube.size / df)), df


def _drawn(residuals: Array, systems: int, asked: TestSettings) -> Resampling:
    """The error of every system's mean in every resample, systems × resamples, and how many resamples were drawn."""
    most = _MOST_KEPT // systems
    if asked.resamples > most:
        raise UsageError(
            f"bootstrap-anova: resamples == {asked.resamples}, must be at most {most:,} for {systems:,} systems"
        )
    size = len(residuals)
    rng = np.random.default_rng(asked.seed)

    def more(out: Array, begin: int, end: int) -> Array:
        picked = residuals[rng.integers(0, size, (end - begin, size), dtype=np.int32)]
        out[:, begin:end] = picked.reshape(end - begin, systems, -1).mean(axis=2).T
        return out

    step = max(1, _BLOCK // size)
    state = resample(asked.resamples, step, np.empty((systems, asked.resamples)), more, asked.progress)
    return Resampling(state.total, state.found[:, : state.done], state.done)


def _judged(
    mean: Array, drawn: Array, first: Index64, second: Index64, asked: TestSettings
) -> tuple[Array, Array, Array]:
    """p, and the ends of the interval, of every pair."""
    check_alternative("bootstrap-anova", asked.alternative)
    difference = mean[first] - mean[second]
    difference = np.where(np.abs(difference) <= 1e-13 * np.abs(mean).max(initial=0.0), 0.0, difference)
    hits = np.empty(len(first), dtype=np.int64)
    ends = np.empty((2, len(first)))
    quantiles = [(1 - asked.level) / 2, (1 + asked.level) / 2]
    step = max(1, _BLOCK // drawn.shape[1])
    for begin in range(0, len(first), step):
        part = slice(begin, begin + step)
        error = drawn[first[part]] - drawn[second[part]]
        d = difference[part, None]
        if asked.alternative == "two-sided":
            reached = np.abs(error) >= np.abs(d) * (1 - _TIED)
        elif asked.alternative == "greater":
            reached = error >= d - _TIED * np.abs(d)
        else:
            reached = error <= d + _TIED * np.abs(d)
        hits[part] = reached.sum(axis=1)
        error.sort(axis=1)  # then a quantile is read off; faster than np.quantile's partitions
        ends[:, part] = [_read_off(error, share) for share in quantiles]
    return (1 + hits) / (1 + drawn.shape[1]), difference + ends[0], difference + ends[1]


def _read_off(ordered: Array, share: float) -> Array:
    """A quantile of sorted rows, between two entries in proportion."""
    position = share * (ordered.shape[1] - 1)
    low = math.floor(position)
    high = min(low + 1, ordered.shape[1] - 1)
    return np.asarray(ordered[:, low] + (position - low) * (ordered[:, high] - ordered[:, low]))


@pair_test(
    "bootstrap-anova",
    aliases=("anova-bootstrap", "banova"),
    function=bootstrap_anova,
    statistic="difference",
    resampling=True,
    complete=True,
    source="Voorhees, Samarov & Soboroff, TOIS 36(2), 2017",
)
def _bootstrap_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    """Residuals of the two-way model, the same resamples for all pairs."""
    residuals, _ = _residuals(matrix.values[:, :, None])
    mean = np.asarray(matrix.values.mean(axis=0))
    state = _drawn(residuals, len(matrix.systems), asked)
    p, low, high = _judged(mean, state.found, first, second, asked)
    n = np.full(len(first), matrix.n, dtype=np.int64)
    return PairTests(mean[first] - mean[second], p, low, high, n, resamples=state.done, notes=state.notes())
