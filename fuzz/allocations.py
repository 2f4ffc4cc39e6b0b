"""Let every allocation of the core fail in turn.

For every operation and every call of `operator new` in it: a MemoryError or, where the core can do without the memory
(a thread less), the usual result; never a crash, another error, or memory that is not given back. Afterwards the
operation gives the usual result again.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.collection.file_formats.formats import QRELS, RUNS

LIBRARY = ctypes.CDLL(None)
LIBRARY.failing_new_start.argtypes = [ctypes.c_long]
LIBRARY.failing_new_stop.restype = LIBRARY.failing_new_live.restype = ctypes.c_long

TOPICS = 40
RUN = b"".join(
    b"%d Q0 document-%d %d %d.5 tag\n" % (topic, doc, doc, 100 - doc // 2)
    for topic in range(TOPICS)
    for doc in range(30)
)
QREL = b"".join(
    b"%d %d document-%d %d\n" % (topic, doc % 3, 3 * doc, doc % 3) for topic in range(TOPICS) for doc in range(9)
)
APART = b"".join(sorted(QREL.splitlines(keepends=True), key=lambda line: line.split()[2]))
FAULTY = RUN[:999] + b"\n1 2 3\n" + RUN[999:] + b"1 Q0 document-1 1 1 tag\n"


def read(data: bytes, kind: str, threads: int = 2, rule: str = "first") -> Any:
    layout = (QRELS if kind == "qrels" else RUNS)["trec"]
    columns = list(layout.columns)
    return _core.read([data], columns, layout.delimiter, False, layout.expected, kind == "qrels", rule, threads, 5)


def read_in_windows(data: bytes, rule: str = "error") -> Any:
    columns, expected = list(QRELS["trec"].columns), QRELS["trec"].expected
    return _core.read([data], columns, " ", False, expected, True, rule, 2, 1, window=500)


def operations() -> dict[str, Callable[[], Any]]:
    run, judged = read(RUN, "run")[0], _core.judged(read(QREL, "qrels")[0], "max")
    lists = {str(topic): {f"document-{doc}": float(doc) for doc in range(20)} for topic in range(TOPICS)}
    fixed = (list(RUNS["trec"].columns), " ", False, RUNS["trec"].expected)

    def join(files: list[bytes], *options: Any) -> Any:
        return _core.join_files(judged, files, *fixed, *options)

    scores = np.random.default_rng(0).random((4, 30))
    first, second, limits = np.array([0, 0, 1]), np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3])
    rows, intents = np.arange(len(run)), read(QREL, "qrels")[0]
    places = np.arange(len(intents.labels))
    return {
        "read a run": lambda: read(RUN, "run"),
        "read judgments": lambda: read(QREL, "qrels"),
        "read judgments in windows": lambda: read_in_windows(APART),
        "read judgments in windows, with duplicates": lambda: read_in_windows(APART + QREL, "max"),
        "read judgments in windows, with a fault": lambda: read_in_windows(APART + QREL)[1],
        "read a run with faults": lambda: read(FAULTY, "run", rule="error"),
        "prepare judgments": lambda: _core.judged(read(QREL, "qrels")[0], "max"),
        "join files": lambda: _core.join_files(judged, [RUN, RUN], *fixed, "score", False, "error", 0, 2, None),
        "join faulty files": lambda: _core.join_files(
            judged, [RUN, FAULTY], *fixed, "score", False, "error", 0, 2, None
        ),
        "join by rank": lambda: _core.join_files(judged, [RUN], *fixed, "rank", False, "max", 10, 2, None),
        "join tables": lambda: _core.join_tables(judged, [run, run], "score", False, 0, 2, None, True),
        "join dicts": lambda: _core.join_dicts(judged, [("a", lists)], "score", False, 0, None, True),
        "a table from a dict": lambda: _core.table_from_dict(lists, "a", "score"),
        "rows of a table": lambda: run.take(rows[:30], "a").docs(0, 30),
        "order of a list": lambda: run.order(3, "score", False),
        "documents": lambda: _core.by_document(intents, places),
        "documents by intent": lambda: _core.documents_by_intent(intents, places),
        "permutations": lambda: _core.permuted_ranges(scores, 0, 0, 500, 2),
        "sign flips": lambda: _core.flip_counts(scores, first, second, limits, True, False, 0, 0, 500, 2),
    }


def plain(value: Any) -> Any:
    """The value as something that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, _core.Table):
        return value.names, value.topics, value.docs(0, len(value)), value.values.tobytes(), value.list_start.tobytes()
    if isinstance(value, _core.Judged):
        return value.topics, value.grade.tobytes()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def counted(work: Callable[[], Any], fail_at: int) -> tuple[Any, int]:
    """The result of the work, or the error; and how often memory was asked for."""
    LIBRARY.failing_new_start(fail_at)
    try:
        result = work()
    except MemoryError as error:
        result = type(error)
    finally:
        calls = LIBRARY.failing_new_stop()
    return result, calls


def main() -> None:
    for name, work in operations().items():
        expected = plain(work())
        failures = at = 0
        most = counted(work, 0)[1]
        gc.collect()
        before = LIBRARY.failing_new_live()
        while at < most + 5:  # threads make the number vary
            at += 1
            result = counted(work, at)[0]
            if result is MemoryError:
                failures += 1
            else:
                assert plain(result) == expected, (name, at)
            del result
        gc.collect()
        kept = LIBRARY.failing_new_live() - before
        assert kept <= 0, f"{name}: {kept} allocations were not given back"
        assert plain(work()) == expected, name
        print(f"{name}: {at} allocations failed in turn, {failures} times the operation failed with MemoryError")


if __name__ == "__main__":
    main()
