"""Rank correlation: published values, scipy, and Sakai's formulas over pairs."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy.stats import kendalltau, weightedtau
from scipy.stats import t as student

from cranfield.errors import UsageError
from cranfield.meta.agreement.coefficients import COEFFICIENTS
from cranfield.meta.agreement.correlation import correlate, rank_correlation
from cranfield.meta.agreement.gain_change import change_gains
from cranfield.meta.agreement.overlap import TIES, rbo
from cranfield.meta.complete_scores import levels_of
from cranfield.samples import sample
from cranfield.scores.scores import Scores

SAMPLE = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # of a topic that one run lacks

# The data and the values (to four digits) with which the R package ircor (Urbano & Marrero) tests itself
# (tests/testthat/helper_data.R, test_tau.R, test_tauAP.R).
IRCOR = [
    {
        "x": [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        "y": [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
        "x ties": [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1],
        "y ties": [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
    },
    {
        "x": [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
        "y": [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
        "x ties": [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
        "y ties": [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
    },
    {
        "x": [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        "y": [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
        "x ties": [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
        "y ties": [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
    },
]


@pytest.mark.parametrize(
    ("coefficient", "x", "y", "values"),
    [
        ("tau-a", "x", "y", (0.9111, 0.2889, -0.6889)),
        ("tau-a", "x", "y ties", (0.8889, 0.3333, -0.6222)),
        ("tau-b", "x ties", "y ties", (0.9398, 0.3765, -0.6510)),
        ("tau-ap", "x", "y", (0.8519, 0.2504, -0.6971)),
        ("tau-ap", "x", "y ties", (0.7454, 0.2692, -0.5558)),
        ("tau-ap-symmetric", "x", "y", (0.8333, 0.2880, -0.668)),
        ("tau-ap-b", "x", "y", (0.8333, 0.2880, -0.668)),
        ("tau-ap-b", "x ties", "y ties", (0.7321, 0.297, -0.7047)),
        ("tau-ap-b", "y ties", "x ties", (0.7321, 0.297, -0.7047)),
    ],
)
def test_published_values_of_ircor(coefficient: str, x: str, y: str, values: tuple[float, ...]) -> None:
    result = [rank_correlation(data[x], data[y], coefficient).value for data in IRCOR]
    assert result == pytest.approx(values, abs=6e-5)


@pytest.mark.parametrize("n", [3, 8, 40, 501, 700])
@pytest.mark.parametrize("levels", [2, 5, 10**6])
@pytest.mark.parametrize("coefficient", [*COEFFICIENTS])
def test_two_long_rankings_have_the_value_of_all_pairs_of_their_items(coefficient: str, levels: int, n: int) -> None:
    """The formulas over all pairs of items, which `correlate` uses, against those in n log n."""
    rng = np.random.default_rng(n + levels)
    x, y = rng.integers(0, levels, (2, n)).astype(float)
    y = np.where(rng.random(n) < 0.4, x, y)
    for ties in TIES if coefficient == "rbo" else "w":
        settings = {"p": 0.95, "ties": ties} if coefficient == "rbo" else {}
        expected = COEFFICIENTS[coefficient][1](np.stack([levels_of(x), levels_of(y)]), **settings)[0, 1]
        value = rank_correlation(x, y, coefficient, **settings).value
        assert value == pytest.approx(expected, abs=1e-10, nan_ok=True)


def test_long_rankings_need_memory_in_proportion_to_their_length() -> None:
    """20,000 items: all pairs of items take 400 million entries; a hundred numbers for each item are 16 MB."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    y = x + rng.normal(size=20_000)
    for coefficient in COEFFICIENTS:
        tracemalloc.start()
        value = rank_correlation(x, y, coefficient).value
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 16_000_000, coefficient
        if coefficient == "tau-b":
            assert value == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("levels", [2, 4, 12, 10**6])
def test_weighted_tau_agrees_with_scipy(levels: int) -> None:
    rng = np.random.default_rng(levels)
    for n in (3, 6, 15, 60):
        x, y = rng.integers(0, levels, (2, n)).astype(float)
        assert rank_correlation(x, y, "weighted-tau").value == pytest.approx(weightedtau(x, y).statistic, nan_ok=True)


def test_tau_b_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        x, y = rng.integers(0, 6, (2, 15)) / 10
        assert rank_correlation(x, y, "tau-b").value == pytest.approx(kendalltau(x, y).statistic)


def tau_ap_of_the_seed(gold: list[float], evaluated: list[float]) -> float:
    """Sakai 2014 (52), literally; no ties."""
    m = len(gold)
    ranked = sorted(range(m), key=lambda i: -evaluated[i])
    total = 0.0
    for r in range(2, m + 1):
        y = ranked[r - 1]
        correct = sum(gold[x] > gold[y] for x in ranked[: r - 1])
        total += correct / (r - 1)
    return 2 / (m - 1) * total - 1


def test_tau_ap_agrees_with_sakais_formula_and_averages_over_orders_of_ties() -> None:
    gold, evaluated = [5.0, 4.0, 3.0, 2.0, 1.0], [3.0, 3.0, 1.0, 3.0, 1.0]
    orders = []
    for way in itertools.permutations(range(5)):
        broken = [value + place / 100 for value, place in zip(evaluated, way, strict=True)]
        orders.append(tau_ap_of_the_seed(gold, broken))
        assert rank_correlation(gold, broken, "tau-ap").value == pytest.approx(orders[-1])
    assert rank_correlation(gold, evaluated, "tau-ap").value == pytest.approx(np.mean(orders))


def test_tau_ap_averages_over_orders_of_ties_in_the_gold_standard() -> None:
    gold, evaluated = [2.0, 2.0, 1.0, 1.0], [4.0, 1.0, 3.0, 2.0]
    orders = [
        tau_ap_of_the_seed([g + w / 100 for g, w in zip(gold, way, strict=True)], evaluated)
        for way in itertools.permutations(range(4))
    ]
    assert rank_correlation(gold, evaluated, "tau-ap").value == pytest.approx(np.mean(orders))


def test_a_swap_at_the_top_costs_more_in_tau_ap_and_the_same_in_tau() -> None:
    gold = [4, 3, 2, 1]
    top, bottom = [3, 4, 2, 1], [4, 3, 1, 2]
    assert rank_correlation(gold, top).value == rank_correlation(gold, bottom).value == pytest.approx(2 / 3)
    # Sakai 2014 (52): correct(2) is 0 of 1, then all: 2/3 (0 + 1 + 1) - 1; at the bottom 2/3 (1 + 1 + 2/3) - 1.
    assert rank_correlation(gold, top, "tau-ap").value == pytest.approx(1 / 3)
    assert rank_correlation(gold, bottom, "tau-ap").value == pytest.approx(7 / 9)


def test_without_ties_the_normal_test_is_sakais() -> None:
    # Sakai 2007 (9): Z_0 = |τ| / sqrt((4n + 10) / (9n(n − 1))). §4.1: with 30 runs τ is significant at α = 0.01 above
    # 0.34; (9) gives 2.576 sqrt(130 / 7830) = 0.332.
    result = rank_correlation(range(10), range(10))
    assert result.z == pytest.approx(1 / math.sqrt(50 / 810))
    rng = np.random.default_rng(2)
    for _ in range(200):
        result = rank_correlation(range(30), rng.permutation(30) + np.arange(30))
        assert (abs(result.value) > 0.332) == (result.p < 0.01)


def test_p_of_tau_uses_the_variance_with_ties() -> None:
    # The witness is scipy.stats.kendalltau(method="asymptotic"), which uses Kendall's variance with ties.
    x, y = [1, 1, 1, 2, 2, 2, 3, 3, 3, 1, 2, 3], [1, 2, 1, 2, 2, 3, 3, 2, 3, 1, 1, 3]
    assert rank_correlation(x, y).p == pytest.approx(0.0104, abs=5e-5)
    rng = np.random.default_rng(0)
    for highest in (2, 3, 6, 100):
        for n in (3, 12, 25):
            x, y = rng.integers(0, highest, (2, n))
            expected = kendalltau(x, y, method="asymptotic").pvalue
            for coefficient in ("tau-a", "tau-b"):
                assert rank_correlation(x, y, coefficient).p == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("n", range(3, 60))
def test_a_ranking_that_ties_all_systems_has_no_p(n: int) -> None:
    result = rank_correlation([1.0] * n, [0] * (n - 2) + [1, 1])
    assert math.isnan(result.value)
    assert math.isnan(result.p)


def test_p_of_the_matrix_agrees_with_scipy_for_tied_means() -> None:
    rng = np.random.default_rng(4)
    scores = Scores("abc", map(str, range(20)), "1", rng.integers(0, 4, (3, 20, 1)) / 4)
    result = correlate(scores, coefficients=["tau-a", "tau-b", "rbo"], resamples=0)
    for i, j in itertools.combinations(range(3), 2):
        expected = kendalltau(scores.values[i, :, 0], scores.values[j, :, 0], method="asymptotic").pvalue
        assert result.p[:2, i, j] == pytest.approx([expected, expected])
        assert math.isnan(result.p[2, i, j])


def test_type_i_error_of_tau_on_three_levels_is_near_alpha() -> None:
    # Independent rankings of 30 systems on three levels: p is below 0.05 in about 5% of 2,000 trials
    # (standard error 0.0049). With the variance without ties it was in 12.6%.
    rng = np.random.default_rng(11)
    p = [rank_correlation(*rng.integers(0, 3, (2, 30))).p for _ in range(2_000)]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.015)


def made(measures: int = 3, runs: int = 8, topics: int = 12, seed: int = 1) -> Scores:
    rng = np.random.default_rng(seed)
    values = (rng.random((1, runs, 1)) + rng.normal(0, 0.3, (measures, runs, topics))).round(2)
    return Scores([f"m{i}" for i in range(measures)], [f"r{i}" for i in range(runs)], map(str, range(topics)), values)


@pytest.mark.parametrize("coefficient", list(COEFFICIENTS))
def test_the_matrix_agrees_with_single_pairs(coefficient: str) -> None:
    scores = made()
    result = correlate(scores, coefficients=coefficient, resamples=0)
    means = scores.means()
    for i, j in itertools.permutations(range(3), 2):
        expected = rank_correlation(means[i], means[j], coefficient).value
        assert result.values[0, i, j] == pytest.approx(expected)


@pytest.mark.parametrize("ties", ["w", "a", "b"])
def test_rbo_of_measures_is_rbo_of_their_rankings(ties: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 5, (2, 9)).astype(float)
    expected = rbo(dict(enumerate(x)), dict(enumerate(y)), 0.8, ties=ties).extrapolated
    assert rank_correlation(x, y, "rbo", p=0.8, ties=ties).value == pytest.approx(expected)


@pytest.mark.parametrize("coefficient", list(COEFFICIENTS))
def test_intervals_are_those_of_resampled_topics_one_by_one(coefficient: str) -> None:
    scores = made(measures=2, topics=6)
    result = correlate(scores, coefficients=coefficient, resamples=40, seed=5, level=0.9)
    times = np.random.default_rng(5).multinomial(6, np.full(6, 1 / 6), size=40)
    drawn = []
    for row in times:
        topics = np.repeat(np.arange(6), row)
        x, y = scores.values[:, :, topics].mean(axis=2)
        drawn.append(rank_correlation(x, y, coefficient).value)
    value, margin = result.values[0, 0, 1], student.ppf(0.95, 5) * np.std(drawn) * np.sqrt(6 / 5)
    assert result.low[0, 0, 1] == pytest.approx(max(value - margin, 0 if coefficient == "rbo" else -1), abs=1e-5)
    assert result.high[0, 0, 1] == pytest.approx(min(value + margin, 1), abs=1e-5)


def test_without_variation_there_is_no_interval_rather_than_one_of_no_width() -> None:
    values = np.stack([np.arange(4.0)[:, None] + np.zeros((4, 6)), 2 * np.arange(4.0)[:, None] + np.zeros((4, 6))])
    result = correlate(Scores("ab", "wxyz", "123456", values), resamples=20)
    assert result.values[0, 0, 1] == 1
    assert np.isnan([result.low[0, 0, 1], result.high[0, 0, 1]]).all()
    assert "no interval where every resample has the same correlation" in result.notes


def test_the_estimate_is_in_its_interval_and_the_seed_decides() -> None:
    scores = made(measures=5, runs=20)
    result = [correlate(scores, coefficients=list(COEFFICIENTS), resamples=60, seed=s) for s in (1, 1, 2)]
    off = ~np.eye(5, dtype=bool)
    assert (result[0].low[:, off] <= result[0].values[:, off]).all()
    assert (result[0].high[:, off] >= result[0].values[:, off]).all()
    assert np.array_equal(result[0].low, result[1].low, equal_nan=True)
    assert not np.array_equal(result[0].low, result[2].low, equal_nan=True)


def test_more_noise_correlates_less() -> None:
    rng = np.random.default_rng(0)
    true = rng.random((40, 1))
    values = np.stack([true + rng.normal(0, spread, (40, 30)) for spread in (0.0, 0.5, 3.0)])
    result = correlate(Scores("abc", map(str, range(40)), map(str, range(30)), values), resamples=0)
    assert result.values[0, 0, 1] > result.values[0, 0, 2]


def test_means_that_differ_by_rounding_are_ties() -> None:
    # The means of 0.1 + 0.2 and of 0.3 over two topics differ only by rounding.
    values = [[[0.1, 0.2], [0.3, 0.0], [0.9, 0.9]], [[0.5, 0.5], [0.4, 0.4], [0.9, 0.9]]]
    result = correlate(Scores("ab", "xyz", "12", values), coefficients="tau-a", resamples=0)
    assert result.values[0, 0, 1] == pytest.approx(2 / 3)  # two pairs of three agree, one is tied


def test_measures_for_which_lower_is_better_are_negated() -> None:
    values = np.array([[[0.1], [0.2], [0.3]], [[0.3], [0.2], [0.1]]])
    result = correlate(Scores(["AP", "E"], "abc", "1", values), resamples=0)
    assert result.values[0, 0, 1] == 1
    assert any("lower is better: E" in note for note in result.notes)


def test_all_ties_have_no_tau_b_and_are_named() -> None:
    values = [[[0.5], [0.5], [0.5]], [[0.3], [0.2], [0.1]]]
    result = correlate(Scores(["flat", "AP"], "abc", "1", values), resamples=0)
    assert math.isnan(result.values[0, 0, 1])
    assert any("all systems tie by flat" in note for note in result.notes)
    assert "-" in str(result)


def test_undefined_topics_are_left_out_and_counted() -> None:
    scores = made(topics=5)
    values = scores.values.copy()
    values[1, 2, 4] = np.nan
    holed = Scores(scores.measures, scores.runs, scores.topics, values)
    result = correlate(holed, resamples=0)
    assert result.topics == 4
    expected = correlate(scores.select(topics=list("0123")), resamples=0)
    assert result.values == pytest.approx(expected.values, rel=1e-12)
    assert any("1 of 5 topics left out" in note for note in result.notes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: correlate(made(runs=2)), "2 systems, must be 3 or more"),
        (lambda: correlate(made(measures=1)), "1 measure, must be 2 or more"),
        (lambda: correlate(made(), coefficients="tau"), "no coefficient 'tau'"),
        (lambda: correlate(made(), coefficients=[]), "no coefficient"),
        (lambda: correlate(made(), coefficients="rbo", p=1), "p == 1"),
        (lambda: correlate(made(), resamples=-1), "resamples == -1"),
        (lambda: correlate(made(), level=2), "level == 2"),
        (lambda: correlate(made(), "m9"), "no measure 'm9'"),
        (lambda: rank_correlation([1, 2], [1, 2]), "2 systems"),
        (lambda: rank_correlation([1, 2, 3], [1, 2]), "ranks 3 systems and y 2"),
        (lambda: rank_correlation({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "d": 3}), "one ranking only"),
        (lambda: rank_correlation([1, 2, math.nan], [1, 2, 3]), "no score"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        call()  # type: ignore[operator]


def test_a_measure_without_any_value_for_a_run_is_named() -> None:
    scores = made()
    values = scores.values.copy()
    values[1, 2] = np.nan
    with pytest.raises(UsageError, match="m1 has no value for run 'r2'"):
        correlate(Scores(scores.measures, scores.runs, scores.topics, values))


def test_tables_as_in_sakais_papers() -> None:
    scores = made()
    result = correlate(scores, coefficients=["tau-a", "tau-ap-symmetric"], resamples=10)
    table = result.table()  # Sakai 2013 Table 5
    assert [column.header for column in table.columns] == ["", "m1", "m2"]
    assert table.rows[0][1] == f"{result.values[0, 0, 1]:.4f}/{result.values[1, 0, 1]:.4f}"
    assert table.rows[1][1] == "-"
    single = result.table("tau-a")  # Sakai 2007 Table 2
    assert single.rows[0][2] == pytest.approx(result.values[0, 0, 2])
    assert len(result.pairs().rows) == 3
    columns = result.columns()
    assert len(columns["value"]) == 6
    assert result.estimate("m0", "m2").value == columns["value"][1]


def test_a_coefficient_with_a_gold_standard_has_both_directions() -> None:
    result = correlate(made(), coefficients="tau-ap", resamples=0)
    assert len(result.columns()["value"]) == 6
    assert len(result.table().rows) == 3


@SAMPLE
def test_changed_gains_are_the_correlation_of_the_two_measures() -> None:
    from cranfield.evaluation.evaluator import evaluate

    given = sample()
    result = change_gains(given.qrels, list(given.runs), ["nDCG", "Q"], gains=["3:2:1", "10:5:1"], resamples=0)
    assert result.values[:, 0] == pytest.approx([1, 1])  # the grades themselves are linear gains
    both = evaluate(given.qrels, list(given.runs), ["nDCG", "nDCG(gain={1:1,2:5,3:10})"])
    assert result.values[0, 1] == pytest.approx(correlate(both, resamples=0).values[0, 0, 1])
    assert result.columns()["gains"].tolist() == ["3:2:1", "10:5:1"] * 2


@SAMPLE
@pytest.mark.parametrize(
    ("measure", "gains", "message"),
    [
        ("AP", ["3:2:1"], "AP has no gains"),
        ("Q", ["2:1"], "2 numbers, there are 3 grades"),
        ("Q", ["a:b:c"], "numbers"),
    ],
)
def test_bad_gains_are_refused(measure: str, gains: list[str], message: str) -> None:
    given = sample()
    with pytest.raises(UsageError, match=message):
        change_gains(given.qrels, list(given.runs), [measure], gains=gains)
