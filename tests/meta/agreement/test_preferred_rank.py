"""Preferred ranks: Sakai's own example, and lists one by one."""

import numpy as np
import pytest

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.meta.agreement.preferred_rank import preferred_ranks


def ranked(*documents: str) -> dict[str, dict[str, float]]:
    return {"q": {doc: -float(place) for place, doc in enumerate(documents)}}


@pytest.mark.filterwarnings("ignore:.*is judged; an id")
def test_sakais_example_of_topic_020() -> None:
    # Sakai 2007, appendix, NTCIR-3 Chinese topic 020: S at rank 913 and nothing above it; 10 S, 6 A and 36 B:
    # 913, 1(10), 0(6), 0(36), and P+ = P = O = (3 + 1) / (cg* + 913). It has cg* = 48, but 3*10 + 2*6 + 36 is 78.
    grades = {f"{name}{i}": grade for name, grade, n in (("S", 3, 10), ("A", 2, 6), ("B", 1, 36)) for i in range(n)}
    run = ranked(*(f"x{i}" for i in range(912)), "S0")
    result = preferred_ranks({"q": grades}, {"deep": run, "none": ranked("x1")})
    assert result.table().rows == (("q", 913, 913, "deep", "1(10)", "0(6)", "0(36)"),)
    assert result.grades == (3, 2, 1)
    assert any("1 of 2 lists hold no relevant document" in note for note in result.notes)
    for name in ("P+", "P-measure", "O"):
        value = evaluate({"q": grades}, {"deep": run}, name).means().item()
        assert value == pytest.approx(4 / (78 + 913))


def test_the_table_shows_the_run_with_the_largest_preferred_rank() -> None:
    qrels = {"q": {"s": 2, "a": 1, "b": 1, "c": 1}}
    shallow, deep = ranked("s", "a"), ranked("a", "b", "x", "s", "c")
    result = preferred_ranks(qrels, {"shallow": shallow, "deep": deep})
    assert result.table().rows == (("q", 4, 1, "deep", "1(1)", "2(3)"),)
    assert result.preferred.tolist() == [[1], [4]]
    assert result.first.tolist() == [[1], [1]]


def test_ranks_agree_with_single_lists() -> None:
    rng = np.random.default_rng(0)
    documents = [f"d{i}" for i in range(30)]
    qrels = {t: {doc: int(g) for doc, g in zip(documents, rng.integers(0, 4, 30), strict=True)} for t in "123"}
    runs = {
        name: {t: {doc: float(s) for doc, s in zip(documents[:20], rng.permutation(20), strict=True)} for t in qrels}
        for name in "ab"
    }
    result = preferred_ranks(qrels, runs, rel=2)
    for r, run in enumerate(runs.values()):
        for t, (topic, scores) in enumerate(run.items()):
            grades = [qrels[topic][doc] for doc in sorted(scores, key=lambda doc: -scores[doc])]
            assert result.first[r, t] == next(i for i, g in enumerate(grades, 1) if g >= 2)
            assert result.preferred[r, t] == grades.index(max(grades)) + 1
    assert result.judged.sum() == sum(g >= 2 for of in qrels.values() for g in of.values())


@pytest.mark.filterwarnings("ignore:.*is judged; an id")
def test_a_summary_of_each_run() -> None:
    qrels = {"q": {"s": 2, "a": 1}}
    table = preferred_ranks(qrels, {"one": ranked("a", "s"), "none": ranked("x")}).by_run()
    assert table.rows[0] == ("one", 1, 1.0, 1.0, 2.0, 2.0, 1, 2, 0.0)
    assert table.rows[1][:3] == ("none", 0, None)


@pytest.mark.filterwarnings("ignore:.*is judged; an id")
def test_a_topic_without_retrieved_relevant_documents() -> None:
    result = preferred_ranks({"q": {"s": 1}}, {"one": ranked("x"), "two": ranked("y")})
    assert result.table().rows == (("q", None, None, "", "0(1)"),)
    assert np.isnan(result.columns()["rp"]).all()


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="no runs"):
        preferred_ranks({"q": {"s": 1}})
    lists = Assessed.one([1, 0])
    assert preferred_ranks(lists).preferred.tolist() == [[1]]
