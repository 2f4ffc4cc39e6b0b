"""Run files joined in parts give the scores of one join; parts that are kept are not read again."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed import parts
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions, Sharding
from cranfield.assessed.lists import Assessed
from cranfield.collection.file_formats.formats import RUNS
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning, DataError, UsageError

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing from runs|is judged; an id|without judgments|tags|same judged)"
)
QRELS = {str(topic): {f"d{doc}": doc % 3 for doc in range(topic % 7, 30, 2)} for topic in range(20)}


def lines(tag: str, topics: int = 25, docs: int = 30) -> list[bytes]:
    rng = random.Random(tag)
    return [
        b"%d Q0 d%d %d %d %s\n" % (topic, doc, rank + 1, docs - rank, tag.encode())
        for topic in range(topics)
        for rank, doc in enumerate(rng.sample(range(40), docs))
    ]


def written(folder: Path, contents: dict[str, bytes]) -> list[str]:
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [str(folder / name) for name in contents]


def assert_same(found: Assessed, expected: Assessed) -> None:
    assert (found.runs, found.topics, found.notes) == (expected.runs, expected.topics, expected.notes)
    for name in ("row", "rank", "grade", "tie_first", "tie_last", "document", "retrieved", "missing"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for attachment in ("scores", "lengths"):
        ours, theirs = getattr(found, attachment), getattr(expected, attachment)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            for column, values in theirs.columns.items():
                np.testing.assert_array_equal(ours.columns[column], values)


@pytest.mark.parametrize("shards", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("split_tags", [False, True])
def test_parts_together_are_one_join(tmp_path: Path, shards: int, split_tags: bool) -> None:
    paths = written(tmp_path, {
        "a.run": b"".join(lines("a")),
        "two.run": b"\xef\xbb\xbf# two tags\n" + b"".join(lines("x", 12)) + b"".join(lines("y", 25)[12 * 30 :]),
        "b.run.gz": gzip.compress(b"".join(lines("b"))),
        "small.run": b"3 Q0 d1 1 5 small\n",
    })  # fmt: skip
    options = {"split_tags": split_tags, "scores": True, "lengths": {f"d{doc}": doc + 10 for doc in range(40)}}
    found = join(QRELS, paths, JoinOptions(sharding=Sharding(shards), **options))
    assert_same(found, join(QRELS, paths, JoinOptions(**options)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30), st.sampled_from("aab")), min_size=1, max_size=40),
    st.integers(1, 30), st.booleans(), st.booleans(),
)  # fmt: skip
def test_any_file_gives_the_same_in_parts(
    tmp_path: Path, rows: list[tuple[int, int, str]], shards: int, together: bool, split_tags: bool
) -> None:
    rows = sorted(rows, key=lambda row: row[0]) if together else rows
    path = tmp_path / "a.run"
    path.write_bytes(b"".join(b"%d Q0 d%d 1 %d %s\n" % (t, d, d % 5, tag.encode()) for t, d, tag in rows))

    def outcome(sharding: Sharding | None) -> Assessed | str:
        options = JoinOptions(sharding=sharding, split_tags=split_tags, on_duplicate="error" if together else "first")
        try:
            return join(QRELS, str(path), options)
        except DataError as error:
            return str(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, in_parts = outcome(None), outcome(Sharding(shards))
    if isinstance(whole, str) or isinstance(in_parts, str):
        assert whole == in_parts
    else:
        assert_same(in_parts, whole)


def test_a_large_file_is_cut_where_topics_end(tmp_path: Path) -> None:
    (path,) = written(tmp_path, {"a.run": b"".join(lines("a"))})
    data = Path(path).read_bytes()
    ranges = [one for (one,) in parts.cut_files([path], RUNS["trec"], 5)]
    assert len(ranges) == 5
    assert [one.begin for one in ranges] == [0, *(one.end for one in ranges[:-1])]
    assert ranges[-1].end == len(data)
    topics = [{line.split()[0] for line in data[one.begin : one.end].splitlines()} for one in ranges]
    assert sum(map(len, topics)) == len(set().union(*topics)) == 25


class Counting(Executor):
    """Runs work at once, and counts it."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        future: Future[Any] = Future()
        future.set_result(work(*args, **kwargs))
        return future


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_gives_the_same_scores(tmp_path: Path, executor: Any) -> None:
    paths = written(tmp_path, {f"{tag}.run": b"".join(lines(tag)) for tag in "abcd"})
    with executor(2) as workers:
        found = cf.evaluate(QRELS, paths, ["AP", "nDCG@10"], executor=workers, shards=6)
    np.testing.assert_array_equal(found.values, cf.evaluate(QRELS, paths, ["AP", "nDCG@10"]).values)


def test_kept_parts_are_not_read_again(tmp_path: Path) -> None:
    paths = written(tmp_path, {f"{tag}.run": b"".join(lines(tag)) for tag in "abc"})
    folder, counting = tmp_path / "parts", Counting()
    first = cf.evaluate(QRELS, paths, ["AP"], executor=counting, shards=6, resume=folder)
    assert counting.count >= 6
    again = cf.evaluate(QRELS, paths, ["AP"], executor=(second := Counting()), shards=6, resume=folder)
    assert second.count == 0
    np.testing.assert_array_equal(again.values, first.values)
    expected = cf.evaluate(QRELS, paths, ["AP", "RR"])
    other = cf.evaluate(QRELS, paths, ["AP", "RR"], executor=second, shards=6, resume=folder)  # hits serve all measures
    assert second.count == 0
    np.testing.assert_array_equal(other.values, expected.values)


def test_a_changed_run_is_noticed_and_read_again(tmp_path: Path) -> None:
    paths = written(tmp_path, {f"{tag}.run": b"".join(lines(tag)) for tag in "abc"})
    folder = tmp_path / "parts"
    cf.evaluate(QRELS, paths, ["AP"], shards=3, resume=folder)
    Path(paths[1]).write_bytes(b"".join(reversed(lines("b"))).replace(b"d1 ", b"e1 "))
    counting = Counting()
    with pytest.warns(CranfieldWarning, match=r"b\.run has changed since then and is read again"):
        found = cf.evaluate(QRELS, paths, ["AP"], shards=3, resume=folder, executor=counting)
    assert counting.count < 3
    np.testing.assert_array_equal(found.values, cf.evaluate(QRELS, paths, ["AP"]).values)


@pytest.mark.parametrize("change", [{"depth": 5}, {"order": "file"}, {"ties": "a-z"}, {"on_duplicate": "max"}])
def test_changed_rules_are_noticed(tmp_path: Path, change: dict[str, Any]) -> None:
    paths = written(tmp_path, {"a.run": b"".join(lines("a"))})
    folder = tmp_path / "parts"
    cf.evaluate(QRELS, paths, ["AP"], shards=3, resume=folder)
    with pytest.warns(CranfieldWarning, match="the judgments or the options have changed"):
        found = cf.evaluate(QRELS, paths, ["AP"], shards=3, resume=folder, **change)
    np.testing.assert_array_equal(found.values, cf.evaluate(QRELS, paths, ["AP"], **change).values)


def test_changed_judgments_are_noticed(tmp_path: Path) -> None:
    paths = written(tmp_path, {"a.run": b"".join(lines("a"))})
    folder, other = tmp_path / "parts", {**QRELS, "3": {"d5": 1}}
    cf.evaluate(QRELS, paths, ["AP"], shards=3, resume=folder)
    with pytest.warns(CranfieldWarning, match="the judgments or the options have changed"):
        found = cf.evaluate(other, paths, ["AP"], shards=3, resume=folder)
    np.testing.assert_array_equal(found.values, cf.evaluate(other, paths, ["AP"]).values)


@pytest.mark.filterwarnings("ignore")
def test_other_topics_of_the_same_file_of_judgments_are_noticed(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("1 0 a 1\n1 0 b 0\n2 0 a 0\n2 0 b 1\n")
    run.write_text("1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n2 Q0 b 1 2 x\n2 Q0 a 2 1 x\n")  # the relevant document is first
    for topic in ("1", "2"):
        part = Qrels.read(qrels).of_topics([topic])
        assert cf.evaluate(part, [run], "AP", resume=tmp_path / "kept").means().tolist() == [[1.0]]


def test_a_damaged_part_is_made_again(tmp_path: Path) -> None:
    paths = written(tmp_path, {"a.run": b"".join(lines("a"))})
    folder = tmp_path / "parts"
    expected = cf.evaluate(QRELS, paths, ["AP"], shards=3, resume=folder)
    for part in folder.glob("*.npz"):
        part.write_bytes(part.read_bytes()[:100])
    with pytest.warns(CranfieldWarning, match="cannot be read, and is made again"):
        found = cf.evaluate(QRELS, paths, ["AP"], shards=3, resume=folder)
    np.testing.assert_array_equal(found.values, expected.values)


def test_a_fault_is_reported_as_in_one_go(tmp_path: Path) -> None:
    content = lines("a")
    content[700] = b"23 Q0 d1\n"
    paths = written(tmp_path, {"a.run": b"".join(content)})
    with pytest.raises(DataError, match=r"a\.run:701: 3 columns, expected 6"):
        cf.evaluate(QRELS, paths, ["AP"], shards=5, resume=tmp_path / "parts")


def test_something_that_is_no_executor_is_an_error() -> None:
    with pytest.raises(UsageError, match="must be an executor of concurrent"):
        cf.evaluate(QRELS, {"a": {"1": {"d1": 1.0}}}, ["AP"], executor="threads")  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_job_goes_on_where_it_was(tmp_path: Path) -> None:
    paths = written(tmp_path, {f"{tag}.run": b"".join(lines(tag, 400)) for tag in "abcdefgh"})
    qrels, folder = tmp_path / "qrels", tmp_path / "parts"
    qrels.write_text("".join(f"{topic} 0 d{doc} {doc % 2}\n" for topic in range(400) for doc in range(20)))
    command = [
        sys.executable,
        "-m",
        "cranfield",
        "eval",
        str(qrels),
        *paths,
        "-m",
        "AP,nDCG@10",
        "-q",
        "--format",
        "csv",
    ]
    expected = subprocess.run(command, check=True, capture_output=True).stdout
    resumed = [*command, "--shards", "40", "--resume", str(folder)]
    rng = random.Random(5)
    kills = 0
    for _ in range(6):
        job = subprocess.Popen(resumed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline, enough = time.monotonic() + 60, len(list(folder.glob("*.npz"))) + rng.randrange(1, 6)
        while job.poll() is None and len(list(folder.glob("*.npz"))) < enough and time.monotonic() < deadline:
            time.sleep(rng.random() / 500)
        job.send_signal(signal.SIGKILL)
        kills += job.wait() == -signal.SIGKILL
    assert kills > 0
    kept = len(list(folder.glob("*.npz")))
    assert kept > 0
    before = {path: os.stat(path).st_mtime_ns for path in folder.glob("*.npz")}
    assert subprocess.run(resumed, check=True, capture_output=True).stdout == expected
    assert {path: os.stat(path).st_mtime_ns for path in before} == before  # what was done is not done again
