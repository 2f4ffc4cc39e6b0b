"""Pools in files, and the judgments of a sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.building.pools.pool_building import make_pool
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pool_samples import join_pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.collection.qrels import Qrels
from cranfield.errors import DataError, UsageError
from tests.building.pools.small_pools import as_runs, random_lists


def same(first: Pool, second: Pool) -> None:
    for name, column in first.columns().items():
        other = second.columns()[name]
        if column.dtype.kind == "f":
            assert np.array_equal(column, other, equal_nan=True), name
        else:
            assert column.tolist() == other.tolist(), name
    assert first.columns().keys() == second.columns().keys()


@pytest.mark.parametrize("method", ["depth", "rrf", "max-mean", "stratified", "sample"])
def test_a_pool_reads_back_as_it_was_written(method: str, tmp_path: Path) -> None:
    lists = PooledLists.of(as_runs(random_lists(1)))
    pool = make_pool(lists, method, most_per_topic=4, **({"batch": 3} if method == "max-mean" else {}))
    pool.write(tmp_path / "pool.tsv.gz")
    same(pool, Pool.read(tmp_path / "pool.tsv.gz"))


def test_ids_may_hold_tabs_quotes_and_line_breaks(tmp_path: Path) -> None:
    odd = {"x": {'to"pic\t1': {"a\tb": 3.0, 'say "c"': 2.0, "two\nlines": 1.0, "\udcff": 0.5}}}
    pool = make_pool(PooledLists.of(odd))
    pool.write(tmp_path / "odd.tsv")
    same(pool, Pool.read(tmp_path / "odd.tsv"))


def test_topic_and_document_are_enough(tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text("query_id,doc_id,comment\nq,b,x\nq,a,y\n")
    pool = Pool.read(tmp_path / "pool.csv")
    assert pool.docs("q") == ["b", "a"]
    assert not pool.is_sample


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty, expected lines of topic doc [order"),
        ("q a\n", "1: holds only a header, expected lines of topic doc"),
        ("topic\trank\nq\t1\n", "1: no column for the document"),
        ("topic\tdoc\nq\ta\tb\n", "2: 3 columns, expected 2"),
        ("topic\tdoc\nq\ta\nq\tb\nq\ta\n", "4: topic 'q' with document 'a' appears twice, first on line 2"),
        ("topic\tdoc\nq\t\n", "2: topic 'q': the document is '', expected a text"),
        ("topic\tdoc\trank\nq\ta\tx\n", "2: topic 'q': the rank is 'x', expected a number"),
        ("topic\tdoc\tstratum\nq\ta\t1\n", "needs both columns"),
        (
            "topic\tdoc\tstratum\tprobability\nq\ta\t1\t0\n",
            "2: topic 'q': the probability is '0', expected a number, above 0, at most 1",
        ),
        (
            "topic\tdoc\tstratum\tprobability\nq\ta\t1\t\n",
            "2: topic 'q': the probability is '', expected a number, above 0",
        ),
    ],
)
def test_wrong_files_are_errors_with_a_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "pool.tsv"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        Pool.read(path)
    assert message in str(error.value)


# -- judgments of a sample

RUNS = {"x": {"q": {"a": 9, "b": 8, "c": 7, "d": 6}}, "y": {"q": {"c": 9, "e": 8, "f": 7}}}
TRUTH = {"a": 1, "b": 0, "c": 1, "d": 1, "e": 0, "f": 2}


def sampled(drawn: str) -> Pool:
    rows = [("q", doc, drawn.find(doc) + 1) for doc in "acbefd"]
    probability = np.array([1, 1, 0.5, 0.5, 0.5, 0.5])
    return replace(Pool.of(rows), stratum=np.array(list("112222"), dtype=object), probability=probability)


def test_measures_read_the_sample_without_further_options(tmp_path: Path) -> None:
    path = tmp_path / "sampled.qrels"
    result = join_pool(sampled("acbf"), {"q": {doc: TRUTH[doc] for doc in "acbf"}})
    result.write(path)
    assert path.read_text().splitlines() == [
        "topic\tstratum\tdoc\tgrade\tprobability",
        "q\t1\ta\t1\t1.0", "q\t1\tc\t1\t1.0", "q\t2\tb\t0\t0.5", "q\t2\te\t-1\t0.5", "q\t2\tf\t2\t0.5",
        "q\t2\td\t-1\t0.5",
    ]  # fmt: skip
    scores = cf.evaluate(str(path), RUNS, ["statAP", "xinfAP", "infNDCG"]).mean()
    # statAP of x: R = 1 + 1 + 1/.5 = 4; a at 1: 1/1, c at 3: 2/3; (1 + 2/3) / 4
    assert scores["x"]["statAP"] == pytest.approx((1 + 2 / 3) / 4)
    # The same judgments with strata in column 2 and probabilities in a file of their own give the same scores.
    plain = b"q 1 a 1\nq 1 c 1\nq 2 b 0\nq 2 e -1\nq 2 f 2\nq 2 d -1\n"
    inclusion = {"q": {"a": 1.0, "c": 1.0, "b": 0.5, "f": 0.5}}
    other = cf.evaluate(plain, RUNS, ["statAP", "xinfAP", "infNDCG"], strata=True, inclusion=inclusion).mean()
    assert scores == other


def test_the_number_of_relevant_documents_is_estimated_without_bias() -> None:
    """Over all 6 samples of 2 of the 4 documents of stratum 2; 4 of 6 documents are relevant."""
    from itertools import combinations

    totals = []
    for pair in combinations("befd", 2):
        drawn = "ac" + "".join(pair)
        qrels = join_pool(sampled(drawn), {"q": {doc: TRUTH[doc] for doc in drawn}}).qrels()
        relevant = qrels.values >= 1
        totals.append(float((1 / qrels.probabilities[relevant]).sum()))
    assert np.mean(totals) == pytest.approx(4)


def test_a_drawn_document_without_a_judgment_is_an_error_or_not_drawn() -> None:
    judged = {"q": {"a": 1, "c": 1, "b": 0}}
    with pytest.raises(UsageError, match="1 drawn document is not judged: q/f"):
        join_pool(sampled("acbf"), judged)
    result = join_pool(sampled("acbf"), judged, partial=True)
    assert result.grade.tolist() == [1, 1, 0, -1, -1, -1]
    assert result.probability.tolist() == [1, 1, 0.25, 0.25, 0.25, 0.25]  # half of the drawn ones of stratum 2
    assert any("1 drawn document without a judgment" in note for note in result.notes)


def test_judgments_of_other_documents_do_not_enter_the_sample() -> None:
    judged = {"q": {**TRUTH, "z": 1}}
    result = join_pool(sampled("acbf"), judged)
    assert result.grade.tolist() == [1, 1, 0, -1, 2, -1]
    assert any("2 judged documents not drawn, and left unjudged: q/e, q/d" in note for note in result.notes)
    assert any("1 judged document not in the pool, and left out: q/z" in note for note in result.notes)


def test_a_pool_that_is_no_sample_is_refused() -> None:
    with pytest.raises(UsageError, match="the pool is not a sample"):
        join_pool(Pool.of([("q", "a", 1)]), {"q": {"a": 1}})


def test_sampled_judgments_round_trip_and_keep_their_meaning(tmp_path: Path) -> None:
    qrels = join_pool(sampled("acbf"), {"q": {doc: TRUTH[doc] for doc in "acbf"}}).qrels()
    assert not qrels.has_intents
    qrels.write(tmp_path / "again.qrels", "sampled")
    again = Qrels.read(tmp_path / "again.qrels")
    assert again.probabilities.tolist() == qrels.probabilities.tolist()
    assert again == qrels
    with pytest.raises(DataError, match="trec cannot hold the probabilities of a sample"):
        qrels.write(tmp_path / "lost.qrels", "trec")
    with pytest.raises(DataError, match="sampled needs the probabilities of a sample"):
        Qrels.of({"q": {"a": 1}}).write(tmp_path / "plain.qrels", "sampled")


@pytest.mark.parametrize("probability", ["0", "1.5", "-1", "x"])
def test_a_probability_outside_its_range_is_an_error(probability: str) -> None:
    text = f"topic\tstratum\tdoc\tgrade\tprobability\nq\t1\ta\t1\t{probability}\n"
    with pytest.raises(DataError, match=r"topic 'q', document 'a': probability .*, must be a number above 0"):
        cf.evaluate(text.encode(), RUNS, "statAP")


def test_five_columns_without_the_header_stay_an_error() -> None:
    """A file of the Million Query track (topic doc grade method probability) must not be taken for strata."""
    with pytest.raises(DataError, match="5 columns, expected 4"):
        Qrels.of(b"q a 1 1 0.5\n")


def test_a_document_with_two_strata_is_judged_twice() -> None:
    text = b"topic\tstratum\tdoc\tgrade\tprobability\nq\t1\ta\t1\t1\nq\t2\ta\t0\t0.5\n"
    with pytest.raises(DataError, match="appears twice"):
        Qrels.of(text)
