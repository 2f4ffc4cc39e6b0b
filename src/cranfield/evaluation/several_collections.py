"""Score the same systems on several collections: runs × collections, and the mean over collections."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.given_runs import each_run
from cranfield.check import nearest
from cranfield.collection.collection_files import CollectionFiles, read_collections, run_files
from cranfield.collection.source import PathLike, stem
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.evaluation.evaluator import EvaluateOptions, MeasureLike, evaluate
from cranfield.measures.property_tables import better_of
from cranfield.notes import Notes, method_note, rewritten
from cranfield.record import Record
from cranfield.scores.score_text import all_notes
from cranfield.scores.scores import Scores
from cranfield.scores.summary import default_interval
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array


def matched_names(parts: Mapping[str, Scores], paths: Mapping[str, Sequence[str]]) -> tuple[dict[str, Scores], str]:
    """The scores of each collection with names of runs that match best, and a note on the names.

    Runs are called by their tags, by their file names, or by these without the name of the collection, whichever gives
    the fewest different runs; tags if it is a tie. `paths` has the file of each run, and nothing for collections whose
    runs have names of their own, which are kept.

    >>> parts = {"nq": Scores.from_matrix([[0.5, 0.6]], runs=["nq-a", "nq-b"]),
    ...          "fever": Scores.from_matrix([[0.1]], runs=["anserini"])}
    >>> matched, note = matched_names(parts, {"nq": ["a.nq.run", "b.nq.run"], "fever": ["runs/a.fever.run"]})
    >>> [scores.runs for scores in matched.values()], note
    ([('a', 'b'), ('a',)], 'runs are called by their file names without the name of the collection, ...')
    """
    tags = {name: list(scores.runs) for name, scores in parts.items()}
    files = {name: [stem(path) for path in paths[name]] if paths.get(name) else tags[name] for name in parts}
    without = {
        name: [_without(file, name) for file in files[name]] if paths.get(name) else tags[name] for name in parts
    }
    ways = {"": tags, "their file names": files, "their file names without the name of the collection": without}
    usable = {
        how: names
        for how, names in ways.items()
        if all(len(set(names[name])) == len(parts[name].runs) == len(names[name]) for name in parts) or not how
    }
    how = min(usable, key=lambda way: len({run for names in usable[way].values() for run in names}))
    if not how:
        return dict(parts), ""
    renamed = {name: replace(scores, runs=tuple(usable[how][name])) for name, scores in parts.items()}
    return renamed, f"runs are called by {how}, because their tags match less well across collections"


def _without(file: str, collection: str) -> str:
    """The name of a file without that of the collection and the signs around it.

    >>> _without("run.beir.bm25.nfcorpus", "nfcorpus"), _without("nfcorpus", "nfcorpus")
    ('run.beir.bm25', 'nfcorpus')
    """
    pieces = re.split(rf"[-_.]*{re.escape(collection)}(?![A-Za-z0-9])[-_.]*", file, flags=re.IGNORECASE)
    return "-".join(piece for piece in pieces if piece) or file


RULES = ("undefined", "skip", "zero")
"""A run that lacks a collection: no mean over collections, the mean over the others, or a mean in which it has 0."""
HOW = {
    "undefined": "have no mean over collections",
    "skip": "have the mean over the others, which cannot be compared with those of other runs",
    "zero": "have 0 there",
}


@dataclass(frozen=True, eq=False, repr=False)
class CollectionScores(Record):
    """The scores of runs on several collections.

    Runs are matched by name. The mean over collections gives each collection the same weight, whatever its number of
    topics (the macro average, as in BEIR).

    >>> ease = Scores.from_matrix([[0.8, 0.6], [0.6, 0.4]], runs=["a", "b"], measure="AP")
    >>> hard = Scores.from_matrix([[0.2], [0.1], [0.3]], runs=["a"], measure="AP")
    >>> print(CollectionScores({"easy": ease, "hard": hard}).table().text())
    run    easy    hard    mean
    a    0.7000  0.2000  0.4500
    b    0.5000       -       -
    1 run lacks a collection and has no mean over collections: b (hard)
    mean: over 2 collections, each with the same weight
    1 more note: .notes
    """

    facts = ("measures", "collections", "runs", "missing_collections")

    parts: Mapping[str, Scores]
    missing_collections: str = "undefined"
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    """All runs in the order of the table; empty: as they appear."""

    def __post_init__(self) -> None:
        check.one_of("collections", RULES, missing_collections=self.missing_collections)
        if not self.parts:
            raise UsageError("no collections given")
        first, *others = self.parts.values()
        for name, scores in zip(list(self.parts)[1:], others, strict=True):
            if scores.measures != first.measures:
                measures = f"{listed(scores.measures)}, not {listed(first.measures)}"
                raise UsageError(f"collection {name!r} has scores by {measures}; measures must be the same")

    @property
    def collections(self) -> tuple[str, ...]:
        """The names of the collections."""
        return tuple(self.parts)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return next(iter(self.parts.values())).measures

    @property
    def runs(self) -> tuple[str, ...]:
        """All runs, in the order of the table."""
        return self.order or tuple(dict.fromkeys(run for scores in self.parts.values() for run in scores.runs))

    def by_collection(self, statistic: str = "mean") -> Array:
        """The mean, or another statistic, over the topics: measures × runs × collections; NaN for a lacking run."""
        values = np.full((len(self.measures), len(self.runs), len(self.parts)), np.nan)
        place = {run: at for at, run in enumerate(self.runs)}
        for column, scores in enumerate(self.parts.values()):
            summary = scores.summary(statistic, level=None)
            numbers = np.array([estimate.value for estimate in summary.estimates])
            rows = [place[run] for run in scores.runs]
            values[:, rows, column] = numbers.reshape(len(self.measures), len(scores.runs))
        return values

    def lacking(self) -> dict[str, list[str]]:
        """{run: collections that it lacks}, for runs that lack some."""
        lacks = {run: [name for name, scores in self.parts.items() if run not in scores.runs] for run in self.runs}
        return {run: names for run, names in lacks.items() if names}

    def over_collections(self, statistic: str = "mean") -> Array:
        """The mean over collections, measures × runs, by the rule for runs that lack a collection.

        A run whose score on a collection is undefined, on all topics, has no mean, whatever the rule.
        """
        values = self.by_collection(statistic)
        lacks = np.array([[run not in scores.runs for scores in self.parts.values()] for run in self.runs])
        weight = np.ones(lacks.shape)
        if self.missing_collections != "undefined":
            values = np.where(lacks, 0.0, values)
            weight = np.where(lacks, 0.0, 1.0) if self.missing_collections == "skip" else weight
        return np.asarray((values * weight).sum(axis=-1) / weight.sum(axis=-1))

    def intervals(self, level: float = 0.95) -> tuple[Array, Array]:
        """The ends of an interval of the mean over these collections, measures × runs: topics are random.

        With the mean m_c and the interval [l_c, h_c] of each of C collections, the interval extends √Σ(m_c − l_c)² / C
        below the mean over collections, and √Σ(h_c − m_c)² / C above. NaN if a run lacks a collection.
        Reference: Zou & Donner, Construction of Confidence Limits about Effect Measures, Statistics in Medicine 27(10),
        2008, doi:10.1002/sim.3095
        """
        means = self.by_collection()
        below, above = np.full(means.shape, np.nan), np.full(means.shape, np.nan)
        place = {run: at for at, run in enumerate(self.runs)}
        for column, scores in enumerate(self.parts.values()):
            rows = [place[run] for run in scores.runs]
            low, high = default_interval(scores.values, scores.measures, "mean", level)
            below[:, rows, column] = means[:, rows, column] - low
            above[:, rows, column] = high - means[:, rows, column]
        centre, half = (
            means.mean(axis=-1),
            [np.sqrt((side**2).sum(axis=-1)) / len(self.parts) for side in (below, above)],
        )
        return centre - half[0], centre + half[1]

    def as_units(self) -> Scores:
        """Scores in which collections take the place of topics, with the runs that have all collections."""
        lacking = self.lacking()
        runs = [run for run in self.runs if run not in lacking]
        if not runs:
            raise UsageError(f"no run has all {len(self.parts)} collections: {listed(_lacking_words(lacking))}")
        rows = [row for row, run in enumerate(self.runs) if run not in lacking]
        return Scores(self.measures, runs, self.collections, self.by_collection()[:, rows])

    def select(self, measures: Iterable[MeasureLike] | MeasureLike | None = None) -> CollectionScores:
        """The scores by some of the measures, in the order given."""
        parts = {name: scores.select(measures=measures) for name, scores in self.parts.items()}
        return replace(self, parts=parts, order=self.runs)

    def comparable(self, baseline: str | None = None) -> dict[str, Scores]:
        """The scores of the collections on which there are two runs to compare; the baseline must be one of them."""
        if baseline is not None and baseline not in self.runs:
            raise nearest(baseline, self.runs, "run")
        parts = {
            name: scores
            for name, scores in self.parts.items()
            if len(scores.runs) > 1 and (baseline is None or baseline in scores.runs)
        }
        left = [name for name in self.parts if name not in parts]
        if left:
            why = "have fewer than two runs" + (f", or lack the baseline {baseline}" if baseline else "")
            if not parts:
                raise UsageError(f"all collections {why}; a comparison needs two runs with the same names")
            warn_caller(f"collections left out, because they {why}: {listed(left)}", CranfieldWarning)
        return parts

    def sort(self, measure: MeasureLike | None = None) -> CollectionScores:
        """The runs with the best mean over collections first, by a measure, by default the first."""
        at = 0 if measure is None else self.measures.index(self._first[measure].measures[0])
        means = self.over_collections()[at]
        sign = 1 if better_of(self.measures[at]) == "lower" else -1
        order = [self.runs[i] for i in np.argsort(np.where(np.isnan(means), np.inf, sign * means), kind="stable")]
        return replace(self, order=tuple(order))

    @property
    def _first(self) -> Scores:
        return next(iter(self.parts.values()))

    def columns(self) -> dict[str, NDArray[Any]]:
        """A row per measure, run and collection: measure, run, collection, mean, topics."""
        values = self.by_collection()
        rows = []
        for m, measure in enumerate(self.measures):
            for r, run in enumerate(self.runs):
                for c, (name, scores) in enumerate(self.parts.items()):
                    if run in scores.runs:
                        used = ~np.isnan(scores.values[m, scores.runs.index(run)])
                        rows.append((measure, run, name, float(values[m, r, c]), int(used.sum())))
        kinds = {"measure": object, "run": object, "collection": object, "mean": float, "topics": np.int64}
        return {name: np.array([row[at] for row in rows], dtype=kind) for at, (name, kind) in enumerate(kinds.items())}

    def to_dict(self) -> dict[str, Any]:
        """As of every record, with the means over collections."""
        means = self.over_collections().tolist()
        over = {
            measure: {run: None if math.isnan(x) else x for run, x in zip(self.runs, row, strict=True)}
            for measure, row in zip(self.measures, means, strict=True)
        }
        return {**super().to_dict(), "notes": list(self.all_notes()), "mean over collections": over}

    def all_notes(self, statistic: str = "mean") -> tuple[str, ...]:
        """What a reader of the table must know."""
        sizes = ", ".join(f"{name} {len(scores.topics)}" for name, scores in self.parts.items())
        first = f"{self.measures[0]}, " if len(self.measures) == 1 else ""
        notes = Notes([method_note(f"{first}{statistic} over the topics of each collection: {sizes}")])
        notes.append(f"mean: over {counted(len(self.parts), 'collection')}, each with the same weight")
        if lacking := self.lacking():
            verb = "lacks a collection and has" if len(lacking) == 1 else "lack a collection and have"
            how = HOW[self.missing_collections].replace("have", verb, 1)
            notes.caution(f"{counted(len(lacking), 'run')} {how}: {listed(_lacking_words(lacking), noun='runs')}")
        same = {note for note in self._first.notes if all(note in scores.notes for scores in self.parts.values())}
        notes += [note for note in self._first.notes if note in same]
        for name, scores in self.parts.items():
            notes += [rewritten(note, f"{name}: {note}") for note in all_notes(scores) if note not in same]
        return (*notes, *self.notes)

    def table(self, statistic: str = "mean", level: float | None = None) -> Table:
        """A row per run (and measure), a column per collection, and the mean over collections."""
        values, means = self.by_collection(statistic), self.over_collections(statistic)
        several = len(self.measures) > 1
        low = high = np.full(means.shape, np.nan)
        if level is not None:
            low, high = self.intervals(level)
        estimates = self._estimates(statistic, level) if level is not None else {}
        rows: list[tuple[Cell, ...]] = []
        for m, measure in enumerate(self.measures):
            for r, run in enumerate(self.runs):
                cells: list[Cell] = [
                    estimates.get((measure, run, name), float(values[m, r, c]))
                    for c, name in enumerate(self.collections)
                ]
                mean: Cell = float(means[m, r])
                if level is not None and not math.isnan(low[m, r]):
                    mean = Estimate(measure, run, float(means[m, r]), float(low[m, r]), float(high[m, r]))
                rows.append((*([measure] if several else []), run, *cells, mean))
        better = "neither" if several else better_of(self.measures[0])
        heads = [Column("measure")] * several + [Column("run")]
        heads += [Column(name, "number", better) for name in (*self.collections, "mean")]
        notes = list(self.all_notes(statistic))
        if level is not None:
            how = next(iter(self.parts.values())).summary(statistic, level=level).how
            rule = "of the mean over collections, topics are random and collections are fixed"
            notes.append(method_note(f"[low, high]: {100 * level:g}% confidence interval {how}; {rule}"))
        return Table(tuple(heads), tuple(rows), notes=tuple(notes))

    def _estimates(self, statistic: str, level: float) -> dict[tuple[str, str, str], Estimate]:
        return {
            (estimate.measure, estimate.run, name): estimate
            for name, scores in self.parts.items()
            for estimate in scores.summary(statistic, level=level).estimates
        }


def _lacking_words(lacking: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{run} ({', '.join(names)})" for run, names in lacking.items()]


def sample_variance(values: Array) -> Array:
    """The variance over the last axis without NaN, with n − 1; NaN for fewer than two values."""
    count = (~np.isnan(values)).sum(axis=-1)
    mean = np.nansum(values, axis=-1) / np.maximum(count, 1)
    squares = np.nansum((values - mean[..., None]) ** 2, axis=-1)
    return np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)


def stratified_error(variance: Array, n: Array) -> tuple[Array, Array]:
    """The standard error of a mean over strata with equal weights, and its degrees of freedom (last axis: strata).

    `variance` is that of the mean of each stratum, s²/n. Reference: Cochran, Sampling Techniques, 1977, §5.4
    """
    strata = variance.shape[-1]
    total = variance.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = total**2 / (variance**2 / np.maximum(n - 1, 1)).sum(axis=-1)
    return np.sqrt(total) / strata, np.where(total > 0, degrees, np.maximum((n - 1).sum(axis=-1), 1))


Collections = Mapping[str, Any] | PathLike | Sequence[CollectionFiles]
"""{name: (qrels, runs)}, a TOML file, or collections that were read from one."""


def evaluate_collections(
    collections: Collections,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    missing_collections: str = "undefined",
    **options: Unpack[EvaluateOptions],
) -> CollectionScores:
    """Score the same systems on several collections.

    `collections` is {name: (qrels, runs)}, or a TOML file with a table [collections.NAME] for each, with `qrels` and
    `runs` (a pattern, a folder, a list, or a table of names and files). Runs are matched by name: the tag, or the file
    name if that matches better. A run that lacks a collection has no mean over collections ("undefined"), the mean over
    those it has ("skip"), or 0 there ("zero"). `options` are those of `evaluate`, for all collections.

    >>> first = {"1": {"d1": 1}}, {"bm25": {"1": {"d1": 2.0, "d2": 1.0}}}
    >>> second = {"7": {"x": 1}}, {"bm25": {"7": {"y": 2.0, "x": 1.0}}}
    >>> scores = evaluate_collections({"news": first, "web": second}, "RR")
    >>> scores.by_collection().tolist(), scores.over_collections().tolist()
    ([[[1.0, 0.5]]], [[0.75]])
    """
    check.one_of("evaluate_collections", RULES, missing_collections=missing_collections)
    parts: dict[str, Scores] = {}
    paths: dict[str, Sequence[str]] = {}
    for name, qrels, runs, files in _each_collection(collections):
        parts[name] = _evaluated(name, partial(evaluate, qrels, runs, measures, **options))
        if files and len(files) == len(parts[name].runs):
            paths[name] = files
    matched, note = matched_names(parts, paths)
    scores = CollectionScores(matched, missing_collections, (note,) if note else ())
    if len(parts) > 1 and len(scores.runs) == sum(len(part.runs) for part in matched.values()):
        message = f"no run is in two collections: names are matched, there are {listed(scores.runs)}"
        warn_caller(f"{message}; name the runs in a TOML file", CranfieldWarning)
    return scores


def _evaluated(collection: str, make: Callable[[], Scores]) -> Scores:
    """The scores of a collection, whose name begins every warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CranfieldWarning)
        scores = make()
    for warning in caught:
        where = f"{collection}: " if issubclass(warning.category, CranfieldWarning) else ""
        warn_caller(f"{where}{warning.message}", warning.category)
    return scores


def _each_collection(collections: Collections) -> Iterable[tuple[str, Any, Any, Sequence[str]]]:
    """(name, qrels, runs, files) for each; the files of runs that have no names of their own."""
    if isinstance(collections, str | os.PathLike):
        collections = read_collections(collections)
    if isinstance(collections, Mapping):
        for name, pair in collections.items():
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise UsageError(f"collection {name!r}: expected (qrels, runs), not {type(pair).__name__}")
            runs = run_files(os.fspath(pair[1])) if isinstance(pair[1], str | os.PathLike) else pair[1]
            files = [str(run) for own, run in each_run(runs) if own is None and isinstance(run, str | os.PathLike)]
            yield str(name), pair[0], runs, files
        return
    for part in collections:
        if isinstance(part.runs, Mapping):
            yield part.name, part.qrels, dict(part.runs), ()
        else:
            yield part.name, part.qrels, list(part.runs), part.runs
