"""Generated answers with citations: do the cited documents support the sentences?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.answers.answer_texts import RUN, SUPPORT, TEXT, TOPIC, AnswerTable, Name, Row, optional
from cranfield.answers.nugget_files import SupportReader, UnknownValues
from cranfield.answers.nugget_scores import Beta, f_measure, measure_names
from cranfield.collection.column_names import COLUMNS
from cranfield.collection.source import PathLike, expand, stem
from cranfield.collection.tables.table_schema import NO_DEFAULT, Anything, Numbers
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError, warn_caller
from cranfield.notes import caution_note
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed, shown
from cranfield.types import Array

MEASURES = (
    "citation-precision", "citation-recall", "citation-F", "citation-precision-strict", "citation-recall-strict",
    "supported", "uncited",
)  # fmt: skip
DEFAULT = MEASURES[:3]
UNJUDGED = ("zero", "skip")
UNKNOWN = ("error", "unjudged")
COUNTED = ("all", "first")


CITATION = Name(("citation", "cited", "reference", "citation_id", *COLUMNS["doc"]))
NUMBER = Numbers(("sentence", "sentence_id", "sentence_number", "line"), least=1, whole=True)
ANSWERS = AnswerTable(
    "topic sentence [run] [citation] [support] [text]", any_of=("sentence", "sentences"), topic=TOPIC,
    run=optional(RUN), sentence=Anything(NUMBER.words, default=None), text=TEXT, support=SUPPORT,
    citation=Anything(CITATION.words, default=None), references=Anything(default=None),
    sentences=Anything(("sentences", "answer", "responses"), default=None),
)  # fmt: skip
JUDGED = AnswerTable(
    "run topic sentence citation support", run=RUN, topic=TOPIC, sentence=NUMBER, citation=CITATION,
    support=replace(SUPPORT, default=NO_DEFAULT),
)  # fmt: skip


@dataclass(frozen=True)
class Sentence:
    """A sentence of an answer, with the documents that it cites and their support, None where nobody judged it."""

    text: str
    citations: tuple[str, ...]
    support: tuple[float | None, ...]


CitedAnswers = Mapping[str, Mapping[str, Sequence[Sentence]]]
"""{run: {topic: sentences}}."""


def read_cited_answers(
    paths: Iterable[PathLike], support: PathLike | None = None, *, unknown: str = "error"
) -> dict[str, dict[str, list[Sentence]]]:
    """Answers with citations, as JSON-lines or as rows of sentences, and judgments of support.

    JSON-lines have an object per answer, as in TREC's RAG track: run_id, topic_id, references (documents) and answer, a
    list of objects with text and citations, which are documents or places in the references, from 0. A table has a row
    per citation: run, topic, sentence (a number from 1), citation and support; a sentence without citations has a row
    with an empty citation.

    support: rows of run, topic, sentence, citation and support, if the answers do not have it.
    unknown: support without meaning, such as `failed`, is an error, which counts and lists all of it; with `unjudged`,
        such a citation counts as not judged.
    """
    values = UnknownValues(unknown, UNKNOWN[1], {"support": "not judged"})
    answers: dict[str, dict[str, list[Sentence]]] = {}
    for path in expand(paths):
        rows = ANSWERS.each(path)
        if any(isinstance(row["sentences"], list) for row in rows):
            _from_objects(rows, stem(path), answers)
        else:
            _from_table(rows, stem(path), answers, values)
    if not answers:
        raise UsageError("no answers")
    if support is not None:
        answers = _judged(answers, support, values)
    for note in values.notes():
        warn_caller(note)
    return answers


def _from_objects(rows: Sequence[Row], name: str, answers: dict[str, dict[str, list[Sentence]]]) -> None:
    for row in rows:
        run, topic = row["run"] or name, row["topic"]
        if topic in answers.setdefault(run, {}):
            raise row.fault(f"topic {shown(topic)} of run {shown(run)} appears twice")
        references = row["references"] or []
        sentences = []
        for entry in _listed(row, row.values, "sentences"):
            if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
                raise row.fault(f"a sentence is {shown(entry)}, expected an object with text and citations")
            cited = [_cited(row, citation, references) for citation in _listed(row, entry, "citations")]
            once = tuple(dict.fromkeys(cited))
            sentences.append(Sentence(entry["text"], once, (None,) * len(once)))
        answers[run][topic] = sentences


def _listed(row: Row, values: Mapping[str, Any], key: str) -> list[Any]:
    """The list with this name; a value that is missing or null is an empty list."""
    value = values.get(key)
    if value is not None and not isinstance(value, list):
        raise row.fault(f"{key} is {shown(value)}, expected a list")
    return value or []


def _cited(row: Row, citation: object, references: Any) -> str:
    if isinstance(citation, int) and not isinstance(citation, bool):
        if not isinstance(references, list) or not 0 <= citation < len(references):
            raise row.fault(f"citation {citation} is not a place in the references, which are {shown(references)}")
        return str(references[citation])
    if isinstance(citation, str) and citation.strip():
        return citation.strip()
    raise row.fault(f"a citation is {shown(citation)}, expected a document or its place in the references")


def _from_table(
    rows: Sequence[Row], name: str, answers: dict[str, dict[str, list[Sentence]]], unknown: UnknownValues
) -> None:
    read = SupportReader(rows, None, unknown)
    parts: dict[tuple[str, str], dict[int, Sentence]] = {}
    for row in rows:
        run, topic = row["run"] or name, row["topic"]
        if isinstance(row["sentences"], str):
            what = "expected a list of sentences, each with text and citations: [{text: ..., citations: [...]}]"
            raise row.fault(f"the answer is one text, {what}")
        number = int(row.checked("sentence", NUMBER))
        sentence = parts.setdefault((run, topic), {}).get(number, Sentence("", (), ()))
        if row.has("text"):
            sentence = replace(sentence, text=row.checked("text", CITATION))
        if row.has("citation"):
            citation = row.checked("citation", CITATION)
            if citation in sentence.citations:
                raise row.fault(f"sentence {number} cites {shown(citation)} twice")
            value = read(row) if row.has("support") else None
            sentence = Sentence(sentence.text, (*sentence.citations, citation), (*sentence.support, value))
        elif row.has("support"):
            raise row.fault(f"sentence {number} has support, but no citation")
        parts[run, topic][number] = sentence
    for (run, topic), sentences in parts.items():
        if topic in answers.setdefault(run, {}):
            raise UsageError(f"topic {topic!r} of run {run!r} is in two files")
        answers[run][topic] = [sentences.get(i, Sentence("", (), ())) for i in range(1, max(sentences) + 1)]


def _judged(
    answers: dict[str, dict[str, list[Sentence]]], path: PathLike, unknown: UnknownValues
) -> dict[str, dict[str, list[Sentence]]]:
    rows = JUDGED.each(path)
    read = SupportReader(rows, None, unknown)
    judged: dict[tuple[str, str, int, str], float | None] = {}
    for row in rows:
        run, topic, number, citation = row["run"], row["topic"], int(row["sentence"]), row["citation"]
        sentences = answers.get(run, {}).get(topic)
        if sentences is None:
            raise row.fault(f"run {shown(run)} has no answer for topic {shown(topic)}")
        if number > len(sentences):
            raise row.fault(f"there is no sentence {number}: the answer has {counted(len(sentences), 'sentence')}")
        if citation not in sentences[number - 1].citations:
            cited = listed(sentences[number - 1].citations) or "nothing"
            raise row.fault(f"sentence {number} does not cite {shown(citation)}; it cites {cited}")
        if (run, topic, number, citation) in judged:
            raise row.fault(f"citation {shown(citation)} of sentence {number} is judged twice")
        judged[run, topic, number, citation] = read(row)
    return {
        run: {
            topic: [
                replace(sentence, support=tuple(judged.get((run, topic, number, doc)) for doc in sentence.citations))
                for number, sentence in enumerate(sentences, 1)
            ]
            for topic, sentences in topics.items()
        }
        for run, topics in answers.items()
    }


@operation
def citation_scores(
    answers: CitedAnswers,
    measures: Iterable[str] = DEFAULT,
    *,
    beta: Beta = 1.0,
    unjudged: Annotated[
        str,
        about(
            "Citations that nobody judged: {names} (as not supporting, or left out).",
            choices=UNJUDGED,
            spelled="--unjudged RULE",
        ),
    ] = "zero",
    counted_citations: Annotated[
        str, about("Which citations of a sentence count: {names}.", choices=COUNTED, spelled="--count WHICH")
    ] = "all",
) -> Scores:
    r"""How well citations support answers.

    With the support s(c) of a citation, 1 for full, 1/2 for partial and 0 for no support, over all citations C and all
    sentences S of an answer:

    .. math:: \text{precision} = \frac{1}{|C|} \sum_{c \in C} s(c), \quad
              \text{recall} = \frac{1}{|S|} \sum_{i \in S} \max_{c \in C_i} s(c)

    `citation-F` is their harmonic mean, where recall counts `beta` times as much. With `-strict`, partial support is 0.
    `supported` is the share of sentences with a fully supporting citation, among those that cite; `uncited` is the
    share of sentences without citations.

    unjudged: what becomes of citations that nobody judged: `zero` (no support) or `skip` (as if they were not there).
    counted_citations: `all`, or the `first` of every sentence only, as TREC's RAG track judged them.

    An answer without citations has precision 0 and recall 0; an empty answer is 0 in both, and undefined in `uncited`.
    Reference: Thakur et al., Support Evaluation for the TREC 2024 RAG Track, SIGIR 2025, arXiv:2504.15205

    >>> one, two = Sentence("A.", ("d1", "d2"), (1.0, 0.0)), Sentence("B.", (), ())
    >>> citation_scores({"mine": {"1": [one, two]}}, ["citation-precision", "citation-recall", "citation-F"])
    Scores: 3 measures × 1 run × 1 topic
          citation-precision  citation-recall  citation-F
    mine              0.5000           0.5000      0.5000
    >>> citation_scores({"mine": {"1": [one, two]}}, ["citation-precision-strict", "supported", "uncited"])
    Scores: 3 measures × 1 run × 1 topic
          citation-precision-strict  supported  uncited
    mine                     0.5000     1.0000   0.5000
    """
    names = measure_names(measures, MEASURES)
    runs = list(answers)
    topics = list(dict.fromkeys(topic for of_run in answers.values() for topic in of_run))
    values, missing = np.zeros((len(names), len(runs), len(topics))), np.zeros((len(runs), len(topics)), dtype=bool)
    citations = without = 0
    empty = []
    for r, run in enumerate(runs):
        for t, topic in enumerate(topics):
            sentences = answers[run].get(topic)
            missing[r, t] = sentences is None
            if sentences is not None and not sentences:
                empty.append(f"{run}: {topic}")
            used = [_used(sentence, counted_citations) for sentence in sentences or ()]
            citations += sum(map(len, used))
            without += sum(value is None for part in used for value in part)
            kept = [
                [0.0 if value is None else value for value in part if value is not None or unjudged == "zero"]
                for part in used
            ]
            row = _of_answer(kept, [bool(sentence.citations) for sentence in sentences or ()], beta)
            values[:, r, t] = [row[name] for name in names]
    notes = []
    if without:
        rule = "as not supporting" if unjudged == "zero" else "left out"
        notes.append(caution_note(f"{without:,} of {counted(citations, 'citation')} not judged, {rule}"))
    if empty:
        notes.append(f"{counted(len(empty), 'empty answer')}, scored 0: {listed(empty)}")
    if counted_citations == "first":
        notes.append("only the first citation of each sentence counts")
    return Scores(names, runs, topics, values, missing, "zero", notes)


def _used(sentence: Sentence, counted_citations: str) -> tuple[float | None, ...]:
    return sentence.support[:1] if counted_citations == "first" else sentence.support


def _of_answer(support: Sequence[Sequence[float]], cites: Sequence[bool], beta: float) -> dict[str, float]:
    def precision(strict: bool) -> float:
        every = [float(value >= 1) if strict else value for part in support for value in part]
        return sum(every) / len(every) if every else 0.0

    def recall(strict: bool) -> float:
        best = [max((float(value >= 1) if strict else value for value in part), default=0.0) for part in support]
        return sum(best) / len(best) if best else 0.0

    citing = sum(map(bool, support))
    return {
        "citation-precision": precision(False),
        "citation-recall": recall(False),
        "citation-F": f_measure(precision(False), recall(False), beta),
        "citation-precision-strict": precision(True),
        "citation-recall-strict": recall(True),
        "supported": sum(max(part) >= 1 for part in support if part) / citing if citing else 0.0,
        "uncited": 1 - sum(cites) / len(cites) if cites else np.nan,
    }


@dataclass(frozen=True, eq=False, repr=False)
class CitedSentences(Record):
    """The sentences of answers to a topic, their citations and the support of each."""

    facts = ("topic",)

    topic: str
    runs: Annotated[tuple[str, ...], column("run")]
    numbers: Annotated[NDArray[np.int64], column("sentence")]
    citations: Annotated[tuple[str, ...], column("citation")]
    support: Annotated[Array, column()]
    """Per citation; NaN: not judged, or no citation."""
    texts: Annotated[tuple[str, ...], column("text")]
    notes: tuple[str, ...] = ()


def explain_citations(answers: CitedAnswers, topic: str) -> CitedSentences:
    """Every sentence of the answers to a topic, with its citations and their support."""
    topics = list(dict.fromkeys(asked for of_run in answers.values() for asked in of_run))
    if topic not in topics:
        raise check.nearest(topic, topics, "topic")
    rows: list[tuple[str, int, str, float, str]] = []
    for run, of_run in answers.items():
        for number, sentence in enumerate(of_run.get(topic, ()), 1):
            parts = list(zip(sentence.citations, sentence.support, strict=True)) or [("", None)]
            for place, (citation, support) in enumerate(parts):
                value = np.nan if support is None else support
                rows.append((run, number, citation, value, "" if place else sentence.text))
    note = "support: 1 full, 0.5 partial, 0 none, - not judged; a sentence counts with its best citation"
    return CitedSentences.of_rows(rows, topic=topic, notes=(note,))


def support_labels(parts: Mapping[str, CitedAnswers]) -> Any:
    """Judgments of support by several assessors, such as people and a machine, for `building.agreement`."""
    from cranfield.building.assessor_labels import Labels

    rows = [
        (topic, f"{run}: {number}: {citation}", assessor, f"{value:g}")
        for assessor, answers in parts.items()
        for run, topics in answers.items()
        for topic, sentences in topics.items()
        for number, sentence in enumerate(sentences, 1)
        for citation, value in zip(sentence.citations, sentence.support, strict=True)
        if value is not None
    ]
    seen = sorted({row[3] for row in rows}, key=float)
    return Labels.of(rows, scale=seen if len(seen) > 1 else ["0", "1"])
