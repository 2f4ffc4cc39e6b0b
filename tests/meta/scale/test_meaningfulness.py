"""Statements that survive every increasing transformation, against transformations drawn at random, and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield import Scores, UsageError
from cranfield.comparison import anova
from cranfield.meta.scale.meaningfulness import SMALL, meaningfulness, transformations

RNG = np.random.default_rng(4)
VALUES = np.round(np.clip(RNG.beta(2, 3, (20, 1)) + 0.06 * np.arange(5) + RNG.normal(0, 0.12, (20, 5)), 0, 1), 2)
NAMES = list("abcde")
AP = Scores.from_matrix(VALUES, NAMES, measure="AP")


def increasing(rng: np.random.Generator) -> np.ndarray:
    """A value for each of the scores 0, 0.01, ..., 1, strictly increasing."""
    return np.cumsum(rng.exponential(size=101) ** rng.choice([1, 3, 9]))


def test_pairs_that_hold_are_never_reversed_and_the_others_are_by_their_counter_example() -> None:
    result = meaningfulness(AP)
    place = {name: k for k, name in enumerate(NAMES)}
    drawn = [increasing(np.random.default_rng(seed)) for seed in range(300)]
    index = np.round(VALUES * 100).astype(int)
    assert len(result.holds) == 10
    assert result.holds.any()
    assert not result.holds.all()
    for row, holds in enumerate(result.holds):
        one, other = place[result.better[row]], place[result.worse[row]]
        assert result.difference[row] == pytest.approx(VALUES[:, one].mean() - VALUES[:, other].mean())
        if holds:
            assert all(f[index[:, one]].mean() > f[index[:, other]].mean() for f in drawn)
        else:
            limit = result.limit[row]
            assert (VALUES[:, one] > limit).mean() == pytest.approx(result.share_better[row])
            assert (VALUES[:, other] > limit).mean() == pytest.approx(result.share_worse[row])
            moved = np.greater(VALUES, limit) + SMALL * VALUES  # strictly increasing, and it reverses the means
            assert moved[:, one].mean() < moved[:, other].mean()


def test_transformations_keep_the_order_of_all_scores() -> None:
    made = transformations(VALUES.T)
    order = np.sign(np.subtract.outer(VALUES.T.ravel(), VALUES.T.ravel()))
    for name, values in zip(made.names, made.values, strict=True):
        assert (np.sign(np.subtract.outer(values.ravel(), values.ravel())) == order).all(), name


def test_the_verdict_of_the_analysis_of_variance_on_the_scores_and_by_its_counter_example() -> None:
    result = meaningfulness(AP)
    expected = next(row for row in anova(AP, "AP").to_dict()["rows"] if row["source"] == "system")
    assert result.anova[0, 0] == pytest.approx(expected["p"])
    made = transformations(VALUES.T)
    for column, name in enumerate(result.anova_at[0]):
        values = made.values[made.names.index(name)]
        again = Scores.from_matrix(values.T, NAMES, measure="AP")
        row = next(row for row in anova(again, "AP").to_dict()["rows"] if row["source"] == "system")
        assert result.anova[0, 1 + column] == pytest.approx(row["p"], rel=1e-6)


def test_the_correlation_of_two_measures_is_the_worst_over_all_pairs_of_transformations() -> None:
    both = Scores(["AP", "RR"], NAMES, map(str, range(20)), [VALUES.T, np.round(VALUES.T[::-1] ** 2, 2)])
    result = meaningfulness(both)
    made = [transformations(values) for values in both.values]
    taus = [
        [stats.kendalltau(x.mean(axis=1).round(13), y.mean(axis=1).round(13)).statistic for y in made[1].values[::7]]
        for x in made[0].values[::7]
    ]
    assert result.tau[0, 0] == pytest.approx(taus[0][0])
    assert result.tau[0, 1] <= np.nanmin(taus) + 1e-9
    assert result.tau[0, 2] >= np.nanmax(taus) - 1e-9


def test_everything_holds_on_an_interval_scale() -> None:
    result = meaningfulness(Scores.from_matrix(VALUES, NAMES, measure="P@10"))
    assert result.scales == ("interval",)
    assert result.holds.all()
    assert np.ptp(result.anova[0]) == 0


def test_equal_systems_have_no_order_to_lose() -> None:
    same = np.repeat(VALUES[:, :1], 2, axis=1)
    result = meaningfulness(Scores.from_matrix(same, ["a", "b"], measure="AP"))
    assert len(result.holds) == 0
    assert result.anova[0].tolist() == [1, 1, 1]
    assert "AP" in result.table().text()


def test_one_system_is_refused() -> None:
    with pytest.raises(UsageError, match="1 system, must be 2 or more"):
        meaningfulness(Scores.from_matrix(VALUES[:, :1], ["a"], measure="AP"))
