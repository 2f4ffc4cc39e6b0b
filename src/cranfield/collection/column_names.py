"""Common names of the columns of a table, and the role of each column."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TypeAlias

from cranfield.errors import DataError, UsageError

COLUMNS = {
    "topic": ("topic_id", "topicid", "query_id", "queryid", "qid", "q_id", "topic", "query", "query_text"),
    "doc": ("doc_id", "docno", "docid", "document_id", "corpus_id", "pid", "did", "doc", "document", "_id"),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "rating", "score"),
    "score": ("score", "_score", "sim", "similarity"),
    "rank": ("rank", "position", "doc_position"),
    "name": ("run", "run_id", "runid", "tag", "name", "system"),
    "label": ("intent", "subtopic", "subtopic_id", "iteration", "iter"),
}
"""Names by role, the most specific first: in a frame with both `qid` and `query`, the latter is a text."""

VALUE = {"qrels": "grade", "run": "score"}
"""The name of the number of an entry, for messages."""

_HEADER_WORDS = frozenset(word for words in COLUMNS.values() for word in words)
ROLES = ("topic", "doc", "grade", "score", "rank", "name", "label")
"""The roles that a column can be given by `named_columns`."""
ColumnNames: TypeAlias = Mapping[str, str] | Sequence[str]
"""{role: name of its column}; or, for a file without a header, the names of its columns in their order."""
_chosen: ContextVar[Mapping[str, str]] = ContextVar("named columns", default=MappingProxyType({}))
_header: ContextVar[tuple[str, ...]] = ContextVar("header of files without one", default=())


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

    >>> with named_columns({"topic": "term", "doc": "sku"}):
    ...     find_columns(["term", "sku", "score"], COLUMNS)
    {'topic': 0, 'doc': 1, 'grade': 2, 'score': 2}
    """
    named = isinstance(columns, Mapping)
    chosen = _chosen.set(checked_columns(columns) if columns and named else _chosen.get())  # type: ignore[arg-type]
    header = _header.set(_checked_header(columns) if columns and not named else _header.get())
    try:
        yield
    finally:
        _chosen.reset(chosen)
        _header.reset(header)


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
    words = {**words, **{role: _words_of(role, known) for role, known in words.items()}} if _chosen.get() else words
    first = {role: next((word for word in known if word in keys), None) for role, known in words.items()}
    return {role: keys.index(word) for role, word in first.items() if word is not None}


def _words_of(role: str, known: Sequence[str]) -> Sequence[str]:
    """The names of a role: the one that was chosen for it, or the usual ones that were not chosen for another role."""
    chosen = {role: column_key(name) for role, name in _chosen.get().items()}
    if role == "value":  # the score of a run or the grade of judgments
        role = "grade" if known is COLUMNS["grade"] else "score"
    if role in chosen:
        return (chosen[role],)
    return [word for word in known if word not in chosen.values()]


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
    return f"no column for the {noun} among {', '.join(map(str, names))}; expected one called {', '.join(words)}"


def required_columns(names: Sequence[str], kind: str, origin: str) -> dict[str, int]:
    """Like `run_or_qrels_columns`, but a missing topic, document or number is an error.

    A run with ranks and no scores uses its ranks as the value.
    """
    columns = run_or_qrels_columns(names, kind)
    if message := repeated_column(names, columns.values()):
        raise DataError(origin, None, message)
    if "value" not in columns and "rank" in columns:
        columns["value"] = columns["rank"]
    for role, noun in {"topic": "topic", "doc": "document", "value": VALUE[kind]}.items():
        if role not in columns:
            words = COLUMNS[VALUE[kind] if role == "value" else role]
            message = no_column(noun, names, _words_of(role, words))
            reader = f"{'Run' if kind == 'run' else 'Qrels'}.of(..., columns={{{role_named(role, kind)!r}: NAME}})"
            raise DataError(origin, None, f"{message}; to name it: {reader}")
    return columns


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
