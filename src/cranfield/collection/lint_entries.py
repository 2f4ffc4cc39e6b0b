"""Checks of the entries of one run or qrels file.

Each check is a function from entries to findings; add a new one to a tuple at the end of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.collection.lint_findings import Finding
from cranfield.collection.qrels import NO_INTENT, intent_labels
from cranfield.collection.run import several_tags
from cranfield.text import counted, listed

LONG_LIST = 1000
"""The most documents per topic that evaluation campaigns accept; longer lists are reported."""
BLOCK = 1 << 16
"""The rows that are sorted at a time, or those of one list if there are more."""


class Entries:
    """The entries of a table as arrays, and findings about them: how many entries, and the line of the first."""

    def __init__(self, path: str, kind: str, table: _core.Table) -> None:
        self.path = path
        self.kind = kind
        self.table = table
        self.values = table.values
        self.ranks = table.ranks
        self.lines = table.lines
        self.starts = table.list_start
        self.sizes = np.diff(self.starts)
        names = table.topics
        self.topic_of_list = [names[topic] for topic in table.list_topic.tolist()]

    def first(self, rows: NDArray[np.int64]) -> int | None:
        """The lowest line number of these rows."""
        return int(self.lines[rows].min()) if len(self.lines) and len(rows) else None

    def list_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lists of these rows."""
        return np.asarray(np.searchsorted(self.starts, rows, "right") - 1, dtype=np.int64)

    def lists(self, rows: NDArray[np.int64]) -> str:
        """The topics of these rows."""
        places = np.unique(self.list_of(rows)).tolist()
        topics = list(dict.fromkeys(self.topic_of_list[place] for place in places))
        return f"topic{'s' if len(topics) > 1 else ''} {listed(topics)}"

    def find(
        self, rows: NDArray[np.int64], severity: str, code: str, singular: str, plural: str, rest: str = ""
    ) -> Iterator[Finding]:
        """A finding about these rows, if there are any."""
        if len(rows):
            yield Finding(self.path, self.first(rows), severity, code, counted(len(rows), singular, plural) + rest)


Wrong = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]


def _followers(entries: Entries, key: NDArray[np.float64], *wrong: Wrong) -> list[NDArray[np.int64]]:
    """For each condition, the rows that fulfil it with the row before them, when each list is sorted by a key.

    Some lists are sorted at a time, so that a large file needs little memory.
    """
    found: list[list[NDArray[np.int64]]] = [[np.empty(0, dtype=np.int64)] for _ in wrong]
    cuts = np.searchsorted(entries.starts, np.arange(0, len(key) + BLOCK, BLOCK))
    ends = np.unique(entries.starts[np.minimum(cuts, len(entries.starts) - 1)])
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        lists = entries.list_of(np.arange(begin, end))
        order = np.lexsort((key[begin:end], lists))
        same = lists[order[:-1]] == lists[order[1:]]
        row, following = order[:-1][same] + begin, order[1:][same] + begin
        for condition, rows in zip(wrong, found, strict=True):
            rows.append(following[condition(row, following)])
    return [np.concatenate(rows) for rows in found]


def _infinite(entries: Entries) -> Iterator[Finding]:
    rows = np.flatnonzero(np.isinf(entries.values))
    noun = "score" if entries.kind == "run" else "grade"
    yield from entries.find(rows, "warning", "infinite", f"{noun} is infinite", f"{noun}s are infinite")


def _scattered(entries: Entries) -> Iterator[Finding]:
    if not len(entries.lines):
        return
    if not (entries.lines[1:] < entries.lines[:-1]).any():
        return  # rows are grouped by list, and in the order of the file
    in_file = np.argsort(entries.lines, kind="stable")
    lists = entries.list_of(in_file)
    changes = np.flatnonzero(np.append(True, lists[1:] != lists[:-1]))
    if len(changes) > len(entries.sizes):
        _, first = np.unique(lists[changes], return_index=True)
        rows = in_file[np.delete(changes, first)]
        message = f"the lines of a topic are not together: {entries.lists(rows)}"
        yield Finding(entries.path, entries.first(rows), "info", "scattered", message)


def ids_alike(path: str, topics: Sequence[str]) -> Iterator[Finding]:
    """Topic ids that differ only by leading zeros or case."""
    seen: dict[str, str] = {}
    for topic in topics:
        other = seen.setdefault(plain_id(topic), topic)
        if other != topic:
            message = f"topics {other!r} and {topic!r} differ only by leading zeros or case"
            yield Finding(path, None, "warning", "topic-ids", message)


def plain_id(topic: str) -> str:
    """A topic id without leading zeros and case.

    >>> plain_id("MB051"), plain_id("051"), plain_id("0")
    ('mb51', '51', '0')
    """
    digits = len(topic) - len(topic.lstrip("0123456789"))
    if digits:
        return (topic.lstrip("0") if topic.strip("0") else "0").casefold()
    head = topic.rstrip("0123456789")
    return head.casefold() + (topic[len(head) :].lstrip("0") or ("0" if len(head) < len(topic) else ""))


# ---- qrels


def _negative(entries: Entries) -> Iterator[Finding]:
    rows = np.flatnonzero(entries.values < 0)
    yield from entries.find(rows, "info", "negative-grades", "grade is negative", "grades are negative")


def _fractional(entries: Entries) -> Iterator[Finding]:
    finite = np.isfinite(entries.values)
    rows = np.flatnonzero(finite & (entries.values != np.rint(entries.values)))
    words = ("grade is not an integer", "grades are not integers", "; trec_eval reads the part before the point")
    yield from entries.find(rows, "info", "fractional-grades", *words)


def _irrelevant(entries: Entries) -> Iterator[Finding]:
    relevant = np.bincount(entries.list_of(np.flatnonzero(entries.values > 0)), minlength=len(entries.sizes))
    without = [entries.topic_of_list[place] for place in np.flatnonzero(relevant == 0).tolist()]
    if len(without) == len(entries.sizes):
        yield Finding(entries.path, None, "warning", "nothing-relevant", "no document is judged relevant")
    elif without:
        message = f"topics without a relevant document: {listed(without)}"
        yield Finding(entries.path, None, "warning", "topic-without-relevant", message)


def _judged_by_intent(entries: Entries) -> Iterator[Finding]:
    label = entries.table.label
    if not len(label) or len(entries.table.ranks):  # in a sample, it is the stratum
        return
    first = np.repeat(label[entries.table.list_start[:-1]], entries.sizes)
    varies = np.flatnonzero(label != first)
    if not len(varies):
        return
    labels, again = listed(entries.table.labels), _core.judged(entries.table, "max").dropped
    if again:
        intents = intent_labels(entries.table)
        none = "" if len(intents) == len(entries.table.labels) else f"; {NO_INTENT}: relevant to none of them"
        message = f"documents have several labels in column 2: these are judgments by intent ({listed(intents)}{none})"
        yield Finding(entries.path, entries.first(varies), "info", "intents", message)
    else:
        message = f"column 2 varies within topics ({labels}), but no document has two labels: it is ignored"
        yield Finding(entries.path, entries.first(varies), "info", "iterations", message)


# ---- runs


def _tags(entries: Entries) -> Iterator[Finding]:
    names = entries.table.names
    if len(names) > 1:
        yield Finding(entries.path, None, "info", "several-tags", f"{len(names)} runs in one file: {listed(names)}")
    elif len(entries.table.tags) > 1:
        yield Finding(entries.path, None, "warning", "several-tags", several_tags(entries.table.tags))


def _long_lists(entries: Entries) -> Iterator[Finding]:
    long = np.flatnonzero(entries.sizes > LONG_LIST)
    if len(long):
        message = f"{counted(len(long), 'list has', 'lists have')} more than {LONG_LIST:,} documents"
        longest = int(entries.sizes.max())
        yield Finding(entries.path, None, "info", "long-list", f"{message}, the longest {longest:,}")


def _ties(entries: Entries) -> Iterator[Finding]:
    values = entries.values
    (tied,) = _followers(entries, values, lambda row, following: values[row] == values[following])
    if len(tied):
        share = len(np.unique(entries.list_of(tied))) / len(entries.sizes)
        rest = f" the score of another ({share:.0%} of the lists); tied documents are ordered by id"
        yield from entries.find(tied, "info", "ties", "document has", "documents have", rest)


def _single_precision(entries: Entries) -> Iterator[Finding]:
    values = entries.values

    def only_in_32_bits(row: NDArray[np.int64], following: NDArray[np.int64]) -> NDArray[np.bool_]:
        one, other = values[row], values[following]
        with np.errstate(over="ignore"):
            return np.asarray((one != other) & (one.astype(np.float32) == other.astype(np.float32)))

    (rows,) = _followers(entries, values, only_in_32_bits)
    yield from entries.find(
        rows, "warning", "single-precision", "score differs", "scores differ",
        " from another in 64 bits but not in 32: trec_eval up to version 9 compares 32 bits and treats them as ties",
    )  # fmt: skip


def _ranks(entries: Entries) -> Iterator[Finding]:
    """Check the rank column for gaps and repeats, and against the scores."""
    if not len(entries.ranks):
        return
    bad = np.flatnonzero(np.isnan(entries.ranks))
    if len(bad):
        yield from entries.find(bad, "warning", "rank-not-a-number", "rank is not a number", "ranks are not numbers")
        return
    starts = entries.table.list_start[:-1]
    lowest = np.minimum.reduceat(entries.ranks, starts)
    for wrong, code, place in (
        (lowest == 0, "rank-from-0", "at rank 0"),
        ((lowest != 0) & (lowest != 1), "rank-start", "at another rank than 1"),
    ):
        lists = np.flatnonzero(wrong)
        if len(lists):
            begins = counted(len(lists), "list begins", "lists begin")
            message = f"{begins} {place}: {entries.lists(starts[lists])}"
            yield Finding(entries.path, entries.first(starts[lists]), "warning", code, message)
    values, ranks = entries.values, entries.ranks

    def step(row: NDArray[np.int64], following: NDArray[np.int64]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            return np.asarray(ranks[following] - ranks[row])

    repeated, gaps, against = _followers(
        entries,
        ranks,
        lambda row, following: step(row, following) == 0,
        lambda row, following: ~np.isin(step(row, following), (0, 1)),
        lambda row, following: (values[following] > values[row]) & (step(row, following) > 0),
    )
    for rows, code, singular, plural in (
        (repeated, "repeated-rank", "rank appears twice", "ranks appear twice"),
        (gaps, "rank-gap", "gap between ranks", "gaps between ranks"),
        (against, "rank-against-score", "score is higher than that of the previous rank",
         "scores are higher than those of the previous ranks"),
    ):  # fmt: skip
        yield from entries.find(rows, "warning", code, singular, plural, f": {entries.lists(rows)}")


Check = Callable[[Entries], Iterator[Finding]]
_BOTH: tuple[Check, ...] = (_infinite, _scattered, lambda entries: ids_alike(entries.path, entries.table.topics))
_QRELS: tuple[Check, ...] = (_negative, _fractional, _irrelevant, _judged_by_intent)
_RUN: tuple[Check, ...] = (_tags, _long_lists, _ties, _single_precision, _ranks)


def entry_findings(path: str, kind: str, table: _core.Table) -> Iterator[Finding]:
    """Everything odd about the entries of a run or of qrels."""
    entries = Entries(path, kind, table)
    for check in (*_BOTH, *(_RUN if kind == "run" else _QRELS)):
        yield from check(entries)
