"""The documents of runs, numbered: against sets and sorted lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.building.pools.pool_simulation import lists_of_judged
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.collection.qrels import Qrels
from cranfield.errors import DataError, UsageError
from tests.building.pools.small_pools import as_runs, random_lists, random_relevance
from tests.oracles import pool_policies as slow


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("depth", [1, 3, None])
def test_a_depth_pool_is_the_union_of_the_first_documents(seed: int, depth: int | None) -> None:
    by_topic = random_lists(seed, topics=4, runs=6)
    lists = PooledLists.of(as_runs(by_topic), depth=depth)
    for number, topic in enumerate(lists.topics):
        firsts = {run: documents[:depth] for run, documents in by_topic[topic].items()}
        assert set(lists.docs(number)) == set().union(*firsts.values())
        in_order = {run: firsts.get(run, []) for run in lists.runs}
        assert lists.docs(number) == slow.depth_order(in_order)
        for place, run in enumerate(lists.runs):
            row = number * len(lists.runs) + place
            own = slice(int(lists.list_start[row]), int(lists.list_start[row + 1]))
            docs = lists.docs(number)
            assert [docs[d - lists.start[number]] for d in lists.document[own]] == firsts.get(run, [])
            assert lists.rank[own].tolist() == list(range(1, len(firsts.get(run, [])) + 1))


def test_many_documents_of_a_topic_keep_their_numbers() -> None:
    """The table of ids grows: 64, 128, ... places."""
    runs = {f"r{r}": {"q": {f"d{r * 500 + n}": float(-n) for n in range(700)}} for r in range(4)}
    lists = PooledLists.of(runs, depth=None)
    assert sorted(lists.docs(0), key=lambda doc: int(doc[1:])) == [f"d{n}" for n in range(2200)]


def test_ties_and_orders_are_those_of_evaluation(tmp_path: Path) -> None:
    path = tmp_path / "tied.run"
    path.write_text("q Q0 a 2 5.0 t\nq Q0 b 1 5.0 t\nq Q0 c 3 7.0 t\n")
    # By score: c, then the tie by id, descending: b, a. By rank: b, a, c. As listed: a, b, c.
    for order, expected in ((None, ["c", "b", "a"]), ("rank", ["b", "a", "c"]), ("file", ["a", "b", "c"])):
        assert PooledLists.of(str(path), options=JoinOptions(order=order)).docs(0) == expected
    for ties in ("a-z", "file"):
        assert PooledLists.of(str(path), options=JoinOptions(ties=ties)).docs(0) == ["c", "a", "b"]


def test_ids_are_any_text() -> None:
    runs = {"x": {"query one\t": {"a b": 2, "ü\n": 1}}}
    lists = PooledLists.of(runs)
    assert (lists.topics, lists.docs(0)) == (("query one\t",), ["a b", "ü\n"])


def test_grades_are_those_of_the_judgments() -> None:
    by_topic = random_lists(6)
    lists = PooledLists.of(as_runs(by_topic))
    relevant = {key: value for number, (key, value) in enumerate(random_relevance(by_topic, 6).items()) if number % 3}
    qrels: dict[str, dict[str, int]] = {"other": {"d01": 1}}
    for (topic, doc), value in relevant.items():
        qrels.setdefault(topic, {})[doc] = int(value)
    grades = lists.grades(Qrels.of(qrels))
    for number, topic in enumerate(lists.topics):
        for place, doc in enumerate(lists.docs(number)):
            expected = relevant.get((topic, doc))
            found = grades[lists.start[number] + place]
            assert np.isnan(found) if expected is None else found == expected


def test_a_document_judged_by_intent_has_its_highest_grade() -> None:
    lists = PooledLists.of({"x": {"1": {"a": 1, "b": 0}}})
    assert lists.grades(Qrels.of(b"1 i a 0\n1 j a 2\n1 i b 0\n")).tolist() == [2, 0]


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
@pytest.mark.parametrize("seed", range(3))
def test_lists_of_judged_documents_keep_ranks(seed: int) -> None:
    by_topic = random_lists(seed)
    truth = random_relevance(by_topic, seed).items()
    relevant = {key: value for number, (key, value) in enumerate(truth) if number % 2}
    qrels: dict[str, dict[str, int]] = {topic: {"nowhere": 1} for topic in by_topic}
    for (topic, doc), value in relevant.items():
        qrels[topic][doc] = int(value)
    documents = JudgedDocuments.of(qrels, as_runs(by_topic))
    lists, judged = lists_of_judged(documents, depth=8)
    whole = PooledLists.of(as_runs(by_topic), depth=8)
    expected = whole.only(~np.isnan(whole.grades(Qrels.of(qrels))))
    for number, topic in enumerate(lists.topics):
        other = expected.topic_number[topic]
        assert lists.docs(number) == expected.docs(other)
    assert sorted(lists.rank.tolist()) == sorted(expected.rank.tolist())
    names = [doc for number in range(len(lists.topics)) for doc in lists.docs(number)]
    topics = [topic for topic, size in zip(lists.topics, np.diff(lists.start), strict=True) for _ in range(size)]
    assert [documents.grade[j] for j in judged] == [qrels[t][d] for t, d in zip(topics, names, strict=True)]


def test_some_topics_only() -> None:
    lists = PooledLists.of(as_runs(random_lists(1)), topics=["t2", "t0", "t9"])
    assert lists.topics == ("t0", "t2")
    assert any("1 topic is in no run: t9" in note for note in lists.notes)
    with pytest.raises(UsageError, match="no run has any of the topics t8"):
        PooledLists.of(as_runs(random_lists(1)), topics=["t8"])


def test_parts_below_one_another_are_the_same_lists() -> None:
    lists = PooledLists.of(as_runs(random_lists(1)))
    double = PooledLists.stacked([lists, lists])
    assert double.size == 2 * lists.size
    assert (double.document[len(lists.document) :] - lists.size).tolist() == lists.document.tolist()


def test_the_same_run_twice_and_a_missing_topic_are_noted() -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    notes = PooledLists.of({"x": run, "y": run, "z": {"p": {"c": 1.0}}}).notes
    assert any(
        "2 runs retrieve the same documents in the same order, as deep as they are pooled: x, y" in note
        for note in notes
    )
    assert any("3 lists are missing or empty" in note for note in notes)  # q of z, p of x and y


@pytest.mark.parametrize(
    ("runs", "options", "error"),
    [
        ({}, {}, "1 run without any document"),
        ([], {}, "no runs given"),
        ({"x": {"q": {"a": 1}}}, {"depth": 0}, "depth == 0"),
        ({"x": {"q": {"a": 1}}}, {"options": JoinOptions(order="rank")}, "x: order == 'rank', but"),
    ],
)
def test_wrong_calls_are_errors(runs: object, options: dict[str, object], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        PooledLists.of(runs, **options)  # type: ignore[arg-type]


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.run").write_text("")
    with pytest.raises(DataError, match="is empty"):
        PooledLists.of(str(tmp_path / "empty.run"))
