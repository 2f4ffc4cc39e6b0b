"""Old lists for new comparisons, weighted by importance."""

from itertools import permutations

import numpy as np
import pytest

from cranfield import UsageError
from cranfield.online.interleaving.history_reuse import list_probability, reuse_history
from cranfield.online.interleaving.interleaved import credit, interleave

from . import slow_interleaving as slow

A, B, C, D = list("abcd"), list("bdac"), list("dcba"), list("acbd")


def test_the_probability_of_a_list_is_that_of_all_assignments() -> None:
    expected = slow.probabilistic([A, B], 3, 1.0, replacement=True)
    for documents in permutations("abcd", 3):
        log, worth = list_probability([A, B], documents, 1.0)
        assert np.exp(log) == pytest.approx(expected[documents])
        assert worth == pytest.approx(np.array(slow.assigned([A, B], documents, 1.0, replacement=True)))


def test_credit_is_that_of_probabilistic_interleaving() -> None:
    for seed in range(10):
        record = interleave([A, B[:2]], "probabilistic", length=4, seed=seed)
        _, worth = list_probability([A, B[:2]], record.documents)
        assert worth.ravel() == pytest.approx(np.array(record.worth), abs=1e-12)


def test_the_estimate_is_the_outcome_of_an_experiment_of_its_own() -> None:
    """Exact, over all lists of two with their probabilities: Σ P_S w o = Σ P_T o. Users click on d only."""
    new = {"c": C, "d": D}
    direct = 0.0
    for documents, probability in slow.probabilistic([C, D], 2, 1.0, replacement=True).items():
        _, worth = list_probability([C, D], documents, 1.0)
        direct += probability * sum(worth[i, 0] - worth[i, 1] for i, doc in enumerate(documents) if doc == "d")
    by_weight = 0.0
    for documents, probability in slow.probabilistic([A, B], 2, 1.0, replacement=True).items():
        one = reuse_history([({"a": A, "b": B}, documents, [d for d in documents if d == "d"], new)], tau=1.0)
        by_weight += probability * one.difference
    assert by_weight == pytest.approx(direct)
    assert direct > 0.2


def test_the_estimate_from_a_log_is_near_the_truth_and_its_interval_holds_it() -> None:
    """3,000 lists of A and B, of users who click d: the difference of C and D, against lists of their own."""
    history, own = [], []
    for seed in range(3000):
        old = interleave({"a": A, "b": B}, "probabilistic", length=2, seed=seed, tau=1)
        history.append(({"a": A, "b": B}, old.documents, [d for d in old.documents if d == "d"], {"c": C, "d": D}))
        new = interleave({"c": C, "d": D}, "probabilistic", length=2, seed=seed, tau=1)
        of_new = credit(new, [d for d in new.documents if d == "d"])
        own.append(of_new["c"] - of_new["d"])
    result = reuse_history(history, tau=1.0)
    assert result.low < np.mean(own) < result.high
    assert 0 < result.effective < 3000
    assert result.impossible == 0


def test_systems_that_are_too_different_get_a_caution() -> None:
    history = [({"a": A, "b": B}, ["a", "b"], ["a"], {"c": ["x", "y"], "d": ["y", "x"]})] * 5
    result = reuse_history(history)
    assert result.difference == 0
    assert result.impossible == 5
    assert any(note.startswith("caution") for note in result.notes)


def test_bad_history_is_an_error() -> None:
    old, new = {"a": A, "b": B}, {"c": C, "d": D}
    with pytest.raises(UsageError, match="the old systems could not have made the list of impression 1"):
        reuse_history([(old, ["z"], [], new)])
    with pytest.raises(UsageError, match="impression 1 has a click on 'z', which was not shown"):
        reuse_history([(old, ["a", "b"], ["z"], new)])
    with pytest.raises(UsageError, match="no impressions"):
        reuse_history([])
    with pytest.raises(UsageError, match="expected the same two systems"):
        reuse_history([(old, ["a"], [], {"c": C})])
    with pytest.raises(UsageError, match="document 'x' appears twice"):
        reuse_history([(old, ["a"], [], {"c": ["x", "x"], "d": D})])


def test_large_weights_can_be_cut() -> None:
    old, new = {"a": A, "b": A}, {"c": C, "d": D}
    whole = reuse_history([(old, ["d", "c"], ["d"], new)] * 4)
    cut = reuse_history([(old, ["d", "c"], ["d"], new)] * 4, most_weight=2.0)
    assert abs(cut.difference) < abs(whole.difference)
    assert "4 weights cut to 2, so the estimate is biased" in cut.notes
