"""Clicks per document, against sums over the rows of the log."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from cranfield.errors import UsageError
from cranfield.online.engines import open_engine
from cranfield.online.log_measures import document_clicks
from tests.online.log_measures.literal_measures import estimate, wilson_of_users
from tests.online.log_measures.small_logs import Rows, log_of, random_rows


@pytest.fixture(scope="module")
def rows() -> Rows:
    return random_rows(seed=2, users=40)


def by_hand(rows: Rows, *, per_query: bool) -> dict[tuple[str, ...], dict[str, np.ndarray]]:
    """{(query, document): {user: [clicks, impressions, expected clicks, sum of ranks]}}."""
    shown: dict[int, int] = defaultdict(int)
    clicked: dict[int, int] = defaultdict(int)
    for row in rows.shown:
        shown[row["position"]] += 1
    clicks = [event for event in rows.events if event["action"] == "click"]
    places = {(row["query_id"], row["doc"]): row["position"] for row in reversed(rows.shown)}
    for event in clicks:
        if event["query_id"] is not None:
            clicked[places[event["query_id"], event["doc"]]] += 1
    queries = {row["query_id"]: row for row in rows.queries}
    result: dict[tuple[str, ...], dict[str, np.ndarray]] = defaultdict(lambda: defaultdict(lambda: np.zeros(4)))
    for row in rows.shown:
        query = queries[row["query_id"]]
        text = " ".join((query["text"] or "").lower().split())
        if per_query and not text:
            continue
        key = (text, row["doc"]) if per_query else (row["doc"],)
        rate = clicked[row["position"]] / shown[row["position"]]
        result[key][query["user"]] += (0, 1, rate, row["position"])
    for event in clicks:
        query = queries[event["query_id"]]
        text = " ".join((query["text"] or "").lower().split())
        key = (text, event["doc"]) if per_query else (event["doc"],)
        if key in result:
            result[key][query["user"]] += (1, 0, 0, 0)
    return result


@pytest.mark.parametrize("per_query", [False, True])
def test_every_document_has_the_clicks_and_errors_of_the_rows(rows: Rows, per_query: bool) -> None:
    log = log_of(rows, open_engine("duckdb"))
    found = document_clicks(log, per_query=per_query, top=10_000, least=2)
    expected = {key: users for key, users in by_hand(rows, per_query=per_query).items() if len(users) >= 2}
    keys = list(zip(*(column.tolist() for column in found.keys.values()), strict=True))
    assert sorted(keys) == sorted(expected)
    for i, key in enumerate(keys):
        users = np.array(list(expected[key].values()))
        clicks, impressions, _, ranks = users.sum(axis=0)
        assert (found.clicks[i], found.impressions[i], found.users[i]) == (clicks, impressions, len(users))
        assert found.rank[i] == pytest.approx(ranks / impressions)
        ctr, _ = estimate(users[:, :2])
        assert found.ctr[i] == pytest.approx(ctr)
        coec, _ = estimate(users[:, [0, 2]])
        assert found.coec[i] == pytest.approx(coec)
        low, high = wilson_of_users(users[:, :2])
        assert (found.ctr_low[i], found.ctr_high[i]) == pytest.approx((low, high), abs=1e-8)
        assert found.coec_low[i] <= coec + 1e-12 <= found.coec_high[i] + 2e-12


def test_rows_are_sorted_and_cut(rows: Rows) -> None:
    log = log_of(rows, open_engine("duckdb"))
    for sort, column in (("impressions", "impressions"), ("clicks", "clicks"), ("CTR", "ctr"), ("COEC", "coec")):
        found = document_clicks(log, sort=sort, top=7, least=3)
        values = getattr(found, column)
        assert len(values) == 7
        assert (np.diff(values) <= 0).all()


def test_documents_that_few_users_saw_are_counted_in_a_note(rows: Rows) -> None:
    log = log_of(rows, open_engine("duckdb"))
    every, few = document_clicks(log, top=10_000, least=1), document_clicks(log, top=10_000, least=4)
    hidden = len(every.users) - len(few.users)
    assert hidden > 0
    assert f"{hidden} rows seen by fewer than 4 users not shown" in few.notes
    with pytest.raises(UsageError, match="no document was shown to 500 users or more"):
        document_clicks(log, least=500)


@pytest.mark.xdist_group("spark")
def test_spark_gives_the_same_documents(rows: Rows, spark: Any) -> None:
    duck = document_clicks(log_of(rows, open_engine("duckdb")), per_query=True, least=2)
    other = document_clicks(log_of(rows, spark), per_query=True, least=2)
    for name, column in duck.columns().items():
        if column.dtype == object:
            assert other.columns()[name].tolist() == column.tolist()
        else:
            assert other.columns()[name] == pytest.approx(column, nan_ok=True)
