"""Common names of the columns of a table, and the role of each column."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TypeAlias

from cranfield.errors import DataError, UsageError
from cranfield.text import listed

DOCUMENTS = ("doc_id", "docno", "docid", "document_id", "corpus_id", "pid", "did", "doc", "document", "_id")
ITEMS = (
    "passage_id", "passageid", "chunk_id", "chunkid", "product_id", "productid", "sku", "item_id", "itemid", "movie_id",
    "movieid", "passage", "chunk", "product", "item",
)  # fmt: skip
"""What passages, products and recommended items are called. Beside an `id`, some of these are texts."""
COLUMNS = {
    "topic": (
        "topic_id", "topicid", "query_id", "queryid", "qid", "q_id", "topic", "query", "query_text", "question_id",
        "questionid", "question", "user_id", "userid", "user",
    ),
    "doc": (*DOCUMENTS, *ITEMS),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "rating", "relevant", "score"),
    "score": ("score", "_score", "sim", "similarity", "prediction"),
    "rank": ("rank", "position", "doc_position"),
    "name": ("run", "run_id", "runid", "tag", "name", "system"),
    "label": ("intent", "subtopic", "subtopic_id", "iteration", "iter"),
}  # fmt: skip
"""Names by role, the most specific first: in a frame with both `qid` and `query`, the latter is a text."""

VALUE = {"qrels": "grade", "run": "score"}
"""The name of the number of an entry, for messages."""

MOST_NAMES = 9
"""The number of usual names in a message about a missing column."""
_HEADER_WORDS = frozenset(word for words in COLUMNS.values() for word in words)
ROLES = ("topic", "doc", "grade", "score", "rank", "name", "label")
"""The roles that a column can be given by `named_columns`."""
ColumnNames: TypeAlias = Mapping[str, str] | Sequence[str]
"""{role: name of its column}; or, for a file without a header, the names of its columns in their order."""
_chosen: ContextVar[Mapping[str, str]] = ContextVar("named columns", default=MappingProxyType({}))
_header: ContextVar[tuple[str, ...]] = ContextVar("header of files without one", default=())
_unnamed: ContextVar[dict[str, str]] = ContextVar("roles whose named column no table had so far", default={})  # noqa: B039
"""{role: the columns of a table that has another one for it, or nothing once a table has the named one}."""


def checked_columns(columns: Mapping[str, str], words: Mapping[str, Sequence[str]] = COLUMNS) -> dict[str, str]:
    """{role: name of its column}, with the roles checked; a role can be written in any of its usual names, `words`.

    >>> checked_columns({"query": "search term", "doc": "sku"})
    {'topic': 'search term', 'doc': 'sku'}
    """
    checked: dict[str, str] = {}
    for role, name in columns.items():
        known = role if role in words else next((name for name in words if column_key(role) in words[name]), None)
        if known is None:
            raise UsageError(f"columns: no role {role!r}; there are {', '.join(words)}")
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"columns: the {known} is {name!r}, must be the name of a column")
        if known in checked:
            raise UsageError(f"columns: the {known} is given twice, as {checked[known]!r} and {name!r}")
        checked[known] = name
    return checked


@contextmanager
def named_columns(columns: ColumnNames | None) -> Iterator[None]:
    """Within this context, tables are read with these columns: {role: name}, or the names for files without a header.

    A table without the column that is named for a role is read with the usual names, since judgments and runs rarely
    have the same; a name that no table has is an error.

    >>> with named_columns({"topic": "term", "doc": "sku"}):
    ...     find_columns(["term", "sku", "score"], COLUMNS)
    {'topic': 0, 'doc': 1, 'grade': 2, 'score': 2}
    """
    named = isinstance(columns, Mapping)
    chosen = _chosen.set(checked_columns(columns) if columns and named else _chosen.get())  # type: ignore[arg-type]
    header = _header.set(_checked_header(columns) if columns and not named else _header.get())
    unnamed = _unnamed.set({} if columns and named else _unnamed.get())
    try:
        yield
        if columns and named:
            _check_all_named()
    finally:
        _chosen.reset(chosen)
        _header.reset(header)
        _unnamed.reset(unnamed)


def _check_all_named() -> None:
    for role, names in _unnamed.get().items():
        if names:
            raise UsageError(
                f"columns: no table has the column {_chosen.get()[role]!r} of the {role}; there are {names}"
            )


def _checked_header(names: Iterable[str]) -> tuple[str, ...]:
    header = tuple(names) if not isinstance(names, str) else ()
    if len(header) < 2 or not all(isinstance(name, str) and name.strip() for name in header):
        raise UsageError(f"columns == {names!r}, must be {{role: name}}, or the names of two columns or more")
    return header


def header_of(line: str, kind: str) -> tuple[str, tuple[str, ...]] | None:
    """The delimiter and the header that `named_columns` gives to a file of this kind with this first line, if any.

    >>> with named_columns(["topic", "doc", "grade"]):
    ...     header_of("7;d1;3", "qrels"), header_of("topic;doc;grade", "qrels"), header_of("7;d1;3", "run")
    ((';', ('topic', 'doc', 'grade')), None, None)
    """
    names = _header.get()
    if not names or header_delimiter(line) is not None:
        return None
    delimiter = next((mark for mark in DELIMITERS if len(split_cells(line, mark)) == len(names)), None)
    places = run_or_qrels_columns(names, kind)
    complete = {"topic", "doc"} <= places.keys() and not places.keys().isdisjoint({"value", "rank"})
    return (delimiter, names) if delimiter is not None and complete else None


def split_cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line, which may be quoted.

    >>> split_cells('7;"a;b";3', ";")
    ['7', 'a;b', '3']
    """
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return [line]


def assumed_header(width: int) -> list[str]:
    """The names that `named_columns` gives to the columns of a small table without a header; empty if none."""
    names = _header.get()
    return list(names) if len(names) == width else []


DELIMITERS = ("\t", ",", ";", "|")
DELIMITER = {"csv": ",", "tsv": "\t"}
"""The usual delimiter of a format."""


def column_key(name: str) -> str:
    """The name of a column as `COLUMNS` spells it.

    >>> column_key(" Query-ID")
    'query_id'
    """
    return name.strip().lstrip("!").lower().replace("-", "_").replace(" ", "_")


def find_columns(names: Sequence[str], words: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The position of the column of each role; roles without a column are left out.

    >>> find_columns(["qid", "query", "docno"], COLUMNS)
    {'topic': 0, 'doc': 2}
    """
    keys = [column_key(name) for name in names]
    if _chosen.get():
        words = {role: _words_of(role, known, keys) for role, known in words.items()}
    first = {role: next((word for word in known if word in keys), None) for role, known in words.items()}
    return {role: keys.index(word) for role, word in first.items() if word is not None}


def _words_of(role: str, known: Sequence[str], keys: Sequence[str]) -> Sequence[str]:
    """The names of a role in a table: the one that was chosen for it, or the usual ones not chosen for another role."""
    chosen = {role: column_key(name) for role, name in _chosen.get().items()}
    if role == "value":  # the score of a run or the grade of judgments
        role = "grade" if known is COLUMNS["grade"] else "score"
    usual = [word for word in known if word not in chosen.values()]
    if role not in chosen:
        return usual
    if chosen[role] in keys:
        _unnamed.get()[role] = ""
        return (chosen[role],)
    if any(word in keys for word in usual):
        _unnamed.get().setdefault(role, ", ".join(keys))
    return usual


def run_or_qrels_columns(names: Sequence[str], kind: str) -> dict[str, int]:
    """The position of each column of a run (topic, doc, value, rank, name) or of qrels (topic, doc, value, label).

    >>> run_or_qrels_columns(["qid", "query", "docno", "score"], "run")
    {'topic': 0, 'doc': 2, 'value': 3}
    """
    roles = {"topic": "topic", "doc": "doc", "value": VALUE[kind]}
    roles |= {"rank": "rank", "name": "name"} if kind == "run" else {"label": "label"}
    return find_columns(names, {role: COLUMNS[words] for role, words in roles.items()})


def repeated_column(names: Sequence[str], used: Iterable[int]) -> str | None:
    """A message if a column that is used shares its name with another; else None.

    >>> repeated_column(["qid", "docno", "score", "Score"], [0, 1, 2])
    '2 columns are called score (3 and 4), must be one: rename or drop the others'
    """
    keys = [column_key(name) for name in names]
    for at in used:
        places = [str(place) for place, key in enumerate(keys, 1) if key == keys[at]]
        if len(places) > 1:
            where = " and ".join([", ".join(places[:-1]), places[-1]])
            return f"{len(places)} columns are called {names[at]} ({where}), must be one: rename or drop the others"
    return None


def no_column(noun: str, names: Iterable[object], words: Iterable[str]) -> str:
    """The message about a missing column."""
    usual = listed(list(words), MOST_NAMES)
    return f"no column for the {noun} among {', '.join(map(str, names))}; expected one called {usual}"


def required_columns(names: Sequence[str], kind: str, origin: str) -> dict[str, int]:
    """Like `run_or_qrels_columns`, but a missing topic, document or number is an error.

    A run with ranks and no scores uses its ranks as the value. Judgments with two columns, the topic and the document,
    have no value: each row is a relevant document.
    """
    columns = run_or_qrels_columns(names, kind)
    if message := repeated_column(names, columns.values()):
        raise DataError(origin, None, message)
    if "value" not in columns and "rank" in columns:
        columns["value"] = columns["rank"]
    if kind == "qrels" and len(names) == 2 and columns.keys() == {"topic", "doc"}:
        return columns
    missing = [role for role in ("topic", "doc", "value") if role not in columns]
    if missing:
        role, value = missing[0], VALUE[kind]
        noun = {"topic": "topic", "doc": "document", "value": value}[role]
        words = COLUMNS[value if role == "value" else role]
        raise DataError(origin, None, no_column(noun, names, words) + way_to_name(missing, columns, names, kind))
    return columns


def way_to_name(missing: Sequence[str], columns: Mapping[str, int], names: Sequence[str], kind: str) -> str:
    """The end of a message about roles without a column: the columns to name, taken in their order.

    >>> way_to_name(["doc"], {"topic": 0, "value": 2}, ["query", "article", "grade"], "qrels")
    "; to say which it is, such as: columns={'doc': 'article'}"
    """
    free = [name for place, name in enumerate(names) if place not in columns.values()]
    example = {role_named(role, kind): name for role, name in zip(missing, free, strict=False)}
    if len(example) == len(missing):
        return f"; to say which it is, such as: columns={example}"
    ones = (
        "; if each row is a relevant document, add a column of ones" if missing == ["value"] and kind == "qrels" else ""
    )
    return f"{ones}; to name it: columns={{{role_named(missing[0], kind)!r}: NAME}}" if free else ones


def role_named(role: str, kind: str) -> str:
    """A role as `named_columns` calls it: the value of a run is its score, that of qrels the grade."""
    return VALUE[kind] if role == "value" else role


def header_delimiter(line: str) -> str | None:
    """The delimiter of a header line; None if the line is not a header.

    >>> header_delimiter("query_id;doc_id;relevance")
    ';'
    """
    for delimiter in DELIMITERS:
        words = [column_key(word.strip().strip('"')) for word in line.split(delimiter)]
        if len((_HEADER_WORDS | set(map(column_key, _chosen.get().values()))).intersection(words)) >= 2:
            return delimiter
    return None
