"""C/W/L measures with the cost of each document: by hand, and compared with costs by grade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.measures import BPM, CWL, IFT, INST, CWLMeasure, parse
from tests.cli.conftest import Cranfield, in_process

QRELS = {"q": {"a": 1, "b": 0, "d": 1}}
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
COSTS = {"a": 2.0, "b": 4.0, "c": 6.0, "d": 8.0}


def mean(measure: Any, **options: Any) -> float:
    return cf.evaluate(QRELS, {"mine": RUN}, [measure], **options).means().item()


def test_expected_cost_by_hand() -> None:
    """W is 1/2, 1/4, 1/8, 1/16, and 1/16 for all ranks below, which cost the mean of the list, 5."""
    expected = 2 / 2 + 4 / 4 + 6 / 8 + 8 / 16 + 5 / 16
    assert mean(CWL(p=0.5, cost="cost", report="EC"), lengths=COSTS) == pytest.approx(expected, abs=1e-9)


def test_total_cost_and_limits_by_hand() -> None:
    """Reading to rank 3 costs 2 + 4 + 6. With K = 6 a reader stops at rank 2, after one relevant document."""
    assert mean(CWL(continuation="P", cost="words", report="ETC") @ 3, lengths=COSTS) == 12
    assert mean(BPM(T=9, K=6, cost="cost"), lengths=COSTS) == 1 / 2


def test_condensed_lists_keep_the_costs_of_judged_documents() -> None:
    """Without c, which is unjudged, the list is a b d."""
    assert mean((CWL(continuation="P", cost="cost", report="ETC") @ 3).view("condensed"), lengths=COSTS) == 2 + 4 + 8


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
def test_tied_documents_keep_their_costs() -> None:
    """One document is read: the relevant one, which costs 1, or the other, which costs 3."""
    first_document = CWL(continuation="P", cost="cost", report="EC") @ 1
    lists = {"mine": {"q": {"a": 1.0, "b": 1.0}}}
    scores = cf.evaluate({"q": {"a": 1, "b": 0}}, lists, [first_document.view("ties")], lengths={"a": 1, "b": 3})
    assert scores.means().item() == 2


@pytest.mark.parametrize("kind", [CWL(), INST(T=2), BPM(T=2), IFT(), CWL(continuation="AP")])
@pytest.mark.parametrize("report", ["EU", "ETU", "EC", "ETC", "ED"])
def test_costs_by_document_agree_with_costs_by_grade(kind: CWLMeasure, report: str) -> None:
    by_grade = {0: 1.0, 1: 2.5, 2: 4.0}
    grades = np.random.default_rng(7).integers(0, 3, size=(20, 12))
    for row in grades.tolist():
        by_table = kind.replace(cost="cost", report=report, depth=12, max_grade=2)
        theirs = by_table.replace(cost=by_grade, cost_below="mean").of(row, missed=[1])
        costs = {"cost": [by_grade[grade] for grade in row]}
        assert by_table.of(row, missed=[1], lengths=costs) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(
    ("below", "expected"), [("mean", 5), (1, 1), ("none", 0), (7.5, 7.5), (None, 5)]
)  # by default the mean of the list
def test_the_cost_below_the_end_of_a_list_can_be_set(below: Any, expected: float) -> None:
    """W is 1/2, 1/4, 1/8, 1/16, and 1/16 for all ranks below."""
    measure = CWL(p=0.5, cost="cost", cost_below=below, report="EC")
    assert mean(measure, lengths=COSTS) == pytest.approx(2 / 2 + 4 / 4 + 6 / 8 + 8 / 16 + expected / 16, abs=1e-9)
    assert parse(str(measure)) == measure


def test_the_cost_below_the_end_of_a_list_by_grade() -> None:
    """Relevant documents cost 3, others 1: a list of both costs 2 on average; half of W is below its end."""
    costs = {"mean": 2, None: 1, "none": 0, 4: 4}
    for below, expected in costs.items():
        measure = CWL(p=0.5**0.5, cost={0: 1, 1: 3}, cost_below=below, report="EC")
        W = 1 - 0.5**0.5  # of rank 1; rank 2 has W · √½
        assert measure.of([1, 0]) == pytest.approx(3 * W + W * 0.5**0.5 + expected / 2, abs=1e-9)
    with pytest.raises(cf.CranfieldError, match="cost_below == 'zero', must be one of 'mean', 'none'"):
        CWL(cost_below="zero")
    with pytest.raises(cf.CranfieldError, match="cost_below == -1"):
        CWL(cost_below=-1)


@pytest.mark.parametrize(("grades", "missed"), [([1, 0], [1]), ([0, 1, 0, 1], []), ([None, 1], [1, 1, 1])])
def test_if_each_document_costs_1_the_expected_cost_of_AP_is_1_per_document(grades: Any, missed: Any) -> None:
    """By the definition of W, which adds up to 1 with the share of the missed documents; ETC is then the depth."""
    report = {name: CWL(continuation="AP", report=name).of(grades, missed) for name in ("EC", "ETC", "ED")}
    assert report["EC"] == pytest.approx(1)
    assert report["ETC"] == pytest.approx(report["ED"])
    unpaid = CWL(continuation="AP", report="EC", cost_below="none").of([1, 0], missed=[1])
    assert unpaid == pytest.approx(0.5)  # the missed document has half of W


def test_every_rank_of_an_empty_list_costs_1() -> None:
    empty = Assessed.one([], missed=[1]).replace(lengths=Lengths.one({"cost": []}, 0))
    assert CWL(cost="cost", report="EC").evaluate(empty).tolist() == pytest.approx([1.0])
    assert np.isfinite(IFT(cost="cost").evaluate(empty)).all()


def test_lengths_are_needed_only_if_the_cost_is_a_column() -> None:
    measure = CWL(cost="words", report="EC")
    assert parse(str(measure)) == measure
    assert (measure.needs, CWL().needs, CWL(cost={0: 1, 1: 2}).needs) == ("lengths", "", "")


def test_a_column_used_as_the_cost_is_noted() -> None:
    scores = cf.evaluate(QRELS, {"mine": RUN}, [CWL(cost="cost", report="EC")], lengths=COSTS)
    assert "CWL: the lengths of documents are used as cost" in scores.notes


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ('CWL(cost="cost")', {}, r"CWL\(cost='cost'\) needs the lengths of documents: give lengths="),
        ('CWL(cost="price")', {}, "CWL: cost == 'price', must be one of 'cost', 'words', 'characters', 'length'"),
        ('CWL(cost="cost")', {"lengths": {**COSTS, "b": 0}},
         "run 'mine', topic 'q', rank 2: the document's cost is 0, must be above 0"),
        ('CWL(cost="cost")', {"lengths": {"a": 1}}, "3 retrieved documents without a length: b, c, d"),
        ("CWL(cost={1: 2})", {}, "must be a table .* or a column of the lengths: cost, words"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(measure: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.evaluate(QRELS, {"mine": RUN}, [measure], **options)


def test_costs_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading to rank 2 costs 2 + 4: the column `cost` counts, not the column `words`."""
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q 0 a 1\nq 0 b 0\n")
    Path("run").write_text("q Q0 a 1 2 mine\nq Q0 b 2 1 mine\n")
    Path("costs").write_text("doc,words,cost\na,100,2\nb,200,4\n")
    cranfield: Cranfield = in_process
    measure = 'CWL(continuation="P",cost="cost",report="ETC")@2'
    result = cranfield("eval", "qrels", "run", "--lengths", "costs", "-m", measure, "-f", "trec")
    assert (result.code, result.out.split()[-1]) == (0, "6.0000")
    explained = cranfield(
        "explain", "qrels", "run", "--lengths", "costs", "-m", measure.replace("ETC", "EU"), "--topic", "q"
    )
    assert explained.code == 0
    Path("costs").write_text("doc,cost,cost\na,1,2\nb,2,4\n")
    twice = cranfield("eval", "qrels", "run", "--lengths", "costs", "-m", measure)
    assert (twice.code, twice.out) == (1, "")
    assert "costs:1: 2 columns are called cost (2 and 3)" in twice.err
