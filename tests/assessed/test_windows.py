"""Run files that are read window by window give the same answer as files that are read at once."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import _core
from cranfield.assessed import joined_runs
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions, MemoryPlan, memory_plan, size_in_bytes
from cranfield.collection import compression
from cranfield.collection.file_formats.blocks import Blocks, load_or_open
from cranfield.errors import DataError, UsageError
from tests.content_in_blocks import PACKERS, Slowly, named_pipe
from tests.oracles.joined import joined as slow_join
from tests.peak_memory import needs_peak_memory

COLUMNS = ["topic", "label", "doc", "rank", "value", "name"]
TOPICS = ["1", "2", "t3", "long-topic-name"]
JUDGED = {topic: {f"d{number}": number % 3 for number in range(0, 12, 2)} for topic in ("1", "2", "t3", "unused")}
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


def core_join(sources: list[Any], rules: dict[str, Any], **sizes: int) -> tuple[dict[str, Any] | None, Any]:
    judged = _core.judged(_core.table_from_dict(JUDGED, "", "grade"), "error")
    numbers = _core.judged(_core.table_from_dict({"all": {f"d{n}": 0 for n in range(5)}}, "", "row"), "error")
    found, faults = _core.join_files(
        judged, sources, COLUMNS, " ", rules["header"], "six columns", rules["order"], False, rules["on_duplicate"],
        rules["depth"], rules["threads"], None, numbers=numbers, scores=rules["order"] == "score",
        split_tags=rules["split_tags"], **sizes,
    )  # fmt: skip
    if found is None:
        return None, faults
    return {key: getattr(value, "tolist", lambda value=value: value)() for key, value in found.items()}, faults


rows = st.tuples(
    st.sampled_from(TOPICS), st.integers(0, 40), st.integers(1, 9), st.sampled_from(["1", "2.5", "-1", "3e2"]),
    st.sampled_from("aaab"),
)  # fmt: skip
odd_lines = st.sampled_from(
    [b"# comment\n", b"\n", b" \r\n", b"two columns\n", b"1 Q0 d1 1 nan a\n", b"1 Q0 d\0 1 1 a\n"]
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    table = draw(st.lists(rows, max_size=25))
    key = draw(st.sampled_from([None, lambda row: row[0], lambda row: (row[4], row[0])]))
    if key:
        table.sort(key=key)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = [f"{t} Q0 d{d} {rank} {score} {tag}{end}".encode() for t, d, rank, score, tag in table]
    for line in draw(st.lists(odd_lines, max_size=1)) if draw(st.booleans()) else []:
        lines.insert(draw(st.integers(0, len(lines))), line)
    data = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + b"".join(lines)
    return data.rstrip(b"\n") if draw(st.booleans()) else data


@settings(max_examples=300, deadline=None)
@given(
    st.lists(files(), min_size=1, max_size=3),
    st.fixed_dictionaries(
        {
            "order": st.sampled_from(["score", "rank", "file"]),
            "ties": st.sampled_from(["z-a", "a-z", "file"]),
            "on_duplicate": st.sampled_from(["error", "first", "max", "first"]),
            "depth": st.sampled_from([0, 2]),
            "split_tags": st.booleans(),
            "threads": st.sampled_from([1, 2, 5]),
            "header": st.booleans(),
        }
    ),
    st.sampled_from([1, 20, 100, 1000]),
    st.sampled_from([1, 30, 200]),
    st.sampled_from([1, 300, 10**6]),
    st.sampled_from([0, 1, 17, 1000]),
)
def test_any_window_gives_the_answer_of_the_whole_file(
    data: list[bytes], rules: dict[str, Any], window: int, chunk: int, scattered: int, block: int
) -> None:
    whole = core_join(list(data), rules)
    sources = [Slowly(one, block) if block else one for one in data]
    assert core_join(sources, rules, window=window, chunk=chunk, scattered=scattered) == whole


@settings(max_examples=100, deadline=None)
@given(st.lists(rows, min_size=1, max_size=30), st.booleans(), st.sampled_from([1, 40, 400]))
@example([("1", 1, 1, "1", "a"), ("2", 1, 1, "1", "a"), ("1", 2, 1, "2.5", "a")], False, 1)
def test_scattered_topics_agree_with_the_slow_join(
    table: list[tuple[str, int, int, str, str]], together: bool, window: int
) -> None:
    run: dict[str, dict[str, float]] = {}
    table = sorted(table, key=lambda row: row[0]) if together else table
    for topic, doc, _, score, _ in table:
        run.setdefault(topic, {}).setdefault(f"d{doc}", float(score))
    if not run.keys() & JUDGED.keys():
        return
    data = b"".join(f"{t} Q0 d{d} 1 {score} a\n".encode() for t, d, _, score, _ in table)
    rules = {"order": "score", "on_duplicate": "first", "depth": 0, "split_tags": False, "threads": 2, "header": False}
    found, _ = core_join([data], rules, window=window, chunk=1, scattered=1)
    expected = slow_join(JUDGED, {"a": run})
    assert found is not None
    assert found["rank"] == expected.rank.tolist()
    assert [list(JUDGED)[row] for row in found["row"]] == [expected.topics[row] for row in expected.row.tolist()]
    assert found["tie_first"] == expected.tie_first.tolist()
    assert found["tie_last"] == expected.tie_last.tolist()


def test_the_lines_of_a_duplicate_are_named_wherever_they_are() -> None:
    lines = [b"1 Q0 d1 1 9 a\n", b"2 Q0 d1 1 9 a\n", b"2 Q0 d2 2 8 a\n", b"1 Q0 d3 2 8 a\n", b"1 Q0 d1 3 7 a\n"]
    rules = {"order": "score", "on_duplicate": "error", "depth": 0, "split_tags": False, "threads": 1, "header": False}
    for window in (1, 20, 10**6):
        _, faults = core_join([b"".join(lines)], rules, window=window, chunk=1)
        assert faults == [(0, 5, "document 'd1' appears twice for topic '1', first on line 1")]


def test_a_later_line_that_cannot_be_read_is_reported_before_a_duplicate() -> None:
    data = b"1 Q0 d1 1 9 a\n1 Q0 d1 2 8 a\n2 Q0 d1 1 9 a\n2 Q0 d1 a\n"
    rules = {"order": "score", "on_duplicate": "error", "depth": 0, "split_tags": False, "threads": 1, "header": False}
    for window in (1, 20, 10**6):
        assert core_join([data], rules, window=window, chunk=1)[1] == [(0, 4, "4 columns, expected 6: six columns")]


def test_a_file_that_changes_between_the_two_passes_is_an_error() -> None:
    class Changing(Slowly):
        def rewind(self) -> None:
            super().rewind()
            self.data = self.data.replace(b"d3", b"d3 1 1 a\n1 Q0 d4")

    data = b"1 Q0 d1 1 9 a\n2 Q0 d1 1 9 a\n1 Q0 d3 2 8 a\n"
    rules = {"order": "score", "on_duplicate": "error", "depth": 0, "split_tags": False, "threads": 1, "header": False}
    assert core_join([Changing(data, 5)], rules, window=1, chunk=1)[1] == [(0, 0, "changed while it was read")]


def test_an_error_while_blocks_are_read_reaches_the_caller() -> None:
    class Failing(Slowly):
        def read(self) -> bytes:
            if self.position > 100:
                raise ZeroDivisionError("the disk is gone")
            return super().read()

    rules = {"order": "score", "on_duplicate": "first", "depth": 0, "split_tags": False, "threads": 2, "header": False}
    with pytest.raises(ZeroDivisionError, match="the disk is gone"):
        core_join([Failing(b"1 Q0 d1 1 9 a\n" * 50, 20)], rules, window=1)


# ---- compressed files and pipes

RUN = b"".join(b"%d Q0 d%d %d %d tag\n" % (topic, doc, doc + 1, 100 - doc) for topic in range(60) for doc in range(40))
SCATTERED = b"".join(sorted(RUN.splitlines(keepends=True), key=lambda line: int(line.split()[3])))
QRELS = {str(topic): {f"d{doc}": doc % 2 for doc in range(topic % 40)} for topic in range(60)}


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in windows of 1,000 bytes."""
    plan = MemoryPlan(threads=2, chunk=300, window=1000, scattered=5000, whole=2000)
    monkeypatch.setattr(joined_runs, "memory_plan", lambda memory, threads: plan)
    monkeypatch.setattr("cranfield.collection.file_formats.blocks.BLOCK", 700)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("content", [RUN, SCATTERED], ids=["together", "scattered"])
def test_a_compressed_file_in_blocks_scores_as_the_plain_one(tmp_path: Path, suffix: str, content: bytes) -> None:
    pack = PACKERS[suffix]
    packed = tmp_path / f"a.run.{suffix}"
    packed.write_bytes(pack(content[:3000]) + pack(content[3000:]))  # two streams, one after the other
    assert isinstance(load_or_open(packed, None, 2000), Blocks)
    expected = cf.evaluate(QRELS, {"a": _dict(content)}, ["AP", "nDCG@10"])
    found = cf.evaluate(QRELS, {"a": str(packed)}, ["AP", "nDCG@10"])
    np.testing.assert_array_equal(found.values, expected.values)


def _dict(content: bytes) -> dict[str, dict[str, float]]:
    lines = sorted((line.split() for line in content.decode().splitlines()), key=lambda words: words[0])
    by_topic = groupby(lines, key=lambda words: words[0])
    return {topic: {words[2]: float(words[4]) for words in several} for topic, several in by_topic}


@pytest.mark.usefixtures("small_windows")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("content", [RUN, SCATTERED, gzip.compress(SCATTERED)], ids=["together", "scattered", "gzip"])
def test_a_pipe_in_blocks_scores_as_the_file(tmp_path: Path, content: bytes) -> None:
    with named_pipe(tmp_path / "pipe", content) as pipe:
        found = cf.evaluate(QRELS, {"a": str(pipe)}, ["AP"])
    np.testing.assert_array_equal(found.values, cf.evaluate(QRELS, {"a": _dict(RUN)}, ["AP"]).values)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("suffix", PACKERS)
def test_a_truncated_file_in_blocks_is_an_error(tmp_path: Path, suffix: str) -> None:
    packed = tmp_path / f"a.run.{suffix}"
    packed.write_bytes(PACKERS[suffix](RUN)[:-9])
    with pytest.raises(DataError, match=r"truncated|damaged"):
        cf.evaluate(QRELS, str(packed), ["AP"])


@pytest.mark.usefixtures("small_windows")
def test_a_truncated_file_is_reported_before_its_lines(tmp_path: Path) -> None:
    packed = tmp_path / "a.run.gz"
    packed.write_bytes(
        gzip.compress(RUN * 2 + b"three columns only\n" + RUN)[:-9]
    )  # after the block that is checked first
    with pytest.raises(DataError, match="the file is truncated"):
        cf.evaluate(QRELS, str(packed), ["AP"], on_duplicate="first")


@pytest.mark.usefixtures("small_windows")
def test_a_fault_in_a_compressed_file_names_its_line(tmp_path: Path) -> None:
    packed = tmp_path / "a.run.gz"
    packed.write_bytes(gzip.compress(RUN + b"three columns only\n"))
    with pytest.raises(DataError, match=r"a\.run\.gz:2401: 3 columns, expected 6"):
        cf.evaluate(QRELS, str(packed), ["AP"])


@pytest.mark.usefixtures("small_windows")
def test_more_than_the_size_limit_is_an_error_in_blocks_too(tmp_path: Path) -> None:
    packed = tmp_path / "a.run.gz"
    packed.write_bytes(gzip.compress(RUN))
    with compression.size_limit(10_000), pytest.raises(DataError, match="more than 10,000 bytes"):
        cf.evaluate(QRELS, str(packed), ["AP"])


@pytest.mark.usefixtures("small_windows")
def test_a_pipe_that_cannot_be_copied_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with open(tmp_path / "run", "w+b") as file:
        file.write(RUN)
        file.seek(0)
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": file}))
        with pytest.raises(DataError, match="cannot be written: No space left on device; TMPDIR names another folder"):
            cf.evaluate(QRELS, "-", ["AP"])


# ---- the limit


def test_the_limit_is_a_number_of_bytes_or_a_text() -> None:
    assert [size_in_bytes(size) for size in (4096, "1GB", "2 MiB", "1.5k")] == [4096, 2**30, 2**21, 1536]
    for wrong in ("", "much", "-1GB", 0, -5, True, 1.5, "0"):
        with pytest.raises(UsageError, match="such as '500MB' or '1GB'"):
            JoinOptions(memory=wrong)  # type: ignore[arg-type]


def test_a_limit_below_what_is_in_use_is_an_error() -> None:
    with pytest.raises(
        UsageError, match=r"memory == '1MB', but the program and the judgments already use [\d,]+ MB; allow"
    ):
        cf.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["AP"], memory="1MB")


def test_less_memory_means_smaller_windows_and_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cranfield.assessed.join_options.resident_bytes", lambda: 100 << 20)
    large, small = memory_plan("10GB", 8), memory_plan("140MB", 8)
    assert (large.threads, large.window, large.chunk) == (8, 64 << 20, 4 << 20)  # what is read without a limit
    assert small.window * 14 <= (40 << 20) // 4
    assert small.threads == 1


def test_a_list_that_does_not_fit_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = MemoryPlan(threads=1, chunk=300, window=1000, scattered=5000, most=20_000)
    monkeypatch.setattr(joined_runs, "memory_plan", lambda memory, threads: plan)
    for name, content in {
        "long": b"".join(b"1 Q0 d%d 1 %d t\n" % (n, -n) for n in range(2000)),
        "apart": SCATTERED,
    }.items():
        path = tmp_path / f"{name}.run"
        path.write_bytes(content)
        with pytest.raises(DataError, match=rf"{name}\.run: .* memory that is allowed; to allow more: memory="):
            join({"1": {"d1": 1}, **QRELS}, str(path))


MEASURE = """
import re, sys
from cranfield import evaluate
from cranfield.assessed.join_options import resident_bytes
evaluate({"0": {"d1": 1}}, {"warm": {"0": {"d1": 1.0}}}, ["AP"])
before = resident_bytes()
values = evaluate(sys.argv[2], sys.argv[1], ["AP"], memory=before + (48 << 20)).values
peak = re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]
print(before, int(peak) * 1024, float(values.sum()))
"""


@needs_peak_memory
@pytest.mark.parametrize("form", ["plain", "scattered", "gz"])
def test_a_limit_is_honoured(tmp_path: Path, form: str) -> None:
    """A run of 78 MB within 48 MB more than the program itself needs."""
    lines = [b"%d Q0 document-%d-%d %d %d.5 tag\n" % (t, t, d, d + 1, 500 - d) for d in range(500) for t in range(4000)]
    if form != "scattered":
        lines = [lines[d * 4000 + t] for t in range(4000) for d in range(500)]
    content, path, qrels = b"".join(lines), tmp_path / "large.run", tmp_path / "qrels"
    assert len(content) > 75e6
    path.write_bytes(gzip.compress(content, 1) if form == "gz" else content)
    qrels.write_text("".join(f"{topic} 0 document-{topic}-{topic % 600} 1\n" for topic in range(4000)))
    answer = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(qrels)], check=True, capture_output=True, text=True
    ).stdout.split()
    before, peak, total = int(answer[0]), int(answer[1]), float(answer[2])
    # The one relevant document of topic t is at rank t % 600 + 1, if that is at most 500.
    assert total == pytest.approx(sum(1 / (t % 600 + 1) for t in range(4000) if t % 600 < 500))
    assert peak <= before + (48 << 20)
