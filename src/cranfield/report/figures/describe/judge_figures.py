"""Machine judges: confusion of grades, ranks of runs under each judge, leniency by topic, and powered intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.report.figures.describe.grids import describe_heat
from cranfield.report.figures.describe.score_figures import describe_boxes
from cranfield.report.figures.figure import Axis, Figure, Reference, in_order, names
from cranfield.text import counted

if TYPE_CHECKING:  # these import all of comparison and meta-evaluation, which other figures do not need
    from cranfield.building.machine.judge_agreement import JudgeConfusion, TopicAgreement
    from cranfield.building.machine.judge_rankings import RunRanks
    from cranfield.building.machine.powered_intervals import PoweredIntervals

MOST_ROWS = 60
"""Rows that a figure of intervals shows."""


def describe_judge_confusion(confusion: JudgeConfusion, judge: str | None = None) -> Figure:
    """Show the share of machine grades for each human grade, for one judge (by default the first).

    >>> from cranfield.building.machine.machine_audit import audit
    >>> result = audit({"1": {"a": 1, "b": 0}}, {"model": {"1": {"a": 1, "b": 1}}})
    >>> describe_judge_confusion(result.confusion).columns()["value"].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    judges = in_order(confusion.judge)
    chosen = judges[0] if judge is None else judge
    if chosen not in judges:
        raise nearest(chosen, judges, "judge")
    grades, matrix = confusion.matrix(chosen)
    totals = matrix.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, matrix / np.maximum(totals, 1), np.nan)
    return describe_heat(
        shares,
        [f"human {grade:g} ({total:,})" for grade, total in zip(grades, totals[:, 0].tolist(), strict=True)],
        [f"machine {grade:g}" for grade in grades],
        what="share",
        title=f"Grades of {chosen}",
        subtitle="the share of documents with each machine grade,\nfor each human grade (with its number of documents)",
    )


def describe_judge_ranks(ranks: RunRanks, documents: str = "both", measure: str | None = None) -> Figure:
    """Show the rank of every run with human judgments and under each machine judge, a line per run.

    >>> from cranfield.building.machine.machine_audit import audit
    >>> runs = {"x": {t: {"a": 2.0, "b": 1.0} for t in "12"}, "y": {t: {"b": 2.0, "a": 1.0} for t in "12"}}
    >>> human, machine = ({t: grades for t in "12"} for grades in ({"a": 1, "b": 0}, {"a": 0, "b": 1}))
    >>> result = audit(human, {"model": machine}, runs, "AP")
    >>> describe_judge_ranks(result.ranks).columns()["rank"].tolist()
    [1, 2, 2, 1]
    """
    measures = in_order(ranks.measure)
    chosen = measures[0] if measure is None else measure
    if chosen not in measures:
        raise nearest(chosen, measures, "measure")
    mine = (ranks.measure == chosen) & (ranks.documents == documents)
    judges = in_order(ranks.judge[mine])
    first = mine & (ranks.judge == judges[0])
    order = np.flatnonzero(first)[np.argsort(ranks.rank[0][first], kind="stable")]
    runs = ranks.run[order]
    place = {name: i for i, name in enumerate(runs.tolist())}
    table = np.empty((len(runs), len(judges) + 1), dtype=np.int64)
    table[:, 0] = ranks.rank[0][order]
    for j, judge in enumerate(judges, 1):
        for i in np.flatnonzero(mine & (ranks.judge == judge)).tolist():
            table[place[ranks.run[i]], j] = ranks.rank[1][i]
    labels = ["human", *judges]
    moved = int((table[:, 1:] != table[:, :1]).any(axis=1).sum())
    return Figure(
        "slopes",
        {
            "run": np.repeat(names(runs), len(labels)),
            "judge": np.tile(names(labels), len(runs)),
            "rank": table.ravel(),
        },
        x=Axis("judge", "", "category"),
        y=Axis("rank", f"rank by {chosen}", "count", reverse=True),
        by=Axis("run", "run", "category"),
        title=f"Ranks of {counted(len(runs), 'run')} by {chosen} under each judge",
        subtitle=f"{moved} of {len(runs)} runs have another rank under a machine judge; "
        + ("only documents that both judged" if documents == "both" else "all judgments of each file"),
    )


def describe_topic_leniency(topics: TopicAgreement) -> Figure:
    """Show how leniency varies over topics, a box per judge."""
    judges = in_order(topics.judge)
    by_judge = {
        judge: dict(
            zip(topics.topic[topics.judge == judge], topics.leniency[topics.judge == judge].tolist(), strict=True)
        )
        for judge in judges
    }
    figure = describe_boxes(by_judge, "leniency")
    title = f"Leniency of {counted(len(judges), 'machine judge')} over topics"
    return Figure(
        figure.kind, figure.data, figure.x, Axis("system", "judge", "category"), figure.by, title,
        "mean machine minus human grade on each topic: above 0, the machine is more lenient", figure.references,
        figure.also, figure.notes,
    )  # fmt: skip


def describe_powered(result: PoweredIntervals, measure: str | None = None) -> Figure:
    """Show every prediction-powered interval beside the classical one.

    >>> from cranfield.building.machine.powered_intervals import powered_intervals
    >>> from cranfield.scores import Scores
    >>> human = Scores.from_matrix([[0.2], [0.4], [0.9]], ["a"], ["1", "2", "3"], measure="AP")
    >>> machine = Scores.from_matrix([[0.3], [0.4], [0.8], [0.5], [0.3]], ["a"], "12345", measure="AP")
    >>> describe_powered(powered_intervals(human, machine)).columns()["kind"].tolist()
    ['prediction-powered', 'classical']
    """
    measures = in_order(result.measure)
    chosen = measures[0] if measure is None else measure
    if chosen not in measures:
        raise nearest(chosen, measures, "measure")
    rows = np.flatnonzero(result.measure == chosen)
    if not len(rows):
        raise UsageError("nothing to draw: there are no intervals")
    means = result.means
    rows = rows[np.argsort(-means.estimate[rows], kind="stable")]
    left_out = len(rows) - MOST_ROWS
    rows = rows[:MOST_ROWS]
    labels = [_label(result, i) for i in rows.tolist()]

    def both(powered: Any, classical: Any) -> Any:
        return np.stack([powered[rows], classical[rows]], axis=1).ravel()

    note = f"the {MOST_ROWS} highest of {left_out + MOST_ROWS}" if left_out > 0 else ""
    difference = result.other is not None
    return Figure(
        "paired_intervals",
        {
            "system": np.repeat(names(labels), 2),
            "kind": np.tile(np.array(["prediction-powered", "classical"], dtype=object), len(rows)),
            "mean": both(means.estimate, means.classical),
            "low": both(means.low, means.classical_low),
            "high": both(means.high, means.classical_high),
        },
        x=Axis("mean", f"{'difference in ' if difference else ''}mean {chosen} over all topics"),
        y=Axis("system", "system", "category"),
        by=Axis("kind", "", "category"),
        title=f"{chosen}: {len(result.topics)} topics with human judgments, {len(result.others):,} with machine "
        "judgments only",
        subtitle=f"{100 * result.level:g}% intervals, each alone{'; ' + note if note else ''}\n"
        "filled: prediction-powered; hollow: classical, from human judgments alone",
        references=(Reference("x", 0.0, ""),) if difference else (),
        notes=result.notes,
    )


def _label(result: PoweredIntervals, row: int) -> str:
    run = str(result.run[row])
    return run if result.other is None else f"{run} − {result.other[row]}"
