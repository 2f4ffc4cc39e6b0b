"""Informativeness of diversity measures: all lists enumerated, solutions by scipy's optimiser."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.measures import parse
from cranfield.meta.stability.expected_scores import IntentRows, expected_over_intents
from cranfield.meta.stability.informativeness import _binary, informativeness, max_entropy, solve

KNOWN = [
    *("alpha-nDCG@3", "alpha-DCG", "alpha-nDCG(alpha=0.3,probabilities=True)", 'alpha-DCG(dialect="ndeval")@3', "NRBP"),
    *("nNRBP(beta=0.7)", "ERR-IA@3", 'ERR-IA(dialect="ndeval")@3', "nERR-IA", 'nERR-IA(dialect="ndeval")', "RBU@3"),
    *("I-rec@2", "nDCG-IA@3", "AP-IA", "P-IA@2", "RR-IA", "Q-IA", "D-nDCG@3", "D#-nDCG@3", "DIN-nDCG", "DIN#-nDCG@2"),
]
"""Measures whose expected value is known."""

Served = tuple[str, ...]
KINDS: tuple[Served, ...] = ((), ("a",), ("b",), ("a", "b"))


def lists_of(runs: dict[str, list[Served]], probabilities: dict[str, float], judged: int) -> Assessed:
    """Runs that retrieve documents of each kind: not relevant, relevant to a, to b, to both.

    The topic has `judged` documents of each relevant kind; b is navigational.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "qrels"
        names = {kind: [f"{'-'.join(kind) or 'none'}{n}" for n in range(judged)] for kind in KINDS}
        lines = [f"1 {intent} {name} 1" for kind in KINDS for name in names[kind] for intent in kind]
        lines += [f"1 a {name} 0" for name in names[()]]
        path.write_text("\n".join(lines) + "\n")
        ranked = {}
        for run, kinds in runs.items():
            left = {kind: iter(names[kind]) for kind in KINDS}
            ranked[run] = {"1": {next(left[kind]): float(-rank) for rank, kind in enumerate(kinds)}}
        options = JoinOptions(
            intent_probabilities={"1": probabilities}, intent_types={"1": {"a": "informational", "b": "navigational"}}
        )
        return join(Qrels.read(path, format="diversity"), ranked, options)


@cache
def every_list(length: int) -> tuple[Assessed, np.ndarray]:
    """All lists of a length, and whether the document at each rank is relevant to a and to b: lists × 2 × ranks."""
    every = list(product(KINDS, repeat=length))
    lists = lists_of({f"{n:04}": list(kinds) for n, kinds in enumerate(every)}, {"a": 0.7, "b": 0.3}, length)
    relevant = np.array([[[intent in kind for kind in kinds] for intent in "ab"] for kinds in every], dtype=np.float64)
    return lists, relevant


def enumerated(name: str, length: int, p: np.ndarray) -> float:
    """The expected score: the score of every list times its probability."""
    lists, relevant = every_list(length)
    chance = np.prod(relevant * p + (1 - relevant) * (1 - p), axis=(1, 2))
    return float(chance @ parse(name).evaluate(lists))


@pytest.mark.parametrize("name", KNOWN)
def test_expected_scores_are_the_mean_over_all_lists(name: str) -> None:
    rng, length = np.random.default_rng(1), 4
    binary = _binary(every_list(length)[0], 1, length, by_intent=True)
    rows = IntentRows(binary, np.array([0]), length)
    expected = expected_over_intents(parse(name), rows)
    assert expected is not None
    for _ in range(3):
        p = rng.random((2, length))
        assert expected.of(p, rows.start, 0, 1)[0] == pytest.approx(enumerated(name, length, p), abs=1e-12)


@pytest.mark.parametrize("name", ["P+Q@3", "Ef-P@3", "D-Q@3", "U-IA", "nDCG-IA'@3"])
def test_other_measures_have_no_known_expectation(name: str) -> None:
    lists = every_list(3)[0]
    with pytest.raises(UsageError, match="expected values of independent documents are not known; give a diversity"):
        informativeness(lists, name)


@pytest.mark.parametrize(
    "name",
    ["alpha-nDCG@3", "NRBP", "ERR-IA@3", "nDCG-IA@3", "AP-IA", "P-IA@2", "D-nDCG@3", "D#-nDCG@4", "DIN-nDCG", "Q-IA"],
)
def test_the_most_random_list_agrees_with_scipys_optimiser(name: str) -> None:
    from scipy.optimize import minimize
    from scipy.special import xlogy

    length, kinds = 4, [("a",), (), ("a", "b"), ()]
    lists, relevant = every_list(length)
    row = list(product(KINDS, repeat=length)).index(tuple(kinds))
    value, found = float(parse(name).evaluate(lists)[row]), relevant[row].sum(axis=1)
    witness = minimize(
        lambda q: (xlogy(q, q) + xlogy(1 - q, 1 - q)).sum(),
        np.repeat(found / length, length),
        bounds=[(1e-9, 1 - 1e-9)] * (2 * length),
        constraints=[
            {"type": "eq", "fun": lambda q: enumerated(name, length, q.reshape(2, length)) - value},
            {"type": "eq", "fun": lambda q: q.reshape(2, length).sum(axis=1) - found},
        ],
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert witness.success
    rows = IntentRows(_binary(lists, 1, length, by_intent=True), np.array([row]), length)
    expected = expected_over_intents(parse(name), rows)
    assert expected is not None
    p, error = solve(expected, np.array([value]), found, rows.length, rows.start)
    assert error[0] < 1e-6
    assert p.sum(axis=1) == pytest.approx(found, abs=1e-6)
    assert p == pytest.approx(witness.x.reshape(2, length), abs=2e-4)


def test_errors_by_hand() -> None:
    # Two equal intents, two relevant documents each: a at ranks 1 and 3, b at 1 and 2 of 5.
    # P-IA@2 = (1/2 + 1) / 2 = 3/4 says that p = 3/4 at ranks 1 and 2 for both intents, and (2 − 3/2) / 3 = 1/6 below.
    # The first relevant document is expected at rank 1 1/3 (precision 3/4), the second at rank 5 (precision 2/5).
    lists = lists_of({"run": [("a", "b"), ("b",), ("a",), (), ()]}, {"a": 0.5, "b": 0.5}, 2)
    of_a = math.sqrt(((3 / 4 - 1) ** 2 + (2 / 5 - 2 / 3) ** 2) / 2)
    of_b = math.sqrt(((3 / 4 - 1) ** 2 + (2 / 5 - 1) ** 2) / 2)
    result = informativeness(lists, "P-IA@2", values=True)
    assert result.rms[0, 0] == pytest.approx((of_a + of_b) / 2, abs=2e-3)
    assert result.values is not None
    assert result.values[0, 0] == pytest.approx(0, abs=1e-6)
    # An intent counts by its probability; one that the list does not serve does not count.
    uneven = lists_of({"run": [("a", "b"), ("b",), ("a",), (), ()]}, {"a": 1.0, "b": 0.0}, 2)
    assert informativeness(uneven, "I-rec@5").mae.shape == (1, 1)
    unserved = lists_of({"run": [("a",), (), ()]}, {"a": 0.5, "b": 0.5}, 2)
    # P-IA@1 = 1/2 is the highest score with one document for a: it is at rank 1
    assert informativeness(unserved, "P-IA@1").rms[0, 0] == pytest.approx(0, abs=2e-3)


def test_scores_by_other_measures_by_hand() -> None:
    # I-rec@3 of a list of three says only which intents are served; p = 1/3 at each rank for a, nothing for b.
    # P-IA@1 is then inferred as 1/2 · 1/3, and is 1/2.
    lists = lists_of({"run": [("a",), (), ()]}, {"a": 0.5, "b": 0.5}, 2)
    result = informativeness(lists, ["P-IA@3", "P-IA@1"], values=True)
    assert result.values is not None
    assert result.values[0] == pytest.approx([0, 1 / 2 - 1 / 6], abs=1e-6)
    assert result.values[1] == pytest.approx([0, 0], abs=1e-6)
    assert result.value_table().rows[0][0] == "P-IA@3"


def test_an_intent_that_is_served_for_certain_is_served_at_the_first_rank() -> None:
    # Both intents are served in the top 2, so one rank of each has p = 1: the first.
    assert max_entropy("Success@2", 1.0, length=4, relevant=2) == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])
    lists = lists_of({"run": [("a", "b"), (), ("a",), ()]}, {"a": 0.5, "b": 0.5}, 2)
    rows = IntentRows(_binary(lists, 1, 4, by_intent=True), np.array([0]), 4)
    expected = expected_over_intents(parse("I-rec@2"), rows)
    assert expected is not None
    p, error = solve(expected, np.array([1.0]), np.array([2.0, 1.0]), rows.length, rows.start)
    assert p == pytest.approx(np.array([[1, 1 / 3, 1 / 3, 1 / 3], [1, 0, 0, 0]]), abs=1e-9)
    assert error[0] < 1e-12


def test_plain_measures_are_left_out_beside_diversity_measures() -> None:
    lists = lists_of({"run": [("a",), (), ("b",)]}, {"a": 0.5, "b": 0.5}, 2)
    result = informativeness(lists, ["AP", "alpha-nDCG@3", "D-Q@3"])
    assert result.measures == ("alpha-nDCG@3",)
    notes = " ".join(result.notes)
    assert "left out: AP; measures without intents; give them in a call without diversity measures" in notes
    assert "left out: D-Q@3; expected values of independent documents are not known" in notes


def test_diversity_measures_need_intents() -> None:
    with pytest.raises(UsageError, match="the judgments have no intents"):
        informativeness(Assessed.one([1, 0]), "alpha-nDCG@10")


def test_ranks_below_the_cutoff_share_one_probability() -> None:
    p = max_entropy("ERR@3", 0.4, length=200, relevant=5)
    assert p[3:] == pytest.approx([p[3]] * 197, abs=1e-12)
    assert p.sum() == pytest.approx(5, abs=1e-6)
