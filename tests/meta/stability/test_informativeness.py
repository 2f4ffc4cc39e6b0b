"""Informativeness: the maximum entropy list against scipy's optimiser, closed forms, and known directions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield.assessed.join import join
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.errors import UsageError
from cranfield.measures import parse
from cranfield.meta.stability.informativeness import informativeness, max_entropy
from tests.oracles.joined import side_by_side


def expected_ap(p: np.ndarray, relevant: int) -> float:
    """Aslam et al. 2005: 1/R Σ p_i/i (1 + Σ_{j<i} p_j), literally."""
    total = 0.0
    for i in range(1, len(p) + 1):
        total += p[i - 1] / i * (1 + sum(p[: i - 1]))
    return total / relevant


@pytest.mark.parametrize(
    "grades", [[1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0, 0, 0, 1, 0]]
)
def test_average_precision_agrees_with_scipys_optimiser(grades: list[int]) -> None:
    from scipy.optimize import minimize
    from scipy.special import xlogy

    n, retrieved = len(grades), sum(grades)
    relevant = retrieved + 1
    value = expected_ap(np.array(grades, dtype=float), relevant)
    p = max_entropy("AP", value, length=n, relevant=relevant, found=retrieved)
    witness = minimize(
        lambda q: (xlogy(q, q) + xlogy(1 - q, 1 - q)).sum(),
        np.full(n, retrieved / n),
        bounds=[(1e-9, 1 - 1e-9)] * n,
        constraints=[
            {"type": "eq", "fun": lambda q: expected_ap(q, relevant) - value},
            {"type": "eq", "fun": lambda q: q.sum() - retrieved},
        ],
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert witness.success
    assert p == pytest.approx(witness.x, abs=1e-4)
    assert expected_ap(p, relevant) == pytest.approx(value, abs=1e-5)
    assert p.sum() == pytest.approx(retrieved, abs=1e-5)


def test_precision_and_r_precision_in_closed_form() -> None:
    # what is known of the top k is spread evenly over it, and the rest over the rest
    p = max_entropy("P@5", 0.6, length=20, relevant=8, found=6)
    assert p == pytest.approx([3 / 5] * 5 + [3 / 15] * 15, abs=1e-6)
    p = max_entropy("Rprec", 0.25, length=20, relevant=8, found=6)
    assert p == pytest.approx([2 / 8] * 8 + [4 / 12] * 12, abs=1e-6)
    assert max_entropy("R", 6 / 8, length=20, relevant=8, found=6) == pytest.approx([6 / 20] * 20, abs=1e-6)


def test_a_weighted_sum_is_logistic_in_its_weights() -> None:
    p = max_entropy("DCG", 2.5, length=15, relevant=5)
    weights = 1 / np.log2(np.arange(2, 17))
    assert (weights * p).sum() == pytest.approx(2.5, abs=1e-5)
    slope = np.diff(np.log(p / (1 - p))) / np.diff(weights)
    assert slope == pytest.approx([slope[0]] * 14, rel=1e-3)


def test_a_perfect_list_is_inferred_exactly() -> None:
    p = max_entropy("AP", 1.0, length=20, relevant=5)
    assert p[:5].min() > 0.95
    assert p[5:].max() < 0.05


def test_errors_by_hand() -> None:
    # recall only says of (1 1 0 1 0 0 0 1) that half of its documents are relevant: precision 1/2 everywhere,
    # where it is 1, 1, 3/4, 1/2
    actual = informativeness(Assessed.one([1, 1, 0, 1, 0, 0, 0, 1]), "R")
    assert actual.rms[0, 0] == pytest.approx(math.sqrt((0.25 + 0.25 + 0.0625) / 4), abs=1e-5)
    assert actual.mae[0, 0] == pytest.approx((0.5 + 0.5 + 0.25) / 4, abs=1e-5)


def lists_of_falling_relevance(rows: int, length: int, seed: int) -> Assessed:
    """Relevant documents thin out as 1 / (1 + r/h), faster or slower, as in runs of real systems."""
    rng = np.random.default_rng(seed)
    row, rank, judged = [], [], []
    for number in range(rows):
        likely = rng.uniform(0.4, 0.95) / (1 + np.arange(length) / rng.uniform(5, 40))
        hit = np.flatnonzero(rng.random(length) < likely) + 1
        row += [number] * len(hit)
        rank += hit.tolist()
        judged += [number] * (len(hit) + int(rng.integers(0, 10)))
    return Assessed.grid(
        ["run"],
        [str(number) for number in range(rows)],
        retrieved=np.full(rows, length),
        missing=np.zeros(rows, dtype=bool),
        row=np.array(row),
        rank=np.array(rank),
        grade=np.ones(len(row)),
        judged=Judged.of(np.array(judged), np.ones(len(judged)), rows),
    )


def test_average_precision_is_more_informative_than_the_top_ten_or_recall() -> None:
    # Aslam et al. 2005: AP is more informative than R-precision, and that more than precision at a cutoff
    actual = informativeness(lists_of_falling_relevance(40, 150, 0), ["AP", "Rprec", "P@10", "R"])
    ap, rprec, top, recall = actual.rms.mean(axis=1)
    assert ap < rprec < recall
    assert ap < top < recall
    assert [row[0] for row in actual.table().rows] == ["AP", "Rprec", "P@10", "R"]
    assert len(actual.columns()["rms"]) == 4 * 40


def test_lists_of_different_lengths_are_independent() -> None:
    long = informativeness(Assessed.one([1, 0, 1, 0, 0, 0, 0, 1]), ["AP", "P@3"])
    both = informativeness(
        side_by_side([[1, 0, 1, 0, 0, 0, 0, 1], [0, 1, 1], [0, 0]], [1, 1, 1]).replace(runs=("a", "b", "c")),
        ["AP", "P@3"],
    )
    assert both.rms[:, 0] == pytest.approx(long.rms[:, 0], abs=1e-4)
    assert both.rms.shape == (2, 2)
    assert "1 list without a relevant document left out" in both.notes


def test_lists_are_cut_at_the_depth_and_made_binary() -> None:
    graded = informativeness(Assessed.one([2, 1, 0, 2, 2]), "P@2", depth=4, rel=2)
    binary = informativeness(Assessed.one([1, 0, 0, 1], missed=[1]), "P@2")
    assert graded.rms == pytest.approx(binary.rms)


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    informativeness(Assessed.one([1, 0, 1]), ["P@1", "R"], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2, 2)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="bpref: expected values of independent documents are not known"):
        informativeness(Assessed.one([1, 0]), "bpref")
    with pytest.raises(UsageError, match="no list has a relevant document"):
        informativeness(Assessed.one([0, 0], missed=[1]), "AP")
    with pytest.raises(UsageError, match="depth == 0"):
        informativeness(Assessed.one([1, 0]), "AP", depth=0)
    with pytest.raises(UsageError, match=r"has an expected AP of 0.99"):
        max_entropy("AP", 0.99, length=12, relevant=4, found=2)
    with pytest.raises(UsageError, match="found == 9"):
        max_entropy("AP", 0.5, length=12, relevant=4, found=9)


def test_measures_without_a_known_expectation_are_left_out_with_a_note() -> None:
    lists = Assessed.one([1, 0, 1])
    mixed = informativeness(lists, ["bpref", "AP", "infAP", "P@2"])
    assert mixed.measures == ("AP", "P@2")
    assert mixed.rms == pytest.approx(informativeness(lists, ["AP", "P@2"]).rms)
    assert "left out: bpref, infAP; expected values of independent documents are not known" in mixed.notes


@pytest.mark.parametrize("measure", ["AP", "nDCG", "RBP"])
def test_the_best_and_the_worst_score_are_inferred_exactly(measure: str) -> None:
    # Only one list has the highest score: all three relevant documents on top; only one the lowest: all at the end.
    parsed = parse(measure)
    for grades in ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]):
        lists = join(
            {"q": {f"d{i}": g for i, g in enumerate(grades) if g}}, {"r": {"q": {f"d{i}": -i for i in range(6)}}}
        )
        value = float(parsed.evaluate(lists)[0])
        assert max_entropy(measure, value, length=6, relevant=3) == pytest.approx(grades, abs=1e-9)
        assert informativeness(lists, measure).rms[0, 0] < 2e-3  # all but the slack


def test_ranks_of_equal_weight_share_the_remainder_of_an_extreme() -> None:
    # P@2 = 1 with three relevant documents in five: two are on top, the third is anywhere below.
    assert max_entropy("P@2", 1.0, length=5, relevant=3) == pytest.approx([1, 1, 1 / 3, 1 / 3, 1 / 3])
    assert max_entropy("P@2", 0.0, length=5, relevant=3) == pytest.approx([0, 0, 1, 1, 1])
