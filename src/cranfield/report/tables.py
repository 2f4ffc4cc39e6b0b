"""Tables of scores: a row per run, a row per run and topic, or lines in the format of trec_eval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat

import numpy as np

from cranfield.comparison.assumptions import geometric_cautions
from cranfield.notes import method_note
from cranfield.scores.score_text import all_notes
from cranfield.scores.scores import Scores
from cranfield.scores.summary import Risk
from cranfield.table import DIGITS, Cell, Column, Table, printable
from cranfield.text import counted


def summary_table(
    scores: Scores,
    *,
    statistic: str = "mean",
    level: float | None = None,
    method: str | None = None,
    better: Mapping[str, str] | None = None,
    digits: int | None = None,
    seed: int = 0,
    worst: int | None = None,
) -> Table:
    """Return a row per run and a column per measure: the mean (or another statistic) over topics, with its interval.

    `better` is {measure: "lower" or "neither"} for measures whose higher values are not better. `worst` is the number
    of worst topics, for the statistic `area`.

    >>> scores = Scores.from_matrix([[0.2, 0.4], [0.6, 0.6]], runs=["a", "b"], measure="AP")
    >>> print(summary_table(scores).text())
    run  topics      AP
    a         2  0.4000
    b         2  0.5000
    """
    summary = scores.summary(statistic, level=level, method=method, seed=seed, worst=worst)
    best = ["neither" if statistic == "std" else (better or {}).get(m, "higher") for m in scores.measures]
    used = (~scores.missing | (scores.missing_rule == "zero")).sum(axis=1).tolist()
    rows: list[tuple[Cell, ...]] = []
    for r, run in enumerate(scores.runs):
        estimates = summary.estimates[r :: len(scores.runs)]
        cells = estimates if summary.level is not None else [estimate.value for estimate in estimates]
        rows.append((run, used[r], *cells))
    notes = list(all_notes(scores))
    if summary.level is not None:
        notes.append(method_note(f"[low, high]: {100 * summary.level:g}% confidence interval {summary.how}"))
        notes += summary.notes
    if statistic == "area":
        last = "a quarter of the topics" if worst is None else str(worst)
        notes.append(
            method_note(f"statistic: area under the curve of the mean of the x worst topics, x from 1 to {last}")
        )
        if worst is None and len(scores.topics) < 8:
            notes.append(f"area: a quarter of {counted(len(scores.topics), 'topic')} is less than 2; give worst=")
    elif statistic != "mean":
        notes.append(method_note(f"statistic: {statistic}"))
        notes += geometric_cautions(scores.measures) if statistic == "gmean" else []
    measured = map(Column, scores.measures, repeat("number"), best)
    return Table((Column("run"), Column("topics", "count"), *measured), tuple(rows), notes=tuple(notes), digits=digits)


def risk_table(scores: Scores, risk: Risk, *, digits: int | None = None) -> Table:
    """Return a row per run and a column per measure: the risk of the run.

    >>> scores = Scores.from_matrix([[0.4, 0.5], [0.4, 0.2]], runs=["base", "new"], measure="AP")
    >>> print(risk_table(scores, scores.risk("URisk", "base")).text())
    run       AP
    base  0.0000
    new  -0.1500
    URisk against base, losses counted 2 times
    """
    against = "all runs together" if risk.baseline is None else risk.baseline
    note = method_note(f"{risk.kind} against {against}, losses counted {1 + risk.alpha:g} times")
    columns = (Column("run"), *(Column(m, "number", "higher") for m in risk.measures))
    rows = tuple((run, *values) for run, values in zip(risk.runs, risk.values.T.tolist(), strict=True))
    return Table(columns, rows, notes=(*all_notes(scores), note), digits=digits)


def topic_table(scores: Scores, *, digits: int | None = None) -> Table:
    """Return a row per run and topic and a column per measure; missing topics are marked in a further column.

    >>> print(topic_table(Scores.from_matrix([[0.2], [0.6]], runs=["a"], topics=["301", "302"], measure="AP")).text())
    run  topic      AP
    a    301    0.2000
    a    302    0.6000
    """
    lacking = bool(scores.missing.any())
    columns = [Column("run"), Column("topic"), *([Column("missing")] if lacking else [])]
    columns += [Column(m, "number") for m in scores.measures]
    values = np.moveaxis(scores.values, 0, -1).tolist()
    rows: list[tuple[Cell, ...]] = []
    for r, run in enumerate(scores.runs):
        for t, topic in enumerate(scores.topics):
            mark = ("missing" if scores.missing[r, t] else "",) if lacking else ()
            rows.append((run, topic, *mark, *values[r][t]))
    return Table(tuple(columns), tuple(rows), notes=tuple(all_notes(scores)), digits=digits)


def trec_lines(scores: Scores, *, per_topic: bool = False, summary: bool = True, digits: int = DIGITS) -> Iterator[str]:
    """Yield lines as trec_eval prints them: name, topic or `all`, value. Each run has its topics first, then the means.

    A missing topic that is skipped has no lines; an undefined value is `nan`.

    >>> for line in trec_lines(Scores.from_matrix([[0.25]], runs=["bm25"], measure="AP")):
    ...     print(line.expandtabs(1))
    runid                  all bm25
    num_q                  all 1
    AP                     all 0.2500
    """
    means = scores.means().T.tolist()
    values = np.moveaxis(scores.values, 0, -1).tolist()
    skipped = scores.missing & (scores.missing_rule == "skip")
    names = [f"{printable(m):<22}" for m in scores.measures]
    for r, run in enumerate(scores.runs):
        if per_topic:
            for t, topic in enumerate(scores.topics):
                if not skipped[r, t]:
                    for name, x in zip(names, values[r][t], strict=True):
                        yield f"{name}\t{printable(topic)}\t{x:.{digits}f}"
        if summary:
            yield f"{'runid':<22}\tall\t{printable(run)}"
            yield f"{'num_q':<22}\tall\t{int((~skipped[r]).sum())}"
            for name, x in zip(names, means[r], strict=True):
                yield f"{name}\tall\t{x:.{digits}f}"
