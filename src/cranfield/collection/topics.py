"""Topics: what was asked, from the files people keep them in.

From top to bottom: the records, the mapping, what the formats share, then one section a format.
A reader keeps everything that a topic says; a writer refuses what its format cannot carry, so that reading back what
was written gives equal topics.
"""

from __future__ import annotations

import io
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html.entities import html5
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from xml.parsers import expat

from cranfield import check
from cranfield.collection.source import read_bytes, read_stream, write_bytes
from cranfield.errors import CranfieldWarning, DataError, UsageError

Source: TypeAlias = str | os.PathLike[str] | bytes

FORMATS = ("sgml", "xml", "tsv", "json", "jsonl")

# How files spell the parts of a topic, the preferred spelling first; the first one found is taken, others stay fields.
# "identifrier" is how the CLEF topic in Ferro's survey (Fig. 4) spells it.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": (
        "id",
        "_id",
        "num",
        "number",
        "identifier",
        "identifrier",
        "qid",
        "query_id",
        "query-id",
        "topic_id",
        "topic",
    ),
    "title": ("title", "query", "text", "question", "content"),
    "description": ("description", "desc"),
    "narrative": ("narrative", "narr"),
    "lang": ("lang",),
}
_SLOT = {spelling: slot for slot, spellings in SPELLINGS.items() for spelling in spellings}
_TEXTS = ("title", "description", "narrative")


# ---------------------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class Subtopic:
    """One of the needs behind a topic, as the TREC Web track and NTCIR Intent tasks list them.

    `number` is the intent's name in diversity qrels; `type` is such as `inf` or `nav`; `fields` holds what else the
    file says.
    """

    number: str
    text: str = ""
    type: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("number", "text", "type"):
            _must_be_text(f"subtopic {self.number!r}", name, getattr(self, name))
        object.__setattr__(self, "fields", _kept(self.fields, f"subtopic {self.number!r}", ("number", "text", "type")))

    def __reduce__(self) -> tuple[Any, ...]:  # a read-only mapping does not pickle
        return Subtopic, (self.number, self.text, self.type, _thawed(self.fields))


@dataclass(frozen=True)
class Topic:
    """One topic: an id, the usual three texts, and whatever else its file says of it in `fields`.

    A text that is absent is empty, and so is a field: empty fields are not kept. Texts in further languages are fields
    named `title@fr`; `lang` is the language of `title`, `description` and `narrative` where the file tells.
    A field that a file repeats is a tuple. Values of JSON files keep their types, lists as tuples.

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
        _must_be_text("topic", "id", self.id)
        if self.id.split() != [self.id]:
            raise UsageError(f"topic id == {self.id!r}, must be text without blanks, as qrels and runs need it")
        who = f"topic {self.id}"
        for name in (*_TEXTS, "lang"):
            _must_be_text(who, name, getattr(self, name))
        own = ("id", *_TEXTS, "subtopics", "lang")
        object.__setattr__(self, "fields", _kept(self.fields, who, own))
        object.__setattr__(self, "subtopics", tuple(self.subtopics))
        repeated = [number for number, count in Counter(s.number for s in self.subtopics).items() if count > 1]
        if repeated:
            raise UsageError(f"{who}: subtopic {repeated[0]} twice, subtopics must have different numbers")

    def __reduce__(self) -> tuple[Any, ...]:  # a read-only mapping does not pickle
        texts = (self.id, self.title, self.description, self.narrative)
        return Topic, (*texts, _thawed(self.fields), self.subtopics, self.lang)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the title, description or narrative is given in, the present one first."""
        found = dict.fromkeys([self.lang] if self.lang else [])
        for name in self.fields:
            slot, at, lang = name.partition("@")
            if at and slot in _TEXTS:
                found[lang] = None
        return tuple(found)

    def in_language(self, lang: str) -> Topic:
        """The same topic, its texts in another of its languages; a text not given in that language is empty.

        >>> topic = Topic("41", "Pesticides in Baby Food", lang="en", fields={"title@it": "Pesticidi negli alimenti"})
        >>> topic.in_language("it").title, topic.in_language("it").fields["title@en"]
        ('Pesticidi negli alimenti', 'Pesticides in Baby Food')
        """
        if not self.lang or lang not in self.languages:
            has = ", ".join(self.languages) if self.lang else "no language"
            raise UsageError(f"topic {self.id}: lang == {lang!r}, the topic has {has}")
        fields = dict(self.fields)
        fields.update({f"{name}@{self.lang}": getattr(self, name) for name in _TEXTS})
        texts = {name: fields.pop(f"{name}@{lang}", "") for name in _TEXTS}
        return replace(self, **texts, fields=fields, lang=lang)


def _must_be_text(who: str, name: str, value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"{who}: {name} == {value!r}, must be text")


def _kept(fields: Mapping[str, Any], who: str, own: tuple[str, ...]) -> Mapping[str, Any]:
    for name in fields:
        if not isinstance(name, str) or not name or name in own:
            raise UsageError(f"{who}: a field is named {name!r}, must be text and none of {', '.join(own)}")
    return MappingProxyType({name: _frozen(value) for name, value in fields.items() if value != ""})


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return MappingProxyType({name: _frozen(inner) for name, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(inner) for inner in value)
    return value


def _thawed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _thawed(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return [_thawed(inner) for inner in value]
    return value


# ---------------------------------------------------------------------------------------------------- the mapping


class Topics(Mapping[str, Topic]):
    """Topic id -> `Topic`, in the order of the file; it does not change once made.

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
                raise UsageError(f"topic {topic.id} twice, topics must have different ids")
            self._topics[topic.id] = topic

    @classmethod
    def from_dict(cls, queries: Mapping[str, str]) -> Topics:
        """Topics from topic id -> query."""
        return cls(Topic(id, query) for id, query in queries.items())

    @classmethod
    def read(cls, source: Source, format: str | None = None, encoding: str | None = None) -> Topics:
        r"""Topics from a file (compressed or not) or its bytes.

        The format (`sgml`, `xml`, `tsv`, `json`, `jsonl`) is found by looking at the text, unless it is said.
        The encoding is what the file declares (byte order mark, XML declaration) or UTF-8, unless it is said.
        Blanks and line breaks inside SGML and XML texts are layout and become one space. Attributes of an XML file's
        outermost element speak of the file, not of a topic, and are not kept.

        >>> Topics.read(b"1\tobama family tree\n2\tfrench lick resort and casino\n").queries()
        {'1': 'obama family tree', '2': 'french lick resort and casino'}
        """
        path = "<bytes>" if isinstance(source, bytes) else os.fspath(source)
        data = read_stream(io.BytesIO(source)) if isinstance(source, bytes) else read_bytes(source)
        text = _decoded(data, path, encoding)
        if not text.strip():
            raise DataError(path, None, "empty, expected topics")
        if format is None:
            format = _detected(text, path)
        check.one_of("Topics.read", FORMATS, format=format)
        found: dict[str, tuple[int | None, Topic]] = {}
        for line, topic in _READERS[format](text, path):
            if topic.id in found:
                first = found[topic.id][0]
                raise DataError(path, line, f"topic {topic.id} twice" + (f", first at line {first}" if first else ""))
            found[topic.id] = line, topic
        if not found:
            raise DataError(path, None, f"no topics found, read as {format}; say format= if it is another")
        return cls(topic for _, topic in found.values())

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write a UTF-8 file that reads back as equal topics; the format is the name's ending unless it is said.

        A further ending `.gz`, `.bz2`, `.xz` or `.zst` compresses. The file appears whole or not at all.
        What a format cannot carry is an error that says what can.
        """
        where = os.fspath(path)
        if format is None:
            format = _format_named(where)
            if format is None:
                raise UsageError(
                    f"{where}: cannot tell the format from the name, say format= one of {', '.join(FORMATS)}"
                )
        check.one_of("Topics.write", FORMATS, format=format)
        if not self:
            raise DataError(where, None, "no topics to write")
        text = _WRITERS[format](self, where)
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                where, None, f"{text[error.start]!r} is half of a character and cannot be written"
            ) from None
        write_bytes(path, data)

    def queries(self) -> dict[str, str]:
        """Topic id -> title, the short query."""
        return {id: topic.title for id, topic in self.items()}

    def only(self, *parts: str) -> Topics:
        """The topics with only these parts: texts, `subtopics`, `lang`, or fields by name.

        >>> Topics([Topic("1", "flutter", narrative="Wings only.")]).only("title")["1"].narrative
        ''
        """
        own = {"title", "description", "narrative", "subtopics", "lang"}
        return Topics(
            Topic(
                topic.id,
                fields={name: value for name, value in topic.fields.items() if name in parts},
                **{name: getattr(topic, name) for name in parts if name in own},
            )
            for topic in self.values()
        )

    def in_language(self, lang: str) -> Topics:
        """Every topic in that language: see `Topic.in_language`."""
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
        if len(ids) < 2:
            return f"Topics({len(ids)} topic{'s' * (not ids)}{', ' + ids[0] if ids else ''})"
        return f"Topics({len(ids)} topics, {ids[0]} to {ids[-1]})"


# ---------------------------------------------------------------------------------------------------- shared

Found: TypeAlias = Iterator[tuple[int | None, Topic]]


def _decoded(data: bytes, path: str, encoding: str | None) -> str:
    if encoding is None:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            encoding = "utf-16"
        elif declared := re.match(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)", data):
            encoding = declared[1].decode("ascii", "replace")
        else:
            encoding = "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = f"byte 0x{data[error.start]:02x} is not {encoding}" if error.start < len(data) else f"not {encoding}"
        raise DataError(path, line, f"{bad}; say encoding= if it is another, such as encoding='latin-1'") from None
    except (LookupError, UnicodeError):
        raise DataError(path, 1, f"unknown encoding {encoding!r}; say encoding= with one Python knows") from None
    if bad_character := re.search("[\0\ud800-\udfff]", text):
        line = text.count("\n", 0, bad_character.start()) + 1
        raise DataError(path, line, f"{bad_character[0]!r} is no character: a binary file, expected topics")
    return text.removeprefix("\ufeff")


def _format_named(path: str) -> str | None:
    name = re.sub(r"\.(gz|bz2|xz|zst)$", "", path.lower())
    return _ENDINGS.get(os.path.splitext(name)[1])


def _detected(text: str, path: str) -> str:
    named = _format_named(path)
    if named in ("tsv", "jsonl"):  # other endings are used loosely
        return named
    start = text.lstrip()
    first_line = start.partition("\n")[0]
    if start.startswith("<"):
        first_tag = _TAG.search(text)
        if not start.startswith("<?xml") and first_tag is not None:
            numbers_open = re.search(r"<num>", text, re.I) and not re.search(r"</num>", text, re.I)
            if first_tag["name"].lower() == "top" or numbers_open:
                return "sgml"
        return "xml"
    if start.startswith("["):
        return "json"
    if start.startswith("{"):
        try:
            value = json.loads(first_line)
        except (ValueError, RecursionError):
            return "json"
        several = len(start.strip()) > len(first_line.strip())
        return "jsonl" if several or any(_SLOT.get(name.lower()) == "id" for name in value) else "json"
    if "\t" in first_line:
        return "tsv"
    raise DataError(path, 1, f"neither markup, JSON nor tabs; expected topics, say format= one of {', '.join(FORMATS)}")


def _topic(
    columns: Iterable[tuple[str, Any]],
    path: str,
    line: int | None,
    fields: Iterable[tuple[str, Any]] = (),
    subtopics: Iterable[Subtopic] = (),
) -> Topic:
    """A topic from its columns, which may be spelled in many ways, and from fields, whose names are what they are."""
    given: dict[str, list[Any]] = {}
    for name, value in columns:
        given.setdefault(name, []).append(value)
    slots: dict[str, str] = {}
    for slot, spellings in SPELLINGS.items():
        taken = next((name for spelling in spellings for name in given if name.lower() == spelling), None)
        if taken is not None:
            slots[slot] = _slot_text(slot, taken, given.pop(taken), path, line)
    if not slots.get("id"):
        raise DataError(path, line, f"topic without a number, expected one of {', '.join(SPELLINGS['id'])}")
    for name, value in fields:
        given.setdefault(name, []).append(value)
    kept = {name: values[0] if len(values) == 1 else tuple(values) for name, values in given.items()}
    try:
        return Topic(**slots, fields=kept, subtopics=tuple(subtopics))
    except UsageError as error:
        raise DataError(path, line, str(error)) from None


def _slot_text(slot: str, name: str, values: list[Any], path: str, line: int | None) -> str:
    if len(values) > 1:
        raise DataError(path, line, f"{name} twice in one topic, expected once (or once a language)")
    (value,) = values
    if slot == "id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(path, line, f"{name} is {value!r}, expected text")
    return value.strip() if slot == "id" else value


def _slots_to_write(topics: Iterable[Topic]) -> list[str]:
    """The parts a table needs: those in use, and those that a field would otherwise be taken for."""
    topics = list(topics)
    taken = {_SLOT.get(name.lower()) for topic in topics for name in topic.fields}
    always = {"id", "title"}
    return [slot for slot in SPELLINGS if slot in always or slot in taken or any(getattr(t, slot) for t in topics)]


# ---------------------------------------------------------------------------------------------------- SGML and XML


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    line: int
    content: list[str | _Element] = field(default_factory=list)
    verbatim: bool = False  # the text is as it should be, its blanks included

    @property
    def children(self) -> list[_Element]:
        return [part for part in self.content if isinstance(part, _Element)]

    @property
    def lang(self) -> str:
        return self.attributes.get("xml:lang") or self.attributes.get("lang") or ""

    def own_text(self) -> str:
        return self._laid_out("".join(part for part in self.content if isinstance(part, str)))

    def text(self) -> str:
        """The text of this element and those in it."""
        return self._laid_out("".join(self._texts()))

    def _texts(self) -> Iterator[str]:
        for part in self.content:
            if isinstance(part, str):
                yield part
            else:
                yield from part._texts()

    def _laid_out(self, text: str) -> str:
        return text if self.verbatim or self.attributes.get("xml:space") == "preserve" else _one_spaced(text)


class _Part(NamedTuple):
    """What a markup writer writes as one element."""

    tag: str
    attributes: dict[str, str]
    text: str


_PLAIN_NAME = re.compile(r"(?!xml)[A-Za-z][A-Za-z0-9_.-]*", re.I)
_LANG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_CLEF_TAG = re.compile(r"([A-Za-z]{2})-(title|desc|narr)", re.I)  # <DE-title>, as CLEF wrote its first topics
_RESERVED = {*_SLOT, "subtopic", "subtopics", "field", "top"}
_NOT_DATA = re.compile(r"xmlns(:.*)?|xml:(lang|space|base)|xsi:.*|lang", re.I)
_DEEPEST = 100


def _one_spaced(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text).strip(" ")


def _topic_of(element: _Element, inherited_lang: str, path: str) -> Topic:
    langs = (child.lang for child in element.children if child.lang)
    lang = element.lang or inherited_lang or next(langs, "")
    columns: list[tuple[str, Any]] = [(n, v) for n, v in element.attributes.items() if not _NOT_DATA.fullmatch(n)]
    fields: list[tuple[str, Any]] = []
    subtopics: list[Subtopic] = []
    if lang:
        columns.append(("lang", lang))
    if own_text := element.own_text().strip():
        columns.append(("text", own_text))
    for child in element.children:
        kind = child.name.lower()
        if kind == "subtopic":
            subtopics.append(_subtopic_of(child, len(subtopics) + 1, path))
        elif kind == "subtopics" and all(inner.name.lower() == "subtopic" for inner in child.children):
            for inner in child.children:
                subtopics.append(_subtopic_of(inner, len(subtopics) + 1, path))
        elif kind == "field" and "name" in child.attributes:
            as_json = child.attributes.get("as") == "json"
            value = _json(child.text(), path, child.line) if as_json else child.text()
            fields.append((child.attributes["name"], value))
        else:
            columns.extend(_columns_of(child, lang))
    return _topic(columns, path, element.line, fields, subtopics)


def _columns_of(element: _Element, topic_lang: str) -> Iterator[tuple[str, str]]:
    """An element as columns: its text, `name/@attribute` for attributes, `name/inner` where it only holds others."""
    slot = _SLOT.get(element.name.lower())
    foreign = element.lang not in ("", topic_lang)
    name = f"{slot or element.name}@{element.lang}" if foreign else element.name
    for attribute, value in element.attributes.items():
        if not _NOT_DATA.fullmatch(attribute):
            yield f"{name}/@{attribute}", value
    if element.children and not slot and not element.own_text().strip():
        for child in element.children:
            for inner, value in _columns_of(child, topic_lang):
                yield f"{name}/{inner}", value
    else:
        text = element.text()
        if slot == "id" and not element.verbatim:
            text = _without_label("num", text)
        yield name, text


def _subtopic_of(element: _Element, position: int, path: str) -> Subtopic:
    given = {name: value for name, value in element.attributes.items() if not _NOT_DATA.fullmatch(name)}
    fields = _json(given.pop("fields"), path, element.line) if "fields" in given else {}
    if not isinstance(fields, dict):
        raise DataError(path, element.line, f"subtopic fields == {fields!r}, must be a JSON object")
    number = given.pop("number", None) or given.pop("id", None) or str(position)
    try:
        return Subtopic(number, element.text(), given.pop("type", ""), {**given, **fields})
    except UsageError as error:
        raise DataError(path, element.line, str(error)) from None


def _parts_of(topic: Topic, tags: Mapping[str, str], lang_attribute: str) -> Iterator[_Part]:
    yield _Part(tags["id"], {}, topic.id)
    for slot in _TEXTS:
        if text := getattr(topic, slot):
            yield _Part(tags[slot], {}, text)
    for subtopic in topic.subtopics:
        attributes = {"number": subtopic.number, "type": subtopic.type}
        if subtopic.fields:
            attributes["fields"] = json.dumps(_thawed(subtopic.fields))
        yield _Part("subtopic", {name: value for name, value in attributes.items() if value}, subtopic.text)
    for name, value in topic.fields.items():
        repeated = isinstance(value, tuple) and len(value) > 1 and all(isinstance(each, str) for each in value)
        for each in value if repeated else (value,):
            yield _field_part(topic, name, each, tags, lang_attribute)


def _field_part(topic: Topic, name: str, value: Any, tags: Mapping[str, str], lang_attribute: str) -> _Part:
    if not isinstance(value, str):
        return _Part("field", {"name": name, "as": "json"}, json.dumps(_thawed(value)))
    base, at, lang = name.rpartition("@")
    if at and topic.lang and lang != topic.lang and _LANG.fullmatch(lang) and (base in _TEXTS or _is_own_tag(base)):
        return _Part(tags.get(base, base), {lang_attribute: lang}, value)
    return _Part(name, {}, value) if _is_own_tag(name) else _Part("field", {"name": name}, value)


def _is_own_tag(name: str) -> bool:
    """Can a field's name be its tag, or would a reader take that for something else?"""
    plain = _PLAIN_NAME.fullmatch(name) and not _CLEF_TAG.fullmatch(name)
    return bool(plain) and name.lower() not in _RESERVED


# ---------------------------------------------------------------------------------------------------- TREC SGML

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)(?P<attributes>(?:\s[^<>]*)?)>")
_ATTRIBUTE = re.compile(r"(?<![\w.:-])([A-Za-z][\w.:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_ASIDE = re.compile(r"<!--.*?(?:-->|\Z)|<\?[^<>]*>|<!DOCTYPE[^<>]*>", re.S | re.I)
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|[A-Za-z][A-Za-z0-9]*);")
_MUST_REFER = re.compile(r"&(?=#|\w+;)|<(?=[A-Za-z/!?])|[\x00-\x1f\x7f\ud800-\udfff]|^ | $|(?<= ) ")
# TREC opens a text with the name of its part ("Description:"), the first TRECs those of more parts.
_LABELS = {
    "num": "Number", "title": "Topic", "desc": "Description", "narr": "Narrative", "dom": "Domain", "smry": "Summary",
    "con": r"Concept\(s\)", "fac": r"Factor\(s\)", "def": r"Definition\(s\)", "nat": "Nationality", "time": "Time",
}  # fmt: skip
_SGML_TAGS = {"id": "num", "title": "title", "description": "desc", "narrative": "narr"}
_SGML_OPENING = {"num": " Number:", "desc": " Description:\n", "narr": " Narrative:\n"}


def _read_sgml(text: str, path: str) -> Found:
    def aside(found: re.Match[str]) -> str:
        if found[0].startswith("<!--") and not found[0].endswith("-->"):
            raise DataError(path, text.count("\n", 0, found.start()) + 1, "a comment that does not end, expected -->")
        return "\n" * found[0].count("\n")

    tagged = _ASIDE.sub(aside, text)
    top: _Element | None = None
    part: _Element | None = None
    line, position = 1, 0
    for tag in [*_TAG.finditer(tagged), None]:
        between = tagged[position : tag.start() if tag else len(tagged)]
        if part is not None:
            part.content = [_sgml_text(part.name, between)]
        elif between.strip():
            line += between[: len(between) - len(between.lstrip())].count("\n")
            inside = "its elements" if top else "<top>"
            raise DataError(path, line, f"text outside {inside}: {_shortened(between)}, expected a tag")
        line += between.count("\n")
        name = tag["name"].lower() if tag else "top"
        if name == "top":
            if top is not None:
                yield top.line, _topic_of(top, "", path)
            top = part = None
            if tag and not tag["close"]:
                top = _Element("top", _sgml_attributes(tag["attributes"]), line, verbatim=True)
        elif top is not None and tag is not None:
            part = None if tag["close"] else _sgml_element(tag, line)
            if part is not None:
                top.content.append(part)
        if tag:
            position = tag.end()
            line += tag[0].count("\n")


def _sgml_element(tag: re.Match[str], line: int) -> _Element:
    attributes = _sgml_attributes(tag["attributes"])
    if clef := _CLEF_TAG.fullmatch(tag["name"]):
        return _Element(clef[2].lower(), {"lang": clef[1].lower(), **attributes}, line, verbatim=True)
    return _Element(tag["name"], attributes, line, verbatim=True)


def _sgml_attributes(text: str) -> dict[str, str]:
    return {name: _dereferenced(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(text)}


def _sgml_text(tag: str, text: str) -> str:
    # In this order, so that a character written as a reference is neither layout nor label.
    return _dereferenced(_without_label(tag.lower(), _one_spaced(text)))


def _without_label(tag: str, text: str) -> str:
    label = _LABELS.get(tag)
    return re.sub(f"^{label} ?: ?", "", text, flags=re.I) if label else text


def _dereferenced(text: str) -> str:
    def character(reference: re.Match[str]) -> str:
        decimal, hexadecimal = reference.groups()
        if decimal is None and hexadecimal is None:
            return html5.get(reference[0][1:], reference[0])
        code = int(decimal) if decimal else int(hexadecimal, 16)
        return chr(code) if code < 0x110000 else reference[0]

    return _REFERENCE.sub(character, text)


def _write_sgml(topics: Topics, path: str) -> str:
    tops = []
    for topic in topics.values():
        lang = f' lang="{_referring(topic.lang, quoted=True)}"' if topic.lang else ""
        parts = (_sgml_part(part) for part in _parts_of(topic, _SGML_TAGS, "lang"))
        tops.append(f"<top{lang}>\n{''.join(parts)}</top>\n")
    return "\n".join(tops)


def _sgml_part(part: _Part) -> str:
    attributes = "".join(f' {name}="{_referring(value, quoted=True)}"' for name, value in part.attributes.items())
    opening = "" if part.attributes else _SGML_OPENING.get(part.tag, "")
    text = _referring(part.text)
    if not opening and _without_label(part.tag.lower(), text) != text:
        text = text.replace(":", "&#58;", 1)
    return f"<{part.tag}{attributes}>{opening}{'' if opening.endswith(chr(10)) else ' '}{text}\n"


def _referring(text: str, quoted: bool = False) -> str:
    text = _MUST_REFER.sub(lambda found: f"&#{ord(found[0])};", text)
    return re.sub(r'[<>"]', lambda found: f"&#{ord(found[0])};", text) if quoted else text


def _shortened(text: str) -> str:
    text = _one_spaced(text)
    return repr(text if len(text) <= 40 else text[:39] + "…")


# ---------------------------------------------------------------------------------------------------- XML

_XML_TAGS = {"id": "identifier", "title": "title", "description": "description", "narrative": "narrative"}
_XML_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_XML_QUOTED = _XML_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _read_xml(text: str, path: str) -> Found:
    root = _parsed_xml(text, path)
    topics, passed = _topic_elements(root)
    if passed:
        names = ", ".join(sorted({f"<{element.name}>" for element in passed}))
        message = f"{path}: {len(passed)} elements outside the topics were passed over: {names}"
        warnings.warn(message, CranfieldWarning, stacklevel=3)
    for element in topics:
        yield element.line, _topic_of(element, root.lang, path)


def _topic_elements(root: _Element) -> tuple[list[_Element], list[_Element]]:
    topics: list[_Element] = []
    passed: list[_Element] = []
    pending = [root]
    while pending:
        element = pending.pop()
        if element.name.lower() in ("topic", "top"):
            topics.append(element)
        elif element.children:
            pending.extend(reversed(element.children))
        else:
            passed.append(element)
    return (topics, passed) if topics else (root.children, [])


def _parsed_xml(text: str, path: str) -> _Element:
    """The document as elements that know their lines. Entities are refused: they can read files and fill the memory."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    document = _Element("", {}, 0)
    opened = [document]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(opened) > _DEEPEST:
            raise DataError(path, parser.CurrentLineNumber, f"elements more than {_DEEPEST} deep, expected topics")
        element = _Element(name.rpartition(":")[2], attributes, parser.CurrentLineNumber)
        opened[-1].content.append(element)
        opened.append(element)

    def entity(name: str, *_: object) -> None:
        what = f"entity {name!r}: entities are refused, write the text itself"
        raise DataError(path, parser.CurrentLineNumber, what)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: opened.pop()
    parser.CharacterDataHandler = lambda data: opened[-1].content.append(data)
    parser.EntityDeclHandler = entity
    parser.SkippedEntityHandler = entity
    try:
        parser.Parse(_without_declaration(text), True)
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        raise DataError(path, error.lineno, f"malformed XML: {what} at column {error.offset + 1}") from None
    return document.children[0]


def _without_declaration(text: str) -> str:
    # The text is decoded already, so what the declaration says of its encoding is no longer true.
    return re.sub(r"^\s*<\?xml\b[^>]*\?>", lambda declaration: re.sub(r"[^\n]", " ", declaration[0]), text)


def _write_xml(topics: Topics, path: str) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<topics>"]
    for topic in topics.values():
        lang = f' xml:lang="{topic.lang.translate(_XML_QUOTED)}"' if topic.lang else ""
        body = [_xml_part(part) for part in _parts_of(topic, _XML_TAGS, "xml:lang")]
        own = [f"  <topic{lang}>", *(f"    {each}" for each in body), "  </topic>"]
        if bad := _NOT_XML.search("".join(own)):
            what = f"topic {topic.id} holds {bad[0]!r}, which XML cannot carry; write jsonl"
            raise DataError(path, None, what)
        lines += own
    return "\n".join([*lines, "</topics>", ""])


def _xml_part(part: _Part) -> str:
    attributes = dict(part.attributes)
    if part.text != _one_spaced(part.text):
        attributes["xml:space"] = "preserve"
    opening = "".join(f' {name}="{value.translate(_XML_QUOTED)}"' for name, value in attributes.items())
    return f"<{part.tag}{opening}>{part.text.translate(_XML_TEXT)}</{part.tag}>"


# ---------------------------------------------------------------------------------------------------- TSV


def _read_tsv(text: str, path: str) -> Found:
    rows = [(line, row.removesuffix("\r").split("\t")) for line, row in enumerate(text.split("\n"), 1) if row.strip()]
    header = ["id", "title"]
    if _is_header(rows[0][1]):
        line, header = rows.pop(0)
        repeated = [name for name, count in Counter(header).items() if count > 1]
        if repeated:
            raise DataError(path, line, f"column {repeated[0]!r} twice in the header")
    for line, cells in rows:
        if len(cells) != len(header):
            expected = " ".join(f"{name}" for name in header)
            what = f"{len(cells)} columns between tabs, expected {len(header)}: {expected}"
            raise DataError(path, line, what)
        yield line, _topic(zip(header, cells, strict=True), path, line)


def _is_header(cells: list[str]) -> bool:
    slots = [_SLOT.get(cell.lower()) for cell in cells]
    return slots[0] == "id" and any(slot in _TEXTS for slot in slots[1:])


def _write_tsv(topics: Topics, path: str) -> str:
    slots = _slots_to_write(topics.values())
    names = list(dict.fromkeys(name for topic in topics.values() for name in topic.fields))
    rows = [[*slots, *names]]
    for topic in topics.values():
        if topic.subtopics:
            raise _not_tabular(path, topic, f"{len(topic.subtopics)} subtopics", "title")
        rows.append([getattr(topic, slot) for slot in slots] + [topic.fields.get(name, "") for name in names])
        for name, cell in zip(rows[0], rows[-1], strict=True):
            if not isinstance(cell, str) or re.search("[\t\n\r\0]", cell + name):
                raise _not_tabular(path, topic, f"{name} == {cell!r}", *(s for s in slots[1:] if s != name))
    return "".join("\t".join(row) + "\n" for row in rows)


def _not_tabular(path: str, topic: Topic, what: str, *others: str) -> DataError:
    keep = ", ".join(repr(name) for name in others)
    return DataError(path, None, f"topic {topic.id} has {what}, which TSV cannot carry; write jsonl, or only({keep})")


# ---------------------------------------------------------------------------------------------------- JSON


def _read_json(text: str, path: str) -> Found:
    start = len(text) - len(text.lstrip())
    if text.startswith("[", start):
        for line, value in _json_items(text, start, path):
            yield line, _topic_of_object(value, path, line)
        return
    value = _json(text, path, 1)
    if not isinstance(value, dict):
        raise DataError(path, None, f"{_shortened(repr(value))}, expected a list of topics or an object")
    if any(_SLOT.get(name.lower()) == "id" for name in value):
        yield None, _topic_of_object(value, path, None)
    elif len(value) == 1 and isinstance(only := next(iter(value.values())), list):
        for inner in only:
            yield None, _topic_of_object(inner, path, None)
    else:
        for id, inner in value.items():
            said = inner if isinstance(inner, dict) else {"title": inner}
            yield (
                None,
                _topic_of_object({"id": id, **{n: v for n, v in said.items() if (n, v) != ("id", id)}}, path, None),
            )


def _read_jsonl(text: str, path: str) -> Found:
    for line, row in enumerate(text.split("\n"), 1):
        if row.strip():
            yield line, _topic_of_object(_json(row, path, line), path, line)


def _topic_of_object(value: Any, path: str, line: int | None) -> Topic:
    if not isinstance(value, dict):
        raise DataError(path, line, f"{_shortened(repr(value))}, expected an object with id and title")
    columns = dict(value)
    listed = columns.pop("subtopics", None) or []
    if not isinstance(listed, list):
        raise DataError(path, line, f"subtopics is {_shortened(repr(listed))}, expected a list")
    subtopics = []
    for position, each in enumerate(listed, 1):
        said = dict(each) if isinstance(each, dict) else {"text": each}
        number, text, kind = said.pop("number", position), said.pop("text", ""), said.pop("type", "")
        try:
            subtopics.append(Subtopic(str(number), text, kind, said))
        except UsageError as error:
            raise DataError(path, line, str(error)) from None
    return _topic(columns.items(), path, line, subtopics=subtopics)


def _json(text: str, path: str, line: int) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(error, path, line) from None


def _json_items(text: str, start: int, path: str) -> Iterator[tuple[int, Any]]:
    """The items of a JSON list, each with its line."""
    line, counted = 1, 0
    blank = re.compile(r"[ \t\r\n]*")
    position = _end(blank, text, start + 1)
    while not text.startswith("]", position):
        line, counted = line + text.count("\n", counted, position), position
        try:
            value, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise DataError(path, error.lineno, f"malformed JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise _not_json(error, path, line) from None
        yield line, value
        position = _end(blank, text, position)
        if text.startswith(",", position):
            position = _end(blank, text, position + 1)
        elif not text.startswith("]", position):
            raise DataError(path, text.count("\n", 0, position) + 1, "malformed JSON: expected ',' or ']'")
    if text[position + 1 :].strip():
        raise DataError(path, text.count("\n", 0, position) + 1, "malformed JSON: text after the list's end")


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def _not_json(error: Exception, path: str, line: int) -> DataError:
    if isinstance(error, json.JSONDecodeError):
        return DataError(path, line + error.lineno - 1, f"malformed JSON: {error.msg}")
    what = "nested too deep" if isinstance(error, RecursionError) else str(error)
    return DataError(path, line, f"malformed JSON: {what}")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated[0]!r} twice in one object")
    return dict(pairs)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_constant=_no_number)


def _object_of(topic: Topic) -> dict[str, Any]:
    written: dict[str, Any] = {slot: getattr(topic, slot) for slot in _slots_to_write([topic])}
    subtopics = [
        {"number": s.number, **({"type": s.type} if s.type else {}), "text": s.text, **_thawed(s.fields)}
        for s in topic.subtopics
    ]
    if subtopics:
        written["subtopics"] = subtopics
    return {**written, **_thawed(topic.fields)}


def _json_lines(topics: Topics, path: str) -> list[str]:
    try:
        return [json.dumps(_object_of(topic), ensure_ascii=False, allow_nan=False) for topic in topics.values()]
    except (TypeError, ValueError) as error:
        raise DataError(path, None, f"a field is not JSON: {error}") from None


def _write_json(topics: Topics, path: str) -> str:
    return "[\n" + ",\n".join(_json_lines(topics, path)) + "\n]\n"


def _write_jsonl(topics: Topics, path: str) -> str:
    return "".join(line + "\n" for line in _json_lines(topics, path))


_READERS: Mapping[str, Callable[[str, str], Found]] = {
    "sgml": _read_sgml, "xml": _read_xml, "tsv": _read_tsv, "json": _read_json, "jsonl": _read_jsonl,
}  # fmt: skip
_WRITERS: Mapping[str, Callable[[Topics, str], str]] = {
    "sgml": _write_sgml, "xml": _write_xml, "tsv": _write_tsv, "json": _write_json, "jsonl": _write_jsonl,
}  # fmt: skip
_ENDINGS = {
    ".sgml": "sgml", ".sgm": "sgml", ".trec": "sgml", ".xml": "xml", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}  # fmt: skip
