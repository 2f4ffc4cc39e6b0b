"""The agreement of runs with preferences, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.online.log_measures.click_preferences import Preferences, run_agreement


def preferences(entries: list[tuple[str, str, str, int, int]]) -> Preferences:
    query, better, worse, times, reverse = zip(*entries, strict=True)
    texts = (np.array(column, dtype=object) for column in (query, better, worse))
    return Preferences(("skip-above",), *texts, np.array(times), np.array(reverse), np.array(times), (), 1, ())


TWO = preferences([("red shoes", "a", "b", 3, 1), ("red shoes", "a", "c", 2, 0), ("hat", "x", "y", 5, 0)])


def test_agreement_is_the_mean_share_over_queries() -> None:
    """good ranks a above b, and has no c: it agrees with 3 + 2 of 6 for red shoes, and with 0 of 5 for hat."""
    good = Run.from_dict({"red shoes": {"a": 2.0, "b": 1.0}, "hat": {"y": 1.0}}, name="good")
    bad = Run.from_dict({"Red  shoes": {"b": 2.0, "a": 1.0}, "hat": {"x": 3.0, "y": 2.0}}, name="bad")
    result = run_agreement(TWO, {"good": good, "bad": bad})
    assert result.agreement.tolist() == pytest.approx([(5 / 6 + 0) / 2, ((1 + 2) / 6 + 1) / 2])
    assert result.agree.tolist() == [5, 8]
    assert result.disagree.tolist() == [6, 3]
    assert result.comparison is not None


def test_documents_that_a_run_lacks_both_are_not_decided() -> None:
    result = run_agreement(TWO, {"run": Run.from_dict({"red shoes": {"b": 1.0}}, name="run")})
    assert result.neither.tolist() == [2]  # a against c
    assert result.agreement.tolist() == [1 / 4]
    assert result.comparison is None


def test_topics_can_have_the_texts_of_queries() -> None:
    run = Run.from_dict({"301": {"a": 2.0, "b": 1.0, "c": 0.5}}, name="run")
    result = run_agreement(TWO, {"run": run}, topics={"301": "Red shoes", "302": "hat"})
    assert result.agreement.tolist() == [5 / 6]
    with pytest.raises(UsageError, match="no topic of the runs is a query with preferences; these queries are 'hat'"):
        run_agreement(TWO, {"run": run})


def test_systems_can_go_in_circles() -> None:
    """Three runs and three queries: each run is best, middle and worst once, in turn."""
    queries = ["q1", "q2", "q3"]
    wanted = preferences([(q, "a", x, 1, 0) for q in queries for x in "bc"])
    orders = {1: "abc", 0.5: "bac", 0: "bca"}  # the agreement of a list, and the list

    def run(shares: list[float], name: str) -> Run:
        lists = {q: {doc: -float(i) for i, doc in enumerate(orders[s])} for q, s in zip(queries, shares, strict=True)}
        return Run.from_dict(lists, name=name)

    runs = {"A": run([1, 0.5, 0], "A"), "B": run([0.5, 0, 1], "B"), "C": run([0, 1, 0.5], "C")}
    result = run_agreement(wanted, runs)
    assert result.agreement.tolist() == [0.5, 0.5, 0.5]
    assert str(result.cycle) == "A > B > C > A"
    assert any("intransitive" in note for note in result.notes)
