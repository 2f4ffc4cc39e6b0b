"""Mutated files of runs, judgments, topics, scores, side files, answers and sessions.

What could be read can be written, and is read back the same.
"""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from fuzzing import Target, attempt
from mutation import PIECES, mutate, mutated, mutated_json

from cranfield import Qrels, Run, Topics, evaluate
from cranfield.answers import (
    IUnit,
    citation_scores,
    nugget_scores,
    one_click_scores,
    page_scores,
    passage_scores,
    read_answers,
    read_assignments,
    read_cited_answers,
    read_ends,
    read_iunits,
    read_nuggets,
    read_orientation,
    read_pages,
    read_passage_runs,
    read_relevant_passages,
    rouge,
    texts_of_runs,
)  # fmt: skip
from cranfield.answers.answer_texts import Answer
from cranfield.answers.sessions import read_session_topics, read_sessions, session_scores, write_sessions
from cranfield.assessed.lengths import LengthTable
from cranfield.collection import compression, source
from cranfield.collection.linting.lint import check_files
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.fairness.attention import Groups
from cranfield.scores import Scores

JSON = [
    b'{"1": {"d1": 1.5, "d2": -2e3}, "2": {"d1": 1}}',
    b'[{"query_id": "1", "doc_id": "d1", "score": 2.5, "rank": 1, "run": "a"},'
    b' {"query_id": "1", "doc_id": "d2", "score": 1}]',
    b'{"query_id": "1", "doc_id": "d1", "relevance": 1, "iteration": "0"}\n'
    b'{"query_id": "1", "doc_id": "d2", "relevance": 0}\n',
    b'{"cranfield": "scores", "missing_rule": "zero", "notes": ["n"], "measures": ["AP"], "runs": ["a"],'
    b' "topics": ["1"], "missing": {}, "scores": {"a": {"1": {"AP": 0.5}}}}',
]
CSV = [
    b'query_id,doc_id,score,rank,run\n1,d1,2.5,1,a\n1,"d,2",1,2,a\n2,d1,0,1,a\n',
    b"query-id\tcorpus-id\tscore\n1\td1\t1\n1\td2\t0\n",
    b'topic;doc;relevance;iteration\n1;d1;1;0\n1;"a\nb";2;0\n',
    b"measure,run,topic,value,missing,notes\nAP,a,1,0.5,false,zero\nAP,a,2,,true,\n",
]
TOPICS = [
    b"<top>\n<num> Number: 301\n<title> International Crime\n<desc> Description:\nWhat?\n<narr> Narrative:\nAll.\n"
    b"</top>\n",
    b'<?xml version="1.0"?>\n<topics><topic number="1" type="faceted"><query>a b</query>'
    b'<description>x &amp; y</description><subtopic number="1" type="nav">s</subtopic></topic>'
    b'<topic number="2"><query>c</query></topic></topics>',
    b'<!DOCTYPE t [<!ENTITY a "b">]><topics><topic id="1"><title>&a;</title></topic></topics>',
    b"1\tinternational crime\n2\twhat is it\n",
    b"1:some query\n2:another\n",
    b'{"qid": "1", "query": "a"}\n{"qid": "2", "query": "b"}\n',
    "1\tcaf\u00e9\n".encode("utf-16"),
]
SIDE = [
    b"1 1 0.5\n1 2 0.5\n2 1 1\n",
    b"1,1,nav\n1,2,inf\n",
    b"d1\t100\td2\n",
    b'doc,length,snippet\nd1,100,20\n"d,2",7,1\n',
    b"# comment\n1;2;0.25\n",
    b"d1 g1 0.5\nd2 g2\n",
    b"1 2\n",
]
ANSWERS = [
    b"topic\tnugget\ttype\tweight\ttext\n1\tn1\tvital\t2\tpolice shot\n1\tn2\tokay\t\the had guns\n",
    b"topic\trun\tnugget\tsupport\n1\tmine\tn1\tsupport\n1\tmine\tn2\tpartial_support\n",
    b'{"qid": "1", "nuggets": [{"text": "a", "importance": "vital", "assignment": "support"}], "run_id": "mine"}\n',
    b"topic\tiunit\tweight\tvital_string\n1\tu1\t3\tstorm\n1\tu2\t2\tfled\n",
    b"topic\tiunit\trun\tstart\tend\ttext\n1\tu1\tmine\t0\t5\tcaf\xc3\xa9 \n1\tu1\tmine\t2\t3\n",
    b"topic\tdoc\tstart\tend\tscore\n1\td1\t0\t10\t2.5\n1\td2\t0\t0\t1\n",
    b"topic,block,vertical,doc\n1,1,web,d1\n1,2,news,d2\n",
    b"topic,vertical,orientation\n1,web,0.5\n",
    b'{"run_id": "mine", "topic_id": "1", "references": ["d3"], "answer": [{"text": "A.", "citations": [0]}]}\n',
    b"run\ttopic\tsentence\tcitation\tsupport\nmine\t1\t1\td3\tsupport\n",
    b'{"topic": "1", "text": "caf\xc3\xa9 \xf0\x9f\x98\x80", "run": "mine"}\n1\tx\n',
]
SESSIONS = [
    b'{"session": "s1", "topic": "301", "query": 1, "text": "cats", "time": 0, "list": ["d1", "d2"],'
    b' "clicks": [{"doc": "d2", "time": 8, "end": "00:00:20"}, {"rank": 1}]}\n'
    b'{"session": "s1", "topic": "301", "query": 2, "list": []}\n',
    b'<sessiontrack2014><session num="4" starttime="0"><topic num="12"><desc>x</desc></topic>'
    b'<interaction num="1" starttime="12.5"><query>cats</query><results><result rank="1"><url>u</url>'
    b"<clueweb12id>c1</clueweb12id></result></results><clicked>"
    b'<click num="1" starttime="10:20:30" endtime="50"><rank>1</rank><docno>c1</docno></click></clicked></interaction>'
    b'<interaction num="2" type="page"><results><result rank="11"><url>v</url></result></results></interaction>'
    b"</session></sessiontrack2014>",
    b"session\ttopic\n4\t12\ns1\t301\n",
]
INTENTS = b"1 1 d1 1\n1 2 d2 1\n2 1 d1 1\n"
LISTS = {"1": {"d1": 2.0, "d2": 1.0}, "2": {"d1": 1.0}}

# -- what is done with an input; a CranfieldError means that it was refused


def read_back(kind: type[Run] | type[Qrels], path: Path, format: str | None = None) -> None:
    """Read, write as JSON-lines, read again: the same."""
    read = kind.read(path, format=format)
    copy = path.with_suffix(".jsonl")
    read.write(copy, format="jsonl")
    again = kind.read(copy)
    assert again.to_dict() == read.to_dict(), "written and read back, it is different"


def json_file(path: Path) -> None:
    attempt(read_back, Run, path)
    attempt(read_back, Qrels, path)
    attempt(Scores.read, path, format="json")
    attempt(Topics.read, path)
    attempt(check_files, [path], [path])


def csv_file(path: Path) -> None:
    for format in (None, "csv", "tsv"):
        attempt(read_back, Run, path, format)
        attempt(read_back, Qrels, path, format)
    attempt(Scores.read, path)
    attempt(Scores.read, path, format="csv")
    attempt(check_files, [path], [path])


def topics_file(path: Path) -> None:
    for format in (None, "sgml", "xml"):
        attempt(topics_back, path, format)
    attempt(check_files, (), (), [path])


def topics_back(path: Path, format: str | None) -> None:
    topics = Topics.read(path, format=format)
    copy = path.with_suffix(".jsonl")
    topics.write(copy)
    assert list(Topics.read(copy)) == list(topics), "written and read back, the topics are different"


COLUMN = Words(default="", may_be_empty=True)


def side_file(path: Path) -> None:
    options: dict[str, Path]
    for options in ({"intent_probabilities": path}, {"intent_types": path}):
        attempt(evaluate, INTENTS, LISTS, "D-nDCG@10", **options)
    attempt(LengthTable.of, path)
    attempt(Groups.of, path)
    for layouts in (["a b"], ["a b c"], ["a b", "a b c", "a b c d"]):
        for mixed in (False, True):
            attempt(Schema("columns", layouts=layouts, mixed=mixed, **dict.fromkeys("abcd", COLUMN)).read, path)


def answers_file(path: Path) -> None:
    output = [Answer("mine", "1", "caf\u00e9 storm\nfled \U0001f600", "o1")]
    units = {"1": {"u1": IUnit("u1", 3, "storm"), "u2": IUnit("u2", 2, "fled")}}
    attempt(read_nuggets, path)
    attempt(read_nuggets, path, path)
    attempt(lambda: nugget_scores(read_assignments(path, None, output), texts=texts_of_runs(output)))
    attempt(read_iunits, path)
    for offsets in ("characters", "bytes"):
        attempt(lambda offsets=offsets: one_click_scores(
            texts_of_runs(output), units, read_ends(path, units, output, offsets=offsets)[0]))  # fmt: skip
    attempt(lambda: passage_scores(read_relevant_passages(path)[0], read_passage_runs([path])))
    attempt(lambda: page_scores(read_pages([path]), {"1": {"d1": 1}}, read_orientation(path)))
    attempt(lambda: citation_scores(read_cited_answers([path])))
    attempt(read_cited_answers, [path], path)
    attempt(lambda: rouge(texts_of_runs(read_answers([path])), {"1": ["storm fled"]}, ["ROUGE-2", "ROUGE-Lsum"]))


def sessions_file(path: Path) -> None:
    attempt(sessions_back, path)
    attempt(read_session_topics, path)


def sessions_back(path: Path) -> None:
    """Read, score, write and read again: the same."""
    sessions = read_sessions(path)
    lengths = {doc: 7 for session in sessions.sessions for query in session.queries for doc in query.documents}
    attempt(
        session_scores, {"a": sessions}, None, ["sDCG", "esAP", "sMP", "sCost", "sU"], gains="clicks", lengths=lengths
    )
    copy = path.with_suffix(".jsonl")
    write_sessions(copy, sessions)
    assert read_sessions(copy).sessions == sessions.sessions, "written and read back, the sessions are different"


def compressed_file(path: Path) -> None:
    attempt(source.read_bytes, path)
    attempt(Run.read, path)
    attempt(check_files, [path], [path], [path])


# -- inputs


def packed(rng: random.Random) -> bytes:
    """Compressed data, damaged before or after it was compressed, or cut."""
    text = mutate(rng.choice([*JSON, *CSV, b"1 Q0 d1 1 1.5 a\n" * 50]), rng, PIECES)
    suffix = rng.choice(compression.SUFFIXES)
    data = b"".join(compression.packed([text], f"x{suffix}")) * rng.choice([1, 1, 2])
    if rng.random() < 0.2:
        data = gzip.compress(data)
    return (
        mutate(data, rng, PIECES, rng.choice([0, 1, 3])) if rng.random() < 0.8 else data[: rng.randrange(len(data) + 1)]
    )


TARGETS = {
    "json": Target(mutated_json(JSON), json_file),
    "csv": Target(mutated(CSV), csv_file),
    "topics": Target(mutated(TOPICS), topics_file),
    "side": Target(mutated(SIDE), side_file),
    "answers": Target(mutated(ANSWERS), answers_file),
    "sessions": Target(mutated(SESSIONS), sessions_file),
    "session-xml": Target(mutated(SESSIONS[1:2]), sessions_file),
    "compressed": Target(packed, compressed_file),
}
