"""Judgments of a sample: the stratum of the pool that a document was drawn from, and the probability of drawing it.

Strata are column 2 of the judgments: every document of the pool has a line, and grade -1 means that it was not drawn.
Since column 2 may also hold judging rounds, it is read as strata only if that is asked for, or if most grades are -1.
Probabilities come from a separate file; or from the judgments themselves, in the format `sampled`, in which column 2 is
always the stratum.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.attachment import Attachment
from cranfield.collection.qrels import Qrels
from cranfield.collection.tables.cells import number_or_none
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed
from cranfield.types import Array, Index

NOT_DRAWN = -1
"""The grade of a document that is in a stratum but not in the sample."""
AS_STRATA = "column 2 of the judgments is read as the stratum of a document; grade -1: the document was not drawn"
FIXED = 1e-3
"""How far a probability may be off n/N, relative to it, because files round."""
INCLUSION = Schema(
    "topic doc probability, topic iteration doc grade probability, or topic doc grade method probability",
    layouts=("topic doc probability", "topic doc third - probability"), separators=" ,;", comments=True, header=False,
    topic=Words(), doc=Words(), third=Words(optional=True), probability=Words(),
)  # fmt: skip
"""The document is in the second or the third of five columns."""


@dataclass(frozen=True, eq=False)
class Sample(Attachment):
    """How the judged documents were drawn: one entry per document, numbered as in `Assessed.document`.

    | array | meaning |
    |---|---|
    | `topic`, `grade` | of the document |
    | `stratum` | 0 for the first stratum of its topic, 1 for the next, ... |
    | `probability` | probability of being drawn, NaN for documents that were not drawn; None if unknown |
    """

    topic: Index
    grade: Array
    stratum: NDArray[np.int64]
    probability: Array | None = None

    @cached_property
    def strata(self) -> int:
        """The largest number of strata of a topic."""
        return int(self.stratum.max(initial=0)) + 1

    def scale(self, lowest: float = 0) -> Array:
        """How many documents of its stratum each drawn document represents; grades below `lowest` were not drawn."""
        group = self.topic * self.strata + self.stratum
        drawn = np.bincount(group[self.grade >= lowest], minlength=int(group.max(initial=-1)) + 1)
        return np.asarray(np.bincount(group)[group] / np.maximum(drawn[group], 1))

    def strata_without_draws(self) -> int:
        """How many strata of topics have documents, but none that was drawn."""
        group = self.topic * self.strata + self.stratum
        return len(np.unique(group)) - len(np.unique(group[self.grade >= 0]))

    def rates_differ(self) -> bool:
        """Whether the strata of a topic were sampled at rates of which one is a tenth higher than another, or more."""
        group, share = np.unique(self.topic * self.strata + self.stratum, return_inverse=True)
        rate = np.bincount(share, self.grade >= 0) / np.maximum(np.bincount(share), 1)
        topics = int(self.topic.max(initial=-1)) + 1
        highest, lowest = np.zeros(topics), np.ones(topics)
        np.maximum.at(highest, group // self.strata, rate)
        np.minimum.at(lowest, group // self.strata, rate)
        return bool((highest > 1.1 * lowest).any())

    def factors_of_pairs(self, lowest: float = 0) -> Iterator[tuple[int, Array]]:
        """Strata from which a fixed number of documents was drawn, and π(i) / π(i | r) of two of their documents.

        If n of the N documents of a stratum were drawn, each with probability n/N, another one has the probability
        (n - 1)/(N - 1) once r is drawn. Yields the number of a stratum and the factor in each topic; where the
        probability is not n/N, because the design did not fix the number, it is 1.

        >>> sample = Sample.one([1, -1, 1, -1], strata="aaaa", inclusion=[0.5] * 4)
        >>> [(stratum, factor.tolist()) for stratum, factor in sample.factors_of_pairs()]
        [(0, [1.5])]
        """
        if self.probability is None:
            return
        topics, drawn = int(self.topic.max(initial=-1)) + 1, self.grade >= lowest
        for number in range(self.strata):
            own = self.stratum == number
            size = np.bincount(self.topic[own], minlength=topics)
            count = np.bincount(self.topic[own & drawn], minlength=topics)
            share = count / np.maximum(size, 1)
            alike = np.isclose(self.probability, share[self.topic], rtol=FIXED) | ~(own & drawn)
            fixed = (count > 1) & (np.bincount(self.topic[~alike], minlength=topics) == 0)
            if (fixed & (count < size)).any():
                yield number, np.where(fixed, share * (size - 1) / np.maximum(count - 1, 1), 1.0)

    @staticmethod
    def one(grades: Sequence[float | None], *, strata: Sequence[Any] | None, inclusion: Sequence[Any] | None) -> Sample:
        """For the documents of a single list, then the documents that it missed.

        `strata` and `inclusion` have one entry per document.

        >>> Sample.one([1, None, -1, 0], strata="a-ab", inclusion=None).scale().tolist()
        [2.0, 2.0, 1.0]
        """
        for name, values in (("strata", strata), ("inclusion", inclusion)):
            if values is not None and len(values) != len(grades):
                raise UsageError(f"{name}: {len(values)} entries, but there are {len(grades)} documents")
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


def has_strata(qrels: Qrels, *, wanted: bool = False) -> bool:
    """Whether column 2 holds strata: it varies within a topic, no document has two labels, and most grades are -1.

    If strata are `wanted`, one grade of -1 is enough.

    >>> round_1_and_2 = Qrels.of(b"1 1 d1 1\\n1 1 d2 0\\n1 2 d3 -1\\n")
    >>> has_strata(round_1_and_2), has_strata(round_1_and_2, wanted=True)
    (False, True)
    >>> has_strata(Qrels.of(b"1 a d1 1\\n1 b d2 -1\\n1 b d3 -1\\n"))
    True
    """
    if qrels.plain or qrels.has_intents:
        return False
    if len(qrels.probabilities):
        return True
    if not qrels.labels_vary:
        return False
    not_drawn = int(np.count_nonzero(qrels.values == NOT_DRAWN))
    return not_drawn > 0 if wanted else not_drawn > len(qrels) / 2


def sample_of(qrels: Qrels, inclusion: Any = None) -> Sample:
    """The judgments as a sample; `inclusion` gives the probabilities with which documents were drawn."""
    table = qrels.table
    if qrels.has_intents:
        what = "inclusion" if inclusion is not None else "strata"
        raise UsageError(f"{what}: {qrels.path or 'the judgments'} have intents, which samples do not support")
    topic = np.repeat(table.list_topic, np.diff(table.list_start)).astype(np.int64)
    labelled = len(table.label) > 0 and not qrels.plain
    label = np.array(table.label, dtype=np.int64) if labelled else np.zeros(len(topic), dtype=np.int64)
    labels = int(label.max(initial=0)) + 1
    strata, which = np.unique(topic * labels + label, return_inverse=True)
    grade = np.array(table.values)
    probability = None
    if inclusion is not None:
        names = [table.topics[number] for number in topic]
        probability = _Inclusion.of(inclusion).of_documents(names, table.docs(0, len(table)), grade)
    elif len(qrels.probabilities):
        probability = _own_probabilities(qrels, grade)
    return Sample(topic, grade, which - np.searchsorted(strata // labels, topic), probability)


def _own_probabilities(qrels: Qrels, grade: Array) -> Array:
    """The probabilities that judgments of a sample have; NaN for documents that were not drawn."""
    probability = np.where(grade >= 0, qrels.probabilities, np.nan)
    wrong = np.flatnonzero((grade >= 0) & ~((probability > 0) & (probability <= 1)))
    if len(wrong):
        row = int(wrong[0])
        topic = qrels.topics[int(np.searchsorted(qrels.starts, row, side="right")) - 1]
        doc, value = qrels.table.docs(row, row + 1)[0], qrels.probabilities[row]
        what = f"probability {value:g}, must be a number above 0, at most 1, because the document was drawn"
        raise DataError(qrels.path or qrels.name, None, f"topic {topic!r}, document {doc!r}: {what}")
    return probability


@dataclass(frozen=True)
class _Inclusion:
    """The probabilities in a file or a mapping: rows of cells, of which the last is the probability."""

    origin: str
    rows: Sequence[tuple[int | None, list[str]]]

    @classmethod
    def of(cls, source: Any) -> _Inclusion:
        """From {topic: {doc: probability}}, or a file of lines that end with the probability (see `INCLUSION`)."""
        if isinstance(source, Mapping) and all(isinstance(row, Mapping) for row in source.values()):
            cells = [[str(t), str(d), str(p)] for t, row in source.items() for d, p in row.items()]
            return cls("inclusion", [(None, row) for row in cells])
        if not isinstance(source, str | os.PathLike):
            raise UsageError(
                f"inclusion from {type(source).__name__}, must be a file or {{topic: {{doc: probability}}}}"
            )
        table = INCLUSION.read(source)
        return cls(table.origin, [(table.line(at), list(cells)) for at, cells in enumerate(table)])

    def of_documents(self, topics: list[str], docs: list[str], grade: Array) -> Array:
        """The probability of each judged document; NaN for documents that were not drawn."""
        number_of = dict(zip(zip(topics, docs, strict=True), range(len(docs)), strict=True))
        known = [sum((row[0], row[column]) in number_of for _, row in self.rows) for column in (1, 2)]
        column = 2 if self.rows and len(self.rows[0][1]) == 4 and known[1] > known[0] else 1
        probability = np.full(len(docs), np.nan)
        for line, row in self.rows:
            number = number_of.get((row[0], row[column]))
            if number is None or grade[number] < 0:
                continue
            if not np.isnan(probability[number]):
                raise DataError(self.origin, line, f"document {row[column]!r} of topic {row[0]!r} appears twice")
            probability[number] = self._probability(line, row[0], row[column], row[-1])
        unknown = np.flatnonzero(np.isnan(probability) & (grade >= 0)).tolist()
        if unknown:
            documents = listed(f"{topics[number]}/{docs[number]}" for number in unknown)
            count = counted(len(unknown), "judged document")
            raise DataError(self.origin, None, f"no probability for {count}: {documents}")
        return probability

    def _probability(self, line: int | None, topic: str, doc: str, text: str) -> float:
        value = number_or_none(text)
        if value is None or not 0 <= value <= 1:
            expected = "must be a number above 0, at most 1"
            raise DataError(self.origin, line, f"topic {topic!r}, document {doc!r}: probability {text!r}, {expected}")
        if value == 0:
            raise DataError(
                self.origin, line,
                f"topic {topic!r}, document {doc!r}: probability {text}, but the document is judged, so it was drawn; "
                "correct the probability, or remove the document from the judgments",
            )  # fmt: skip
        return float(value)
