"""Files are joined some at a time: what is said of one does not depend on which others are read with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.errors import DataError

LONG = "x" * 60_000
"""So long an id that a hundred lines fill more than half of what one thread reads at a time."""
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
    found = [write(tmp_path / f"{number}.run", f"r{number}", scores(number)) for number in range(4)]
    assert all(len(Path(path).read_bytes()) > 5 << 20 for path in found)
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_files_in_several_goes_score_as_dicts(paths: list[str], threads: int, tmp_path: Path) -> None:
    little = {topic: {DOCS[0]: 1.0, DOCS[1]: 2.0} for topic in "12"}
    small = write(tmp_path / "small.run", "small", little | {"9": {DOCS[0]: 1.0}})
    runs = {f"r{number}": scores(number) for number in range(4)} | {"small": little}
    expected = cf.evaluate(QRELS, runs, ["AP", "nDCG@5", "P@20"])
    with pytest.warns(cf.CranfieldWarning, match="1 topic without judgments passed over: small has 9"):
        found = cf.evaluate(QRELS, [*paths, small], ["AP", "nDCG@5", "P@20"], threads=threads)
    assert found.to_dict() == expected.to_dict()


def test_the_first_fault_in_the_files_is_told(paths: list[str]) -> None:
    third, fourth = Path(paths[2]), Path(paths[3])
    fourth.write_text(fourth.read_text() + "short line\n")
    with pytest.raises(DataError, match=r"3\.run:101: 2 columns"):
        cf.evaluate(QRELS, paths, ["AP"], threads=1)
    third.write_text(third.read_text() + f"1 Q0 {DOCS[3]} 1 0.5 r2\n")
    with pytest.raises(DataError, match=r"2\.run:101: document 'xxx.* is there twice for topic '1', first on line 4"):
        cf.evaluate(QRELS, paths, ["AP"], threads=1)
