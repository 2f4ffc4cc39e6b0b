"""Mutated runs and judgments for the core.

For every input: no crash (the sanitizers watch); a table, or a fault with a line inside the file; the same result with
one thread and with three; a join of the file that agrees with the join of the table; and the same judgments, or the
same fault, from windows and blocks of any size.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import Target
from mutation import mutate

from cranfield import _core
from cranfield.collection.file_formats.formats import QRELS, RUNS, Layout

RUN = b"1 Q0 d1 1 9.5 tag\n1\tQ0 d2 2 8.25 tag\r\n2 Q0 d1 1 0x1p3 tag\n# note\n\n2 Q0 d3 2 -inf tag\n1 Q0 d9 3 1e-3 b\n"
QREL = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n2 1 d3 -1\n"
ROWS = [
    b"\n", b" ", b"\t", b"\r\n", b"#", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"nan", b"inf", b"-", b"+", b"1e999",
    b"1e-999",
    b"0x", b"0x1p-2000", b".", b"1" * 40, b"a" * 70_000, b"1 Q0 d1 1 9.5 tag\n", b" " * 70, b"\x80" * 64, b"1.5", b"e",
    b"d1",
]  # fmt: skip


def contents(table: _core.Table) -> tuple[Any, ...]:
    return (
        table.names, table.topics, table.labels, table.docs(0, len(table)), table.list_start.tobytes(),
        table.list_topic.tobytes(), table.list_name.tobytes(), table.values.tobytes(), table.ranks.tobytes(),
        table.label.tobytes(), table.dropped,
    )  # fmt: skip


class Blocks:
    """Bytes that arrive in blocks."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size, self.position, self.length = data, size, 0, len(data)

    def read(self) -> bytes:
        block = self.data[self.position : self.position + self.size]
        self.position += len(block)
        return block

    def rewind(self) -> None:
        self.position = 0


def check_windows(qrels: bytes, rule: str) -> None:
    """Judgments are the same in one go and window by window."""
    plain = QRELS["trec"]
    fixed = (list(plain.columns), plain.delimiter, plain.header, plain.expected, True, rule)
    for labels_count in (True, False):
        table, faults = _core.read([qrels], *fixed, 1, 1, labels_count=labels_count)
        for window, source in ((1, qrels), (40, qrels), (1, Blocks(qrels, 7)), (60, Blocks(qrels, 50))):
            again, found = _core.read([source], *fixed, 2, 1, labels_count=labels_count, window=window)
            assert found == faults, f"other faults with a window of {window} bytes: {found} {faults}"
            assert faults or contents(again) == contents(table), f"other judgments with a window of {window} bytes"


def check(run: bytes, qrels: bytes, layout: Layout, rule: str, order: str) -> None:
    fixed = (list(layout.columns), layout.delimiter, layout.header, layout.expected)
    results = []
    for threads in (1, 3):
        table, faults = _core.read([run], *fixed, False, rule, threads, 5)
        assert all(1 <= line <= run.count(b"\n") + 1 for _, line, _ in faults), faults
        results.append((contents(table), faults))
    assert results[0] == results[1], "different results with 1 and 3 threads"
    check_windows(qrels, rule)
    plain = QRELS["trec"]
    judgments, qrels_faults = _core.read([qrels], list(plain.columns), " ", False, plain.expected, True, "max", 1, 5)
    if qrels_faults:
        return
    judged = _core.judged(judgments, "max")
    if (order == "score" and "value" not in layout.columns) or (order == "rank" and "rank" not in layout.columns):
        return
    joined, faults = _core.join_files(judged, [run], *fixed, order, False, rule, 0, 3, None)
    for window, scattered, source in (
        (1, 1, run),
        (90, 200, run),
        (1, 10**6, Blocks(run, 7)),
        (60, 100, Blocks(run, 50)),
    ):
        sizes = {"chunk": 1 + window // 3, "window": window, "scattered": scattered}
        again, found = _core.join_files(judged, [source], *fixed, order, False, rule, 0, 2, None, **sizes)
        assert (found, again is None) == (faults, joined is None), (
            f"other faults with a window of {window} bytes: {found} {faults}"
        )
        for key, column in (joined or {}).items():
            same = column.tobytes() == again[key].tobytes() if isinstance(column, np.ndarray) else column == again[key]
            assert same, f"another {key} with a window of {window} bytes"
    if joined is not None and order == "score" and not results[0][1]:
        from_table = _core.join_tables(judged, [table], order, False, 0)
        for key in ("names", "unjudged_topics"):
            assert joined[key] == from_table[key], key
        for key, column in joined.items():
            if isinstance(column, np.ndarray):
                assert column.tobytes() == from_table[key].tobytes(), key


def make(rng: random.Random) -> bytes:
    """A run and judgments, after a line that says how they are read."""
    run, qrels = mutate(RUN, rng, ROWS), mutate(QREL, rng, ROWS)
    layout, rule = rng.choice(list(RUNS.values())), rng.choice(["error", "first", "max"])
    order = rng.choice(["score", "rank", "file"])
    return f"{layout.name} {rule} {order} {len(run)}\n".encode() + run + qrels


def read(path: Path) -> None:
    first, _, rest = path.read_bytes().partition(b"\n")
    layout, rule, order, size = first.decode().split()
    check(rest[: int(size)], rest[int(size) :], RUNS[layout], rule, order)


TARGETS = {"reader": Target(make, read)}
