"""Responses of search engines as runs, rank-eval requests as qrels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cranfield import DataError, Qrels, Run, UsageError
from cranfield.collection.file_formats.formats import detect
from cranfield.collection.file_formats.search_responses import read_query_ids


def response(*hits: tuple[str, float | None]) -> dict[str, Any]:
    """A response as Elasticsearch and OpenSearch give it."""
    found = [{"_index": "notes", "_id": doc, "_score": score, "_source": {"title": "x"}} for doc, score in hits]
    total = {"value": len(hits), "relation": "eq"}
    return {"took": 3, "timed_out": False, "_shards": {"total": 1}, "hits": {"total": total, "hits": found}}


SOLR = {
    "responseHeader": {"status": 0, "QTime": 1, "params": {"q": "lamp", "fl": "id,score"}},
    "response": {
        "numFound": 2,
        "start": 0,
        "maxScore": 1.5,
        "docs": [{"id": "a", "score": 1.5}, {"id": "b", "score": 0.5}],
    },
}
VESPA = {
    "root": {
        "id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 2}, "coverage": {"coverage": 100, "full": True},
        "children": [
            {"id": "id:shop:item::a", "relevance": 1.5, "source": "items", "fields": {"title": "x"}},
            {"id": "index:items/0/c4ca", "relevance": 0.5, "fields": {"documentid": "id:shop:item:n=1:b::c"}},
        ],
    }
}  # fmt: skip
A, B = response(("a", 2.0), ("b", 1.0)), response(("c", 3.5))
RUNS: dict[str, tuple[Any, dict[str, dict[str, float]]]] = {
    "search": (A, {"1": {"a": 2.0, "b": 1.0}}),
    "msearch": ({"took": 5, "responses": [A, B]}, {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 3.5}}),
    "list of responses": ([A, B], {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 3.5}}),
    "by topic": ({"q1": A, "hits": B}, {"q1": {"a": 2.0, "b": 1.0}, "hits": {"c": 3.5}}),
    "without scores": (response(("z", None), ("a", None)), {"1": {"z": 1.0, "a": 0.5}}),
    "solr": (SOLR, {"1": {"a": 1.5, "b": 0.5}}),
    "solr by topic": ({"lamp": SOLR}, {"lamp": {"a": 1.5, "b": 0.5}}),
    "solr without scores": (
        {"responseHeader": {}, "response": {"numFound": 2, "docs": [{"id": "b"}, {"id": "a"}]}},
        {"1": {"b": 1.0, "a": 0.5}},
    ),
    "vespa": (VESPA, {"1": {"a": 1.5, "b::c": 0.5}}),
    "vespa by topic": ({"lamp": VESPA, "empty": {"root": {"id": "toplevel"}}}, {"lamp": {"a": 1.5, "b::c": 0.5}}),
    "answer of rank-eval": (
        {"metric_score": 0.5, "details": {"q": {"hits": [{"hit": {"_id": "a", "_score": 1.0}, "rating": 2}]}}},
        {"q": {"a": 1.0}},
    ),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", RUNS)
def test_a_response_is_detected_and_read_as_a_run(name: str, indent: int | None) -> None:
    data, expected = RUNS[name]
    text = json.dumps(data, indent=indent).encode()
    assert detect(text, "run").name == "search"
    assert Run.of(text).to_dict() == expected


def test_lines_may_name_their_topic() -> None:
    lines = [{"query_id": "q7", "response": A}, {"query_id": "q8", **B}]
    text = "\n".join(map(json.dumps, lines)).encode()
    assert Run.of(text).to_dict() == {"q7": {"a": 2.0, "b": 1.0}, "q8": {"c": 3.5}}


RANK_EVAL = {
    "requests": [
        {"id": "q1", "request": {"query": {"match": {"text": "lamp"}}}, "ratings": [
            {"_index": "notes", "_id": "a", "rating": 3}, {"_index": "notes", "_id": "b", "rating": 0},
        ]},
        {"id": "q2", "template_id": "t", "params": {}, "ratings": [{"_index": "notes", "_id": "c", "rating": 1}]},
    ],
    "metric": {"dcg": {"k": 10}},
}  # fmt: skip


RATED = {
    "id_field": "id", "index": "notes", "template": "template.json",
    "queries": [
        {"placeholders": {"$query": "desk lamp"}, "relevant_documents": {"0": ["b"], "3": ["a", "d"]}},
        {"placeholders": {"$query": "chair"}, "relevant_documents": {"1": ["c"]}},
    ],
}  # fmt: skip
"""What Quepid writes for the Rated Ranking Evaluator: o19s/quepid, app/views/api/v1/export/ratings."""


def test_ratings_for_rre_are_judgments_by_query(tmp_path: Path) -> None:
    path = tmp_path / "ratings.json"
    path.write_text(json.dumps(RATED))
    assert Qrels.read(path).to_dict() == {"desk lamp": {"b": 0, "a": 3, "d": 3}, "chair": {"c": 1}}
    with pytest.raises(DataError, match="ratings for RRE are judgments, expected a run"):
        Run.read(path)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"relevant_documents": {"1": ["a"]}}, "query 1 is .* expected placeholders with \\$query"),
        ({"placeholders": {"$query": "x"}, "relevant_documents": {"high": ["a"]}}, "'x': the grade is 'high'"),
        ({"placeholders": {"$query": "x"}, "relevant_documents": {"1": "a"}}, "grade 1 has 'a', expected a list"),
        ({"placeholders": {"$query": "x"}, "relevant_documents": {}}, "is empty, expected ratings"),
        ({"placeholders": {"$query": "x"}, "relevant_documents": {"1": [{}]}}, "doc"),
    ],
)
def test_broken_ratings_for_rre_are_errors(tmp_path: Path, query: object, message: str) -> None:
    path = tmp_path / "ratings.json"
    path.write_text(json.dumps({"queries": [query]}))
    with pytest.raises(DataError, match=message):
        Qrels.read(path)


def test_a_rank_eval_request_holds_judgments(tmp_path: Path) -> None:
    path = tmp_path / "rank_eval.json"
    path.write_text(json.dumps(RANK_EVAL))
    assert Qrels.read(path).to_dict() == {"q1": {"a": 3, "b": 0}, "q2": {"c": 1}}
    with pytest.raises(DataError, match="a rank-eval request holds judgments, expected a run"):
        Run.read(path)


BAD: dict[str, tuple[Any, str]] = {
    "a failed search": (
        {"responses": [A, {"error": {"reason": "no such index"}, "status": 404}]},
        r"response 2 is an error: {'reason': 'no such index'}; repeat this search, or remove it",
    ),
    "a timeout": ({**A, "timed_out": True}, "the response timed out and may lack hits; repeat this search"),
    "no hits": ({"responses": [{"took": 1, "timed_out": False}]}, "response 1 has no hits: expected hits.hits"),
    "no id": ({"took": 1, "hits": {"hits": [{"_score": 1}]}}, "the response: hit 1 is {'_score': 1}, expected _id"),
    "a score too few": (
        {"hits": {"hits": [{"_id": "a", "_score": 1}, {"_id": "b"}]}}, "hit 2 is {'_id': 'b'}, expected _id and _score",
    ),
    "score": ({"hits": {"hits": [{"_id": "a", "_score": "high"}]}}, "the score is 'high', expected a number"),
    "a document twice": ({"hits": {"hits": [{"_id": "a", "_score": 2}, {"_id": "a", "_score": 1}]}}, "appears twice"),
    "a hit": ({"hits": {"hits": ["a"]}}, "hit 1 is 'a', expected an object"),
    "a response": ({"responses": [3]}, "response 1 is 3, expected an object with hits"),
    "a topic twice": ([{"query_id": "q", **A}, {"query_id": "q", **B}], "topic 'q' has two responses, expected one"),
    "nothing": ({"responses": []}, "is empty, expected responses of a search engine"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_response_is_a_clear_error(name: str, tmp_path: Path) -> None:
    data, message = BAD[name]
    path = tmp_path / "response.json"
    path.write_text(json.dumps(data))
    with pytest.raises(DataError, match=message) as caught:
        Run.read(path)
    assert str(caught.value).startswith(str(path))


def test_bad_judgments_and_broken_json() -> None:
    for data, message in {
        '{"requests": [{"id": "q", "ratings": [{"_id": "a"}]}]}': "rating {'_id': 'a'}, expected _id and rating",
        '{"requests": [{"id": "q", "ratings": []}]}': "is empty, expected ratings",
        '{"requests": [{"id": "q", "ratings": [{"_id": "a", "rating": "x"}]}]}': "the grade is 'x', expected a number",
    }.items():
        with pytest.raises(DataError, match=message):
            Qrels.of(data.encode())
    with pytest.raises(DataError, match="<bytes>:1: is not valid JSON"):
        Run.of(json.dumps(A).encode()[:-20])
    with pytest.raises(DataError, match=r"nested too deeply|not valid JSON"):
        Run.of(b'{"took": 1, "timed_out": false, "hits": {"hits": ' + b"[" * 100_000)


def test_responses_are_only_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the format search is only read; write json, or another format"):
        Run.of({"q": {"a": 1.0}}).write(tmp_path / "x", "search")


MSEARCH = {"responses": [{"hits": {"hits": [{"_id": doc, "_score": 1.5}]}} for doc in ("a", "b")]}


def test_responses_get_the_ids_of_their_queries(tmp_path: Path) -> None:
    path = tmp_path / "responses.json"
    path.write_text(json.dumps(MSEARCH))
    assert Run.of(path).topics == ("1", "2")
    assert Run.of(path, queries=["q9", 4]).to_dict() == {"q9": {"a": 1.5}, "4": {"b": 1.5}}
    with pytest.raises(DataError, match=r"responses.json: has 2 responses, but there are ids of 3 queries"):
        Run.of(path, queries="xyz")


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ({"errors": [{"code": 4, "message": "Invalid query"}]}, "the response has errors: "),
        ({"coverage": {"degraded": {"timeout": True}}, "children": []}, "the response timed out and may lack hits"),
        (
            {"children": [{"id": "index:items/0/c4ca", "relevance": 1}]},
            "the id 'index:items/0/c4ca' is internal to Vespa",
        ),
        ({"children": [{"relevance": 1}]}, "hit 1 is {'relevance': 1}, expected"),
    ],
)
def test_a_response_of_vespa_that_lacks_documents_is_an_error(root: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Run.of(json.dumps({"root": {"id": "toplevel", **root}}).encode())


def test_a_topic_called_root_is_no_response_of_vespa() -> None:
    assert Run.of(b'{"root": {"d1": 2.0}}').to_dict() == {"root": {"d1": 2.0}}


def test_the_texts_of_queries_may_be_their_ids(tmp_path: Path) -> None:
    responses, queries = tmp_path / "msearch.json", tmp_path / "queries.txt"
    responses.write_text(json.dumps({"responses": [{"hits": {"hits": [{"_id": "a", "_score": 1.5}]}}]}))
    queries.write_text("laptop sleeve\n")
    assert Run.of(responses, queries=read_query_ids(queries)).to_dict() == {"laptop sleeve": {"a": 1.5}}
