"""Judgments of a sample: from which stratum of the pool a document was drawn, and how likely it was to be drawn.

Strata are column 2 of the judgments: every document of the pool has a line, and grade -1 says that it was not drawn.
Probabilities come from a file of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.collection.qrels import Qrels
from cranfield.collection.side_files import read_side_file
from cranfield.errors import DataError, UsageError
from cranfield.types import Array, Index

NOT_DRAWN = -1
"""The grade of a document that is in a stratum, but not in the sample."""
AS_STRATA = "column 2 of the judgments is the stratum of a document, and grade -1 says that it was not drawn"
EXPECTED = "topic doc probability, topic iteration doc grade probability, or topic doc grade method probability"


@dataclass(frozen=True, eq=False)
class Sample:
    """How the judged documents were drawn: one entry per document, numbered as `Assessed.document` numbers them.

    | array | meaning |
    |---|---|
    | `topic`, `grade` | of the document |
    | `stratum` | 0 for the first stratum of its topic, 1 for the next, ... |
    | `probability` | how likely it was to be judged; None where nobody said, NaN where it was not drawn |
    """

    topic: Index
    grade: Array
    stratum: NDArray[np.int64]
    probability: Array | None = None

    @cached_property
    def strata(self) -> int:
        """How many strata a topic has at most."""
        return int(self.stratum.max(initial=0)) + 1

    def scale(self, lowest: float = 0) -> Array:
        """How many documents of its stratum each drawn one stands for; grades below `lowest` were not drawn."""
        group = self.topic * self.strata + self.stratum
        drawn = np.bincount(group[self.grade >= lowest], minlength=int(group.max(initial=-1)) + 1)
        return np.asarray(np.bincount(group)[group] / np.maximum(drawn[group], 1))

    @staticmethod
    def one(grades: Sequence[float | None], *, strata: Sequence[Any] | None, inclusion: Sequence[Any] | None) -> Sample:
        """Of the documents of a single list and those it missed; `strata` and `inclusion` have one entry for each.

        >>> Sample.one([1, None, -1, 0], strata="a-ab", inclusion=None).scale().tolist()
        [2.0, 2.0, 1.0]
        """
        for name, given in (("strata", strata), ("inclusion", inclusion)):
            if given is not None and len(given) != len(grades):
                raise UsageError(f"{name}: {len(given)} entries, but there are {len(grades)} documents")
        judged = [at for at, grade in enumerate(grades) if grade is not None]
        labels = [0 if strata is None else strata[at] for at in judged]
        names = list(dict.fromkeys(labels))
        rows = [(None, ["topic", str(at), "nan" if inclusion is None else str(inclusion[at])]) for at in judged]
        grade = np.array([grades[at] for at in judged], dtype=np.float64)
        ids = [str(at) for at in judged]
        return Sample(
            np.zeros(len(judged), dtype=np.int64),
            grade,
            np.array([names.index(label) for label in labels], dtype=np.int64),
            None if inclusion is None else _Inclusion("inclusion", rows).of_documents(["topic"] * len(ids), ids, grade),
        )


# -- from judgments


def has_strata(qrels: Qrels) -> bool:
    """Whether column 2 holds strata: it varies, some documents are not drawn, and none is in two strata of a topic.

    >>> has_strata(Qrels.of(b"1 a d1 1\\n1 b d2 -1\\n")), has_strata(Qrels.of(b"1 a d1 1\\n1 b d1 -1\\n"))
    (True, False)
    """
    if not qrels.has_intents or not (qrels.values == NOT_DRAWN).any():
        return False
    docs = qrels.table.docs(0, len(qrels.table))
    return all(len(set(docs[begin:end])) == end - begin for begin, end in pairwise(qrels.table.list_start.tolist()))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Judgments of a sample, ready to be joined."""

    judged: _core.Judged
    """Documents by topic; the grade of each is its number among all."""
    sample: Sample


def drawn(qrels: Qrels, inclusion: Any = None) -> Drawn:
    """The judgments as a sample; `inclusion` gives the probabilities with which documents were drawn."""
    table = qrels.table
    if qrels.has_intents and not has_strata(qrels):
        raise UsageError(f"inclusion: {qrels.path or 'the judgments'} have intents, but samples are read without")
    topic = np.repeat(table.list_topic, np.diff(table.list_start)).astype(np.int64)
    docs = table.docs(0, len(table))
    names = [table.topics[t] for t in topic]
    numbered = _core.table_from_columns(None, names, docs, list(range(len(docs))), None, None, "error", "number")
    label = np.array(table.label, dtype=np.int64) if len(table.label) else np.zeros(len(docs), dtype=np.int64)
    codes = int(label.max(initial=0)) + 1
    pairs, which = np.unique(topic * codes + label, return_inverse=True)
    stratum = which - np.searchsorted(pairs // codes, topic)
    grade = np.array(table.values)
    chances = None if inclusion is None else _Inclusion.of(inclusion).of_documents(names, docs, grade)
    return Drawn(_core.judged(numbered, "error"), Sample(topic, grade, stratum, chances))


@dataclass(frozen=True)
class _Inclusion:
    """What a file, or a mapping, says of how likely documents were to be drawn: rows of cells, the last one says it."""

    origin: str
    rows: Sequence[tuple[int | None, list[str]]]

    @classmethod
    def of(cls, given: Any) -> _Inclusion:
        """From {topic: {doc: probability}}, or a file of lines that end with the probability (see `EXPECTED`)."""
        if isinstance(given, Mapping) and all(isinstance(row, Mapping) for row in given.values()):
            cells = [[str(t), str(d), str(p)] for t, row in given.items() for d, p in row.items()]
            return cls("inclusion", [(None, row) for row in cells])
        if not isinstance(given, str | os.PathLike):
            raise UsageError(
                f"inclusion from {type(given).__name__}, must be a file or {{topic: {{doc: probability}}}}"
            )
        file = read_side_file(given, EXPECTED, [3, 5], separators=" ,;")
        return cls(file.origin, list(file))

    def of_documents(self, topics: list[str], docs: list[str], grade: Array) -> Array:
        """The probability of each judged document; NaN for those that were not drawn."""
        at = dict(zip(zip(topics, docs, strict=True), range(len(docs)), strict=True))
        known = [sum((row[0], row[place]) in at for _, row in self.rows) for place in (1, 2)]
        place = 2 if self.rows and len(self.rows[0][1]) == 5 and known[1] > known[0] else 1
        found = np.full(len(docs), np.nan)
        for line, row in self.rows:
            number = at.get((row[0], row[place]))
            if number is None or grade[number] < 0:
                continue
            if not np.isnan(found[number]):
                raise DataError(self.origin, line, f"document {row[place]!r} of topic {row[0]!r} is there twice")
            found[number] = self._probability(line, row[0], row[place], row[-1])
        lacking = np.flatnonzero(np.isnan(found) & (grade >= 0))
        if len(lacking):
            some = ", ".join(f"{topics[i]}/{docs[i]}" for i in lacking[:5].tolist())
            more = f" and {len(lacking) - 5:,} more" if len(lacking) > 5 else ""
            raise DataError(self.origin, None, f"no probability for {len(lacking):,} judged documents: {some}{more}")
        return found

    def _probability(self, line: int | None, topic: str, doc: str, text: str) -> float:
        value = _core.parse_number(text.encode("utf-8", "surrogateescape"))
        if value is None or not 0 <= value <= 1:
            expected = "must be a number above 0, at most 1"
            raise DataError(self.origin, line, f"topic {topic!r}, document {doc!r}: probability {text!r}, {expected}")
        if value == 0:
            raise DataError(
                self.origin, line,
                f"topic {topic!r}, document {doc!r}: probability {text}, but it is judged: what was drawn cannot have "
                "probability 0; correct it, or leave the document out of the judgments",
            )  # fmt: skip
        return float(value)
