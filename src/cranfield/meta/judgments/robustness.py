"""Robustness: how do scores and rankings change with fewer judgments, other grades, or fewer topics?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.segments import position_in_segment, segment_starts
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.meta.complete_scores import check_count
from cranfield.meta.judgments import rescoring
from cranfield.record import Columns, Record, columns_of, labels
from cranfield.scores import summary as summaries
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table, headings
from cranfield.text import counted
from cranfield.types import Array, Index64, Progress, report

NAME = "robustness"
METHODS = {
    "random": ("share of judgments kept", "judgments dropped at random, relevant and other documents of a topic alike"),
    "depth": ("pool depth", "judgments dropped that are in no list down to a depth"),
    "flips": ("share of judgments changed", "grades moved to the next one up or down, at random"),
    "confusion": ("share expected to change", "grades drawn again from a confusion matrix"),
    "topics": ("topics", "topics drawn at random, without replacement"),
    "intents": ("share of intents kept", "intents of each topic dropped at random, the others share their probability"),
}
"""{method: (the unit of its levels, description)}."""
DEFAULT_METHODS = ("random", "depth", "flips", "topics")
RATES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
DEPTHS = (5, 10, 20, 50, 100)
FLIPS = (0.05, 0.1, 0.2, 0.3)
INTENTS = (0.8, 0.6, 0.4, 0.2)
VALUES = {"tau": "τ with the full ranking", "change": "mean change of score", "rmse": "RMSE of scores"}

How = Annotated[
    Sequence[str] | str | None,
    about(
        "{names}; default: all except confusion and intents. Several separated by commas.",
        names="meta.judgments.robustness:METHODS",
        spelled="--how METHOD",
    ),
]
SHARES: dict[str, Any] = {"above": 0, "most": 1}
Rates = Annotated[
    Sequence[float] | None,
    about("random: the share of judgments kept; default: 0.9 to 0.1.", **SHARES, spelled="--rates P,P,..."),
]
Depths = Annotated[Sequence[int] | None, about("depth: the depths of the pool; default: 5 to 100.", least=1)]
Sizes = Annotated[
    Sequence[int] | None,
    about("topics: the numbers of topics; default: 5, 10, 15, ...", least=1, spelled="--size, -n N,N,..."),
]
Flips = Annotated[
    Sequence[float] | None,
    about("flips: the share of judgments changed; default: 0.05 to 0.3.", **SHARES, spelled="--flips P,P,..."),
]
IntentShares = Annotated[
    Sequence[float] | None,
    about(
        "intents: the share of each topic's intents kept; default: 0.8 to 0.2.",
        **SHARES,
        spelled="--intent-shares P,P,...",
    ),
]
Repeats = Annotated[int, about("How often each change is repeated.", least=1, most=10_000, spelled="--repeats N")]
Probabilities = Mapping[Any, Mapping[Any, float]]
"""{grade: {new grade: probability}}."""
Confusion = Annotated[
    Probabilities | None,
    about("confusion: lines of grade, new grade, probability.", spelled="--confusions FILE"),
]


@dataclass(frozen=True)
class Setting:
    """One experiment: the method, its level, and the number of the repeat."""

    method: str
    level: float
    repeat: int
    judged: int
    """The number of judged documents in this experiment."""


Experiment = tuple[Setting, Mapping[str, Any]]
"""An experiment, and what is judged in it, as arguments of `JudgedDocuments.judged`."""
Means = tuple[Setting, Array, Array]
"""An experiment with the mean scores before and after, measures × runs."""


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Record):
    """Scores after each experiment, compared with those from all judgments and topics."""

    figure = "robustness_figure"

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    settings: tuple[Setting, ...]
    tau: Array
    """settings × measures: Kendall's τ_b with the ranking by all judgments and topics."""
    change: Array
    """settings × measures: the change of the mean score, averaged over runs."""
    rmse: Array
    """settings × measures: the root mean square over runs of the change of the mean score."""
    notes: tuple[str, ...] = ()
    topics: int = 0
    """The number of topics with all judgments."""

    def columns(self) -> Columns:
        """method, level, repeat, judged, measure, tau, change, rmse; a row per experiment and measure."""
        s, m = (axis.ravel() for axis in np.indices(self.tau.shape))
        settings = columns_of(self.settings, Setting)
        return {
            **{name: column[s] for name, column in settings.items()},
            "measure": labels(self.measures)[m],
            **{name: getattr(self, name).ravel() for name in VALUES},
        }

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(setting.method for setting in self.settings))

    def levels(self, method: str) -> dict[float, list[int]]:
        """{level: indexes of its settings}, in their order."""
        level = {i: setting.level for i, setting in enumerate(self.settings) if setting.method == method}
        return {value: [i for i in level if level[i] == value] for value in level.values()}

    def table(self) -> Table:
        """A row for each method, level and measure: means over repeats, and the lowest τ."""
        rows: list[tuple[Cell, ...]] = []
        for method in self.methods:
            for level, indexes in self.levels(method).items():
                judged = self.settings[indexes[0]].judged
                columns = [summaries.mean(values[indexes].T) for values in (self.tau, self.change, self.rmse)]
                columns.insert(1, summaries.statistic(self.tau[indexes].T, "min"))
                for m, measure in enumerate(self.measures):
                    numbers = (float(column[m]) for column in columns)
                    rows.append((method, f"{level:.4g}", measure, len(indexes), judged, *numbers))
        heads = (
            *headings("text", "method", "level", "measure"),
            *headings("count", "repeats", "judged"),
            *headings("number", "τ", "least τ", "change", "RMSE"),
        )
        return Table(heads, tuple(rows), "Robustness", self.notes)

    def tables(self, value: str = "tau") -> list[Table]:
        """A table for each method: measures by levels, the mean of `tau`, `change` or `rmse` over repeats."""
        check.one_of(NAME, tuple(VALUES), value=value)
        best = "higher" if value == "tau" else "lower" if value == "rmse" else "neither"
        tables = []
        for method in self.methods:
            levels = self.levels(method)
            means = [summaries.mean(getattr(self, value)[indexes].T) for indexes in levels.values()]
            rows = tuple((name, *row) for name, row in zip(self.measures, np.array(means).T.tolist(), strict=True))
            heads = (Column("measure"), *headings("number", *map("{:.4g}".format, levels), better=best))
            unit, description = METHODS[method]
            tables.append(Table(heads, rows, f"{method}: {VALUES[value]}, by {unit} ({description})"))
        return [*tables[:-1], replace(tables[-1], notes=self.notes)]

    def curve(self, method: str, value: str = "tau") -> Columns:
        """For a plot: measure, level, the mean of `tau`, `change` or `rmse` over repeats, and its range."""
        check.one_of(NAME, self.methods, method=method)
        check.one_of(NAME, tuple(VALUES), value=value)
        levels = self.levels(method)
        repeats = [getattr(self, value)[indexes].T for indexes in levels.values()]
        return {
            "measure": np.tile(labels(self.measures), len(levels)),
            "level": np.repeat(list(levels), len(self.measures)),
            value: np.concatenate([summaries.mean(values) for values in repeats]),
            "low": np.concatenate([summaries.statistic(values, "min") for values in repeats]),
            "high": np.concatenate([summaries.statistic(values, "max") for values in repeats]),
        }

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())


@operation
def robustness(
    qrels: Any,
    runs: Any,
    measures: MeasuresLike | None = None,
    *,
    how: How = None,
    rates: Rates = None,
    depths: Depths = None,
    flips: Flips = None,
    confusion: Confusion = None,
    sizes: Sizes = None,
    intent_shares: IntentShares = None,
    repeats: Repeats = 5,
    seed: Seed = 0,
    condensed: rescoring.WithCondensed = False,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> Robustness:
    """Score runs again with judgments dropped or changed, and with a subset of the topics.

    `how` is one or several of these methods; each has its own parameter for the levels:

    - `random`: drop judgments at random, with the same share of relevant and of other documents of each topic; at least
      one relevant document stays. `rates`: the share that stays.
    - `depth`: drop judgments of documents that no run has in its first k. `depths`: k.
    - `flips`: change a share of each topic's judgments to the next grade up or down with equal probability; the highest
      grade only goes down, the lowest only up. `flips`: the share.
    - `confusion`: draw every grade again. `confusion`: {grade: {new grade: probability}}.
    - `topics`: draw topics without replacement. `sizes`: how many.
    - `intents`: drop intents of each topic at random; at least one intent with a relevant document stays, and those
      that stay share the probability. Documents judged only for dropped intents are not judged. `intent_shares`: the
      share that stays. It shows how much a diversity measure depends on which intents were chosen (the question of
      Sakai, Dou & Clarke, whose own choices of intents are not made here).

    The default is random, depth, flips and topics, confusion if there is a matrix, and intents if there are shares. All
    but `depth` are repeated `repeats` times; within a repeat, smaller samples are subsets of larger ones. The same
    seed gives the same result for a method, whichever other methods are used. Runs are read and joined once. With
    `condensed`, each measure is also scored on lists without unjudged documents (AP and AP').

    Reference: Buckley & Voorhees, SIGIR 2004, 25-32, doi:10.1145/1008992.1009000 (random); Sakai & Kando, Information
    Retrieval 11, 2008, 447-470, doi:10.1007/s10791-008-9059-7 (condensed lists); Sakai, Dou & Clarke, The Impact of
    Intent Selection on Diversified Search Evaluation, SIGIR 2013 (intents)

    >>> runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}, "z": {"q": {"d": 3, "c": 2}}}
    >>> result = robustness({"q": {"a": 1, "b": 1, "c": 0}}, runs, "P@2", how="depth", depths=[1, 2])
    >>> result.change.round(4).tolist()  # to depth 1 only a and c are judged: x loses b, 1/2 for one of three runs
    [[-0.1667], [0.0]]
    """
    methods = _methods(how, confusion, intent_shares)
    kept, changed = (RATES if rates is None else rates), (FLIPS if flips is None else flips)
    shares = INTENTS if intent_shares is None else intent_shares
    for name, levels in (("how", methods), ("rates", kept), ("flips", changed), ("intent_shares", shares)):
        _check_not_empty(name, levels)
    scorer = rescoring.Rescorer(NAME, qrels, runs, rescoring.with_condensed(measures, condensed), options, missing)
    documents, full = scorer.documents, scorer.full
    experiments: dict[str, Iterator[Experiment]] = {
        "random": _dropped(documents, kept, repeats, seed),
        "depth": _by_depth(documents, depths),
        "flips": _flipped(documents, changed, repeats, seed),
        "confusion": _confused(documents, confusion or {}, repeats, seed),
        "intents": _of_intents(documents, shares, repeats, seed),
    }
    plan = [experiment for name, drawn in experiments.items() if name in methods for experiment in drawn]
    subsets = _subsets(full, sizes, repeats, seed, len(documents)) if "topics" in methods else []
    means: list[Means] = []
    for number, (setting, changes) in enumerate(plan, 1):
        values = scorer.values(documents.judged(**changes))
        means.append((setting, *rescoring.paired_means(full.values, values)))
        report(progress, number, len(plan))
    return _record(full, [*means, *subsets], repeats, seed, *([rescoring.PAIRED] if plan else []))


@operation
def topic_subsets(scores: Scores, *, sizes: Sizes = None, repeats: Repeats = 5, seed: Seed = 0) -> Robustness:
    """The `topics` method of `robustness`, from scores: means over topics drawn without replacement, against all.

    >>> scores = Scores.from_matrix([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.5, 0.6, 0.7]])
    >>> topic_subsets(scores, sizes=[2], repeats=1).tau.tolist()
    [[1.0]]
    """
    check_count(NAME, len(scores.runs), "run")
    return _record(scores, _subsets(scores, sizes, repeats, seed, 0), repeats, seed)


def _record(full: Scores, means: Sequence[Means], repeats: int, seed: int, *notes: str) -> Robustness:
    settings, before, after = zip(*means, strict=True)
    change = np.stack(after) - np.stack(before)
    counts = f"{counted(len(full.runs), 'run')}, {counted(len(full.topics), 'topic')}"
    random = any(setting.method != "depth" for setting in settings)
    drawn = (f"{counted(repeats, 'repeat')}, seed {seed}",) if random else ()
    correlations = rescoring.tau(np.stack(before), np.stack(after))
    notes = (*full.notes, counts, *drawn, rescoring.BY_TAU, *notes, *rescoring.undefined_note(correlations))
    rmse = np.sqrt(summaries.mean(change**2))
    return Robustness(
        full.measures, full.runs, settings, correlations, summaries.mean(change), rmse, notes, len(full.topics)
    )


def _dropped(documents: JudgedDocuments, rates: Sequence[float], repeats: int, seed: int) -> Iterator[Experiment]:
    relevant = documents.grade >= 1
    stratum = documents.topic * 2 + relevant
    for repeat in range(repeats):
        place, size = _shuffled(stratum, [seed, 0, repeat])
        for rate in rates:
            kept = np.maximum(np.floor(rate * size + 0.5), relevant)
            keep = np.asarray(place <= kept)
            yield Setting("random", rate, repeat, int(keep.sum())), {"keep": keep}


def _by_depth(documents: JudgedDocuments, depths: Sequence[int] | None) -> Iterator[Experiment]:
    longest = int(documents.lists.retrieved.max(initial=0))
    if depths is None:
        depths = [depth for depth in DEPTHS if depth <= longest] or [longest]
    _check_not_empty("depths", depths)
    for depth in depths:
        if depth > longest:
            rescoring.warn_too_deep("depth", depth, longest)
    first = documents.first_ranks(np.zeros(len(documents.lists.runs), dtype=np.int64), 1)[0]
    for depth in depths:
        keep = np.asarray((first > 0) & (first <= depth))
        yield Setting("depth", float(depth), 0, int(keep.sum())), {"keep": keep}


def _flipped(documents: JudgedDocuments, shares: Sequence[float], repeats: int, seed: int) -> Iterator[Experiment]:
    scale, step = np.unique(documents.grade, return_inverse=True)
    if len(scale) < 2:
        raise UsageError(f"{NAME}: all judgments have grade {scale[0]:g}, so there is no other grade to change to")
    for repeat in range(repeats):
        place, size = _shuffled(documents.topic, [seed, 1, repeat])
        up = np.random.default_rng([seed, 2, repeat]).random(len(documents)) < 0.5
        up = np.where(step == 0, True, np.where(step == len(scale) - 1, False, up))
        moved = scale[step + np.where(up, 1, -1)]
        for share in shares:
            changed = place <= np.floor(share * size + 0.5)
            grade = np.where(changed, moved, documents.grade)
            yield Setting("flips", share, repeat, len(documents)), {"grade": grade}


def _confused(documents: JudgedDocuments, confusion: Probabilities, repeats: int, seed: int) -> Iterator[Experiment]:
    rows = _matrix(confusion, documents.grade)
    changes = np.array([1 - rows[grade].get(grade, 0.0) for grade in documents.grade.tolist()])
    for repeat in range(repeats):
        draw = np.random.default_rng([seed, 3, repeat]).random(len(documents))
        grade = np.empty(len(documents))
        for old, row in rows.items():
            same = documents.grade == old
            drawn = np.searchsorted(np.cumsum(list(row.values())), draw[same], side="right")
            grade[same] = np.array(list(row))[np.minimum(drawn, len(row) - 1)]
        yield Setting("confusion", float(changes.mean()), repeat, len(documents)), {"grade": grade}


def _of_intents(documents: JudgedDocuments, shares: Sequence[float], repeats: int, seed: int) -> Iterator[Experiment]:
    intents = documents.lists.intents
    if intents is None:
        raise UsageError(f"{NAME}: the judgments have no intents to choose from; give judgments by intent")
    served = np.bincount(intents.intent[intents.grade >= 1], minlength=len(intents)) > 0
    for repeat in range(repeats):
        # Intents without relevant documents are in a stratum of their own, so that one with some of them stays.
        place, size = _shuffled(intents.topic * 2 + served, [seed, 5, repeat])
        for share in shares:
            kept = np.asarray(place <= np.maximum(np.floor(share * size + 0.5), served))
            judged = len(np.unique(intents.document[kept[intents.intent]]))
            yield Setting("intents", share, repeat, judged), {"intents": kept}


def _matrix(confusion: Probabilities, grades: Array) -> dict[float, dict[float, float]]:
    """The rows of the grades that occur, with grades and probabilities as floats."""
    rows = {float(old): {float(new): float(p) for new, p in row.items()} for old, row in confusion.items()}
    for old, row in rows.items():
        check.between(f"{NAME}: confusion of grade {old:g}", low=0, high=1, **{f"p({n:g})": p for n, p in row.items()})
        if not math.isclose(total := sum(row.values()), 1.0, abs_tol=1e-6):
            raise UsageError(f"{NAME}: probabilities of grade {old:g} sum to {total:g}, must be 1")
    present = np.unique(grades).tolist()
    for grade in present:
        if grade not in rows:
            raise UsageError(f"{NAME}: confusion has no row for grade {grade:g}, which occurs in the judgments")
    return {grade: rows[grade] for grade in present}


def _subsets(full: Scores, sizes: Sequence[int] | None, repeats: int, seed: int, judged: int) -> list[Means]:
    n = len(full.topics)
    if n < 2:
        raise UsageError(f"{NAME}: {counted(n, 'topic')}, must be 2 or more to draw a subset")
    step = 5 if n > 10 else 1
    chosen = list(range(step, n, step)) if sizes is None else list(sizes)
    _check_not_empty("sizes", chosen)
    for size in chosen:
        check.between(NAME, low=1, high=n, size=size)
    before = full.means()
    means = []
    for repeat in range(repeats):
        order = np.random.default_rng([seed, 4, repeat]).permutation(n)
        for size in chosen:
            after = summaries.mean(full.values[:, :, order[:size]])
            means.append((Setting("topics", float(size), repeat, judged), before, after))
    return means


def _shuffled(stratum: Index64, seed: list[int]) -> tuple[Index64, Index64]:
    """A random order within each stratum: the place of each entry (from 1), and the size of its stratum."""
    order = np.lexsort((np.random.default_rng(seed).random(len(stratum)), stratum))
    start = segment_starts(stratum, int(stratum.max(initial=-1)) + 1)
    place = np.empty(len(stratum), dtype=np.int64)
    place[order] = position_in_segment(start)
    return place, np.diff(start)[stratum]


def _methods(
    how: Sequence[str] | str | None, confusion: Probabilities | None, intent_shares: Sequence[float] | None
) -> tuple[str, ...]:
    if how is None:
        asked = {"confusion": confusion, "intents": intent_shares}
        return (*DEFAULT_METHODS, *(method for method, value in asked.items() if value is not None))
    methods = (how,) if isinstance(how, str) else tuple(how)
    for method in methods:
        check.one_of(NAME, tuple(METHODS), how=method)
    if "confusion" in methods and confusion is None:
        raise UsageError(f"{NAME}: how == 'confusion' needs a matrix: confusion={{grade: {{grade: probability}}}}")
    return methods


def _check_not_empty(name: str, values: Sequence[object]) -> None:
    if not values:
        raise UsageError(f"{NAME}: {name} is empty, must hold one or more")
