"""Which units of a reference a text has: a ROUGE score explained."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core, check
from cranfield.answers.rouge_scores import DIALECTS, RougeMeasure, counted_pairs, paired_texts, parse_rouge
from cranfield.answers.tokenisation import WordRules
from cranfield.record import Record, column, table_of
from cranfield.table import Table
from cranfield.types import Index64


@dataclass(frozen=True, eq=False, repr=False)
class RougeMatches(Record):
    """The units of the references of one topic, and which of them a system text has.

    A unit is an n-gram or a skip-bigram. For common subsequences, it is a sentence of the reference, with the matched
    words in brackets.
    """

    facts = ("measure", "run", "topic")

    measure: str
    run: str
    topic: str
    reference: Annotated[Index64, column()]
    """The number of the reference, from 1."""
    unit: Annotated[NDArray[Any], column()]
    in_system: Annotated[Index64, column("system")]
    in_reference: Annotated[Index64, column("count")]
    matched: Annotated[Index64, column()]
    notes: tuple[str, ...]

    def table(self) -> Table:
        """A row per unit of a reference, those that match first."""
        caption = f"{self.measure} of {self.run} on topic {self.topic}"
        order = np.lexsort((-self.matched, self.reference)) if (self.in_system >= 0).all() else None
        columns = self.columns()
        if order is None:
            del columns["system"]  # sentences have no counts
        return table_of(columns, order, caption=caption, notes=self.notes)


def explain_rouge(
    text: str,
    references: Sequence[str],
    measure: str = "ROUGE-1",
    *,
    rules: WordRules | None = None,
    dialect: str = "rouge-1.5.5",
    run: str = "system",
    topic: str = "1",
) -> RougeMatches:
    """Which units of the references a text has, for one measure.

    >>> print(explain_rouge("police kill the gunman", ["police killed the gunman"], "ROUGE-L"))
    ROUGE-L of system on topic 1
    reference  unit                            count  matched
            1  [police] killed [the] [gunman]      4        3
    reference 1: R = 3/4 = 0.7500, P = 3/4 = 0.7500
    """
    check.one_of("explain_rouge", DIALECTS, dialect=dialect)
    kind, _ = parse_rouge(measure)
    pairs = paired_texts({run: {topic: text}}, {topic: list(references)}, rules or WordRules())
    words, vocabulary = pairs.words, pairs.words.vocabulary()
    system = _sentences(words, int(pairs.system[0]))
    rows: list[tuple[int, str, int, int, int]] = []
    for number in range(len(references)):
        sentences = _sentences(words, number)
        if kind.kind in ("L", "Lsum", "W"):
            hit = _core.marked_words(
                words, int(pairs.system[0]), number, kind.unit(dialect), dialect != "paper", kind.weight
            )
            rows += _marked(number, sentences, hit.tolist(), vocabulary)
        else:
            own, theirs = (
                _units(kind, functools.reduce(operator.iadd, part, []), dialect) for part in (system, sentences)
            )
            named = ((" ".join(vocabulary[word] for word in unit), own[unit], count) for unit, count in theirs.items())
            rows += [(number + 1, name, mine, count, min(mine, count)) for name, mine, count in named]
    notes = list(pairs.notes)
    for number, counts in enumerate(zip(*counted_pairs(pairs, kind, dialect), strict=True), 1):
        notes.append(f"reference {number}: {_fractions(kind, *map(float, counts))}")
    return RougeMatches.of_rows(rows, measure=str(kind), run=run, topic=topic, notes=tuple(notes))


def _sentences(words: _core.Words, text: int) -> list[list[int]]:
    starts = words.sentence_start[words.text_start[text] : words.text_start[text + 1] + 1].tolist()
    return [words.word[begin:end].tolist() for begin, end in itertools.pairwise(starts)]


def _units(kind: RougeMeasure, words: list[int], dialect: str) -> Counter[tuple[int, ...]]:
    if kind.kind == "N":
        return Counter(tuple(words[i : i + kind.n]) for i in range(len(words) - kind.n + 1))
    reach = len(words) if kind.skip is None else kind.skip + 1
    units = Counter((first, second) for i, first in enumerate(words) for second in words[i + 1 : i + 1 + reach])
    singles = [] if kind.kind == "S" else words if dialect == "paper" else words[:-1]
    return units + Counter((word,) for word in singles)


def _marked(
    number: int, sentences: list[list[int]], hit: list[int], vocabulary: Sequence[str]
) -> list[tuple[int, str, int, int, int]]:
    rows, at = [], 0
    for sentence in sentences:
        marks = hit[at : at + len(sentence)]
        names = [
            f"[{vocabulary[word]}]" if mark else vocabulary[word] for word, mark in zip(sentence, marks, strict=True)
        ]
        rows.append((number + 1, " ".join(names), -1, len(sentence), sum(marks)))
        at += len(sentence)
    return rows


def _fractions(kind: RougeMeasure, hits: float, reference: float, system: float) -> str:
    if kind.kind == "W":
        return f"the matched runs are worth {hits:.4g}, the reference {reference:.4g}, the text {system:.4g}"
    parts = [f"{name} = {hits:g}/{below:g} = {hits / below if below else 0:.4f}" for name, below in
             (("R", reference), ("P", system))]  # fmt: skip
    return ", ".join(parts)
