"""What a machine judge is asked: every item of a pool with every prompt, and the items that cannot be asked.

Items, a topic and a document each, are from a pool, from judgments or from a run.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cranfield import check
from cranfield.building.document_texts import DocumentTexts
from cranfield.building.machine.label_log import Key
from cranfield.building.machine.prompts import Prompt, digest
from cranfield.collection.column_names import COLUMNS, DELIMITERS, find_columns
from cranfield.collection.convert import kind_of
from cranfield.collection.doors import csv_fault, header_cells, reads
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.source import BINARY, HEAD, PathLike, first_line, load, shown_path, text_of
from cranfield.collection.topics import Topics
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed

Item = tuple[str, str]
"""Topic and document."""


@reads
def read_items(thing: PathLike | Iterable[Item]) -> tuple[Item, ...]:
    """Items without repetitions: a table with a header that names topic and doc, judgments, a run, or pairs.

    >>> read_items([("1", "d1"), ("1", "d2"), ("1", "d1")])
    (('1', 'd1'), ('1', 'd2'))
    """
    if not isinstance(thing, str | os.PathLike):
        return tuple(dict.fromkeys((str(topic), str(doc)) for topic, doc in thing))
    origin = shown_path(os.fspath(thing))
    buffer = load(thing)
    if b"\0" in bytes(buffer[:HEAD]) and not bytes(buffer[:4]).startswith(BINARY):
        text_of(buffer, origin)  # raises the error of binary data
    first = first_line(buffer).decode("utf-8", "replace").lstrip("\ufeff")
    for delimiter in DELIMITERS:
        names = header_cells(first, delimiter, origin)
        if {"topic", "doc"} <= (places := find_columns(names, COLUMNS)).keys():
            return _from_table(text_of(buffer, origin), delimiter, places["topic"], places["doc"], origin)
    columns = (Run if _is_run(bytes(buffer), origin) else Qrels).of(bytes(buffer)).columns()
    return tuple(dict.fromkeys(zip(columns.topics, columns.docs, strict=True)))


def _is_run(data: bytes, origin: str) -> bool:
    try:
        return kind_of(data) == "run"
    except UsageError:
        message = "expected a table with a header that names topic and doc, or judgments, or a run"
        raise DataError(origin, None, message) from None


def _from_table(text: str, delimiter: str, topic: int, doc: int, origin: str) -> tuple[Item, ...]:
    lines = (line for line in text.lstrip("\ufeff").splitlines(keepends=True) if not line.startswith("#"))
    reader = csv.reader(lines, delimiter=delimiter)
    header = next(row for row in reader if row)
    items: dict[Item, None] = {}
    try:
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                width = counted(len(row), "column")
                raise DataError(origin, reader.line_num, f"{width}, expected {len(header)} as in the header")
            if not (row[topic].strip() and row[doc].strip()):
                raise DataError(origin, reader.line_num, "topic or document is empty")
            items[row[topic].strip(), row[doc].strip()] = None
    except csv.Error as error:
        raise DataError(origin, reader.line_num, csv_fault(error)) from None
    return tuple(items)


MOST_CHARACTERS = 8_000
"""Documents are cut to this length, unless another is asked for."""
WHY = {
    "topic": "the topic is not in the file of topics, or has no title",
    "missing": "the document has no text in the collection",
    "empty": "the text of the document is empty",
    "binary": "the document is binary",
}
"""Why an item cannot be asked."""


@dataclass(frozen=True)
class Question:
    """One prompt about one item."""

    topic: str
    doc: str
    worker: str
    text: str
    """The prompt to send."""
    template: str
    """The digest of the template."""
    cut: bool

    @property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def key(self) -> Key:
        return self.topic, self.doc, self.worker


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """The questions of a run of labelling. Prompts are made one at a time, since they take much memory."""

    topics: Topics
    items: tuple[Item, ...]
    """The items that can be asked."""
    texts: Mapping[str, str]
    prompts: tuple[Prompt, ...]
    scale: Mapping[str, str]
    model: str
    unasked: Mapping[str, tuple[Item, ...]]
    """The items that cannot be asked, by reason (`WHY`)."""
    most_characters: int = MOST_CHARACTERS
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(
        topics: Topics,
        items: tuple[Item, ...],
        documents: DocumentTexts,
        prompts: tuple[Prompt, ...],
        scale: Mapping[str, str],
        model: str,
        most_characters: int = MOST_CHARACTERS,
    ) -> LabelPlan:
        """The plan for a pool; an error if nothing of it can be asked."""
        check.whole("label", most_characters=most_characters)
        empty, binary = set(documents.empty), set(documents.binary)

        def reason(item: Item) -> str:
            topic, doc = item
            if topic not in topics or not topics[topic].title.strip():
                return "topic"
            if doc in documents.texts:
                return ""
            return "binary" if doc in binary else "empty" if doc in empty else "missing"

        reasons = [reason(item) for item in items]
        askable = tuple(item for item, why in zip(items, reasons, strict=True) if not why)
        unasked = {
            why: found
            for why in WHY
            if (found := tuple(item for item, other in zip(items, reasons, strict=True) if other == why))
        }
        notes = []
        for why, found in unasked.items():
            places = listed((f"{topic} {doc}" for topic, doc in found), noun="items")
            notes.append(f"{counted(len(found), 'item')} not asked, because {WHY[why]}: {places}")
        if documents.damaged:
            count = counted(len(documents.damaged), "document has", "documents have")
            notes.append(f"{count} bytes that are not UTF-8, which were replaced: {listed(documents.damaged)}")
        if not askable:
            raise UsageError(f"nothing to ask: {'; '.join(notes) or 'the pool is empty'}")
        long = {doc for _, doc in askable if len(documents.texts[doc]) > most_characters}
        if long:
            count = counted(len(long), "document is", "documents are")
            notes.append(f"{count} cut to the first {most_characters:,} characters")
        return LabelPlan(
            topics, askable, documents.texts, prompts, scale, model, unasked, most_characters, tuple(notes)
        )

    def __len__(self) -> int:
        return len(self.items) * len(self.prompts)

    def worker(self, prompt: Prompt) -> str:
        """The name under which the labels of a prompt are kept."""
        return f"{self.model}/{prompt.name}"

    def questions(self) -> Iterator[Question]:
        """All questions, prompt by prompt."""
        for prompt in self.prompts:
            for topic, doc in self.items:
                yield self.question(prompt, topic, doc)

    def question(self, prompt: Prompt, topic: str, doc: str) -> Question:
        text = self.texts[doc]
        sent = text[: self.most_characters]
        rendered = prompt.render(self.topics[topic], sent, self.scale)
        return Question(topic, doc, self.worker(prompt), rendered, prompt.digest, len(sent) < len(text))

    def characters(self) -> int:
        """The length of all prompts together."""
        return sum(len(question.text) for question in self.questions())
