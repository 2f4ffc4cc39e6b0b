"""Topics: the questions or queries of a test collection, read from and written to files.

This module has the values and detects formats. `topic_markup` and `topic_tables` read and write each format, between
text and plain records. To add a format, add its reader and writer there and an entry to `_FORMATS`.
A reader keeps everything in a topic; a writer refuses data that its format cannot hold, so that a written file reads
back as equal topics.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from cranfield import check
from cranfield.collection import topic_markup, topic_tables
from cranfield.collection.accepted_inputs import TopicsLike
from cranfield.collection.compression import unpacked
from cranfield.collection.doors import check_json, reads
from cranfield.collection.source import HEAD, bytes_origin, read_bytes, shown_path, without_compression, write_bytes
from cranfield.collection.topic_tables import SPELLINGS, TEXTS, Found, Record, shortened
from cranfield.errors import DataError, UsageError
from cranfield.text import listed, one_line

Source: TypeAlias = str | os.PathLike[str] | bytes


@dataclass(frozen=True)
class _TopicFormat:
    read: Callable[[str, str], Found]
    write: Callable[[list[Record], str], str]
    suffixes: tuple[str, ...]


_FORMATS: Mapping[str, _TopicFormat] = {
    "sgml": _TopicFormat(topic_markup.read_sgml, topic_markup.write_sgml, (".sgml", ".sgm", ".trec")),
    "xml": _TopicFormat(topic_markup.read_xml, topic_markup.write_xml, (".xml",)),
    "tsv": _TopicFormat(topic_tables.read_tsv, topic_tables.write_tsv, (".tsv",)),
    "json": _TopicFormat(topic_tables.read_json, topic_tables.write_json, (".json",)),
    "jsonl": _TopicFormat(topic_tables.read_json, topic_tables.write_jsonl, (".jsonl", ".ndjson")),
}
FORMATS = tuple(_FORMATS)


# ---------------------------------------------------------------------------------------------------- values


@dataclass(frozen=True)
class _Picklable:
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle read-only mappings as dicts, since pickle cannot handle them."""
        return type(self), tuple(_thawed(getattr(self, part.name)) for part in dataclasses.fields(self))


@dataclass(frozen=True)
class Subtopic(_Picklable):
    """One of the needs behind a topic, as in the TREC Web track and NTCIR Intent tasks.

    `number` is the name of the intent in diversity qrels; `type` is `inf` or `nav`, for example; `fields` has
    everything else in the file.
    """

    number: str
    text: str = ""
    type: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _settle(self, f"subtopic {self.number!r}")


@dataclass(frozen=True)
class Topic(_Picklable):
    """One topic: an id, the usual three texts, and everything else in its file as `fields`.

    A missing text is empty; empty fields are dropped. Texts in other languages are fields such as `title@fr`; `lang` is
    the language of `title`, `description` and `narrative`, if the file states it.
    A field that a file repeats is a tuple. Values of JSON files keep their types; lists become tuples.

    >>> Topic("301", "International Organized Crime").title
    'International Organized Crime'
    """

    id: str
    title: str = ""
    description: str = ""
    narrative: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    subtopics: tuple[Subtopic, ...] = ()
    lang: str = ""

    def __post_init__(self) -> None:
        _settle(self, f"topic {self.id}" if isinstance(self.id, str) else "topic")
        if self.id.split() != [self.id]:
            raise UsageError(f"topic id == {self.id!r}, must be text without blanks, as in qrels and runs")
        object.__setattr__(self, "subtopics", tuple(self.subtopics))
        for number, count in Counter(subtopic.number for subtopic in self.subtopics).items():
            if count > 1:
                raise UsageError(f"topic {self.id}: subtopic {number} appears twice, numbers must differ")

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the title, description or narrative, the current one first."""
        further = (name.partition("@")[2] for name in self.fields if name.partition("@")[0] in TEXTS)
        return tuple(dict.fromkeys(lang for lang in (self.lang, *further) if lang))

    def in_language(self, lang: str) -> Topic:
        """The same topic with its texts in another of its languages; a text that lacks that language is empty.

        >>> topic = Topic("41", "Pesticides in Baby Food", lang="en", fields={"title@it": "Pesticidi negli alimenti"})
        >>> topic.in_language("it").title, topic.in_language("it").fields["title@en"]
        ('Pesticidi negli alimenti', 'Pesticides in Baby Food')
        """
        if not self.lang or lang not in self.languages:
            has = ", ".join(self.languages) if self.lang else "no language"
            raise UsageError(f"topic {self.id}: lang == {lang!r}, the topic has {has}")
        fields = dict(self.fields) | {f"{name}@{self.lang}": getattr(self, name) for name in TEXTS}
        texts = {name: fields.pop(f"{name}@{lang}", "") for name in TEXTS}
        return replace(self, **texts, fields=fields, lang=lang)


def _settle(value: Topic | Subtopic, caller: str) -> None:
    """Check that texts are text, and make the fields read-only."""
    own = {part.name: part.type for part in dataclasses.fields(value) if part.name != "fields"}
    for name, type in own.items():
        if type == "str" and not isinstance(getattr(value, name), str):
            raise UsageError(f"{caller}: {name} == {getattr(value, name)!r}, must be text")
    for name in value.fields:
        if not isinstance(name, str) or not name or name in own:
            raise UsageError(f"{caller}: a field is named {name!r}, must be text and none of {', '.join(own)}")
    object.__setattr__(value, "fields", _frozen({name: text for name, text in value.fields.items() if text != ""}))


def _rebuilt(value: Any, mapping: type, sequence: type) -> Any:
    if isinstance(value, Mapping):
        return mapping({name: _rebuilt(inner, mapping, sequence) for name, inner in value.items()})
    return sequence(_rebuilt(item, mapping, sequence) for item in value) if isinstance(value, list | tuple) else value


_frozen = partial(_rebuilt, mapping=MappingProxyType, sequence=tuple)
_thawed = partial(_rebuilt, mapping=dict, sequence=list)


# ---------------------------------------------------------------------------------------------------- the mapping


class Topics(Mapping[str, Topic]):
    """An immutable mapping from topic id to `Topic`, in the order of the file.

    >>> topics = Topics.from_dict({"301": "International Organized Crime", "302": "Poliomyelitis and Post-Polio"})
    >>> topics
    Topics(2 topics, 301 to 302)
    >>> topics["302"].title
    'Poliomyelitis and Post-Polio'
    """

    __slots__ = ("_topics",)

    def __init__(self, topics: Iterable[Topic] = ()) -> None:
        self._topics: dict[str, Topic] = {}
        for topic in topics:
            if topic.id in self._topics:
                raise UsageError(f"topic {topic.id} appears twice, topics must have different ids")
            self._topics[topic.id] = topic

    @classmethod
    def from_dict(cls, queries: Mapping[str, str]) -> Topics:
        """Topics from {topic id: query}."""
        return cls(Topic(id, query) for id, query in queries.items())

    @classmethod
    @reads
    def read(cls, source: Source, format: str | None = None, encoding: str | None = None) -> Topics:
        r"""Topics from a file (compressed or not) or its bytes.

        The format (`sgml`, `xml`, `tsv`, `json`, `jsonl`) is detected from the text unless given. The encoding is the
        one that the file declares (byte order mark, XML declaration), or UTF-8, unless given.
        Blanks and line breaks inside SGML and XML texts are layout and become one space. Attributes of the outermost
        element of an XML file describe the file, not a topic, and are dropped.

        >>> Topics.read(b"1\tobama family tree\n2\tfrench lick resort and casino\n").queries()
        {'1': 'obama family tree', '2': 'french lick resort and casino'}
        """
        path = bytes_origin(source) if isinstance(source, bytes) else os.fspath(source)
        check_head = partial(check_block, path=shown_path(path), format=format, encoding=encoding)
        data = unpacked(source, path, check_head) if isinstance(source, bytes) else read_bytes(source, check_head)
        text = _decoded(data, path, encoding)
        if not text.strip():
            raise DataError(path, None, "is empty, expected topics")
        format = _detected(text, path) if format is None else format
        check.one_of("Topics.read", FORMATS, format=format)
        topics: dict[str, tuple[int | None, Topic]] = {}
        for line, record in _FORMATS[format].read(text, path):
            try:
                topic = _topic(record)
            except UsageError as error:
                raise DataError(path, line, str(error)) from None
            if topic.id in topics:
                first = topics[topic.id][0]
                message = f"topic {topic.id} appears twice" + (f", first on line {first}" if first else "")
                raise DataError(path, line, message)
            topics[topic.id] = line, topic
        if not topics:
            raise DataError(path, None, f"no topics found when read as {format}; use format= to read another format")
        return cls(topic for _, topic in topics.values())

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write a UTF-8 file that reads back as equal topics; the format is that of the suffix unless given.

        A further suffix `.gz`, `.bz2`, `.xz` or `.zst` compresses. The file is written whole or not at all.
        Data that the format cannot hold is an error that names a format that can.
        """
        where = os.fspath(path)
        format = _format_named(where) if format is None else format
        if format is None:
            raise UsageError(f"{where}: the suffix is not that of a format; use format= one of {', '.join(FORMATS)}")
        check.one_of("Topics.write", FORMATS, format=format)
        if not self:
            raise DataError(where, None, "no topics to write")
        try:
            data = _FORMATS[format].write([_record(topic) for topic in self.values()], where).encode()
        except DataError:
            raise
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise DataError(where, None, f"{bad!r} is half of a character and cannot be written") from None
        except (TypeError, ValueError) as error:
            raise DataError(where, None, f"a field is not JSON: {error}") from None
        write_bytes(path, data)

    def queries(self) -> dict[str, str]:
        """{topic id: title}, the short queries."""
        return {id: topic.title for id, topic in self.items()}

    def only(self, *parts: str) -> Topics:
        """The topics with only these parts: texts, `subtopics`, `lang`, or fields by name.

        >>> Topics([Topic("1", "flutter", narrative="Wings only.")]).only("title")["1"].narrative
        ''
        """
        kept = {"id", *parts}
        records = ({name: value for name, value in _record(topic).items() if name in kept} for topic in self.values())
        return Topics(map(_topic, records))

    def in_language(self, lang: str) -> Topics:
        """Every topic in that language; see `Topic.in_language`."""
        return Topics(topic.in_language(lang) for topic in self.values())

    def __getitem__(self, id: str) -> Topic:
        return self._topics[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._topics)

    def __len__(self) -> int:
        return len(self._topics)

    def __hash__(self) -> int:
        return hash(frozenset(self._topics))

    def __repr__(self) -> str:
        ids = list(self)
        span = f", {' to '.join([ids[0], *ids[1:][-1:]])}" if ids else ""
        return f"Topics({len(ids)} topic{'' if len(ids) == 1 else 's'}{span})"


def topics_of(topics: TopicsLike) -> Topics:
    """Topics from `Topics`, {topic: query} or a file.

    >>> topics_of({"301": "organized crime"})["301"].title
    'organized crime'
    """
    if isinstance(topics, Topics):
        return topics
    return Topics.read(topics) if isinstance(topics, str | os.PathLike | bytes) else Topics.from_dict(topics)


def topic_of(topics: TopicsLike, id: str) -> Topic:
    """One topic, from anything that `topics_of` takes; an error names the topics there are."""
    known = topics_of(topics)
    if id not in known:
        where = shown_path(os.fspath(topics)) if isinstance(topics, (str, os.PathLike)) else "topics"
        raise DataError(where, None, f"has no topic {id!r}; its topics are {listed(known, 10)}")
    return known[id]


def text_lines(topic: Topic) -> tuple[str, ...]:
    """The title, description and narrative, as far as there are any.

    >>> text_lines(Topic("301", "organized crime", narrative="Gangs."))
    ('topic: organized crime', 'narrative: Gangs.')
    """
    texts = {"topic": topic.title, "description": topic.description, "narrative": topic.narrative}
    return tuple(f"{name}: {one_line(text)}" for name, text in texts.items() if text)


# ---------------------------------------------------------------------------------------------------- files


def _decoded(data: bytes, path: str, encoding: str | None) -> str:
    if encoding is None:
        declared = re.match(rb"(?:\xef\xbb\xbf)*\s*<\?xml[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)", data)
        encoding = declared[1].decode("ascii", "replace") if declared else "utf-8"
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = f"byte 0x{data[error.start]:02x} is not {encoding}" if error.start < len(data) else f"not {encoding}"
        raise DataError(path, line, f"{bad}; use encoding= for another, such as encoding='latin-1'") from None
    except (LookupError, UnicodeError):
        raise DataError(path, 1, f"unknown encoding {encoding!r}; use encoding= with another") from None
    if bad_character := re.search("[\0\ud800-\udfff]", text):
        line = text.count("\n", 0, bad_character.start()) + 1
        raise DataError(path, line, f"{bad_character[0]!r} is not a character: a binary file, expected topics")
    return text.lstrip("\ufeff")


@reads
def format_of(path: str | os.PathLike[str]) -> str:
    """The format of a file of topics, detected from its content."""
    return _detected(_decoded(read_bytes(path), os.fspath(path), None), os.fspath(path))


def check_block(head: bytes, path: str, format: str | None = None, encoding: str | None = None) -> None:
    """Raise an error if the first block cannot be topics, before the rest is read: a pipe may have no end."""
    if len(head) < HEAD or not head.strip():
        return
    lines = head[: head.rfind(b"\n") + 1] or head  # of markup and JSON, one line may be all
    text = _decoded(lines if len(lines) < len(head) else head[:-4], path, encoding)
    kind = _detected(text, path) if format is None else format
    if kind in ("json", "jsonl"):
        check_json(head, path)
    elif kind == "tsv":
        if not head.count(b"\n"):
            raise DataError(path, 1, f"the line is longer than {HEAD:,} bytes, expected an id, a tab and a title")
        for _ in _FORMATS["tsv"].read(text, path):
            pass
    elif kind in ("sgml", "xml") and not re.search(r"</?[A-Za-z][^<>]*>|<[?!]", text):
        raise DataError(path, 1, f"no tags in the first {HEAD:,} bytes, expected topics as {kind}")


def _format_named(path: str) -> str | None:
    suffix = os.path.splitext(without_compression(path.lower()))[1]
    return next((name for name, format in _FORMATS.items() if suffix in format.suffixes), None)


def _detected(text: str, path: str) -> str:
    if _format_named(path) == "tsv":  # other suffixes are used loosely
        return "tsv"
    start = text.lstrip()
    if start.startswith("<"):
        return "sgml" if topic_markup.is_sgml(text) else "xml"
    if start.startswith(("[", "{")):
        return "json"  # or JSON-lines, which are read alike
    if "\t" in start.partition("\n")[0]:
        return "tsv"
    raise DataError(path, 1, f"neither markup, JSON nor tabs, expected topics; use format= one of {', '.join(FORMATS)}")


def _topic(record: Record) -> Topic:
    fields = dict(record)
    subtopics = fields.pop("subtopics", None) or []
    if not isinstance(subtopics, list):
        raise UsageError(f"subtopics is {shortened(repr(subtopics))}, expected a list")
    parts = {part: fields.pop(part) for part in SPELLINGS if part in fields}
    return Topic(**parts, fields=fields, subtopics=tuple(_subtopic(item, n) for n, item in enumerate(subtopics, 1)))


def _subtopic(record: Any, position: int) -> Subtopic:
    fields = dict(record) if isinstance(record, dict) else {"text": record}
    return Subtopic(str(fields.pop("number", position)), fields.pop("text", ""), fields.pop("type", ""), fields)


def _record(topic: Topic) -> Record:
    """The record of a topic, with its parts in the order of a file."""
    parts = {part: getattr(topic, part) for part in SPELLINGS}
    parts["subtopics"] = [
        {"number": s.number, **({"type": s.type} if s.type else {}), "text": s.text, **_thawed(s.fields)}
        for s in topic.subtopics
    ]
    return {**{name: value for name, value in parts.items() if value}, **_thawed(topic.fields)}
