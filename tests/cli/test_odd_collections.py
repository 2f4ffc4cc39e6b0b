"""Warnings about runs and judgments that are probably not what their owner thinks. `validate` finds the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.errors import CranfieldWarning
from tests.cli.conftest import Cranfield

QRELS = "1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n2 0 d3 0\n"
RUN = "1 Q0 d1 1 9 a\n1 Q0 d2 2 8 a\n2 Q0 d1 1 9 a\n2 Q0 d3 2 8 a\n"
RUNS = {
    "other ids": (RUN.replace(" d", " doc-"), "no retrieved document is judged; an id in the run is 'doc-1', one in"),
    "rising": (RUN.replace(" 8 ", " 9.5 "), "scores rise with rank, so that the last document of the file comes first"),
    "level": (RUN.replace(" 8 ", " 9 "), "all documents of a list have the same score and are ordered by id"),
    "twice": (RUN, "and twice: the same judged documents are at the same ranks; is one run given twice?"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text(QRELS)
    Path("good").write_text(RUN.replace("2 Q0 d3 2", "2 Q0 x 2"))
    Path("first").write_text(RUN)


@pytest.mark.parametrize("verb", ["eval", "compare"])
@pytest.mark.parametrize("kind", RUNS)
def test_odd_runs_are_a_warning(cranfield: Cranfield, verb: str, kind: str) -> None:
    text, message = RUNS[kind]
    Path(kind).write_text(text.replace(" a\n", f" {kind.split()[0]}\n"))
    others = ["good", "first"] if kind == "twice" else ["good"]
    done = cranfield(verb, "qrels", *others, kind, "-m", "AP")
    assert message in done.err
    assert done.code == 0
    quiet = cranfield(verb, "qrels", *others, kind, "-m", "AP", "--quiet")
    assert (quiet.out, quiet.err) == (done.out, "")


def test_good_runs_are_no_warning(cranfield: Cranfield) -> None:
    assert cranfield("eval", "qrels", "good", "first", "-m", "AP").err == ""


def test_the_way_out_of_rising_scores(cranfield: Cranfield) -> None:
    Path("rising").write_text(RUNS["rising"][0])
    done = cranfield("eval", "qrels", "rising", "-m", "RR")
    assert done.err.rstrip().endswith("use order='rank'; on the command line: --order RULE")
    done = cranfield("eval", "qrels", "rising", "-m", "RR", "--order", "rank")
    assert done.err == ""
    assert done.out.splitlines()[1].split()[-1] == "1.0000"  # the relevant document has rank 1


def test_a_file_from_worst_to_best_is_no_warning(cranfield: Cranfield) -> None:
    Path("reversed").write_text("1 Q0 d1 2 8 a\n1 Q0 d2 1 9 a\n2 Q0 d1 2 8 a\n2 Q0 d3 1 9 a\n")
    assert cranfield("eval", "qrels", "reversed", "-m", "RR").err == ""


@pytest.mark.parametrize("form", ["dict", "run", "frame"])
def test_runs_in_memory_are_checked_too(form: str) -> None:
    ids = {"1": {"x": 2.0, "y": 1.0}}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"query_id": ["1", "1"], "doc_id": ["x", "y"], "score": [2.0, 1.0]})
    run = {"dict": ids, "run": cf.Run.of(ids), "frame": frame}[form]
    with pytest.warns(CranfieldWarning, match="no retrieved document is judged; an id in the run is 'x', one in"):
        cf.evaluate({"1": {"d": 1}}, run, ["AP"])


def test_an_absurd_grade_is_a_warning(cranfield: Cranfield) -> None:
    Path("qrels").write_text(QRELS + "2 0 d4 1e23\n")
    done = cranfield("eval", "qrels", "good", "-m", "AP")
    assert "qrels: the grade of document 'd4' for topic '2' is 1e+23, which is unlikely to be a grade" in done.err
    Path("qrels").write_text(QRELS + "2 0 d4 100\n")
    assert cranfield("eval", "qrels", "good", "-m", "AP").err == ""


@pytest.mark.filterwarnings("ignore:.*without judgments")
@pytest.mark.parametrize("qrels", [{}, [], {"1": {}}])
def test_empty_judgments_are_a_warning(qrels: object) -> None:
    with pytest.warns(CranfieldWarning, match="the judgments: empty, no document is judged; all measures are undef"):
        cf.join(qrels, {"1": {"d": 1.0}})
