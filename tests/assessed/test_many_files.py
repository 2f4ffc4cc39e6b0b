"""Files are joined in batches; results and errors do not depend on the batch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import DataError

LONG = "x" * 60_000
"""An id so long that a hundred lines fill more than half of what one thread reads at a time."""
DOCS = [f"{LONG}{number:02}" for number in range(50)]
QRELS = {topic: {doc: number % 2 for number, doc in enumerate(DOCS[:20])} for topic in "12"}


def scores(shift: int) -> dict[str, dict[str, float]]:
    return {topic: {doc: float((number * 7 + shift) % 50) for number, doc in enumerate(DOCS)} for topic in "12"}


def write(path: Path, name: str, run: dict[str, dict[str, float]]) -> str:
    lines = (f"{topic} Q0 {doc} 1 {score:g} {name}\n" for topic, docs in run.items() for doc, score in docs.items())
    path.write_text("".join(lines))
    return str(path)


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    written = [write(tmp_path / f"{number}.run", f"r{number}", scores(number)) for number in range(4)]
    assert all(len(Path(path).read_bytes()) > 5 << 20 for path in written)
    return written


@pytest.mark.parametrize("threads", [1, 2])
def test_files_in_several_batches_score_as_dicts(paths: list[str], threads: int, tmp_path: Path) -> None:
    little = {topic: {DOCS[0]: 1.0, DOCS[1]: 2.0} for topic in "12"}
    small = write(tmp_path / "small.run", "small", little | {"9": {DOCS[0]: 1.0}})
    runs = {f"r{number}": scores(number) for number in range(4)} | {"small": little}
    expected = cf.evaluate(QRELS, runs, ["AP", "nDCG@5", "P@20"])
    with pytest.warns(cf.CranfieldWarning, match=r"1 topic without judgments ignored: small \(9\)"):
        scored = cf.evaluate(QRELS, [*paths, small], ["AP", "nDCG@5", "P@20"], threads=threads)
    assert scored.to_dict() == expected.to_dict()


def test_the_first_error_in_the_files_is_reported(paths: list[str]) -> None:
    third, fourth = Path(paths[2]), Path(paths[3])
    fourth.write_text(fourth.read_text() + "short line\n")
    with pytest.raises(DataError, match=r"3\.run:101: 2 columns"):
        cf.evaluate(QRELS, paths, ["AP"], threads=1)
    third.write_text(third.read_text() + f"1 Q0 {DOCS[3]} 1 0.5 r2\n")
    with pytest.raises(DataError, match=r"2\.run:101: document 'xxx.* appears twice for topic '1', first on line 4"):
        cf.evaluate(QRELS, paths, ["AP"], threads=1)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_reported_error_does_not_depend_on_the_number_of_threads(tmp_path: Path, threads: int) -> None:
    twice, short = tmp_path / "twice.run", tmp_path / "short.run"
    long = "".join(f"2 Q0 {LONG}{number} 1 1 r\n" for number in range(150))  # alone more than a thread reads at a time
    twice.write_text(f"1 Q0 d 1 2 r\n1 Q0 d 2 1 r\n{long}")
    short.write_text("1 Q0 d 1 s\n")
    with pytest.raises(DataError, match=r"twice\.run:2: document 'd' appears twice"):
        cf.evaluate({"1": {"d": 1}}, [str(twice), str(short)], ["AP"], threads=threads)
    with pytest.raises(DataError, match=r"short\.run:1: 5 columns"):
        cf.evaluate({"1": {"d": 1}}, [str(short), str(twice)], ["AP"], threads=threads)


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{number}.run", f"r{number}", scores(number)) for number in range(3)]
    paths += [
        write(tmp_path / f"small{number}.run", f"s{number}", {"1": {"a": 1.0}, "2": {"a": 1.0}}) for number in range(20)
    ]
    reports: list[tuple[int, int]] = []
    join(QRELS, paths, JoinOptions(threads=1), lambda done, of: reports.append((done, of)))
    assert reports == sorted(reports)
    size = sum(os.path.getsize(path) for path in paths)
    assert reports[-1] == (size, size)


def test_a_huge_number_of_threads_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("1 0 d1 1\n")
    assert Qrels.read(path, threads=2**31 - 1).to_dict() == {"1": {"d1": 1}}


def test_an_empty_run_in_memory_by_rank_scores_0() -> None:
    scores = cf.evaluate({"q1": {"d1": 1}}, [Run.of({"q1": {}})], ["AP"], order="rank")
    assert scores.means().tolist() == [[0.0]]
