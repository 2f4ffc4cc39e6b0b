"""Experiments from a log: the values are those of the online measures of each arm."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from cranfield.errors import UsageError
from cranfield.online.engines import Engine
from cranfield.online.experiments.experiment_power import ab_power
from cranfield.online.experiments.log_analysis import aa_from_log, analyse_log, power_from_log
from cranfield.online.experiments.random_splits import aa_splits
from cranfield.online.log_measures import measure_log
from cranfield.online.log_measures.log_rows import LogRows, sum_names
from cranfield.online.log_measures.oec import OEC, oec_of
from cranfield.online.log_measures.online_measure import parse_online
from cranfield.online.logs import read_log, simulate_log


def test_arms_have_the_values_of_the_online_measures(duck: Engine) -> None:
    log = simulate_log(duck, users=300, days=4, seed=2)
    result = analyse_log(log, ["CTR@5", "abandonment"], lower=["abandonment"], segments=["country"])
    assert result.metrics == ("CTR@5", "abandonment")
    measured = measure_log(log, ["CTR@5", "abandonment"], by=["arm"]).to_pandas().set_index(["measure", "arm"])
    for row in result.rows:
        assert row.effect.control == pytest.approx(measured.loc[(row.metric, "A"), "value"])
        assert row.effect.treatment == pytest.approx(measured.loc[(row.metric, "B"), "value"])
    assert result.by_segment is not None
    assert set(result.by_segment.segment) == {"country"}


def test_days_come_from_the_log_and_columns_are_not_named(duck: Engine) -> None:
    log = simulate_log(duck, users=200, days=4, seed=3)
    found = analyse_log(log, "CTR@5", by_day=True).by_day
    assert found is not None
    assert found.day == (0, 1, 2, 3)
    with pytest.raises(UsageError, match="unit is for tables; a log names its users, arms and days itself"):
        analyse_log(log, "CTR@5", unit="user")


def small_log(duck: Engine) -> Any:
    """Eight users with a query on each of two days, on a phone and at a desk; two of A and three of B buy once."""
    day, start = 86_400, 1_772_409_600  # 2026-03-02T00:00:00Z
    rows = [(f"u{i}", "AB"[i % 2], number) for i in range(8) for number in (0, 1)]
    queries = {
        "query_id": [f"{user}-{number}" for user, _, number in rows],
        "user": [user for user, _, _ in rows],
        "time": [start + number * day for _, _, number in rows],
        "arm": [arm for _, arm, _ in rows],
        "device": [("phone", "desk")[number] for _, _, number in rows],
    }
    buyers = ["u0", "u2", "u1", "u3", "u5"]
    events = {
        "query_id": [f"{user}-0" for user in buyers], "user": buyers, "time": [start + 60] * 5,
        "action": ["conversion"] * 5, "value": [10.0] * 5,
    }  # fmt: skip
    columns = {"queries": {"segments": {"device": "device"}}}
    return read_log(pyarrow.table(queries), events=pyarrow.table(events), columns=columns, engine=duck, hashed=False)


@pytest.mark.parametrize("options", [{}, {"by_day": True}, {"segments": ["device"]}])
def test_users_count_once_although_they_come_on_two_days_with_two_devices(duck: Engine, options: Any) -> None:
    result = analyse_log(small_log(duck), ["conversion", "revenue", "sessions-per-user"], **options)
    values = [(row.effect.control, row.effect.treatment) for row in result.rows]
    # 2 of 4 users of A and 3 of 4 users of B bought for 10; everybody has two sessions
    assert values == [(2 / 4, 3 / 4), (20 / 4, 30 / 4), (2, 2)]
    if "by_day" in options:
        assert result.by_day is not None
        assert [effect.treatment for effect in result.by_day.effects[:2]] == [3 / 4, 0]  # nobody buys on the second day
    if "segments" in options:
        assert "8 users with several values of a segment: the first in the alphabet counts" in result.notes
        assert result.by_segment is not None
        assert set(result.by_segment.value) == {"desk"}


def test_measures_that_the_log_does_not_record_are_named(duck: Engine) -> None:
    notes = analyse_log(small_log(duck), ["hover", "revenue"]).notes
    assert "caution: hover: no event has the action 'hover', so it says nothing" in notes
    assert not any("revenue: no" in note for note in notes)


def test_what_was_assumed_about_the_log_is_in_the_notes(duck: Engine) -> None:
    assert "queries: times are seconds since 1970" in analyse_log(small_log(duck), ["conversion"]).notes
    with pytest.raises(UsageError, match="no column of the log 'devise'; did you mean 'device'"):
        analyse_log(small_log(duck), ["conversion"], segments=["devise"])


def shop() -> OEC:
    """CTR@5 between 0 and 0.2, less abandonment over its value in the whole log."""
    parts = [{"measure": "CTR@5", "weight": 0.7, "low": 0, "high": 0.2}, {"measure": "abandonment", "weight": -0.3}]
    return oec_of({"name": "shop", "parts": parts})


def test_the_weighted_sum_decides_with_the_values_and_errors_of_log_measures(duck: Engine) -> None:
    log = simulate_log(duck, users=300, days=4, seed=2)
    result = analyse_log(log, "CTR@5", oec=shop(), segments=["country"])
    assert result.metrics == ("shop", "CTR@5")
    measured = measure_log(log, by=["arm"], oec=shop()).to_pandas().set_index(["measure", "arm"])
    effect = result.rows[0].effect
    assert effect.control == pytest.approx(measured.loc[("shop", "A"), "value"])
    assert effect.treatment == pytest.approx(measured.loc[("shop", "B"), "value"])
    by_delta = sum(measured.loc[("shop", arm), "error"] ** 2 for arm in "AB")
    assert effect.method == "jackknife"  # of few users: its variance is a little larger
    assert by_delta < effect.error**2 < 1.05 * by_delta
    assert "in shop" in result.verdict or "shop changes" in result.verdict
    assert analyse_log(log, oec=shop()).metrics == ("shop",)


def test_power_and_splits_of_a_log_are_those_of_a_table_of_its_users(duck: Engine) -> None:
    """A ratio over users by another way: the sums of LogRows as a table with a row per user."""
    log = simulate_log(duck, users=300, days=4, seed=2)
    above, below = sum_names(parse_online("CTR@5"))
    users = duck.fetch(LogRows(log, (parse_online("CTR@5"),)).per_user.select("user", above, below))
    of_log = power_from_log(log, "CTR@5", users=5000)
    of_table = ab_power(users, f"{above}/{below}", users=5000)
    assert of_log.detectable.tolist() == pytest.approx(of_table.detectable.tolist())
    splits = aa_from_log(log, "CTR@5", oec=shop(), splits=50)
    assert splits.metrics == ("shop", "CTR@5")
    assert splits.p[1] == pytest.approx(aa_splits(users, f"{above}/{below}", unit="user", splits=50).p[0])


def test_the_variance_of_a_weighted_sum_in_power_is_that_of_log_measures(duck: Engine) -> None:
    """sd / √users is the standard error over the whole log."""
    log = simulate_log(duck, users=300, days=4, seed=2)
    planned = power_from_log(log, oec=shop())
    measured = measure_log(log, oec=shop()).to_pandas().set_index("measure").loc["shop"]
    assert planned.mean[0] == pytest.approx(measured["value"])
    assert planned.sd[0] / measured["users"] ** 0.5 == pytest.approx(measured["error"])


def test_power_by_day_is_for_measures_of_queries_and_sessions(duck: Engine) -> None:
    log = simulate_log(duck, users=200, days=3, seed=3)
    assert power_from_log(log, "CTR@5", by_day=True).days.tolist() == [1, 2, 3]
    with pytest.raises(UsageError, match="sessions-per-user is of whole users, who come on several days"):
        power_from_log(log, "sessions-per-user", by_day=True)
