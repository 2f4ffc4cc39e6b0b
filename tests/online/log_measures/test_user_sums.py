"""Sums per user, for experiments."""

from __future__ import annotations

import pytest

from cranfield.online.engines import open_engine
from cranfield.online.log_measures import measure_log, per_user
from tests.online.log_measures.literal_measures import LITERAL, Literal
from tests.online.log_measures.small_logs import log_of, random_rows


def test_the_sums_of_every_user_are_those_of_the_literal_version() -> None:
    rows = random_rows(seed=9, users=25)
    literal = Literal(rows)
    users = per_user(log_of(rows, open_engine("duckdb")), list(LITERAL))
    table = {row["user"]: row for row in users.frame.collect("pyarrow").to_arrow().to_pylist()}
    assert sorted(table) == sorted(literal.by_user)
    arms = {query["user"]: query["arm"] for query in rows.queries}
    assert {user: row["arm"] for user, row in table.items()} == arms
    for name, columns in users.sums.items():
        sums = {user: [0.0, 0.0] for user in table}
        for row, above, below in LITERAL[name](literal):
            sums[row["user"]][0] += above
            sums[row["user"]][1] += below
        for user, expected in sums.items():
            assert [table[user][column] for column in columns] == pytest.approx(expected), name


def test_a_user_in_two_arms_has_a_row_in_each() -> None:
    rows = random_rows(seed=9, users=25)
    busy = next(user for user in sorted(Literal(rows).by_user) if sum(q["user"] == user for q in rows.queries) > 1)
    mine = [query for query in rows.queries if query["user"] == busy]
    mine[0]["arm"], mine[1]["arm"] = "A", "B"
    log = log_of(rows, open_engine("duckdb"))
    table = per_user(log, ["clicks-per-query"]).frame.collect("pyarrow").to_arrow().to_pylist()
    assert sorted(row["arm"] for row in table if row["user"] == busy) == ["A", "B"]
    assert measure_log(log, ["clicks-per-query"], by="arm").users.sum() == 26
