"""Texts of systems and references, from files and folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield import DataError, UsageError
from cranfield.answers.answer_texts import read_answers, read_references, texts_of_runs, with_numbered_references
from tests.cli.conftest import in_process


def test_json_lines_tables_lines_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"qid": 1, "summary": "x"}\n{"qid": 2, "summary": ["One.", "Two."]}\n')
    (tmp_path / "b.tsv").write_text("topic\ttext\n1\tx y\n2\t\n")
    (tmp_path / "c.tsv").write_text('1\ta "quoted" text\n2\tb\twith tab\n')
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "1.txt").write_text("line one\nline two\n")
    (tmp_path / "d" / "2.txt").write_text("")
    texts = texts_of_runs(read_answers([tmp_path / name for name in ("a.jsonl", "b.tsv", "c.tsv", "d")]))
    assert texts == {
        "a": {"1": "x", "2": "One.\nTwo."},
        "b": {"1": "x y", "2": ""},
        "c": {"1": 'a "quoted" text', "2": "b\twith tab"},
        "d": {"1": "line one\nline two\n", "2": ""},
    }


def test_rows_may_name_the_run(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_text(
        '{"id": "x-1", "run_id": "x", "topic": "1", "text": "t"}\n'
        '{"id": "y-1", "run_id": "y", "topic": "1", "text": "u"}\n'
    )
    answers = read_answers([tmp_path / "all.jsonl"])
    assert [(one.run, one.topic, one.id) for one in answers] == [("x", "1", "x-1"), ("y", "1", "y-1")]


def test_answers_of_the_rag_track(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(
        '{"topic_id": "1", "answer": [{"text": "A.", "citations": []}, {"text": "B."}]}\n'
    )
    assert texts_of_runs(read_answers([tmp_path / "r.jsonl"])) == {"r": {"1": "A.\nB."}}


def test_several_references(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n')
    (tmp_path / "s.tsv").write_text("1\tz\n")
    assert read_references([tmp_path / "r.jsonl", tmp_path / "s.tsv"]) == {"1": ["x", "y", "z"]}


def test_numbered_references_belong_to_their_topic() -> None:
    references = {"301.a": ["x"], "301.b": ["y"], "302.1": ["z"]}
    assert with_numbered_references(references, ["301", "302.1"]) == {"301": ["x", "y"], "302.1": ["z"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.tsv: is empty, expected texts"),
        ("1 no tab", "t.tsv:1: is '1 no tab', expected topic, tab, text; or JSON-lines"),
        ('{"id": 1}', "t.tsv:1: no column for the text among id"),
        ('{"id": 1, "text": 3}', "t.tsv:1: text is 3, expected a text or a list of sentences"),
        (
            '{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}',
            "t.tsv:2: topic '1' of run 't' appears twice, first in .*line 1",
        ),
        ('{"id": "1", "text": "a"', "t.tsv:1: is not valid JSON"),
    ],
)
def test_wrong_texts_are_errors(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.tsv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_answers([tmp_path / "t.tsv"])


def test_each_object_may_call_its_text_otherwise_and_null_is_an_empty_text(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "1", "text": "a cat"}\n{"qid": "2", "answer": "a dog"}\n')
    assert [(answer.topic, answer.text) for answer in read_answers([tmp_path / "t.jsonl"])] == [
        ("1", "a cat"), ("2", "a dog"),
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_text('{"id": "1", "text": "a cat"}\n{"id": "2", "text": null}\n')
    assert [answer.text for answer in read_answers([tmp_path / "t.jsonl"])] == ["a cat", ""]
    (tmp_path / "t.jsonl").write_text('{"id": "1", "text": "a cat"}\n{"id": "2"}\n')
    with pytest.raises(DataError, match=r"t.jsonl:2: no column for the text among id"):
        read_answers([tmp_path / "t.jsonl"])


def test_an_empty_folder_and_no_source_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no files, expected one for each topic"):
        read_answers([tmp_path])
    with pytest.raises(UsageError, match="no texts; give a file or a folder for each system"):
        read_answers([])


@pytest.mark.parametrize("verb", ["rouge", "bleu"])
def test_a_file_without_texts_is_a_clear_error(verb: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("  \t \n")
    (tmp_path / "references.tsv").write_text("1\tone two\n")
    done = in_process("answers", verb, str(tmp_path / "mine.txt"), "-r", str(tmp_path / "references.tsv"))
    assert (done.code, done.err) == (2, "error: no texts to score\n")
