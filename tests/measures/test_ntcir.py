"""NTCIR's measures by their own names, compared with the stand-in for NTCIREVAL and with numbers worked out by hand."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.lists import Assessed
from cranfield.compat import ntcireval
from cranfield.errors import UsageError
from cranfield.measures import ERR, NCU, RBP, Success, nDCG, nERR, parse
from tests.cli.conftest import in_process


def test_names_of_ntcireval_parse() -> None:
    same = {
        "Hit@0010": Success() @ 10,
        "MSnDCG@0010": nDCG() @ 10,
        "NCUgu,P": NCU(stop="graded-uniform", utility="P"),
        "NCUgu,BR": NCU(stop="graded-uniform", utility="BR"),
        "NCUrb,P": NCU(stop="rank-biased", utility="P"),
        "NCUrb,BR@0010": NCU(stop="rank-biased", utility="BR") @ 10,
        "D-NCUrb,P": parse("D-NCUrbP"),
    }
    for name, measure in same.items():
        assert parse(name) == measure, name


def test_a_name_with_a_comma_is_one_measure_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q 0 a 1\nq 0 b 2\n")
    Path("run").write_text("q Q0 a 1 2 r\nq Q0 b 2 1 r\n")
    result = in_process("eval", "qrels", "run", "-m", "NCUgu,P,EBR,Hit@1", "-f", "trec")
    assert result.code == 0
    assert len(result.out.splitlines()) == 2 + 3  # after runid and num_q


def test_expected_blended_ratio_and_intentwise_utility_by_hand() -> None:
    # grades 1 and 3 of at most 3 satisfy with 1/4 and 3/4; BR(1) = (1 + 1)/(1 + 3), BR(3) = (2 + 4)/(3 + 4)
    stops = [1 / 4, 3 / 4 * 3 / 4]
    assert parse("EBR").of([1, None, 3]) == pytest.approx(stops[0] * 2 / 4 + stops[1] * 6 / 7)
    assert parse("iRBU(p=0.5)").of([1, None, 3]) == pytest.approx(stops[0] * 0.5 + stops[1] * 0.5**3)
    assert parse("EBR@2").of([1, None, 3]) == pytest.approx(stops[0] * 2 / 4)
    # with at most 4, and with exponential gains 1 and 7
    assert parse("iRBU(p=0.5,max_grade=4)").of([1]) == pytest.approx(0.5 / 5)
    assert parse("iRBU(p=0.5,gain='exp')").of([1, 3]) == pytest.approx(0.5 / 8 + 0.25 * 7 / 8 * 7 / 8)


def test_bpref_relative_by_hand() -> None:
    # judged: 1 0 1; the first adds nothing, the third has one of two documents above not relevant
    assert parse("bpref_relative").of([1, None, 0, 1], missed=[1]) == pytest.approx((1 - 1 / 2) / 3)


GRADES = st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=12)
NAMES = {
    "EBR": "EBR", "EBR@0003": "EBR@3", "iRBU@0003": "iRBU(p=0.9)@3", "iRBU@0020": "iRBU(p=0.9)",
    "ERR": "ERR(max_grade=3,probability='linear')", "ERR@0003": "ERR(max_grade=3,probability='linear')@3",
    "nERR@0003": "nERR(max_grade=3,probability='linear')@3", "Hit@0003": "Hit@3", "MSnDCG@0003": "MSnDCG@3",
    "NCUgu,P": "NCUgu,P", "NCUgu,BR": "NCUgu,BR", "NCUrb,P": "NCUrb,P", "NCUrb,BR": "NCUrb,BR", "Q@0003": "Q@3",
}  # fmt: skip


def printed(words: str) -> dict[str, float]:
    out = io.StringIO()
    assert ntcireval.main(words.split(), out, io.StringIO()) == 0
    lines = (line.split() for line in out.getvalue().splitlines() if "=" in line and "#" not in line)
    return {cells[-2].rstrip("="): float(cells[-1]) for cells in lines}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("here")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(GRADES, st.lists(st.integers(0, 3), max_size=5))
def test_scores_agree_with_the_stand_in_for_ntcireval(grades: list[int | None], missed: list[int]) -> None:
    missed = [*missed, 3]  # so that the topic has a relevant document of the highest level
    judged = [*grades, *missed]
    Path("qrels").write_text("".join(f"q 0 d{n} L{g}\n" for n, g in enumerate(judged) if g is not None))
    Path("run").write_text("".join(f"q Q0 d{n} {n + 1} {-n} r\n" for n in range(len(grades))))
    theirs = printed("eval -g 1:2:3 -cutoffs 3,20 -rbup 0.9 qrels run")
    lists = Assessed.one(grades, missed)
    for name, ours in NAMES.items():
        assert parse(ours).evaluate(lists)[0] == pytest.approx(theirs[name], abs=0.5001e-4), name


@pytest.mark.filterwarnings("ignore:.*is judged; an id")
@pytest.mark.usefixtures("here")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from([f"d{n}" for n in range(9)]), st.lists(st.integers(0, 3), min_size=2, max_size=2)),
    st.permutations([f"d{n}" for n in range(9)]),
)
def test_global_gains_are_divided_by_the_largest_of_the_topic(grades: dict[str, list[int]], ranking: list[str]) -> None:
    """gcompute takes the largest gain from the ideal list of the topic; another topic has a larger one."""
    grades = {**grades, "d0": [1, 2]}
    likely = {"1": 0.25, "2": 0.75}
    gain = {doc: 0.25 * first + 0.75 * second for doc, (first, second) in grades.items()}
    best = sorted((doc for doc in gain if gain[doc]), key=lambda doc: -gain[doc])
    Path("ideal").write_text("".join(f"{doc} {gain[doc]:.10f}\n" for doc in best))
    Path("list").write_text("".join(f"{doc} {gain.get(doc, 0):.10f}\n" for doc in ranking[:6]))
    theirs = printed("gcompute -I ideal -cutoffs 4 list")
    lines = "".join(f"q 1 {doc} {a}\nq 2 {doc} {b}\n" for doc, (a, b) in grades.items()) + "other 1 z 9\nother 2 z 9\n"
    run = {"q": {doc: float(-rank) for rank, doc in enumerate(ranking[:6])}, "other": {"y": 1.0}}
    names = {"RBP": 'D-RBP(p=0.95,largest="topic")', "EBR": 'D-EBR(largest="topic")'}
    probabilities = {"q": likely, "other": likely}
    scores = cf.evaluate(
        cf.Qrels.of(lines.encode()), {"r": run}, list(names.values()), intent_probabilities=probabilities,
        empty_intents="keep",
    )  # fmt: skip
    by_name = dict(zip(names, scores.values[:, 0, list(scores.topics).index("q")].tolist(), strict=True))
    for name in names:
        assert by_name[name] == pytest.approx(theirs[name], abs=2e-4), name  # gains have four digits


def test_the_probability_of_satisfaction_by_hand() -> None:
    # linear: 2/4, then 1/4 at rank 3; by table: 0.9, then 0.2
    grades = [2, None, 1]
    assert ERR(max_grade=3, probability="linear").of(grades) == pytest.approx(2 / 4 + 2 / 4 * 1 / 4 / 3)
    table = ERR(probability={1: 0.2, 2: 0.9})
    assert table.of(grades) == pytest.approx(0.9 + 0.1 * 0.2 / 3)
    assert parse(str(table)) == table
    assert table.note(Assessed.one(grades)) is None
    # the best order of a table that prefers grade 1: 0.8 at rank 1, then 0.5
    ideal = 0.8 + 0.2 * 0.5 / 2
    assert nERR(probability={1: 0.8, 2: 0.5}).of([2, 1]) == pytest.approx((0.5 + 0.5 * 0.8 / 2) / ideal)
    # by intent, 3/4 of the readers have intent a
    documents = [{"a": 1}, {"b": 1}]
    by_intent = parse("ERR-IA(probability='linear')").of(documents, intent_probabilities={"a": 0.75, "b": 0.25})
    assert by_intent == pytest.approx(0.75 / 2 + 0.25 / 2 / 2)
    with pytest.raises(UsageError, match="ERR: probability == 2 for grade 1, must be between 0 and 1"):
        ERR(probability={1: 2})


def test_the_largest_gain_of_each_topic_by_hand() -> None:
    lists = cf.join({"a": {"x": 1}, "b": {"y": 4}}, {"a": {"x": 1.0}, "b": {"y": 1.0}})
    assert RBP(p=0.5, gain="linear").evaluate(lists).tolist() == [0.125, 0.5]
    assert RBP(p=0.5, gain="linear", largest="topic").evaluate(lists).tolist() == [0.5, 0.5]
    assert np.isfinite(RBP(gain="linear", largest="topic").of([0]))
    with pytest.raises(UsageError, match='RBP: largest == "topic" divides gains'):
        RBP(largest="topic")
