"""The swap method: how often would another set of topics reverse the difference between two systems?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.resampling import check_resampling
from cranfield.errors import UsageError
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.complete_scores import CompleteScores, divided
from cranfield.meta.meta_record import Columns, MetaRecord, crossed, headings, report, rows_of, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Table
from cranfield.types import Array, Progress

Counts = NDArray[np.int64]

_BLOCK = 2_000_000
"""Number of differences held at a time, to bound memory; it does not change the result."""
_EDGE = 1e-9
"""In units of a bin's width: a difference that is below the edge of a bin by rounding only belongs above it."""


@dataclass(frozen=True, eq=False, repr=False)
class SwapRates(MetaRecord):
    """Swap rates by measure, size of the topic sets, and bin of the difference. Counts are measures × sizes × bins."""

    facts = ("width", "rate", "replacement", "systems", "topics", "resamples", "seed")

    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    """The number of topics in each of the two sets."""
    counts: Counts
    """The number of comparisons in each bin, by the first topic set."""
    swaps: Counts
    """The number of these that the second topic set did not confirm."""
    largest: Array
    """measures × sizes: the largest mean of any system on any of the topic sets."""
    width: float
    """The width of a bin; the last bin has no upper end."""
    rate: float
    """The swap rate that `required` must not exceed."""
    replacement: bool
    systems: int
    topics: int
    resamples: int
    seed: int
    selection_notes: tuple[str, ...]
    """Notes on the scores that were used."""

    @property
    def rates(self) -> Array:
        """measures × sizes × bins; NaN for an empty bin."""
        return divided(self.swaps, self.counts)

    @property
    def edges(self) -> Array:
        """The lower end of every bin."""
        return np.asarray(np.round(np.arange(self.counts.shape[2]) * self.width, 12))

    @property
    def required(self) -> Array:
        """measures × sizes: the difference above which no bin has a swap rate above `rate`; NaN if there is none."""
        return np.asarray(np.append(self.edges, np.nan)[self._at()])

    @property
    def satisfying(self) -> Array:
        """measures × sizes: the share of all comparisons whose difference is at least the required one."""
        reached = np.arange(self.counts.shape[2]) >= self._at()[..., None]
        return np.asarray(np.where(reached, self.counts, 0).sum(axis=2) / self.counts.sum(axis=2))

    @property
    def relative(self) -> Array:
        """measures × sizes: the required difference divided by the largest mean."""
        return divided(self.required, self.largest)

    def _at(self) -> NDArray[np.intp]:
        """measures × sizes: the first non-empty bin above the last one that swaps too often."""
        bins = self.counts.shape[2]
        filled = self.counts > 0
        bad = filled & (self.swaps > self.rate * self.counts * (1 + 1e-12))
        after = np.where(bad.any(axis=2), bins - np.argmax(bad[..., ::-1], axis=2), 0)
        good = filled & (np.arange(bins) >= after[..., None])
        return np.asarray(np.where(good.any(axis=2), np.argmax(good, axis=2), bins))

    def columns(self) -> Columns:
        """measure, size, difference (the lower end of the bin), count, swaps, rate."""
        axes = {"measure": self.measures, "size": self.sizes, "difference": self.edges}
        return crossed(axes, {"count": self.counts, "swaps": self.swaps, "rate": self.rates})

    def summary(self) -> Columns:
        """measure, size, required, largest, relative, satisfying; most discriminative first (Sakai 2007 Table 3)."""
        arrays = {name: getattr(self, name) for name in ("required", "largest", "relative", "satisfying")}
        columns = crossed({"measure": self.measures, "size": self.sizes}, arrays)
        order = np.lexsort((-columns["satisfying"], columns["size"]))
        return {name: column[order] for name, column in columns.items()}

    def table(self, digits: int | None = None) -> Table:
        """The five columns of Sakai 2007 Table 3, and the size of the topic sets if there are several.

        Percentages and means have `digits` decimals, by default those of Sakai 2007.
        """
        several = len(self.sizes) > 1
        whole, tenths, four = (0, 1, 4) if digits is None else (digits,) * 3
        rows: list[tuple[Cell, ...]] = []
        for measure, size, required, largest, relative, satisfying in rows_of(self.summary()):
            edge = _fixed(required, self._digits())
            cells = (edge, _fixed(largest, four), _fixed(relative, whole, "%"), _fixed(satisfying, tenths, "%"))
            rows.append((measure, *((str(size),) if several else ()), *cells))
        names = ["measure", *(["topics"] if several else []), "abs. diff.", "max.", "diff./max.", "% pairs satisfying"]
        return Table(headings("text", *names), tuple(rows), f"Swap rate ≤ {100 * self.rate:g}%", self.notes)

    def data(self) -> Table:
        """The same as plain numbers, for data formats."""
        return table_of(self.summary(), self.notes)

    def curves(self) -> Table:
        """A row per measure, size and bin."""
        return super().table()

    def _digits(self) -> int:
        """The number of decimals that the edges of bins need."""
        return next(digits for digits in range(13) if abs(round(self.width, digits) - self.width) < 1e-12)

    @property
    def notes(self) -> tuple[str, ...]:
        """How the swap rates were computed, and what the columns mean."""
        drawn = "with replacement (Sakai 2007 Fig. 4)" if self.replacement else "without replacement, disjoint"
        sizes = ", ".join(map(str, self.sizes))
        bins, digits = self.counts.shape[2], self._digits()
        method = (
            f"{self.systems} systems, {self.topics} topics; B = {self.resamples:,} pairs of sets of {sizes} topics "
            f"drawn {drawn}, seed {self.seed}"
        )
        rule = (
            f"{bins} bins of {self.width:.{digits}f}, the last from {self.edges[-1]:.{digits}f} up; a comparison is a "
            "swap unless both sets prefer the same system, so ties count as swaps"
        )
        meaning = (
            "abs. diff.: lower end of the first bin such that no swap rate from there on exceeds the limit; max.: the "
            "largest mean of a system on any set; % pairs: comparisons by the first set that reach abs. diff."
        )
        too_small = [
            f"{self.measures[m]} ({self.sizes[s]} topics)" if len(self.sizes) > 1 else self.measures[m]
            for m, s in np.argwhere(np.isnan(self.required)).tolist()
        ]
        none = (f"no difference is large enough for this swap rate: {', '.join(too_small)}",) if too_small else ()
        return (method, rule, meaning, *none, *self.selection_notes)


def swap_rates(
    scores: Scores,
    measures: Any = None,
    *,
    replacement: bool = True,
    sizes: int | Iterable[int] | None = None,
    resamples: int = 1_000,
    seed: int = 0,
    bins: int = 21,
    width: float = 0.01,
    rate: float = 0.05,
    progress: Progress | None = None,
) -> SwapRates:
    r"""How often a second set of topics contradicts the first on which of two systems is better, by their difference.

    .. math:: \text{swap rate}(i) = \frac{|\{(X, Y, b) : D^{*b} \in \text{bin}_i,\ D^{*b} D'^{*b} \le 0\}|}
        {|\{(X, Y, b) : D^{*b} \in \text{bin}_i\}|}

    D and D′ are the differences of two systems' means on two sets of topics. With `replacement` both sets are drawn
    from all n topics and have n each (Sakai 2007 Fig. 4). Without it, they are disjoint and have at most n/2 each, as
    in the original method, whose results hold only for that number of topics. `sizes`: one or several numbers of topics
    per set. A tie (D or D′ is 0) counts as a swap, as in that figure. `bins` of `width` hold |D|; the last also takes
    all larger values. The required difference is the one from which on no bin has a swap rate above `rate`. All
    measures share the same topic sets. Topics with an undefined score are left out for all measures.

    The relative difference is relative to the largest mean of any system on any set. Sakai 2007 §5.3 calls it the
    "maximum overall absolute difference", but the values in its Table 3, such as 1.0000 for RR, can only be means.

    References: Voorhees & Buckley, SIGIR 2002, doi:10.1145/564376.564432; Sakai 2007 §4.2

    >>> rng = np.random.default_rng(0)
    >>> values = np.array([0.2, 0.24, 0.4])[:, None] + rng.normal(0, 0.4, (3, 30))
    >>> result = swap_rates(Scores(["AP"], ["a", "b", "c"], map(str, range(30)), [values]))
    >>> result.required.tolist(), result.satisfying.round(2).tolist()
    ([[0.2]], [[0.54]])
    """
    check_resampling("swap_rates", resamples, seed, None)
    check.whole("swap_rates", bins=bins)
    check.positive("swap_rates", width=width)
    check.between("swap_rates", low=0, high=1, rate=rate)
    complete = CompleteScores.of(scores, "swap_rates", measures, least_measures=1)
    runs, topics = len(complete.runs), len(complete.topics)
    chosen = _sizes(sizes, topics, replacement)
    shape = (len(complete.measures), len(chosen), bins)
    counts, swaps = np.zeros((2, *shape), dtype=np.int64)
    largest = np.full(shape[:2], -np.inf)
    by_topic = np.ascontiguousarray(complete.values.reshape(-1, topics).T)
    close, sign = complete.close, [-1.0 if lower_is_better(name) else 1.0 for name in complete.measures]
    first, second = np.triu_indices(runs, 1)
    block = max(1, _BLOCK // len(first))
    done = 0
    for s, size in enumerate(chosen):
        for times in _draws(topics, size, replacement, resamples, seed, block):
            means = (times.reshape(-1, topics) @ by_topic / size).reshape(*times.shape[:2], *shape[:1], -1)
            means = np.ascontiguousarray(means.transpose(1, 2, 3, 0))  # 2 topic sets × measures × systems × resamples
            for m in range(shape[0]):
                largest[m, s] = max(largest[m, s], float((sign[m] * means[:, m]).max()))
                binned = _binned(means[0, m], means[1, m], first, second, float(close[m]), bins, width)
                counts[m, s] += binned.sum(axis=0)
                swaps[m, s] += binned[1]
            done += len(times)
            report(progress, done, len(chosen) * resamples)
    return SwapRates(
        complete.measures, chosen, counts, swaps, largest, width, rate, replacement, runs, topics, resamples, seed,
        complete.notes,
    )  # fmt: skip


def _sizes(sizes: int | Iterable[int] | None, topics: int, replacement: bool) -> tuple[int, ...]:
    """The numbers of topics per set; by default the largest possible."""
    most = topics if replacement else topics // 2
    if most < 1:
        raise UsageError(f"swap_rates: {topics} topic, two disjoint sets need 2 or more; or use replacement=True")
    if sizes is None:
        return (most,)
    chosen = [sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
    for size in chosen:
        check.whole("swap_rates", sizes=size)
        if size > most:
            limit = f"{topics} topics" if replacement else f"half of {topics} topics, as the two sets are disjoint"
            raise UsageError(f"swap_rates: sizes == {size}, must be at most {most} ({limit})")
    if not chosen:
        raise UsageError("swap_rates: sizes is empty; give a number of topics")
    return tuple(sorted({int(size) for size in chosen}))


def _draws(n: int, size: int, replacement: bool, resamples: int, seed: int, block: int) -> Iterator[Array]:
    """resamples × 2 × topics, `block` resamples at a time: how often each topic is in each set."""
    rng = np.random.default_rng(seed)
    for begin in range(0, resamples, block):
        count = min(block, resamples - begin)
        if replacement:
            yield rng.multinomial(size, np.full(n, 1 / n), size=(count, 2)).astype(np.float64)
            continue
        order = rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)
        times = np.zeros((count, 2, n))
        for side in (0, 1):
            np.put_along_axis(times[:, side], order[:, side * size : (side + 1) * size], 1.0, axis=1)
        yield times


def _binned(
    means: Array, other_means: Array, first: NDArray[Any], second: NDArray[Any], close: float, bins: int, width: float
) -> Counts:
    """2 × bins: comparisons that the other topic set confirms, and those that it does not.

    The means are systems × resamples.
    """
    d, again = means[first] - means[second], other_means[first] - other_means[second]
    size = np.abs(d)
    confirmed = (d > 0) == (again > 0)
    confirmed &= size > close
    confirmed &= np.abs(again) > close
    np.multiply(size, 1 / width, out=size)
    size += _EDGE
    np.minimum(size, bins - 1, out=size)
    index = size.astype(np.int64)
    index[~confirmed] += bins
    return np.bincount(index.ravel(), minlength=2 * bins).reshape(2, bins)


def _fixed(value: float, digits: int, unit: str = "f") -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}{unit}}"
