"""Passages: spans of characters in texts, and ranked lists of them, scored by the characters that they show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield import check
from cranfield.answers.answer_texts import DOC, END, RUN, START, TOPIC, AnswerTable, Row, optional, optional_number
from cranfield.answers.nugget_scores import Beta, f_measure, measure_names
from cranfield.collection.source import PathLike, expand, stem
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed, one_line, shown, unguarded

OFFSETS = ("characters", "bytes")
"""What offsets count, from 0; the end is not included."""


@dataclass(frozen=True)
class Counter:
    """Positions in one text, with or without white space."""

    text: str
    white_space: bool

    def upto(self, end: int) -> int:
        """The number of characters before an offset."""
        return end if self.white_space else len(re.sub(r"\s", "", self.text[:end]))


def span_of(row: Row, text: str | None, offsets: str = "characters") -> tuple[int, int]:
    """The span of a row, in characters. With the text, a span outside of it is an error, and so are other words.

    A row may have the text of its span, as `judge export` writes it; if that is not what the text has there, the
    offsets are probably counted otherwise.
    """
    check.one_of("", OFFSETS, offsets=offsets)
    start, end = int(row["start"]), int(row["end"])
    if end < start:
        raise row.fault(f"the span ends at {end}, before its start at {start}")
    if text is None:
        if offsets == "bytes":
            raise row.fault("offsets in bytes can be converted only with the text")
        return start, end
    data = _bytes_of(text, row) if offsets == "bytes" else b""
    length = len(data) if offsets == "bytes" else len(text)
    if end > length:
        raise row.fault(f"the span ends at {end}, but the text has {length:,} {offsets}")
    if offsets == "bytes":
        start, end = (_characters_before(data, place, row) for place in (start, end))
    if row.has("span_text"):
        told, there = one_line(unguarded(str(row["span_text"]))), one_line(text[start:end])
        if told != there:
            other = "bytes" if offsets == "characters" else "characters"
            message = f"the text has {shown(there)} there, not {shown(told)}"
            raise row.fault(f"{message}; are the offsets in {other}? (offsets='{other}')")
    return start, end


def _bytes_of(text: str, row: Row) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise row.fault("the text has half of a surrogate pair, so its bytes are unknown; use characters") from None


def _characters_before(data: bytes, place: int, row: Row) -> int:
    if place < len(data) and data[place] & 0xC0 == 0x80:  # a byte that continues a character
        raise row.fault(f"byte {place} is within a character of the text; are the offsets in characters?")
    return len(data[:place].decode("utf-8", "surrogateescape"))


Spans = Sequence[tuple[int, int]]


def merged_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans without overlaps, in order; empty ones are dropped.

    >>> merged_spans([(5, 9), (0, 3), (8, 12), (3, 3)])
    [(0, 3), (5, 12)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if start == end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def overlapping(spans: Iterable[tuple[int, int]]) -> int:
    """How many spans begin before one that starts earlier ends.

    >>> overlapping([(0, 3), (2, 5), (5, 6)])
    1
    """
    count, reach = 0, -1
    for start, end in sorted(spans):
        count += start < reach
        reach = max(reach, end)
    return count


def pieces(span: tuple[int, int], within: Spans) -> Iterator[tuple[int, int, bool]]:
    """A span cut at the ends of other spans: start, end, and whether the piece is within them.

    >>> list(pieces((2, 10), [(0, 3), (5, 7)]))
    [(2, 3, True), (3, 5, False), (5, 7, True), (7, 10, False)]
    """
    at, end = span
    for low, high in within:
        if high <= at or low >= end:
            continue
        if low > at:
            yield at, low, False
        yield max(at, low), min(high, end), True
        at = min(high, end)
    if at < end:
        yield at, end, False


MEASURES = ("char-P", "char-R", "char-F", "char-bpref")
PASSAGES = AnswerTable("topic doc start end", topic=TOPIC, doc=DOC, start=START, end=END)
RANKED = AnswerTable(
    "topic doc start end [run] [rank] [score]", topic=TOPIC, doc=DOC, start=START, end=END, run=optional(RUN),
    rank=optional_number("rank"), score=optional_number("score", "sim", "similarity"),
)  # fmt: skip
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
    for row in PASSAGES.each(path):
        relevant.setdefault(row["topic"], {}).setdefault(row["doc"], []).append(span_of(row, None))
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
        for row in RANKED.each(path):
            run = row["run"] or stem(path)
            key = next((value for value in (row["rank"], -row["score"]) if value == value), 0.0)
            start, end = span_of(row, None)
            if start == end:
                raise row.fault(f"the passage is empty: it starts and ends at {start}")
            runs.setdefault(run, {}).setdefault(row["topic"], []).append((key, row["doc"], start, end))
    if not runs:
        raise UsageError("no runs; give one or more files of passages")
    return {
        run: {
            topic: [entry[1:] for entry in sorted(rows, key=lambda entry: entry[0])] for topic, rows in topics.items()
        }
        for run, topics in runs.items()
    }


@operation
def passage_scores(
    relevant: RelevantPassages,
    runs: RankedPassages,
    measures: Iterable[str] = MEASURES,
    *,
    characters: Annotated[int | None, about("Use only the first N characters of each list.", least=1)] = None,
    beta: Beta = 1.0,
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
    names = measure_names(measures, MEASURES)
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
    relevant_characters = sum(size for size, kind in parts if kind == "relevant")
    above = preferred = 0.0
    for size, kind in parts:
        if kind == "relevant":
            preferred += size * (1 - min(total, above) / total)
        elif kind == "other":
            above += size
    precision = relevant_characters / shown_characters if shown_characters else 0.0
    recall = relevant_characters / total if total else np.nan
    return {
        "char-P": precision,
        "char-R": recall,
        "char-F": f_measure(precision, recall, beta) if total else np.nan,
        "char-bpref": preferred / total if total else np.nan,
    }
