"""Files of sessions: JSON-lines and the XML of the TREC Session tracks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.answers.sessions import (
    Click,
    Query,
    Session,
    read_session_topics,
    read_sessions,
    with_topics,
    write_sessions,
)
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


# The structure below is that of the released files: in 2011, topics have a title, a description and a narrative but no
# number, times are clocks, and clicks say a rank; in 2013 and 2014, topics have a number, times are seconds, clicks say
# the docno as well, and turning a page is an interaction of type page with results 11 to 20.
TRACK_2011 = """<sessiontrack2011>
   <session num="17" starttime="10:21:55.141117">
      <topic>
         <title>river tours</title>
         <desc>Find river tours.</desc>
         <narr>Where do they start?</narr>
      </topic>
      <interaction num="1" starttime="10:22:41.233975">
         <query>river tours</query>
         <results>
            <result rank="1">
               <url>http://a.example/</url>
               <clueweb09id>clueweb09-en0007-88-36069</clueweb09id>
               <title>Tours &amp;amp; Boats &#x2014; A</title>
               <snippet>...</snippet>
            </result>
            <result rank="2">
               <url>http://b.example/</url>
               <clueweb09id>clueweb09-en0042-01-30629</clueweb09id>
               <title/>
               <snippet/>
            </result>
            <result rank="3">
               <url>http://a.example/index.html</url>
               <clueweb09id>clueweb09-en0007-88-36069</clueweb09id>
               <title/>
               <snippet/>
            </result>
         </results>
         <clicked>
            <click num="1" starttime="10:22:46.734005" endtime="10:22:59.332772">
               <rank>3</rank>
            </click>
         </clicked>
      </interaction>
      <currentquery starttime="10:24:26.046853">
         <query>"river tours" start</query>
      </currentquery>
   </session>
</sessiontrack2011>
"""
TRACK_2014 = """<sessiontrack2014>
 <session num="4" starttime="0" userid="7">
  <topic num="12"><desc>About cats.</desc></topic>
  <interaction num="1" starttime="12.5">
   <query>cats</query>
   <results>
    <result rank="1"><url>u1</url><clueweb12id>c1</clueweb12id></result>
    <result rank="2"><url>u2</url><clueweb12id>c2</clueweb12id></result>
   </results>
  </interaction>
  <interaction num="2" starttime="30.25" type="page">
   <query>cats</query>
   <results>
    <result rank="11"><url>u3</url><clueweb12id>c3</clueweb12id></result>
    <result rank="12"><url>u4</url><clueweb12id>c4</clueweb12id></result>
   </results>
   <clicked>
    <click num="1" starttime="41" endtime="50"><rank>2</rank><docno>c4</docno></click>
    <click num="2" starttime="51" endtime="55"><rank>11</rank><docno>c3</docno></click>
   </clicked>
  </interaction>
  <interaction num="3" starttime="60" type="reformulate">
   <query>cat food</query>
   <results/>
  </interaction>
  <currentquery starttime="70"><query>cat pictures</query></currentquery>
 </session>
 <session num="5" starttime="0" userid="7">
  <topic num="12"><desc>About cats.</desc></topic>
  <currentquery starttime="3"><query>cats</query></currentquery>
 </session>
</sessiontrack2014>
"""


def test_a_session_of_2011_needs_the_topic_from_a_table(tmp_path: Path) -> None:
    sessions = read_sessions(written(tmp_path, TRACK_2011, "2011.xml"))
    (session,) = sessions.sessions
    assert session.topic is None
    assert session.queries[0].documents == ("clueweb09-en0007-88-36069", "clueweb09-en0042-01-30629")
    # Rank 3 repeats the document at rank 1, so that the click is on that document.
    assert [click.rank for click in session.queries[0].clicks] == [1]
    assert session.queries[0].clicks[0].time == 10 * 3600 + 22 * 60 + 46.734005
    assert sessions.notes[0] == (
        "1 × document that appears twice in one list, the second left out: session 17, query 1"
    )
    topics = read_session_topics(written(tmp_path, "17 8 3\n17 8 4\n18 9 1\n", "map.txt"))
    assert topics == {"17": "8", "18": "9"}
    named = with_topics(sessions, topics)
    assert named.sessions[0].topic == "8"
    assert not [note for note in named.notes if "without a topic" in note]
    assert named.notes[-1] == "1 session with a topic, but not among the sessions"
    header = written(tmp_path, "session\ttopic\tsubtopic\tkind\n17\t8\t1\tsome kind of task\n", "map.tsv")
    assert read_session_topics(header) == {"17": "8"}
    with pytest.raises(DataError, match=r"map.txt:2: session '17' has topic '9' here, but '8' above"):
        read_session_topics(written(tmp_path, "17 8\n17 9\n", "map.txt"))
    with pytest.raises(DataError, match=r"no session of .* is among those with a topic: 1"):
        with_topics(sessions, {"1": "8"})


def test_pages_of_2014_belong_to_one_query_and_clicks_are_found_by_name(tmp_path: Path) -> None:
    sessions = read_sessions(written(tmp_path, TRACK_2014, "2014.xml"))
    first = Query(("c1", "c2", "c3", "c4"), (Click(4, 41.0, 50.0), Click(3, 51.0, 55.0)), "cats", 12.5)
    assert sessions.sessions == (Session("4", "12", (first, Query((), (), "cat food", 60.0))),)
    assert sessions.notes == (
        "1 × query without documents: session 4, query 2",
        "2 × current query without a list, left out",
        "1 × session without an interaction, left out: session 5",
    )


def test_a_time_that_is_not_known_is_read_as_such(tmp_path: Path) -> None:
    # the track of 2013 has 14 clicks like the first
    text = TRACK_2014.replace('endtime="50"', 'endtime="NA"').replace('endtime="55"', 'endtime=""')
    sessions = read_sessions(written(tmp_path, text.replace('starttime="60', 'starttime="n/a"  was="60')))
    first, second = sessions.sessions[0].queries
    assert first.clicks == (Click(4, 41.0, None), Click(3, 51.0, None))
    assert second.time is None
    assert sessions.notes[:2] == (
        "1 × endtime that is NA, which is not known: session 4, query 1",
        "1 × starttime that is n/a, which is not known: session 4, query 2",
    )
    line = '{"session": "s", "query": 1, "time": null, "list": ["a"], "clicks": [{"rank": 1, "time": "NA", "end": 7}]}'
    lines = read_sessions(written(tmp_path, line))
    assert lines.sessions[0].queries[0].clicks == (Click(1, None, 7.0),)
    assert lines.notes[0] == "1 × time that is NA, which is not known: line 1"
    with pytest.raises(DataError, match="session 4, query 1: endtime is 'later', expected seconds or a clock"):
        read_sessions(written(tmp_path, text.replace("NA", "later")))


def test_a_session_may_pass_midnight(tmp_path: Path) -> None:
    text = XML.replace("10:2", "23:5")  # 23:50:55 and so on
    late = text.replace('starttime="23:51:40" endtime="23:51:50"', 'starttime="00:00:10" endtime="00:00:20"')
    assert late != text
    clicks = read_sessions(written(tmp_path, late)).sessions[0].queries[0].clicks
    assert [click.time for click in clicks] == [23 * 3600 + 51 * 60 + 10, 24 * 3600 + 10]
    assert clicks[1].end == 24 * 3600 + 20


def test_characters_that_xml_does_not_allow_are_blanks(tmp_path: Path) -> None:
    sessions = read_sessions(written(tmp_path, TRACK_2014.replace("cat food", "cat\x0b&#x1F;food&#10;")))
    assert sessions.sessions[0].queries[1].text == "cat  food"
    assert "2 × character that XML does not allow, read as a blank" in sessions.notes


def test_xml_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "latin.xml"
    path.write_bytes(TRACK_2014.replace("cat food", "caf\xe9").encode("latin-1"))
    with pytest.raises(DataError, match=r"latin.xml:2\d: a byte that is not UTF-8"):
        read_sessions(path)


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
        ('<t><session num="1"/></t>', "holds no session with an interaction: session 1"),
        ('<!DOCTYPE t [<!ENTITY a "b">]><t/>', "declares entities, which are not read"),
    ],
)  # fmt: skip
def test_wrong_files_are_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_sessions(written(tmp_path, text))
    assert message in str(error.value)
    assert "sessions.jsonl" in str(error.value)


def test_a_topic_with_blanks_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(TRACK_2011.replace("<topic>", '<topic num=" 5 ">'))
    sessions = read_sessions(tmp_path / "s.xml")
    assert {session.topic for session in sessions.sessions} == {"5"}
    write_sessions(tmp_path / "s.jsonl", sessions)
    assert read_sessions(tmp_path / "s.jsonl").sessions == sessions.sessions
