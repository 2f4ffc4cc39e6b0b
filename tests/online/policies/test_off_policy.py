"""Off-policy estimates: exact expectations on small policies, numbers by hand, coverage by simulation."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
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
    ess = {one.estimator: one.effective_n for one in result.estimates}
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


def cross_fitted(x: Any, a: Any, r: Any, unit: Any, shrink: float) -> tuple[float, float, Any, Any]:
    """Direct and DR, and their terms by row, with a model fitted again for every unit, without its rows."""
    x, a, r, unit = map(np.asarray, (x, a, r, unit))
    corrected, varies = np.empty(len(x)), np.empty(len(x))

    def fitted(use: Any, shrink: float) -> Any:
        rows, rewards = np.zeros((2, 3)), np.zeros((2, 3))
        np.add.at(rows, (x[use], a[use]), 1)
        np.add.at(rewards, (x[use], a[use]), r[use])
        mean = r[use].mean()
        size = np.where(rows + shrink > 0, rows + shrink, 1)
        return np.where(rows + shrink > 0, (rewards + shrink * mean) / size, mean), rows

    plain, rows = fitted(np.full(len(x), True), 0.0)
    direct = (NEW * plain).sum(axis=1)[x].mean()
    unseen = (NEW * (rows == 0)).sum(axis=1)[x].mean()
    for i in range(len(x)):
        model, _ = fitted(unit != unit[i], shrink)
        expected, error = (NEW[x[i]] * model[x[i]]).sum(), r[i] - model[x[i], a[i]]
        corrected[i] = expected + NEW[x[i], a[i]] / LOGGING[x[i], a[i]] * error
        share = rows[x[i], a[i]] / rows[x[i]].sum()
        varies[i] = expected + NEW[x[i], a[i]] / share * error + unseen * (r[i] - r.mean())
    return float(direct), float(corrected.mean()), corrected, varies


@pytest.mark.parametrize(("cluster", "shrink"), [("row", 1.0), ("user", 0.0), ("user", 2.0), ("context", 1.0)])
def test_predictions_are_made_without_the_rows_of_the_user(tmp_path: Path, cluster: str, shrink: float) -> None:
    """A literal version that fits the model again for each user, row or, for contexts, row."""
    from scipy import stats

    rng = np.random.default_rng(3)
    x, user = rng.integers(0, 2, 60), rng.integers(0, 15, 60)
    a = np.where(x == 0, rng.integers(0, 2, 60), rng.integers(0, 3, 60))  # action 2 never happens in context 0
    r = rng.random(60)
    path = policy_file(tmp_path / "new.csv")
    result = off_policy(table(x, a, r, user=[f"u{i}" for i in user]), path, least_ess=0, shrink=shrink, cluster=cluster)
    unit = user if cluster == "user" else np.arange(60)
    direct, corrected, terms, varies = cross_fitted(x, a, r, unit, shrink)
    mine = {one.estimator: one for one in result.estimates}
    assert mine["direct"].value == pytest.approx(direct)
    assert mine["DR"].value == pytest.approx(corrected)
    groups = {"row": np.arange(60), "user": user, "context": x}[cluster]
    n = len(np.unique(groups))

    def error(values: Any) -> float:
        sums = np.bincount(groups, values - values.mean())[np.unique(groups)]
        return float(stats.t.ppf(0.975, n - 1) * np.sqrt(n * np.var(sums, ddof=1)) / 60)

    by_model = (NEW * cross_fitted_plain(x, a, r)).sum(axis=1)[x]
    reach = max(error(varies), error(by_model))
    unseen = np.mean(x == 0) * NEW[0, 2]
    assert mine["direct"].high - direct == pytest.approx(reach + unseen * (r.max() - r.mean()))
    assert direct - mine["direct"].low == pytest.approx(reach + unseen * r.mean())
    assert mine["DR"].high - corrected == pytest.approx(max(error(terms), error(varies)))


def cross_fitted_plain(x: Any, a: Any, r: Any) -> Any:
    """The plain mean of each context and action, and the mean of all where there are no rows."""
    return np.array(
        [[r[(x == i) & (a == j)].mean() if ((x == i) & (a == j)).any() else r.mean() for j in range(3)] for i in (0, 1)]
    )


def test_the_interval_of_clipped_allows_for_all_that_was_cut() -> None:
    """Rewards between -1 and 1: what the cut weights lack of 1 is worth something in between."""
    from scipy import stats

    rng = np.random.default_rng(5)
    n = 300
    propensity = rng.choice([0.02, 0.5], n)
    r = rng.choice([-1.0, 0.0, 1.0], n)
    weight = np.minimum(0.04 / propensity, 1.5)
    rows = pa.table({"reward": r, "propensity": propensity, "new": np.full(n, 0.04)})
    one = next(one for one in off_policy(rows, "new", clip=1.5, least_ess=0).estimates if one.estimator == "clipped")
    low, high = weight * (r + 1) - 1, weight * (r - 1) + 1
    t = stats.t.ppf(0.975, n - 1) / np.sqrt(n)
    assert one.value == pytest.approx(np.mean(weight * r))
    assert one.low == pytest.approx(low.mean() - t * low.std(ddof=1))
    assert one.high == pytest.approx(high.mean() + t * high.std(ddof=1))


def test_rewards_that_do_not_vary_have_no_interval() -> None:
    rows = pa.table({"reward": np.zeros(300), "propensity": [0.5] * 300, "new": np.tile([0.3, 0.7], 150)})
    result = off_policy(rows, "new")
    assert all(one.value == 0 and np.isnan([one.low, one.high, one.change_low]).all() for one in result.estimates)
    assert "without an interval: the rewards do not vary" in result.verdicts[0]


def test_IPS_and_DR_are_unbiased_over_all_logs_of_two_rows(tmp_path: Path) -> None:
    """Every log of two rows (action, reward), with its probability: the expectation is the true value."""
    chances, new, reward = (0.8, 0.2), (0.3, 0.7), (0.2, 0.6)
    path = tmp_path / "new.csv"
    path.write_text("context,action,probability\nq,0,0.3\nq,1,0.7\n")
    outcomes = [(a, r, chances[a] * (reward[a] if r else 1 - reward[a])) for a, r in product(range(2), range(2))]
    expected = {"IPS": 0.0, "DR": 0.0}
    for first, second in combinations_with_replacement(outcomes, 2):
        a = [first[0], second[0]]
        rows = {
            "context": ["q", "q"],
            "action": a,
            "reward": [first[1], second[1]],
            "propensity": [chances[i] for i in a],
        }
        estimates = values(off_policy(pa.table(rows), str(path), least_ess=0, cluster="row"))
        for name in expected:
            expected[name] += (1 + (first != second)) * first[2] * second[2] * estimates[name]
    truth = new[0] * reward[0] + new[1] * reward[1]
    assert expected == pytest.approx({"IPS": truth, "DR": truth})


def test_predictions_of_the_table_are_taken_as_given() -> None:
    rows = table([0, 0, 1, 1], [2, 0, 1, 0], [1, 0, 1, 0], model=[0.4, 0.1, 0.3, 0.2], new_model=[0.5, 0.5, 0.25, 0.25])
    result = off_policy(rows, "new", least_ess=0, cluster="row")
    assert any("taken as given" in note for note in result.notes)
    intervals = {one.estimator: (one.low, one.high) for one in result.estimates}
    assert np.isnan(intervals["direct"]).all()
    assert not np.isnan(intervals["DR"]).any()


def test_a_small_effective_sample_is_refused_with_a_reason() -> None:
    rows = pa.table({"reward": [1.0] * 500, "propensity": [0.9] * 498 + [0.001] * 2, "new": [0.0] * 498 + [1.0] * 2})
    result = off_policy(rows, "new")
    assert result.refused == ("new",)
    assert all(np.isnan(one.value) for one in result.estimates)
    assert result.estimates[0].effective_n == pytest.approx(2)
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
    assert [one.effective_n for one in result.estimates] == pytest.approx([effective] * 3)
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


def test_words_where_probabilities_should_be_are_an_error_that_names_the_column(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,reward,propensity,new\nu1,1,0.5,0.4\nu2,0,0.5,none\nu3,1,0.5,0.3\n")
    with pytest.raises(DataError, match=r"log\.csv: column 'new' holds String, must hold probabilities"):
        off_policy(log, "new")
