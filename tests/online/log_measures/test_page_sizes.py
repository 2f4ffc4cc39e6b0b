"""Documents shown are counted from the lengths of lists, or from rows of documents, with the same result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow
import pytest

from cranfield.online.engines import Engine
from cranfield.online.log_measures import measure_log
from cranfield.online.logs import read_log
from cranfield.online.logs.log import PAGE_SIZE, Log

NAMES = ["CTR", "CTR@2", "CTR@5"]


def log_with_lists(engine: Engine) -> Log:
    """Four queries of three users, with 3, 1, no and an empty list of documents; the third is clicked nevertheless."""
    queries = pyarrow.table(
        {
            "query_id": ["q1", "q2", "q3", "q4"],
            "user": ["a", "a", "b", "c"],
            "time": pyarrow.array([1_700_000_000 + i for i in range(4)], pyarrow.int64()),
            "documents": pyarrow.array([["d1", "d2", "d3"], ["d1"], None, []], pyarrow.list_(pyarrow.string())),
        }
    )
    events = pyarrow.table(
        {
            "query_id": ["q1", "q1", "q2", "q3"],
            "user": ["a", "a", "a", "b"],
            "time": pyarrow.array([1_700_000_100 + i for i in range(4)], pyarrow.int64()),
            "action": ["click"] * 4,
            "doc": ["d1", "d3", "d1", "d9"],
            "position": pyarrow.array([1, 3, 1, 1], pyarrow.int64()),
        }
    )
    return read_log(queries, events=events, engine=engine, salt="s")


def values(log: Log) -> list[Any]:
    return list(measure_log(log, NAMES, least=1).value[:, 0])


def test_lengths_of_lists_give_the_rates(duck: Engine) -> None:
    # 3 clicks on 4 documents; 2 clicks at ranks 1 and 2, where 2 + 1 documents are shown; as many at ranks up to 5
    assert values(log_with_lists(duck)) == pytest.approx([3 / 4, 2 / 3, 3 / 4])


def test_rows_of_documents_give_the_same_rates(duck: Engine) -> None:
    log = log_with_lists(duck)
    assert PAGE_SIZE in log.queries.collect_schema().names()
    assert values(replace(log, queries=log.queries.drop(PAGE_SIZE))) == pytest.approx(values(log))


@pytest.mark.parametrize(
    ("text", "after", "similarity"),
    [
        ("red  shoes", "Red shoes ", 1.0),
        ("red red shoes", "red boots", 1 / 3),
        ("red shoes", "blue boots", 0.0),
        ("red\tshoes", "shoes red", 1.0),
        (" ", " ", None),
    ],
)
def test_similarity_of_two_queries(duck: Engine, text: str, after: str, similarity: float | None) -> None:
    queries = {"query_id": ["q1", "q2"], "user": ["a", "a"], "time": [1_700_000_000, 1_700_000_001]}
    events = {"query_id": ["q1"], "user": ["a"], "time": [1_700_000_000], "action": ["click"]}
    log = read_log(
        pyarrow.table({**queries, "text": [text, after]}), events=pyarrow.table(events), engine=duck, salt="s"
    )
    value = measure_log(log, ["query-similarity"], least=1).value[0, 0]
    assert value == pytest.approx(float("nan") if similarity is None else similarity, nan_ok=True)


@pytest.mark.xdist_group("spark")
def test_spark_counts_the_same_documents(duck: Engine, spark: Engine) -> None:
    assert values(log_with_lists(spark)) == pytest.approx(values(log_with_lists(duck)))
