"""A query is a user and an id: rows that have both in common are one query, in any order, in every count."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from cranfield.answers.sessions.log_sessions import sessions_of_log
from cranfield.online.engines import Engine, open_engine
from cranfield.online.log_measures import document_clicks, measure_log
from cranfield.online.logs import read_log
from cranfield.online.logs.check_log import check_log
from cranfield.online.logs.sessions import summarise_sessions
from tests.online.logs.test_check_log import event, problems, query, write_ubi

LISTS: list[list[str]] = [["a", "b"], [], []]
NAMES = [
    "queries-per-user", "queries-per-session", "session-actions", "page-views", "clicks-per-query", "abandonment",
    "CTR", "CTR@1", "COEC", "words-per-query", "repetition",
]  # fmt: skip
ONE_QUERY = [1, 1, 2, 2, 1, 0, 1 / 2, 0, 1, 2, 0]
"""One query of two words with one click at rank 2 of two documents, on one day."""


def repeated() -> list[dict[str, Any]]:
    """Three rows of one query, most of them without documents."""
    return [query(1, second, query_response_hit_ids=docs) for second, docs in enumerate(LISTS)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_rows_of_one_query_are_one_query_in_any_order(tmp_path: Path, duck: Engine, order: tuple[int, ...]) -> None:
    rows = repeated()
    folder = write_ubi(tmp_path / "log", [rows[i] for i in order], [event(1)])
    report = check_log(folder, salt="s")
    assert not report.wrong
    assert problems(report)["rows with the user and the id of another query"] == 2
    assert problems(report)["rows of queries with an empty list"] == 2
    assert (report.queries, report.shown) == (1, 2)
    log = read_log(folder, engine=duck, salt="s")
    assert measure_log(log, NAMES, least=1).value[:, 0] == pytest.approx(ONE_QUERY)
    assert summarise_sessions(log).queries_per_session == 1
    assert document_clicks(log, least=1).impressions.tolist() == [1, 1]
    assert len(sessions_of_log(log).sessions[0].queries) == 1


def several(rows: list[Any]) -> tuple[list[Any], list[Any]]:
    """Queries with equal lists, different lists and other texts in several rows, and events of all of them."""
    queries = [
        *rows,
        query(2), query(2),  # the same list twice
        query(3, 3, user_query="red"), query(3, 1, user_query="red hat", query_response_hit_ids=["c", "d"]),
        query(4, query_id="q1"),  # another user with the id of the first query
    ]  # fmt: skip
    events = [event(1), event(2), event(3, doc="d"), event(3, doc="c", position=3), event(4, query_id="q1")]
    return queries, events


def counts(folder: Path, engine: Any) -> list[Any]:
    """What is counted in a log."""
    log = read_log(folder, engine=engine, salt="s")
    documents = document_clicks(log, least=1, top=100, sort="clicks")
    found = problems(check_log(folder, salt="s", engine=engine))
    found.pop("queries that go back in time: clocks out of order", None)  # this one is about the order of lines
    return [
        measure_log(log, NAMES, least=1).value[:, 0].round(9).tolist(),
        summarise_sessions(log).to_dict()["rows"],
        sorted(zip(documents.keys["doc"], documents.impressions, documents.clicks, strict=True)),
        found,
    ]


def test_no_count_depends_on_the_order_of_lines(tmp_path: Path, duck: Engine) -> None:
    queries, events = several(repeated())
    expected = counts(write_ubi(tmp_path / "log", queries, events), duck)
    for turn in (1, 3):
        turned = queries[turn:] + queries[:turn]
        folder = write_ubi(tmp_path / "turned", turned[::-1], events[::-1])
        assert counts(folder, duck) == expected


def test_lists_of_one_query_are_taken_together_and_documents_shown_again_count_once(
    tmp_path: Path, duck: Engine
) -> None:
    queries, events = several(repeated())
    folder = write_ubi(tmp_path / "log", queries, events)
    log = read_log(folder, engine=duck, hashed=False)
    # q1: a b; q2: a b c; q3: a b c and c d, at ranks 1 2 3 and 1 2; q1 of the other user: a b c
    assert duck.fetch(log.shown).num_rows == 2 + 3 + 5 + 3
    found = problems(check_log(folder, salt="s"))
    assert found["queries with several lists that differ"] == 1
    assert found["query ids of several users"] == 1
    assert "clicks at another position than their document was shown" not in found
    assert "clicks on documents that were not shown" not in found
    texts = {row["query_id"]: row["text"] for row in duck.fetch(log.queries).to_pylist()}
    assert texts["q3"] == "red hat"  # that of the first row in time


def test_an_event_without_a_user_is_not_held_against_the_list_of_anybody_who_has_its_id(tmp_path: Path) -> None:
    queries = [query(1, query_response_hit_ids=["a"]), query(2, query_id="q1", query_response_hit_ids=["b"])]
    clicks = [event(1, doc="a", position=1), event(2, query_id="q1", doc="b", position=1)]
    for click in clicks:
        click["client_id"] = None
    stranger = event(9, query_id="q1", doc="a", position=1)
    folder = write_ubi(tmp_path / "log", queries, [*clicks, stranger])
    for salt in "stuv":  # the order of hashed users differs
        found = problems(check_log(folder, salt=salt))
        assert found["events without a user, of query ids that several users have"] == 2
        assert found["events of another user than their query"] == 1
        assert "clicks on documents that were not shown" not in found
        assert "events of queries that are not in the log" not in found


def test_users_who_share_an_id_have_their_own_lists_and_clicks_in_every_count(tmp_path: Path, duck: Engine) -> None:
    queries = [query(1, query_response_hit_ids=["a"]), query(2, query_id="q1", query_response_hit_ids=["b", "c"])]
    log = read_log(write_ubi(tmp_path / "log", queries, [event(1, doc="a", position=1)]), engine=duck, hashed=False)
    documents = document_clicks(log, least=1)
    clicks = dict(zip(documents.keys["doc"], documents.clicks.tolist(), strict=True))
    assert clicks == {"a": 1, "b": 0, "c": 0}
    assert documents.impressions.tolist() == [1, 1, 1]
    # One click on three documents; a and b are at rank 1, with one click on two impressions
    assert measure_log(log, ["CTR", "COEC"], least=1).value[:, 0] == pytest.approx([1 / 3, 1])


def test_an_event_before_the_first_row_of_its_query_is_before_its_query(tmp_path: Path) -> None:
    rows = [query(1, second, query_response_hit_ids=["b"]) for second in (9, 5, 7)]
    for lines in permutations(rows):
        folder = write_ubi(tmp_path / "log", list(lines), [event(1, 4, position=1), event(1, 6, position=1)])
        assert problems(check_log(folder, salt="s"))["events before their query"] == 1


@pytest.mark.xdist_group("spark")
def test_spark_counts_the_same_queries(tmp_path: Path, spark: Engine, duck: Engine) -> None:
    folder = write_ubi(tmp_path / "log", *several(repeated()))
    names = ["queries-per-session", "clicks-per-query", "CTR"]  # Spark takes seconds for each
    mine, theirs = (
        measure_log(read_log(folder, engine=of, salt="s"), names, least=1) for of in (open_engine(spark), duck)
    )
    assert mine.value[:, 0] == pytest.approx(theirs.value[:, 0])
