"""Ranked lists of passages, scored by the characters that they show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cranfield import check
from cranfield.answers.answer_rows import read_rows
from cranfield.answers.nugget_scores import f_measure
from cranfield.answers.text_spans import merged_spans, overlapping, pieces, span_of
from cranfield.collection.source import PathLike, expand, stem
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed, shown

MEASURES = ("char-P", "char-R", "char-F", "char-bpref")
RelevantPassages = Mapping[str, Mapping[str, Sequence[tuple[int, int]]]]
"""{topic: {document: relevant spans}}; a judged document without relevant spans has none."""
RankedPassages = Mapping[str, Mapping[str, Sequence[tuple[str, int, int]]]]
"""{run: {topic: (document, start, end), best first}}."""


def read_relevant_passages(path: PathLike) -> tuple[dict[str, dict[str, list[tuple[int, int]]]], list[str]]:
    """Relevant passages: rows of topic, doc, start and end, as `judge export` writes them, and notes about them.

    A judged document without relevant passages has a row with start and end 0. Overlapping passages are merged, as they
    are where several assessors or nuggets marked the same text.
    """
    relevant: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for row in read_rows(path, ("topic", "doc", "start", "end")):
        relevant.setdefault(row.text("topic"), {}).setdefault(row.text("doc"), []).append(span_of(row, None))
    overlaps = sum(overlapping(spans) for documents in relevant.values() for spans in documents.values())
    notes = (
        [f"{counted(overlaps, 'relevant passage')} overlapping with another; their characters count once"]
        if overlaps
        else []
    )
    return {
        topic: {doc: merged_spans(spans) for doc, spans in documents.items()} for topic, documents in relevant.items()
    }, notes


def read_passage_runs(paths: Iterable[PathLike]) -> dict[str, dict[str, list[tuple[str, int, int]]]]:
    """Runs of passages: rows of topic, doc, start, end, and rank or score; and run, unless it is named after the file.

    Passages are sorted by rank, or by score, highest first; passages with equal ones stay in the order of the file, as
    they do without both columns.
    """
    runs: dict[str, dict[str, list[tuple[float, str, int, int]]]] = {}
    for path in expand(paths):
        for row in read_rows(path, ("topic", "doc", "start", "end"), ("run", "rank", "score")):
            run = row.text("run") if row.has("run") else stem(path)
            key = row.number("rank") if row.has("rank") else -row.number("score") if row.has("score") else 0.0
            start, end = span_of(row, None)
            if start == end:
                raise row.fault(f"the passage is empty: it starts and ends at {start}")
            runs.setdefault(run, {}).setdefault(row.text("topic"), []).append((key, row.text("doc"), start, end))
    if not runs:
        raise UsageError("no runs; give one or more files of passages")
    return {
        run: {
            topic: [entry[1:] for entry in sorted(rows, key=lambda entry: entry[0])] for topic, rows in topics.items()
        }
        for run, topics in runs.items()
    }


def passage_scores(
    relevant: RelevantPassages,
    runs: RankedPassages,
    measures: Iterable[str] = MEASURES,
    *,
    characters: int | None = None,
    beta: float = 1.0,
    notes: Sequence[str] = (),
) -> Scores:
    r"""Precision, recall, F and bpref of ranked passages, where every character is a unit.

    .. math:: P = \frac{|\text{shown} \cap \text{relevant}|}{|\text{shown}|}, \quad
              R = \frac{|\text{shown} \cap \text{relevant}|}{|\text{relevant}|}, \quad
              \text{bpref} = \frac{1}{R} \sum_{c} \left(1 - \frac{\min(R, n(c))}{R}\right)

    In bpref, the sum is over relevant characters shown, R is the number of all relevant characters, and n(c) the number
    of judged non-relevant characters shown before c; characters of documents that nobody judged are skipped, while they
    count as non-relevant in P. Characters that a list shows again count once, where they are shown first.

    characters: use only the first characters of each list, such as 12,000.
    A topic without relevant characters is undefined, except in P.
    Reference: Allan, HARD Track Overview in TREC 2004; Kamps et al., INEX 2007 Evaluation Measures, INEX 2007, 24-33

    >>> relevant = {"1": {"d1": [(0, 10)], "d2": []}}
    >>> runs = {"mine": {"1": [("d1", 5, 15), ("d2", 0, 10)]}}
    >>> passage_scores(relevant, runs)
    Scores: 4 measures × 1 run × 1 topic
          char-P  char-R  char-F  char-bpref
    mine  0.2500  0.5000  0.3333      0.5000
    """
    names = list(dict.fromkeys(measures))
    for name in names:
        if name not in MEASURES:
            raise check.nearest(name, MEASURES, "measure")
    check.whole("passage_scores", characters=characters)
    check.positive("passage_scores", beta=beta)
    topics, order = list(relevant), list(runs)
    if not any(topic in relevant for lists in runs.values() for topic in lists):
        raise UsageError(f"no run has a judged topic; these are {listed(map(shown, topics))}")
    values, missing = np.zeros((len(names), len(order), len(topics))), np.zeros((len(order), len(topics)), dtype=bool)
    repeated = 0
    for r, run in enumerate(order):
        for t, topic in enumerate(topics):
            missing[r, t] = topic not in runs[run]
            parts, again = shown_parts(relevant[topic], runs[run].get(topic, ()), characters)
            repeated += again
            row = _of_list(relevant[topic], parts, beta)
            values[:, r, t] = [row[name] for name in names]
    more = [f"only the first {characters:,} characters of each list count"] if characters else []
    if repeated:
        more.append(f"{counted(repeated, 'character')} shown again in the same list, counted once")
    if "char-F" in names and beta != 1:
        more.append(f"char-F: β = {beta:g}")
    return Scores(names, order, topics, values, missing, "zero", [*more, *notes])


def shown_parts(
    relevant: Mapping[str, Sequence[tuple[int, int]]], passages: Iterable[tuple[str, int, int]], most: int | None
) -> tuple[list[tuple[int, str]], int]:
    """What a list shows for the first time, in order: (characters, `relevant`, `other` or `unjudged`); and repeats."""
    seen: dict[str, list[tuple[int, int]]] = {}
    parts: list[tuple[int, str]] = []
    left = float("inf") if most is None else most
    repeated = 0
    for doc, start, end in passages:
        for low, high, again in list(pieces((start, end), seen.get(doc, []))):
            if again:
                repeated += high - low
                continue
            high = int(min(high, low + left))
            left -= high - low
            if doc not in relevant:
                parts.append((high - low, "unjudged"))
            else:
                for a, b, is_relevant in pieces((low, high), relevant[doc]):
                    parts.append((b - a, "relevant" if is_relevant else "other"))
        seen[doc] = merged_spans([*seen.get(doc, []), (start, end)])
        if left <= 0:
            break
    return parts, repeated


def _of_list(
    relevant: Mapping[str, Sequence[tuple[int, int]]], parts: Sequence[tuple[int, str]], beta: float
) -> dict[str, float]:
    total = sum(end - start for spans in relevant.values() for start, end in spans)
    shown_characters = sum(size for size, _ in parts)
    found = sum(size for size, kind in parts if kind == "relevant")
    above = preferred = 0.0
    for size, kind in parts:
        if kind == "relevant":
            preferred += size * (1 - min(total, above) / total)
        elif kind == "other":
            above += size
    precision = found / shown_characters if shown_characters else 0.0
    recall = found / total if total else np.nan
    return {
        "char-P": precision,
        "char-R": recall,
        "char-F": f_measure(precision, recall, beta) if total else np.nan,
        "char-bpref": preferred / total if total else np.nan,
    }
