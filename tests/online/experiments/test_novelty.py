"""Effects by days since exposure, and their trend, against a slow version over the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cranfield.errors import UsageError
from cranfield.online.engines import Engine
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.effects_in_parts import NoveltyEffects


def visits(n: int = 400, *, seed: int = 0, fade: float = 0.0, days: int = 6) -> pd.DataFrame:
    """A row per user and day of a visit; users start on different days, and differ from each other."""
    rng = np.random.default_rng(seed)
    start, arm, level = rng.integers(0, 3, n), rng.choice(["A", "B"], n), rng.normal(5, 2, n)
    rows = []
    for i in range(n):
        for day in range(start[i], days):
            since = day - start[i]
            if since == 0 or rng.random() < 0.7:
                extra = (arm[i] == "B") * (1.0 - fade * since)
                rows.append((f"u{i}", arm[i], f"2026-03-{day + 1:02d}", level[i] + rng.normal() + extra, 1 + day % 2))
    return pd.DataFrame(rows, columns=["user", "arm", "day", "revenue", "shown"])


def slow_trend(frame: pd.DataFrame) -> tuple[float, float]:
    """Slope and p of the trend of mean revenue, by loops over users."""
    frame = frame.assign(number=pd.to_datetime(frame["day"]).dt.day)
    frame["since"] = frame["number"] - frame.groupby("user")["number"].transform("min")
    cells = frame.groupby(["arm", "since"])["revenue"].agg(["mean", "var", "count"])
    days = sorted(frame["since"].unique())
    effect = np.array([cells.loc[("B", d), "mean"] - cells.loc[("A", d), "mean"] for d in days])
    variance = np.array([sum(cells.loc[(a, d), "var"] / cells.loc[(a, d), "count"] for a in "AB") for d in days])
    weight, day = 1 / variance, np.array(days, dtype=float)
    centred = day - weight @ day / weight.sum()
    c = weight * centred / (weight @ centred**2)
    slope = float(c @ effect)
    added: dict[str, list[float]] = {"A": [], "B": []}
    for (_, arm), own in frame.groupby(["user", "arm"]):
        parts = [
            c[days.index(since)] * (revenue - cells.loc[(arm, since), "mean"]) / cells.loc[(arm, since), "count"]
            for since, revenue in zip(own["since"], own["revenue"], strict=True)
        ]
        added[arm].append(sum(parts))
    variances, degrees = [], []
    for each in map(np.array, added.values()):
        n, kurtosis = len(each), (each**4).mean() / (each**2).mean() ** 2
        variances.append((each**2).sum() * n / (n - 1))
        degrees.append(min(n - 1, 2 * n / (kurtosis - (n - 3) / (n - 1))))
    df = sum(variances) ** 2 / sum(v**2 / f for v, f in zip(variances, degrees, strict=True))
    return slope, float(2 * stats.t.sf(abs(slope) / np.sqrt(sum(variances)), df))


def by_day(frame: pd.DataFrame, metric: str = "revenue", **options: object) -> NoveltyEffects:
    found = analyse(frame, metric, unit="user", day="day", **options).by_day  # type: ignore[arg-type]
    assert found is not None
    return found


def test_the_trend_is_that_of_a_loop_over_users() -> None:
    frame = visits(fade=0.2)
    found = by_day(frame)
    slope, p = slow_trend(frame)
    assert (found.trends[0].slope, found.trends[0].p) == pytest.approx((slope, p))
    assert found.day == (0, 1, 2, 3, 4, 5)
    first = frame[frame.groupby("user")["day"].transform("min") == frame["day"]]
    welch = stats.ttest_ind(*(first.loc[first["arm"] == arm, "revenue"] for arm in "BA"), equal_var=False)
    assert found.effects[0].p == pytest.approx(welch.pvalue)
    assert "novelty effect, do not trust the first days" in found.notes[1]


def test_days_may_be_numbers_dates_and_time_stamps() -> None:
    frame = visits(100)
    expected = by_day(frame).trends[0].p
    numbers = pd.to_datetime(frame["day"]).dt.day
    for day in (numbers, pd.to_datetime(frame["day"]), frame["day"] + "T12:30:00"):
        assert by_day(frame.assign(day=day)).trends[0].p == pytest.approx(expected)
    with pytest.raises(UsageError, match="column 'day' holds 'Monday', must be a whole number or a date"):
        by_day(frame.assign(day="Monday"))


def test_without_a_trend_a_share_alpha_of_experiments_has_one(duck: Engine) -> None:
    hits = sum(by_day(visits(120, seed=seed, days=4), engine=duck).trends[0].p < 0.2 for seed in range(40))
    assert stats.binomtest(hits, 40, 0.2).pvalue > 0.001


def test_users_who_do_the_same_every_day_have_no_trend() -> None:
    frame = visits(60).assign(revenue=1.0)
    frame["revenue"] = frame["user"].str[1:].astype(float) % 7
    once = pd.concat([frame.drop_duplicates("user").assign(day=day) for day in (1, 2, 3, 4)])
    assert by_day(once).trends[0].p == 1.0


def test_few_days_have_no_trend_and_a_ratio_has_one() -> None:
    frame = visits(100)
    assert "2 days are too few for a trend" in by_day(frame[frame["day"] <= "2026-03-02"]).notes[1]
    assert np.isfinite(by_day(frame, "revenue/shown").trends[0].p)


@pytest.mark.xdist_group("spark")
def test_spark_finds_the_same_trend(spark: Engine) -> None:
    frame = visits(80, days=4)
    there = by_day(frame, engine=spark)
    assert there.trends[0].p == pytest.approx(by_day(frame).trends[0].p)
