"""Column 2 of judgments: intents, strata, or nothing. The rule is in docs/collections.md and docs/rules.md."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import CranfieldWarning, DataError, UsageError
from tests.cli.conftest import Cranfield

ROUNDS = "1 0.5 d1 1\n1 1 d2 0\n1 4.5 d3 1\n2 0.5 d1 0\n2 1 d2 1\n"
"""Judging rounds, as in TREC-COVID: no document is judged twice."""
RUN = "1 Q0 d1 1 9 r\n1 Q0 d2 2 8 r\n1 Q0 d3 3 7 r\n2 Q0 d1 1 9 r\n2 Q0 d2 2 8 r\n"
ZEROS = ROUNDS.replace("0.5", "0").replace(" 1 d2", " 0 d2").replace("4.5", "0")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"rounds": ROUNDS, "zeros": ZEROS, "run": RUN}.items():
        Path(name).write_text(text)


def scores(cranfield: Cranfield, *words: str) -> dict[str, Any]:
    done = cranfield("eval", *words, "--format", "json")
    assert (done.code, done.err) == (0, "")
    data: dict[str, Any] = json.loads(done.out)
    return data


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "xinfAP", "infAP"])
def test_rounds_score_as_zeros_do_and_add_no_note(cranfield: Cranfield, measure: str) -> None:
    rounds = scores(cranfield, "rounds", "run", "-m", measure)
    assert rounds == scores(cranfield, "zeros", "run", "-m", measure)
    assert "column 2 of the judgments is read" not in str(rounds)


def test_two_grades_of_minus_one_do_not_turn_rounds_into_strata(cranfield: Cranfield) -> None:
    lines = [f"1 {1 + n % 3} x{n} {-1 if n < 2 else 0}\n" for n in range(100)]
    Path("rounds").write_text(ROUNDS + "".join(lines))
    Path("zeros").write_text(ZEROS + "".join(f"1 0 {line.split(maxsplit=2)[2]}" for line in lines))
    assert scores(cranfield, "rounds", "run", "-m", "AP") == scores(cranfield, "zeros", "run", "-m", "AP")
    assert scores(cranfield, "rounds", "run", "-m", "AP", "--qrels-format", "trec") == scores(
        cranfield, "zeros", "run", "-m", "AP"
    )


@pytest.mark.parametrize("verb", ["loo", "robust"])
def test_methods_that_change_judgments_accept_rounds(cranfield: Cranfield, verb: str) -> None:
    Path("rounds").write_text(ROUNDS + "2 1 d9 -1\n")
    Path("second").write_text(RUN.replace(" r\n", " s\n").replace("d3", "d4"))
    Path("third").write_text(RUN.replace(" r\n", " t\n").replace("d1", "d5"))
    done = cranfield("meta", verb, "rounds", "run", "second", "third", "-m", "AP")
    assert done.code == 0, done.err


@pytest.mark.parametrize("measure", ["alpha-nDCG@10", "ERR-IA@10", "D#-nDCG@10"])
def test_diversity_measures_are_not_computed_over_rounds(cranfield: Cranfield, measure: str) -> None:
    done = cranfield("eval", "rounds", "run", "-m", measure)
    assert done.code == 2
    assert "no document has two labels in column 2; if that is the intent, read the judgments with" in done.err
    assert done.err.rstrip().endswith("on the command line: --qrels-format FORMAT")
    assert cranfield("eval", "rounds", "run", "-m", measure, "--qrels-format", "diversity").code == 0


def test_a_document_with_two_labels_makes_intents() -> None:
    qrels = cf.Qrels.of(b"1 a d1 1\n1 b d1 0\n2 a d2 1\n")
    assert qrels.intents == ("a", "b")
    assert cf.Qrels.of(b"1 a d1 1\n2 b d1 0\n").intents == ()  # one label in each topic


@pytest.mark.parametrize("column", ["intent", "subtopic_id"])
def test_a_column_called_intent_holds_intents(column: str) -> None:
    rows = [{"query_id": "1", "doc_id": "d1", "relevance": 1, column: "a"}]
    rows.append({"query_id": "1", "doc_id": "d2", "relevance": 1, column: "b"})
    assert cf.Qrels.of(rows).intents == ("a", "b")
    renamed = [{("iteration" if name == column else name): value for name, value in row.items()} for row in rows]
    assert cf.Qrels.of(renamed).intents == ()


def test_the_format_trec_ignores_column_2_and_finds_duplicates(cranfield: Cranfield) -> None:
    Path("twice").write_text(ROUNDS + "1 1 d1 0\n")
    done = cranfield("eval", "twice", "run", "-m", "AP", "--qrels-format", "trec")
    assert done.code == 1
    assert "twice:6: document 'd1' appears twice for topic '1', first on line 1, with grades 1 and 0" in done.err
    kept = scores(cranfield, "zeros", "run", "-m", "AP")
    done = cranfield("eval", "twice", "run", "-m", "AP", "-f", "json", *words("trec", "first"))
    assert json.loads(done.out)["rows"] == kept["rows"]
    qrels = cf.Qrels.read("twice")
    assert qrels.intents == ("0.5", "1", "4.5")
    with pytest.raises(DataError, match="document 'd1' is judged twice"):
        cf.Qrels.of(qrels, format="trec")


def words(format: str, rule: str) -> tuple[str, ...]:
    return ("--qrels-format", format, "--on-duplicate", rule)


def test_the_format_trec_ignores_intents_and_strata() -> None:
    plain = cf.Qrels.of(b"1 a d1 1\n1 b d2 -1\n1 b d3 -1\n", format="trec")
    assert plain.intents == ()
    assert (
        cf.evaluate(plain, {"r": {"1": {"d1": 1.0}}}, ["xinfAP"]).notes
        == cf.evaluate(b"1 0 d1 1\n1 0 d2 -1\n1 0 d3 -1\n", {"r": {"1": {"d1": 1.0}}}, ["xinfAP"]).notes
    )
    assert pickle.loads(pickle.dumps(plain)).plain
    assert [judgment.iteration for judgment in plain] == ["a", "b", "b"]  # kept for writing
    with pytest.raises(UsageError, match="column 2 of the judgments, which is ignored in format 'trec' here"):
        cf.evaluate(plain, {"r": {"1": {"d1": 1.0}}}, ["xinfAP"], strata=True)


STRATA = b"1 a d1 1\n1 a d2 0\n1 b d3 1\n1 b d4 -1\n"
"""Stratum b: one of two documents was drawn."""


def test_strata_are_read_where_they_are_asked_for() -> None:
    run = {"r": {"1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}}
    note = "column 2 of the judgments is read as the stratum"

    def noted(**options: Any) -> bool:
        return any(text.startswith(note) for text in cf.evaluate(STRATA, run, **options).notes)

    assert not noted(measures=["AP"])
    assert noted(measures=["AP"], strata=True)
    assert noted(measures=["xinfAP"])
    assert noted(measures=["AP", "infNDCG"])
    probabilities = {"1": {"d1": 1.0, "d2": 1.0, "d3": 0.5}}
    assert noted(measures=["statAP"], inclusion=probabilities)
    # By hand: d3 stands for 2 documents, so R is estimated as 3, of which one document stands for 2 at rank 1.
    assert cf.evaluate(STRATA, run, ["xinfAP"]).mean()["r"]["xinfAP"] == pytest.approx(
        cf.xinfAP().of([1, 1, 0], missed=[-1], strata="baab")
    )


def test_most_grades_of_minus_one_make_strata() -> None:
    qrels = STRATA + b"1 b d5 -1\n1 b d6 -1\n1 b d7 -1\n"
    notes = cf.evaluate(qrels, {"r": {"1": {"d3": 3.0}}}, ["AP"]).notes
    assert any(text.startswith("column 2 of the judgments is read as the stratum") for text in notes)


def test_strata_on_the_command_line(cranfield: Cranfield) -> None:
    Path("strata").write_bytes(STRATA)
    Path("run").write_text("1 Q0 d3 1 3 r\n")
    done = cranfield("eval", "strata", "run", "-m", "AP", "--strata")
    assert "column 2 of the judgments is read as the stratum" in done.out
    Path("intents").write_text("1 a d1 1\n1 b d1 0\n")
    done = cranfield("eval", "intents", "run", "-m", "AP", "--strata")
    assert (done.code, "strata: intents have intents, which samples do not support" in done.err) == (2, True)


def test_few_documents_with_two_labels_are_a_warning_with_the_way_out(cranfield: Cranfield) -> None:
    """One of 200 documents was judged in two rounds."""
    Path("rounds").write_text("".join(f"1 {n % 3} d{n} 1\n" for n in range(200)) + "1 2 d0 1\n")
    with pytest.warns(CranfieldWarning, match=r"rounds: column 2 is read as the intent, because 1 of 200 documents"):
        cf.evaluate("rounds", {"1": {"d1": 1.0}}, ["AP"])
    done = cranfield("eval", "rounds", "run", "-m", "AP")
    assert "read the judgments with format='trec'; on the command line: --qrels-format FORMAT" in done.err
