"""Measures from preferences between documents: by hand, and against a slow version that follows the definitions."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.answers.document_preferences import document_preferences, pairs_of
from cranfield.errors import UsageError
from cranfield.meta.agreement.concordance import Preferences
from cranfield.scores.scores import Scores

NAMES = ["ppref", "ppref@2", "rpref", "rpref@2", "wpref", "wpref@2", "appref"]


def said(*rows: tuple[str, str, str, int]) -> Preferences:
    """Preferences of one topic: assessor, first, second, and 1 for the first, −1 for the second, 0 for a tie."""
    assessor, first, second, sign = zip(*rows, strict=True)
    return Preferences(("1",) * len(rows), first, second, sign, assessor)


def scored(preferences: Preferences, ranked: list[str], names: list[str], **settings: bool) -> dict[str, float]:
    scores = document_preferences(preferences, {"mine": {"1": ranked}}, names, **settings)
    return dict(zip(scores.measures, scores.values[:, 0, 0].tolist(), strict=True))


def test_by_hand() -> None:
    """The list is a, x, b, c. Preferred: a over b and b over c are correct; c over a and d over b are not.

    Down to rank 2, a-b and c-a are ordered, a-b correctly: 1/2, and 1/4 of all. In the whole list all four are ordered:
    2/4. The ranks of the first documents are 1, 3, 1, 3, so the weights are 1, 1/2, 1, 1/2: wpref is 1.5/3, and 1/2
    down to rank 2. rpref grows at ranks 1 and 3, where ppref is 1/2 and 2/4.
    """
    preferences = said(("x", "a", "b", 1), ("x", "c", "b", -1), ("x", "a", "c", -1), ("y", "d", "b", 1))
    expected = [2 / 4, 1 / 2, 2 / 4, 1 / 4, 1.5 / 3, 1 / 2, (1 / 2 + 2 / 4) / 2]
    assert scored(preferences, ["a", "x", "b", "c"], NAMES) == pytest.approx(dict(zip(NAMES, expected, strict=True)))


def slow(pairs: list[tuple[str, str]], ranked: list[str], name: str) -> float:
    """As the definitions say, document by document."""
    kind, _, cut = name.partition("@")
    k = int(cut) if cut else len(ranked)
    rank = {doc: ranked.index(doc) + 1 if doc in ranked else math.inf for pair in pairs for doc in pair}
    ordered = [(b, w) for b, w in pairs if rank[b] <= k or rank[w] <= k]
    correct = [(b, w) for b, w in ordered if rank[b] < rank[w]]

    def weight(pair: tuple[str, str]) -> float:
        return 1 / math.log2(min(rank[pair[0]], rank[pair[1]]) + 1)

    if kind == "rpref":
        return len(correct) / len(pairs)
    if kind == "appref":
        recalls = [slow(pairs, ranked, f"rpref@{r}") for r in range(1, k + 1)]
        grown = [r for r, (now, before) in enumerate(zip(recalls, [0.0, *recalls], strict=False), 1) if now > before]
        return sum(slow(pairs, ranked, f"ppref@{r}") for r in grown) / len(grown) if grown else 0.0
    if not ordered:
        return 0.0
    if kind == "ppref":
        return len(correct) / len(ordered)
    return sum(map(weight, correct)) / sum(map(weight, ordered))


@pytest.mark.parametrize("seed", range(20))
def test_random_preferences_and_lists_agree_with_the_slow_version(seed: int) -> None:
    rng = random.Random(seed)
    docs = [f"d{n}" for n in range(8)]
    pairs = [tuple(rng.sample(docs, 2)) for _ in range(rng.randint(1, 12))]
    ranked = rng.sample(docs, rng.randint(1, 8))
    preferences = said(*((rng.choice("xy"), better, worse, 1) for better, worse in pairs))
    if not {doc for pair in pairs for doc in pair} & set(ranked):
        return
    names = [*NAMES, "appref@3", "wpref@5", "rpref@1"]
    expected = {name: slow(pairs, ranked, name) for name in names}
    assert scored(preferences, ranked, names) == pytest.approx(expected)


def test_the_order_that_assessors_prefer_scores_one_and_its_reverse_zero() -> None:
    docs = ["a", "b", "c", "d"]
    preferences = said(*(("x", docs[i], docs[j], 1) for i in range(4) for j in range(i + 1, 4)))
    assert set(scored(preferences, docs, ["ppref", "rpref", "wpref", "appref"]).values()) == {1.0}
    assert set(scored(preferences, docs[::-1], ["ppref", "rpref", "wpref", "appref"]).values()) == {0.0}


def test_with_all_pairs_and_no_others_rpref_is_kendalls_tau_rescaled() -> None:
    from scipy.stats import kendalltau

    order = ["c", "a", "d", "b", "e"]
    docs = sorted(order)
    preferences = said(*(("x", docs[i], docs[j], 1) for i in range(5) for j in range(i + 1, 5)))
    tau = kendalltau(range(5), [order.index(doc) for doc in docs]).statistic
    assert scored(preferences, order, ["rpref"])["rpref"] == pytest.approx((tau + 1) / 2)


def test_what_follows_from_preferences_is_added_by_assessor() -> None:
    preferences = said(("x", "a", "b", 1), ("x", "b", "c", 1), ("y", "c", "d", 1))
    pairs, _ = pairs_of(preferences, transitive=True)
    assert sorted(pairs["1"]) == [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]  # no a-d: no one assessor said so
    circle = said(("x", "a", "b", 1), ("x", "b", "c", 1), ("x", "c", "a", 1), ("x", "c", "d", 1), ("x", "a", "e", 0))
    pairs, notes = pairs_of(circle, transitive=True)
    assert sorted(pairs["1"]) == [("a", "d"), ("b", "d"), ("c", "d")]
    assert "3 pairs left out, of which an assessor prefers each to the other" in " ".join(notes)
    assert "1 tie not counted" in " ".join(notes)


def test_topics_without_preferences_or_lists() -> None:
    preferences = Preferences(("1", "2", "3"), ("a", "a", "a"), ("b", "b", "b"), (1, 0, 1), ("", "", ""))
    scores = document_preferences(preferences, {"mine": {"1": ["a"]}, "other": {"1": ["x"], "3": ["a"]}}, ["ppref"])
    assert (scores.topics, scores.runs) == (("1", "3"), ("mine", "other"))
    assert scores.values[0].tolist() == [[1, 0], [0, 1]]
    assert scores.missing.tolist() == [[False, True], [False, False]]
    assert "1 topic without preferences left out: 2" in " ".join(scores.notes)


def test_wrong_requests_are_refused() -> None:
    one = said(("x", "a", "b", 1))
    for names, message in ((["prefs"], "measure"), (["ppref@0"], "the depth is '0'"), ([], "no measure")):
        with pytest.raises(UsageError, match=message):
            document_preferences(one, {"mine": {"1": ["a"]}}, names)
    with pytest.raises(UsageError, match="no preferences, only ties"):
        document_preferences(said(("x", "a", "b", 0)), {"mine": {"1": ["a"]}})
    with pytest.raises(UsageError, match="are the ids the same"):
        document_preferences(one, {"mine": {"1": ["z"]}})


def test_a_file_of_the_judging_page_and_the_order_of_ties(tmp_path: Path) -> None:
    path = tmp_path / "preferences.tsv"
    path.write_text("topic\tfirst\tsecond\tpreferred\tassessor\n1\ta\tb\ta\tann\n1\ta\tc\ttie\tann\n1\tb\tc\tc\tbob\n")
    run = {"mine": {"1": {"a": 1.0, "b": 1.0, "c": 0.5}}}
    scores = cf.answers.preferences(path, run, ["ppref"])  # b, a, c: equal scores are sorted from z to a
    assert isinstance(scores, Scores)
    assert scores.values.tolist() == [[[0.0]]]
    assert cf.answers.preferences(path, run, ["ppref"], ties="a-z").values.tolist() == [[[0.5]]]
    assert np.isfinite(scores.values).all()
