"""Discriminative power side by side: Kendall's W against scipy and by hand, pairs against those of single tests."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from cranfield.errors import UsageError
from cranfield.meta.stability.discrimination import discriminative_power
from cranfield.meta.stability.power_side_by_side import kendalls_w, power_by_test, power_side_by_side, w_p_value
from cranfield.scores.scores import Scores
from tests.meta.simulated import ONE_HIGHLY_RELEVANT, systems_of_known_order

close = pytest.approx
# Sakai 2007 Table 4: significant pairs of 435 by Q, AP, P, P+, O, NWRR and RR on four collections.
TABLE_4 = np.array(
    [
        [242, 240, 170, 167, 165, 136, 126],  # NTCIR-3 Chinese
        [305, 296, 271, 272, 255, 247, 246],  # NTCIR-3 Japanese
        [174, 159, 123, 134, 125, 114, 94],  # NTCIR-5 Chinese
        [136, 113, 73, 77, 63, 63, 54],  # NTCIR-5 Japanese
    ],
    dtype=float,
)


def made(seed: int = 0, runs: int = 5) -> Scores:
    return systems_of_known_order(seed, ONE_HIGHLY_RELEVANT, systems=runs)


def test_the_four_collections_of_the_paper_order_the_measures_alike() -> None:
    w = kendalls_w(TABLE_4)
    chi = friedmanchisquare(*TABLE_4.T).statistic
    assert w == close(chi / (4 * 6), rel=1e-12)  # W = χ² / (m (n − 1))
    # R_i: 28, 24, 5+4+3+4, 4+5+5+5, 3+3+4+2.5, 2+2+2+2.5, 4 about 16; most: m²(n³ − n) − m·(2³ − 2)
    sums = [28, 24, 16, 19, Fraction(25, 2), Fraction(17, 2), 4]
    assert w == close(float(12 * sum((total - 16) ** 2 for total in sums) / (16 * 336 - 4 * 6)), rel=1e-12)
    p, draws = w_p_value(TABLE_4)
    assert draws > 0
    assert p < 0.001


def test_a_small_p_value_counts_all_orders() -> None:
    values = np.array([[1.0, 2, 3], [1, 3, 2], [1, 2, 3]])

    def w_of(rows: list[tuple[float, ...]]) -> float:
        return kendalls_w(np.array(rows, dtype=float))

    orders = list(itertools.permutations((1.0, 2.0, 3.0)))
    all_orders = [w_of(list(rows)) for rows in itertools.product(orders, repeat=3)]  # brute force, 216 of them
    p, draws = w_p_value(values)
    assert draws == 0
    assert p == close(np.mean([w >= kendalls_w(values) - 1e-9 for w in all_orders]))


def test_parts_are_those_of_single_tests_and_their_pairs_are_counted() -> None:
    scores = made(2)
    result = power_by_test(scores, tests=["bootstrap", "tukey"], resamples=[50, 200])
    assert result.conditions == ("bootstrap, B = 50", "bootstrap, B = 200", "tukey")
    single = [
        discriminative_power(scores, test="bootstrap", resamples=50),
        discriminative_power(scores, test="bootstrap", resamples=200),
        discriminative_power(scores, test="tukey"),
    ]
    assert np.array_equal(result.share, [each.share for each in single])
    rows = result.agreement_data().rows
    assert len(rows) == len(scores.measures) * 3
    for measure, name, other, only, both, only_other, neither in rows:
        i = scores.measures.index(str(measure))
        a = {k for k in range(10) if single[result.conditions.index(str(name))].differ[i, k]}
        b = {k for k in range(10) if single[result.conditions.index(str(other))].differ[i, k]}
        assert (only, both, only_other, neither) == (len(a - b), len(a & b), len(b - a), 10 - len(a | b))
    assert len(result.pair_table().rows) == len(scores.measures) * 10
    assert np.isnan(result.p)  # the same topics: W describes, and tests nothing


def test_collections_get_a_p_value_and_a_line_each() -> None:
    parts = {f"c{i}": discriminative_power(made(i, 12), test="t") for i in range(3)}
    result = power_side_by_side(parts, "collection")
    assert 0 <= result.concordance <= 1
    assert 0 < result.p <= 1
    figure = result.plot()
    assert sorted(set(figure.columns()["collection"].tolist())) == ["c0", "c1", "c2"]
    assert figure.x.kind == "category"
    assert result.to_dict()["concordance"] == result.concordance
    best = [row["measure"] for row in result.to_dict()["rows"] if row["collection"] == "c0"]
    assert best == [result.measures[i] for i in np.argsort(-result.share.mean(axis=0), kind="stable")]


def test_curves_of_several_tests_are_in_one_figure() -> None:
    result = power_by_test(made().select(measures=["AP"]), tests=["t", "bootstrap"], resamples=[50, 100])
    assert set(result.plot().columns()["measure"].tolist()) == {"t", "bootstrap, B = 50", "bootstrap, B = 100"}
    assert np.isnan(result.concordance)  # one measure has no order
    assert "Kendall" not in result.table().text()


def test_wrong_calls_say_what_to_do() -> None:
    with pytest.raises(UsageError, match="give several of either"):
        power_by_test(made(), tests=["t"])
    with pytest.raises(UsageError, match="must be a list of tests"):
        power_by_test(made(), tests="t")
    one = discriminative_power(made(), test="t")
    with pytest.raises(UsageError, match="must be 2 or more"):
        power_side_by_side({"a": one}, "collection")
    other = discriminative_power(made().select(measures=["AP"]), test="t")
    with pytest.raises(UsageError, match="collection 'b' has AP, but others have"):
        power_side_by_side({"a": one, "b": other}, "collection")
    fewer = discriminative_power(made(0, 4), test="t")
    with pytest.raises(UsageError, match="the systems differ between collections"):
        power_side_by_side({"a": one, "b": fewer}, "collection").agreement_data()
