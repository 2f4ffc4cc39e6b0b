"""COEC: over the whole log it is 1, whatever other clicks the log has."""

from __future__ import annotations

from typing import Any

import pytest

from cranfield.online.engines import Engine, open_engine
from cranfield.online.log_measures import document_clicks, measure_log
from tests.online.log_measures.small_logs import START, Rows, log_of, random_rows


def twelve_queries(strays: int, engine: Engine) -> Any:
    """12 queries with two documents each, 6 of them with a click, and clicks of queries that are not in the log."""
    rows = Rows([], [], [])
    for number in range(12):
        query, user = f"q{number}", f"u{number}"
        about = {"query_id": query, "user": user, "session": None, "time": START, "text": "red", "arm": "A"}
        rows.queries.append(about | {"device": None})
        for position, doc in enumerate("ab", 1):
            rows.shown.append({"query_id": query, "position": position, "doc": doc, "propensity": None})
    clicked = [(f"q{n}", f"u{n}") for n in range(6)] + [(f"x{n}", f"u{n}") for n in range(strays)]
    for query, user in clicked:
        event = {"query_id": query, "user": user, "session": None, "time": START + 1, "action": "click"}
        rows.events.append(event | {"doc": "a", "position": 1, "value": None, "dwell": None})
    return log_of(rows, engine)


def check_strays(engine: Engine) -> None:
    for strays in (0, 6):
        log = twelve_queries(strays, engine)
        measured = measure_log(log, ["COEC"])
        assert measured.value[0, 0] == pytest.approx(1)
        ours = document_clicks(log, least=1)
        # a: 6 clicks on 12 impressions at rank 1; b: none at rank 2, so that none are expected
        assert (ours.clicks[0], ours.coec[0]) == (6, pytest.approx(1))
        missing = [note for note in measured.notes if "do not count in COEC" in note]
        assert [note.split()[0] for note in missing] == ["6"] * bool(strays)


def test_clicks_of_queries_that_are_not_in_the_log_count_on_neither_side(duck: Engine) -> None:
    check_strays(duck)


@pytest.mark.xdist_group("spark")
def test_spark_counts_the_same_clicks(spark: Engine) -> None:
    check_strays(open_engine(spark))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_whole_of_any_log_has_1(duck: Engine, seed: int) -> None:
    rows = random_rows(seed)
    for number, event in enumerate(rows.events[::7]):
        event |= [{"query_id": "unknown"}, {"user": "somebody"}, {"doc": "elsewhere"}, {"doc": None}][number % 4]
    assert measure_log(log_of(rows, duck), ["COEC"]).value[0, 0] == pytest.approx(1)


def test_a_click_counts_at_the_rank_at_which_its_document_was_shown(duck: Engine) -> None:
    rows = random_rows(3)
    before = document_clicks(log_of(rows, duck), top=1000, least=1).coec
    for event in rows.events:
        event["position"] = event["position"] and event["position"] + 1
    assert document_clicks(log_of(rows, duck), top=1000, least=1).coec == pytest.approx(before, nan_ok=True)
