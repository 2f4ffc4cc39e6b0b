"""Relevance against diversity: D-nDCG against I-rec, with lines of equal D#."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, names, numbers
from cranfield.scores.scores import Scores
from cranfield.text import counted
from cranfield.types import Array

MARGIN = 0.08
LEVELS = 6


def describe_diversity(
    data: Any, *, recall: str | None = None, relevance: str | None = None, gamma: float = 0.5, system: str = "system"
) -> Figure:
    r"""Show every system at its mean I-rec and D-nDCG, with lines of equal D# (Sakai 2014, Sakai 2013).

    .. math:: D\#\text{-nDCG} = \gamma\,\text{I-rec} + (1 - \gamma)\,\text{D-nDCG}

    `data` is `Scores` of both measures, or columns of means. By default, `recall` and `relevance` are the measures that
    begin with I-rec and D-. Reference: Sakai & Song, SIGIR 2011, doi:10.1145/2009916.2010055

    >>> table = {"system": ["a", "b"], "I-rec@10": [0.6, 0.7], "D-nDCG@10": [0.4, 0.3]}
    >>> describe_diversity(table).columns()["D#-nDCG@10"].tolist()
    [0.5, 0.5]
    """
    check.between("describe_diversity", low=0, high=1, gamma=gamma)
    if isinstance(data, Scores):
        means = dict(zip(data.measures, data.means(), strict=True))
        table: dict[str, Any] = {system: np.array(data.runs, dtype=object), **means}
        scored = int((~np.isnan(data.values)).any(axis=(0, 1)).sum())
        basis = f"means over {counted(scored, 'topic')}; "
    else:
        table, basis = columns_of(data, system), ""
    recall = recall or _beginning_with("I-rec", table)
    relevance = relevance or _beginning_with("D-", table)
    table = columns_of(table, system, recall, relevance)
    x, y = numbers(table[recall], recall), numbers(table[relevance], relevance)
    both = ~(np.isnan(x) | np.isnan(y))
    if not both.any():
        raise UsageError(f"no system has both {recall} and {relevance}")
    x, y, labels = x[both], y[both], names(table[system])[both]
    sharp = gamma * x + (1 - gamma) * y
    order = np.argsort(-sharp, kind="stable")
    (x_low, x_high), (y_low, y_high) = _ends(x), _ends(y)
    combined = f"D#-{relevance.removeprefix('D-')}"
    weight = "" if gamma == 0.5 else f" (γ = {gamma:g})"
    return Figure(
        "scatter",
        {"system": labels[order], recall: x[order], relevance: y[order], combined: sharp[order]},
        x=Axis(recall, recall, low=x_low, high=x_high),
        y=Axis(relevance, relevance, low=y_low, high=y_high),
        by=Axis(combined, combined),
        title=f"{relevance} against {recall}, {counted(int(both.sum()), 'system')}",
        subtitle=f"{basis}{combined}{weight} is equal along a grey line",
        also={"lines": _iso_lines(gamma, (x_low, x_high), (y_low, y_high))},
        notes=(f"{counted(int((~both).sum()), 'system')} without a value left out",) if not both.all() else (),
    )


def _beginning_with(start: str, table: dict[str, Any]) -> str:
    for name in table:
        if name.startswith(start):
            return name
    raise UsageError(f"no measure begins with {start}; there are {', '.join(table)}")


def _ends(values: Array) -> tuple[float, float]:
    """Return the ends of an axis: some room around the values, in steps of 0.05, and within 0 and 1 if they are."""
    low, high = float(values.min()), float(values.max())
    room = max(MARGIN * (high - low), 0.02)
    begin, end = np.floor((low - room) * 20) / 20, np.ceil((high + room) * 20) / 20
    return (max(0.0, begin) if low >= 0 else begin), (min(1.0, end) if high <= 1 else end)


def _iso_lines(gamma: float, across: tuple[float, float], up: tuple[float, float]) -> dict[str, Any]:
    """Return the ends of the lines γx + (1 − γ)y = c within the figure, at round values of c."""
    least, most = (gamma * a + (1 - gamma) * b for a, b in zip(across, up, strict=True))
    steps = np.array([0.01, 0.02, 0.05, 0.1, 0.2])
    step = float(steps[np.argmin(np.abs((most - least) / steps - LEVELS))])
    ends: list[tuple[float, float, float]] = []
    for level in step * np.arange(np.ceil(least / step), np.floor(most / step) + 1):
        crossings = [(x, (level - gamma * x) / (1 - gamma)) for x in across if gamma < 1]
        crossings += [((level - (1 - gamma) * y) / gamma, y) for y in up if gamma > 0]
        inside = {(round(x, 9), round(y, 9)) for x, y in crossings if _within(x, across) and _within(y, up)}
        if len(inside) > 1:
            ends += [(round(level, 9), *min(inside)), (round(level, 9), *max(inside))]
    return dict(zip(("level", "x", "y"), np.array(ends, dtype=np.float64).reshape(-1, 3).T, strict=True))


def _within(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] - 1e-9 <= value <= ends[1] + 1e-9
