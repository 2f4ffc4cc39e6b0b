"""Figures of scores: their spread, topics, curves of precision and recall, diversity, efficiency, and text read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, in_order, names, numbers
from cranfield.text import counted
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.evaluation.topic_sheet import TopicSheet
    from cranfield.measures.base import Measure
    from cranfield.measures.ranked_lists.curves import Curve, Curves
    from cranfield.measures.readers.time import Trailtext

REACH = 1.5
"""Whiskers end at the last score within this many box lengths of the box."""


def describe_boxes(data: Any, measure: Any = None) -> Figure:
    """Show quartiles, median, mean and whiskers of every system, best mean first; scores beyond are single points.

    `data` is `Scores`, a matrix, a frame or dicts. Quartiles are interpolated linearly; whiskers end at the last score
    within 1.5 interquartile ranges. Ferro & Maistro 2024 Fig. 16.

    >>> describe_boxes({"bm25": [0.1, 0.2, 0.3, 0.4, 0.9]}).columns()["median"].tolist()
    [0.3]
    """
    from cranfield.comparison.data import Matrix
    from cranfield.measures.property_tables import lower_is_better

    matrix = Matrix.of(data, measure)
    scored = ~np.isnan(matrix.values).all(axis=0)
    if not scored.any():
        raise UsageError(f"{matrix.measure}: no system has a score to draw")
    values = matrix.values[:, scored]
    labels = names(matrix.systems)[scored]
    topics = int((~np.isnan(values)).any(axis=1).sum())
    means = np.nanmean(values, axis=0)
    q1, median, q3 = np.nanquantile(values, [0.25, 0.5, 0.75], axis=0)
    reach = REACH * (q3 - q1)
    within = (values >= q1 - reach) & (values <= q3 + reach)
    low = np.nanmin(np.where(within, values, np.nan), axis=0)
    high = np.nanmax(np.where(within, values, np.nan), axis=0)
    # An interpolated quartile may lie beyond the last score within reach.
    low, high = np.minimum(low, q1), np.maximum(high, q3)
    order = np.argsort(means if lower_is_better(matrix.measure) else -means, kind="stable")
    beyond = np.nonzero((~within & ~np.isnan(values))[:, order].T)
    lost = int((~scored).sum())
    notes = (f"{counted(lost, 'system')} without any score left out",) if lost else ()
    data = {"system": labels, "mean": means, "low": low, "q1": q1, "median": median, "q3": q3, "high": high}
    data["topics"] = (~np.isnan(values)).sum(axis=0)
    return Figure(
        "boxes",
        {name: column[order] for name, column in data.items()},
        x=Axis("mean", f"{matrix.measure}, topic by topic"),
        y=Axis("system", "system", "category"),
        title=f"{matrix.measure} of {counted(len(labels), 'system')} on {counted(topics, 'topic')}",
        subtitle="box: quartiles and median; diamond: mean; whiskers: at most 1.5 box lengths; circles: topics beyond\n"
        "best mean first",
        also={
            "beyond": {
                "system": labels[order][beyond[0]],
                "topic": names(matrix.topics)[beyond[1]],
                "value": values[:, order][beyond[1], beyond[0]],
            }
        },
        notes=(*matrix.notes, *notes),
    )


def describe_differences(data: Any, systems: Sequence[str] | None = None, *, measure: Any = None) -> Figure:
    """Show the difference of two systems on every topic, largest first, and the mean difference.

    `data` holds two systems, or `systems` names two of them: first − second.

    >>> figure = describe_differences({"a": [0.2, 0.5, 0.4], "b": [0.1, 0.9, 0.4]}, ("a", "b"), measure="AP")
    >>> figure.columns()["difference"].round(3).tolist()
    [0.1, 0.0, -0.4]
    """
    from cranfield.comparison.data import paired

    pair = paired(data, systems=systems, measure=measure)
    difference = pair.difference
    order = np.argsort(-difference, kind="stable")
    topics = names(pair.topics if len(pair.topics) == len(difference) else range(1, len(difference) + 1))
    first, second = names(pair.names)
    win, loss = int((difference > 0).sum()), int((difference < 0).sum())
    mean = float(difference.mean())
    return Figure(
        "bars",
        {"topic": topics[order], "first": pair.x[order], "second": pair.y[order], "difference": difference[order]},
        x=Axis("topic", "topics, by difference", "category"),
        y=Axis("difference", f"difference of {pair.measure}"),
        title=f"{pair.measure}: {first} − {second}",
        subtitle=f"{counted(len(difference), 'topic')}: {first} is higher on {win:,}, {second} on {loss:,}, "
        f"equal on {len(difference) - win - loss:,}; mean difference {mean:+.4f} (dashed)",
        references=(Reference("y", mean, ""),),
        notes=pair.notes,
    )


TOPIC_ORDERS = {
    "hardest": "the topics with the lowest median first",
    "difference": "the topics on which {run} is furthest below the median first",
    "spread": "the topics on which runs differ most first",
    "topic": "in the order of the judgments",
}
"""How topics are sorted, by the name of the order."""


def describe_topics(sheet: TopicSheet) -> Figure:
    """Show the range of scores on every topic, with the median, and where a run stands, above or below the median.

    >>> from cranfield.scores import Scores
    >>> from cranfield.evaluation.topic_sheet import topic_sheet
    >>> figure = describe_topics(topic_sheet(Scores.from_matrix([[0.2, 0.5], [0.1, 0.0]], measure="AP")))
    >>> figure.columns()["mean"].round(2).tolist()
    [0.05, 0.35]
    """
    if len(sheet.measures) > 1:
        raise UsageError(f"a figure shows one measure, but there are {len(sheet.measures)}; choose one")
    data = sheet.columns()
    point = data["median"] if sheet.run is None else data[sheet.run]
    keep = ~np.isnan(point)
    columns = {
        "topic": names(data["topic"]),
        "mean": point,
        "low": np.minimum(data["worst"], data["best"]),
        "high": np.maximum(data["worst"], data["best"]),
    }
    by = None
    if sheet.run is not None:
        columns["median"] = data["median"]
        columns["stands"] = np.where(point < data["median"], "below the median", "at or above the median").astype(
            object
        )
        by = Axis("stands", "", "category")
    measure, shown = sheet.measures[0], "median" if sheet.run is None else sheet.run
    parts = f"point: {shown}; {'' if sheet.run is None else 'stroke: median; '}line: from the worst to the best run"
    order = TOPIC_ORDERS[sheet.sort].format(run=sheet.run)
    return Figure(
        "intervals",
        {name: column[keep] for name, column in columns.items()},
        x=Axis("mean", measure),
        y=Axis("topic", "topic", "category"),
        by=by,
        title=f"{measure} by topic: {shown} among {counted(sheet.runs, 'run')}",
        subtitle=f"{parts}\n{order}",
        notes=sheet.notes,
    )


def describe_curves(curves: Curves) -> Figure:
    """Show the mean curve of every run, highest first; the notes give the area, if known.

    >>> from cranfield.assessed.lists import Assessed
    >>> from cranfield.measures.ranked_lists.curves import interpolated_precision
    >>> describe_curves(interpolated_precision(Assessed.one([1, 0, 1]))).title
    'Interpolated precision against recall'
    """
    mean = curves.mean()
    height = mean.y.mean(axis=1) if mean.area is None else mean.area
    defined = np.flatnonzero(~np.isnan(height))
    if not len(defined):
        raise UsageError("no run has a curve: the measure is undefined on all topics")
    order = defined[np.argsort(-height[defined], kind="stable")]
    points = len(mean.x)
    # The topics on which at least one run has a curve.
    topics = curves.topics if curves.topic is None else np.unique(curves.topic[~np.isnan(curves.y).any(axis=1)])
    title = "Interpolated precision against recall" if mean.y_name == "precision" else "ROC"
    notes = [] if mean.area is None else [f"{mean.runs[i]}: area {mean.area[i]:.4f}" for i in order.tolist()]
    lost = len(mean.runs) - len(defined)
    if lost:
        notes.append(f"{counted(lost, 'run')} without a curve left out")
    return Figure(
        "lines",
        {
            "system": np.repeat(names(mean.runs)[order], points),
            mean.x_name: np.tile(mean.x, len(order)),
            mean.y_name: mean.y[order].ravel(),
        },
        x=Axis(mean.x_name, mean.x_name, low=0, high=1),
        y=Axis(mean.y_name, mean.y_name, low=0, high=1),
        by=Axis("system", "system", "category"),
        title=title,
        subtitle=f"means over {counted(len(topics), 'topic')}",
        notes=tuple(notes),
    )


def describe_precision_recall(curves: Mapping[str, Curve], *, topic: str = "") -> Figure:
    """Show precision against recall of single lists: {system: curve of one topic}. Each relevant document is a point.

    >>> from cranfield.assessed.lists import Assessed
    >>> from cranfield.measures.ranked_lists.curves import precision_recall
    >>> curve = precision_recall(Assessed.one([1, 0, 1], missed=[1, 1]), "run", "topic")
    >>> describe_precision_recall({"bm25": curve}).columns()["recall"].tolist()
    [0.25, 0.5]
    """
    shown = {name: curve for name, curve in curves.items() if len(curve.x)}
    if not shown:
        raise UsageError("no list has a relevant document, so there is no curve to draw")
    empty = [name for name in curves if name not in shown]
    return Figure(
        "lines",
        {
            "system": names(name for name, curve in shown.items() for _ in curve.x),
            "recall": np.concatenate([curve.x for curve in shown.values()]),
            "precision": np.concatenate([curve.y for curve in shown.values()]),
        },
        x=Axis("recall", "recall", low=0, high=1),
        y=Axis("precision", "precision", low=0, high=1),
        by=Axis("system", "system", "category"),
        title="Precision against recall" + (f", topic {topic}" if topic else ""),
        subtitle="a point at each relevant document",
        notes=(f"without a relevant document: {', '.join(empty)}",) if empty else (),
    )


def describe_saw_tooth(
    curves: Mapping[str, Curve], interpolated: Mapping[str, Curve] | None = None, *, topic: str = ""
) -> Figure:
    """Show precision against recall at every rank of single lists, and their interpolated precision.

    Ferro & Maistro 2024 Figs. 8 and 9. Both are {system: curve of one topic}.

    >>> from cranfield.assessed.lists import Assessed
    >>> from cranfield.measures.ranked_lists.curves import saw_tooth
    >>> curve = saw_tooth(Assessed.one([0, 1, 1, 0, 1], missed=[1, 1]), "run", "topic")
    >>> describe_saw_tooth({"Run1": curve}).columns()["rank"].tolist()
    [1, 2, 3, 4, 5]
    """
    parts = [(name, curve, True) for name, curve in curves.items()]
    parts += [(f"{name}, interpolated", curve, False) for name, curve in (interpolated or {}).items()]
    shown = [part for part in parts if len(part[1].x) and not np.isnan(part[1].x).any()]
    if not any(at_ranks for _, _, at_ranks in shown):
        raise UsageError("no list has a document, or the topic has no relevant document, so there is no curve to draw")
    return Figure(
        "lines",
        {
            "system": names(name for name, curve, _ in shown for _ in curve.x),
            "rank": np.concatenate([(np.arange(len(c.x)) + 1) * at_ranks for _, c, at_ranks in shown]),
            "recall": np.concatenate([curve.x for _, curve, _ in shown]),
            "precision": np.concatenate([curve.y for _, curve, _ in shown]),
        },
        x=Axis("recall", "recall", low=0, high=1),
        y=Axis("precision", "precision", low=0, high=1),
        by=Axis("system", "system", "category"),
        title="Precision against recall" + (f", topic {topic}" if topic else ""),
        subtitle="a point at each rank; interpolated: the highest precision at this recall or a higher one",
    )


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
    from cranfield.scores.scores import Scores

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


ROOM = 0.08
WIDE = 30.0
"""If the slowest run takes more than this many times as long as the fastest, seconds are on a log scale."""


def describe_efficiency(columns: Any, *, time: str = "mean") -> Figure:
    """Show every run at its seconds per query and its mean score, with a line through the Pareto front.

    `columns` are those of `efficiency` for one measure: measure, run, effectiveness, front, and the seconds `time`.

    >>> table = {"measure": ["AP", "AP"], "run": ["a", "b"], "effectiveness": [0.2, 0.3], "mean": [0.1, 0.4]}
    >>> describe_efficiency({**table, "front": [True, True]}).title
    'AP against seconds per query, 2 runs'
    """
    from cranfield.scores.efficiency import TIMES

    table = columns_of(columns, "run", "measure", "effectiveness", time, "front")
    measures = in_order(names(table["measure"]))
    if len(measures) > 1:
        raise UsageError(f"a figure shows one measure, but there are {len(measures)}: {', '.join(measures)}")
    x, y = numbers(table[time], time), numbers(table["effectiveness"], "effectiveness")
    both = ~(np.isnan(x) | np.isnan(y))
    if not both.any():
        raise UsageError("no run has both a score and a time")
    x, y, labels, front = x[both], y[both], names(table["run"])[both], np.asarray(table["front"], dtype=bool)[both]
    order = np.argsort(x, kind="stable")
    x, y, labels, front = x[order], y[order], labels[order], front[order]
    left_out = int((~both).sum())
    return Figure(
        "scatter",
        {"run": labels, "seconds": x, measures[0]: y, "front": front},
        x=_seconds(x, f"seconds per query ({TIMES.get(time, time)})"),
        y=Axis(measures[0], measures[0], low=_start(y), high=_end(y)),
        title=f"{measures[0]} against seconds per query, {counted(len(x), 'run')}",
        subtitle="filled, with a line: runs that no other run beats in both",
        also={"front": {"x": x[front], "y": y[front]}},
        notes=(f"{counted(left_out, 'run')} without a score or a time left out",) if left_out else (),
    )


def _seconds(x: Array, label: str) -> Axis:
    """The axis of seconds; logarithmic if they differ so much that fast runs would stand on one another."""
    least, most = float(x.min()), float(x.max())
    if least > 0 and most / least > WIDE:
        room = (most / least) ** ROOM
        return Axis("seconds", f"{label}, log scale", low=least / room, high=most * room, log=True)
    return Axis("seconds", label, low=0.0, high=_end(x))


def _end(values: Array) -> float:
    """The upper end of an axis, with some room."""
    return float(values.max() + max(ROOM * (values.max() - min(0.0, float(values.min()))), 1e-6))


def _start(values: Array) -> float:
    low = float(values.min())
    room = ROOM * (float(values.max()) - low)
    return max(0.0, low - room) if low >= 0 else low - room


def describe_trailtext(trailtext: Trailtext, L: float, *, title: str = "Text read") -> Figure:
    """Show each string of a trailtext as a bar from where it begins to where it ends, and the decay of U.

    `L` is the number of characters after which nothing is worth anything.

    >>> from cranfield.measures.readers.time import Trailtext
    >>> read = Trailtext((400.0, 100.0), (0.0, 0.5), ("snippets 1 to 2", "document 2"))
    >>> describe_trailtext(read, L=1000).columns()["adds"].tolist()
    [0.0, 0.25]
    """
    check.finite("trailtext", L=L)
    check.positive("trailtext", L=L)
    if not trailtext.lengths:
        raise UsageError("the user read nothing: there is no text to draw")
    end = trailtext.offsets
    gains = np.array(trailtext.gains, dtype=np.float64)
    left = np.maximum(0.0, 1.0 - end / L)
    names = trailtext.names or tuple(f"string {number}" for number in range(1, len(end) + 1))
    kinds = ["with a gain" if gain > 0 else "without a gain" for gain in gains.tolist()]
    total = float(np.sum(gains * left))
    return Figure(
        "text_strings",
        {
            "string": np.array([f"{number}. {name}" for number, name in enumerate(names, 1)], dtype=object),
            "kind": np.array(kinds, dtype=object), "begin": end - np.array(trailtext.lengths), "end": end,
            "gain": gains, "decay": left, "adds": gains * left,
        },
        x=Axis("end", "characters read", low=0.0, high=float(end[-1])),
        y=Axis("string", "string", "category"),
        by=Axis("kind", "kind", "category"),
        title=title,
        subtitle=f"{counted(len(end), 'string')}; U = {total:.4f}: the numbers are gain × what is left of it",
    )  # fmt: skip


def describe_first_rank(measures: Sequence[Measure], *, relevant: int = 5, ranks: int = 20) -> Figure:
    """Show the score of a list by the rank of its first and only relevant document, a line for each measure.

    The topic has `relevant` relevant documents of grade 1. With O at several β, it is Sakai 2014 Fig. 3: O is the
    blended ratio at the first relevant document.

    >>> from cranfield.measures import O
    >>> describe_first_rank([O(beta=0), O(beta=1)], ranks=6).columns()["score"].round(4).tolist()[-2:]
    [0.2, 0.1818]
    """
    check.whole("describe_first_rank", relevant=relevant, ranks=ranks)
    if not measures:
        raise UsageError("describe_first_rank: no measure to draw")
    for measure in measures:
        if measure.needs:
            raise UsageError(f"{measure} needs more than the grades of a list, which is all that this figure has")
    rank = range(1, ranks + 1)
    score = [m.of([0] * (r - 1) + [1], missed=[1] * (relevant - 1)) for m in measures for r in rank]
    return Figure(
        "lines",
        {
            "measure": np.repeat(np.array([str(measure) for measure in measures], dtype=object), ranks),
            "rank": np.tile(np.array(rank, dtype=np.float64), len(measures)),
            "score": np.array(score, dtype=np.float64),
        },
        x=Axis("rank", "rank of the first relevant document", "count", low=1, high=ranks),
        y=Axis("score", "score"),
        by=Axis("measure", "measure", "category"),
        title="Score by the rank of the first relevant document",
        subtitle=f"{counted(relevant, 'relevant document')}, of which the list has one",
    )
