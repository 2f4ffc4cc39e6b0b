"""Files of sessions: JSON-lines and the XML of the TREC Session tracks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.answers.sessions import Click, Query, Session, read_sessions, write_sessions
from cranfield.errors import DataError

XML = """<?xml version="1.0" encoding="utf-8"?>
<sessiontrack2013>
 <session num="7" starttime="10:20:55.5" userid="3">
  <topic num="12"><title>cats</title><desc>About cats.</desc></topic>
  <interaction num="2" starttime="10:22:00" type="reformulate">
   <query>cat food</query>
   <results><result rank="1"><url>http://x</url><clueweb12id>c3</clueweb12id></result></results>
  </interaction>
  <interaction num="1" starttime="10:21:00">
   <query>cats</query>
   <results>
    <result rank="2"><url>http://b</url><clueweb12id>c2</clueweb12id><title/><snippet/></result>
    <result rank="1"><url>http://a</url><clueweb12id>c1</clueweb12id></result>
   </results>
   <clicked>
    <click num="1" starttime="10:21:10" endtime="10:21:30"><rank>2</rank></click>
    <click num="2" starttime="10:21:40" endtime="10:21:50"><docno>c1</docno></click>
   </clicked>
  </interaction>
  <currentquery starttime="10:23:00"><query>cat pictures</query></currentquery>
 </session>
</sessiontrack2013>
"""


def written(folder: Path, text: str, name: str = "sessions.jsonl") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_session_track_xml_is_read(tmp_path: Path) -> None:
    sessions = read_sessions(written(tmp_path, XML))
    first, second = sessions.sessions[0].queries
    day = 10 * 3600
    assert (sessions.sessions[0].name, sessions.sessions[0].topic) == ("7", "12")
    assert (first.text, first.documents, first.time) == ("cats", ("c1", "c2"), day + 21 * 60)
    assert first.clicks == (Click(2, day + 21 * 60 + 10, day + 21 * 60 + 30), Click(1, day + 1300, day + 1310))
    assert second == Query(("c3",), (), "cat food", day + 22 * 60)
    assert sessions.notes == ("1 × current query without a list, left out",)


def test_ids_of_other_years_and_second_pages(tmp_path: Path) -> None:
    text = """<sessiontrack2011><session num="1"><topic>5</topic><interaction num="1"><query>q</query><results>
    <result rank="11"><url>u11</url></result><result rank="12"><clueweb09id>c9</clueweb09id></result></results>
    <clicked><click num="1" starttime="3.5" endtime="4"><rank>12</rank></click></clicked>
    </interaction></session></sessiontrack2011>"""
    session = read_sessions(written(tmp_path, text)).sessions[0]
    assert session == Session("1", "5", (Query(("u11", "c9"), (Click(2, 3.5, 4.0),), "q"),))


def test_json_lines_are_read_and_written(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"session": "s1", "topic": 301, "query": 2, "list": ["d3"]}\n\n'
        '{"session": "s1", "topic": 301, "query": 1, "text": "café", "time": 1, "list": ["d1", "d2"], '
        '"clicks": [{"doc": "d2", "time": "00:00:09", "end": 12}, {"rank": 1, "time": 3}]}\n',
    )
    sessions = read_sessions(path)
    first = Query(("d1", "d2"), (Click(1, 3.0), Click(2, 9.0, 12.0)), "café", 1.0)
    assert sessions.sessions == (Session("s1", "301", (first, Query(("d3",)))),)
    assert not sessions.notes
    write_sessions(tmp_path / "again.jsonl", sessions)
    assert read_sessions(tmp_path / "again.jsonl").sessions == sessions.sessions
    write_sessions(tmp_path / "xml.jsonl", read_sessions(written(tmp_path, XML, "x.xml")))
    assert read_sessions(tmp_path / "xml.jsonl").sessions == read_sessions(tmp_path / "x.xml").sessions


def test_wrong_clicks_and_times_are_counted(tmp_path: Path) -> None:
    text = (
        '{"session": "s", "topic": "1", "query": 1, "time": 50, "list": ["a", "b"], "clicks": ['
        '{"doc": "z", "time": 60}, {"rank": 9, "time": 61}, {"doc": "a", "time": 10}, '
        '{"doc": "b", "time": 70, "end": 1}]}\n'
        '{"session": "s", "topic": "1", "query": 2, "time": 20, "list": []}\n'
        '{"session": "t", "query": 1, "list": ["a"]}\n'
    )
    sessions = read_sessions(written(tmp_path, text))
    assert sessions.sessions[0].queries[0].clicks == (Click(1, 10.0), Click(2, 70.0))
    assert sessions.sessions[1].topic is None
    assert sessions.notes == (
        "2 × click on a document that its list does not show, left out: line 1, line 1",
        "1 × click with a time before that of its query; clicks are used in order of time: line 1",
        "1 × click that ends before it starts; its end is left out: line 1",
        "1 × query without documents: line 2",
        "1 × query with a time before that of the query above it; queries stay in the order of their numbers: "
        "session s",
        "1 × session without a topic, which cannot be judged: session t",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("[1]", "1: is [1], expected an object for a query of a session"),
        ('{"session": "s", "query": 1}', "1: no field 'list'"),
        ('{"session": "s", "query": 1, "list": [], "click": []}', "1: no field 'click'; did you mean 'clicks'?"),
        ('{"session": "s", "query": 0, "list": []}', "1: query is 0, expected its number in the session"),
        ('{"session": "s", "query": 1, "list": "d1"}', "1: list is 'd1', expected documents"),
        ('{"session": "s", "query": 1, "list": ["a", "a"]}', "1: document 'a' appears twice in one list"),
        ('{"session": "s", "query": 1, "list": ["a"], "clicks": [{"time": 1}]}', "expected either doc or rank in it"),
        ('{"session": "s", "query": 1, "list": ["a"], "clicks": [{"rank": 1, "time": "soon"}]}', "time is 'soon'"),
        (2 * '{"session": "s", "query": 1, "list": []}\n', "2: session 's' has query 1 twice"),
        (
            '{"session": "s", "topic": "1", "query": 1, "list": []}\n'
            '{"session": "s", "topic": "2", "query": 2, "list": []}',
            "2: session 's' has topic '2' here, but '1' above; a session has one topic",
        ),
        ("<a><b></a>", "1: not valid XML"),
        ("<topics><topic/></topics>", "holds no sessions: the XML has <topics>, but no <session>"),
        ('<t><session num="1"/></t>', "session 1 has no interaction"),
        ('<!DOCTYPE t [<!ENTITY a "b">]><t/>', "declares entities, which are not read"),
    ],
)  # fmt: skip
def test_wrong_files_are_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_sessions(written(tmp_path, text))
    assert message in str(error.value)
    assert "sessions.jsonl" in str(error.value)
