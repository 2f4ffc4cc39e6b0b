"""POURPRE: nuggets matched automatically, by the words they share with an answer."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield import check
from cranfield.answers.answer_texts import AnswerTable, Name, TextsOfRuns
from cranfield.answers.nugget_files import Nuggets, check_nuggets, weights_of
from cranfield.answers.nugget_scores import (
    Allowance,
    Beta,
    Weighting,
    WhiteSpace,
    allowance_precision,
    characters,
    f_measure,
    text_notes,
)
from cranfield.answers.tokenisation import WordRules
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array

AVERAGES = ("macro", "micro")
IDF = AnswerTable("term idf", term=Name(("term", "word")), idf=Numbers(("idf", "weight"), least=0))


@dataclass(frozen=True, eq=False, repr=False)
class PourpreMatches(Record):
    """How much of each nugget of a topic the answer of a run has, and in which of its sentences."""

    facts = ("run", "topic")

    run: str
    topic: str
    ids: Annotated[tuple[str, ...], column("nugget")]
    match: Annotated[Array, column()]
    words: Annotated[tuple[str, ...], column()]
    """The words that match, for each nugget."""
    sentences: Annotated[tuple[str, ...], column("sentence")]
    """The sentence that matches best; empty if no word matches."""
    texts: Annotated[tuple[str, ...], column("text")]
    notes: tuple[str, ...] = ()


@operation
def pourpre(
    texts: TextsOfRuns,
    nuggets: Nuggets,
    *,
    rules: WordRules | None = None,
    average: Annotated[str, about("The average over nuggets.", choices=AVERAGES)] = "macro",
    idf: Mapping[str, float] | None = None,
    beta: Beta = 3.0,
    allowance: Allowance = 100.0,
    white_space: WhiteSpace = False,
    weighting: Weighting = "auto",
) -> Scores:
    r"""F of answers whose nuggets are matched by words: an automatic estimate of the F of `nugget_scores`.

    The match of a nugget is the share of its words that a sentence of the answer has, for the sentence that has most:

    .. math:: m(v) = \max_s \frac{\sum_{e \in v} \min(c_v(e), c_s(e))}{\sum_{e \in v} c_v(e)}

    Recall is the mean of the matches, weighted by the weights of nuggets, and precision has an allowance for every
    nugget with a match above 0. Matching by words favours answers that copy: a paraphrase is not recognised.

    average: `macro` as above; `micro` divides the sum of all common words by the sum of all words of nuggets.
    idf: {word: weight}, after stemming; words without a weight count 0. Without it, every word counts 1.
    A topic without nuggets of positive weight and with words is undefined.
    Reference: Lin & Demner-Fushman, Automatically Evaluating Answers to Definition Questions, HLT/EMNLP 2005, 931-938

    >>> from cranfield.answers.nugget_files import Nugget
    >>> nuggets = {"1": {"a": Nugget("a", "born in 1942", "vital"), "b": Nugget("b", "plays bass guitar", "vital")}}
    >>> pourpre({"mine": {"1": "He was born in Liverpool."}}, nuggets)
    Scores: 1 measure × 1 run × 1 topic
          POURPRE
    mine   0.3571
    weights of nuggets: 1 for vital nuggets, 0 for others
    POURPRE: macro average, β = 3, 100 characters for each nugget with a match
    """
    check_nuggets(nuggets)
    weights, note = weights_of(nuggets, weighting)
    matcher = _Matcher(rules or WordRules(), idf)
    topics, runs = list(nuggets), list(texts)
    if not any(topic in nuggets for of_run in texts.values() for topic in of_run):
        raise UsageError(f"no text is of a topic with nuggets; these are {listed(topics)}")
    values, missing = np.zeros((1, len(runs), len(topics))), np.zeros((len(runs), len(topics)), dtype=bool)
    for t, topic in enumerate(topics):
        entries = list(nuggets[topic].values())
        weight = np.array([weights[topic][nugget.id] for nugget in entries])
        words = [matcher.words(nugget.text) for nugget in entries]
        sizes = np.array([matcher.size(list(own)) for own in words])
        for r, run in enumerate(runs):
            text = texts[run].get(topic)
            missing[r, t] = text is None
            sentences = matcher.sentences(text or "")
            common = np.array([matcher.best(own, sentences)[0] for own in words])
            recall = _recall(common, sizes, weight, average)
            precision = allowance_precision(characters(text or "", white_space), int((common > 0).sum()), allowance)
            values[0, r, t] = np.nan if np.isnan(recall) else f_measure(precision, recall, beta)
    notes = [
        *text_notes(texts, nuggets),
        note,
        method_note(f"POURPRE: {average} average, β = {beta:g}, {allowance:g} characters for each nugget with a match"),
    ]
    empty = [
        f"{topic}: {nugget.id}" for topic in topics for nugget in nuggets[topic].values() if not nugget.text.strip()
    ]
    if empty:
        notes.append(f"{counted(len(empty), 'nugget')} without text, which cannot match: {listed(empty)}")
    return Scores(["POURPRE"], runs, topics, values, missing, "zero", notes)


def _recall(common: Array, sizes: Array, weight: Array, average: str) -> float:
    if average == "macro":
        match = np.divide(common, sizes, out=np.zeros_like(common), where=sizes > 0)
        below = weight.sum()
        return float((match * weight).sum() / below) if below > 0 else np.nan
    below = (sizes * weight).sum()
    return float((common * weight).sum() / below) if below > 0 else np.nan


def explain_pourpre(
    text: str,
    nuggets: Nuggets,
    topic: str,
    *,
    rules: WordRules | None = None,
    idf: Mapping[str, float] | None = None,
    run: str = "system",
) -> PourpreMatches:
    """How much of each nugget of a topic a text has, and in which sentence."""
    if topic not in nuggets:
        raise check.nearest(topic, list(nuggets), "topic")
    matcher = _Matcher(rules or WordRules(), idf)
    sentences = matcher.sentences(text)
    rows = []
    for nugget in nuggets[topic].values():
        own = matcher.words(nugget.text)
        common, at, shared = matcher.best(own, sentences)
        size = matcher.size(own)
        sentence = " ".join(sentences[at]) if common else ""
        rows.append((nugget.id, common / size if size else 0.0, " ".join(shared), sentence, nugget.text))
    note = "match: the share of the words of the nugget that the sentence has"
    return PourpreMatches.of_rows(rows, run=run, topic=topic, notes=(note,))


class _Matcher:
    """Common words of nuggets and sentences."""

    def __init__(self, rules: WordRules, idf: Mapping[str, float] | None) -> None:
        self.rules, self.idf = rules, idf

    def words(self, text: str) -> list[str]:
        return self.rules.words(text)

    def sentences(self, text: str) -> list[list[str]]:
        numbered = self.rules.numbered([text])
        vocabulary, starts = numbered.vocabulary(), numbered.sentence_start.tolist()
        return [[vocabulary[word] for word in numbered.word[a:b].tolist()] for a, b in itertools.pairwise(starts)]

    def size(self, words: Sequence[str]) -> float:
        return float(len(words)) if self.idf is None else sum(self.idf.get(word, 0.0) for word in words)

    def best(self, words: Sequence[str], sentences: Sequence[Sequence[str]]) -> tuple[float, int, list[str]]:
        """The size of what the best sentence shares, its number, and the words."""
        best: tuple[float, int, list[str]] = (0.0, 0, [])
        for number, sentence in enumerate(sentences):
            left = list(sentence)
            shared = []
            for word in words:
                if word in left:
                    left.remove(word)
                    shared.append(word)
            if (size := self.size(shared)) > best[0]:
                best = (size, number, shared)
        return best


def read_idf(path: PathLike) -> dict[str, float]:
    """Weights of words: rows of term and idf."""
    rows = IDF.read(path)
    return dict(zip(rows["term"], rows["idf"].tolist(), strict=True))
