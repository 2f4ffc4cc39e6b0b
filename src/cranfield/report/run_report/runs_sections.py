"""Sections about runs: the summary, the leaderboard, pairs, curves of precision and recall, and efficiency."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join import join
from cranfield.comparison.result import Comparison
from cranfield.errors import CranfieldError, UsageError
from cranfield.measures.ranked_lists.curves import interpolated_precision
from cranfield.record import table_of
from cranfield.report.figures import describe_curves, describe_efficiency, describe_intervals
from cranfield.report.pages.leaderboard_page import leaderboard_columns
from cranfield.report.pages.report_parts import Block, FigureBlock, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.scores.efficiency import efficiency
from cranfield.table import Column, Estimate, Table
from cranfield.text import counted, enumerated, listed

MOST_INTERVALS = 60
"""With more runs there is no figure of intervals, because the table shows them all."""


def summary_section(experiment: Experiment) -> Section:
    """The best run, which runs do not differ from it, how many pairs differ, and how certain the ranking is."""
    board, scores = experiment.board, experiment.scores
    best, mean, low, high = board.run[0], board.mean[0], board.low[0], board.high[0]
    span = f" ({board.level:.0%} interval {low:.4f} to {high:.4f})" if low == low else ""
    topics = counted(len(scores.topics), "topic")
    points = [
        f"{best} is the best of {counted(len(board.run), 'run')} by {board.measure}: {mean:.4f}{span} on {topics}."
    ]
    try:
        comparison = experiment.comparison
        family = comparison.families[0]
        names = np.array(family.matrix.systems, dtype=object)
        with_best = (names[family.first] == best) | (names[family.second] == best)
        others = np.where(names[family.first] == best, names[family.second], names[family.first])
        alike = set(others[with_best & (family.adjusted > comparison.alpha)].tolist())
        ranked = [run for run in board.run if run in alike]
        others_differ = len(board.run) - 1 - len(ranked)
        if not ranked:
            differ = "It differs significantly from all others."
        elif not others_differ:
            differ = "No other run differs from it significantly."
        else:
            of_runs = f"{counted(others_differ, 'run')}, but not from {counted(len(ranked), 'run')}"
            differ = f"It differs significantly from {of_runs}: {listed(ranked)}."
        points.append(f"{differ} ({comparison.method()})")
        points.append(f"{comparison.significant:,} of {counted(comparison.comparisons, 'pair')} of runs differ.")
        points += [f"{note[0].upper()}{note[1:]}." for note in comparison.notes if note.startswith("caution:")]
    except CranfieldError as error:
        points.append(f"No test: {error}.")
    if board.rank_high[0] > 1:
        points.append(f"On all topics like these, the rank of {best} may be {board.rank_spans[0]} ({board.level:.0%}).")
    points += _other_measures(experiment, best)
    points += [f"The same ranking under {len(names)} names: {listed(names)}." for names in experiment.same.groups]
    return Section("summary", "In short", (), tuple(points))


def _other_measures(experiment: Experiment, best: str) -> list[str]:
    """Which runs the other measures rank first."""
    first: dict[str, list[str]] = {}
    for name, means in experiment.board.others.items():
        if not np.isnan(means).all():
            first.setdefault(experiment.scores[name].sort().runs[0], []).append(name)
    same = first.pop(best, [])
    points = [f"{enumerated(same)} also {'rank' if len(same) > 1 else 'ranks'} it first."] if same else []
    for run, names in first.items():
        points.append(f"{enumerated(names)} {'rank' if len(names) > 1 else 'ranks'} {run} first.")
    return points


def leaderboard_section(experiment: Experiment) -> Section:
    """The table of all runs, and a figure of means and intervals."""
    board = experiment.board
    blocks: list[Block] = [
        TableBlock(
            "leaderboard",
            table_of(board.columns(), notes=board.notes),
            columns=leaderboard_columns(board),
            tools=True,
            printed=None,
        )
    ]
    if 1 < len(board.run) <= MOST_INTERVALS:
        with suppress(CranfieldError):  # a note of the leaderboard says why runs cannot be compared
            blocks.append(FigureBlock("intervals", replace(describe_intervals(experiment.comparison), notes=())))
    text = f"Runs by {board.measure}, the best first. Click a heading to sort; type words to filter."
    return Section("leaderboard", "Leaderboard", (text,), (), tuple(blocks))


MOST_PAIRS = 300
"""Up to this many pairs, those of 25 runs, are all in the page. The CSV file always has all."""
DIGITS = 6
CONSTANT = ("collection", "measure")
"""Columns that are the same for all pairs of a report."""


def pairs_section(experiment: Experiment) -> Section:
    """All pairs, or with many runs those with the best run and those of neighbours in the ranking."""
    comparison = experiment.comparison
    columns = comparison.columns()
    order = np.argsort(-np.abs(columns["difference"]), kind="stable")
    text = [
        f"{comparison.significant:,} of {counted(comparison.comparisons, 'pair')} of runs differ significantly by "
        f"{experiment.measure}. {comparison.effect} is the effect size: the mean difference in standard deviations of "
        "the differences over topics."
    ]
    if len(order) > MOST_PAIRS:
        place = {run: at for at, run in enumerate(experiment.board.run)}
        ends = np.array([[place[run] for run in columns[name]] for name in ("system", "other")])
        near, far = ends.min(axis=0), ends.max(axis=0)
        order = order[((near == 0) | (far == near + 1))[order]]
        text.append(
            f"The table shows {len(order):,} of the pairs: those with the best run, and those of neighbours in the "
            "ranking. The CSV file has all."
        )
    data = table_of({name: column for name, column in columns.items() if name not in CONSTANT}, digits=DIGITS)
    table = TableBlock("pairs", _shown(comparison, columns, order), data=data, tools=True)
    return Section("pairs", "Pairs of runs", tuple(text), (), (table,))


def _shown(comparison: Comparison, columns: Mapping[str, NDArray[Any]], order: NDArray[np.intp]) -> Table:
    """Some of the pairs, with the intervals of differences and of effect sizes."""
    hidden = {
        "low",
        "high",
        "effect low",
        "effect high",
        "mean",
        "other mean",
        comparison.statistic,
        "topics",
        *CONSTANT,
    }
    hidden |= {"p adjusted" if comparison.correction == "none" else "p"}
    hidden |= set() if columns["against mean"].any() else {"against mean"}
    table = table_of({name: column for name, column in columns.items() if name not in hidden}, order)
    spans = {"difference": ("low", "high"), comparison.effect: ("effect low", "effect high")}
    heads = [Column(c.header, "difference") if c.header in spans else c for c in table.columns]
    cells = [list(column) for column in zip(*table.rows, strict=True)]
    for at, head in enumerate(heads):
        if head.header in spans:
            low, high = (columns[end][order].tolist() for end in spans[head.header])
            n = columns["topics"][order].tolist()
            numbers = zip(cells[at], low, high, n, strict=True)
            cells[at] = [Estimate("", "", float(value), a, b, topics, 0, 0) for value, a, b, topics in numbers]
    return Table(tuple(heads), tuple(zip(*cells, strict=True)), notes=comparison.notes)


def efficiency_section(experiment: Experiment) -> Section:
    """Runs that no other run beats in both are on the front."""
    if experiment.times is None:
        raise UsageError("no times of runs are known")
    result = efficiency(experiment.scores, experiment.times)
    figure = describe_efficiency(efficiency(experiment.scores[experiment.measure], experiment.times))
    text = "A run is on the front if no other run is at least as effective and as fast, and better in one of the two."
    table = TableBlock("efficiency", result.table(), tools=len(result.runs) > 20)
    return Section("efficiency", "Efficiency", (text,), (), (FigureBlock("front", figure), table))


MOST_CURVES = 8
"""More lines could not be told apart."""


def curves_section(experiment: Experiment) -> Section:
    """Mean interpolated precision at eleven points of recall."""
    qrels, runs = experiment.need_runs()
    best = {run: runs[run] for run in experiment.board.run[:MOST_CURVES]}
    figure = describe_curves(interpolated_precision(join(qrels, best, experiment.options)))
    shown = f"the {MOST_CURVES} best of {len(runs):,} runs" if len(runs) > MOST_CURVES else counted(len(runs), "run")
    text = (
        f"Interpolated precision against recall, of {shown} by {experiment.measure}. Documents of grade 1 or more are "
        "relevant."
    )
    return Section("curves", "Curves", (text,), (), (FigureBlock("curves", figure, figure.table()),))
