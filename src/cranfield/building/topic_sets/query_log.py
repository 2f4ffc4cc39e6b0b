"""A query log: the distinct queries of a search engine, how often each was asked, and by how many users.

A file holds a query per line, queries with counts, or a table with names of columns.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.assessor_labels import factorised
from cranfield.building.label_files import Times, seconds_of
from cranfield.collection.column_names import find_columns
from cranfield.collection.doors import header_cells, reads
from cranfield.collection.source import HEAD, PathLike, check_content, load, shown_path, text_of, unmarked
from cranfield.collection.tables.cells import Coded
from cranfield.collection.tables.table_schema import Numbers, Schema, Words
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
_QUERY = Words(LOG_COLUMNS["query"], may_be_empty=True, coded=True)
_COUNT = Numbers(LOG_COLUMNS["count"], least=0, whole=True, optional=True)
TABLES = {
    separator: Schema(
        EXPECTED, layouts=(), separators=separator, quoted=separator, any_bytes=True, query=_QUERY, count=_COUNT,
        user=Words(LOG_COLUMNS["user"], may_be_empty=True, coded=True, optional=True),
        time=Times(LOG_COLUMNS["time"], blank=np.nan, optional=True),
    )
    for separator in "\t,;"
}  # fmt: skip
"""Tables with a header, by the separator of their columns."""
LINES = Schema("a query", header=False, separators="\n", any_bytes=True, query=_QUERY)
COUNTS = Schema(
    "query, tab and count",
    header=False,
    separators="\t",
    any_bytes=True,
    query=_QUERY,
    count=replace(_COUNT, optional=False),
)
_UNDECODED = re.compile("[\ud800-\udfff]")
_FIRST_LINE = re.compile(r"(?:\A|(?<=[\r\n]))[^\S\r\n]*\S[^\r\n]*")
"""The first line that is not blank."""


@dataclass(frozen=True, eq=False)
class LogColumns:
    """The columns of a log: an entry each time that a user asked a query, or an entry per query and a count."""

    queries: Coded
    counts: Index64 | None = None
    users: Coded | None = None
    times: Array | None = None
    origin: str = "log"
    notes: tuple[str, ...] = ()

    def where(self, keep: NDArray[np.bool_]) -> LogColumns:
        """Some of the entries."""
        return replace(
            self, queries=self.queries.kept(keep), counts=None if self.counts is None else self.counts[keep],
            users=None if self.users is None else self.users.kept(keep),
            times=None if self.times is None else self.times[keep],
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
    line = _FIRST_LINE.search(text)
    if line is None:
        raise DataError(origin, None, f"is empty, expected {EXPECTED}")
    first = line[0]
    separator = "," if first.lstrip().startswith("{") else _header_separator(first, origin)
    schema = TABLES[separator] if separator else COUNTS if "\t" in first.strip() else LINES
    rows = schema.read_content(text.encode("utf-8", "surrogateescape"), origin)
    counts = rows["count"].astype(np.int64) if "count" in rows else None
    notes = (f"columns of the log that are not used: {listed(rows.unused)}",) if rows.unused else ()
    columns = LogColumns(rows["query"], counts, rows.columns.get("user"), rows.columns.get("time"), origin, notes)
    return _decodable(columns, encoding)


def _header_separator(line: str, origin: str = "") -> str | None:
    """The separator of a header with a column for the query; None if the line is not a header.

    >>> _header_separator("AnonID\\tQuery\\tQueryTime"), _header_separator("query"), _header_separator("weather, maps")
    ('\\t', ',', None)
    """
    for separator in TABLES:
        names = header_cells(line, separator, origin)
        if "query" in find_columns(names, LOG_COLUMNS):
            return separator if len(names) > 1 else ","
    return None


def _decodable(columns: LogColumns, encoding: str) -> LogColumns:
    """The queries without bytes that the encoding does not have; a note counts the others."""
    decoded = np.array([_UNDECODED.search(query) is None for query in columns.queries.texts])
    if decoded.all():
        return columns
    good = decoded[columns.queries.number]
    bad = int((~good).sum())
    example = columns.queries.texts[int(np.argmin(decoded))]
    message = (
        f"{counted(bad, 'query is', 'queries are')} not {encoding.upper()}, such as "
        f"{example.encode('utf-8', 'surrogateescape')[:60]!r}; choose another by encoding=, such as latin-1"
    )
    if not good.any():
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
            rows = COUNTS.read(dict(zip(map(str, thing), thing.values(), strict=True)), "log")
            columns = LogColumns(rows["query"], rows["count"].astype(np.int64))
        else:
            columns = LogColumns(LINES.read([(str(query),) for query in thing], "log")["query"])
        return cls._from(columns.between(since, until), steps)

    @classmethod
    def _from(cls, columns: LogColumns, steps: Sequence[str]) -> QueryLog:
        written, forms = columns.queries.number, columns.queries.texts
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
            size = len(columns.users.texts)
            seen = np.unique((key * size + columns.users.number)[weights > 0])
            users = np.bincount(seen // size, minlength=len(keys))
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
