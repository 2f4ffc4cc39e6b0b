"""Scores on other scales, and what a change of scale does to conclusions about pairs of systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.lists import Assessed
from cranfield.comparison.compare import compare
from cranfield.comparison.corrections import CorrectionName
from cranfield.comparison.data import Matrix, noise
from cranfield.comparison.pair_tests import TEST, TESTS, TestSettings
from cranfield.comparison.resampling import Threads
from cranfield.declared.operation import Resamples, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, as_measures, score
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.measures import Measure
from cranfield.measures.property_tables import lower_is_better, scale_of
from cranfield.meta.complete_scores import check_count, levels_of, mean_ranks
from cranfield.meta.scale.scale import distinct
from cranfield.meta.synthetic_lists import FAR, SyntheticLists, higher_better
from cranfield.notes import method_note
from cranfield.record import Columns, Record, column, entries_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Table, headings
from cranfield.text import counted
from cranfield.types import Array, Index64, Progress, report

ON_INTERVALS, ON_RANKS = " (interval scale)", " (ranks)"
"""What is added to the name of a measure."""
OfPairs = Annotated[float, about("With runs or scores: the significance level.", above=0, below=1, spelled="--alpha A")]
SOURCE = "Ferrante, Ferro & Fuhr, IEEE Access 9, 2021"


def interval_scores(
    lists: Assessed, measures: MeasuresLike, *, missing: str = "zero", progress: Progress | None = None
) -> Scores:
    r"""Scores on an interval scale: the rank of each list among all possible lists, in the order of the measure itself.

    All lists of k documents, where k is the cutoff of the measure, are ordered by their scores
    :math:`x_0 < x_1 < \dots < x_m`; a list that scores :math:`x_i` gets i / m. Neighbouring scores are then equally far
    apart, as means and tests of means require. The possible lists have the whole grades from 0 to the highest in the
    judgments. For a measure that depends on missed documents, such as AP and nDCG, they have no more documents of a
    grade than the topic does, so each topic has a scale of its own; for others, all topics share one. Shorter lists are
    filled up with non-relevant documents. Undefined scores stay undefined, and 0 is the worst.

    All lists are enumerated, so the measure needs a small cutoff: with binary judgments 20 or less.

    Reference: Ferrante, Ferro & Fuhr, Towards Meaningful Statements in IR Evaluation: Mapping Evaluation Measures to
    Interval Scales, IEEE Access 9, 2021, doi:10.1109/ACCESS.2021.3116857. Moffat, IEEE Access 10, 2022, argues against
    it.

    >>> from cranfield.assessed.join import join
    >>> runs = {"a": {"q": {"d1": 3.0, "x": 2.0}}, "b": {"q": {"x": 3.0, "d1": 2.0}}}
    >>> scores = interval_scores(join({"q": {"d1": 1, "d2": 1}}, runs), "RR@2")
    >>> scores.to_dict()  # RR@2 is 0, 1/2 or 1
    {'a': {'q': {'RR@2 (interval scale)': 1.0}}, 'b': {'q': {'RR@2 (interval scale)': 0.5}}}
    """
    chosen = as_measures(measures)
    for measure in chosen:
        if measure.k is None or measure.cutoff_kind != "rank":
            raise UsageError(
                f"{measure}: an interval scale is made of all lists of some length; give a measure with a cutoff, "
                f"such as P@10 or AP@10"
            )
    grade = lists.judged.grade
    fractions = grade[(grade > 0) & (grade % 1 != 0)]
    if len(fractions):
        raise UsageError(f"interval scale: grade {fractions[0]:g} is in the judgments, must be a whole number")
    scores = score(lists, chosen, missing=missing)
    values = np.full(scores.values.shape, np.nan)
    bases = _recall_bases(lists)
    for number, measure in enumerate(chosen):
        values[number] = _on_intervals(measure, scores.values[number], bases)
        report(progress, number + 1, len(chosen))
    note = method_note(
        f"interval scale: rank of the list among all lists up to the cutoff, in the order of the measure ({SOURCE})"
    )
    names = tuple(name + ON_INTERVALS for name in scores.measures)
    return replace(scores, measures=names, values=values, notes=(*scores.notes, note))


def rank_scores(scores: Scores) -> Scores:
    """Scores replaced by their ranks among all scores of the measure, over runs and topics; ties share the mean rank.

    This is one of the transformations that an ordinal scale permits. The worst score has rank 1.
    Reference: Conover & Iman, The American Statistician 35(3), 1981

    >>> rank_scores(Scores.from_matrix([[0.2, 0.4], [0.4, 0.9]], measure="AP")).values.tolist()
    [[[1.0, 2.5], [2.5, 4.0]]]
    """
    values = np.full(scores.values.shape, np.nan)
    for number, name in enumerate(scores.measures):
        defined = ~np.isnan(scores.values[number])
        observed = scores.values[number][defined] * (-1 if lower_is_better(name) else 1)
        if len(observed):
            values[number][defined] = mean_ranks(levels_of(observed, noise(observed)))
    note = method_note("ranks: among all scores of a measure, 1 for the worst, ties at the mean rank")
    names = tuple(name + ON_RANKS for name in scores.measures)
    return replace(scores, measures=names, values=values, notes=(*scores.notes, note))


def _recall_bases(lists: Assessed) -> Index64:
    """topics × grades above 0: the number of documents of each grade."""
    highest = max(1, int(lists.judged.grade.max(initial=0)))
    counts = [lists.judged.count(lists.judged.grade == grade) for grade in range(1, highest + 1)]
    return np.stack(counts, axis=1).astype(np.int64)


def _on_intervals(measure: Measure, scores: Array, bases: Index64) -> Array:
    """runs × topics: the scores of one measure on the interval scale of each topic."""
    out = np.full(scores.shape, np.nan)
    length, grades = int(measure.k or 0), bases.shape[1] + 1
    if measure.properties.recall_free:
        bases = np.full(bases.shape, length)
    distinct_bases, which = np.unique(bases, axis=0, return_inverse=True)
    for number, base in enumerate(distinct_bases.tolist()):
        topics = np.flatnonzero(which.reshape(-1) == number)
        observed = higher_better(measure, scores[:, topics])
        if sum(base) == 0:  # no list is better than another
            out[:, topics] = np.where(np.isnan(observed), np.nan, 0.0)
            continue
        possible = SyntheticLists.of(length, grades, base).score(measure)
        steps = distinct(np.sort(possible[np.isfinite(possible)]))[0]
        nearest = np.searchsorted((steps[1:] + steps[:-1]) / 2, observed)
        far = np.abs(steps[nearest] - observed) > FAR * max(1.0, float(np.abs(steps).max()))
        if far.any():  # False for NaN
            value = float(higher_better(measure, observed[far][:1])[0])
            raise UsageError(
                f"{measure}: no list of {length} judged documents scores {value:.6g}, so the score depends on more "
                "than their grades; it has no interval scale here"
            )
        out[:, topics] = np.where(np.isnan(observed), np.nan, nearest / max(len(steps) - 1, 1))
    return out


ORIGINAL, INTERVAL, RANKS = "scores", "interval", "ranks"
HELD = "order holds on any"
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Conclusions(Record):
    """Every pair of systems by every measure: its difference and decision on each scale; a row per pair and measure."""

    facts = ("test", "correction", "alpha")

    scales: tuple[str, ...]
    """`scores`, then those that the scores were turned into: `interval`, `ranks`."""
    measure: NDArray[Any]
    system: NDArray[Any]
    other: NDArray[Any]
    difference: Array
    """scales × rows: mean of `system` minus mean of `other`, above 0 if `system` is better."""
    significant: Flags
    """scales × rows."""
    dominates: Index64
    """1 if `system` is better by every increasing transformation, −1 if `other` is, 0 if the order may change."""
    test: str
    correction: str
    alpha: float
    notes: tuple[str, ...]

    @property
    def reversed(self) -> Flags:
        """scales × rows: the order of the means is not that of the original scores."""
        return np.asarray(np.sign(self.difference) != np.sign(self.difference[0]))

    def columns(self) -> Columns:
        """measure, system, other, difference and significant on each scale, and any_scale: the order always holds."""
        columns: Columns = {"measure": self.measure, "system": self.system, "other": self.other}
        for number, scale in enumerate(self.scales):
            columns[f"difference ({scale})"] = self.difference[number]
            columns[f"significant ({scale})"] = self.significant[number]
        return {**columns, "any scale": self.dominates != 0}

    def table(self) -> Table:
        """A row per measure and scale: pairs in another order, and pairs that lose or gain significance."""
        rows: list[tuple[Cell, ...]] = []
        for name in dict.fromkeys(self.measure.tolist()):
            mine = self.measure == name
            before = self.significant[0, mine]
            for number, scale in enumerate(self.scales):
                after = self.significant[number, mine]
                counts = (self.reversed[number, mine], after, before & ~after, after & ~before)
                changes = [int(flags.sum()) for flags in counts]
                held = int((self.dominates[mine] != 0).sum()) if number == 0 else None
                rows.append((name, scale, int(mine.sum()), *changes, held))
        heads = (
            *headings("text", "measure", "scale"),
            *headings("count", "pairs", "other order", "significant", "lost", "gained", HELD),
        )
        return Table(heads, tuple(rows), "Conclusions that change with the scale", self.notes)

    def changed(self) -> Table:
        """A row per pair whose order or significance is not the same on all scales."""
        moved = self.reversed.any(axis=0) | (self.significant != self.significant[0]).any(axis=0)
        words = np.where(self.significant, "*", "")
        rows: list[tuple[Cell, ...]] = []
        for i in np.flatnonzero(moved).tolist():
            cells: list[Cell] = []
            for number in range(len(self.scales)):
                cells += [float(self.difference[number, i]), str(words[number, i])]
            rows.append((self.measure[i], self.system[i], self.other[i], *cells))
        heads = [*headings("text", "measure", "system", "other")]
        for scale in self.scales:
            heads += [*headings("number", scale), *headings("text", f"significant ({scale})")]
        caption = "Pairs whose order or significance changes with the scale"
        notes = tuple(note for note in self.notes if not note.startswith(HELD))
        return Table(tuple(heads), tuple(rows), caption, notes)


@takes_runs
@operation
def conclusions(
    scores: Scores,
    interval: Scores | None = None,
    *,
    test: Annotated[
        str, about("With --show conclusions or changed: the significance test, {names}.", **TEST, rare=True)
    ] = "t",
    correction: CorrectionName = None,
    alpha: OfPairs = 0.05,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    threads: Threads = None,
) -> Conclusions:
    r"""Which conclusions about pairs of systems survive a change of scale?

    A statement is *meaningful* if it stays true under all transformations that the scale of the measure permits; an
    ordinal scale permits all increasing ones. Every pair is compared by `test` (with the options of `compare`)
    on the scores, on their interval scale if `interval` has it (`interval_scores`), and on their ranks (`rank_scores`).
    The correction is for the pairs of a measure. Topics on which a system has no score are left out.

    Which mean is higher holds under *every* increasing transformation if, and only if, one system dominates: with the
    scores of each sorted, none of them is below that of the other system at the same place (`dominates`).

    References: Ferrante, Ferro & Fuhr, IEEE Access 9, 2021, doi:10.1109/ACCESS.2021.3116857 (meaningfulness, interval
    scales); Lehmann, Annals of Mathematical Statistics 26(3), 1955 (stochastic order); Conover & Iman 1981 (ranks)

    >>> values = [[0.1, 0.2, 0.9], [0.3, 0.5, 0.2], [0.2, 0.4, 0.0], [0.4, 0.6, 0.3]]
    >>> result = conclusions(Scores.from_matrix(values, ["a", "b", "c"], measure="AP"))
    >>> result.dominates.tolist()  # b is better than a, however scores are transformed; c is not comparable
    [-1, 0, 0]
    """
    check_count("conclusions", len(scores.runs), "system", 2)
    transformed = {ORIGINAL: scores}
    if interval is not None:
        if interval.measures != tuple(name + ON_INTERVALS for name in scores.measures) or interval.runs != scores.runs:
            problem = "interval has other measures or runs than scores"
            raise UsageError(f"conclusions: {problem}; make both from the same lists")
        transformed[INTERVAL] = interval
    transformed[RANKS] = rank_scores(scores)
    options: dict[str, Any] = {"resamples": resamples, "seed": seed, "threads": threads}
    options |= {"test": test, "correction": correction, "alpha": alpha, "direction": "given"}
    compared = [[compare(data, name, **options) for name in data.measures] for data in transformed.values()]
    parts = [[family for comparison in of_scale for family in comparison.families] for of_scale in compared]
    first = compared[0][0]
    names = [
        (f.matrix.measure, *(np.array(f.matrix.systems, dtype=object)[k] for k in (f.first, f.second)))
        for f in parts[0]
    ]
    sign = np.concatenate([np.full(len(f.first), -1.0 if f.lower_is_better else 1.0) for f in parts[0]])
    difference = np.stack([np.concatenate([f.difference for f in part]) for part in parts])
    difference[0] *= sign
    for part, row in zip(parts, difference, strict=True):  # rounding errors are not an order
        close = np.concatenate([np.full(len(f.first), noise(f.matrix.values)) for f in part])
        row[np.abs(row) <= close] = 0.0
    significant = np.stack([np.concatenate([f.adjusted for f in part]) <= alpha for part in parts])
    dominates = np.concatenate([_dominance(f.matrix, f.first, f.second) for f in parts[0]]) * sign
    how = (
        ""
        if first.correction == "none"
        else f", {first.correction} over the pairs of each measure ({first.comparisons:,})"
    )
    notes = [
        method_note(f"test: {first.test}{how}, α = {alpha:g}"),
        method_note("ranks: among all scores of a measure, 1 for the worst, ties at the mean rank"),
        f"{HELD}: pairs whose means keep their order under every increasing transformation of the scores",
        *dict.fromkeys(note for part in parts[: len(parts) - 1] for f in part for note in f.matrix.notes),
    ]
    return Conclusions(
        tuple(transformed),
        np.concatenate([np.full(len(system), name, dtype=object) for name, system, _ in names]),
        np.concatenate([system for _, system, _ in names]),
        np.concatenate([other for *_, other in names]),
        difference,
        significant,
        dominates.astype(np.int64),
        first.test,
        first.correction,
        alpha,
        tuple(dict.fromkeys(notes)),
    )


def _dominance(matrix: Matrix, first: Index64, second: Index64) -> Index64:
    """1 where the sorted scores of the first system are nowhere below those of the second, −1 the other way round.

    0 if neither, or if both are equal everywhere.
    """
    ordered, close = np.sort(matrix.values, axis=0), noise(matrix.values)
    out = np.zeros(len(first), dtype=np.int64)
    step = max(1, 4_000_000 // max(1, matrix.n))
    for begin in range(0, len(first), step):
        block = slice(begin, begin + step)
        gap = ordered[:, first[block]] - ordered[:, second[block]]
        above, below = (gap > close).any(axis=0), (gap < -close).any(axis=0)
        out[block] = np.where(above & ~below, 1, np.where(below & ~above, -1, 0))
    return out


BY_RANKS, BY_MEANS = "kruskal-wallis", "tukey"


@dataclass(frozen=True, eq=False, repr=False)
class ScaleTests(Record):
    """For each measure, the pairs of systems that differ by ranks (Kruskal–Wallis) and by means (ANOVA)."""

    figure = "scale_tests_figure"
    facts = ("alpha",)

    measures: Annotated[tuple[str, ...], column("measure")]
    scales: Annotated[tuple[str, ...], column("scale")]
    """The scale of each measure, with its conditions; the second test assumes an interval scale."""
    pairs: Annotated[NDArray[np.int64], column()]
    by_ranks: Annotated[NDArray[np.int64], column("by_ranks")]
    by_means: Annotated[NDArray[np.int64], column("by_means")]
    both: Annotated[NDArray[np.int64], column()]
    """The number of pairs that differ by both tests."""
    topics: Annotated[NDArray[np.int64], column()]
    alpha: float
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """Ferro & Maistro 2024 Table 3: counts and shares of the pairs."""
        rows = tuple(
            (name, scale, pairs, ranks, ranks / pairs, means, means / pairs, both)
            for name, scale, pairs, ranks, means, both, _ in entries_of(self.columns())
        )
        heads = (
            *headings("text", "measure", "scale"),
            *headings("count", "pairs", "Kruskal–Wallis"),
            *headings("number", "Kruskal–Wallis share"),
            *headings("count", "ANOVA"),
            *headings("number", "ANOVA share"),
            *headings("count", "both"),
        )
        return Table(heads, rows, notes=self.notes)


@takes_runs
@operation
def scale_tests(scores: Scores, *, alpha: OfPairs = 0.05) -> ScaleTests:
    """How many pairs of systems differ by a test that needs only an order, and by one that needs an interval scale.

    The tests are Kruskal–Wallis on the ranks of all scores, and the two-way ANOVA (topics × systems), each with Tukey's
    HSD for all pairs. The second is more powerful, so more pairs are expected to differ by means; but a measure that is
    not on an interval scale may gain or lose pairs for that reason alone.

    Reference: Ferrante, Ferro & Losiouk, Information Retrieval Journal 23(3), 2020; Ferro & Maistro 2024 §7.8, Table 3

    >>> values = [[0.1, 0.5, 0.9], [0.2, 0.5, 0.8], [0.1, 0.4, 0.9], [0.0, 0.6, 0.7]]
    >>> scale_tests(Scores.from_matrix(values, measure="AP")).by_means.tolist()
    [3]
    """
    check_count("scale_tests", len(scores.runs), "system")
    first, second = np.triu_indices(len(scores.runs), 1)
    settings, tests = TestSettings(alpha=alpha), (TESTS.find(BY_RANKS), TESTS.find(BY_MEANS))
    counts: list[tuple[int, int, int, int, int]] = []
    notes: list[str] = []
    for name in scores.measures:
        matrix = Matrix.of(scores, name).complete()
        if matrix.n < 2:
            defined = counted(matrix.n, "topic")
            raise UsageError(f"scale_tests: {defined} with a value of {name} for every system, must be 2 or more")
        ranks, means = (test.run(matrix, first, second, settings).p <= alpha for test in tests)
        counts.append((len(first), int(ranks.sum()), int(means.sum()), int((ranks & means).sum()), matrix.n))
        notes += matrix.notes
    tested = "Tukey's HSD after Kruskal–Wallis and after the two-way ANOVA of topics and systems"
    notes = [*dict.fromkeys(notes), f"pairs that differ at α = {alpha:g}, {tested}"]
    scales = tuple(scale_of(name).words for name in scores.measures)
    pairs, by_ranks, by_means, both, topics = np.array(counts, dtype=np.int64).reshape(-1, 5).T
    return ScaleTests(scores.measures, scales, pairs, by_ranks, by_means, both, topics, alpha, tuple(notes))
