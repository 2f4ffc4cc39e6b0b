"""Estimates for new rankings from clicks and examination: literal sums, and the truth by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cranfield.collection.run import Run
from cranfield.errors import DataError, UsageError
from cranfield.online.engines import Engine
from cranfield.online.policies import off_policy_runs
from tests.online.made_logs import made_log

GAMMA = [1.0, 0.5, 0.25]
ATTRACTIVE = {("red", "a"): 0.6, ("red", "b"): 0.3, ("red", "c"): 0.1, ("blue", "x"): 0.2, ("blue", "y"): 0.7}
LISTS = {"red": ["a", "b", "c"], "blue": ["x", "y"]}
NEW = Run.from_dict({"red": {"c": 3, "a": 2, "z": 1}, "blue": {"y": 2, "x": 1}}, name="new")
RANKS = {("red", "c"): 1, ("red", "a"): 2, ("red", "z"): 3, ("blue", "y"): 1, ("blue", "x"): 2}


def impressions(seed: int, n: int) -> list[dict[str, Any]]:
    """Lists in a random order, and clicks by the position-based model."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        text = ("red", "blue")[i % 2]
        docs = rng.permutation(LISTS[text]).tolist()
        clicks = [
            (k, k * 2.0, 30.0) for k, doc in enumerate(docs, 1) if rng.random() < GAMMA[k - 1] * ATTRACTIVE[text, doc]
        ]
        made.append({"user": f"u{i % 97}", "text": text, "docs": docs, "clicks": clicks})
    return made


def literal(made: list[dict[str, Any]], worth: list[float], shrink: float = 1.0) -> dict[str, float]:
    """Every estimate as a plain sum over documents."""
    clicks: dict[Any, float] = {}
    seen: dict[Any, float] = {}
    for one in made:
        clicked = {position for position, *_ in one["clicks"]}
        for k, doc in enumerate(one["docs"], 1):
            key = one["text"], doc
            clicks[key] = clicks.get(key, 0) + (k in clicked)
            seen[key] = seen.get(key, 0) + GAMMA[k - 1]
    mean = sum(clicks.values()) / sum(seen.values())
    a = {key: (clicks[key] + shrink * mean) / (seen[key] + shrink) for key in seen}
    ips = direct = corrected = logged = 0.0
    for one in made:
        clicked = {position for position, *_ in one["clicks"]}
        direct += sum(worth[rank - 1] * a.get(key, mean) for key, rank in RANKS.items() if key[0] == one["text"])
        for k, doc in enumerate(one["docs"], 1):
            key, click = (one["text"], doc), float(k in clicked)
            logged += click * worth[k - 1] / GAMMA[k - 1]
            if key in RANKS:
                weight = worth[RANKS[key] - 1] / GAMMA[k - 1]
                ips += weight * click
                corrected += weight * (click - GAMMA[k - 1] * a[key])
    n = len(made)
    return {"IPS": ips / n, "direct": direct / n, "DR": (direct + corrected) / n, "logged": logged / n}


@pytest.mark.parametrize("utility", ["clicks", "dcg"])
def test_estimates_are_plain_sums(duck: Engine, utility: str) -> None:
    made = impressions(1, 300)
    result = off_policy_runs(made_log(duck, made), [NEW], GAMMA, utility=utility, least_ess=0)
    worth = GAMMA if utility == "clicks" else [1 / np.log2(rank + 1) for rank in (1, 2, 3)]
    expected = literal(made, worth)
    estimates = {one.estimator: one.value for one in result.estimates}
    assert result.logged == pytest.approx(expected.pop("logged"))
    assert {name: estimates[name] for name in expected} == pytest.approx(expected)
    assert set(estimates) == {"IPS", "clipped", "direct", "DR"}
    assert (result.rows, result.clusters) == (300, 97)


def test_estimates_are_near_the_truth(duck: Engine) -> None:
    made = impressions(2, 6000)
    new = Run.from_dict({"red": {"c": 3, "a": 2, "b": 1}, "blue": {"y": 2, "x": 1}}, name="new")
    result = off_policy_runs(made_log(duck, made), [new], GAMMA)
    truth = ((0.1 + 0.5 * 0.6 + 0.25 * 0.3) + (0.7 + 0.5 * 0.2)) / 2
    for one in result.estimates:
        assert one.low - 0.01 < truth < one.high + 0.01, one
        assert one.value == pytest.approx(truth, abs=0.03)


def test_no_more_queries_are_effective_than_there_are(duck: Engine) -> None:
    """Lists as they were logged: every weight is 1, so 120 queries count 120, not their 300 documents."""
    made = [{**one, "docs": LISTS[one["text"]], "clicks": one["clicks"][:0]} for one in impressions(3, 120)]
    same = Run.from_dict({"red": {"a": 3, "b": 2, "c": 1}, "blue": {"x": 2, "y": 1}}, name="same")
    result = off_policy_runs(made_log(duck, made), [same], GAMMA)
    assert [one.effective_n for one in result.estimates if one.estimator != "direct"] == pytest.approx([120] * 3)
    # of one red list in the new order c, a, z: weights 1 / 0.25 for c and 0.5 / 1 for a; of one blue list: 1 / 0.5, 0.5
    new = off_policy_runs(made_log(duck, made), [NEW], GAMMA, least_ess=0)
    weights = 60 * [4, 0.5, 2, 0.5]
    documents = sum(weights) ** 2 / sum(w * w for w in weights)
    assert new.estimates[0].effective_n == pytest.approx(documents / 2)


def with_weights(made: list[dict[str, Any]], weight: dict[str, float], shrink: float) -> tuple[float, float]:
    """The direct and the doubly robust estimate if users count with these weights; the model is fitted again."""
    clicks: dict[Any, float] = {}
    seen: dict[Any, float] = {}
    for one in made:
        for k, doc in enumerate(one["docs"], 1):
            key, click = (one["text"], doc), any(k == position for position, *_ in one["clicks"])
            clicks[key] = clicks.get(key, 0) + weight[one["user"]] * click
            seen[key] = seen.get(key, 0) + weight[one["user"]] * GAMMA[k - 1]
    mean = sum(clicks.values()) / sum(seen.values())
    a = {key: (clicks[key] + shrink * mean) / (seen[key] + shrink) for key in seen}
    direct = corrected = total = 0.0
    for one in made:
        times = weight[one["user"]]
        total += times
        expected = sum(GAMMA[rank - 1] * a.get(key, mean) for key, rank in RANKS.items() if key[0] == one["text"])
        direct += times * expected
        corrected += times * expected
        for k, doc in enumerate(one["docs"], 1):
            if (key := (one["text"], doc)) in RANKS:
                click = any(k == position for position, *_ in one["clicks"])
                corrected += times * GAMMA[RANKS[key] - 1] / GAMMA[k - 1] * (click - GAMMA[k - 1] * a[key])
    return direct / total, corrected / total


@pytest.mark.parametrize("shrink", [0.0, 3.0])
def test_intervals_contain_the_error_of_the_fitted_attractiveness(duck: Engine, shrink: float) -> None:
    """The influence of a user is the derivative of the whole estimate by the weight of the user's queries."""
    from scipy import stats

    made = [{**one, "user": f"u{i % 20}"} for i, one in enumerate(impressions(4, 120))]
    made = [
        one if i % 3 else {**one, "docs": one["docs"][:1], "clicks": one["clicks"][:0]} for i, one in enumerate(made)
    ]
    result = off_policy_runs(made_log(duck, made), [NEW], GAMMA, shrink=shrink, least_ess=0)
    users, step, influence = sorted({one["user"] for one in made}), 1e-5, []
    for user in users:
        ends = [
            with_weights(made, {each: 1 + sign * step * (each == user) for each in users}, shrink) for sign in (1, -1)
        ]
        influence.append((np.array(ends[0]) - ends[1]) / (2 * step))
    reach = stats.t.ppf(0.975, 19) * np.sqrt(20 * np.var(influence, axis=0, ddof=1))
    mine = [one for one in result.estimates if one.estimator in ("direct", "DR")]
    assert [one.value for one in mine] == pytest.approx(with_weights(made, dict.fromkeys(users, 1.0), shrink))
    assert [one.high - one.value for one in mine] == pytest.approx(reach.tolist(), rel=1e-6)


def test_a_run_with_the_logged_lists_is_neither_better_nor_worse(duck: Engine) -> None:
    rng = np.random.default_rng(7)  # sums in another order differ in the last digit here
    gamma, docs = [1.0, 0.6, 0.4, 0.3, 0.2], list("abcde")
    made = [
        {
            "user": f"u{i}",
            "text": f"t{i % 6}",
            "docs": docs,
            "clicks": [(k, k * 2.0, 30.0) for k in range(1, 6) if rng.random() < 0.3],
        }
        for i in range(120)
    ]
    same = Run.from_dict({f"t{i}": {doc: 5 - k for k, doc in enumerate(docs)} for i in range(6)}, name="same")
    result = off_policy_runs(made_log(duck, made), [same], gamma)
    for one in result.estimates:
        if one.estimator != "direct":  # its model shrinks what was seen
            assert one.change == 0
            assert one.change_low <= 0 <= one.change_high


def test_depth_cuts_the_logged_lists_too(duck: Engine) -> None:
    made = impressions(1, 300)
    result = off_policy_runs(made_log(duck, made), [NEW], GAMMA, depth=1, least_ess=0)
    assert result.logged == pytest.approx(sum(position == 1 for one in made for position, *_ in one["clicks"]) / 300)


def test_queries_without_a_new_list_are_counted(duck: Engine) -> None:
    red = Run.from_dict({"red": {"a": 1.0}}, name="red")
    result = off_policy_runs(made_log(duck, impressions(1, 300)), [red], GAMMA, least_ess=0)
    assert "red: 150 queries left out, for which it has no list" in result.notes
    assert result.rows == 150


def test_documents_that_were_never_shown_are_counted(duck: Engine) -> None:
    result = off_policy_runs(made_log(duck, impressions(1, 300)), [NEW], GAMMA, least_ess=0)
    share = 0.25 / (1.75 + 1.5)  # z at rank 3 of every second query
    assert any(f"{share:.1%} of the weight of its ranks" in note for note in result.notes)


def test_positions_without_examination_are_left_out_and_counted(duck: Engine) -> None:
    made = impressions(1, 300)
    result = off_policy_runs(made_log(duck, made), [NEW], GAMMA[:2], least_ess=0)
    below = sum(len(one["docs"]) > 2 for one in made)
    lost = sum(position == 3 for one in made for position, *_ in one["clicks"])
    assert any(f"{below} documents below position 2 left out, with {lost} clicks" in note for note in result.notes)


def test_topics_are_found_by_the_text_of_the_query(duck: Engine) -> None:
    log = made_log(duck, impressions(1, 300))
    renamed = Run.from_dict({"7": {"c": 3, "a": 2, "z": 1}, "8": {"y": 2, "x": 1}}, name="new")
    by_text = off_policy_runs(log, [renamed], GAMMA, topics={"7": " Red", "8": "blue"}, least_ess=0)
    plain = off_policy_runs(log, [NEW], GAMMA, least_ess=0)
    assert [one.value for one in by_text.estimates] == pytest.approx([one.value for one in plain.estimates])
    with pytest.raises(DataError, match="no query with a list of new was shown"):
        off_policy_runs(log, [renamed], GAMMA)
    with pytest.raises(UsageError, match="topics '7' and '8' have the same text"):
        off_policy_runs(log, [renamed], GAMMA, topics={"7": "red", "8": "Red"})


def test_a_position_that_nobody_examines_is_an_error(duck: Engine) -> None:
    with pytest.raises(UsageError, match="position 2 is examined with probability 0, must be above 0"):
        off_policy_runs(made_log(duck, impressions(1, 4)), [NEW], [1, 0])
