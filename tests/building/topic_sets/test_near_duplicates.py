"""Near-duplicate queries: the fast search finds what a comparison of all pairs finds."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.building.topic_sets.near_duplicates import TypingErrors, near_duplicates, one_error, singular
from tests.oracles.near_queries import leaders, near_by_brute_force, one_edit

WORDS = ["cheap", "flights", "flight", "paris", "hotel", "hotels", "to", "of", "2005", "2006", "berlin", "weather"]


def typed(seed: int, size: int) -> list[str]:
    """Queries of a small vocabulary, many with a typing error."""
    rng = random.Random(seed)
    queries = []
    for _ in range(size):
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 6)))
        if rng.random() < 0.5:
            at = rng.randrange(len(text))
            edited = {
                0: text[:at] + text[at + 1 :],
                1: text[:at] + rng.choice("abc3") + text[at:],
                2: text[:at] + rng.choice("abc3") + text[at + 1 :],
                3: text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
            }
            text = edited[rng.randrange(4)]
        queries.append(" ".join(text.split()))
    return [query for query in dict.fromkeys(queries) if query]


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.6, 0.75, 0.8, 1.0])
@pytest.mark.parametrize("stem", [True, False])
def test_the_search_finds_what_a_comparison_of_all_pairs_finds(threshold: float, stem: bool) -> None:
    for seed in range(4):
        queries = typed(seed, 150)
        for edits in (True, False):
            fast = near_duplicates(queries, jaccard=threshold, stem=stem, edits=edits).tolist()
            assert fast == near_by_brute_force(queries, threshold, stem, edits)


@given(st.lists(st.text("ab1", min_size=6, max_size=11), max_size=40, unique=True))
@settings(max_examples=150, deadline=None)
def test_typing_errors_are_those_of_the_textbook_distance(texts: list[str]) -> None:
    """Few letters make many texts that differ by one error, also in several ways at once."""
    assert TypingErrors(texts).kept().tolist() == leaders(texts, one_edit)
    for first in texts[:8]:
        for second in texts[:8]:
            assert one_error(first, second) == one_edit(first, second)


def test_characters_of_any_script_are_compared() -> None:
    texts = [
        "погода в москве",
        "погада в москве",
        "東京の天気予報は今日",
        "東京の天気予報今日は",
        "💡 lamp shop",
        "💡 lamp shops",
    ]
    assert TypingErrors(texts).kept().tolist() == [0, 0, 2, 3, 4, 4]


def test_blocks_of_queries_are_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = typed(9, 200)
    whole = TypingErrors(texts).kept().tolist()
    monkeypatch.setattr("cranfield.building.topic_sets.near_duplicates.BLOCK", 7)
    assert TypingErrors(texts).kept().tolist() == whole == leaders(texts, one_edit)


def test_a_query_is_never_dropped_for_one_that_is_dropped() -> None:
    queries = ["weather berlin", "weather berlins", "weather berlinst"]  # 2 is one edit from 1, two from 0
    assert near_duplicates(queries, stem=False).tolist() == [0, 0, 2]


def test_different_numbers_and_short_words_are_different_queries() -> None:
    queries = ["songs of 2005", "songs of 2006", "cat", "car", "c", "c++", "c#"]
    assert near_duplicates(queries).tolist() == list(range(7))


def test_plurals_follow_the_rules_of_harman() -> None:
    """Harman 1991, p. 8: ies → y except eies, aies; es → e except aes, ees, oes; s → none except us, ss."""
    words = ["skies", "eies", "horses", "shoes", "trees", "cats", "corpus", "boss", "paris", "bus"]
    assert [singular(word) for word in words] == [
        "sky", "eies", "horse", "shoes", "trees", "cat", "corpus", "boss", "paris", "bus"
    ]  # fmt: skip
