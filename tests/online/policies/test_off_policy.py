"""Off-policy estimates: exact expectations on small policies, numbers by hand, coverage by simulation."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from cranfield.errors import DataError, UsageError
from cranfield.online.policies import OffPolicy, off_policy

LOGGING = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
NEW = np.array([[0.1, 0.3, 0.6], [0.5, 0.3, 0.2]])
REWARD = np.array([[0.2, 0.5, 0.3], [0.4, 0.1, 0.7]])
"""contexts × actions: the logging policy, the new policy and the mean reward."""


def values(result: OffPolicy, policy: str | None = None) -> dict[str, float]:
    return {one.estimator: one.value for one in result.estimates if policy in (None, one.policy)}


def table(x: Any, a: Any, r: Any, **more: Any) -> pa.Table:
    x, a = np.asarray(x), np.asarray(a)
    return pa.table(
        {
            "context": [f"q{i}" for i in x],
            "action": [f"a{i}" for i in a],
            "reward": np.asarray(r, dtype=float),
            "propensity": LOGGING[x, a],
            "new": NEW[x, a],
            **more,
        }
    )


def policy_file(path: Path, policy: np.ndarray = NEW) -> str:
    lines = [f"q{x},a{a},{policy[x, a]}" for x, a in product(range(2), range(3))]
    path.write_text("\n".join(["context,action,probability", *lines]) + "\n")
    return str(path)


def simulated(seed: int, n: int = 400) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n)
    a = (rng.random(n)[:, None] > np.cumsum(LOGGING[x], axis=1)).sum(axis=1)
    return table(x, a, rng.random(n) < REWARD[x, a])


def test_estimates_by_hand() -> None:
    # weights 0.6/0.1 = 6, 0.1/0.6 = 1/6, 0.3/0.5 = 0.6 and 0.5/0.2 = 2.5; rewards 1, 0, 1, 0
    result = off_policy(table([0, 0, 1, 1], [2, 0, 1, 0], [1, 0, 1, 0]), "new", clip=3, least_ess=0, cluster="row")
    weights = [6, 1 / 6, 0.6, 2.5]
    estimates = values(result)
    assert estimates["IPS"] == pytest.approx((6 + 0.6) / 4)
    assert estimates["clipped"] == pytest.approx((3 + 0.6) / 4)
    assert estimates["SNIPS"] == pytest.approx((6 + 0.6) / sum(weights))
    assert set(estimates) == {"IPS", "clipped", "SNIPS"}
    ess = {one.estimator: one.ess for one in result.estimates}
    assert ess["IPS"] == pytest.approx(sum(weights) ** 2 / sum(w * w for w in weights))
    assert ess["clipped"] == ess["SNIPS"] == ess["IPS"]
    assert result.logged == 0.5
    # the interval of IPS: t with 3 degrees of freedom times the standard error of the mean of (6, 0, 0.6, 0)
    from scipy import stats

    error = np.std([6, 0, 0.6, 0], ddof=1) / 2
    one = result.estimates[0]
    assert one.high - one.value == pytest.approx(stats.t.ppf(0.975, 3) * error)
    difference = np.std([6 - 1, 0, 0.6 - 1, 0], ddof=1) / 2
    assert one.change == pytest.approx(1.65 - 0.5)
    assert one.change_high - one.change == pytest.approx(stats.t.ppf(0.975, 3) * difference)


def test_the_interval_of_SNIPS_is_that_of_the_residuals_of_clusters() -> None:
    x, a, r = [0, 0, 1, 1, 0, 1], [2, 0, 1, 0, 1, 2], [1, 0, 1, 0, 1, 1]
    users = ["u1", "u1", "u2", "u3", "u3", "u3"]
    result = off_policy(table(x, a, r, user=users), "new", least_ess=0)
    w = NEW[x, a] / LOGGING[x, a]
    theta = (w @ np.array(r)) / w.sum()
    residuals = [sum(w[i] * (r[i] - theta) for i in range(6) if users[i] == user) for user in ("u1", "u2", "u3")]
    error = np.sqrt(3 / 2 * np.sum(np.square(residuals))) / w.sum()
    from scipy import stats

    snips = next(one for one in result.estimates if one.estimator == "SNIPS")
    assert snips.value == pytest.approx(theta)
    assert snips.high - snips.value == pytest.approx(stats.t.ppf(0.975, 2) * error)
    assert (result.clusters, result.cluster) == (3, "user")


def test_direct_and_doubly_robust_by_hand_with_a_model_in_the_table() -> None:
    model = [0.4, 0.1, 0.3, 0.2]
    expected = [0.5, 0.5, 0.25, 0.25]
    rows = table([0, 0, 1, 1], [2, 0, 1, 0], [1, 0, 1, 0], model=model, new_model=expected)
    estimates = values(off_policy(rows, "new", least_ess=0, cluster="row"))
    assert estimates["direct"] == pytest.approx(np.mean(expected))
    corrections = [6 * (1 - 0.4), 1 / 6 * (0 - 0.1), 0.6 * (1 - 0.3), 2.5 * (0 - 0.2)]
    assert estimates["DR"] == pytest.approx(np.mean(expected) + np.mean(corrections))


def test_direct_and_doubly_robust_by_hand_from_a_file(tmp_path: Path) -> None:
    rows = table([0, 0, 0, 1, 1], [0, 0, 2, 1, 0], [1, 0, 1, 1, 0])
    estimates = values(off_policy(rows, policy_file(tmp_path / "new.csv"), least_ess=0, shrink=1, cluster="row"))
    mean = 3 / 5
    q = {(0, 0): (1 + mean) / 3, (0, 2): (1 + mean) / 2, (1, 1): (1 + mean) / 2, (1, 0): (0 + mean) / 2}
    expected = [sum(NEW[x, a] * q.get((x, a), mean) for a in range(3)) for x in range(2)]
    direct = (3 * expected[0] + 2 * expected[1]) / 5
    assert estimates["direct"] == pytest.approx(direct)
    logged = [(0, 0, 1), (0, 0, 0), (0, 2, 1), (1, 1, 1), (1, 0, 0)]
    weights = [NEW[x, a] / LOGGING[x, a] for x, a, _ in logged]
    corrections = [w * (r - q[x, a]) for w, (x, a, r) in zip(weights, logged, strict=True)]
    assert estimates["DR"] == pytest.approx(direct + np.mean(corrections))
    assert estimates["IPS"] == pytest.approx(np.mean([w * r for w, (_, _, r) in zip(weights, logged, strict=True)]))


def test_IPS_and_DR_are_unbiased_over_all_logs_of_two_rows() -> None:
    """Every log of two rows (context, action, reward), with its probability: the expectation is the true value."""
    outcomes = [
        (x, a, r, 0.5 * LOGGING[x, a] * (REWARD[x, a] if r else 1 - REWARD[x, a]))
        for x, a, r in product(range(2), range(3), range(2))
    ]
    truth = float((0.5 * NEW * REWARD).sum())
    wrong_model = np.array([[0.9, 0.2, 0.1], [0.3, 0.3, 0.3]])  # doubly robust: right propensities are enough
    expected = {"IPS": 0.0, "DR": 0.0}
    for first, second in product(outcomes, repeat=2):
        x, a, r = zip(first[:3], second[:3], strict=True)
        rows = table(x, a, r, model=wrong_model[list(x), list(a)], new_model=(NEW * wrong_model).sum(axis=1)[list(x)])
        estimates = values(off_policy(rows, "new", least_ess=0, cluster="row"))
        for name in expected:
            expected[name] += first[3] * second[3] * estimates[name]
    assert expected == pytest.approx({"IPS": truth, "DR": truth})


def test_intervals_cover_the_truth_and_estimates_are_near_it(tmp_path: Path) -> None:
    path = policy_file(tmp_path / "new.csv")
    truth = float((0.5 * NEW * REWARD).sum())
    trials = 120
    covered: dict[str, int] = {}
    means: dict[str, list[float]] = {}
    for seed in range(trials):
        for one in off_policy(simulated(seed), path, cluster="row", shrink=0.1).estimates:
            covered[one.estimator] = covered.get(one.estimator, 0) + (one.low <= truth <= one.high)
            means.setdefault(one.estimator, []).append(one.value)
    for name in ("IPS", "SNIPS", "direct", "DR"):
        # binomial: 120 trials at 0.95 give 106 to 120 with probability above 0.999
        assert covered[name] >= 106, name
        assert abs(np.mean(means[name]) - truth) < 4 * np.std(means[name]) / np.sqrt(trials), name
    assert np.std(means["DR"]) < np.std(means["IPS"])  # the model takes away variance


def fitted_estimates(x: Any, a: Any, r: Any, weight: Any, shrink: float) -> tuple[float, float]:
    """The direct and the doubly robust estimate if rows count with these weights; the model is fitted again."""
    rows, rewards = np.zeros((2, 3)), np.zeros((2, 3))
    np.add.at(rows, (x, a), weight)
    np.add.at(rewards, (x, a), weight * r)
    mean = float(weight @ r / weight.sum())
    with np.errstate(invalid="ignore"):
        model = np.where(rows > 0, (rewards + shrink * mean) / (rows + shrink), mean)
    expected = (NEW * model).sum(axis=1)[x]
    corrected = expected + NEW[x, a] / LOGGING[x, a] * (r - model[x, a])
    return float(weight @ expected / weight.sum()), float(weight @ corrected / weight.sum())


@pytest.mark.parametrize("shrink", [0.0, 2.0])
def test_intervals_of_direct_and_DR_contain_the_error_of_the_fitted_model(tmp_path: Path, shrink: float) -> None:
    """The influence of a user is the derivative of the whole estimate, model and all, by the weight of the rows."""
    from scipy import stats

    rng = np.random.default_rng(3)
    x, user = rng.integers(0, 2, 60), rng.integers(0, 15, 60)
    a = np.where(x == 0, rng.integers(0, 2, 60), rng.integers(0, 3, 60))  # action 2 never happens in context 0
    r = rng.random(60)
    rows = table(x, a, r, user=[f"u{i}" for i in user])
    result = off_policy(rows, policy_file(tmp_path / "new.csv"), least_ess=0, shrink=shrink)
    step, influence = 1e-5, []
    for each in np.unique(user):
        more, less = 1 + step * (user == each), 1 - step * (user == each)
        ends = [fitted_estimates(x, a, r, weight, shrink) for weight in (more, less)]
        influence.append((np.array(ends[0]) - ends[1]) / (2 * step))
    users = len(influence)
    reach = stats.t.ppf(0.975, users - 1) * np.sqrt(users * np.var(influence, axis=0, ddof=1))
    mine = [one for one in result.estimates if one.estimator in ("direct", "DR")]
    assert [one.value for one in mine] == pytest.approx(fitted_estimates(x, a, r, np.ones(60), shrink))
    assert [one.high - one.value for one in mine] == pytest.approx(reach.tolist(), rel=1e-6)
    assert any("contain the error of the predictions" in note for note in result.notes)


def test_the_intervals_are_those_of_a_bootstrap_that_fits_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 2, 400)
    a = (rng.random(400)[:, None] > np.cumsum(LOGGING[x], axis=1)).sum(axis=1)
    r = (rng.random(400) < REWARD[x, a]).astype(float)
    result = off_policy(table(x, a, r), policy_file(tmp_path / "new.csv"), least_ess=0, cluster="row")
    weights = rng.multinomial(400, np.full(400, 1 / 400), size=2000).astype(float)
    spread = np.std([fitted_estimates(x, a, r, weight, 1.0) for weight in weights], axis=0)
    mine = [(one.high - one.value) / 1.966 for one in result.estimates if one.estimator in ("direct", "DR")]  # t, 399
    assert mine == pytest.approx(spread.tolist(), rel=0.08)  # 2,000 resamples: a standard error of 1.6 %


def test_predictions_of_the_table_are_taken_as_given() -> None:
    rows = table([0, 0, 1, 1], [2, 0, 1, 0], [1, 0, 1, 0], model=[0.4, 0.1, 0.3, 0.2], new_model=[0.5, 0.5, 0.25, 0.25])
    notes = off_policy(rows, "new", least_ess=0, cluster="row").notes
    assert any("taken as given" in note for note in notes)


def test_a_small_effective_sample_is_refused_with_a_reason() -> None:
    rows = pa.table({"reward": [1.0] * 500, "propensity": [0.9] * 498 + [0.001] * 2, "new": [0.0] * 498 + [1.0] * 2})
    result = off_policy(rows, "new")
    assert result.refused == ("new",)
    assert all(np.isnan(one.value) for one in result.estimates)
    assert result.estimates[0].ess == pytest.approx(2)
    assert "refused, the effective sample size is 2.0 and must be 100 or more" in result.verdicts[0]
    assert off_policy(rows, "new", least_ess=2).refused == ()


def test_clipping_does_not_hide_that_a_policy_is_refused(tmp_path: Path) -> None:
    """Two rows with weights of 5,000 outweigh 1,998 with weights of about 1; cut at 10, they would look harmless."""
    rows = pa.table(
        {"reward": [1.0] * 2000, "propensity": [0.5] * 1998 + [0.0001] * 2, "new": [0.5] * 1998 + [0.5] * 2}
    )
    result = off_policy(rows, "new", clip=10)
    effective = (1998 + 2 * 5000) ** 2 / (1998 + 2 * 5000**2)
    assert [(one.estimator, one.refused) for one in result.estimates] == [
        ("IPS", True), ("clipped", True), ("SNIPS", True)
    ]  # fmt: skip
    assert [one.ess for one in result.estimates] == pytest.approx([effective] * 3)
    assert f"the effective sample size is {effective:.1f}" in result.verdicts[0]


def test_propensities_that_are_wrong_are_counted() -> None:
    rows = pa.table({"reward": [1, 0, 1, None, 1], "propensity": [0.0, 1.5, None, 0.5, 0.5], "new": [0.5] * 5})
    message = (
        "1 row without a propensity, 1 row with a propensity of 0 or below, 1 row with a propensity above 1, "
        "1 row without a reward of 5"
    )
    with pytest.raises(DataError, match=message):
        off_policy(rows, "new")
    twice = pa.concat_tables([rows, rows])
    result = off_policy(twice, "new", bad="skip", least_ess=0)
    assert result.rows == 2
    assert any(note.startswith("left out: 2 rows without a propensity") for note in result.notes)


def test_support_that_is_missing_is_counted(tmp_path: Path) -> None:
    rows = table([0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 0])  # context 0 never has action 2, context 1 only action 1
    result = off_policy(rows, policy_file(tmp_path / "new.csv"), least_ess=0)
    share = (2 * NEW[0, 2] + 2 * (NEW[1, 0] + NEW[1, 2])) / 4
    assert any(f"{share:.1%} of what the new policy would do never happened" in note for note in result.notes)


def test_contexts_that_the_policy_lacks_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("context,action,probability\nq0,a0,1.0\n")
    result = off_policy(table([0, 0, 1], [0, 1, 1], [1, 0, 1]), str(path), least_ess=0, cluster="row")
    assert result.rows == 2
    assert any("1 row left out, of 1 context" in note for note in result.notes)
    path.write_text("context,action,probability\nother,a0,1.0\n")
    with pytest.raises(DataError, match="no context of rows is in it"):
        off_policy(table([0, 1], [0, 1], [1, 0]), str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("context,action,probability\nq0,a0,1.5\n", "1 row without a probability between 0 and 1"),
        ("context,action,probability\nq0,a0,0.5\nq0,a0,0.1\n", "action 'a0' of context 'q0' appears twice"),
        ("context,action,probability\nq0,a0,0.9\nq0,a1,0.9\n", "add up to 1.8, must be at most 1"),
        ("context,action\nq0,a0\n", "no column for the probability"),
    ],
)
def test_wrong_policies(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "new.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        off_policy(table([0, 1], [0, 1], [1, 0]), str(path))


def test_a_mean_weight_far_from_1_is_noted() -> None:
    rows = pa.table({"reward": np.tile([1.0, 0.0], 300), "propensity": [0.9] * 600, "new": np.tile([0.5, 0.4], 300)})
    notes = off_policy(rows, "new", cluster="row").notes
    assert any("the mean weight is 0.5" in note and "should be 1" in note for note in notes)


def test_wrong_calls() -> None:
    rows = table([0, 1], [0, 1], [1, 0])
    with pytest.raises(UsageError, match="no policy 'other': neither a column of the log"):
        off_policy(rows, "other")
    with pytest.raises(UsageError, match="no policy; name a column"):
        off_policy(rows, [])
    with pytest.raises(UsageError, match="no column 'usr'"):
        off_policy(rows, "new", cluster="usr")
    with pytest.raises(DataError, match="no column for the reward"):
        off_policy(pa.table({"propensity": [0.5], "new": [0.5]}), "new")
    with pytest.raises(UsageError, match="off_policy: clip == 0, must be above 0"):
        off_policy(rows, "new", clip=0)
    with pytest.raises(DataError, match="column 'new': 1 row without a probability between 0 and 1"):
        off_policy(pa.table({"reward": [1, 0], "propensity": [0.5, 0.5], "new": [0.5, 2]}), "new")


def test_columns_can_have_other_names() -> None:
    rows = pa.table({"bought": [1.0, 0.0], "chance": [0.5, 0.5], "B": [1.0, 0.0]})
    result = off_policy(rows, "B", columns={"reward": "bought", "propensity": "chance"}, least_ess=0)
    assert values(result)["IPS"] == 1.0


@pytest.mark.xdist_group("spark")
def test_spark_gives_the_same_answers(spark: Any, tmp_path: Path) -> None:
    rows, path = simulated(3), policy_file(tmp_path / "new.csv")
    pyarrow.csv.write_csv(rows, tmp_path / "rows.csv")
    here = off_policy(str(tmp_path / "rows.csv"), path)
    there = off_policy(str(tmp_path / "rows.csv"), path, engine=spark)
    for one, other in zip(here.estimates, there.estimates, strict=True):
        assert other.value == pytest.approx(one.value, rel=1e-12)
        assert other.low == pytest.approx(one.low, rel=1e-9)


def test_no_row_is_left() -> None:
    rows = pa.table({"reward": [1, 0], "propensity": [0.0, 1.5], "new": [0.5, 0.5]})
    with pytest.raises(DataError, match="1 row with a propensity above 1 of 2, so no row is left to estimate from"):
        off_policy(rows, "new", bad="skip")


@pytest.mark.parametrize("column", ["model", "new_model"])
def test_predictions_that_are_missing_are_an_error(column: str) -> None:
    columns = {"reward": [1, 0], "propensity": [0.5, 0.5], "new": [0.5, 0.5], "model": [0.5, 0.5], "new_model": [1, 1]}
    with pytest.raises(DataError, match=f"column '{column}': 1 row without a predicted reward"):
        off_policy(pa.table({**columns, column: [0.5, None]}), "new", least_ess=0)
    with pytest.raises(DataError, match=f"column '{column}' must hold numbers: predicted rewards"):
        off_policy(pa.table({**columns, column: ["a", "b"]}), "new", least_ess=0)
