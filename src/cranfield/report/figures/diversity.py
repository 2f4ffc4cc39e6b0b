"""Relevance against diversity: D-nDCG over I-rec, with lines along which D# is the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield import check
from cranfield.aggregate import Array
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, counted, names, numbers
from cranfield.report.figures.placing import placed
from cranfield.report.figures.theme import INK, SIZE, altair, finished, quantitative, rows
from cranfield.scores import Scores

SIDE = 400
MARGIN = 0.08
LEVELS = 6


def describe_diversity(
    data: Any, *, recall: str | None = None, relevance: str | None = None, gamma: float = 0.5, system: str = "system"
) -> Figure:
    r"""Every system at its mean I-rec and D-nDCG, with lines of equal D# (Sakai 2014, Sakai 2013).

    .. math:: D\#\text{-nDCG} = \gamma\,\text{I-rec} + (1 - \gamma)\,\text{D-nDCG}

    `data` is `Scores` of both measures, or columns with the means; without names, the measures that begin with I-rec
    and D- are taken. Reference: Sakai & Song, SIGIR 2011, doi:10.1145/2009916.2010055

    >>> made = {"system": ["a", "b"], "I-rec@10": [0.6, 0.7], "D-nDCG@10": [0.4, 0.3]}
    >>> describe_diversity(made).columns()["D#-nDCG@10"].tolist()
    [0.5, 0.5]
    """
    check.between("describe_diversity", low=0, high=1, gamma=gamma)
    if isinstance(data, Scores):
        means = dict(zip(data.measures, data.means(), strict=True))
        there: dict[str, Any] = {system: np.array(data.runs, dtype=object), **means}
        told = f"means over {counted(len(data.topics), 'topic')}; "
    else:
        there, told = columns_of(data, system), ""
    recall = recall or _found(there, "I-rec")
    relevance = relevance or _found(there, "D-")
    chosen = columns_of(there, system, recall, relevance)
    x, y = numbers(chosen[recall], recall), numbers(chosen[relevance], relevance)
    both = ~(np.isnan(x) | np.isnan(y))
    if not both.any():
        raise UsageError(f"no system has both {recall} and {relevance}")
    x, y, labels = x[both], y[both], names(chosen[system])[both]
    sharp = gamma * x + (1 - gamma) * y
    order = np.argsort(-sharp, kind="stable")
    (x_low, x_high), (y_low, y_high) = _ends(x), _ends(y)
    combined = f"D#-{relevance.removeprefix('D-')}"
    weight = "" if gamma == 0.5 else f" (γ = {gamma:g})"
    return Figure(
        "diversity",
        {"system": labels[order], recall: x[order], relevance: y[order], combined: sharp[order]},
        x=Axis(recall, recall, low=x_low, high=x_high),
        y=Axis(relevance, relevance, low=y_low, high=y_high),
        by=Axis(combined, combined),
        title=f"{relevance} against {recall}, {counted(int(both.sum()), 'system')}",
        subtitle=f"{told}along a grey line {combined}{weight} is the same",
        also={"lines": _iso_lines(gamma, (x_low, x_high), (y_low, y_high))},
        notes=(f"{counted(int((~both).sum()), 'system')} without a value left out",) if not both.all() else (),
    )


def _found(there: dict[str, Any], start: str) -> str:
    for name in there:
        if name.startswith(start):
            return name
    raise UsageError(f"no measure that begins with {start}; there are {', '.join(there)}: name both, or compute it")


def _ends(values: Array) -> tuple[float, float]:
    """Room around the values, on steps of 0.05, within 0 and 1 where the values are."""
    low, high = float(values.min()), float(values.max())
    room = max(MARGIN * (high - low), 0.02)
    begin, end = np.floor((low - room) * 20) / 20, np.ceil((high + room) * 20) / 20
    return (max(0.0, begin) if low >= 0 else begin), (min(1.0, end) if high <= 1 else end)


def _iso_lines(gamma: float, across: tuple[float, float], up: tuple[float, float]) -> dict[str, Any]:
    """The ends of lines γx + (1 − γ)y = c within the picture, at round values of c."""
    least, most = (gamma * a + (1 - gamma) * b for a, b in zip(across, up, strict=True))
    steps = np.array([0.01, 0.02, 0.05, 0.1, 0.2])
    step = float(steps[np.argmin(np.abs((most - least) / steps - LEVELS))])
    out: dict[str, list[float]] = {"level": [], "x": [], "y": []}
    for number in range(int(np.ceil(least / step)), int(np.floor(most / step)) + 1):
        level = number * step
        ends = set()
        if gamma < 1:
            for x in across:
                y = (level - gamma * x) / (1 - gamma)
                if up[0] - 1e-9 <= y <= up[1] + 1e-9:
                    ends.add((round(x, 9), round(y, 9)))
        if gamma > 0:
            for y in up:
                x = (level - (1 - gamma) * y) / gamma
                if across[0] - 1e-9 <= x <= across[1] + 1e-9:
                    ends.add((round(x, 9), round(y, 9)))
        if len(ends) > 1:
            for x, y in (min(ends), max(ends)):
                out["level"].append(round(level, 9))
                out["x"].append(x)
                out["y"].append(y)
    return {name: np.array(values, dtype=np.float64) for name, values in out.items()}


def draw(figure: Figure) -> Any:
    alt = altair()
    lines = alt.Chart(rows(figure.also["lines"])).encode(
        x=quantitative(figure.x, channel="x", column="x", grid=False),
        y=quantitative(figure.y, channel="y", column="y", grid=False),
    )
    top = {name: column[::2] for name, column in figure.also["lines"].items()}
    levels = alt.Chart(rows(top)).mark_text(
        align="left", baseline="bottom", dx=3, dy=-2, fontSize=SIZE - 2, color="#666666"
    )
    labelled, places = _labels(figure)
    # The column names may hold dots and brackets, which a field name reads as paths.
    plain = {"system": figure.data["system"], **{k: figure.data[a.column] for k, a in _axes(figure).items()}}
    data = rows(plain)
    told = [
        alt.Tooltip("system:N"),
        *(alt.Tooltip(f"{k}:Q", title=a.label, format=".4f") for k, a in _axes(figure).items()),
    ]
    at = {"x": alt.X("x:Q"), "y": alt.Y("y:Q")}
    layers = [
        lines.mark_line(color="#b5b5b5", strokeWidth=1).encode(detail="level:N"),
        levels.encode(**at, text=alt.Text("level:Q", format="~g")),
        alt.Chart(data).mark_point(filled=True, color=INK, size=36, opacity=0.85).encode(**at, tooltip=told),
    ]
    for place in dict.fromkeys(one for one in places if one is not None):
        mine = np.array([one == place for one in places])
        words = alt.Chart(rows({name: column[mine] for name, column in labelled.items()}))
        layers.append(
            words.mark_text(align=place.align, baseline="middle", dx=place.dx, dy=place.dy, fontSize=SIZE - 1).encode(
                **at, text="system:N"
            )
        )
    chart = alt.layer(*layers).properties(width=SIDE, height=SIDE).add_params(alt.selection_interval(bind="scales"))
    return finished(chart, figure, width=SIDE)


def _axes(figure: Figure) -> dict[str, Axis]:
    assert figure.by is not None
    return {"x": figure.x, "y": figure.y, "combined": figure.by}


def _labels(figure: Figure) -> tuple[dict[str, Any], list[Any]]:
    """Names beside the points, as many as there is room for, the best first."""
    x, y = figure.data[figure.x.column], figure.data[figure.y.column]
    across, down = _pixels(x, figure.x), SIDE - _pixels(y, figure.y)
    points = list(zip(across.tolist(), down.tolist(), strict=True))
    labels = figure.data["system"].tolist()
    return {"system": figure.data["system"], "x": x, "y": y}, placed(points, labels, SIDE, SIDE)


def _pixels(values: Array, axis: Axis) -> Array:
    low, high = axis.low or 0.0, 1.0 if axis.high is None else axis.high
    return (values - low) / (high - low) * SIDE
