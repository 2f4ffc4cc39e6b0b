"""Scores as text: CSV, JSON, and short tables of means for terminals and notebooks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from cranfield.collection.file_formats.writing import to_delimited
from cranfield.notes import caution_note, method_note, shown_notes
from cranfield.record import plain
from cranfield.scores.score_input import joined_notes
from cranfield.table import Column, Table, notes_in_html
from cranfield.text import counted, listed

if TYPE_CHECKING:
    from cranfield.scores.score_input import Mask
    from cranfield.scores.scores import Scores


def csv_text(scores: Scores, separator: str, change: Callable[[str], str] | None = None) -> str:
    """measure, run, topic, value, missing, and in the first row the notes and the basis; an undefined value is empty.

    `change` is applied to the names of measures, runs and topics.
    """
    columns = {name: column.tolist() for name, column in scores.columns().items()}
    columns["value"] = [None if math.isnan(x) else x for x in columns["value"]]
    columns["missing"] = ["true" if x else "false" for x in columns["missing"]]
    columns["notes"] = [""] * len(columns["value"])
    columns["notes"][:1] = [joined_notes((scores.missing_rule, *scores.notes))]
    if scores.basis is not None:
        columns["basis"] = [""] * len(columns["value"])
        columns["basis"][:1] = [json.dumps(scores.basis.plain(scores.topics, scores.measures), ensure_ascii=False)]
    if change is not None:
        for name in ("measure", "run", "topic"):
            changed = {label: change(label) for label in set(columns[name])}
            columns[name] = [changed[label] for label in columns[name]]
    return to_delimited(columns, separator)


def json_text(scores: Scores) -> str:
    """Labels, rule, notes, scores and missing topics; an undefined value is null, infinity the text "inf"."""
    missing = {
        run: [scores.topics[t] for t in np.flatnonzero(scores.missing[r])]
        for r, run in enumerate(scores.runs)
        if scores.missing[r].any()
    }
    data = {
        "cranfield": "scores",
        "missing_rule": scores.missing_rule,
        "notes": scores.notes,
        "measures": scores.measures,
        "runs": scores.runs,
        "topics": scores.topics,
        **({} if scores.basis is None else {"basis": scores.basis.plain(scores.topics, scores.measures)}),
        "missing": missing,
        "scores": plain(scores.to_dict()),
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def terminal_text(scores: Scores) -> str:
    """Sizes, the means of the best runs by the first measure, and notes."""
    table, left_out = _means(scores, 20, 8)
    return "\n".join([_title(scores), table.text(), *left_out, *shown_notes(scores.notes)])


def html_text(scores: Scores) -> str:
    """As `terminal_text`, for notebooks."""
    from html import escape

    table, left_out = _means(scores, 50, 30)
    below = "".join([*(f"<p>{line}</p>" for line in left_out), *notes_in_html(scores.notes)])
    return f"<p>{escape(_title(scores))}</p>{table.html()}{below}"


def means_table(scores: Scores, level: float | None = None, digits: int | None = None) -> Table:
    """Means over topics, a row per run and a column per measure, with the notes."""
    from cranfield.measures.property_tables import better_of

    summary = scores.summary(level=level)
    columns = (Column("run"), *(Column(name, "number", better_of(name)) for name in scores.measures))
    rows = []
    for at, run in enumerate(scores.runs):
        of_run = summary.estimates[at :: len(scores.runs)]
        rows.append((run, *(estimate if level is not None else estimate.value for estimate in of_run)))
    notes = [*all_notes(scores)]
    if level is not None:
        notes += [method_note(f"[low, high]: {100 * level:g}% confidence interval {summary.how}"), *summary.notes]
    return Table(columns, tuple(rows), notes=tuple(notes), digits=digits)


def _means(scores: Scores, runs: int, measures: int) -> tuple[Table, list[str]]:
    """The means of the best runs by the first measure, and what is left out."""
    from cranfield.measures.property_tables import better_of

    means = scores.means()
    lower_is_better = better_of(scores.measures[0]) == "lower" if scores.measures else False
    key = (means[0] if lower_is_better else -means[0]) if scores.measures else np.zeros(len(scores.runs))
    order = np.argsort(key, kind="stable")[:runs]  # undefined means come last
    rows = tuple(
        (scores.runs[at], *(f"{x:.4f}" for x in row))
        for at, row in zip(order.tolist(), means[:measures, order].T, strict=True)
    )
    columns = (Column(""), *(Column(measure, "number") for measure in scores.measures[:measures]))
    more = (len(scores.runs) - runs, "run"), (len(scores.measures) - measures, "measure")
    said = " and ".join(counted(number, f"more {noun}") for number, noun in more if number > 0)
    return Table(columns, rows), [f"... {said}"] if said else []


def _title(scores: Scores) -> str:
    sizes = zip(("measure", "run", "topic"), scores.values.shape, strict=True)
    title = "Scores: " + " × ".join(f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in sizes)
    if scores.missing.any():
        missing = counted(int(scores.missing.sum()), "missing list")
        title += f"; {missing} {'with score 0' if scores.missing_rule == 'zero' else 'left out'}"
    undefined = int(scores.undefined.sum())
    return title + (f"; {undefined} undefined" if undefined else "")


def all_notes(scores: Scores) -> Iterator[str]:
    """Yield the notes of the scores, and which topics are missing or undefined."""
    yield from scores.notes
    missing = zip(scores.runs, scores.missing, strict=True)
    lacking = [_with_topics(run, scores.topics, topics) for run, topics in missing if topics.any()]
    if lacking:
        rule = "scored as empty lists" if scores.missing_rule == "zero" else "left out of means"
        yield caution_note(f"topics missing from runs, {rule}: {listed(lacking, noun='runs')}")
    undefined = zip(scores.measures, np.asarray(scores.undefined.any(axis=1)), strict=True)
    incomplete = [_with_topics(measure, scores.topics, topics) for measure, topics in undefined if topics.any()]
    if incomplete:
        yield caution_note(f"undefined scores, left out of means: {', '.join(incomplete)}")


def _with_topics(name: str, topics: Sequence[str], affected: Mask) -> str:
    """Return the name with the number of affected topics and the first of them."""
    return f"{name} ({counted(int(affected.sum()), 'topic')}: {listed(compress(topics, affected.tolist()), 3)})"
