"""`cranfield explain`, as a user meets it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield
from tests.evaluation.test_side_by_side import FIRST, QRELS, SECOND

JUDGED = {**QRELS, "2": {"a": 1}}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{t} 0 {d} {g}\n" for t, docs in JUDGED.items() for d, g in docs.items())
    )
    for name, run in (("a", FIRST), ("b", SECOND)):
        lines = [f"1 Q0 {doc} {r} {score} {name}\n" for r, (doc, score) in enumerate(run["1"].items(), 1)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "topics.tsv").write_text("1\tflutter of wings\n")
    return tmp_path


@pytest.mark.filterwarnings("ignore")
def test_the_command_line_shows_one_run_or_two(cranfield: Cranfield, files: Path) -> None:
    words = ("explain", "qrels.txt", "a.run", "--topic", "1", "-m", "nDCG@2", "--quiet")
    done = cranfield(*words, "--topics", "topics.tsv", "--missed", "1")
    assert done.code == 0
    assert "topic: flutter of wings" in done.out
    assert "not retrieved  e" in done.out
    assert "and 2 more: --missed 3 lists all" in done.out
    data = json.loads(cranfield(*words, "-f", "json").out)
    assert data["missed"][1] == {"doc": "b", "grade": 1, "rank": 4}
    rows = cranfield(*words, "-f", "csv").out.splitlines()
    assert rows[0] == "rank,doc,score,grade,status,gain,discount,adds,so far"
    assert rows[3:] == [",e,,2.0,missed,,,,", "4,b,,1.0,missed,,,,", "5,d,,1.0,missed,,,,"]
    two = ("explain", "qrels.txt", "a.run", "b.run", *words[3:])
    assert "nDCG@2 on topic 1: a " in cranfield(*two).out
    data = json.loads(cranfield(*two, "-f", "json").out)
    assert [row["moved"] for row in data["documents"]] == ["new", "up 1", "down 2"]
    assert data["runs"].keys() == {"a", "b"}
    assert "missed by both" in cranfield(*two, "-f", "csv").out
    for format in ("tsv", "latex", "markdown", "html"):
        assert cranfield(*two, "-f", format).code == cranfield(*words, "-f", format).code == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.run", "--topic", "9"), "topic '9' is not judged; judged topics are 1, 2"),
        (("a.run", "--topic", "2"), "run 'a' has no topic '2', so it scores as an empty list; it has 1"),
        (("a.run", "--topic", "2", "--topics", "topics.tsv"), "topics.tsv: has no topic '2'; its topics are 1"),
        (("a.run", "--topic", "1", "--topics", "none.tsv"), "none.tsv"),
        (("a.run", "b.run", "c.run", "--topic", "1"), "explain shows one run or two, but there are 3: a, b, c"),
        (
            ("a.run",),
            "name a topic to explain with --topic; qrels.txt has 1, 2, and cranfield topics lists the hardest",
        ),
        (("a.run", "--topic", "1", "--missed", "-1"), "--missed == -1, must be 0 or above"),
    ],
)
def test_wrong_input_is_an_error(cranfield: Cranfield, files: Path, words: tuple[str, ...], message: str) -> None:
    (files / "c.run").write_text("1 Q0 a 1 1.0 c\n")
    done = cranfield("explain", "qrels.txt", *words, "--quiet")
    assert done.code in (1, 2)
    assert message in done.err


@pytest.mark.filterwarnings("ignore")
def test_several_topics_are_explained_in_their_order(cranfield: Cranfield, files: Path) -> None:
    with (files / "a.run").open("a") as file:
        file.write("2 Q0 a 1 1.0 a\n")
    words = ("explain", "qrels.txt", "a.run", "-m", "RR", "--topic", "2", "--topic", "1")
    titles = [line for line in cranfield(*words).out.splitlines() if " on topic " in line]
    assert [title.partition(" = ")[0] for title in titles] == ["RR of a on topic 2", "RR of a on topic 1"]
    assert [one["topic"] for one in json.loads(cranfield(*words, "-f", "json").out)] == ["2", "1"]
