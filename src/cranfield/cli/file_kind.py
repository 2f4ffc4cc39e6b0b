"""Whether a file holds a run, judgments or topics, if the user did not say."""

from __future__ import annotations

import os
import re

from cranfield.errors import DataError, UsageError

INSPECTED = 200
"""The number of lines that are inspected."""


def kind_of_file(path: str, how: str) -> str:
    """`run`, `qrels` or `topics`, detected from the content, or from the file name if the content is ambiguous.

    `how` is for the message if neither helps: the options with which to say it.
    """
    from cranfield.collection.convert import kind_of
    from cranfield.collection.source import is_pipe

    if is_pipe(path):
        name = "standard input" if path == "-" else path
        raise UsageError(f"the kind of {name} cannot be detected, because it can be read only once; say {how}")
    try:
        return kind_of(path)
    except UsageError:
        kind = _by_columns(_first_lines(path)) or _by_name(path)
        if kind is None:
            raise UsageError(f"{path}: cannot tell whether it is a run, qrels or topics; say {how}") from None
        return kind
    except DataError:  # it cannot be read, and reading it will say why
        return _by_name(path) or "run"


def _first_lines(path: str) -> list[str]:
    from cranfield.collection.source import beginning, unmarked

    text = unmarked(bytes(beginning(path)[: 1 << 20])).decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    return lines[:INSPECTED]


def _by_columns(lines: list[str]) -> str | None:
    """The kind by the content of the columns, if their number is ambiguous.

    >>> _by_columns(["301 0 FBIS3-1 1", "301 0 FBIS3-2 0"])
    'qrels'
    >>> _by_columns(["301 1.5 FBIS3-1 1", "301 2 FBIS3-2 0"])
    'qrels'
    >>> _by_columns(["301 FBIS3-1 1", "301 FBIS3-2 2", "302 FT911-7 1"])
    'run'
    """
    rows = [line.split() for line in lines]
    if _are_titles([line.split("\t") for line in lines], rows):
        return "topics"
    widths = {len(row) for row in rows}
    if widths == {4}:
        if _are_judgments(rows):
            return "qrels"
        return "run" if _counts_up([row[0] for row in rows], [row[2] for row in rows]) else None
    if widths == {3}:
        if _counts_up([row[0] for row in rows], [row[2] for row in rows]):
            return "run"
        return "qrels" if all(_is_grade(row[2]) for row in rows) else None
    return None


def _are_titles(cells: list[list[str]], words: list[list[str]]) -> bool:
    """Is each line an id, a tab and a text that does not always end in a number?"""
    two = all(len(row) == 2 and len(row[0].split()) == 1 for row in cells)
    return two and not all(re.fullmatch(r"[-+.\d]+", row[-1]) for row in words)


def _are_judgments(rows: list[list[str]]) -> bool:
    """Is each line a topic, a label, a document and a grade, rather than a topic, a document, a rank and a score?"""
    if not all(_is_grade(row[3].partition(".")[0]) for row in rows):
        return False
    return {row[1] for row in rows} <= {"0", "Q0"} or not any(row[2].isdecimal() for row in rows)


def _is_grade(text: str) -> bool:
    return re.fullmatch(r"-?\d{1,2}|L\d{1,2}", text) is not None


def _counts_up(topics: list[str], ranks: list[str]) -> bool:
    """Do the ranks of all topics count 1, 2, ... (or 0, 1, ...), and those of one topic beyond the first two?"""
    next_rank: dict[str, int] = {}
    for topic, rank in zip(topics, ranks, strict=True):
        if (
            not rank.isdecimal()
            or int(rank) != next_rank.get(topic, int(rank))
            or (topic not in next_rank and int(rank) > 1)
        ):
            return False
        next_rank[topic] = int(rank) + 1
    return any(following > 2 for following in next_rank.values())


def _by_name(path: str) -> str | None:
    """The kind by words that are common in file names."""
    name = os.path.basename(path).lower()
    words = {"qrel": "qrels", "judg": "qrels", "topic": "topics", "quer": "topics", ".run": "run", ".res": "run"}
    kinds = {kind for word, kind in words.items() if word in name}
    return kinds.pop() if len(kinds) == 1 else None
