"""What a file holds (a run, qrels, topics), where nobody said it."""

from __future__ import annotations

import os
import re

from cranfield.errors import DataError, UsageError

LOOKED_AT = 200
"""Lines that are looked at."""


def kind_of_file(path: str, how: str) -> str:
    """`run`, `qrels` or `topics`, by content; where that leaves a choice, by the file's name.

    `how` tells the user how to say it where neither helps.
    """
    from cranfield.collection.convert import kind_of

    if path == "-":
        raise UsageError(f"what comes on standard input must be said: {how}")
    try:
        return kind_of(path)
    except UsageError:
        found = _by_columns(_first_lines(path)) or _by_name(path)
        if found is None:
            raise UsageError(f"{path}: cannot tell whether it is a run, qrels or topics; say {how}") from None
        return found
    except DataError:
        # It cannot be read at all: whoever reads it will say why.
        return _by_name(path) or "run"


def _first_lines(path: str) -> list[str]:
    from cranfield.collection.source import load, unmarked

    text = unmarked(bytes(load(path)[: 1 << 20])).decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    return lines[:LOOKED_AT]


def _by_columns(lines: list[str]) -> str | None:
    """By what the columns hold, where their number does not tell.

    >>> _by_columns(["301 0 FBIS3-1 1", "301 0 FBIS3-2 0"])
    'qrels'
    >>> _by_columns(["301 FBIS3-1 1", "301 FBIS3-2 2", "302 FT911-7 1"])
    'run'
    """
    rows = [line.split() for line in lines]
    if _are_titles([line.split("\t") for line in lines], rows):
        return "topics"
    widths = {len(row) for row in rows}
    if widths == {4}:
        if {row[1] for row in rows} <= {"0", "Q0"} and all(_is_grade(row[3]) for row in rows):
            return "qrels"
        return "run" if _counts_up([row[0] for row in rows], [row[2] for row in rows]) else None
    if widths == {3}:
        if _counts_up([row[0] for row in rows], [row[2] for row in rows]):
            return "run"
        return "qrels" if all(_is_grade(row[2]) for row in rows) else None
    return None


def _are_titles(cells: list[list[str]], words: list[list[str]]) -> bool:
    """An id, a tab, and what somebody typed, which does not always end in a number."""
    two = all(len(row) == 2 and len(row[0].split()) == 1 for row in cells)
    return two and not all(re.fullmatch(r"[-+.\d]+", row[-1]) for row in words)


def _is_grade(text: str) -> bool:
    return re.fullmatch(r"-?\d{1,2}|L\d{1,2}", text) is not None


def _counts_up(topics: list[str], ranks: list[str]) -> bool:
    """Do the ranks of some topic go 1, 2, ... (or 0, 1, ...), and those of no topic otherwise?"""
    begun: dict[str, int] = {}
    for topic, rank in zip(topics, ranks, strict=True):
        if not rank.isdecimal() or int(rank) != begun.get(topic, int(rank)) or (topic not in begun and int(rank) > 1):
            return False
        begun[topic] = int(rank) + 1
    return any(following > 2 for following in begun.values())


def _by_name(path: str) -> str | None:
    """By what people call such files."""
    name = os.path.basename(path).lower()
    words = {"qrel": "qrels", "judg": "qrels", "topic": "topics", "quer": "topics", ".run": "run", ".res": "run"}
    found = {kind for word, kind in words.items() if word in name}
    return found.pop() if len(found) == 1 else None
