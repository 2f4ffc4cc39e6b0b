"""The swap method: how often would another set of topics reverse the difference between two systems?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.declared.operation import RESAMPLES, Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.complete_scores import CompleteScores, divided
from cranfield.notes import Notes, method_note
from cranfield.record import Columns, Record, crossed, entries_of, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Table, headings
from cranfield.types import Array, Progress, report

Counts = NDArray[np.int64]

_BLOCK = 2_000_000
"""Number of differences held at a time, to bound memory; it does not change the result."""
_EDGE = 1e-9
"""In units of a bin's width: a difference that is below the edge of a bin by rounding only belongs above it."""
DISJOINT = about(
    "Draw both sets of topics from all topics, with replacement.",
    off="Use two sets without a common topic, at most half of the topics each (Voorhees & Buckley); default: draw both "
    "from all topics, with replacement.",
    spelled="--disjoint",
)
SIZES = about("The number of topics in each set; default: as many as possible.", least=1, spelled="--size, -n N,N,...")
LEAST = 100
"""The least number of comparisons that must reach a difference for it to be the required one."""
_GROUPS = 1_000
"""The most groups of topic sets that are drawn again for the intervals, to bound memory."""
_REPEATS = 1_000
"""How often they are drawn again."""


@dataclass(frozen=True, eq=False, repr=False)
class SwapRates(Record):
    """Swap rates by measure, size of the topic sets, and bin of the difference. Counts are measures × sizes × bins."""

    figure = "swap_figure"
    facts = (
        "width", "rate", "level", "replacement", "systems", "topics", "resamples", "seed", "fuzziness", "significant",
    )  # fmt: skip

    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    """The number of topics in each of the two sets."""
    counts: Counts
    """The number of comparisons in each bin, by the first topic set."""
    swaps: Counts
    """The number of these that the second topic set did not confirm."""
    largest: Array
    """measures × sizes: the largest mean of any system on any of the topic sets."""
    interval: Array
    """2 × measures × sizes: both ends of the interval of `required`; infinite where no difference is large enough."""
    width: float
    """The width of a bin; the last bin has no upper end."""
    rate: float
    """The swap rate that `required` must not exceed."""
    level: float
    """The level of the interval."""
    replacement: bool
    systems: int
    topics: int
    resamples: int
    seed: int
    selection_notes: tuple[str, ...]
    """Notes on the scores that were used."""
    errors: Array
    """measures × sizes: the share of comparisons, by the first set, with the less frequent order of their pair."""
    equal: Array
    """measures × sizes: the share of comparisons, by the first set, whose difference is within the fuzziness."""
    fuzziness: float
    """The share of the larger mean up to which a difference counts as none."""
    significant: float | None
    """The level of the t test that a comparison had to pass; None: all comparisons count."""

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
        """measures × sizes: the least difference whose smoothed swap rate is at most `rate`; NaN if there is none."""
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

    @property
    def thin(self) -> NDArray[np.bool_]:
        """measures × sizes: does the bin of the required difference, or the one below, have few comparisons?"""
        at = np.minimum(self._at(), self.counts.shape[2] - 1)
        pair = np.take_along_axis(self.counts, np.stack([at, np.maximum(at - 1, 0)], axis=2), axis=2)
        return np.asarray((pair < LEAST).any(axis=2) & ~np.isnan(self.required))

    def _at(self) -> NDArray[np.intp]:
        return first_low_bin(self.counts, self.swaps, self.rate)

    def columns(self) -> Columns:
        """measure, size, difference (the lower end of the bin), count, swaps, rate."""
        axes = {"measure": self.measures, "size": self.sizes, "difference": self.edges}
        return crossed(axes, {"count": self.counts, "swaps": self.swaps, "rate": self.rates})

    def summary(self) -> Columns:
        """measure, size, required, low, high, largest, relative, satisfying; most discriminative first.

        The columns of Sakai 2007 Table 3, and the interval of the required difference.
        """
        ends = dict(zip(("low", "high"), self.interval, strict=True))
        arrays = {"required": self.required, **ends, "largest": self.largest}
        arrays |= {"relative": self.relative, "satisfying": self.satisfying}
        columns = crossed({"measure": self.measures, "size": self.sizes}, arrays)
        order = np.lexsort((-columns["satisfying"], columns["size"]))
        return {name: column[order] for name, column in columns.items()}

    def table(self, digits: int | None = None) -> Table:
        """The five columns of Sakai 2007 Table 3, an interval, and the size of the topic sets if there are several.

        Percentages and means have `digits` decimals, by default those of Sakai 2007.
        """
        several = len(self.sizes) > 1
        whole, tenths, four = (0, 1, 4) if digits is None else (digits,) * 3
        rows: list[tuple[Cell, ...]] = []
        for measure, size, required, low, high, largest, relative, satisfying in entries_of(self.summary()):
            edge, *ends = (_fixed(value, self._digits()) for value in (required, low, high))
            shares = (_fixed(relative, whole, "%"), _fixed(satisfying, tenths, "%"))
            cells = (edge, f"[{ends[0]}, {ends[1]}]", _fixed(largest, four), *shares)
            rows.append((measure, *((str(size),) if several else ()), *cells))
        names = ["measure", *(["topics"] if several else []), "abs. diff.", f"{100 * self.level:g}% interval"]
        names += ["max.", "diff./max.", "% pairs satisfying"]
        return Table(headings("text", *names), tuple(rows), f"Swap rate ≤ {100 * self.rate:g}%", self.notes)

    def data(self) -> Table:
        """The same as plain numbers, for data formats."""
        return table_of(self.summary(), notes=self.notes)

    def curves(self) -> Table:
        """A row per measure, size and bin."""
        return super().table()

    def error_table(self) -> Table:
        """measure, size, error, equal: the error rate of Buckley & Voorhees; fewest errors first."""
        columns = crossed({"measure": self.measures, "size": self.sizes}, {"error": self.errors, "equal": self.equal})
        order = np.lexsort((columns["error"], columns["size"]))
        error = method_note(
            "error: the share of sets that order two systems in the way that fewer sets do; equal: the share in which "
            f"they differ by at most {100 * self.fuzziness:g}% of the larger mean"
        )
        return table_of({name: column[order] for name, column in columns.items()}, notes=(error, *self._drawing()))

    def _digits(self) -> int:
        """The number of decimals that the edges of bins need."""
        return next(digits for digits in range(13) if abs(round(self.width, digits) - self.width) < 1e-12)

    def _drawing(self) -> tuple[str, ...]:
        """How the topic sets were drawn, and which comparisons count."""
        drawn = "with replacement (Sakai 2007 Fig. 4)" if self.replacement else "without replacement, disjoint"
        sizes = ", ".join(map(str, self.sizes))
        method = method_note(
            f"{self.systems} systems, {self.topics} topics; B = {self.resamples:,} pairs of sets of {sizes} topics "
            f"drawn {drawn}, seed {self.seed}"
        )
        return (method,)

    @property
    def notes(self) -> tuple[str, ...]:
        """How the swap rates were computed, and what the columns mean."""
        bins, digits = self.counts.shape[2], self._digits()
        rule = method_note(
            f"{bins} bins of {self.width:.{digits}f}, the last from {self.edges[-1]:.{digits}f} up; a comparison is a "
            "swap unless both sets prefer the same system, so ties count as swaps"
        )
        meaning = method_note(
            "abs. diff.: lower end of the first bin whose swap rate is within the limit, with rates smoothed so that "
            f"they do not rise with the difference, if {LEAST} comparisons or more reach it; max.: the largest mean of "
            "a system on any set; % pairs: comparisons by the first set that reach abs. diff."
        )
        interval = method_note(
            f"{100 * self.level:g}% interval of abs. diff. over the pairs of sets, drawn again: what more of them "
            "could change"
        )
        chosen: tuple[str, ...] = ()
        if self.significant is not None:
            share = self.counts.sum() / (self.systems * (self.systems - 1) / 2 * self.resamples * self.largest.size)
            test = f"paired t test on the first set has p ≤ {self.significant:g}"
            chosen = (method_note(f"only comparisons count whose {test}: {100 * share:.1f}% of them"),)
        none = self._named(np.isnan(self.required))
        few = self._named(self.thin)
        cautions = Notes()
        if none:
            cautions.caution(f"no difference is large enough for this swap rate, or too few comparisons are: {none}")
        if few:
            advice = "use more resamples or wider bins"
            cautions.caution(f"caution: fewer than {LEAST} comparisons in the bins that decide, {advice}: {few}")
        return (*self._drawing(), *chosen, rule, meaning, interval, *cautions, *self.selection_notes)

    def _named(self, chosen: NDArray[np.bool_]) -> str:
        """Some measures, with the size of the topic sets if there are several."""
        several = len(self.sizes) > 1
        pairs = ((self.measures[m], self.sizes[s]) for m, s in np.argwhere(chosen).tolist())
        return ", ".join(f"{measure} ({size} topics)" if several else measure for measure, size in pairs)


def falling_rates(counts: NDArray[Any], swaps: NDArray[Any]) -> Array:
    r"""The rates of bins (last axis) by isotonic regression: neighbouring bins whose rates rise are pooled.

    .. math:: \min_{a \le i} \max_{b \ge i} \frac{\sum_{j=a}^b swaps_j}{\sum_{j=a}^b counts_j}

    An empty bin has the rate of a bin next to it. NaN if all are empty.

    >>> falling_rates(np.array([10, 10, 2, 10]), np.array([6, 1, 1, 1])).round(3).tolist()
    [0.6, 0.167, 0.167, 0.1]
    """
    count, swapped = (
        np.concatenate([np.zeros((*array.shape[:-1], 1)), np.cumsum(array, axis=-1)], axis=-1)
        for array in (counts, swaps)
    )
    n = counts.shape[-1]
    best = np.full(counts.shape, np.nan)
    for a in range(n):
        rates = divided(swapped[..., a + 1 :] - swapped[..., a, None], count[..., a + 1 :] - count[..., a, None])
        highest = np.fmax.accumulate(rates[..., ::-1], axis=-1)[..., ::-1]  # over all b ≥ i
        best[..., a:] = np.fmin(best[..., a:], highest)
    return best


def first_low_bin(counts: NDArray[Any], swaps: NDArray[Any], rate: float) -> NDArray[np.intp]:
    """The first bin (last axis) that is not empty and has a smoothed rate within the limit; the number of bins if none.

    At least `LEAST` comparisons must be in this bin and above.
    """
    enough = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1] >= LEAST
    low = (falling_rates(counts, swaps) <= rate * (1 + 1e-12)) & (counts > 0) & enough
    return np.asarray(np.where(low.any(axis=-1), np.argmax(low, axis=-1), counts.shape[-1]))


@takes_runs
@operation
def swap_rates(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    rate: Annotated[float, about("The highest swap rate allowed.", least=0, most=1, spelled="--rate R")] = 0.05,
    replacement: Annotated[bool, DISJOINT] = True,
    sizes: Annotated[int | Sequence[int] | None, SIZES] = None,
    bins: Annotated[int, about("The number of bins of differences.", least=1, rare=True)] = 21,
    width: Annotated[float, about("The width of a bin.", above=0, spelled="--bin-width W", rare=True)] = 0.01,
    significant: Annotated[
        float | None,
        about(
            "Count only comparisons whose paired t test on the first set has a p-value up to this (Sanderson & Zobel).",
            above=0,
            below=1,
            spelled="--significant ALPHA",
        ),
    ] = None,
    fuzziness: Annotated[
        float,
        about(
            "For error rates: systems whose means differ by up to this share of the larger are equal.",
            least=0,
            most=1,
            rare=True,
        ),
    ] = 0.05,
    level: Level = 0.95,
    resamples: Annotated[int, about("The number of pairs of topic sets.", **RESAMPLES)] = 1_000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> SwapRates:
    r"""How often a second set of topics contradicts the first on which of two systems is better, by their difference.

    .. math:: \text{swap rate}(i) = \frac{|\{(X, Y, b) : D^{*b} \in \text{bin}_i,\ D^{*b} D'^{*b} \le 0\}|}
        {|\{(X, Y, b) : D^{*b} \in \text{bin}_i\}|}

    D and D′ are the differences of two systems' means on two sets of topics. With `replacement` both sets are drawn
    from all n topics and have n each (Sakai 2007 Fig. 4). Without it, they are disjoint and have at most n/2 each, as
    in the original method, whose results hold only for that number of topics. `sizes`: one or several numbers of topics
    per set. A tie (D or D′ is 0) counts as a swap, as in that figure. `bins` of `width` hold |D|; the last also takes
    all larger values. All measures share the same topic sets. Topics with an undefined score are left out for all
    measures.

    The required difference is the lower end of the first bin whose swap rate is at most `rate`. Rates are smoothed, so
    that they do not rise with the difference (isotonic regression, weighted by the comparisons in each bin), and 100
    comparisons or more must reach the difference: a bin with a handful of comparisons cannot decide. The interval at
    `level` draws the pairs of topic sets again: it shows what more resamples could change, not what other topics could.

    The relative difference is relative to the largest mean of any system on any set. Sakai 2007 §5.3 calls it the
    "maximum overall absolute difference", but the values in its Table 3, such as 1.0000 for RR, can only be means.

    `significant` filters comparisons before they are counted, as Sanderson and Zobel do: a comparison counts only if
    the paired t test on the first set is significant at this level. A topic that was drawn twice is two topics to the
    test.

    `errors` are the error rates that Buckley and Voorhees used before the swap method. Over the first sets, it counts
    how often X is better, Y is better, or their means differ by at most `fuzziness` of the larger:

    .. math:: \text{error} = \frac{\sum_{X,Y} \min(|X > Y|, |X < Y|)}{\sum_{X,Y} |X > Y| + |X < Y| + |X = Y|}, \quad
        \text{equal} = \frac{\sum_{X,Y} |X = Y|}{\sum_{X,Y} |X > Y| + |X < Y| + |X = Y|}

    All pairs count in it, with and without `significant`. Sets of all topics drawn without replacement would all be the
    same, so give `sizes`; the definitions of filter and error rate are stated without their papers at hand.

    References: Voorhees & Buckley, SIGIR 2002, doi:10.1145/564376.564432; Sakai 2007 §4.2; Buckley & Voorhees, SIGIR
    2000, 33-40, doi:10.1145/345508.345543 (error rate); Sanderson & Zobel, SIGIR 2005, 162-169,
    doi:10.1145/1076034.1076064 (filter)

    >>> rng = np.random.default_rng(0)
    >>> values = np.array([0.2, 0.24, 0.4])[:, None] + rng.normal(0, 0.4, (3, 30))
    >>> result = swap_rates(Scores(["AP"], ["a", "b", "c"], map(str, range(30)), [values]))
    >>> result.required.tolist(), result.satisfying.round(2).tolist()
    ([[0.2]], [[0.54]])
    """
    complete = CompleteScores.of(scores, "swap_rates", measures, least_measures=1)
    runs, topics = len(complete.runs), len(complete.topics)
    chosen = _sizes(sizes, topics, replacement)
    shape = (len(complete.measures), len(chosen), bins)
    groups = min(resamples, _GROUPS)
    binned = np.zeros((*shape[:2], groups, 2, bins), dtype=np.int64)  # confirmed comparisons, and swaps
    largest = np.full(shape[:2], -np.inf)
    orders = np.zeros((*shape[:2], 2, math.comb(runs, 2)), dtype=np.int64)  # X better, Y better
    by_topic = np.ascontiguousarray(complete.values.reshape(-1, topics).T)
    close, sign = complete.close, complete.sign
    first, second = np.triu_indices(runs, 1)
    block = max(1, _BLOCK // len(first))
    done = 0
    for s, size in enumerate(chosen):
        begin = 0
        for times in _draws(topics, size, replacement, resamples, seed, block):
            group = np.arange(begin, begin + len(times)) * groups // resamples
            begin += len(times)
            means = (times.reshape(-1, topics) @ by_topic / size).reshape(*times.shape[:2], *shape[:1], -1)
            means = np.ascontiguousarray(means.transpose(1, 2, 3, 0))  # 2 topic sets × measures × systems × resamples
            for m in range(shape[0]):
                largest[m, s] = max(largest[m, s], float((sign[m] * means[:, m]).max()))
                index = _bins_of(means[0, m], means[1, m], first, second, float(close[m]), bins, width)
                index += 2 * bins * group
                orders[m, s] += _ordered(means[0, m], first, second, float(close[m]), fuzziness)
                if significant is not None:
                    index = index[_significant(complete.values[m], times[:, 0], first, second, significant)]
                binned[m, s] += np.bincount(index.ravel(), minlength=binned[m, s].size).reshape(groups, 2, bins)
            done += len(times)
            report(progress, done, len(chosen) * resamples)
    counts, swaps = binned.sum(axis=(2, 3)), binned[..., 1, :].sum(axis=2)
    interval = _interval(binned, width, rate, level, seed)
    compared = orders.shape[-1] * resamples
    errors, equal = orders.min(axis=2).sum(axis=2) / compared, 1 - orders.sum(axis=(2, 3)) / compared
    return SwapRates(
        complete.measures, chosen, counts, swaps, largest, interval, width, rate, level, replacement, runs, topics,
        resamples, seed, complete.notes, errors, equal, fuzziness, significant,
    )  # fmt: skip


def _interval(binned: Counts, width: float, rate: float, level: float, seed: int) -> Array:
    """2 × measures × sizes: percentiles of the required difference over groups of topic sets, drawn again."""
    measures, sizes, groups, _, bins = binned.shape
    times = np.random.default_rng((seed, 1)).multinomial(groups, np.full(groups, 1 / groups), size=_REPEATS)
    edges = np.append(np.round(np.arange(bins) * width, 12), np.inf)
    ends = np.empty((2, measures, sizes))
    for m, s in np.ndindex(measures, sizes):
        again = (times @ binned[m, s].reshape(groups, -1)).reshape(_REPEATS, 2, bins)
        required = edges[first_low_bin(again.sum(axis=1), again[:, 1], rate)]
        shares = [(1 - level) / 2, (1 + level) / 2]
        ends[:, m, s] = np.quantile(required, shares, method="inverted_cdf")
    return ends


def _sizes(sizes: int | Sequence[int] | None, topics: int, replacement: bool) -> tuple[int, ...]:
    """The numbers of topics per set; by default the largest possible."""
    most = topics if replacement else topics // 2
    if most < 1:
        raise UsageError(f"swap_rates: {topics} topic, two disjoint sets need 2 or more; or use replacement=True")
    if sizes is None:
        return (most,)
    chosen = [sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
    for size in chosen:
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


def _bins_of(
    means: Array, other_means: Array, first: NDArray[Any], second: NDArray[Any], close: float, bins: int, width: float
) -> Counts:
    """pairs × resamples: the bin of each comparison, plus `bins` if the other topic set does not confirm it.

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
    index: Counts = size.astype(np.int64)
    index[~confirmed] += bins
    return index


def _ordered(means: Array, first: NDArray[Any], second: NDArray[Any], close: float, fuzziness: float) -> Counts:
    """2 × pairs: how often the first and the second system is better by more than the fuzziness."""
    x, y = means[first], means[second]
    margin = fuzziness * np.maximum(np.abs(x), np.abs(y)) + close
    return np.stack([np.count_nonzero(x - y > margin, axis=1), np.count_nonzero(y - x > margin, axis=1)])


def _significant(
    scores: Array, times: Array, first: NDArray[Any], second: NDArray[Any], alpha: float
) -> NDArray[np.bool_]:
    """pairs × resamples: is the paired t test on a set of topics significant? Scores are systems × topics."""
    from scipy.special import stdtrit

    size = times[0].sum()
    if size < 2:
        raise UsageError("swap_rates: sets of 1 topic, but a t test of significance needs 2 or more; give larger sizes")
    difference = scores[first] - scores[second]
    mean = difference @ times.T / size
    error = np.sqrt(np.maximum(difference**2 @ times.T / size - mean**2, 0) / (size - 1))
    rounding = 1e-7 * np.abs(difference).max(initial=0.0)  # the difference is the same on all topics of the set
    passed = np.abs(mean) >= stdtrit(size - 1, 1 - alpha / 2) * error
    return np.asarray(np.where(error > rounding, passed, np.abs(mean) > rounding))


def _fixed(value: float, digits: int, unit: str = "f") -> str:
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.{digits}{unit}}"
