"""Ratios that few users carry, and skewed metrics of arms of unequal size."""

import math
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from scipy import stats

from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.arm_estimates import SKEWED, ArmEstimates, skewness
from cranfield.online.experiments.random_splits import aa_splits
from cranfield.online.few_users import Influence


def heavy(seed: int = 0, users: int = 30) -> pyarrow.Table:
    rng = np.random.default_rng(seed)
    shown = np.ceil(rng.lognormal(1.5, 1.5, 2 * users))
    clicks = rng.binomial(shown.astype(int), rng.beta(1.5, 3.5, 2 * users))
    return pyarrow.table({"arm": np.repeat(["A", "B"], users), "clicks": clicks, "shown": shown})


def test_a_ratio_that_few_users_carry_is_compared_by_the_jackknife(tmp_path: Path) -> None:
    table = heavy()
    result = analyse(table, "clicks/shown")
    effect = result.rows[0].effect
    assert effect.method == "jackknife"
    sides = []
    for at in (slice(0, 30), slice(30, 60)):
        a, b = (np.array(table[name].to_pylist(), dtype=float)[at] for name in ("clicks", "shown"))
        change = np.array([np.delete(a, u).sum() / np.delete(b, u).sum() for u in range(30)]) - a.sum() / b.sum()
        kurtosis = (change**4).mean() / (change**2).mean() ** 2
        sides.append((29 / 30 * (change**2).sum(), min(29, max(2, 60 / (kurtosis - 27 / 29)))))
    (v, f), (w, g) = sides
    df = (v + w) ** 2 / (v**2 / f + w**2 / g)
    assert effect.df == pytest.approx(df)
    assert effect.p == pytest.approx(2 * stats.t.sf(abs(effect.difference) / math.sqrt(v + w), df))
    assert any("few users carry it" in note for note in result.notes)
    pyarrow.parquet.write_table(table, tmp_path / "users.parquet")
    assert analyse(tmp_path / "users.parquet", "clicks/shown").rows[0].effect.p == pytest.approx(effect.p)
    # other programs' formulas stay as they are, with a caution
    other = analyse(table, "clicks/shown", relative="tea-tasting")
    assert other.rows[0].effect.method == "delta"
    assert any("caution: few users carry clicks/shown" in note for note in other.notes)


def test_segments_and_days_are_compared_as_the_whole_is() -> None:
    table = heavy()
    whole = analyse(table, "clicks/shown").rows[0].effect
    table = table.append_column("id", pyarrow.array(range(60)))
    for name in ("country", "day"):
        table = table.append_column(name, pyarrow.array([3] * 60))
    result = analyse(table, "clicks/shown", unit="id", segments=["country"], day="day")
    assert result.by_segment is not None
    assert result.by_day is not None
    for effect in (result.by_segment.effects[0], result.by_day.effects[0]):
        assert (effect.p, effect.low) == pytest.approx((whole.p, whole.low))


def test_random_splits_of_what_few_users_carry_have_a_caution() -> None:
    table = heavy(users=15).append_column("id", pyarrow.array(range(30)))
    assert "few users carry clicks/shown" in aa_splits(table, "clicks/shown", unit="id", splits=10).remarks[0]
    assert not aa_splits(table, "clicks", unit="id", splits=10).remarks


def test_many_light_users_are_compared_by_the_delta_method() -> None:
    rng = np.random.default_rng(0)
    shown = rng.poisson(5, 4_000) + 1
    columns = {"arm": np.repeat(["A", "B"], 2_000), "clicks": rng.binomial(shown, 0.3), "shown": shown}
    assert analyse(pyarrow.table(columns), "clicks/shown").rows[0].effect.method == "delta"


def test_a_skewed_mean_of_unequal_arms_has_a_caution_to_cap_it() -> None:
    rng = np.random.default_rng(0)
    revenue = np.where(rng.random(1_000) < 0.95, 0, rng.exponential(20, 1_000))
    for arms, said in (((900, 100), True), ((500, 500), False)):
        table = pyarrow.table({"arm": np.repeat(["A", "B"], arms), "revenue": revenue})
        result = analyse(table, "revenue", shares={"A": arms[0], "B": arms[1]})
        assert result.rows[0].effect.method == "Welch"
        assert any("revenue is skewed" in note and "cap" in note for note in result.notes) == said
        # what is skewed the other way errs on the other side, and in segments too
        table = table.append_column("loss", pyarrow.array(-revenue)).append_column("s", pyarrow.array([1] * 1_000))
        result = analyse(table, "loss", shares={"A": arms[0], "B": arms[1]}, segments=["s"])
        assert result.by_segment is not None
        for notes in (result.notes, result.by_segment.notes):
            assert any("loss is skewed" in note and "looks too high" in note for note in notes) == said


def test_the_skewness_of_a_difference_is_that_of_means_of_the_same_users() -> None:
    # exponential users have variance 1 and third moment 2; the variance of a mean is 1/n, its third cumulant 2/n²
    n = np.array([900, 100])
    found = skewness(ArmEstimates(np.ones(2), 1 / n, n), Influence(1 / n, n - 1.0, 2 / n.astype(float) ** 2), 0, 1)
    assert found == pytest.approx(2 * (1e-4 - 1 / 900**2) / (1 / 100 + 1 / 900) ** 1.5)
    assert found < SKEWED


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_a_share_that_all_users_of_an_arm_have_keeps_its_interval_under_the_bootstrap(constant: float) -> None:
    x = np.concatenate([np.full(30, constant), np.full(30, 1 - constant)])
    table = pyarrow.table({"id": np.arange(60), "arm": np.repeat(["A", "B"], 30), "x": x})
    effect = analyse(table, "share(x)", method="bootstrap", unit="id", resamples=200).rows[0].effect
    same = analyse(table, "share(x)", unit="id").rows[0].effect
    assert (effect.low, effect.high) == (same.low, same.high)
    assert effect.low < effect.high
