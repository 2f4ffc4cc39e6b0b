"""The leaderboard of a report, and what it says in a few sentences."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from cranfield.errors import CranfieldError
from cranfield.record import table_of
from cranfield.report.figures import describe_intervals
from cranfield.report.pages.leaderboard_page import leaderboard_columns
from cranfield.report.pages.report_parts import Block, FigureBlock, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.text import counted, listed

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
    points = [f"{_joined(same)} also {'rank' if len(same) > 1 else 'ranks'} it first."] if same else []
    for run, names in first.items():
        points.append(f"{_joined(names)} {'rank' if len(names) > 1 else 'ranks'} {run} first.")
    return points


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
