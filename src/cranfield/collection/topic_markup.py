"""Topics as markup: TREC's SGML and XML, to and from plain records.

Both are read into elements and written from parts, so that the meaning of an element is defined once.
XML is read to a limited depth and with all entities refused, since entities can read files and fill the memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html.entities import html5
from typing import Any, TypeAlias
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from cranfield.collection.topic_tables import PART, TEXTS, Found, Record, fields_of, record_of, shortened
from cranfield.errors import CranfieldWarning, DataError, warn_caller
from cranfield.text import counted

# ---------------------------------------------------------------------------------------------------- elements in

_NOT_DATA = re.compile(r"xmlns(:.*)?|xml:(lang|space|base)|xsi:.*|lang", re.I)
# TREC opens a text with the name of its part ("Description:"); the first TRECs had more parts.
_LABELS = {
    "num": "Number", "title": "Topic", "desc": "Description", "narr": "Narrative", "dom": "Domain", "smry": "Summary",
    "con": r"Concept\(s\)", "fac": r"Factor\(s\)", "def": r"Definition\(s\)", "nat": "Nationality", "time": "Time",
}  # fmt: skip


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    line: int
    verbatim: bool = False  # keep blanks and the label in the text
    content: list[str | _Element] = field(default_factory=list)

    @property
    def children(self) -> list[_Element]:
        return [part for part in self.content if isinstance(part, _Element)]

    @property
    def lang(self) -> str:
        return self.attributes.get("xml:lang") or self.attributes.get("lang") or ""

    @property
    def data(self) -> dict[str, str]:
        """The attributes that describe the topic."""
        return {name: value for name, value in self.attributes.items() if not _NOT_DATA.fullmatch(name)}

    def text(self, deep: bool = True) -> str:
        """The text of this element and, if `deep`, of those in it."""
        text = self._raw(deep)
        return text if self.verbatim else _one_spaced(text)

    def _raw(self, deep: bool) -> str:
        return "".join(part if isinstance(part, str) else part._raw(deep) if deep else "" for part in self.content)


def _one_spaced(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text).strip(" ")


def _without_label(tag: str, text: str) -> str:
    label = _LABELS.get(tag.lower())
    return re.sub(f"^{label} ?: ?", "", text, flags=re.I) if label else text


def _record(topic: _Element, inherited_lang: str, path: str) -> Record:
    lang = topic.lang or inherited_lang or next((child.lang for child in topic.children if child.lang), "")
    columns: list[tuple[str, Any]] = [*topic.data.items(), *([("lang", lang)] if lang else [])]
    if own_text := topic.text(deep=False).strip():
        columns.append(("text", own_text))
    fields: list[tuple[str, Any]] = []
    subtopics: list[Record] = []
    for child in topic.children:
        kind = child.name.lower()
        if kind in ("subtopic", "subtopics"):
            listed = child.children if kind == "subtopics" else [child]
            subtopics += [_subtopic(element, path) for element in listed]
        elif kind == "field" and "name" in child.attributes:
            as_json = child.attributes.get("as") == "json"
            value = _json_in(child, child.text(), path) if as_json else child.text()
            fields.append((child.attributes["name"], value))
        else:
            columns += _columns(child, lang)
    if subtopics:
        fields.append(("subtopics", subtopics))
    return record_of(columns, path, topic.line, fields)


def _columns(element: _Element, topic_lang: str) -> Iterator[tuple[str, str]]:
    """An element as columns: its text, `name/@attribute` for attributes, `name/inner` if it only contains others."""
    part = PART.get(element.name.lower())
    foreign = element.lang not in ("", topic_lang)
    name = f"{part or element.name}@{element.lang}" if foreign else element.name
    for attribute, value in element.data.items():
        yield f"{name}/@{attribute}", value
    if element.children and not part and not element.text(deep=False).strip():
        for child in element.children:
            for inner, value in _columns(child, topic_lang):
                yield f"{name}/{inner}", value
    else:
        text = element.text()
        yield name, text if part != "id" or element.verbatim else _without_label(element.name, text)


def _subtopic(element: _Element, path: str) -> Record:
    record: Record = dict(element.data)
    fields = _json_in(element, record.pop("fields", "{}"), path)
    if not isinstance(fields, dict):
        raise DataError(path, element.line, f"subtopic fields == {fields!r}, must be a JSON object")
    if "id" in record and "number" not in record:
        record["number"] = record.pop("id")
    return {**record, "text": element.text(), **fields}


def _json_in(element: _Element, text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(path, element.line, f"malformed JSON: {error}") from None


# ---------------------------------------------------------------------------------------------------- parts out

_OWN_TAG = re.compile(r"(?!xml)[A-Za-z][A-Za-z0-9_.-]*", re.I)
_CLEF_TAG = re.compile(r"([A-Za-z]{2})-(title|desc|narr)", re.I)  # <DE-title>, as CLEF wrote its first topics
_RESERVED = {*PART, "subtopic", "subtopics", "field", "top"}
_Part: TypeAlias = tuple[str, dict[str, str], str]  # tag, attributes, text


def _parts(record: Record, tags: Mapping[str, str], lang_attribute: str) -> Iterator[_Part]:
    """The parts of a topic that become one element each."""
    for name, tag in tags.items():
        if name in record:
            yield tag, {}, record[name]
    for subtopic in record.get("subtopics", ()):
        attributes = {name: subtopic[name] for name in ("number", "type") if name in subtopic}
        fields = {name: value for name, value in subtopic.items() if name not in ("number", "type", "text")}
        yield "subtopic", attributes | ({"fields": json.dumps(fields)} if fields else {}), subtopic["text"]
    for name, value in fields_of(record).items():
        repeated = isinstance(value, list) and len(value) > 1 and all(isinstance(item, str) for item in value)
        base, _, lang = name.partition("@")
        for item in value if repeated else [value]:
            if not isinstance(item, str):
                yield "field", {"name": name, "as": "json"}, json.dumps(item)
            elif base in TEXTS and "lang" in record and lang not in ("", record["lang"]):
                yield tags[base], {lang_attribute: lang}, item
            # The name of a field can be its tag, unless that tag has another meaning.
            elif _OWN_TAG.fullmatch(name) and not _CLEF_TAG.fullmatch(name) and name.lower() not in _RESERVED:
                yield name, {}, item
            else:
                yield "field", {"name": name}, item


def _attributes(attributes: Mapping[str, str | None], quoted: Callable[[str], str]) -> str:
    return "".join(f" {name}={quoted(value)}" for name, value in attributes.items() if value is not None)


# ---------------------------------------------------------------------------------------------------- TREC SGML

_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)((?:\s[^<>]*)?)>")  # slash, name, attributes
_ATTRIBUTE = re.compile(r"(?<![\w.:-])([A-Za-z][\w.:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_ASIDE = re.compile(r"<!--.*?(?:-->|\Z)|<\?[^<>]*>|<!DOCTYPE[^<>]*>", re.S | re.I)
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|[A-Za-z][A-Za-z0-9]*);")
_MUST_REFER = re.compile(r"&(?=#|\w+;)|<(?=[A-Za-z/!?])|[\x00-\x1f\x7f\ud800-\udfff]|^ | $|(?<= ) ")
_MUST_REFER_QUOTED = re.compile(_MUST_REFER.pattern + r'|[<>"]')
_SGML_TAGS = {"id": "num", "title": "title", "description": "desc", "narrative": "narr"}
_SGML_OPENINGS = {"num": " Number: ", "desc": " Description:\n", "narr": " Narrative:\n"}


def is_sgml(text: str) -> bool:
    """Whether text that begins with a tag is TREC's markup, which need not close its tags, and not XML."""
    first, lowered = _TAG.search(text), text.lower()
    if first is None or lowered.lstrip().startswith("<?xml"):
        return False
    return first[2].lower() == "top" or ("<num>" in lowered and "</num>" not in lowered)


def read_sgml(text: str, path: str) -> Found:
    def aside(match: re.Match[str]) -> str:
        if match[0].startswith("<!--") and not match[0].endswith("-->"):
            raise DataError(path, text.count("\n", 0, match.start()) + 1, "the comment has no end, expected -->")
        return "\n" * match[0].count("\n")

    before, *tags = _TAG.split(_ASIDE.sub(aside, text))
    top: _Element | None = None
    line = 1
    quads = zip(tags[0::4], tags[1::4], tags[2::4], tags[3::4], strict=True)  # slash, name, attributes, text after
    for close, name, attributes, after in [("/", "", "", before), *quads, ("/", "top", "", "")]:
        if is_top := name.lower() == "top":
            if top is not None:
                yield top.line, _record(top, "", path)
            top = None if close else _sgml_element(name, attributes, line)
        if top is not None and not is_top and not close:
            top.content.append(_sgml_element(name, attributes, line, after))
        elif after.strip():
            line += (attributes + after[: len(after) - len(after.lstrip())]).count("\n")
            inside = "its elements" if top else "<top>"
            raise DataError(path, line, f"text outside {inside}: {shortened(after)}, expected a tag")
        line += (attributes + after).count("\n")


def _sgml_element(name: str, attributes: str, line: int, text: str = "") -> _Element:
    values = {name: _dereferenced(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(attributes)}
    # In this order, so that a character that is written as a reference does not count as layout or as a label.
    text = _dereferenced(_without_label(name, _one_spaced(text)))
    if clef := _CLEF_TAG.fullmatch(name):
        name, values = clef[2].lower(), {"lang": clef[1].lower(), **values}
    return _Element(name, values, line, verbatim=True, content=[text])


def _dereferenced(text: str) -> str:
    def character(reference: re.Match[str]) -> str:
        decimal, hexadecimal = reference.groups()
        if decimal is None and hexadecimal is None:
            return html5.get(reference[0][1:], reference[0])
        code = int(decimal) if decimal else int(hexadecimal, 16)
        return chr(code) if code < 0x110000 else reference[0]

    return _REFERENCE.sub(character, text)


def write_sgml(records: list[Record], path: str) -> str:
    tops = []
    for record in records:
        lang = _attributes({"lang": record.get("lang")}, _sgml_quoted)
        parts = [_sgml_part(*part) for part in _parts(record, _SGML_TAGS, "lang")]
        tops.append(f"<top{lang}>\n{''.join(parts)}</top>\n")
    return "\n".join(tops)


def _sgml_part(tag: str, attributes: dict[str, str], text: str) -> str:
    text = _referring(_MUST_REFER, text)
    opening = " " if attributes else _SGML_OPENINGS.get(tag, " ")
    if opening == " " and _without_label(tag, text) != text:
        text = text.replace(":", "&#58;", 1)
    return f"<{tag}{_attributes(attributes, _sgml_quoted)}>{opening}{text}\n"


def _sgml_quoted(text: str) -> str:
    return f'"{_referring(_MUST_REFER_QUOTED, text)}"'


def _referring(characters: re.Pattern[str], text: str) -> str:
    return characters.sub(lambda match: f"&#{ord(match[0])};", text)


# ---------------------------------------------------------------------------------------------------- XML

_DEEPEST = 100
_XML_TAGS = {"id": "identifier", "title": "title", "description": "description", "narrative": "narrative"}
_CARRIAGE_RETURN = {"\r": "&#13;"}  # a parser would read it as the end of a line
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def read_xml(text: str, path: str) -> Found:
    root = _parsed_xml(text, path)
    others: list[_Element] = []
    topics = list(_topic_elements(root, others))
    if topics and others:
        names = ", ".join(sorted({f"<{element.name}>" for element in others}))
        ignored = counted(len(others), "element outside the topics was", "elements outside the topics were")
        warn_caller(f"{path}: {ignored} ignored: {names}", CranfieldWarning)
    for element in topics or root.children:
        yield element.line, _record(element, root.lang, path)


def _topic_elements(element: _Element, others: list[_Element]) -> Iterator[_Element]:
    if element.name.lower() in ("topic", "top"):
        yield element
    elif element.children:
        for child in element.children:
            yield from _topic_elements(child, others)
    else:
        others.append(element)


def _parsed_xml(text: str, path: str) -> _Element:
    """The outermost element of a document."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    document = _Element("", {}, 0)
    opened = [document]

    def start(name: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if len(opened) > _DEEPEST:
            raise DataError(path, line, f"elements more than {_DEEPEST} deep, expected topics")
        element = _Element(name.rpartition(":")[2], attributes, line, attributes.get("xml:space") == "preserve")
        opened[-1].content.append(element)
        opened.append(element)

    def entity(name: str, *_: object) -> None:
        message = f"entity {name!r}: entities are not allowed, write the text itself"
        raise DataError(path, parser.CurrentLineNumber, message)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: opened.pop()
    parser.CharacterDataHandler = lambda data: opened[-1].content.append(data)
    parser.EntityDeclHandler = parser.SkippedEntityHandler = entity
    try:
        parser.Parse(text, True)  # expat ignores the declared encoding, since this is text
    except expat.ExpatError as error:
        problem = expat.errors.messages[error.code]
        raise DataError(path, error.lineno, f"malformed XML: {problem} at column {error.offset + 1}") from None
    return document.children[0]


def write_xml(records: list[Record], path: str) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<topics>"]
    for record in records:
        lang = _attributes({"xml:lang": record.get("lang")}, quoteattr)
        parts = [_xml_part(*part) for part in _parts(record, _XML_TAGS, "xml:lang")]
        if bad := _NOT_XML.search("".join([lang, *parts])):
            raise DataError(path, None, f"topic {record['id']} contains {bad[0]!r}, which XML cannot hold; write jsonl")
        lines += [f"  <topic{lang}>", *parts, "  </topic>"]
    return "\n".join([*lines, "</topics>", ""])


def _xml_part(tag: str, attributes: dict[str, str], text: str) -> str:
    if text != _one_spaced(text):
        attributes = {**attributes, "xml:space": "preserve"}
    return f"    <{tag}{_attributes(attributes, quoteattr)}>{escape(text, _CARRIAGE_RETURN)}</{tag}>"
