"""Topics as markup: TREC's SGML and XML, to and from plain records.

Both are read into elements and written from parts, so that what an element means is said once.
XML is read with every entity refused, for entities can read files and fill the memory, and to a limited depth.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.entities import html5
from typing import Any, NamedTuple
from xml.parsers import expat

from cranfield.collection.topic_record import (
    PART,
    TEXTS,
    Found,
    Record,
    fields_of,
    json_value,
    record_of,
    shortened,
)
from cranfield.errors import CranfieldWarning, DataError

# ---------------------------------------------------------------------------------------------------- elements to records

_NOT_DATA = re.compile(r"xmlns(:.*)?|xml:(lang|space|base)|xsi:.*|lang", re.I)
# TREC opens a text with the name of its part ("Description:"), the first TRECs those of more parts.
_LABELS = {
    "num": "Number", "title": "Topic", "desc": "Description", "narr": "Narrative", "dom": "Domain", "smry": "Summary",
    "con": r"Concept\(s\)", "fac": r"Factor\(s\)", "def": r"Definition\(s\)", "nat": "Nationality", "time": "Time",
}  # fmt: skip


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    line: int
    verbatim: bool = False  # the text is as it should be, its blanks and label included
    content: list[str | _Element] = field(default_factory=list)

    @property
    def children(self) -> list[_Element]:
        return [part for part in self.content if isinstance(part, _Element)]

    @property
    def lang(self) -> str:
        return self.attributes.get("xml:lang") or self.attributes.get("lang") or ""

    @property
    def data(self) -> dict[str, str]:
        """The attributes that say something of the topic."""
        return {name: value for name, value in self.attributes.items() if not _NOT_DATA.fullmatch(name)}

    def own_text(self) -> str:
        return self._laid_out("".join(part for part in self.content if isinstance(part, str)))

    def text(self) -> str:
        """The text of this element and those in it."""
        return self._laid_out("".join(self._texts()))

    def _texts(self) -> Iterator[str]:
        for part in self.content:
            yield from [part] if isinstance(part, str) else part._texts()

    def _laid_out(self, text: str) -> str:
        return text if self.verbatim else _one_spaced(text)


def _one_spaced(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text).strip(" ")


def _without_label(tag: str, text: str) -> str:
    label = _LABELS.get(tag.lower())
    return re.sub(f"^{label} ?: ?", "", text, flags=re.I) if label else text


def _record(topic: _Element, inherited_lang: str, path: str) -> Record:
    lang = topic.lang or inherited_lang or next((child.lang for child in topic.children if child.lang), "")
    columns: list[tuple[str, Any]] = [*topic.data.items(), *([("lang", lang)] if lang else [])]
    if own_text := topic.own_text().strip():
        columns.append(("text", own_text))
    fields: list[tuple[str, Any]] = []
    subtopics: list[Record] = []
    for child in topic.children:
        kind = child.name.lower()
        if kind == "subtopic":
            subtopics.append(_subtopic(child, path))
        elif kind == "subtopics" and all(inner.name.lower() == "subtopic" for inner in child.children):
            subtopics += [_subtopic(inner, path) for inner in child.children]
        elif kind == "field" and "name" in child.attributes:
            as_json = child.attributes.get("as") == "json"
            value = json_value(child.text(), path, child.line) if as_json else child.text()
            fields.append((child.attributes["name"], value))
        else:
            columns += _columns(child, lang)
    if subtopics:
        fields.append(("subtopics", subtopics))
    return record_of(columns, path, topic.line, fields)


def _columns(element: _Element, topic_lang: str) -> Iterator[tuple[str, str]]:
    """An element as columns: its text, `name/@attribute` for attributes, `name/inner` where it only holds others."""
    part = PART.get(element.name.lower())
    foreign = element.lang not in ("", topic_lang)
    name = f"{part or element.name}@{element.lang}" if foreign else element.name
    for attribute, value in element.data.items():
        yield f"{name}/@{attribute}", value
    if element.children and not part and not element.own_text().strip():
        for child in element.children:
            for inner, value in _columns(child, topic_lang):
                yield f"{name}/{inner}", value
    else:
        text = element.text()
        yield name, text if part != "id" or element.verbatim else _without_label(element.name, text)


def _subtopic(element: _Element, path: str) -> Record:
    said: Record = dict(element.data)
    fields = json_value(said.pop("fields", "{}"), path, element.line)
    if not isinstance(fields, dict):
        raise DataError(path, element.line, f"subtopic fields == {fields!r}, must be a JSON object")
    if "id" in said and "number" not in said:
        said["number"] = said.pop("id")
    return {**said, "text": element.text(), **fields}


# ---------------------------------------------------------------------------------------------------- records to parts

_OWN_TAG = re.compile(r"(?!xml)[A-Za-z][A-Za-z0-9_.-]*", re.I)
_CLEF_TAG = re.compile(r"([A-Za-z]{2})-(title|desc|narr)", re.I)  # <DE-title>, as CLEF wrote its first topics
_RESERVED = {*PART, "subtopic", "subtopics", "field", "top"}


class _Part(NamedTuple):
    """What is written as one element."""

    tag: str
    attributes: dict[str, str]
    text: str


def _parts(record: Record, tags: Mapping[str, str], lang_attribute: str) -> Iterator[_Part]:
    for name, tag in tags.items():
        if name in record:
            yield _Part(tag, {}, record[name])
    for subtopic in record.get("subtopics", ()):
        fields = dict(subtopic)
        text = fields.pop("text")
        attributes = {name: fields.pop(name) for name in ("number", "type") if name in fields}
        if fields:
            attributes["fields"] = _json(fields)
        yield _Part("subtopic", attributes, text)
    for name, value in fields_of(record).items():
        repeated = isinstance(value, list) and len(value) > 1 and all(isinstance(each, str) for each in value)
        base, _, lang = name.partition("@")
        for each in value if repeated else [value]:
            if not isinstance(each, str):
                yield _Part("field", {"name": name, "as": "json"}, _json(each))
            elif base in TEXTS and "lang" in record and lang not in ("", record["lang"]):
                yield _Part(tags[base], {lang_attribute: lang}, each)
            # A field's name can be its tag, unless a reader would take that for something else.
            elif _OWN_TAG.fullmatch(name) and not _CLEF_TAG.fullmatch(name) and name.lower() not in _RESERVED:
                yield _Part(name, {}, each)
            else:
                yield _Part("field", {"name": name}, each)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


# ---------------------------------------------------------------------------------------------------- TREC SGML

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)(?P<attributes>(?:\s[^<>]*)?)>")
_ATTRIBUTE = re.compile(r"(?<![\w.:-])([A-Za-z][\w.:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_ASIDE = re.compile(r"<!--.*?(?:-->|\Z)|<\?[^<>]*>|<!DOCTYPE[^<>]*>", re.S | re.I)
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|[A-Za-z][A-Za-z0-9]*);")
_MUST_REFER = re.compile(r"&(?=#|\w+;)|<(?=[A-Za-z/!?])|[\x00-\x1f\x7f\ud800-\udfff]|^ | $|(?<= ) ")
_MUST_REFER_QUOTED = re.compile(_MUST_REFER.pattern + r'|[<>"]')
_SGML_TAGS = {"id": "num", "title": "title", "description": "desc", "narrative": "narr"}
_SGML_OPENINGS = {"num": " Number: ", "desc": " Description:\n", "narr": " Narrative:\n"}


def is_sgml(text: str) -> bool:
    """Is text that begins with a tag TREC's markup, which need not close its tags, rather than XML?"""
    first, lowered = _TAG.search(text), text.lower()
    if first is None or lowered.lstrip().startswith("<?xml"):
        return False
    return first["name"].lower() == "top" or ("<num>" in lowered and "</num>" not in lowered)


def read_sgml(text: str, path: str) -> Found:
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
            # In this order, so that a character written as a reference is neither layout nor label.
            part.content = [_dereferenced(_without_label(part.name, _one_spaced(between)))]
        elif between.strip():
            line += between[: len(between) - len(between.lstrip())].count("\n")
            inside = "its elements" if top else "<top>"
            raise DataError(path, line, f"text outside {inside}: {shortened(between)}, expected a tag")
        line += between.count("\n")
        if tag is None or tag["name"].lower() == "top":
            if top is not None:
                yield top.line, _record(top, "", path)
            top = _sgml_element(tag, line) if tag and not tag["close"] else None
            part = None
        elif top is not None:
            part = None if tag["close"] else _sgml_element(tag, line)
            if part is not None:
                top.content.append(part)
        if tag:
            position = tag.end()
            line += tag[0].count("\n")


def _sgml_element(tag: re.Match[str], line: int) -> _Element:
    name = tag["name"]
    attributes = {name: _dereferenced(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(tag["attributes"])}
    if clef := _CLEF_TAG.fullmatch(name):
        name, attributes = clef[2].lower(), {"lang": clef[1].lower(), **attributes}
    return _Element(name, attributes, line, verbatim=True)


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
        attributes = _sgml_attributes({"lang": record["lang"]} if "lang" in record else {})
        tops.append(f"<top{attributes}>\n{''.join(map(_sgml_part, _parts(record, _SGML_TAGS, 'lang')))}</top>\n")
    return "\n".join(tops)


def _sgml_part(part: _Part) -> str:
    text = _referring(_MUST_REFER, part.text)
    opening = " " if part.attributes else _SGML_OPENINGS.get(part.tag, " ")
    if opening == " " and _without_label(part.tag, text) != text:
        text = text.replace(":", "&#58;", 1)
    return f"<{part.tag}{_sgml_attributes(part.attributes)}>{opening}{text}\n"


def _sgml_attributes(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{_referring(_MUST_REFER_QUOTED, value)}"' for name, value in attributes.items())


def _referring(characters: re.Pattern[str], text: str) -> str:
    return characters.sub(lambda found: f"&#{ord(found[0])};", text)


# ---------------------------------------------------------------------------------------------------- XML

_DEEPEST = 100
_XML_TAGS = {"id": "identifier", "title": "title", "description": "description", "narrative": "narrative"}
_XML_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_XML_QUOTED = _XML_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def read_xml(text: str, path: str) -> Found:
    root = _parsed_xml(text, path)
    passed: list[_Element] = []
    topics = list(_topic_elements(root, passed))
    if topics and passed:
        names = ", ".join(sorted({f"<{element.name}>" for element in passed}))
        message = f"{path}: {len(passed)} elements outside the topics were passed over: {names}"
        warnings.warn(message, CranfieldWarning, stacklevel=3)
    for element in topics or root.children:
        yield element.line, _record(element, root.lang, path)


def _topic_elements(element: _Element, passed: list[_Element]) -> Iterator[_Element]:
    if element.name.lower() in ("topic", "top"):
        yield element
    elif element.children:
        for child in element.children:
            yield from _topic_elements(child, passed)
    else:
        passed.append(element)


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
        what = f"entity {name!r}: entities are refused, write the text itself"
        raise DataError(path, parser.CurrentLineNumber, what)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: opened.pop()
    parser.CharacterDataHandler = lambda data: opened[-1].content.append(data)
    parser.EntityDeclHandler = entity
    parser.SkippedEntityHandler = entity
    try:
        parser.Parse(text, True)  # given text, not bytes, expat passes over the encoding it declares
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        raise DataError(path, error.lineno, f"malformed XML: {what} at column {error.offset + 1}") from None
    return document.children[0]


def write_xml(records: list[Record], path: str) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<topics>"]
    for record in records:
        attributes = _xml_attributes({"xml:lang": record["lang"]} if "lang" in record else {})
        parts = [f"    {_xml_part(part)}" for part in _parts(record, _XML_TAGS, "xml:lang")]
        if bad := _NOT_XML.search("".join([attributes, *parts])):
            raise DataError(path, None, f"topic {record['id']} holds {bad[0]!r}, which XML cannot carry; write jsonl")
        lines += [f"  <topic{attributes}>", *parts, "  </topic>"]
    return "\n".join([*lines, "</topics>", ""])


def _xml_part(part: _Part) -> str:
    space = {} if part.text == _one_spaced(part.text) else {"xml:space": "preserve"}
    attributes = _xml_attributes(part.attributes | space)
    return f"<{part.tag}{attributes}>{part.text.translate(_XML_TEXT)}</{part.tag}>"


def _xml_attributes(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{value.translate(_XML_QUOTED)}"' for name, value in attributes.items())
