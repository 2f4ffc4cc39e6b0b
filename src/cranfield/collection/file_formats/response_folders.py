"""Read a folder with the response to one query in each file, which is named after the query: `responses/q1.json`.

A file holds what a search engine returns (see `search_responses`), a list of documents or of objects with ids and
perhaps scores, best first, or a table with a column for the document and perhaps one for its score or rank.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cranfield import _core
from cranfield.collection.column_names import COLUMNS, DOCUMENTS, ITEMS, find_columns, header_delimiter
from cranfield.collection.columns import Columns, with_way_out
from cranfield.collection.doors import csv_rows, reads
from cranfield.collection.file_formats.search_responses import Response, is_response, response_of, run_of_responses
from cranfield.collection.file_formats.structured import parsed_json, without_comments
from cranfield.collection.source import check_encoding, load, stem, text_of, without_compression
from cranfield.errors import DataError
from cranfield.text import counted

SUFFIXES = (".json", ".csv", ".tsv")
ROLES = {role: COLUMNS[role] for role in ("topic", "doc", "score", "rank")}


def holds_responses(folder: str) -> bool:
    """Whether the first file of a folder holds the response to one query."""
    names = _names(folder)
    return bool(names) and _suffix(names[0]) in SUFFIXES and _read(folder, names[0]) is not None


@reads
def read_response_folder(folder: str) -> Columns:
    """The run in a folder: a list for each file, whose name is the topic."""
    names = _names(folder)
    if not names:
        raise DataError(folder, None, "is a directory, expected a file")
    responses: list[Response] = []
    for name in names:
        response = _read(folder, name) if _suffix(name) in SUFFIXES else None
        if response is None:
            what = "as one run, each file must hold the results of one query and have its name (q1.json)"
            runs = os.path.join(folder, "*")
            raise DataError(folder, None, f"is a directory; {what}, not so {name}; if each file is a run: '{runs}'")
        responses.append(response)
    return run_of_responses(responses, folder)


def _names(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def _suffix(name: str) -> str:
    return os.path.splitext(without_compression(name))[1].lower()


@reads
def _read(folder: str, name: str) -> Response | None:
    """The response in a file; None if the file holds several lists, or something else."""
    path = os.path.join(folder, name)
    if os.path.isdir(path):
        return None
    text = text_of(load(path), path)
    hits = _of_json(text, name, path) if _suffix(name) == ".json" else _of_table(text, path)
    return hits if hits is None or isinstance(hits, tuple) else (stem(name), name, hits)


def _of_json(text: str, name: str, path: str) -> Response | list[Any] | None:
    data = parsed_json(text, path)
    if isinstance(data, dict):
        return response_of(data, stem(name), name, path) if is_response([text]) and "responses" not in data else None
    if not isinstance(data, list) or is_response([text]):
        return None
    if all(isinstance(doc, str | int) and not isinstance(doc, bool) for doc in data):
        return [{"id": doc} for doc in data]
    return [_hit(entry) for entry in data] if all(map(_is_hit, data)) else None


def _is_hit(entry: Any) -> bool:
    """Whether it is a document with an id and no topic, rather than an entry of a run."""
    return isinstance(entry, Mapping) and "doc" in (places := find_columns(list(entry), _HIT)) and "topic" not in places


_HIT = {**ROLES, "doc": (*DOCUMENTS, "id", *ITEMS)}


def _hit(entry: Mapping[str, Any]) -> dict[str, Any]:
    names = list(entry)
    places = find_columns(names, _HIT)
    hit = {"id": entry[names[places["doc"]]]}
    return hit | ({"score": entry[names[places["score"]]]} if "score" in places else {})


def _of_table(text: str, path: str) -> list[Any] | None:
    skipped, rest = without_comments(text)
    check_encoding(rest, skipped, path)
    first = rest.partition("\n")[0].rstrip("\r")
    delimiter = header_delimiter(first) or ("\t" if "\t" in first else ",")
    rows = csv_rows(rest.splitlines(keepends=True), delimiter, path, skipped)
    _, header = next(rows, (0, []))
    places = find_columns(header, ROLES)
    if "doc" not in places or "topic" in places:
        return None
    hits: list[Any] = []
    for line, cells in filter(lambda row: row[1], rows):
        if len(cells) != len(header):
            raise DataError(path, line, f"{counted(len(cells), 'column')}, expected {len(header)}: {', '.join(header)}")
        hit: dict[str, Any] = {"id": cells[places["doc"]].strip()}
        role = next((role for role in ("score", "rank") if role in places), None)
        if role is not None:
            number = _core.parse_number(cells[places[role]].strip().encode("utf-8", "surrogateescape"))
            if number is None or (role == "rank" and number <= 0):
                what = with_way_out(f"the {role} is {cells[places[role]]!r}, expected a number")
                raise DataError(path, line, what)
            hit["score"] = number if role == "score" else 1 / number
        hits.append(hit)
    return hits
