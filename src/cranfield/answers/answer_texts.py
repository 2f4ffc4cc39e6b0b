"""Texts of systems and references by run and topic, and tables of answers: JSON lines, or columns under a header."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.assessed.given_runs import distinct_names
from cranfield.collection.column_names import COLUMNS, column_key
from cranfield.collection.doors import reads, text_blocks
from cranfield.collection.file_formats.structured import parsed_json
from cranfield.collection.source import (
    Buffer,
    PathLike,
    check_content,
    expand,
    head_of,
    load,
    shown_path,
    stem,
    text_of,
    unmarked,
)
from cranfield.collection.tables.rows import Rows
from cranfield.collection.tables.table_schema import NO_DEFAULT, Anything, Column, Numbers, Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.notes import Notes
from cranfield.text import counted, listed, shown


@dataclass(frozen=True)
class Name(Words):
    """Names, without the blanks around them; a list or a truth value is none."""

    @property
    def expected(self) -> str:
        return "a name or a text"

    def text(self, value: Any) -> str:
        return "" if isinstance(value, list | dict | bool) else super().text(value).strip()


RUN = Name(COLUMNS["name"])
TOPIC = Name((*COLUMNS["topic"], "question_id", "question"))
DOC = Name(COLUMNS["doc"], "document")
NUGGET = Name(("nugget", "nugget_id", "iunit", "iunit_id", "scu", "scu_id", "unit"))
ANSWER = Name(("answer", "answer_id", "output", "output_id", "doc", "doc_id", "docno"))
ASSESSOR = Name(("assessor", "assessor_id", "worker", "annotator", "judge", "user"))
TEXT = Anything(
    ("text", "answer_text", "summary", "contents", "content", "body", "response", "answer"), default=None
)  # fmt: skip
IMPORTANCE = Anything(("importance", "type", "vote"), default=None)
SUPPORT = Anything(("support", "assignment", "grade", "label", "matched"), default=None)
START = Numbers(("start", "begin", "offset"), least=0, whole=True)
END = Numbers(("end", "stop"), least=0, whole=True)


def optional(column: Name) -> Name:
    """A name that a table, or some of its rows, may lack: then it is empty."""
    return replace(column, default="", may_be_empty=True)


def optional_number(*words: str, least: float = -np.inf) -> Numbers:
    """A number that a table, or some of its rows, may lack: then it is NaN."""
    return Numbers(words, least=least, default=np.nan, blank=np.nan)


@dataclass(frozen=True, eq=False)
class Row:
    """A row: its values by column, and where it is."""

    rows: Rows
    at: int
    values: Mapping[str, Any]

    def __getitem__(self, column: str) -> Any:
        return self.values[column]

    def fault(self, what: str) -> DataError:
        """The error for this row."""
        return self.rows.fault(self.at, what)

    def has(self, column: str) -> bool:
        """Is there a value that is not empty?"""
        return self.values.get(column) not in (None, "")

    def checked(self, column: str, kind: Column) -> Any:
        """A value as a kind of column has it, where only some rows need it."""
        values, wrong = kind.values([self.values[column]])
        if wrong is not None:
            raise self.fault(f"the {column} is {shown(self.values[column])}, expected {kind.expected}")
        return values[0]


class AnswerTable(Schema):
    """A table with a header; texts are kept with the blanks around them."""

    def __init__(self, form: str, *, key: Sequence[str] = (), any_of: Sequence[str] = (), **columns: Column) -> None:
        declared: dict[str, Any] = {"key": key, "any_of": any_of, **columns}
        super().__init__(form, layouts=(), separators="\t,;", strip=False, **declared)

    @reads
    def each(self, path: PathLike) -> list[Row]:
        """The rows of a file, one by one. In JSON lines, each object may have names of its own for the columns."""
        origin, data = shown_path(os.fspath(path)), load(path)
        is_json = unmarked(head_of(data)).lstrip().startswith(b"{")
        parts = self._of_objects(data, origin) if is_json else [self.read_content(data, origin)]
        made = []
        for rows in parts:
            columns = [
                column.tolist() if isinstance(column, np.ndarray) else column for column in rows.columns.values()
            ]
            for at, values in enumerate(zip(*columns, strict=True)):
                made.append(Row(rows, at, dict(zip(rows.columns, values, strict=True))))
        return sorted(made, key=lambda row: row.rows.line(row.at) or 0)

    def _of_objects(self, data: Buffer, origin: str) -> list[Rows]:
        """The rows of JSON lines, those of objects with the same names together."""
        objects: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
        lines = (line for block in text_blocks(data, origin) for line in block.removesuffix("\n").split("\n"))
        for number, line in enumerate(lines, 1):
            if line.strip():
                record = parsed_json(line, origin, number)
                if not isinstance(record, dict):
                    raise DataError(origin, number, f"is {shown(record)}, expected an object")
                objects.setdefault(tuple(record), {})[number] = record
        return [self._of_part(names, part, origin) for names, part in objects.items()]

    def _of_part(self, names: tuple[str, ...], part: dict[int, dict[str, Any]], origin: str) -> Rows:
        def cells(at: int) -> list[Any]:
            return [record[names[at]] for record in part.values()]

        return self._named(names, cells, origin, {}, next(iter(part)), list(part))


TEXTS = AnswerTable(
    "topic text [run] [id]", any_of=("topic", "id"), topic=optional(TOPIC), text=replace(TEXT, default=NO_DEFAULT),
    run=optional(RUN), id=optional(Name(("id", "_id"))),
)  # fmt: skip
TextsOfRuns = Mapping[str, Mapping[str, str]]
"""{run: {topic: text}}."""
References = Mapping[str, Sequence[str]]
"""{topic: texts}."""


@dataclass(frozen=True)
class Answer:
    """What a system wrote for a topic. Lines of the text are sentences, if the source has sentences."""

    run: str
    topic: str
    text: str
    id: str = ""
    """The name under which assessors saw it; empty: it has none."""
    origin: str = ""
    line: int | None = None


def read_answers(paths: Iterable[PathLike]) -> list[Answer]:
    """The texts in files and folders, one source for each system.

    A source is a folder with a file for each topic, whose name without suffix is the topic; or a file with rows of
    topic (or id) and text, as JSON-lines or as a table with a header; or lines of topic, tab, text. Rows may also name
    the run; otherwise it is named after the file. A text may be a list of sentences.
    """
    sources = expand(paths)
    if not sources:
        raise UsageError("no texts; give a file or a folder for each system")
    names = distinct_names([stem(source.rstrip("/")) for source in sources], sources)
    answers = [answer for name, source in zip(names, sources, strict=True) for answer in _of_source(source, name)]
    seen: dict[tuple[str, str], Answer] = {}
    for answer in answers:
        first = seen.setdefault((answer.run, answer.topic), answer)
        if first is not answer:
            where = f"first in {first.origin}" + (f", line {first.line}" if first.line else "")
            message = f"topic {shown(answer.topic)} of run {shown(answer.run)} appears twice, {where}"
            raise DataError(answer.origin, answer.line, message)
    return answers


def texts_of_runs(answers: Iterable[Answer]) -> dict[str, dict[str, str]]:
    """{run: {topic: text}}."""
    texts: dict[str, dict[str, str]] = {}
    for answer in answers:
        texts.setdefault(answer.run, {})[answer.topic] = answer.text
    return texts


def read_references(paths: Iterable[PathLike]) -> dict[str, list[str]]:
    """The references of each topic: those of all sources, and several rows of one source with the same topic.

    In a folder, the files of one topic are `301.txt`, or `301.a.txt`, `301.b.txt` where the topics have no dot.
    """
    sources = expand(paths)
    if not sources:
        raise UsageError("no references; give a file or a folder of them")
    references: dict[str, list[str]] = {}
    for source in sources:
        for answer in _of_source(source, ""):
            references.setdefault(answer.topic, []).append(answer.text)
    return references


def with_numbered_references(references: Mapping[str, Sequence[str]], topics: Iterable[str]) -> dict[str, list[str]]:
    """References of topics; a reference of `301.a` is one of topic `301`, if there are texts for `301` only.

    >>> with_numbered_references({"301.a": ["x"], "301.b": ["y"]}, ["301"])
    {'301': ['x', 'y']}
    """
    known = set(topics)
    merged: dict[str, list[str]] = {}
    for name, texts in references.items():
        base = name.rpartition(".")[0]
        topic = base if name not in known and base in known else name
        merged.setdefault(topic, []).extend(texts)
    return merged


@reads
def _of_source(source: str, run: str) -> list[Answer]:
    if os.path.isdir(source):
        return _of_folder(source, run)
    buffer = load(source)
    origin = shown_path(source)
    if not len(buffer):
        raise DataError(origin, None, "is empty, expected texts")
    check_content(head_of(buffer), origin)
    text = text_of(buffer, origin)
    first = text.lstrip("\n\r").partition("\n")[0]
    if not first.startswith("{") and not _is_header(first):
        return _of_lines(text, origin, run)
    return [
        Answer(
            row["run"] or run, row["topic"] or row.checked("id", TOPIC), sentences_text(row), row["id"], origin,
            row.rows.line(row.at),
        )
        for row in TEXTS.each(source)
    ]  # fmt: skip


def _is_header(line: str) -> bool:
    keys = [column_key(cell) for cell in line.split("\t")]
    return bool({*TOPIC.words, "id"} & set(keys)) and bool(set(TEXT.words) & set(keys))


def _of_lines(text: str, origin: str, run: str) -> list[Answer]:
    answers = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if line.strip():
            topic, tab, content = line.partition("\t")
            if not tab or not topic.strip():
                raise DataError(origin, number, f"is {shown(line)}, expected topic, tab, text; or JSON-lines")
            answers.append(Answer(run, topic.strip(), content, origin=origin, line=number))
    return answers


def sentences_text(row: Row) -> str:
    """The text of a row; a list of sentences, or of objects with a text, becomes lines."""
    value: Any = row["text"]
    if value is None:
        return ""
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        if not all(isinstance(part, str) for part in parts):
            raise row.fault(f"text is {shown(value)}, expected a text or a list of sentences")
        return "\n".join(" ".join(str(part).split("\n")) for part in parts)
    if not isinstance(value, str):
        raise row.fault(f"text is {shown(value)}, expected a text or a list of sentences")
    return value


@reads
def _of_folder(folder: str, run: str) -> list[Answer]:
    answers = []
    with os.scandir(folder) as entries:
        files = sorted(entry.name for entry in entries if entry.is_file() and not entry.name.startswith("."))
    for name in files:
        path = os.path.join(folder, name)
        answers.append(Answer(run, os.path.splitext(name)[0], text_of(load(path), shown_path(path)), origin=path))
    if not answers:
        raise DataError(folder, None, "holds no files, expected one for each topic")
    return answers


def check_texts(runs: TextsOfRuns, references: References) -> tuple[list[str], list[str]]:
    """The topics to score, which are those with references, and notes about texts that cannot be scored."""
    topics = list(references)
    if not topics:
        raise UsageError("no references")
    if not runs:
        raise UsageError("no texts to score")
    notes = Notes()
    unknown = [f"{run}: {topic}" for run, texts in runs.items() for topic in texts if topic not in references]
    if unknown:
        if len(unknown) == sum(map(len, runs.values())):
            names = f"the topics of the texts are like {unknown[0].partition(': ')[2]!r}, those of the references"
            raise UsageError(f"no text has a reference; {names} like {topics[0]!r}")
        notes.append(f"{counted(len(unknown), 'text')} without a reference left out: {listed(unknown)}")
    empty = [f"{run}: {topic}" for run, texts in runs.items() for topic, text in texts.items() if not text.strip()]
    if empty:
        notes.append(f"{counted(len(empty), 'empty text')}, scored 0: {listed(empty)}")
    hollow = [topic for topic, texts in references.items() if any(not text.strip() for text in texts)]
    if hollow:
        notes.caution(
            f"{counted(len(hollow), 'topic')} with an empty reference, in which nothing matches: {listed(hollow)}"
        )
    return topics, notes
