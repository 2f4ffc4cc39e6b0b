"""The core's reader against its slow twin, on bytes that are valid, odd and broken, at any number of threads."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cranfield import _core
from cranfield.collection.file_formats.formats import QRELS, RUNS, Layout
from tests.oracles import reader as twin

LAYOUTS = [("run", layout) for layout in RUNS.values()] + [("qrels", layout) for layout in QRELS.values()]
BLANKS = st.sampled_from([b" ", b"\t", b"  ", b" \t "])
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" \n", b"\t\r\n", b"\r\r\n"])

NUMBERS = b"""
    1 0 -2 +3 0.5 .5 5. 1e3 1E-3 -1.25e+2 inf -Infinity 0x1.8p1 1e999 -1e999 1e-999 123456789012345678
    0.1234567890123456789 00012.50 0XA 4.9e-324 -0.0 2.2250738585072011e-308 9007199254740993 1e22 1e23 0x.8p-1
    0x1p+1024 0x1p-1080
""".split()
NOT_NUMBERS = """
    nan -NaN x 1x 1,5 --1 +-1 1e e5 . 0x 0xg + 1_000 in infinit 0xinf 1.2.3 nan(1) 0x1p 1e+ ++1 0x-1 \xff
""".encode("latin-1").split()

ids = st.one_of(
    st.sampled_from(
        [b"1", b"d1", b"d2", b"FBIS3-10082", b"q", b"#x", b"\xff\xfe", "é".encode(), b"a\rb", b"\x0b", b"\0"]
    ),
    st.binary(min_size=1, max_size=6).filter(lambda b: not set(b) & set(b" \t\n\r")),
)
words = st.one_of(ids, st.sampled_from(NUMBERS), st.sampled_from(NOT_NUMBERS), st.just(b"d" * 70))
good_number = st.sampled_from(NUMBERS)


def line_of(layout: Layout) -> st.SearchStrategy[bytes]:
    """Mostly good lines of a layout, with few topics and documents so that lists meet again and repeat."""
    cell = {
        "topic": st.sampled_from([b"1", b"2", b"t"]) | ids,
        "doc": st.sampled_from([b"d1", b"d2", b"d3", b"d4"]) | ids,
        "label": st.sampled_from([b"0", b"Q0", b"1"]),
        "rank": good_number | words,
        "value": good_number | good_number | good_number | words,
        "name": st.sampled_from([b"tag", b"tag", b"b"]),
    }
    between = st.just(b"\t") if layout.delimiter == "\t" else BLANKS
    good = st.tuples(between, st.tuples(*(cell[role] for role in layout.columns))).map(lambda p: p[0].join(p[1]))
    odd = st.tuples(between, st.lists(words, max_size=8)).map(lambda p: p[0].join(p[1]))
    return st.one_of(good, good, good, good, odd, st.sampled_from([b"", b"# a comment", b" #", b"   "]))


@st.composite
def files(draw: st.DrawFn) -> tuple[str, Layout, bytes]:
    kind, layout = draw(st.sampled_from(LAYOUTS))
    lines = draw(st.lists(st.tuples(line_of(layout), ENDS).map(b"".join), max_size=12))
    data = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf" * 2])) + b"".join(lines)
    if draw(st.booleans()) and data:
        data = data.rstrip(b"\n")
    for _ in range(draw(st.integers(0, 2))):  # mutations: a byte changed, taken out or put in
        place = draw(st.integers(0, len(data)))
        data = data[:place] + draw(st.binary(max_size=2)) + data[place + draw(st.integers(0, 2)) :]
    return kind, layout, data


def core(
    data: bytes, kind: str, layout: Layout, on_duplicate: str, threads: int, **more: bool
) -> tuple[_core.Table, list[int]]:
    table, faults = _core.read(
        [data], list(layout.columns), layout.delimiter, layout.header, layout.expected,
        kind == "qrels", on_duplicate, threads, 10**6, True, **more,
    )  # fmt: skip
    return table, [line for _, line, _ in faults]


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def by_twin(data: bytes, kind: str, layout: Layout, on_duplicate: str, **more: bool) -> twin.Read:
    return twin.read(
        data, list(layout.columns), layout.delimiter, layout.header, qrels=kind == "qrels", on_duplicate=on_duplicate,
        **more,
    )  # fmt: skip


def assert_same(
    data: bytes, kind: str, layout: Layout, on_duplicate: str, threads: int, expected: twin.Read | None = None,
    **more: bool,
) -> None:  # fmt: skip
    expected = expected or by_twin(data, kind, layout, on_duplicate, **more)
    table, fault_lines = core(data, kind, layout, on_duplicate, threads, **more)
    assert fault_lines == sorted(expected.fault_lines)
    assert table.dropped == expected.dropped
    names, topics, starts = table.names, table.topics, table.list_start.tolist()
    lists = [(names[n], topics[t]) for n, t in zip(table.list_name.tolist(), table.list_topic.tolist(), strict=True)]
    assert lists == list(expected.lists)
    values, ranks, lines = table.values.tolist(), table.ranks.tolist(), table.lines.tolist()
    labels, label = table.labels, table.label.tolist()
    docs = table.docs(0, len(table))
    for place, rows in enumerate(expected.lists.values()):
        begin, end = starts[place], starts[place + 1]
        assert docs[begin:end] == [row.doc for row in rows]
        assert values[begin:end] == [row.value for row in rows]
        assert lines[begin:end] == [row.line for row in rows]
        if "rank" in layout.columns:
            assert all(map(same, ranks[begin:end], [row.rank for row in rows]))
        if "label" in layout.columns:
            row_labels = [labels[i] for i in label[begin:end]] if label else [labels[0]] * (end - begin)
            assert row_labels == [row.label for row in rows]


@settings(max_examples=300, deadline=None)
@given(files(), st.sampled_from(["error", "first", "max"]), st.sampled_from([1, 2, 7]))
@example(("run", RUNS["trec"], b"1 Q0 d 1 2 t\n1 Q1 d 2 1 t\n"), "error", 1)
@example(("qrels", QRELS["trec"], b"1 a d 1\n1 b d 0\n1 a d 2\n"), "max", 1)
@example(("run", RUNS["beir"], b"# c\n\nquery-id\tcorpus-id\tscore\nq 1\td\t1\n q\t\t1\n"), "error", 2)
def test_reads_what_the_slow_twin_reads(file: tuple[str, Layout, bytes], on_duplicate: str, threads: int) -> None:
    kind, layout, data = file
    assert_same(data, kind, layout, on_duplicate, threads)
    assert_same(data, kind, layout, on_duplicate, threads, split_tags=True, labels_count=False)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(LAYOUTS))
def test_any_bytes_are_read_or_refused_as_the_slow_twin_does(data: bytes, which: tuple[str, Layout]) -> None:
    assert_same(data, *which, "error", 2)


@pytest.mark.parametrize("text", [*NUMBERS, *NOT_NUMBERS])
def test_numbers_are_those_of_c(text: bytes) -> None:
    ours, theirs = _core.parse_number(text), twin.parse_number(text)
    assert (ours is None) == (theirs is None)
    assert ours is None or (theirs is not None and same(ours, theirs))


@settings(max_examples=200, deadline=None)
@given(st.from_regex(r"\A[+-]?[0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,3})?\Z") | st.floats().map(repr))
def test_decimal_numbers_are_rounded_correctly(text: str) -> None:
    ours, theirs = _core.parse_number(text.encode()), twin.parse_number(text.encode())
    assert (ours is None) == (theirs is None)
    assert ours is None or (theirs is not None and same(ours, theirs))


@pytest.mark.parametrize("digits", ["123456789012345", "000000000000009", "999999999999999"])
@pytest.mark.parametrize("length", range(1, 16))
def test_a_point_may_be_anywhere_in_a_number(digits: str, length: int) -> None:
    """Eight digits are read at a time; the expected number is Python's."""
    for point in range(length + 1):
        text = f"{digits[:point]}.{digits[point:length]}"
        assert _core.parse_number(text.encode()) == float(text), text
        assert _core.parse_number(f"-{text}".encode()) == float(f"-{text}"), text


@pytest.mark.parametrize("text", [b"20.348121", b"1234567.89012345"])
def test_a_byte_that_is_not_a_digit_is_noticed_anywhere_in_a_number(text: bytes) -> None:
    for place in range(len(text)):
        for byte in (*range(ord("0")), *range(ord("9") + 1, 256)):
            changed = text[:place] + bytes([byte]) + text[place + 1 :]
            ours, theirs = _core.parse_number(changed), twin.parse_number(changed)
            assert (ours is None) == (theirs is None), changed
            assert ours is None or (theirs is not None and same(ours, theirs)), changed


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False).map(float.hex))
def test_hexadecimal_numbers_are_read_exactly(text: str) -> None:
    assert _core.parse_number(text.encode()) == (float.fromhex(text))


def large_file() -> bytes:
    """About 14 MB: three pieces of 4 MB and a rest, with topics that come back, bad lines and repeats far apart."""
    rng = random.Random(7)
    lines = []
    for block in range(290):
        topic = block % 150  # the later ones come back far away
        long = "x" * 900 * (block % 2)  # long lines and short ones are split by different code
        for i in range(100):
            doc = f"doc-{rng.randrange(10**9):012d}-{i}{long}"
            lines.append(f"{topic} Q0 {doc} {i + 1} {rng.random() * 100:.6f} tag{block % 2}")
    lines[5] = "short line"
    lines[13_000] = lines[13_000].replace("Q0", "Q0 too many")
    lines[20_000] = lines[20_000].rsplit(" ", 2)[0] + " nan tag0"
    lines[len(lines) - 1] = lines[-3]  # a repeat at the very end
    lines[15_001] = lines[1]  # and one whose first is in another piece
    lines[77] = "# a comment"
    return "\r\n".join(lines).encode()


def test_large_files_are_the_same_at_any_number_of_threads() -> None:
    data = large_file()
    assert len(data) > 12 << 20
    expected = by_twin(data, "run", RUNS["trec"], "error", split_tags=True)
    assert expected.fault_lines == [6, 13_001, 15_002, 20_001, 29_000]
    for threads in (1, 2, 7):
        assert_same(data, "run", RUNS["trec"], "error", threads, expected, split_tags=True)
        assert_same(data, "run", RUNS["trec"], "first", threads)
    only_first = _core.read([data], list(RUNS["trec"].columns), " ", False, "", False, "error", 7, 1)[1]
    assert [(line, what) for _, line, what in only_first] == [(6, "2 columns, expected 6: ")]


def test_columns_of_300_000_lines_with_repeats() -> None:
    rng = random.Random(8)
    lines = [
        f"{topic} {intent} d{doc} {rng.randrange(3)}"
        for topic in range(3)
        for doc in range(25_000)
        for intent in "abcd"
    ]
    again = rng.sample(range(len(lines)), 50)
    lines += [lines[place] for place in again]
    data = "\n".join(lines).encode()
    assert_same(data, "qrels", QRELS["trec"], "first", 2, by_twin(data, "qrels", QRELS["trec"], "first"))


def test_rows_taken_keep_their_columns() -> None:
    data = b"1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n2 Q0 c 1 1 y\n1 Q0 d 3 1 x\n"
    table = core(data, "run", RUNS["trec"], "error", 1)[0]
    taken = table.take(np.array([2, 0, 3]), "new")
    assert taken.names == ["new"]
    assert taken.topics == ["1", "2"]
    assert taken.docs(0, 3) == ["d", "a", "c"]
    assert taken.ranks.tolist() == [3, 1, 1]
    assert taken.lines.tolist() == [4, 1, 3]
    assert taken.labels == ["Q0"]
    with pytest.raises(IndexError):
        table.take(np.array([4]), "x")
    with pytest.raises(ValueError, match="follow one another"):
        table.take(np.array([0, 3, 1]), "x")
