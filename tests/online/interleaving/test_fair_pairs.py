"""FairPairs: by hand, and with simulated users who look at lower places less often."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cranfield import DataError, UsageError
from cranfield.online.interleaving.fair_pairs import (
    FairList,
    PairPreferences,
    fair_list,
    fair_preferences,
    read_fair_lists,
    with_clicks,
)

EXAMINED = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.2])
DOCS = [f"d{n}" for n in range(6)]


def simulated(attraction: dict[str, float], lists: int, seed: int) -> PairPreferences:
    """Users look at each place with a probability of its own, and click what they see if it attracts them."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(lists):
        shown = fair_list(DOCS, seed=int(rng.integers(2**32)), query_id=str(number), query="q")
        chance = EXAMINED * np.array([attraction[doc] for doc in shown.documents])
        made.append(with_clicks([shown], {str(number): [*(np.flatnonzero(rng.random(6) < chance) + 1).tolist()]})[0])
    return fair_preferences(made)


def test_lists_are_swapped_in_disjoint_pairs_of_neighbours() -> None:
    for seed in range(200):
        own = fair_list(DOCS, seed)
        pairs = {place for pair in own.pairs() for place in pair}
        assert all(abs(rank - place) <= 1 for place, rank in enumerate(own.ranks, 1))
        assert all(own.documents[place] == DOCS[place] for place in range(6) if place not in pairs)


def test_every_pair_of_neighbours_is_shown_in_both_orders_equally_often() -> None:
    """Each of the 5 pairs can be swapped in half of the lists, and is in half of these: 2000 of 8000 ± 4 × 39."""
    made = [fair_list(DOCS, seed) for seed in range(8000)]
    for rank in range(1, 6):
        swapped = sum(own.ranks.index(rank) > own.ranks.index(rank + 1) for own in made)
        assert swapped == pytest.approx(2000, abs=156)  # sd √(8000 · 1/4 · 3/4) = 39


def test_equal_documents_are_preferred_equally_and_naive_counts_are_not() -> None:
    """Over 40 simulations of 1,000 lists with equal documents, 5 % of the 200 tests reject, or fewer."""
    results = [simulated(dict.fromkeys(DOCS, 0.5), 1000, seed) for seed in range(40)]
    orders = [np.argsort(result.upper.astype(str)) for result in results]
    differences = np.array([result.difference[order] for result, order in zip(results, orders, strict=True)])
    error = differences.std(axis=0, ddof=1) / np.sqrt(len(results))
    assert (np.abs(differences.mean(axis=0)) < 4 * error).all()
    rejected = np.mean([result.p < 0.05 for result in results])
    assert rejected < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    naive = np.mean([result.naive[order] for result, order in zip(results, orders, strict=True)], axis=0)
    expected = 0.5 * (EXAMINED[:-1] - EXAMINED[1:])  # what position alone makes of equal documents
    assert naive == pytest.approx(expected, abs=0.03)


def test_a_better_document_below_is_found_though_it_gets_fewer_clicks() -> None:
    """d1 attracts more than d0, but at rank 2 it has 0.7 · 0.6 = 0.42 clicks and d0 has 0.5: naive counts are wrong."""
    result = simulated({**dict.fromkeys(DOCS, 0.1), "d0": 0.5, "d1": 0.6}, 20_000, 5)
    at = result.upper.tolist().index("d0")
    assert result.naive[at] > 0.04
    # d0 below: 0.7 · 0.5 = 0.35; d1 below: 0.7 · 0.6 = 0.42
    assert result.difference[at] == pytest.approx(-0.07, abs=4 * np.sqrt(2 * 0.24 / 5000))
    assert ("d1", "d0") in result.preferred()["q"]


def test_counts_by_hand() -> None:
    """a over b: b is below in lists 1 and 2, and clicked in 1; a is below in list 3, and clicked. 2 is another pair."""
    lists = [
        FairList("1", "q", 1, ("a", "b", "c"), (1, 2, 3), clicks=("b",)),
        FairList("2", "q", 1, ("a", "b", "c"), (1, 2, 3), clicks=(1,)),
        FairList("3", "q", 1, ("b", "a", "c"), (2, 1, 3), clicks=(2, "b")),
        FairList("4", "q", 2, ("a", "b", "c"), (1, 2, 3), clicks=(2,)),
    ]
    result = fair_preferences(lists)
    assert list(zip(result.upper, result.lower, strict=True)) == [("a", "b"), ("b", "c")]
    assert [result.upper_clicks.tolist(), result.upper_shown.tolist()] == [[1, 0], [1, 0]]
    assert [result.lower_clicks.tolist(), result.lower_shown.tolist()] == [[1, 0], [2, 1]]
    assert result.difference[0] == 1 / 1 - 1 / 2
    assert result.naive.tolist() == [0, 1]
    assert result.p[0] == 1  # 1 of 1 against 1 of 2: no table is less likely
    assert np.isnan(result.p[1])
    assert "1 pair shown in one order only" in " ".join(result.notes)


def test_wrong_logs_are_named(tmp_path: Path) -> None:
    log = tmp_path / "lists.jsonl"
    log.write_text('{"method": "fair-pairs", "first": 1, "shown": [{"doc": "a", "rank": 1}], "clicks": [2]}\n')
    with pytest.raises(DataError, match=r"lists\.jsonl:1: click 2 is on no document of the list"):
        read_fair_lists(log)
    with pytest.raises(UsageError, match="has no clicks"):
        fair_preferences([fair_list(["a", "b"], 1, "i1")])
