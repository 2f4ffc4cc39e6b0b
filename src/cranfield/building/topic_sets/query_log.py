"""A query log: the distinct queries of a search engine, how often each was asked, and by how many users.

A file holds a query per line, queries with counts, or a table with names of columns.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.assessor_labels import factorised
from cranfield.building.label_files import seconds_of
from cranfield.collection.column_names import column_key, find_columns, no_column, repeated_column
from cranfield.collection.doors import header_cells, reads
from cranfield.collection.named_tables import NamedTable, lines_of, read_csv, read_json_lines
from cranfield.collection.source import HEAD, PathLike, check_content, load, shown_path, text_of, unmarked
from cranfield.errors import DataError, UsageError
from cranfield.frames import Tidy
from cranfield.text import counted, listed, shown
from cranfield.types import Array, Index64

LOG_COLUMNS = {
    "query": ("query", "query_text", "querytext", "query_string", "search_term", "search_query", "keywords"),
    "count": ("count", "frequency", "freq", "occurrences", "times", "n"),
    "user": ("user", "user_id", "userid", "anonid", "anon_id", "cookie", "client", "session", "session_id"),
    "time": ("time", "timestamp", "query_time", "querytime", "date", "datetime"),
}
"""Names of columns by role, the most specific first; `anonid` and `querytime` are those of the AOL log."""
EXPECTED = "a query per line, lines of query, tab and count, or a header with the column query"
_UNDECODED = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class LogColumns:
    """The columns of a log: an entry each time that a user asked a query, or an entry per query and a count."""

    queries: Sequence[str]
    counts: Index64 | None = None
    users: Sequence[str] | None = None
    times: Array | None = None
    origin: str = "log"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.queries):
            raise DataError(self.origin, None, f"holds no queries, expected {EXPECTED}")
        if self.counts is not None and (self.counts < 0).any():
            at = int(np.flatnonzero(self.counts < 0)[0])
            message = f"query {shown(self.queries[at])} has the count {self.counts[at]}, must be 0 or above"
            raise DataError(self.origin, None, message)

    def where(self, keep: Any) -> LogColumns:
        """Some of the entries."""
        mask = np.asarray(keep, dtype=bool)
        return replace(
            self, queries=list(compress(self.queries, mask)),
            counts=None if self.counts is None else self.counts[mask],
            users=None if self.users is None else list(compress(self.users, mask)),
            times=None if self.times is None else self.times[mask],
        )  # fmt: skip

    def between(self, since: Any, until: Any) -> LogColumns:
        """The entries from a time on and before another; a note counts the others."""
        if since is None and until is None:
            return self
        if self.times is None:
            raise UsageError(f"{self.origin} has no column for the time, so no period can be chosen")
        limits = []
        for name, value in {"since": since, "until": until}.items():
            try:
                limits.append(None if value is None else seconds_of(value))
            except (ValueError, TypeError):
                example = "must be a date such as 2026-01-31 or 2026-01-31T12:00, or seconds"
                raise UsageError(f"{name} == {shown(value)}, {example}") from None
        keep = ~np.isnan(self.times)
        if limits[0] is not None:
            keep &= self.times >= limits[0]
        if limits[1] is not None:
            keep &= self.times < limits[1]
        outside = int((~keep).sum())
        if outside == len(keep):
            raise DataError(self.origin, None, f"no query is from the period asked for; {outside:,} are outside it")
        note = f"{counted(outside, 'entry', 'entries')} outside the period asked for, or without a time, left out"
        return replace(self.where(keep), notes=(*self.notes, note) if outside else self.notes)


@reads
def from_file(path: PathLike, encoding: str = "utf-8") -> LogColumns:
    """The queries in a file, which may be compressed; `-` is standard input."""
    origin = shown_path(os.fspath(path))
    buffer = load(path)
    head = bytes(buffer[:HEAD])
    check_content(head, origin)
    if encoding.lower().replace("-", "").replace("_", "") == "utf8":
        text = text_of(buffer, origin)
    else:
        try:
            text = unmarked(bytes(buffer)).decode(encoding, "surrogateescape")
        except (LookupError, UnicodeError):
            raise UsageError(f"encoding == {encoding!r}, must be the name of an encoding, such as latin-1") from None
    text = text.lstrip("\ufeff")
    first = next((line for line in lines_of([text]) if line.strip()), "")
    if not first:
        raise DataError(origin, None, f"is empty, expected {EXPECTED}")
    if first.lstrip().startswith("{"):
        columns = _by_name(read_json_lines([text], origin, "an object with a query"), origin)
    elif delimiter := _header_delimiter(first, origin):
        columns = _by_name(read_csv([text], delimiter, origin, "queries"), origin)
    else:
        columns = _from_lines(text, origin)
    return _decodable(columns, encoding)


def _header_delimiter(line: str, origin: str = "") -> str | None:
    """The delimiter of a header with a column for the query; None if the line is not a header.

    >>> _header_delimiter("AnonID\\tQuery\\tQueryTime"), _header_delimiter("query"), _header_delimiter("weather, maps")
    ('\\t', ',', None)
    """
    for delimiter in "\t,;":
        names = header_cells(line.lstrip("\ufeff"), delimiter, origin)
        if "query" in find_columns(names, LOG_COLUMNS):
            return delimiter if len(names) > 1 else ","
    return None


def _from_lines(text: str, origin: str) -> LogColumns:
    """A query per line, or a query, a tab and a count."""
    lines = text.split("\n") if "\r" not in text else text.splitlines()
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if "\t" not in numbered[0][1].strip():
        return LogColumns([line for _, line in numbered], origin=origin)
    queries, counts = [], np.empty(len(numbered), dtype=np.int64)
    for at, (number, line) in enumerate(numbered):
        cells = line.rstrip("\r").split("\t")
        count = _whole(cells[1]) if len(cells) == 2 else None
        if count is None:
            content = f"{counted(len(cells), 'column')} between tabs" if len(cells) != 2 else f"count {shown(cells[1])}"
            raise DataError(origin, number, f"{content}, expected {EXPECTED}")
        queries.append(cells[0])
        counts[at] = count
    return LogColumns(queries, counts, origin=origin)


def _by_name(table: NamedTable, origin: str) -> LogColumns:
    names, columns, lines = table.names, table.columns, table.lines
    places = find_columns(names, LOG_COLUMNS)
    if message := repeated_column(names, places.values()):
        raise DataError(origin, None, message)
    if "query" not in places:
        raise DataError(origin, None, no_column("query", names, LOG_COLUMNS["query"]))

    def numbers(role: str, read: Any, kind: str, dtype: Any) -> Any:
        if role not in places:
            return None
        values = np.empty(len(lines), dtype=dtype)
        for at, value in enumerate(columns[places[role]]):
            try:
                values[at] = read(value)
            except (ValueError, TypeError):
                name = names[places[role]]
                raise DataError(origin, lines[at], f"{name} {shown(value)} is not {kind}") from None
        return values

    def count(value: Any) -> int:
        number = _whole(str(value))
        if number is None:
            raise ValueError
        return number

    def time(value: Any) -> float:
        return np.nan if value in (None, "") else seconds_of(value)

    known = {word for words in LOG_COLUMNS.values() for word in words}
    ignored = [name for name in names if column_key(name) not in known]
    notes = (f"columns of the log that are not used: {listed(ignored)}",) if ignored else ()
    users = None
    if "user" in places:
        users = ["" if value is None else str(value) for value in columns[places["user"]]]
    return LogColumns(
        ["" if value is None else str(value) for value in columns[places["query"]]],
        numbers("count", count, "a whole number, 0 or above", np.int64),
        users,
        numbers("time", time, "a date such as 2026-01-31T12:00:00, or a number of seconds", np.float64),
        origin,
        notes,
    )


def _whole(text: str) -> int | None:
    """A whole number, 0 or above; None if it is not one.

    >>> _whole(" 12"), _whole("12.0"), _whole("-1"), _whole("many")
    (12, 12, None, None)
    """
    number = re.fullmatch(r"\s*([0-9]{1,18})(?:\.0*)?\s*", text)
    return int(number[1]) if number else None


def _decodable(columns: LogColumns, encoding: str) -> LogColumns:
    """The queries without bytes that the encoding does not have; a note counts the others."""
    if not _UNDECODED.search("\n".join(columns.queries)):
        return columns
    good = [_UNDECODED.search(query) is None for query in columns.queries]
    bad = len(good) - sum(good)
    example = next(query for query, ok in zip(columns.queries, good, strict=True) if not ok)
    message = (
        f"{counted(bad, 'query is', 'queries are')} not {encoding.upper()}, such as "
        f"{example.encode('utf-8', 'surrogateescape')[:60]!r}; choose another by encoding=, such as latin-1"
    )
    if bad == len(good):
        raise DataError(columns.origin, None, message)
    return replace(columns.where(good), notes=(*columns.notes, f"{message}; left out"))


NORMALISATIONS = ("unicode", "case", "punctuation")
"""What two spellings of a query may differ in. White space is always normalised."""
USUAL = ("unicode", "case")


@dataclass(frozen=True, eq=False, repr=False)
class QueryLog(Tidy):
    """The distinct queries of a log, the most frequent first; equally frequent ones in the order of their keys.

    >>> log = QueryLog.of(["Weather", "maps", "weather ", "news"])
    >>> log.queries, log.counts.tolist()
    (('Weather', 'maps', 'news'), [2, 1, 1])
    """

    queries: tuple[str, ...]
    """The most frequent spelling of each query; of equally frequent ones, the first in the order of characters."""
    keys: tuple[str, ...]
    """Each query after normalisation; queries that are equal here are one query."""
    counts: Index64
    """How often each query was asked."""
    users: Index64 | None = None
    """How many users asked each query; None if the log does not name users."""
    origin: str = "log"
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        thing: Any,
        *,
        normalise: Iterable[str] = USUAL,
        encoding: str = "utf-8",
        since: Any = None,
        until: Any = None,
    ) -> QueryLog:
        """A log from a file or an object; a log is returned as it is.

        thing: a path, {query: count}, or queries. A file holds a query per line; or lines of query, tab, count; or a
            table (CSV, TSV, JSON-lines) with names of columns: query, and optionally count, user and time.
        normalise: queries count as the same if they are equal after these steps: `unicode` (NFKC: such as full-width
            letters and ligatures), `case` (case folding), `punctuation` (characters that are neither letters, digits,
            marks nor white space become spaces). White space is always normalised: one space between words, none at
            the ends.
        encoding: the encoding of a file. Lines that it cannot decode are left out, and a note counts them.
        since, until: count only queries from this time on, and before this time: dates such as 2026-01-31, or seconds.
        """
        if isinstance(thing, QueryLog):
            return thing
        steps = tuple(normalise)
        for step in steps:
            check.one_of("QueryLog", NORMALISATIONS, normalise=step)
        if isinstance(thing, str | os.PathLike):
            columns = from_file(thing, encoding)
        elif isinstance(thing, Mapping):
            columns = LogColumns(list(map(str, thing)), np.array(list(thing.values()), dtype=np.int64))
        else:
            columns = LogColumns([str(query) for query in thing])
        return cls._from(columns.between(since, until), steps)

    @classmethod
    def _from(cls, columns: LogColumns, steps: Sequence[str]) -> QueryLog:
        written, forms = factorised(columns.queries)
        spelling_of_form, spellings = factorised([" ".join(form.split()) for form in forms])
        spelling = spelling_of_form[written]
        key_of_spelling, keys = factorised([normalised(text, steps) for text in spellings])
        key = key_of_spelling[spelling]
        weights = np.ones(len(spelling), dtype=np.int64) if columns.counts is None else columns.counts
        total = _sums(spelling, weights, len(spellings))
        notes = list(columns.notes)
        if "" in keys:
            empty = keys.index("")
            note = f"{counted(int(_sums(key, weights, len(keys))[empty]), 'query', 'queries')} without text, left out"
            notes.append(note)
        counts = _sums(key, weights, len(keys))
        if columns.counts is not None and (never := int((counts == 0).sum())):
            notes.append(f"{counted(never, 'query', 'queries')} with a count of 0, left out")
        users = None
        if columns.users is not None:
            user, names = factorised(columns.users)
            seen = np.unique((key * len(names) + user)[weights > 0])
            users = np.bincount(seen // len(names), minlength=len(keys))
        # The spelling of a query: the most frequent one, then the first in the order of characters.
        best: dict[int, int] = {}
        for at, number in enumerate(key_of_spelling.tolist()):
            other = best.setdefault(number, at)
            if (-total[at], spellings[at]) < (-total[other], spellings[other]):
                best[number] = at
        by_key = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        by_count = by_key[np.argsort(-counts[by_key], kind="stable")].tolist()
        order = [number for number in by_count if keys[number] and counts[number] > 0]
        if not order:
            raise DataError(columns.origin, None, "holds no queries")
        return cls(
            tuple(spellings[best[number]] for number in order),
            tuple(keys[number] for number in order),
            counts[order],
            None if users is None else users[order],
            columns.origin,
            tuple(notes),
        )

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        volume = counted(self.volume, "time")
        return f"<QueryLog: {counted(len(self), 'query', 'queries')}, asked {volume}>"

    @property
    def volume(self) -> int:
        """How often queries were asked in all."""
        return int(self.counts.sum())

    def take(self, rows: Index64) -> QueryLog:
        """Some of the queries."""
        where = rows.tolist()
        return replace(
            self, queries=tuple(self.queries[i] for i in where), keys=tuple(self.keys[i] for i in where),
            counts=self.counts[rows], users=None if self.users is None else self.users[rows],
        )  # fmt: skip

    def at_least(self, times: int = 1, users: int = 1) -> QueryLog:
        """The queries that were asked often enough, by enough users; a note counts the others.

        A query that one person asked can identify the person, so logs are often published with such a limit.
        """
        check.whole("at_least", times=times, users=users)
        if users > 1 and self.users is None:
            raise UsageError(
                f"{self.origin} does not name users, so queries of {users} users or more cannot be found; ask for a "
                "number of times, or give the log a column user"
            )
        keep = self.counts >= times
        limits = [f"fewer than {counted(times, 'time')}"] if times > 1 else []
        if users > 1 and self.users is not None:
            keep &= self.users >= users
            limits.append(f"by fewer than {counted(users, 'user')}")
        lost = int((~keep).sum())
        if not lost:
            return self
        if lost == len(self):
            most = f"the most frequent one was asked {counted(int(self.counts.max()), 'time')}"
            if self.users is not None:
                most += f", and the most users of one query are {int(self.users.max()):,}"
            raise DataError(self.origin, None, f"no query is left: all were asked {' or '.join(limits)}; {most}")
        volume = int(self.counts[~keep].sum()) / self.volume
        note = f"{counted(lost, 'query', 'queries')} asked {' or '.join(limits)}, left out ({volume:.1%} of the volume)"
        left = self.take(np.flatnonzero(keep))
        return replace(left, notes=(*self.notes, note))

    def columns(self) -> dict[str, NDArray[Any]]:
        """query, count and, if the log names users, users."""
        users = {} if self.users is None else {"users": self.users}
        return {"query": np.array(self.queries, dtype=object), "count": self.counts, **users}


_PUNCTUATION = re.compile(r"[^\w\s]|_")


def normalised(text: str, steps: Sequence[str] = USUAL) -> str:
    """A query as it is compared with others.

    >>> normalised("  Pok\\u00e9mon   GO "), normalised("C++ tutorial!", ["case", "punctuation"])
    ('pokémon go', 'c tutorial')
    """
    if "unicode" in steps and not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "case" in steps:
        text = text.casefold()
        if "unicode" in steps and not text.isascii():
            text = unicodedata.normalize("NFKC", text)  # case folding can leave characters that are not composed
    if "punctuation" in steps:
        text = _PUNCTUATION.sub(" ", text)
    return " ".join(text.split())


def _sums(group: Index64, weights: Index64, size: int) -> Index64:
    """The sum of whole numbers in each group."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, group, weights)
    return sums
