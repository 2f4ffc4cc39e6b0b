"""The swap method: how often would another set of topics turn the difference between two systems round?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.resampling import check_resampling
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.rankings import Panel
from cranfield.meta.stability.discrimination import rows_of, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table
from cranfield.types import Array

Counts = NDArray[np.int64]

_BLOCK = 2_000_000
"""How many differences are held at a time; bounds memory, and changes no answer."""
_EDGE = 1e-9
"""A difference that is below the edge of a bin by rounding only belongs above it; in units of a bin's width."""


@dataclass(frozen=True, eq=False, repr=False)
class SwapRates(Tidy):
    """Swap rates by measure, size of the topic sets, and bin of the difference. Counts are measures × sizes × bins.

    `columns` has a row per measure, size and bin: the curves. `summary` has one per measure and size (Sakai 2007
    Table 3).
    """

    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    """How many topics each of the two sets has."""
    counts: Counts
    """How many comparisons fell into each bin, by the first topic set."""
    swaps: Counts
    """How many of these the second topic set did not confirm."""
    largest: Array
    """measures × sizes: the largest mean of any system on any of the topic sets."""
    width: float
    """Of the bins; the last has no upper end."""
    rate: float
    """The swap rate that is asked for."""
    replacement: bool
    systems: int
    topics: int
    resamples: int
    seed: int
    notes: tuple[str, ...]

    @property
    def rates(self) -> Array:
        """measures × sizes × bins; NaN where nothing fell into a bin."""
        return np.asarray(np.where(self.counts > 0, self.swaps / np.maximum(self.counts, 1), np.nan))

    @property
    def edges(self) -> Array:
        """The lower end of every bin."""
        return np.asarray(np.round(np.arange(self.counts.shape[2]) * self.width, 12))

    @property
    def required(self) -> Array:
        """measures × sizes: the difference from which on no bin has a swap rate above `rate`; NaN if there is none."""
        return np.where(self._at() < self.counts.shape[2], np.append(self.edges, np.nan)[self._at()], np.nan)

    @property
    def satisfying(self) -> Array:
        """measures × sizes: the share of all comparisons whose difference is as large as required; 0 if none can be."""
        total = self.counts.sum(axis=2)
        bins = np.arange(self.counts.shape[2])
        reached = np.where(bins >= self._at()[..., None], self.counts, 0).sum(axis=2)
        return np.asarray(reached / total)

    @property
    def relative(self) -> Array:
        """measures × sizes: the difference required over the largest mean seen."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = self.required / self.largest
        return np.asarray(np.where(self.largest > 0, share, np.nan))

    def _at(self) -> NDArray[np.intp]:
        """measures × sizes: the first bin with comparisons in it above the last that swaps too often."""
        bins = self.counts.shape[2]
        there = self.counts > 0
        bad = there & (self.swaps > self.rate * self.counts * (1 + 1e-12))
        after = np.where(bad.any(axis=2), bins - np.argmax(bad[..., ::-1], axis=2), 0)
        good = there & (np.arange(bins) >= after[..., None])
        return np.asarray(np.where(good.any(axis=2), np.argmax(good, axis=2), bins))

    # -- as data

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, size, difference (the lower end of the bin), count, swaps, rate."""
        m, s, b = (index.ravel() for index in np.indices(self.counts.shape))
        return {
            "measure": np.array(self.measures, dtype=object)[m],
            "size": np.array(self.sizes)[s],
            "difference": self.edges[b],
            "count": self.counts.ravel(),
            "swaps": self.swaps.ravel(),
            "rate": self.rates.ravel(),
        }

    def summary(self) -> dict[str, NDArray[Any]]:
        """measure, size, required, largest, relative, satisfying; most discriminative first (Sakai 2007 Table 3)."""
        m, s = (index.ravel() for index in np.indices(self.required.shape))
        order = np.lexsort((-self.satisfying.ravel(), s))
        values = {"required": self.required, "largest": self.largest, "relative": self.relative}
        return {
            "measure": np.array(self.measures, dtype=object)[m][order],
            "size": np.array(self.sizes)[s][order],
            **{name: array.ravel()[order] for name, array in values.items()},
            "satisfying": self.satisfying.ravel()[order],
        }

    def _metadata(self) -> dict[str, Any]:
        facts = ("width", "rate", "replacement", "systems", "topics", "resamples", "seed")
        return {**{name: getattr(self, name) for name in facts}, "notes": list(self.told())}

    # -- as tables

    def table(self, digits: int | None = None) -> Table:
        """The five columns of Sakai 2007 Table 3, and the size of the topic sets where there are several.

        Shares are percentages with `digits` decimals, as are means; left out, as in Sakai 2007.
        """
        several = len(self.sizes) > 1
        whole, tenths, four = (0, 1, 4) if digits is None else (digits,) * 3
        rows: list[tuple[Cell, ...]] = []
        for measure, size, required, largest, relative, satisfying in rows_of(self.summary()):
            edge = _shown(required, self._digits())
            cells = (edge, _shown(largest, four), _percent(relative, whole), _percent(satisfying, tenths))
            rows.append((measure, *((str(size),) if several else ()), *cells))
        heads = ["abs. diff.", "max.", "diff./max.", "% pairs satisfying"]
        names = ["measure", *(["topics"] if several else []), *heads]
        return Table(tuple(map(Column, names)), tuple(rows), f"Swap rate ≤ {100 * self.rate:g}%", self.told())

    def data(self) -> Table:
        """The same as plain numbers, for formats that programs read."""
        return table_of(self.summary(), self.told())

    def curves(self) -> Table:
        """A row per measure, size and bin."""
        return table_of(self.columns(), self.told())

    def _digits(self) -> int:
        """Decimals that tell the edges of bins apart."""
        return max(0, next(d for d in range(13) if abs(round(self.width, d) - self.width) < 1e-12))

    def told(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        how = "with replacement (Sakai 2007 Fig. 4)" if self.replacement else "without replacement, disjoint"
        sizes = ", ".join(map(str, self.sizes))
        bins, digits = self.counts.shape[2], self._digits()
        method = (
            f"{self.systems} systems, {self.topics} topics; B = {self.resamples:,} pairs of sets of {sizes} topics "
            f"drawn {how}, seed {self.seed}"
        )
        rule = (
            f"{bins} bins of {self.width:.{digits}f}, the last from {self.edges[-1]:.{digits}f} up; a comparison is a "
            "swap unless both sets prefer the same system, so ties count as swaps"
        )
        needed = (
            "abs. diff.: lower end of the first bin from which on no swap rate is above the one asked for; max.: the "
            "largest mean of a system on any set; % pairs: comparisons by the first set that reach abs. diff."
        )
        lost = [
            f"{measure} ({size} topics)" if len(self.sizes) > 1 else measure
            for measure, row in zip(self.measures, self.required, strict=True)
            for size, one in zip(self.sizes, row.tolist(), strict=True)
            if math.isnan(one)
        ]
        notes = (f"no difference is large enough for this swap rate: {', '.join(lost)}",) if lost else ()
        return (method, rule, needed, *notes, *self.notes)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table().html()


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
    progress: Callable[[int, int], None] | None = None,
) -> SwapRates:
    r"""How often a second set of topics contradicts the first on which of two systems is better, by their difference.

    .. math:: \text{swap rate}(i) = \frac{|\{(X, Y, b) : D^{*b} \in \text{bin}_i,\ D^{*b} D'^{*b} \le 0\}|}
        {|\{(X, Y, b) : D^{*b} \in \text{bin}_i\}|}

    D and D′ are differences of two systems' means on two sets of topics. With `replacement` both are drawn from all n
    topics and have n each (Sakai 2007 Fig. 4); without, they are disjoint and have at most n/2 each, as in the original
    method, whose results hold for so many topics only. `sizes`: how many topics each set has, one or several numbers.
    A tie (D or D′ is 0) counts as a swap, as it does in that figure. `bins` of `width` hold |D|; the last takes all
    that is larger. `rate` is the swap rate that the difference required must guarantee: no bin from there on has more.
    All measures get the same topic sets; topics on which some measure is undefined for some run are left out for all.

    The relative difference is over the largest mean of any system on any set. Sakai 2007 §5.3 calls it the "maximum
    overall absolute difference", but the values in its Table 3, such as 1.0000 for RR, can only be means.

    References: Voorhees & Buckley, SIGIR 2002, doi:10.1145/564376.564432; Sakai 2007 §4.2

    >>> rng = np.random.default_rng(0)
    >>> values = np.array([0.2, 0.24, 0.4])[:, None] + rng.normal(0, 0.4, (3, 30))
    >>> found = swap_rates(Scores(["AP"], ["a", "b", "c"], map(str, range(30)), [values]))
    >>> found.required.tolist(), found.satisfying.round(2).tolist()
    ([[0.2]], [[0.54]])
    """
    check_resampling("swap_rates", resamples, seed, None)
    check.whole("swap_rates", bins=bins)
    check.positive("swap_rates", width=width)
    check.between("swap_rates", low=0, high=1, rate=rate)
    panel = Panel.of(scores, "swap_rates", measures, several=1)
    chosen = _sizes(sizes, len(panel.topics), replacement)
    shape = (len(panel.measures), len(chosen), bins)
    found, swapped = np.zeros((2, *shape), dtype=np.int64)
    largest = np.full(shape[:2], -np.inf)
    by_topic = np.ascontiguousarray(panel.values.reshape(-1, len(panel.topics)).T)
    close, better = panel.close, [-1.0 if lower_is_better(name) else 1.0 for name in panel.measures]
    first, second = np.triu_indices(len(panel.runs), 1)
    block = max(1, _BLOCK // len(first))
    done, total = 0, len(chosen) * resamples
    for s, size in enumerate(chosen):
        for times in _draws(len(panel.topics), size, replacement, resamples, seed, block):
            # 2 topic sets × measures × systems × resamples
            means = (times.reshape(-1, len(panel.topics)) @ by_topic / size).reshape(*times.shape[:2], *shape[:1], -1)
            means = np.ascontiguousarray(means.transpose(1, 2, 3, 0))
            for m in range(shape[0]):
                largest[m, s] = max(largest[m, s], float((better[m] * means[:, m]).max()))
                binned = _binned(means[0, m], means[1, m], first, second, float(close[m]), bins, width)
                found[m, s] += binned.sum(axis=0)
                swapped[m, s] += binned[1]
            done += len(times)
            if progress is not None:
                progress(done, total)
    return SwapRates(
        panel.measures,
        chosen,
        found,
        swapped,
        largest,
        width,
        rate,
        replacement,
        len(panel.runs),
        len(panel.topics),
        resamples,
        seed,
        panel.notes,
    )


def _sizes(sizes: int | Iterable[int] | None, topics: int, replacement: bool) -> tuple[int, ...]:
    """How many topics a set may have; by default as many as possible."""
    most = topics if replacement else topics // 2
    if most < 1:
        raise UsageError(f"swap_rates: {topics} topic, two disjoint sets need 2 or more; or say replacement=True")
    if sizes is None:
        return (most,)
    asked = [sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
    for size in asked:
        check.whole("swap_rates", sizes=size)
        if size > most:
            limit = f"{topics} topics" if replacement else f"half of {topics} topics, as the two sets are disjoint"
            raise UsageError(f"swap_rates: sizes == {size}, must be at most {most} ({limit})")
    if not asked:
        raise UsageError("swap_rates: sizes is empty; give a number of topics")
    return tuple(sorted({int(size) for size in asked}))


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
    one: Array, other: Array, first: NDArray[Any], second: NDArray[Any], close: float, bins: int, width: float
) -> Counts:
    """2 × bins: comparisons that the other topic set confirms, and those that it does not; systems × resamples in."""
    d, again = one[first] - one[second], other[first] - other[second]
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


def _shown(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _percent(share: float, digits: int) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f}%"
