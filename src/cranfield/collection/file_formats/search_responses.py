"""Read what search engines return: responses of Elasticsearch, OpenSearch, Solr and Vespa, and rank-eval requests.

| JSON | read as |
|---|---|
| {"hits": {"hits": [{"_id": ..., "_score": ...}]}} | the list of one topic |
| {"responses": [response, ...]} (msearch), or a list of responses | a list for each response |
| {topic: response} | a list for each topic |
| lines of responses, or of {"query_id": ..., "response": response} | a list for each line |
| {"response": {"docs": [{"id": ..., "score": ...}]}} (Solr) | the list of one topic |
| {"root": {"children": [{"id": ..., "relevance": ..., "fields": {...}}]}} (Vespa) | the list of one topic |
| {"requests": [{"id": ..., "ratings": [{"_id": ..., "rating": ...}]}]} (rank-eval) | the judgments of each topic |
| {"queries": [{"placeholders": {"$query": ...}, "relevant_documents": {grade: [...]}}]} (RRE) | judgments by query |
| {"details": {topic: {"hits": [{"hit": {...}}]}}} (the answer of rank-eval) | a list for each topic |

A response that does not name its topic has the id of the query in its place, if `named_queries` gives them, or else its
number: 1 for the first, and so on. Without scores, the order counts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import repeat
from operator import itemgetter
from typing import Any

from cranfield.collection.column_names import COLUMNS, VALUE
from cranfield.collection.columns import Columns, shown
from cranfield.collection.doors import reads
from cranfield.collection.file_formats.writing import Outgoing
from cranfield.collection.source import Buffer, PathLike, load, text_of
from cranfield.errors import DataError, UsageError
from cranfield.text import counted

INSPECTED = 4000
"""The number of characters in which a response is recognised."""
_RESPONSE = re.compile(
    r'\s*[\[{].*?"(?:hits"\s*:\s*\{|responses"\s*:\s*\[|timed_out"\s*:|_shards"\s*:\s*\{|responseHeader"\s*:\s*\{'
    r'|root"\s*:\s*\{\s*"(?:id"\s*:\s*"toplevel"|(?:children|errors)"\s*:\s*\[|coverage"\s*:\s*\{)'
    r'|ratings"\s*:\s*\[|numFound"\s*:|metric_score"\s*:|relevant_documents"\s*:\s*\{)',
    re.DOTALL,
)

_ids: ContextVar[tuple[str, ...] | None] = ContextVar("ids of queries", default=None)
_VESPA_ID = re.compile(r"id:[^:]*:[^:]*:[^:]*:(.+)", re.DOTALL)
"""id:NAMESPACE:TYPE:GROUP:NAME; the group is usually empty."""
_JUDGMENTS = re.compile(rb'"(?:ratings|relevant_documents)"')


@contextmanager
def named_queries(ids: Iterable[object] | None) -> Iterator[None]:
    """Within this context, responses that do not name their topics have these ids, in their order.

    >>> with named_queries(["q7", "q9"]):
    ...     read_response(b'{"responses": [{"hits": []}, {"hits": [{"_id": "a"}]}]}', "run", "").topics
    ['q9']
    """
    token = _ids.set(_ids.get() if ids is None else tuple(map(str, ids)))
    try:
        yield
    finally:
        _ids.reset(token)


def queries_named_in(path: PathLike | None) -> AbstractContextManager[None]:
    """As `named_queries`, with the ids in a file."""
    return named_queries(None if path is None else read_query_ids(path))


@reads
def read_query_ids(path: PathLike) -> list[str]:
    """The ids of queries in a file of topics, or in a file with an id, or the text that is the id, on each line."""
    text = text_of(load(path), os.fspath(path))
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if lines and not any("\t" in line or line[0] in "<{[" for line in lines):
        return lines
    from cranfield.collection.topics import Topics

    return list(Topics.read(path))


def is_response(lines: list[str]) -> bool:
    """Whether a text begins like a response of a search engine, or like a rank-eval request.

    >>> is_response(['{"took": 3, "timed_out": false, "hits": {"hits": []}}']), is_response(['{"q": {"d": 1}}'])
    (True, False)
    """
    start = "\n".join(lines[:200])[:INSPECTED]
    return _RESPONSE.match(start) is not None


def read_response(buffer: Buffer, kind: str, origin: str) -> Columns:
    """The lists in responses, or the judgments in a rank-eval request."""
    text = text_of(buffer)
    try:
        data = json.loads(text)
    except RecursionError:
        raise DataError(origin, None, "is JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        data = _lines(text, origin, error)
    if kind == "qrels":
        return _ratings(data, origin)
    for key, what in {"requests": "a rank-eval request holds", "queries": "ratings for RRE are"}.items():
        if isinstance(data, dict) and key in data and "responses" not in data:
            raise DataError(origin, None, f"{what} judgments, expected a run: responses of a search engine")
    found = list(_responses(data, origin))
    if not found:
        raise DataError(origin, None, "is empty, expected responses of a search engine")
    return run_of_responses(found, origin)


def _lines(text: str, origin: str, error: json.JSONDecodeError) -> list[Any]:
    """A response per line; if its lines are not responses either, the first error is reported."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2 or "Extra data" not in error.msg:
        raise DataError(origin, error.lineno, f"is not valid JSON: {error.msg} (column {error.colno})") from None
    data = []
    for number, line in lines:
        try:
            data.append(json.loads(line))
        except ValueError as wrong:
            raise DataError(origin, number, f"is not valid JSON: {wrong}") from None
    return data


Response = tuple[str, str, Any]
"""A topic, where its response is in the file, and the list of hits."""


def _responses(data: Any, origin: str) -> Iterable[Response]:
    if isinstance(data, list):
        ids = _ids.get()
        if ids is not None and len(ids) != len(data):
            queries = counted(len(ids), "query", "queries")
            raise DataError(origin, None, f"has {counted(len(data), 'response')}, but there are ids of {queries}")
        for number, entry in enumerate(data, 1):
            topic = str(number) if ids is None else ids[number - 1]
            yield response_of(entry, topic, f"response {number}", origin)
    elif not isinstance(data, dict):
        raise DataError(origin, None, f"is {shown(data)}, expected responses of a search engine")
    elif isinstance(data.get("responses"), list):
        yield from _responses(data["responses"], origin)
    elif isinstance(data.get("details"), dict):
        for topic, entry in data["details"].items():
            hits = entry.get("hits") if isinstance(entry, dict) else None
            if not isinstance(hits, list):
                raise DataError(origin, None, f"topic {topic!r} has {shown(entry)}, expected hits")
            yield topic, f"topic {topic!r}", [hit.get("hit") if isinstance(hit, dict) else hit for hit in hits]
    elif _is_one(data):
        yield response_of(data, "1", "the response", origin)
    else:
        for topic, entry in data.items():
            yield response_of(entry, topic, f"topic {topic!r}", origin)


def _is_one(data: dict[str, Any]) -> bool:
    """Whether this is a response, and not {topic: response}, even if a topic is called `hits`."""
    hits, response, root = data.get("hits"), data.get("response"), data.get("root")
    inner = hits.get("hits", []) if isinstance(hits, dict) else hits
    return (
        isinstance(inner, list)
        or (isinstance(response, dict) and "docs" in response)
        or "error" in data
        or _is_vespa(root)
    )


def _is_vespa(root: Any) -> bool:
    return isinstance(root, dict) and (root.get("id") == "toplevel" or "children" in root or "errors" in root)


def _hits_of_vespa(root: dict[str, Any], where: str, origin: str) -> list[Any]:
    """The hits of Vespa under the names of other engines; a document has the id that its owner gave it."""
    errors, coverage = root.get("errors"), root.get("coverage")
    if errors:
        raise DataError(origin, None, f"{where} has errors: {shown(errors)}; repeat this search, or remove it")
    if isinstance(coverage, dict) and (coverage.get("degraded") or {}).get("timeout") is True:
        raise DataError(origin, None, f"{where} timed out and may lack hits; repeat this search")
    children = root.get("children", [])
    if not isinstance(children, list):
        raise DataError(origin, None, f"{where} has {shown(children)}, expected a list of hits (children)")
    return [_hit_of_vespa(hit, where, origin) for hit in children]


def _hit_of_vespa(hit: Any, where: str, origin: str) -> Any:
    if not isinstance(hit, dict) or "id" not in hit:
        return hit
    fields = hit.get("fields")
    doc = fields.get("documentid", hit["id"]) if isinstance(fields, dict) else hit["id"]
    if isinstance(doc, str) and doc.startswith("index:"):
        what = f"{where}: the id {shown(doc)} is internal to Vespa; ask for a summary with the field documentid"
        raise DataError(origin, None, what)
    named = _VESPA_ID.fullmatch(doc) if isinstance(doc, str) else None
    scores = {"score": hit["relevance"]} if "relevance" in hit else {}
    return {"id": named[1] if named else doc, **scores}


def response_of(entry: Any, topic: str, where: str, origin: str) -> Response:
    """The hits of one response; a failed search is an error."""
    if not isinstance(entry, dict):
        raise DataError(origin, None, f"{where} is {shown(entry)}, expected an object with hits")
    topic = next((str(entry[key]) for key in COLUMNS["topic"] if isinstance(entry.get(key), str | int)), topic)
    if isinstance(entry.get("response"), dict) and not isinstance(entry["response"].get("docs"), list):
        entry = entry["response"]
    if "error" in entry and not isinstance(entry.get("hits"), dict):
        raise DataError(origin, None, f"{where} is an error: {shown(entry['error'])}; repeat this search, or remove it")
    if entry.get("timed_out") is True:
        raise DataError(origin, None, f"{where} timed out and may lack hits; repeat this search")
    hits = entry.get("hits")
    if isinstance(hits, dict):
        hits = hits.get("hits")
    if hits is None and _is_vespa(entry.get("root")):
        hits = _hits_of_vespa(entry["root"], where, origin)
    if hits is None and isinstance(entry.get("response"), dict):
        hits = entry["response"].get("docs")
    if not isinstance(hits, list):
        engines = "hits.hits (Elasticsearch, OpenSearch), response.docs (Solr) or root.children (Vespa)"
        raise DataError(origin, None, f"{where} has no hits: expected {engines}")
    return topic, where, hits


def run_of_responses(responses: list[Response], origin: str) -> Columns:
    """Hits as columns; without scores, a document scores 1 / rank."""
    topics: list[str] = []
    docs: list[Any] = []
    values: list[Any] = []
    for topic, where, hits in responses:
        wrong = next((place for place, hit in enumerate(hits) if not isinstance(hit, dict)), None)
        if wrong is not None:
            raise DataError(origin, None, f"{where}: hit {wrong + 1} is {shown(hits[wrong])}, expected an object")
        id_key, score_key = _keys(hits)
        try:
            docs += map(itemgetter(id_key), hits)
            scores = list(map(itemgetter(score_key), hits)) if hits and score_key in hits[0] else [None] * len(hits)
        except (KeyError, TypeError):
            place = next(i for i, hit in enumerate(hits) if not _complete(hit, id_key, score_key, hits))
            wanted = f"{id_key} and {score_key}" if hits and score_key in hits[0] else id_key
            message = f"{where}: hit {place + 1} is {shown(hits[place])}, expected {wanted}"
            raise DataError(origin, None, message) from None
        if None in scores:
            scores = [1 / rank for rank in range(1, len(hits) + 1)]
        values += scores
        topics += repeat(topic, len(hits))
    seen = [topic for topic, _, _ in responses]
    if len(set(seen)) < len(seen):
        twice = next(topic for place, topic in enumerate(seen) if topic in seen[:place])
        raise DataError(origin, None, f"topic {twice!r} has two responses, expected one")
    return Columns(topics, docs, values, origin=origin, unit="hit")


def _keys(hits: list[Any]) -> tuple[str, str]:
    first = hits[0] if hits and isinstance(hits[0], dict) else {}
    return ("_id" if "_id" in first or "id" not in first else "id"), ("_score" if "_score" in first else "score")


def _complete(hit: Any, id_key: str, score_key: str, hits: list[Any]) -> bool:
    return isinstance(hit, dict) and id_key in hit and (score_key in hit or score_key not in hits[0])


def _ratings(data: Any, origin: str) -> Columns:
    """The judgments of a rank-eval request, or of ratings for the Rated Ranking Evaluator as Quepid exports them."""
    if isinstance(data, dict) and isinstance(data.get("queries"), list):
        data = {"requests": [_rated_query(number, query, origin) for number, query in enumerate(data["queries"], 1)]}
    requests = data.get("requests") if isinstance(data, dict) else data
    if not isinstance(requests, list):
        message = "has no judgments: expected a rank-eval request, {requests: [{id: ..., ratings: [...]}]}"
        raise DataError(origin, None, message)
    topics: list[str] = []
    entries: list[Any] = []
    for number, request in enumerate(requests, 1):
        ratings = request.get("ratings") if isinstance(request, dict) else None
        if not isinstance(ratings, list):
            raise DataError(origin, None, f"request {number} is {shown(request)}, expected id and ratings")
        topics += repeat(str(request.get("id", number)), len(ratings))
        entries += ratings
    try:
        docs, grades = list(map(itemgetter("_id"), entries)), list(map(itemgetter("rating"), entries))
    except (KeyError, TypeError):
        wrong = next(e for e in entries if not (isinstance(e, dict) and "_id" in e and "rating" in e))
        raise DataError(origin, None, f"rating {shown(wrong)}, expected _id and rating") from None
    if not entries:
        raise DataError(origin, None, f"is empty, expected ratings, the {VALUE['qrels']}s of documents")
    return Columns(topics, docs, grades, origin=origin, unit="rating")


def _rated_query(number: int, query: Any, origin: str) -> dict[str, Any]:
    """A query of the Rated Ranking Evaluator as a request of rank-eval; its text is the id of the topic."""
    documents = query.get("relevant_documents") if isinstance(query, dict) else None
    texts = query.get("placeholders") if isinstance(query, dict) else None
    text = texts.get("$query") if isinstance(texts, dict) else None
    if not isinstance(documents, dict) or not isinstance(text, str):
        wanted = "expected placeholders with $query, and relevant_documents: {grade: [document, ...]}"
        raise DataError(origin, None, f"query {number} is {shown(query)}, {wanted}")
    ratings = []
    for grade, ids in documents.items():
        try:
            value = float(grade)
        except ValueError:
            raise DataError(origin, None, f"query {text!r}: the grade is {grade!r}, expected a number") from None
        if not isinstance(ids, list):
            raise DataError(
                origin, None, f"query {text!r}: grade {grade} has {shown(ids)}, expected a list of documents"
            )
        ratings += [{"_id": doc, "rating": int(value) if value.is_integer() else value} for doc in ids]
    return {"id": text, "ratings": ratings}


def response_names(buffer: Buffer, origin: str) -> list[str]:
    """Names of columns as a table with this content would have them, to tell runs from judgments."""
    start = bytes(buffer[:INSPECTED])
    return ["query_id", "doc_id", "relevance" if _JUDGMENTS.search(start) else "score"]


def not_written(out: Outgoing, path: str) -> Iterator[bytes]:
    """Responses come from search engines only."""
    raise UsageError(f"{path}: the format search is only read; write json, or another format")
