"""`cranfield meta study` as a user meets it."""

import json
from pathlib import Path

import pytest

from cranfield.papers.worked import TEXTS
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield


@pytest.fixture
def study(collection: Sample, tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    runs = json.dumps(list(collection.runs))
    path.write_text(
        f'measures = ["AP", "P@10"]\n[collections.sample]\nqrels = {json.dumps(collection.qrels)}\nruns = {runs}\n'
        "[methods.gtheory]\n[methods.correlate]\nresamples = 10\n"
    )
    return path


def test_without_arguments_a_usage_is_printed(cranfield: Cranfield) -> None:
    done = cranfield("meta", "study")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: cranfield meta study FILE")


def test_a_study_is_done_and_then_is_not_done_again(cranfield: Cranfield, study: Path) -> None:
    done = cranfield("meta", "study", str(study), "--quiet", "-f", "json")
    assert done.code == 0
    assert [row["state"] for row in json.loads(done.out)["rows"]] == ["computed", "computed"]
    again = cranfield("meta", "study", str(study), "--quiet", "-f", "json")
    assert [row["state"] for row in json.loads(again.out)["rows"]] == ["cached", "cached"]
    assert (study.parent / "study-results" / "sample" / "correlate.tex").exists()


def test_a_failed_step_is_reported_and_the_exit_code_is_1(cranfield: Cranfield, study: Path) -> None:
    study.write_text(study.read_text() + '[methods.compare]\nbaseline = "bm52"\n')
    done = cranfield("meta", "study", str(study), "--quiet")
    assert done.code == 1
    assert "no system 'bm52'; did you mean 'bm25'?" in done.out


def test_an_unknown_key_is_named_with_the_nearest_known(cranfield: Cranfield, study: Path) -> None:
    study.write_text(study.read_text() + "resampels = 3\n")
    done = cranfield("meta", "study", str(study))
    assert done.code == 2
    assert "in methods.correlate: no key 'resampels'" in done.err


def test_modules_are_imported_only_if_the_command_line_names_them(
    cranfield: Cranfield, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    (study.parent / "own_of_a_shared_study.py").write_text("def X(lists):\n    return lists.topic * 0.5\n")
    study.write_text(study.read_text() + '[methods.axioms]\nmeasures = ["own_of_a_shared_study:X"]\n')
    done = cranfield("meta", "study", str(study))
    assert done.code == 2
    assert "would run the code of module 'own_of_a_shared_study'" in done.err
    assert "on the command line: --import MODULE" in done.err
    done = cranfield("meta", "study", str(study), "--import", "own_of_a_shared_study")
    assert "would run the code" not in done.err + done.out


def test_the_example_and_the_list_of_methods(cranfield: Cranfield) -> None:
    assert "[methods.correlate]" in cranfield("meta", "study", "--example").out
    listed = cranfield("meta", "study", "--list-methods", "-f", "json").out
    assert {"power", "swap", "scale"} <= {row["method"] for row in json.loads(listed)["rows"]}


@pytest.mark.parametrize(("name", "message"), [("s.txt", "must end in .toml"), ("none.toml", "no such file")])
def test_a_file_that_is_not_a_study(cranfield: Cranfield, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "s.txt").write_text("x")
    done = cranfield("meta", "study", str(tmp_path / name))
    assert done.code in (1, 2)
    assert message in done.err


def test_meta_lists_its_verbs_and_help_finds_it(cranfield: Cranfield) -> None:
    assert "  meta " in cranfield("help", "all").out
    for words in (["meta"], ["meta", "help"], ["help", "meta"]):
        done = cranfield(*words)
        assert done.code == 0
        assert "$ cranfield meta study study.toml" in done.out
    assert "did you mean 'study'?" in cranfield("meta", "studdy").err


def test_studies_of_texts_are_listed_and_run(
    cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = cranfield("meta", "study", "--list").out
    assert all(name in listed for name in TEXTS)
    done = cranfield("meta", "study", "course2015", "--sample", "--quiet")
    assert done.code == 0, done.err
    assert "course2015-results" in done.out
    done = cranfield("meta", "study", "course2051", "--sample")
    assert done.code == 2
    assert "did you mean 'course2015'" in done.err
