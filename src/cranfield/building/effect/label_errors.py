"""Which mislabelled document moves which run under which measure, if labels are merged first, or scores are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.building.effect.aware import WEIGHTS, weighted_mean, weights_of
from cranfield.building.effect.labelled_runs import LabelledRuns
from cranfield.building.merging import MERGING_METHODS, merge
from cranfield.building.merging.gold_labels import gold_of
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import UsageError
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.judgments.rescoring import ranks
from cranfield.notes import Notes
from cranfield.record import Record, column, table_of
from cranfield.scores import summary as summaries
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Index64, Progress

MOST_ROWS = 20
"""Rows that a table shows; the columns have all."""
SMALL = 1e-12
"""Changes below this are rounding errors."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelErrors(Record):
    """The change of a score that one mislabelled document makes: a row per measure, document and run.

    The table shows the largest changes.
    """

    caption = "Changes of scores by mislabelled documents"
    figure = "describe_label_errors"
    facts = ("method", "weights")

    measure: Annotated[Any, column()]
    topic: Annotated[Any, column()]
    doc: Annotated[Any, column()]
    gold: Annotated[Array, column(kind="count")]
    merged: Annotated[Array, column(kind="count")]
    """The grade by the merging method."""
    wrong: Annotated[Index64, column()]
    """Assessors with another label than the gold label."""
    labels: Annotated[Index64, column()]
    run: Annotated[Any, column()]
    rank: Annotated[Index64, column()]
    """Where the run ranks the document; 0 if it does not retrieve it."""
    upstream: Annotated[Array, column()]
    """The score with merged labels, minus that if this document had its gold label."""
    downstream: Annotated[Array, column()]
    """The average of the scores by assessor, minus that if they had all given this document its gold label."""
    turned: Annotated[Index64, column("pairs turned")]
    """Pairs of runs in another order by means if the document had its gold label upstream."""
    shifts: tuple[Array, Array]
    """measures × runs: mean scores minus those with gold labels; upstream, downstream."""
    method: str
    weights: str
    notes: tuple[str, ...]

    def sorted_rows(self) -> Index64:
        """The largest changes first."""
        size = np.maximum(np.abs(self.upstream), np.abs(self.downstream))
        return np.argsort(-size, kind="stable")[:MOST_ROWS]

    def table(self) -> Table:
        table = super().table()
        if len(self.upstream) <= MOST_ROWS:
            return table
        more = f"the {MOST_ROWS} largest of {len(self.upstream):,} changes; csv and JSON have all"
        return Table(table.columns, table.rows, table.caption, (*table.notes, more))

    def runs_table(self) -> Table:
        """A row per measure and run: how many documents move it, how far on average, and the shift of its mean."""
        measures, runs = (list(dict.fromkeys(names.tolist())) for names in (self.measure, self.run))
        rows: dict[str, list[Any]] = {
            name: []
            for name in (
                "measure", "run", "documents upstream", "mean change upstream", "documents downstream",
                "mean change downstream", "shift upstream", "shift downstream",
            )
        }  # fmt: skip
        for m, measure in enumerate(measures):
            for r, run in enumerate(runs):
                own = (self.measure == measure) & (self.run == run)
                cells: list[Any] = [measure, run]
                for changes in (np.abs(self.upstream[own]), np.abs(self.downstream[own])):
                    moved = changes[changes > SMALL]
                    cells += [len(moved), float(moved.mean()) if len(moved) else 0.0]
                cells += [float(shift[m, r]) for shift in self.shifts]
                for name, cell in zip(rows, cells, strict=True):
                    rows[name].append(cell)
        return table_of(rows, caption="Runs that mislabelled documents move", notes=self.notes)


@operation
def label_errors(
    labels: LabelsLike,
    runs: Any,
    measures: Any = None,
    *,
    gold: Any,
    method: Annotated[
        str, about("The method that merges labels upstream.", names="building.merging.label_problem:MERGING_METHODS")
    ] = "majority",
    weights: Annotated[str, about("How AWARE weighs assessors downstream: {names}.", choices=WEIGHTS)] = "uniform",
    seed: Seed = 0,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> LabelErrors:
    r"""The change that each mislabelled document makes in the score of each run, upstream and downstream.

    Upstream, labels are merged and runs are scored with the merged labels. Downstream (AWARE), runs are scored with the
    labels of each assessor, and the scores are averaged. With gold labels it is known which labels are wrong, and so
    what the score would be if one document d were right, all others as they are:

    .. math:: \Delta_{up}(d) = M(r, \text{merged}) - M(r, \text{merged with the gold label of } d), \quad
        \Delta_{down}(d) = \sum_a w_a \left[ M(r, a) - M(r, a \text{ with the gold label of } d) \right]

    A document whose merged label is right has :math:`\Delta_{up} = 0`, however many assessors were wrong. Weights of
    assessors are those of the labels as they are. Documents without a gold label, or with nothing but right labels, are
    left out.

    gold: gold labels of documents, as in `merge`.

    Reference: Ferro & Maistro 2024, §2.5 (the question); Ferrante, Ferro & Maistro, ECIR 2017 (AWARE)

    >>> labels = [("1", "d1", "anna", 1), ("1", "d1", "ben", 0), ("1", "d1", "cleo", 0), ("1", "d2", "anna", 1),
    ...     ("1", "d2", "ben", 1), ("1", "d2", "cleo", 1)]
    >>> errors = label_errors(labels, {"mine": {"1": {"d1": 2.0, "d2": 1.0}}}, "AP", gold={"1": {"d1": 1, "d2": 1}})
    >>> errors.upstream.tolist(), errors.downstream.round(4).tolist()
    ([-0.5], [-0.3333])
    """
    every = Labels.of(labels)
    name = MERGING_METHODS.find(method).name
    check.one_of("label_errors", WEIGHTS, weights=weights)
    if gold is None:
        raise UsageError("label_errors: it needs gold labels, to know which documents are mislabelled: gold=")
    joined = LabelledRuns(every, runs, measures, missing=missing, options=options)
    known, gold_notes = gold_of(gold, every)
    merged = merge(every, name, seed=seed, compare_votes=False)
    truth = np.where(known >= 0, np.asarray(every.values, dtype=np.float64)[known], np.nan)
    given = joined.grades_by_assessor()
    wrong = ~np.isnan(given) & ~np.isnan(truth) & (given != truth)
    merged_wrong = ~np.isnan(truth) & ~np.isnan(merged.grades) & (merged.grades != truth)
    items = np.flatnonzero(wrong.any(axis=0) | merged_wrong)
    place = {topic: t for t, topic in enumerate(joined.topics)}
    kept = np.array([every.topics[i] in place for i in items.tolist()], dtype=bool)
    items = items[kept]
    if not len(items):
        raise UsageError("label_errors: no document is mislabelled; all labels agree with the gold labels")
    topic = np.array([place[every.topics[i]] for i in items.tolist()], dtype=np.int64)
    base = joined.values(merged.grades)
    by_assessor = joined.values_by_assessor(progress)
    weight = weights_of(joined, by_assessor, weights=weights, seed=seed).weight
    shape = base.shape[:2]
    up, down = np.zeros((*shape, len(items))), np.zeros((*shape, len(items)))
    average = weighted_mean(by_assessor, weight)[0]
    rounds = _rounds(topic)
    for number, members in enumerate(rounds):  # one document of each topic at a time: topics are scored apart
        own, at = items[members], topic[members]
        if merged_wrong[own].any():
            grades = merged.grades.astype(np.float64).copy()
            grades[own] = truth[own]
            up[:, :, members] = (base - joined.values(grades))[:, :, at]
        changed = by_assessor.copy()
        for worker in np.flatnonzero(wrong[:, own].any(axis=1)).tolist():
            right = given[worker].copy()
            these = own[wrong[worker, own]]
            right[these] = truth[these]
            changed[worker] = joined.values(right)
        down[:, :, members] = (average - weighted_mean(changed, weight)[0])[:, :, at]
        if progress is not None:
            progress(number + 1, len(rounds))
    gold_grades = np.where(np.isnan(truth), merged.grades, truth)
    best = summaries.mean(joined.values(gold_grades))
    up, down = (np.where(np.abs(change) <= SMALL, 0.0, change) for change in (up, down))
    turned = _turned(joined, base, up, topic)
    return _record(joined, every, items, up, down, turned, {
        "gold": truth[items], "merged": merged.grades[items].astype(np.float64), "wrong": wrong[:, items].sum(axis=0),
        "labels": (~np.isnan(given[:, items])).sum(axis=0),
    }, shifts=(summaries.mean(base) - best, summaries.mean(average) - best), method=name, weights=weights,
        notes=_notes(every, gold_notes, merged_wrong, wrong, name, known))  # fmt: skip


def _rounds(topic: Index64) -> list[Index64]:
    """The documents in rounds with at most one of each topic.

    >>> [members.tolist() for members in _rounds(np.array([0, 0, 1]))]
    [[0, 2], [1]]
    """
    order = np.argsort(topic, kind="stable")
    size = np.bincount(topic)
    nth = np.empty(len(topic), dtype=np.int64)
    nth[order] = np.concatenate([np.arange(count) for count in size.tolist()])
    return [np.flatnonzero(nth == number) for number in range(int(nth.max()) + 1)]


def _turned(joined: LabelledRuns, base: Array, up: Array, topic: Index64) -> Index64:
    """measures × documents: pairs of runs in another order by means, if the document had its gold label."""
    turned = np.zeros((base.shape[0], up.shape[2]), dtype=np.int64)
    means = summaries.mean(base)
    lower = [lower_is_better(str(measure)) for measure in joined.measures]
    now = ranks(means, lower)
    first, second = np.triu_indices(len(joined.runs), 1)
    before = np.sign(now[:, first] - now[:, second])
    for number in np.flatnonzero(np.nan_to_num(up).any(axis=(0, 1))).tolist():
        values = base.copy()
        values[:, :, topic[number]] -= up[:, :, number]
        then = ranks(summaries.mean(values), lower)
        turned[:, number] = (np.sign(then[:, first] - then[:, second]) != before).sum(axis=1)
    return turned


def _record(
    joined: LabelledRuns, labels: Labels, items: Index64, up: Array, down: Array, turned: Index64,
    of_items: dict[str, Any], **more: Any,
) -> LabelErrors:  # fmt: skip
    measures, systems, count = up.shape
    rank = np.zeros((systems, len(labels.items)), dtype=np.int64)
    lists = joined.lists
    rank[lists.run[lists.row], lists.grade.astype(np.int64) - 1] = lists.rank  # the grade is the number of the item
    m, i, r = (axis.ravel() for axis in np.meshgrid(*map(np.arange, (measures, count, systems)), indexing="ij"))
    texts = [np.array(names, dtype=object) for names in (tuple(map(str, joined.measures)), joined.runs)]
    topics, docs = (np.array(names, dtype=object)[items] for names in (labels.topics, labels.docs))
    return LabelErrors(
        measure=texts[0][m], topic=topics[i], doc=docs[i], run=texts[1][r], rank=rank[r, items[i]],
        upstream=up[m, r, i], downstream=down[m, r, i], turned=turned[m, i],
        **{name: values[i] for name, values in of_items.items()} | more,
    )  # fmt: skip


def _notes(
    labels: Labels, gold_notes: tuple[str, ...], merged_wrong: Array, wrong: Array, method: str, known: Index64
) -> tuple[str, ...]:
    notes = Notes([*labels.notes])
    some = wrong.any(axis=0)
    notes.method(
        f"{counted(int(merged_wrong.sum()), 'document')} of {int((known >= 0).sum()):,} with gold labels wrong by "
        f"{method}, {int(some.sum()):,} by one assessor or more"
    )
    notes.method("a change above 0: the mislabelled document raises the score of the run")
    return (*notes, *(note for note in gold_notes if "kept" not in note))
