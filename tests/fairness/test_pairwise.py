"""Dissatisfaction, by hand and against all pairs one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cranfield.fairness import Attention, audit, dissatisfaction

GROUPS = {"a1": "a", "a2": "a", "b1": "b", "b2": "b", "b3": "b"}


def test_pairs_by_hand() -> None:
    """b1 (merit 0), a1 (2), b2 (1), a2 (0), and b3 (1) that was not retrieved; attention 1, 1/2, 1/4, 1/8.

    Members of a: a1 is above b2 and a2 and below b1: 1 of 3 pairs is swapped, with b1, of another group; of 2 such
    pairs (b1, b2) that is 1/2, and of the pair within the group (a2) none. It loses 1 − 1/2, over 3 pairs.
    Members of b: b2 is below b1 (own group) and above a2; b3 is below b1 (own) and a2 (another). Swapped: inter 1 of 2,
    intra 2 of 2, all 3 of 4. Lost: b2 1 − 1/4, b3 1 and 1/8, over 4 pairs.
    """
    qrels = {"q": {"a1": 2, "b2": 1, "b3": 1, "b1": 0}}
    scores = dissatisfaction(qrels, {"q": [["b1", "a1", "b2", "a2"]]}, GROUPS).mean()["run"]
    assert scores == pytest.approx(
        {
            "dissatisfied(a)": 1 / 3, "inter(a)": 1 / 2, "intra(a)": 0, "lost(a)": 0.5 / 3,
            "dissatisfied(b)": 3 / 4, "inter(b)": 1 / 2, "intra(b)": 1, "lost(b)": (0.75 + 1 + 0.125) / 4,
        }
    )  # fmt: skip


def test_against_every_pair_one_by_one() -> None:
    rng = random.Random(5)
    for _ in range(30):
        docs = [f"d{number}" for number in range(12)]
        member = {doc: (share := rng.choice([0, 0.25, 1]), 1 - share) for doc in docs}
        groups = {doc: {"a": first, "b": second} for doc, (first, second) in member.items()}
        merits = {doc: rng.choice([0, 1, 1, 3]) for doc in docs[2:]}
        ranking = rng.sample(docs, 8)
        attention = Attention("log")
        seen = dict(zip(ranking, attention.of(np.zeros(8, dtype=bool)).tolist(), strict=True))
        found = dissatisfaction({"q": merits}, {"q": [ranking]}, groups, attention=attention)
        for g, group in enumerate("ab"):
            pairs, swapped, lost = [0.0, 0.0], [0.0, 0.0], 0.0
            for i in [*ranking, *(doc for doc in docs if doc not in ranking)]:
                for j in ranking:
                    if merits.get(i, 0) >= 1 and merits.get(i, 0) > merits.get(j, 0):
                        below = i not in ranking or ranking.index(j) < ranking.index(i)
                        for kind, share in enumerate((1 - member[j][g], member[j][g])):
                            pairs[kind] += member[i][g] * share
                            swapped[kind] += member[i][g] * share * below
                        lost += member[i][g] * below * (seen[j] - seen.get(i, 0.0))
            every = sum(pairs)
            counts = zip([sum(swapped), *swapped, lost], [every, *pairs, every], strict=True)
            expected = [count / number if number else np.nan for count, number in counts]
            names = [f"{column}({group})" for column in ("dissatisfied", "inter", "intra", "lost")]
            assert [found[name].values[0, 0, 0] for name in names] == pytest.approx(expected, nan_ok=True)


def test_an_ideal_ranking_dissatisfies_nobody_and_a_group_without_merit_is_undefined() -> None:
    qrels = {"q": {"a1": 2, "a2": 1, "b1": 0, "b2": 0}}
    scores = dissatisfaction(qrels, {"q": [["a1", "a2", "b1", "b2"]]}, GROUPS)
    assert scores["dissatisfied(a)"].values[0, 0, 0] == 0
    assert scores["lost(a)"].values[0, 0, 0] == 0
    assert np.isnan(scores["dissatisfied(b)"].values[0, 0, 0])


def test_the_audit_has_it_on_request() -> None:
    qrels, runs = {"q": {"a1": 1, "b1": 1}}, {"mine": {"q": ["a1", "b2", "b1"]}}
    groups = audit(qrels, runs, GROUPS, ["dissatisfaction"]).to_dict()["mine"]["groups"]
    assert groups["a"] == pytest.approx({"dissatisfied": 0, "inter": 0, "intra": np.nan, "lost": 0}, nan_ok=True)
    assert groups["b"] == pytest.approx({"dissatisfied": 1, "inter": np.nan, "intra": 1, "lost": 0.25}, nan_ok=True)
    assert "dissatisfied" not in audit(qrels, runs, GROUPS).of_groups
