"""Assignment by hash: the three properties of Ferro & Maistro 2024 §6.3, over a million users; ramp-up and layers."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from cranfield.errors import UsageError
from cranfield.online.engines.dialect import BUCKETS, bucket
from cranfield.online.experiments.assignment import Experiment, assign_users, check_layer, encoded_id

MILLION = 1_000_000
ALPHA = 1e-4
"""The seeds are fixed, so a test that passes once passes always; a wrong hash fails at any α."""


@pytest.fixture(scope="module")
def users() -> list[str]:
    return [f"user-{i}" for i in range(MILLION)]


@pytest.fixture(scope="module")
def arms(users: list[str]) -> np.ndarray:
    return Experiment("ranker-7").assign(users)


def test_property_1_arms_have_equal_shares(arms: np.ndarray) -> None:
    treated = int((arms == "B").sum())
    assert stats.binomtest(treated, MILLION, 0.5).pvalue > ALPHA
    # Also among users whose ids are close to each other: shares of blocks of 1,000 ids are binomial.
    blocks = (arms == "B").reshape(-1, 1_000).sum(axis=1)
    statistic = ((blocks - 500) ** 2 / 250).sum()
    assert ALPHA < stats.chi2.sf(statistic, len(blocks)) < 1 - ALPHA


def test_property_2_the_same_user_always_gets_the_same_arm(users: list[str], arms: np.ndarray) -> None:
    again = Experiment("ranker-7")
    some = range(0, MILLION, 997)
    assert [again.arm(users[i]) for i in some] == [arms[i] for i in some]
    shuffled = np.random.default_rng(0).permutation(MILLION)[:10_000]
    assert again.assign([users[i] for i in shuffled]).tolist() == arms[shuffled].tolist()


def test_property_3_experiments_are_not_correlated(users: list[str], arms: np.ndarray) -> None:
    other = Experiment("ranker-8", {"A": 0.2, "B": 0.3, "C": 0.5}).assign(users)
    table = [[int(((arms == a) & (other == b)).sum()) for b in "ABC"] for a in "AB"]
    assert stats.chi2_contingency(table).pvalue > ALPHA
    assert stats.chisquare(np.sum(table, axis=0), np.array([0.2, 0.3, 0.5]) * MILLION).pvalue > ALPHA


def test_the_salt_makes_another_experiment(users: list[str], arms: np.ndarray) -> None:
    part = users[:100_000]
    salted = Experiment("ranker-7", salt="pepper").assign(part)
    same = int((salted == arms[:100_000]).sum())
    assert stats.binomtest(same, 100_000, 0.5).pvalue > ALPHA


def test_ramping_up_keeps_users_in_and_in_their_arm(users: list[str]) -> None:
    part = users[:200_000]
    before = dict.fromkeys(part)
    for exposure in (0.01, 0.1, 0.5, 1.0):
        now = Experiment("ranker-7", {"A": 0.5, "B": 0.5}, exposure=exposure).assign(part)
        inside = int(sum(arm is not None for arm in now))
        assert inside == 200_000 if exposure == 1 else stats.binomtest(inside, 200_000, exposure).pvalue > ALPHA
        # Whoever is in has balanced arms.
        assert stats.binomtest(int((now == "B").sum()), inside, 0.5).pvalue > ALPHA
        kept = [(old, new) for old, new in zip(before.values(), now.tolist(), strict=True) if old is not None]
        assert all(old == new for old, new in kept)
        before = dict(zip(part, now.tolist(), strict=True))


def test_experiments_of_a_layer_share_no_users_and_layers_are_independent(users: list[str]) -> None:
    part = users[:200_000]
    first = Experiment("a", layer="page", slot=(0, 0.3))
    second = Experiment("b", layer="page", slot=(0.3, 1))
    check_layer([first, second])
    in_first = np.array([arm is not None for arm in first.assign(part)])
    in_second = np.array([arm is not None for arm in second.assign(part)])
    assert not (in_first & in_second).any()
    assert (in_first | in_second).all()
    assert stats.binomtest(int(in_first.sum()), len(part), 0.3).pvalue > ALPHA
    other = np.array([arm is not None for arm in Experiment("c", layer="ranker", slot=(0, 0.5)).assign(part)])
    table = [[int(((in_first == x) & (other == y)).sum()) for y in (True, False)] for x in (True, False)]
    assert stats.chi2_contingency(table).pvalue > ALPHA
    assert [first.arm(user) for user in part[:2_000]] == first.assign(part[:2_000]).tolist()


def test_the_arm_is_that_of_the_digest_that_engines_compute() -> None:
    experiment = Experiment("ranker-7", {"A": 1, "B": 3}, salt="s")
    for i in range(200):
        expected = "A" if bucket(f"u{i}", "s/arm/ranker-7") < BUCKETS / 4 else "B"
        assert experiment.arm(f"u{i}") == expected
    # By hand: 52 bits of SHA-256 over the salt, a separator and the id.
    digest = hashlib.sha256(b"s/arm/ranker-7\x1fu0").hexdigest()
    assert bucket("u0", "s/arm/ranker-7") == int(digest[:13], 16)


def test_wrong_experiments_are_refused() -> None:
    with pytest.raises(UsageError, match=r"exposure == 1\.5, must be between 0 and 1"):
        Experiment("x", exposure=1.5)
    with pytest.raises(UsageError, match="A == 0, must be above 0"):
        Experiment("x", {"A": 0, "B": 1})
    with pytest.raises(UsageError, match="but no layer"):
        Experiment("x", slot=(0, 0.5))
    with pytest.raises(UsageError, match=r"slot == \(0\.5, 0\.2\)"):
        Experiment("x", layer="l", slot=(0.5, 0.2))
    with pytest.raises(UsageError, match=r"user id == 1\.5, must be text or a whole number"):
        encoded_id(1.5)
    assert encoded_id(np.int64(12)) == encoded_id("12") == b"12"


def test_assign_users_counts_each_user_once() -> None:
    assigned = assign_users(["ada", "grace", "ada"], "ranker-1")
    assert assigned.arm.tolist() == ["B", "A", "B"]  # as the example of `Experiment`
    assert assigned.users == 2
    assert assigned.counts.to_dict()["rows"] == [
        {"arm": "A", "users": 1, "share": 0.5}, {"arm": "B", "users": 1, "share": 0.5},
    ]  # fmt: skip


def test_assign_users_counts_those_who_are_not_in_the_experiment() -> None:
    assigned = assign_users(["ada", "grace"], "ranker-1", exposure=0)
    assert assigned.arm.tolist() == [None, None]
    assert assigned.counts.arm == ("A", "B", "(not in the experiment)")
    assert assigned.counts.users.tolist() == [0, 0, 2]


@pytest.mark.parametrize(("setting", "value"), [("exposure", 1.5), ("slot", (0.1,)), ("slot", (0, 2))])
def test_assign_users_refuses_what_the_experiment_cannot_have(setting: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"assign_users: {setting} == "):
        assign_users(["ada"], "x", **{setting: value})  # type: ignore[arg-type]
