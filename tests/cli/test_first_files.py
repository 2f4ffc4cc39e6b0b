"""The files that people bring: what is not read as it is ends in an error that shows what to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

Error = Callable[..., str]

RUN = "1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n"


@pytest.fixture
def error(cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Error:
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text(RUN)

    def last_line(*words: str, code: int = 1) -> str:
        result = cranfield(*words)
        assert result.code == code
        return result.err.splitlines()[-1]

    return last_line


def test_labels_in_words(error: Error, cranfield: Cranfield) -> None:
    Path("qrels.txt").write_text("1 0 d1 Exact\n1 0 d2 Irrelevant\n")
    assert error("eval", "qrels.txt", "a.run") == (
        "error: qrels.txt:1: the grade is 'Exact', expected a number; the grades are words (Irrelevant, Exact); to "
        "give them numbers, such as these: grades={'Irrelevant': 0, 'Exact': 1}; on the command line: --grades "
        "Irrelevant=0,Exact=1"
    )
    for words in ("eval", "explain -m AP --topic 1", "collection stats", "pool holes", "validate"):
        assert cranfield(*words.split(), "qrels.txt", "a.run", "--grades", "Exact=3,Irrelevant=0").code == 0, words
    assert cranfield("convert", "qrels.txt", "-", "--kind", "qrels", "--grades", "Exact=3,Irrelevant=0").out == (
        "1 0 d1 3\n1 0 d2 0\n"
    )


def test_a_table_without_a_header(error: Error, cranfield: Cranfield) -> None:
    Path("qrels.csv").write_text("d1,1,3\nd2,1,0\n")
    assert error("eval", "qrels.csv", "a.run").endswith("on the command line: --columns topic,doc,grade")
    scores = cranfield("eval", "qrels.csv", "a.run", "-m", "P@1", "--columns", "doc,topic,grade", "-f", "csv").out
    assert scores.splitlines()[1].startswith("t,1,1")  # d1 is first and relevant
    Path("qrels.csv").write_text("frage,sku,sterne\n1,d1,3\n")
    assert error("eval", "qrels.csv", "a.run").endswith("on the command line: --columns topic=frage,grade=sterne")


@pytest.mark.parametrize("words", ["Exact", "Exact=", "=3", "Exact=high", "Exact=3,Exact=2"])
def test_wrong_grades_are_refused(words: str, error: Error) -> None:
    Path("qrels.txt").write_text("1 0 d1 1\n")
    assert error("eval", "qrels.txt", "a.run", "--grades", words, code=2).startswith(f"error: --grades {words}: ")


@pytest.mark.parametrize(
    ("address", "copy"),
    [
        ("https://example.org/a.run?x=*", "curl -sSfL 'https://example.org/a.run?x=*' | cranfield ... -"),
        ("s3://bucket/a.run", "aws s3 cp s3://bucket/a.run - | cranfield ... -"),
        ("gs://bucket/a.run", "gcloud storage cat gs://bucket/a.run | cranfield ... -"),
    ],
)
def test_an_address_is_not_read_from_the_network(address: str, copy: str, error: Error) -> None:
    Path("qrels.txt").write_text("1 0 d1 1\n")
    expected = (
        f"error: {address}: is an address, and files are not read from the network; pipe it in, with - as the file: "
        f"{copy}; or copy it to a file first"
    )
    assert error("eval", "qrels.txt", address) == expected
    assert error("eval", address, "a.run") == expected


def test_a_folder_of_responses(error: Error, cranfield: Cranfield) -> None:
    Path("qrels.txt").write_text("1 0 d1 1\n2 0 d2 1\n")
    Path("responses").mkdir()
    Path("responses/1.json").write_text('["d1", "d2"]')
    Path("responses/2.json").write_text('["d1", "d2"]')
    scores = cranfield("eval", "qrels.txt", "responses", "-m", "RR", "-f", "csv").out
    assert scores.splitlines()[1].startswith("responses,2,0.75")  # (1 + 1/2) / 2
    assert cranfield("validate", "qrels.txt", "responses").code == 0
