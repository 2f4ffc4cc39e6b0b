"""Interleaved lists: their probabilities and credit, against slow and literal versions."""

import json
from itertools import chain, combinations

import numpy as np
import pytest

from cranfield import UsageError
from cranfield.online.interleaving.interleaved import Interleaved, Interleaver, credit, digest, interleave
from cranfield.online.interleaving.interleaved_batch import (
    InterleavedBatch,
    QueryLists,
    interleave_many,
    interleave_runs,
    list_seeds,
)
from cranfield.online.interleaving.mixing_methods import MIXING_METHODS, MixingMethod

from . import slow_interleaving as slow

A, B, C = list("abcdef"), list("bdaecg"), list("fabhcd")
EVERY = [
    "balanced", "team-draft", "team-draft(skip_shared=true)", "probabilistic", "probabilistic(replacement=false)",
    "optimised", "optimised(credit=linear)", "optimised(credit=binary)", "roughly-optimised", "pairwise", "sosm",
]  # fmt: skip


def batch(rankings, method, length, count, seed=0) -> InterleavedBatch:
    lists = QueryLists.of({"q": {f"s{n}": ranking for n, ranking in enumerate(rankings)}})
    maker = Interleaver(method, length=length)
    return interleave_many(lists, maker, np.zeros(count, dtype=np.int64), list_seeds(seed, count))


def shares(made: InterleavedBatch) -> dict[tuple[str, ...], float]:
    names = np.array(made.lists.names[0], dtype=object)
    rows, counts = np.unique(made.document, axis=0, return_counts=True)
    return {
        tuple(names[row[row >= 0]]): count / len(made.document)
        for row, count in zip(rows, counts.tolist(), strict=True)
    }


def agree(found: dict, expected: dict, count: int) -> None:
    """Every share is within five standard errors of its probability (or 5 lists, if rare); nothing else occurs."""
    assert sum(expected.values()) == pytest.approx(1)
    assert set(found) <= set(expected)
    for one, p in expected.items():
        assert abs(found.get(one, 0) - p) <= 5 * np.sqrt(p * (1 - p) / count) + 5 / count, one


def clicks_on(documents) -> chain:
    """All sets of clicked documents."""
    return chain.from_iterable(combinations(documents, size) for size in range(len(documents) + 1))


def test_balanced_lists_are_those_of_algorithm_1_with_the_loop_mended() -> None:
    """By hand: A first gives a b d c (b is in both), and B first gives b a d c."""
    found = shares(batch([A, B], "balanced", 4, 4000))
    assert set(found) == {tuple("abdc"), tuple("badc")}
    assert set(found) == {tuple(slow.balanced(A, B, 4, first)) for first in (True, False)}
    assert found[tuple("abdc")] == pytest.approx(0.5, abs=0.04)


def test_the_top_of_a_balanced_list_holds_the_tops_of_both_lists() -> None:
    """004 §6.4: any top k of I holds the top k_a of A and the top k_b of B, where these differ by at most 1."""
    for seed in range(20):
        documents = interleave([A, B], "balanced", length=8, seed=seed).documents
        for k in range(1, 7):
            top = set(documents[:k])
            assert any(
                top == set(A[:ka]) | set(B[:kb]) for ka in range(k + 1) for kb in range(k + 1) if abs(ka - kb) <= 1
            )


CHAIN = [list("12"), list("23"), list("34")]
DRAFTS = {
    "two": ([A, B], 4), "three": ([A, B, C], 4), "three, as long as the page": ([A[:5], B[:5], C[:5]], 5),
    "chain": (CHAIN, 2), "chain that ends": (CHAIN, 4), "four": ([A[:3], B[:3], C[:3], list("cbf")], 3),
    "short": ([A[:2], B[:3], C[:3]], 6), "one document": ([["a"], B[:3], ["f"]], 5),
    "apart": ([["x"], ["y"], ["z"]], 3),
}  # fmt: skip
"""Rankings and the length of the page."""


def drafted(rankings: list, method: str, length: int, count: int) -> dict:
    """{(documents, teams): share}."""
    made = batch(rankings, method, length, count)
    names = np.array(made.lists.names[0], dtype=object)
    rows, counts = np.unique(np.hstack([made.document, made.team]), axis=0, return_counts=True)
    one_hot = (made.team[:, :, None] == np.arange(len(rankings))).astype(float)
    assert method == "sosm" or np.array_equal(made.worth, one_hot)
    return {
        (tuple(names[doc] for doc in row[:length] if doc >= 0), tuple(row[length:][row[:length] >= 0].tolist())): n
        / count
        for row, n in zip(rows, counts.tolist(), strict=True)
    }


@pytest.mark.parametrize("case", DRAFTS)
def test_team_draft_draws_lists_and_teams_with_their_probabilities(case: str) -> None:
    """Against all orders of all rounds; credit is withheld only where an order would leave a system without."""
    rankings, length = DRAFTS[case]
    agree(drafted(rankings, "team-draft", length, 20_000), slow.team_draft(rankings, length, credit="fair"), 20_000)


@pytest.mark.parametrize("method", ["team-draft", "sosm"])
@pytest.mark.parametrize("case", DRAFTS)
def test_the_lists_of_a_team_draft_are_those_of_the_textbook(case: str, method: str) -> None:
    rankings, length = DRAFTS[case]
    expected: dict = {}
    for (documents, _), probability in slow.team_draft(rankings, length).items():
        expected[documents] = expected.get(documents, 0.0) + probability
    agree(shares(batch(rankings, method, length, 20_000)), expected, 20_000)


def test_three_rankings_that_form_a_chain_give_six_lists_in_which_every_place_counts() -> None:
    """By hand: the first two of three systems choose; each of the six orders of two gives another list."""
    found = drafted(CHAIN, "team-draft", 2, 3000)
    assert {"".join(documents): teams for documents, teams in found} == {
        "12": (0, 1), "13": (0, 2), "21": (1, 0), "23": (1, 2), "31": (2, 0), "32": (2, 1)
    }  # fmt: skip


@pytest.mark.parametrize(("systems", "length"), [(3, 5), (4, 10), (5, 7)])
@pytest.mark.parametrize("method", ["team-draft", "probabilistic(replacement=false)"])
def test_every_place_counts_if_the_rankings_are_as_long_as_the_page(systems: int, length: int, method: str) -> None:
    """At place i a system has lost at most i - 1 of its documents, so it always has one left."""
    rng = np.random.default_rng(3)
    for seed in range(40):
        rankings = [rng.permutation(2 * length)[:length].astype(str).tolist() for _ in range(systems)]
        record = interleave(rankings, method, length=length, seed=seed)
        assert min(record.teams) >= 0
        assert np.array(record.worth).reshape(length, systems).sum(axis=1) == pytest.approx(np.ones(length))


@pytest.mark.parametrize("case", DRAFTS)
def test_no_place_of_a_team_draft_favours_a_system(case: str) -> None:
    """Exactly, over all orders; the textbook's credit does when a ranking ends before the page."""
    rankings, length = DRAFTS[case]
    fair = np.array(slow.place_shares(slow.team_draft(rankings, length, credit="fair"), len(rankings), length))
    assert np.ptp(fair, axis=1) == pytest.approx(np.zeros(length), abs=1e-12)
    textbook = np.array(slow.place_shares(slow.team_draft(rankings, length), len(rankings), length))
    ends = case in ("chain that ends", "short", "one document")
    assert bool(np.ptp(textbook, axis=1).max() > 0.05) == ends


@pytest.mark.parametrize("tau", [0.5, 3.0])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("rankings", "length"), [([A[:4], B[:4]], 3), ([A[:4], B[:4], C[:4]], 3)])
def test_probabilistic_lists_have_their_probabilities(
    rankings: list, length: int, tau: float, replacement: bool
) -> None:
    count = 40_000
    method = MixingMethod.of("probabilistic", tau=tau, replacement=replacement)
    agree(shares(batch(rankings, method, length, count)), slow.probabilistic(rankings, length, tau, replacement), count)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("rankings", [[A, B], [A, B, C]])
def test_probabilistic_credit_is_the_sum_over_all_assignments(rankings: list, replacement: bool) -> None:
    for seed in range(30):
        record = interleave(rankings, "probabilistic", length=5, seed=seed, replacement=replacement, tau=1)
        expected = slow.assigned(rankings, record.documents, 1, replacement)
        found = np.array(record.worth).reshape(5, len(rankings))
        if replacement or 0 not in np.sum(found, axis=1):  # a round that could leave a system without counts for nobody
            assert found == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize(("rankings", "length"), [([A, B], 4), ([A, B, C], 3)])
def test_pairwise_lists_have_their_probabilities(rankings: list, length: int) -> None:
    agree(shares(batch(rankings, "pairwise", length, 20_000)), slow.pairwise(rankings, length), 20_000)


@pytest.mark.parametrize("rankings", [[A, B], [A, B, C]])
def test_pairwise_credit_is_the_sum_over_pairs(rankings: list) -> None:
    for seed in range(12):
        record = interleave(rankings, "pairwise", length=5, seed=seed)
        for clicked in clicks_on(record.documents):
            expected = slow.pairwise_credit(rankings, record.documents, set(clicked))
            assert list(credit(record, clicked).values()) == pytest.approx(expected)


def test_balanced_credit_counts_clicks_down_to_the_lowest() -> None:
    for seed in range(4):
        record = interleave([A, B], "balanced", length=5, seed=seed)
        for clicked in clicks_on(record.documents):
            expected = slow.balanced_credit(A, B, record.documents, set(clicked))
            assert list(credit(record, clicked).values()) == expected


def test_balanced_credit_by_hand() -> None:
    """Clicks on b and d: the lowest, d, is 4th in A and 2nd in B, so k = 2. A's first two hold b, B's hold b and d."""
    record = interleave([A, B], "balanced", length=4, seed=0)
    assert credit(record, ["b", "d"]) == {"A": 1.0, "B": 2.0}


def test_sosm_scores_a_click_by_the_rank_among_those_shown() -> None:
    """Shown are the first documents of a team draft; A ranks a 1st, b 2nd and d 3rd of them, B ranks b, d, a."""
    record = next(
        one
        for seed in range(50)
        if sorted((one := interleave([A, B], "sosm", length=3, seed=seed)).documents) == list("abd")
    )
    assert credit(record, ["a"]) == pytest.approx({"A": 1.0, "B": 1 / 3**3})
    assert credit(record, ["d", "b"]) == pytest.approx({"A": 1 / 2**3 + 1 / 3**3, "B": 1 + 1 / 2**3})


@pytest.mark.parametrize("method", EVERY)
def test_a_record_survives_json_and_replays(method: str) -> None:
    rankings = {"bm25": A, "dense": B}
    for seed in (0, 3, 2**53 - 1):
        record = interleave(rankings, method, length=4, seed=seed)
        read = Interleaved.from_json(record.to_json())
        assert read.replay(rankings).documents == record.documents
        for clicked in clicks_on(record.documents):
            assert credit(read, clicked) == credit(record, clicked)
        assert json.loads(str(record))["digests"] == [digest(A), digest(B)]


@pytest.mark.parametrize("method", EVERY)
def test_a_batch_makes_the_same_lists_and_credit_as_one_at_a_time(method: str) -> None:
    lists = QueryLists.of({"q1": {"x": A, "y": B}, "q2": {"x": list("mno"), "y": list("nopq")}})
    query, seeds = np.array([0, 1, 1, 0, 1]), list_seeds(5, 5)
    made = interleave_many(lists, Interleaver(method, length=5), query, seeds, threads=2)
    clicks = np.random.default_rng(1).random(made.document.shape) < 0.5
    credits = made.credit(clicks)
    for i in range(len(query)):
        record = made.record(i)
        names = lists.names[query[i]]
        assert [names[doc] for doc in made.document[i] if doc >= 0] == record.documents
        places = [place + 1 for place in np.flatnonzero(clicks[i]) if place < len(record.documents)]
        assert list(credit(record, places).values()) == pytest.approx(credits[i].tolist())


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize(
    "rankings", [[[], []], [["a"], []], [["a"], ["a"]], [["a"], ["b"]], [A, A], [A, B[:2]], [A[:1], B], [A[:2], ["z"]]]
)
def test_short_empty_and_equal_lists_fill_the_page_without_repeats(method: str, rankings: list) -> None:
    for seed in range(10):
        record = interleave(rankings, method, length=5, seed=seed)
        whole = set().union(*rankings)
        assert len(set(record.documents)) == len(record.documents) <= 5
        assert len(record.documents) == min(5, len(whole))
        assert set(record.documents) <= whole
        if rankings[0] == rankings[1]:
            totals = np.zeros(2)
            for clicked in clicks_on(record.documents):
                totals += list(credit(record, clicked).values())
            if "team" not in method and "false" not in method:
                assert totals[0] == pytest.approx(totals[1])


@pytest.mark.parametrize("method", EVERY)
def test_a_repeated_document_is_an_error_that_names_it(method: str) -> None:
    with pytest.raises(UsageError, match=r"document 'b' appears twice in the list of 'dense', at ranks 1 and 3"):
        interleave({"bm25": A, "dense": ["b", "c", "b"]}, method)


def test_other_errors_name_the_value_and_the_way_out() -> None:
    with pytest.raises(UsageError, match="balanced: 3 lists, but it takes two; team-draft takes more"):
        interleave([A, B, C], "balanced")
    with pytest.raises(UsageError, match="1 list, interleaving needs two or more"):
        interleave([A])
    with pytest.raises(UsageError, match="no method of interleaving 'team-daft'; did you mean 'team-draft'"):
        interleave([A, B], "team-daft")
    with pytest.raises(UsageError, match="probabilistic: no parameter 'tua'; did you mean 'tau'"):
        interleave([A, B], "probabilistic(tua=1)")
    with pytest.raises(UsageError, match=r"probabilistic: tau == 99, must be between 0 and 30"):
        interleave([A, B], "probabilistic", tau=99)
    with pytest.raises(UsageError, match="length == 0"):
        interleave([A, B], length=0)
    with pytest.raises(UsageError, match="seed == -1"):
        interleave([A, B], seed=-1)
    for method in ("optimised", "team-draft"):
        with pytest.raises(UsageError, match="the list of 'A' is text, 'abc'"):
            interleave(["abc", B], method)
    with pytest.raises(UsageError, match="a click on 'zz', which was not shown; the list has 3 documents"):
        credit(interleave([A, B], length=3), ["zz"])
    with pytest.raises(UsageError, match="at most 12 without replacement"):
        interleave([A] * 13, "probabilistic(replacement=false)")


def test_a_record_of_other_rankings_does_not_replay() -> None:
    record = interleave({"x": A, "y": B}, seed=1)
    with pytest.raises(UsageError, match="the ranking of 'y' differs"):
        record.replay({"x": A, "y": C})


def test_records_that_are_broken_are_errors() -> None:
    whole = interleave([A, B], seed=1, length=3).to_dict()
    with pytest.raises(UsageError, match="not valid JSON"):
        Interleaved.from_json("{")
    with pytest.raises(UsageError, match="without 'shown'"):
        Interleaved.from_dict({key: value for key, value in whole.items() if key != "shown"})
    with pytest.raises(UsageError, match="positions are not 1, 2, 3"):
        Interleaved.from_dict(whole | {"shown": whole["shown"][1:]})
    with pytest.raises(UsageError, match="not an attribution record"):
        Interleaved.from_dict([1, 2])  # type: ignore[arg-type]


def test_documents_that_all_lists_begin_with_can_count_for_nobody() -> None:
    rankings = [list("xyab"), list("xycd")]
    record = interleave(rankings, "team-draft(skip_shared=true)", length=4, seed=3)
    assert record.documents[:2] == ["x", "y"]
    assert record.teams[:2] == [-1, -1]
    assert credit(record, ["x", "y"]) == {"A": 0.0, "B": 0.0}
    assert sorted(record.teams[2:]) == [0, 1]


def test_every_method_has_a_source_and_a_word_on_bias() -> None:
    for family in MIXING_METHODS.values():
        assert family.source
        assert family.bias


def test_runs_are_interleaved_as_their_rankings_are() -> None:
    runs = {"bm25": {"q": {"a": 3, "b": 2, "c": 1}}, "dense": {"q": {"b": 3, "d": 2, "a": 1}}}
    made = interleave_runs(runs, "probabilistic(tau=1)", length=3, copies=2, seed=5)
    assert [logged.query for logged in made.lists] == ["q", "q"]
    for logged in made.lists:
        again = interleave({"bm25": ["a", "b", "c"], "dense": ["b", "d", "a"]}, logged.record.method,
                           length=3, seed=logged.record.seed)  # fmt: skip
        assert again.documents == logged.record.documents
    assert made.to_dict()["rows"][0] == made.lists[0].to_dict()
