"""Do systems differ over several collections? Two answers: on these collections, and on collections like these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.comparison.compare import compare, default_correction
from cranfield.comparison.corrections import adjust
from cranfield.comparison.data import all_pairs
from cranfield.comparison.pair_tests import TESTS
from cranfield.comparison.result import Comparison
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.several_collections import CollectionScores, sample_variance, stratified_error
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, column, estimates, table_of
from cranfield.scores.scores import Scores
from cranfield.scores.t_and_normal import t_quantile, t_tail
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

if TYPE_CHECKING:
    from cranfield.scores.labels import MeasureLike

NEEDS = 2
HARDLY = 6
"""With fewer collections than this, the sign and Wilcoxon tests cannot reach p = .05, and t has little power."""


@dataclass(frozen=True, eq=False, repr=False)
class AcrossCollections(Record):
    """Pairs of systems over several collections: mean differences, with two tests.

    `p` treats the collections as fixed and the topics of each as a sample: do the systems differ on these collections?
    `collection p` takes the collections as the sample, each with one number: would they differ on other collections of
    this kind? It has few units, so it finds less.
    """

    facts = ("collections", "alpha", "correction", "unit_test", "baseline")

    collections: tuple[str, ...]
    measure: Annotated[tuple[str, ...], column()]
    system: Annotated[tuple[str, ...], column()]
    other: Annotated[tuple[str, ...], column()]
    mean: Annotated[Array, column()]
    other_mean: Annotated[Array, column()]
    difference: Annotated[Array, column()]
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    p: Annotated[Array, column()]
    adjusted: Annotated[Array, column("p adjusted")]
    significant: Annotated[NDArray[np.bool_], column()]
    unit_low: Annotated[Array, column("collection low")]
    unit_high: Annotated[Array, column("collection high")]
    unit_p: Annotated[Array, column("collection p")]
    unit_adjusted: Annotated[Array, column("collection p adjusted")]
    win: Annotated[Index64, column()]
    loss: Annotated[Index64, column()]
    """The number of collections on which the system has the higher, and the lower mean."""
    alpha: float
    correction: str
    unit_test: str
    baseline: str | None
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """A row per pair, the largest difference first."""
        columns = self.columns()
        order = np.lexsort((-np.abs(self.difference), np.unique(columns["measure"], return_inverse=True)[1]))
        hidden = {"low", "high", "collection low", "collection high", "significant", "mean", "other mean"}
        hidden |= {"measure"} if len(set(self.measure)) == 1 else set()
        hidden |= {"p adjusted", "collection p adjusted"} if self.correction == "none" else {"p", "collection p"}
        shown = {name: column for name, column in columns.items() if name not in hidden}
        kinds = dict.fromkeys(("p adjusted", "collection p", "collection p adjusted"), "probability")
        shown["difference"] = estimates(self.difference, self.low, self.high)
        caption = f"over {counted(len(self.collections), 'collection')}: {', '.join(self.collections)}"
        return table_of(shown, order, kinds, caption=caption, notes=self.notes)


def compare_collections(
    scores: CollectionScores | Mapping[str, Scores],
    measure: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    baseline: str | None = None,
    test: str = "t",
    correction: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    resamples: int = 10_000,
) -> AcrossCollections:
    r"""Compare systems by their means over collections, in two ways.

    With :math:`\bar d_c` and :math:`s_c^2` the mean and variance of the differences on the :math:`n_c` topics of
    collection c, the difference is :math:`\bar d = \frac1C \sum_c \bar d_c`.

    **Topics are random, collections are fixed** (`low`, `high`, `p`): :math:`t = \bar d / \sqrt{\sum_c s_c^2/n_c}\, C`
    with the degrees of freedom of Satterthwaite, a stratified t test that is blocked by collection. It answers for new
    topics of these collections. Reference: Cochran, Sampling Techniques, 1977, §5.4

    **Collections are random** (`collection p`): the paired `test` with a collection as the unit,
    :math:`\bar d_1, …, \bar d_C`. It answers for other collections of which these are a sample. Reference: Demšar,
    Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7, 2006, §3.1

    Systems that lack a collection are left out, and noted. `correction` covers all pairs and measures, in each of the
    two ways on its own.

    >>> one = Scores.from_matrix([[0.3, 0.5], [0.4, 0.6], [0.2, 0.5]], runs=["a", "b"], measure="AP")
    >>> two = Scores.from_matrix([[0.1, 0.2], [0.2, 0.4]], runs=["a", "b"], measure="AP")
    >>> result = compare_collections({"one": one, "two": two}, baseline="a")
    >>> result.difference.round(4).tolist(), result.p.round(4).tolist(), result.unit_p.round(4).tolist()
    ([0.1917], [0.0269], [0.1363])
    """
    every = scores if isinstance(scores, CollectionScores) else CollectionScores(dict(scores))
    check_alpha("compare_collections", alpha)
    if len(every.collections) < NEEDS:
        raise UsageError(
            f"there is one collection, {every.collections[0]}; a comparison over collections needs 2 or more"
        )
    chosen = TESTS.find(test)
    method = "holm" if chosen.simultaneous else default_correction(correction, chosen)
    if baseline is not None:
        _need_everywhere(every, baseline)
    units = every.as_units()
    names = units.measures if measure is None else units.select(measures=measure).measures
    first, second = _pairs(units.runs, baseline)
    if not len(first):
        raise UsageError(f"only {listed(units.runs)} has all collections; a comparison needs 2 or more systems")
    blocked = [_blocked(every, name, units.runs, first, second, 1 - alpha) for name in names]
    notes: list[str] = []
    settings = {"test": test, "correction": correction, "alpha": alpha, "seed": seed, "resamples": resamples}
    unit, comparison = _by_unit(units, names, first, second, baseline, notes, **settings)
    joined = {key: np.concatenate([part[key] for part in blocked]) for key in blocked[0]}
    adjusted = adjust(joined["p"], method)
    notes[:0] = list(_notes(every, comparison, test, method, alpha, len(adjusted)))
    return AcrossCollections(
        collections=every.collections,
        measure=tuple(name for name in names for _ in first),
        system=tuple(units.runs[at] for _ in names for at in first),
        other=tuple(units.runs[at] for _ in names for at in second),
        adjusted=adjusted,
        significant=adjusted <= alpha,
        alpha=alpha,
        correction=method,
        unit_test=chosen.name,
        baseline=baseline,
        notes=tuple(notes),
        **joined,
        **unit,
    )


def _need_everywhere(scores: CollectionScores, baseline: str) -> None:
    if baseline not in scores.runs:
        raise nearest(baseline, scores.runs, "run")
    if lacks := scores.lacking().get(baseline):
        raise UsageError(f"the baseline {baseline!r} has no run for {listed(lacks)}; leave out these collections")


def _pairs(runs: Sequence[str], baseline: str | None) -> tuple[Index64, Index64]:
    if baseline is None:
        return all_pairs(len(runs))
    at = runs.index(baseline)
    others = np.array([i for i in range(len(runs)) if i != at], dtype=np.int64)
    return others, np.full(len(others), at, dtype=np.int64)


def _blocked(
    scores: CollectionScores, measure: str, runs: Sequence[str], first: Index64, second: Index64, level: float
) -> dict[str, NDArray[Any]]:
    """Means and differences over collections, with the stratified t test of every pair."""
    size = (len(first), len(scores.parts))
    mean, other, difference, variance, n = (np.empty(size) for _ in range(5))
    for place, part in enumerate(scores.parts.values()):
        values = part.select(measures=measure, runs=runs).values[0]
        d = values[first] - values[second]
        count = (~np.isnan(d)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            difference[:, place] = np.nansum(d, axis=1) / np.where(count, count, np.nan)
        means = np.array([row[~np.isnan(row)].mean() if not np.isnan(row).all() else np.nan for row in values])
        mean[:, place], other[:, place] = means[first], means[second]
        variance[:, place] = sample_variance(d) / np.maximum(count, 1)
        n[:, place] = count
    error, degrees = stratified_error(variance, n)
    total = difference.mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(error > 0, total / error, np.where(total == 0, 0.0, np.copysign(np.inf, total)))
    t = np.where(np.isnan(error), np.nan, t)
    half = t_quantile((1 - level) / 2, degrees) * error
    return {
        "mean": mean.mean(axis=1),
        "other_mean": other.mean(axis=1),
        "difference": total,
        "low": total - half,
        "high": total + half,
        "p": 2 * t_tail(np.abs(t), degrees),
        "win": (difference > 0).sum(axis=1).astype(np.int64),
        "loss": (difference < 0).sum(axis=1).astype(np.int64),
    }


def _by_unit(
    units: Scores,
    names: Sequence[str],
    first: Index64,
    second: Index64,
    baseline: str | None,
    notes: list[str],
    **settings: Any,
) -> tuple[dict[str, Any], Comparison | None]:
    """The test with a collection as the unit; undefined, with a note, if it cannot be computed."""
    size = len(names) * len(first)
    undefined = {key: np.full(size, np.nan) for key in ("unit_low", "unit_high", "unit_p", "unit_adjusted")}
    try:
        result = compare(units, list(names), baseline=baseline, direction="given", **settings)
    except CranfieldError as error:
        notes.append(caution_note(f"collection p is not defined: {error}"))
        return undefined, None
    families = result.families
    return {
        "unit_low": np.concatenate([family.tests.low for family in families]),
        "unit_high": np.concatenate([family.tests.high for family in families]),
        "unit_p": np.concatenate([family.tests.p for family in families]),
        "unit_adjusted": np.concatenate([family.adjusted for family in families]),
    }, result


def _notes(
    scores: CollectionScores, comparison: Comparison | None, test: str, correction: str, alpha: float, pairs: int
) -> Iterator[str]:
    corrected = f"; corrected for {pairs:,} comparisons ({correction})" if pairs > 1 and correction != "none" else ""
    yield (
        method_note(
            "difference [low, high] and p: mean over collections with equal weights; topics are random, these "
            "collections "
            f"are fixed (t test, stratified by collection){corrected}; {100 * (1 - alpha):g}% interval of each "
            "pair alone"
        )
    )
    if comparison is not None:
        yield from comparison.contradictions()
        n = len(scores.collections)
        few = caution_note(f"; {n} collections are few") if n < HARDLY else ""
        yield f"collection p: the collections are a sample of many ({test} test, a collection is the unit){few}"
    yield method_note("win and loss count collections")
    lacking = scores.lacking()
    if lacking:
        names = [f"{run} ({', '.join(lacks)})" for run, lacks in lacking.items()]
        yield caution_note(f"left out, because they lack a collection: {listed(names, noun='runs')}")


OVER = "(mean over collections)"
SHARED = (
    "measure", "system", "other", "mean", "other mean", "difference", "low", "high", "p", "p adjusted", "significant",
    "win", "loss",
)  # fmt: skip
UNIT = ("collection low", "collection high", "collection p", "collection p adjusted")


def within_and_over(within: Comparison, over: AcrossCollections) -> dict[str, NDArray[Any]]:
    """Columns with a row per collection and pair, then a row per pair over collections, which has further columns."""
    first, second = within.columns(), over.columns()
    names = np.concatenate([first["collection"], np.full(len(over.p), OVER, dtype=object)])
    columns: dict[str, NDArray[Any]] = {"collection": names}
    columns |= {name: np.concatenate([first[name], second[name]]) for name in SHARED}
    blank = np.full(len(first["p"]), np.nan)
    return columns | {name: np.concatenate([blank, second[name]]) for name in UNIT}
