"""Pairs of runs: differences, intervals, p-values and effect sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.result import Comparison
from cranfield.record import table_of
from cranfield.report.pages.report_parts import Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.table import Column, Estimate, Table
from cranfield.text import counted

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
