"""Topics: a hand-written example of every format, round trips by hypothesis, and all errors."""

from __future__ import annotations

import contextlib
import copy
import gzip
import os
import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cranfield.collection.topics import FORMATS, Subtopic, Topic, Topics
from cranfield.errors import CranfieldWarning, DataError, UsageError

SAMPLE = Path(__file__).resolve().parents[2] / "src" / "cranfield" / "samples" / "topics.xml"

# Laid out as TREC lays topics out since TREC-4: no closing tags, a label before each text.
TREC = b"""
<top>

<num> Number: 901
<title> Wing flutter & pylons

<desc> Description:
At what speed does flutter begin
when an engine hangs from the wing?

<narr> Narrative:
Tails alone are not wanted.

</top>

<top>
<num> Number: 902
<title> drag < lift?
<desc> Description:
Caf&eacute; talk.
</top>
"""

# The parts and labels of the first TRECs, with a part inside a part.
TIPSTER = b"""<top>
<head> Tipster Topic Description
<num> Number: 051
<dom> Domain: Aeronautics
<title> Topic: Subsidies
<desc> Description:
Who pays?
<con> Concept(s):
1. subsidy
2. loan
<fac> Factor(s):
<nat> Nationality: any
</fac>
</top>
"""

CLEF = """<?xml version="1.0" encoding="UTF-8"?>
<topic>
  <identifrier>41</identifrier>

  <title lang="en">Pesticides in Baby Food</title>
  <title lang="fr">Des pesticides dans la nourriture pour bébés</title>
  <title lang="ja">ベビーフード中の病虫害防除剤</title>

  <description lang="en">Find reports on pesticides in baby food.</description>
  <description lang="fr">
    Rechercher des documents sur les pesticides
    dans la nourriture pour bébés.
  </description>
  <narrative lang="en">Relevant documents give information.</narrative>
</topic>
"""

WEB = b"""<?xml version="1.0" encoding="UTF-8"?>
<webtrack2009>
<topic number="1" type="faceted">
  <query>flutter</query>
  <description>
    What is flutter?
  </description>
  <subtopic number="1" type="inf">Flutter of wings.</subtopic>
  <subtopic number="2" type="nav">
    The flutter society's page.
  </subtopic>
</topic>
<topic number="2" type="ambiguous">
  <query>drag</query>
</topic>
</webtrack2009>
"""


def read_one(data: bytes, **options: Any) -> Topic:
    (topic,) = Topics.read(data, **options).values()
    return topic


def fault(data: bytes, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        Topics.read(data, **options)
    return caught.value


# ------------------------------------------------------------------------------------------ records


def test_topic_is_frozen_all_the_way_down() -> None:
    topic = Topic("1", fields={"tags": ["a", {"b": [1]}]})
    with pytest.raises(AttributeError):
        topic.title = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        topic.fields["tags"] = ()  # type: ignore[index]
    assert topic.fields["tags"][1]["b"] == (1,)
    with pytest.raises(TypeError):
        topic.fields["tags"][1]["b"] = ()


def test_topics_are_an_immutable_mapping_in_the_order_given() -> None:
    topics = Topics([Topic("2", "b"), Topic("1", "a")])
    assert list(topics) == ["2", "1"]
    assert topics == Topics([Topic("1", "a"), Topic("2", "b")])
    assert hash(topics) == hash(Topics([Topic("1", "a"), Topic("2", "b")]))
    with pytest.raises(TypeError):
        topics["1"] = Topic("1")  # type: ignore[index]
    assert [repr(Topics()), repr(Topics([Topic("7")])), repr(topics)] == [
        "Topics(0 topics)",
        "Topics(1 topic, 7)",
        "Topics(2 topics, 2 to 1)",
    ]


def test_topics_are_equal_after_pickle_and_deepcopy() -> None:
    topics = Topics([Topic("1", "a", fields={"x": {"y": [1, 2]}}, subtopics=(Subtopic("1", "s", fields={"p": 0.5}),))])
    assert pickle.loads(pickle.dumps(topics)) == topics
    assert copy.deepcopy(topics) == topics


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": ""}, "topic id == '', must be text without blanks"),
        ({"id": "a b"}, "topic id == 'a b', must be text without blanks"),
        ({"id": 7}, "topic: id == 7, must be text"),
        ({"id": "1", "title": None}, "topic 1: title == None, must be text"),
        ({"id": "1", "fields": {"title": "x"}}, "topic 1: a field is named 'title', must be text and none of id"),
        ({"id": "1", "subtopics": (Subtopic("1"), Subtopic("1"))}, "topic 1: subtopic 1 appears twice"),
    ],
)
def test_bad_topics_are_refused_by_name_and_value(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match="^" + message.replace("(", r"\(")):
        Topic(**arguments)


def test_duplicate_ids_are_refused() -> None:
    with pytest.raises(UsageError, match="topic 1 appears twice"):
        Topics([Topic("1"), Topic("1")])


def test_only_keeps_the_parts_named() -> None:
    topic = Topic("1", "a", "b", "c", {"x": "1", "y": "2"}, (Subtopic("1"),), "en")
    assert Topics([topic]).only("title", "y")["1"] == Topic("1", "a", fields={"y": "2"})
    assert Topics([topic]).only("subtopics", "lang")["1"] == Topic("1", subtopics=(Subtopic("1"),), lang="en")


# ------------------------------------------------------------------------------------------ SGML


def test_trec_sgml_without_closing_tags() -> None:
    topics = Topics.read(TREC)
    assert list(topics) == ["901", "902"]
    assert topics["901"] == Topic(
        "901",
        "Wing flutter & pylons",
        "At what speed does flutter begin when an engine hangs from the wing?",
        "Tails alone are not wanted.",
    )
    assert topics["902"] == Topic("902", "drag < lift?", "Café talk.")


def test_trec_sgml_with_closing_tags_on_one_line() -> None:
    data = b"<TOP><NUM>901</NUM><TITLE>flutter</TITLE><DESC>When?</DESC><NARR>Wings.</NARR></TOP>"
    assert read_one(data) == Topic("901", "flutter", "When?", "Wings.")


def test_trec_sgml_wrapped_in_an_outer_tag_and_comments() -> None:
    assert read_one(b"<!-- 2024\n<top> -->\n<topics>\n" + TREC.split(b"\n\n<top>\n<num> Number: 902")[0]).id == "901"


def test_tipster_parts_are_kept_as_fields() -> None:
    topic = read_one(TIPSTER)
    assert (topic.id, topic.title, topic.description) == ("051", "Subsidies", "Who pays?")
    assert topic.fields == {
        "head": "Tipster Topic Description",
        "dom": "Aeronautics",
        "con": "1. subsidy 2. loan",
        "nat": "any",
    }


def test_clef_sgml_tags_carry_the_language() -> None:
    data = b"""<top><num> C041 </num><EN-title> Food </EN-title><FR-title> Nourriture </FR-title>
        <EN-desc> Find. </EN-desc></top>"""
    topic = read_one(data)
    assert topic == Topic("C041", "Food", "Find.", lang="en", fields={"title@fr": "Nourriture"})


def test_sgml_text_outside_elements_is_an_error_with_its_line() -> None:
    assert str(fault(b"<top>\n<num> 1\n</top>\n\nstray words\n")) == (
        "<bytes>:5: text outside <top>: 'stray words', expected a tag"
    )
    assert str(fault(b"<top>\n<num>1</num>\n\nstray\n</top>")) == (
        "<bytes>:4: text outside its elements: 'stray', expected a tag"
    )


def test_sgml_comment_that_does_not_end() -> None:
    assert str(fault(b"<top>\n<num> 1\n<!-- " * 3)) == "<bytes>:3: the comment has no end, expected -->"


def test_sgml_references_that_mean_nothing_are_text() -> None:
    assert read_one(b"<top><num>1<title>AT&T; &notin; &notit; &#9999999; &").title == "AT&T; ∉ &notit; &#9999999; &"


def test_sgml_topic_without_number() -> None:
    error = fault(b"<top>\n<num> Number: 1\n</top>\n<top>\n<title> x\n</top>\n")
    assert (error.line, error.what[:22]) == (4, "topic without a number")


def test_sgml_duplicate_number_names_both_lines() -> None:
    data = b"<top>\n<num> Number: 1\n</top>\n\n<top>\n<num> Number: 1\n</top>\n"
    assert str(fault(data)) == "<bytes>:5: topic 1 appears twice, first on line 1"


# ------------------------------------------------------------------------------------------ XML


def test_clef_topic_of_the_survey() -> None:
    """The layout of Ferro's survey, Fig. 4, with its spelling of the identifier."""
    topic = read_one(CLEF.encode())
    assert (topic.id, topic.title, topic.lang) == ("41", "Pesticides in Baby Food", "en")
    assert topic.description == "Find reports on pesticides in baby food."
    assert topic.fields == {
        "title@fr": "Des pesticides dans la nourriture pour bébés",
        "title@ja": "ベビーフード中の病虫害防除剤",
        "description@fr": "Rechercher des documents sur les pesticides dans la nourriture pour bébés.",
    }


def test_a_topic_in_another_language() -> None:
    topics = Topics.read(CLEF.encode())
    assert topics["41"].languages == ("en", "fr", "ja")
    french = topics.in_language("fr")["41"]
    assert french.title == "Des pesticides dans la nourriture pour bébés"
    assert french.narrative == ""  # not given in French
    assert french.in_language("en") == topics["41"]
    with pytest.raises(UsageError, match="topic 41: lang == 'sw', the topic has en, fr, ja"):
        topics.in_language("sw")
    with pytest.raises(UsageError, match="topic 1: lang == 'en', the topic has no language"):
        Topic("1").in_language("en")


def test_xml_lang_of_the_file_or_topic_holds_for_its_texts() -> None:
    of_file = read_one(b'<topics xml:lang="de"><topic><num>1</num><title>Flug</title></topic></topics>')
    assert of_file == Topic("1", "Flug", lang="de")
    of_topic = read_one(b'<topics><topic id="1" xml:lang="de"><title xml:lang="en">Flight</title></topic></topics>')
    assert of_topic == Topic("1", lang="de", fields={"title@en": "Flight"})


def test_web_track_keeps_subtopics_with_number_type_and_text() -> None:
    topics = Topics.read(WEB)
    assert topics["1"] == Topic(
        "1",
        "flutter",
        "What is flutter?",
        fields={"type": "faceted"},
        subtopics=(Subtopic("1", "Flutter of wings.", "inf"), Subtopic("2", "The flutter society's page.", "nav")),
    )
    assert topics["2"] == Topic("2", "drag", fields={"type": "ambiguous"})


def test_xml_unknown_elements_attributes_and_nesting_are_kept() -> None:
    topic = read_one(
        b"""<queries><query qid="7"><content src="log">wing <b>flutter</b> speed</content>
        <keyword>a</keyword><keyword>b</keyword>
        <person><name>Ada</name><age unit="year">36</age></person>
        <subtopics><subtopic id="x" weight="0.3">s</subtopic><subtopic>t</subtopic></subtopics>
        </query></queries>"""
    )
    assert topic == Topic(
        "7",
        "wing flutter speed",
        fields={
            "content/@src": "log",
            "keyword": ("a", "b"),
            "person/name": "Ada",
            "person/age": "36",
            "person/age/@unit": "year",
        },
        subtopics=(Subtopic("x", "s", fields={"weight": "0.3"}), Subtopic("2", "t")),
    )


def test_xml_text_of_the_topic_element_is_its_query() -> None:
    assert read_one(b'<topics><topic number="1"> wing flutter </topic></topics>') == Topic("1", "wing flutter")


def test_the_label_of_an_xml_number_is_not_part_of_the_id() -> None:
    assert read_one(b"<topics><topic><num>Number: 301</num><title>x</title></topic></topics>").id == "301"


def test_a_warning_counts_xml_elements_outside_topics() -> None:
    data = b"<topics><about>2024</about><set><topic number='1'/><note>x</note></set></topics>"
    with pytest.warns(CranfieldWarning, match="2 elements outside the topics were ignored: <about>, <note>"):
        assert list(Topics.read(data)) == ["1"]


def test_xml_namespace_prefixes_are_not_names() -> None:
    data = b'<t:topics xmlns:t="urn:t"><t:topic number="1"><t:title>x</t:title></t:topic></t:topics>'
    assert read_one(data) == Topic("1", "x")


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"<topics>\n<topic number='1'>\n<title>x</topic></topics>", 3, "malformed XML: mismatched tag"),
        (b"<?xml version='1.0'?>\n<topics>\n<topic number='1'>", 3, "malformed XML: no element found"),
        (b"<topics>\n<topic><title>x</title></topic></topics>", 2, "topic without a number"),
        (b"<topics>\n<topic number='1'/>\n<topic number='1'/></topics>", 3, "topic 1 appears twice, first on line 2"),
        (
            b"<topics><topic number='1'><title>x</title><title>y</title></topic></topics>",
            1,
            "title appears twice in one topic",
        ),
        (b"<topics>\n<topic number='1 2'/></topics>", 2, "topic id == '1 2', must be text without blanks"),
        (b"<topics></topics>", None, "no topics found when read as xml"),
        (b"<a>" * 200 + b"</a>" * 200, 1, "elements more than 100 deep"),
        (b"<topics><topic number='1'><field name='x' as='json'>{</field></topic></topics>", 1, "malformed JSON"),
        (b"<topics><topic number='1'><subtopic fields='[1]'/></topic></topics>", 1, "subtopic fields"),
    ],
)
def test_xml_faults_name_the_line(data: bytes, line: int | None, what: str) -> None:
    error = fault(data)
    assert error.line == line
    assert error.what.startswith(what)


LAUGHS = b"".join(b'<!ENTITY l%d "%s">\n' % (i, b"&l%d;" % (i - 1) * 10) for i in range(1, 10))


@pytest.mark.parametrize(
    ("data", "line", "name"),
    [
        (
            b'<!DOCTYPE t [\n<!ENTITY l0 "ha">\n' + LAUGHS + b"]><topics><topic number='1'>&l9;</topic></topics>",
            2,
            "l0",
        ),
        (
            b'<!DOCTYPE t [<!ENTITY f SYSTEM "file:///etc/passwd">]><topics><topic number="1">&f;</topic></topics>',
            1,
            "f",
        ),
        (
            b'<!DOCTYPE t [<!ENTITY % p SYSTEM "http://localhost/x.dtd"> %p;]><topics><topic number="1"/></topics>',
            1,
            "p",
        ),
        (b'<!DOCTYPE t SYSTEM "t.dtd">\n<topics><topic number="1">&secret;</topic></topics>', 2, "secret"),
    ],
    ids=["expansion", "external file", "parameter", "undeclared"],
)
def test_entities_are_refused(data: bytes, line: int, name: str) -> None:
    error = fault(data, format="xml")
    assert str(error) == f"<bytes>:{line}: entity {name!r}: entities are not allowed, write the text itself"


def test_doctype_without_entities_is_harmless() -> None:
    topic = b'<topic number="1"><title>a &amp; b &#233;</title></topic>'
    data = b'<!DOCTYPE topics SYSTEM "topics.dtd">\n<topics>' + topic + b"</topics>"
    assert read_one(data) == Topic("1", "a & b é")


# ------------------------------------------------------------------------------------------ TSV


def test_tsv_without_header() -> None:
    assert Topics.read(b"1\twing flutter\r\n\r\n2\tdrag").queries() == {"1": "wing flutter", "2": "drag"}


def test_tsv_with_header_keeps_other_columns() -> None:
    topics = Topics.read(b"qid\tquery\tyear\n1\twing flutter\t1967\n2\tdrag\t\n")
    assert topics == Topics([Topic("1", "wing flutter", fields={"year": "1967"}), Topic("2", "drag")])


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"1\ta\n2\tb\tc\n", 2, "3 columns between tabs, expected 2: id title"),
        (b"id\ttitle\tyear\n1\ta\n", 2, "2 columns between tabs, expected 3: id title year"),
        (b"id\ttitle\ttitle\n1\ta\tb\n", 1, "column 'title' appears twice in the header"),
        (b"1\ta\n\n1\tb\n", 3, "topic 1 appears twice, first on line 1"),
        (b"1\ta\n\tb\n", 2, "topic without a number"),
        (b"id\ttitle\n", None, "no topics found"),
        (b"just words\n", 1, "neither markup, JSON nor tabs"),
    ],
)
def test_tsv_faults_name_the_line(data: bytes, line: int | None, what: str) -> None:
    error = fault(data)
    assert error.line == line
    assert error.what.startswith(what)


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        (Topic("1", "a\tb"), r"topic 1 has title == 'a\\tb', which TSV cannot hold; write jsonl, or only\(\)"),
        (
            Topic("1", "a", fields={"n": 3}),
            r"topic 1 has n == 3, which TSV cannot hold; write jsonl, or only\('title'\)",
        ),
        (Topic("1", subtopics=(Subtopic("1"),)), r"topic 1 has 1 subtopics, .* write jsonl, or only\('title'\)"),
    ],
)
def test_tsv_refuses_data_it_cannot_hold_and_writes_nothing(topic: Topic, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        Topics([topic]).write(tmp_path / "t.tsv")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ JSON


@pytest.mark.parametrize(
    "data",
    [
        b'[{"id": 1, "title": "wing"}, {"id": "2", "title": "drag"}]',
        b'{"1": "wing", "2": "drag"}',
        b'{"1": {"query": "wing"}, "2": {"id": "2", "query": "drag"}}',
        b'{"topics": [{"id": "1", "query": "wing"}, {"id": "2", "query": "drag"}]}',
        b'{"_id": "1", "text": "wing"}\n{"_id": "2", "text": "drag"}\n',
        b'\n{"qid": 1, "query": "wing"}\r\n\r\n{"qid": 2, "query": "drag"}',
    ],
    ids=["list", "queries by id", "objects by id", "wrapped list", "BEIR lines", "lines with blank ones"],
)
def test_json_layouts(data: bytes) -> None:
    assert Topics.read(data) == Topics.from_dict({"1": "wing", "2": "drag"})


def test_a_single_json_line() -> None:
    assert read_one(b'{"id": "1", "title": "wing"}') == Topic("1", "wing")


def test_json_keeps_types_and_unknown_fields() -> None:
    topic = read_one(b'[{"id": 1, "title": "t", "text": "u", "year": 1967, "tags": ["a", null], "meta": {"x": 1.5}}]')
    assert topic == Topic("1", "t", fields={"text": "u", "year": 1967, "tags": ("a", None), "meta": {"x": 1.5}})


def test_json_subtopics() -> None:
    topic = read_one(b'[{"id": 1, "subtopics": ["plain", {"number": 5, "type": "nav", "text": "t", "p": 0.5}]}]')
    assert topic.subtopics == (Subtopic("1", "plain"), Subtopic("5", "t", "nav", {"p": 0.5}))


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b'[{"id": "1"},\n{"id": "1"}]', 2, "topic 1 appears twice, first on line 1"),
        (b'{"1": "a",\n"1": "b"}', 1, "malformed JSON: '1' appears twice in one object"),
        (b'[{"id": "1"},\n{"id" "2"}]', 2, "malformed JSON: Expecting ':' delimiter"),
        (b'[{"id": "1"}\n{"id": "2"}]', 2, "malformed JSON: expected ',' or ']'"),
        (b'[{"id": "1"}] x', 1, "malformed JSON: text after the end of the list"),
        (b'[{"id": "1"}', 1, "malformed JSON: expected ',' or ']'"),
        (b'{"id": "1"}\n{"title": "b"}', 2, "topic without a number"),
        (b'{"id": "1"}\n["b"]', 2, "\"['b']\", expected an object with id and title"),
        (b'{"id": "1"}\n{"id": ', 2, "malformed JSON: Expecting value"),
        (b'[{"id": "1", "title": 7}]', 1, "title is 7, expected text"),
        (b'[{"id": true}]', 1, "id is True, expected text"),
        (b'[{"id": "1", "x": NaN}]', 1, "malformed JSON: NaN is not a JSON number"),
        (b'[{"id": "1", "subtopics": "x"}]', 1, "subtopics is \"'x'\", expected a list"),
        (b'[{"id": "1", "subtopics": [7]}]', 1, "subtopic '1': text == 7, must be text"),
        (b"[" * 100_000, 1, "malformed JSON: nested too deep"),
        (b'{"x": ' * 100_000, 1, "malformed JSON: nested too deep"),
        (b"[]", None, "no topics found"),
    ],
)
def test_json_faults_name_the_line(data: bytes, line: int | None, what: str) -> None:
    error = fault(data)
    assert error.line == line
    assert error.what.startswith(what)


# ------------------------------------------------------------------------------------------ bytes and files


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
def test_empty_file(data: bytes) -> None:
    assert str(fault(data)) == "<bytes>: is empty, expected topics"


def test_byte_order_marks() -> None:
    assert Topics.read(b"\xef\xbb\xbf1\twing\n").queries() == {"1": "wing"}
    assert Topics.read(b"\xef\xbb\xbf\xef\xbb\xbf1\twing\n").queries() == {"1": "wing"}
    assert Topics.read("1\tbébé\n".encode("utf-16")).queries() == {"1": "bébé"}
    assert read_one(b"\xef\xbb\xbf" + CLEF.encode()).id == "41"


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "windows-1252"])
def test_declared_xml_encoding(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><topics><topic number="1"><title>bébé</title></topic></topics>'
    assert read_one(text.encode(encoding)).title == "bébé"


def test_declared_multibyte_xml_encoding() -> None:
    text = '<?xml version="1.0" encoding="Shift_JIS"?><topics><topic number="1"><title>ベビー</title></topic></topics>'
    assert read_one(text.encode("shift_jis")).title == "ベビー"


def test_text_that_is_not_utf8_names_the_line_and_the_way_out() -> None:
    data = "1\tfood\n2\tbébé\n".encode("latin-1")
    assert str(fault(data)) == (
        "<bytes>:2: byte 0xe9 is not utf-8; use encoding= for another, such as encoding='latin-1'"
    )
    assert Topics.read(data, encoding="latin-1")["2"].title == "bébé"


def test_unknown_encodings_and_binary_files() -> None:
    declared = b'<?xml version="1.0" encoding="klingon"?><topics/>'
    assert "is not a character" in fault(b'<?xml version="1.0" encoding="utf-7"?>+2AA-').what
    assert str(fault(declared)) == "<bytes>:1: unknown encoding 'klingon'; use encoding= with another"
    assert str(fault(b"1\ta\n2\t\0")) == "<bytes>:2: '\\x00' is not a character: a binary file, expected topics"


def test_a_given_format_is_used_and_checked() -> None:
    assert read_one(b"<x\t{y", format="tsv") == Topic("<x", "{y")
    with pytest.raises(UsageError, match="format == 'csv', must be one of 'sgml', 'xml'"):
        Topics.read(b"1,a", format="csv")


def test_compressed_files_are_read_and_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv.gz"
    path.write_bytes(gzip.compress(b"1\twing\n"))
    assert Topics.read(path).queries() == {"1": "wing"}
    path.write_bytes(gzip.compress(b"1\twing\n1\tdrag\n"))
    with pytest.raises(DataError) as caught:
        Topics.read(str(path))
    assert str(caught.value) == f"{path}:2: topic 1 appears twice, first on line 1"


def test_missing_file_and_directory(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tsv", tmp_path):
        with pytest.raises(DataError) as caught:
            Topics.read(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_the_sample_collection_reads_and_survives_every_format(tmp_path: Path) -> None:
    topics = Topics.read(SAMPLE)
    assert repr(topics) == "Topics(24 topics, 101 to 124)"
    assert all(topic.title and topic.description and topic.narrative for topic in topics.values())
    for ending in ("sgml", "xml", "tsv", "json", "jsonl"):
        path = tmp_path / f"topics.{ending}"
        topics.write(path)
        assert Topics.read(path) == topics


# ------------------------------------------------------------------------------------------ writing


def test_written_files_by_hand(tmp_path: Path) -> None:
    """One topic in each format."""
    topic = Topic("1", "AT&T <wing>", "When?", lang="en", fields={"title@fr": "aile", "year": 1967})
    expected = {
        "sgml": '<top lang="en">\n<num> Number: 1\n<title> AT&T &#60;wing>\n<desc> Description:\nWhen?\n'
        '<title lang="fr"> aile\n<field name="year" as="json"> 1967\n</top>\n',
        "xml": '<?xml version="1.0" encoding="UTF-8"?>\n<topics>\n  <topic xml:lang="en">\n'
        "    <identifier>1</identifier>\n    <title>AT&amp;T &lt;wing&gt;</title>\n"
        "    <description>When?</description>\n"
        '    <title xml:lang="fr">aile</title>\n    <field name="year" as="json">1967</field>\n  </topic>\n</topics>\n',
        "jsonl": '{"id": "1", "title": "AT&T <wing>", "description": "When?", "lang": "en", "title@fr": "aile", '
        '"year": 1967}\n',
    }
    for format, text in expected.items():
        Topics([topic]).write(tmp_path / "t", format=format)
        assert (tmp_path / "t").read_text("utf-8") == text
    Topics([topic]).only("title", "title@fr").write(tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_text("utf-8") == "id\ttitle\ttitle@fr\n1\tAT&T <wing>\taile\n"


def test_writing_needs_a_format_and_topics(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the suffix is not that of a format"):
        Topics([Topic("1")]).write(tmp_path / "topics.txt")
    with pytest.raises(UsageError, match="format == 'csv', must be one of"):
        Topics([Topic("1")]).write(tmp_path / "topics.txt", format="csv")
    with pytest.raises(DataError, match="no topics to write"):
        Topics().write(tmp_path / "topics.tsv")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "topics.xml"
    path.write_text("old")
    with pytest.raises(DataError, match=r"topic 1 contains '\\x01', which XML cannot hold; write jsonl"):
        Topics([Topic("1", "\x01")]).write(path)
    with pytest.raises(DataError, match="half of a character"):
        Topics([Topic("1", "\ud800")]).write(path, format="json")
    with pytest.raises(DataError, match="a field is not JSON"):
        Topics([Topic("1", fields={"x": float("nan")})]).write(path, format="json")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_impossible_write_names_the_path_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written: No such file"):
        Topics([Topic("1")]).write(tmp_path / "none" / "t.tsv")
    (tmp_path / "t.tsv").mkdir()
    with pytest.raises(DataError, match=r"t\.tsv: cannot be written: Is a directory"):
        Topics([Topic("1")]).write(tmp_path / "t.tsv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.tsv"]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_are_written_and_read(ending: str, tmp_path: Path) -> None:
    topics = Topics.from_dict({"1": "wing"})
    path = tmp_path / f"topics.json{ending}"
    topics.write(path)
    assert not path.read_bytes().startswith(b"[")
    assert Topics.read(path) == Topics.read(path.read_bytes()) == topics


# ------------------------------------------------------------------------------------------ round trips

IDS = st.text(min_size=1, max_size=6).filter(lambda text: text.split() == [text] and "\0" not in text)
# Texts that look like markup, labels, references or layout are where a writer goes wrong.
TEXTS = st.one_of(
    st.text(max_size=12),
    st.lists(
        st.sampled_from(
            ["&", "<", ">", "&amp;", "&#10;", "<top>", "</top>", "<!--", "-->", "Topic:", "Description:", " ", "  ",
             "\n", "\r", "\t", '"', "'", "wing", "é", "]]>", "<title>", "\u2028", "\x85", "\xa0", "\ufeff", "{", "\\"]
        ),
        max_size=6,
    ).map("".join),
)  # fmt: skip
NAMES = st.one_of(
    st.text(min_size=1, max_size=6),
    st.sampled_from(
        ["query", "desc", "Title", "text", "num", "type", "subtopic", "field", "top", "topic", "x y", "dom", "DE-title",
         "lang@x", "title@fr", "title@en", "keyword@fr", "narr@de", "@", "a/b", "xml", "xmlns", "Subtopics", "Lang",
         "name", "_id"]
    ),
).filter(lambda name: name not in ("id", "title", "description", "narrative", "subtopics", "lang"))  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
SUBTOPIC_FIELDS = st.dictionaries(NAMES.filter(lambda name: name not in ("number", "text", "type")), JSON, max_size=2)
SUBTOPICS = st.lists(
    st.builds(Subtopic, st.text(min_size=1, max_size=4), TEXTS, TEXTS, SUBTOPIC_FIELDS),
    max_size=3,
    unique_by=lambda subtopic: subtopic.number,
).map(tuple)
TOPIC = st.builds(
    Topic,
    IDS,
    TEXTS,
    TEXTS,
    TEXTS,
    st.dictionaries(NAMES, JSON, max_size=3),
    SUBTOPICS,
    st.sampled_from(["", "en", "fr"]) | TEXTS,
)
TOPICS = st.lists(TOPIC, min_size=1, max_size=3, unique_by=lambda topic: topic.id).map(Topics)
FLAT = st.lists(
    st.builds(
        Topic,
        IDS,
        TEXTS,
        TEXTS,
        TEXTS,
        st.dictionaries(NAMES, TEXTS, max_size=3),
        st.just(()),
        st.sampled_from(["", "en"]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda topic: topic.id,
).map(Topics)


def read_back(topics: Topics, format: str) -> Topics:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "topics")
        topics.write(path, format=format)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            named, detected = Topics.read(path, format=format), Topics.read(path)
    assert named == detected
    return named


def assert_round_trip(topics: Topics, format: str) -> None:
    back = read_back(topics, format)
    assert back == topics
    assert list(back) == list(topics)


@pytest.mark.parametrize("format", ["json", "jsonl", "sgml"])
@given(topics=TOPICS)
@example(topics=Topics([Topic("Number:5", "Topic: x", "Description: y", " ", {"dom": "Domain: z", "nat": ("", "a")})]))
@example(topics=Topics([Topic("1", "&lt;", "a&b;c", "\x00\n", {"title@fr": "Topic: x"}, lang="en")]))
def test_formats_that_hold_everything_round_trip(format: str, topics: Topics) -> None:
    assert_round_trip(topics, format)


@given(topics=TOPICS)
@example(topics=Topics([Topic("1", " a\r\n", fields={"x\n\"'<": "\t", "title@fr": "a", "query": "q"}, lang="en")]))
def test_xml_round_trips_or_refuses_the_character(topics: Topics) -> None:
    try:
        assert_round_trip(topics, "xml")
    except DataError as error:
        assert "which XML cannot hold" in str(error)  # noqa: PT017
        assert any(not char.isprintable() for char in repr_of_texts(topics))


@given(topics=FLAT)
@example(topics=Topics([Topic("id", "title"), Topic("1", "", fields={"desc": "x"})]))
def test_tsv_round_trips_or_refuses_the_cell(topics: Topics) -> None:
    try:
        assert_round_trip(topics, "tsv")
    except DataError as error:
        assert "which TSV cannot hold" in str(error)  # noqa: PT017
        assert set("\t\n\r\0") & set(repr_of_texts(topics))


def repr_of_texts(topics: Topics) -> str:
    """Every character of every text, in all parts."""
    texts: list[str] = []

    def gather(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif hasattr(value, "items"):
            for name, inner in value.items():
                gather(name)
                gather(inner)
        elif isinstance(value, tuple):
            for inner in value:
                gather(inner)

    for t in topics.values():
        gather((t.id, t.title, t.description, t.narrative, t.lang, t.fields))
        gather(tuple((s.number, s.text, s.type, s.fields) for s in t.subtopics))
    return "".join(texts)


@given(data=st.binary(max_size=60) | TEXTS.map(str.encode), format=st.sampled_from([None, *FORMATS]))
def test_any_bytes_are_topics_or_a_data_error(data: bytes, format: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        with contextlib.suppress(DataError):
            assert len(Topics.read(data, format=format)) > 0
