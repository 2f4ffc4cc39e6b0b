"""Judgments that are read window by window, from a file or from blocks, give the same result as in one go."""

from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield import _core
from cranfield.collection import compression, records
from cranfield.collection.file_formats.blocks import Blocks, load_or_open
from cranfield.collection.qrels import Qrels
from cranfield.errors import DataError
from tests.content_in_blocks import PACKERS, Slowly, named_pipe
from tests.peak_memory import needs_peak_memory

COLUMNS = ["topic", "label", "doc", "value"]
GRADES = ["0", "1", "-2", "0.5", "3e0"]


def content(
    draw: random.Random, *, together: bool, twice: float, labels: int, faulty: bool, grades: list[str] = GRADES
) -> bytes:
    """Judgments with comments, blank lines and other line ends; `twice` is how often a document is judged again."""
    rows = []
    for topic in range(draw.randrange(1, 9)):
        docs: list[int] = []
        for _ in range(draw.randrange(1, 30)):
            docs.append(draw.choice(docs) if docs and draw.random() < twice else len(docs) * 7)
            rows.append(f"t{topic} {draw.randrange(labels)} doc-{docs[-1]} {draw.choice(grades)}")
    if not together:
        draw.shuffle(rows)
    if faulty:
        rows.insert(draw.randrange(len(rows)), "t1 0 d1 high")
    ends = ["\n", "\n", "\r\n", "\n\n", "\n# a comment\n"]
    text = "\ufeff" * draw.randrange(2) + "".join(row + draw.choice(ends) for row in rows)
    return (text.rstrip("\n") if draw.random() < 0.3 else text).encode()


def read(data: object, rule: str, window: int, threads: int = 1, labels_count: bool = True) -> tuple[Any, ...]:
    """All that is in the table, or the fault."""
    table, faults = _core.read(
        [data], COLUMNS, " ", False, "topic 0 doc grade", True, rule, threads, 1, labels_count=labels_count,
        window=window,
    )  # fmt: skip
    if faults:
        return (faults,)
    columns = (table.docs(0, 10**6), table.values.tobytes(), table.label.tolist(), table.list_start.tolist())
    return table.topics, table.labels, columns, table.dropped


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("faulty", [True, False])
@pytest.mark.parametrize(("twice", "labels"), [(0, 1), (0, 3), (0.02, 1), (0.3, 1), (0.3, 3)])
def test_windows_and_blocks_change_nothing(together: bool, faulty: bool, twice: float, labels: int) -> None:
    for seed in range(30):
        draw = random.Random(seed)
        data = content(draw, together=together, twice=twice, labels=labels, faulty=faulty)
        rule, labels_count = draw.choice(["error", "first", "max"]), draw.random() < 0.7
        whole = read(data, rule, len(data), 1, labels_count)
        for window in (1, 50, 300):
            threads = draw.choice([1, 2, 4])
            assert read(data, rule, window, threads, labels_count) == whole, (seed, window)
            blocks = Slowly(data, draw.choice([1, 17, 1000]))
            assert read(blocks, rule, window, threads, labels_count) == whole, (seed, window)


NUMBERS = {
    "255 and one that comes late": [str(number / 8) for number in range(255)],
    "many": [str(number / 8) for number in range(400)],
    "minus zero": ["0", "-0", "1"],
    "large and small": ["1e300", "-1e300", "1e-300", "inf", "-inf", "0.1"],
}


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("together", [True, False])
def test_every_grade_is_kept_to_the_last_bit(numbers: list[str], together: bool) -> None:
    lines = [f"t{row // 50} 0 d{row} {numbers[row % len(numbers)]}\n" for row in range(900)]
    lines[-1] = "t17 0 late 77.25\n"
    if not together:
        lines = lines[::2] + lines[1::2]
    data = "".join(lines).encode()
    whole = read(data, "error", len(data))
    for window in (100, 2000):
        assert read(data, "error", window, 2) == whole
    rows = {line.split()[2]: struct.pack("d", float(line.split()[3])) for line in lines}
    table, _ = _core.read([data], COLUMNS, " ", False, "", True, "error", 2, 1, window=100)
    assert dict(zip(table.docs(0, 900), map(bytes, table.values.view("V8")), strict=True)) == rows


def test_a_label_that_comes_late_is_kept() -> None:
    data = b"".join(b"t%d %d d%d 1\n" % (line // 10, line == 95, line) for line in range(100))
    table, faults = _core.read([data], COLUMNS, " ", False, "", True, "error", 2, 1, window=100)
    assert faults == []
    assert table.labels == ["0", "1"]
    assert table.label.tolist() == [int(line == 95) for line in range(100)]


def test_the_first_fault_of_the_file_is_reported() -> None:
    good = [b"t%d 0 d%d 1\n" % (line % 3, line) for line in range(60)]
    again, short = b"t0 0 d0 2\n", b"t0 0 d0\n"
    message = "document 'd0' appears twice for topic 't0', first on line 1, with grades 1 and 2"
    for window in (1, 100, 10**6):
        assert read(b"".join([*good, again, short]), "error", window) == ([(0, 61, message)],)
        columns = "3 columns, expected 4: topic 0 doc grade"
        assert read(b"".join([*good, short, again]), "error", window) == ([(0, 61, columns)],)
        same = read(b"".join([*good, b"# d0\n", b"t0 0 d0 1\n"]), "error", window)
        assert same == ([(0, 62, "document 'd0' appears twice for topic 't0', first on line 1")],)


def test_blocks_that_change_between_two_readings_are_an_error() -> None:
    class Changing(Slowly):
        def rewind(self) -> None:
            super().rewind()
            self.data = b""

    data = b"t 0 d1 1\nt 0 d2 1\nt 0 d1 1\n"
    assert read(Changing(data, 5), "error", 1) == ([(0, 0, "changed while it was read")],)


def test_an_error_while_blocks_are_read_reaches_the_caller() -> None:
    class Failing(Slowly):
        def read(self) -> bytes:
            if self.position > 100:
                raise ZeroDivisionError("the disk is gone")
            return super().read()

    with pytest.raises(ZeroDivisionError, match="the disk is gone"):
        read(Failing(b"".join(b"t 0 d%d 1\n" % line for line in range(50)), 20), "error", 1)


def test_several_faults_need_the_whole_file() -> None:
    with pytest.raises(TypeError, match="bytes-like"):
        _core.read([Slowly(b"t 0 d 1\n", 5)], COLUMNS, " ", False, "", True, "error", 1, 2)


# ---- joins

RUN = {f"t{topic}": {f"d{doc}": float(doc * 7 % 11) for doc in range(0, 60, 2)} for topic in range(40)}
MEASURES = ["AP", "nDCG@3", "nDCG", "nDCG(gain='exp')@5", "Bpref", "ERR", "Q", "R@5", "Judged@5"]


def lines_of(grades: list[str], *, labels: int = 1) -> bytes:
    """40 topics of up to 57 documents."""
    draw = random.Random(3)
    return b"".join(
        b"t%d %d d%d %s\n" % (topic, label, doc, draw.choice(grades).encode())
        for topic in range(40)
        for doc in range(draw.randrange(1, 58))
        for label in range(labels)
    )


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
@pytest.mark.parametrize("many", [1, 100, 1 << 18])
@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("grades", [GRADES, ["0"], ["-1"], [f"{number}.5" for number in range(300)]])
def test_scores_do_not_depend_on_how_grades_are_kept(
    grades: list[str], labels: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = lines_of(grades, labels=labels)
    tables = [_core.read([data], COLUMNS, " ", False, "", True, "error", 2, 1, window=size)[0] for size in (10**6, 999)]
    whole, windows = (Qrels(table, "qrels") for table in tables)
    measures = [*MEASURES, "alpha-nDCG@5", "ERR-IA@5"] if labels > 1 else MEASURES
    expected = cf.evaluate(whole, RUN, measures).values
    monkeypatch.setattr("cranfield.assessed.segments.MANY", many)
    monkeypatch.setattr("cranfield.assessed.lists.MANY", many)
    np.testing.assert_array_equal(cf.evaluate(windows, RUN, measures).values, expected)


def test_judged_documents_are_found_with_any_number_of_them() -> None:
    """Numbers of documents take as many bits of a slot as they need; from 2^16 on, more than half of it."""
    sizes = [0, 1, 2, 3, 4, 255, 256, 65_535, 65_536]
    lists = {f"t{size}": {f"d{doc}": doc for doc in range(size)} for size in sizes}
    judged = _core.judged(_core.table_from_dict(lists, "", "grade"), "error")
    for size in sizes:
        run = {f"t{size}": {f"d{doc}": -float(doc) for doc in [*range(0, size, max(1, size // 50)), size, size + 1]}}
        found = _core.join_dicts(judged, [("run", run)], "score", False, 0)
        numbers = [int(doc[1:]) for doc in run[f"t{size}"] if int(doc[1:]) < size]
        assert judged.grade_of(found["document"]).tolist() == numbers
        assert found["rank"].tolist() == list(range(1, len(numbers) + 1))


# ---- compressed files and pipes

TOGETHER = b"".join(b"%d 0 d%d %d\n" % (topic, doc, doc % 3) for topic in range(200) for doc in range(40))
APART = b"".join(sorted(TOGETHER.splitlines(keepends=True), key=lambda line: int(line.split()[2][1:])))
AGAIN = APART + b"7 0 d3 2\n"


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 2,000 bytes are read in blocks."""
    monkeypatch.setattr(records, "load_or_open", partial(load_or_open, whole=2000))
    monkeypatch.setattr("cranfield.collection.file_formats.blocks.BLOCK", 700)


Written = Callable[[Path, bytes], Path]


def packed(suffix: str, path: Path, data: bytes) -> Path:
    file = path / f"a.qrels.{suffix}"
    half = len(data) // 2
    file.write_bytes(PACKERS[suffix](data[:half]) + PACKERS[suffix](data[half:]))  # two streams
    assert isinstance(load_or_open(file, None, 2000), Blocks)
    return file


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("data", [TOGETHER, APART], ids=["together", "apart"])
def test_a_compressed_file_is_read_as_the_plain_one(tmp_path: Path, suffix: str, data: bytes) -> None:
    assert Qrels.read(packed(suffix, tmp_path, data)) == Qrels.of(TOGETHER)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("data", [TOGETHER, APART], ids=["together", "apart"])
def test_a_pipe_is_read_as_the_file(tmp_path: Path, pack: Callable[[bytes], bytes], data: bytes) -> None:
    with named_pipe(tmp_path / "pipe", pack(data)) as pipe:
        assert Qrels.read(pipe) == Qrels.of(TOGETHER)


FAULTS = {
    "columns": (TOGETHER + b"7 0 d99\n", "3 columns, expected 4: topic iteration doc grade"),
    "grade": (
        TOGETHER + b"7 0 d99 B\n",
        "the grade is 'B', expected a number (the grades S, A, B, C are read if every line has one)",
    ),
    "comma": (TOGETHER + b"7 0 d99 0,5\n", "the grade is '0,5', expected a number; numbers need a decimal point: 0.5"),
    "NUL": (TOGETHER + b"7 0 d\0 1\n", "a NUL byte: binary data, expected text"),
    "twice": (
        AGAIN,
        "document 'd3' appears twice for topic '7', first on line 608, with grades 0 and 2; "
        "to keep one: on_duplicate='first' or 'max'",
    ),
}
"""The fault is on line 8,001, after 200 topics of 40 documents. In APART, d3 of topic 7 is on line 3 × 200 + 8."""


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_has_the_same_message_in_every_form(tmp_path: Path, fault: str) -> None:
    data, message = FAULTS[fault]
    plain = tmp_path / "a.qrels"
    plain.write_bytes(data)
    for path in [plain, *(packed(suffix, tmp_path, data) for suffix in PACKERS)]:
        with pytest.raises(DataError) as error:
            Qrels.read(path)
        assert str(error.value) == f"{path}:8001: {message}"
    if sys.platform != "win32":
        with named_pipe(tmp_path / "pipe", data) as pipe, pytest.raises(DataError) as error:
            Qrels.read(pipe)
        assert str(error.value) == f"{tmp_path / 'pipe'}:8001: {message}"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore:.*duplicate document was dropped")
@pytest.mark.parametrize(("rule", "grade"), [("first", 0), ("max", 2)])
def test_duplicates_are_dropped_in_blocks_too(tmp_path: Path, rule: str, grade: int) -> None:
    qrels = Qrels.read(packed("gz", tmp_path, AGAIN), on_duplicate=rule)
    assert len(qrels) == 8000
    assert qrels.grades("7")["d3"] == grade


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", PACKERS)
def test_a_truncated_file_is_reported_before_its_lines(tmp_path: Path, suffix: str) -> None:
    for data in (TOGETHER, AGAIN + b"three columns only\n" + TOGETHER):
        file = tmp_path / f"a.qrels.{suffix}"
        file.write_bytes(PACKERS[suffix](data)[:-9])
        with pytest.raises(DataError, match=rf"a\.qrels\.{suffix}: the \w+ data (ends too early|is damaged)"):
            Qrels.read(file)


@pytest.mark.usefixtures("small_blocks")
def test_named_grades_and_tables_are_unpacked_as_a_whole(tmp_path: Path) -> None:
    named = b"".join(b"%d 0 d%d L%d\n" % (topic, doc, doc % 3) for topic in range(200) for doc in range(40))
    qrels = Qrels.read(packed("gz", tmp_path, named))
    assert qrels == Qrels.of(TOGETHER)
    assert qrels.notes == ("grades L0, L1, ... are read as 0, 1, ...",)
    Qrels.of(TOGETHER).write(tmp_path / "a.jsonl.gz")
    assert Qrels.read(tmp_path / "a.jsonl.gz") == Qrels.of(TOGETHER)


@pytest.mark.usefixtures("small_blocks")
def test_more_than_the_size_limit_is_an_error_in_blocks_too(tmp_path: Path) -> None:
    with compression.size_limit(10_000), pytest.raises(DataError, match="more than 10,000 bytes"):
        Qrels.read(packed("gz", tmp_path, TOGETHER))


# ---- memory

MEASURE = """
import re, sys
from cranfield import evaluate
from cranfield.assessed.join_options import resident_bytes
evaluate({"0": {"d1": 1}}, {"warm": {"0": {"d1": 1.0}}}, ["AP", "nDCG@10"])
before = resident_bytes()
values = evaluate(sys.argv[1], {"run": {"7": {"document-7-5": 1.0}}}, ["AP", "nDCG@10"]).values
peak = re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]
print(int(peak) * 1024 - before, float(values[0].sum()))
"""


@pytest.fixture(scope="module")
def many_lines() -> list[bytes]:
    """Judgments of 125 MB: 500 topics with 10,000 documents each."""
    return [b"%d 0 document-%d-%d %d\n" % (topic, topic, doc, doc % 3) for topic in range(500) for doc in range(10_000)]


@needs_peak_memory
@pytest.mark.parametrize("form", ["plain", "apart", "gz", "pipe"])
def test_judgments_take_at_most_twice_the_memory_of_their_text(
    tmp_path: Path, form: str, many_lines: list[bytes]
) -> None:
    lines = (line for doc in range(10_000) for line in many_lines[doc::10_000]) if form == "apart" else many_lines
    data, path = b"".join(lines), tmp_path / "large.qrels"
    path.write_bytes(gzip.compress(data, 1) if form == "gz" else data)
    with open(path, "rb") as file:
        answer = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", MEASURE, "-" if form == "pipe" else str(path)],
            stdin=file, check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
    # Of the 10,000 documents of topic 7, 3,333 have grade 1 and 3,333 grade 2. The run finds one of them.
    assert float(answer[1]) == pytest.approx(1 / 6666)
    assert int(answer[0]) <= 2 * len(data)
