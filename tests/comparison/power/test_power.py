"""Power and the size of experiments: other tools, published values, simulation, and properties of all designs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower, TTestIndPower, TTestPower

from cranfield.comparison.methods.t import unpaired_t
from cranfield.comparison.power.designs import DESIGNS, Experiment, Variance, estimated_variance
from cranfield.comparison.power.topic_set_size import achieved_power, detectable_difference, topic_set_size
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores

TESTS = [name for name, design in DESIGNS.items() if design.tests]
SIZES = (2, 5, 20, 73, 500)
EFFECTS = (0.1, 0.5, 1.0)


def matrix(topics: int = 30, systems: int = 5, seed: int = 0) -> np.ndarray[Any, Any]:
    """Topics × systems; topics differ in difficulty."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.4, 0.2, (topics, 1)) + rng.normal(0, 0.1, (topics, systems))


# -- other tools and published values


@pytest.mark.parametrize(("alternative", "theirs"), [("two-sided", "two-sided"), ("greater", "larger")])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_paired_t_agrees_with_statsmodels(alternative: str, theirs: str, alpha: float) -> None:
    mine = Experiment(DESIGNS.find("t"), 4.0, alpha, alternative=alternative)
    for n in SIZES:
        for d in EFFECTS:
            expected = TTestPower().power(d, n, alpha, alternative=theirs)
            if math.isnan(expected):  # statsmodels: the far tail is too small for it
                assert mine.power(n, 2 * d) > 0.999999
            else:
                assert mine.power(n, 2 * d) == pytest.approx(expected, abs=1e-9)


def test_unpaired_t_agrees_with_statsmodels() -> None:
    mine = Experiment(DESIGNS.find("unpaired"), 4.0, 0.05)
    for n in SIZES:
        for d in EFFECTS:
            assert mine.power(n, 2 * d) == pytest.approx(TTestIndPower().power(d, n, 0.05), abs=1e-9)


@pytest.mark.parametrize("systems", [2, 4, 20])
def test_anova_agrees_with_statsmodels(systems: int) -> None:
    mine = Experiment(DESIGNS.find("anova"), 4.0, 0.05, systems)
    for n in SIZES:
        for d in EFFECTS:
            # Best and worst 2d apart, all others half-way: Σ a² = 2 d², and Cohen's f² is that over m σ².
            f = math.sqrt(2 * d**2 / (systems * 4.0))
            assert mine.power(n, 2 * d) == pytest.approx(
                FTestAnovaPower().power(f, n * systems, 0.05, systems), abs=1e-9
            )


def test_values_that_r_prints() -> None:
    """The examples in R's help pages of power.t.test and power.anova.test, and pwr.t.test(d=0.5, power=0.8, paired)."""
    two = Experiment(DESIGNS.find("unpaired"), 1.0, 0.05)
    assert two.power(20, 1.0) == pytest.approx(0.8689528, abs=1e-6)  # R leaves out the far tail
    assert topic_set_size(difference=1, power=0.9, variance=1.0, test="unpaired").topics == 23  # n = 22.02110
    one_sided = topic_set_size(difference=1, power=0.9, variance=1.0, test="unpaired", alternative="greater")
    assert one_sided.topics == 18  # n = 17.84713
    # between.var = 1 for 4 groups is Σ a² = 3, which best and worst √6 apart have; within.var = 3.
    apart = math.sqrt(6)
    assert achieved_power(difference=apart, size=5, variance=3.0, systems=4, test="anova").power == pytest.approx(
        0.3535594, abs=1e-6
    )
    assert topic_set_size(difference=apart, variance=3.0, systems=4, test="anova").topics == 12  # n = 11.92613
    assert topic_set_size(difference=0.5, variance=1.0).topics == 34  # n = 33.36713


@pytest.mark.parametrize("beta", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("effect", [0.2, 0.5, 1.0])
def test_within_a_topic_of_nagatas_approximation(beta: float, effect: float) -> None:
    """n ≈ ((z_{α/2} + z_β) / Δ)² + z_{α/2}² / 2, from which Sakai's paired design starts its search."""
    z = stats.norm.isf([0.025, beta])
    about = ((z[0] + z[1]) / effect) ** 2 + z[0] ** 2 / 2
    assert abs(topic_set_size(difference=effect, variance=1.0, power=1 - beta).topics - math.ceil(about)) <= 1


def test_tukeys_critical_value_agrees_with_scipy() -> None:
    df, q = 9 * 19, stats.studentized_range.ppf(0.95, 10, 9 * 19)
    mine = Experiment(DESIGNS.find("tukey"), 0.02, 0.05, 10)
    expected = stats.ncf.sf(q**2 / 2, 1, df, 20 * 0.1**2 / (2 * 0.02))
    assert mine.power(20, 0.1) == pytest.approx(expected, abs=1e-6)


# -- properties of all designs


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("difference", "power", "alpha"), [(0.3, 0.5, 0.05), (0.2, 0.9, 0.01), (2.0, 0.8, 0.05)])
def test_the_number_of_topics_is_the_smallest(test: str, difference: float, power: float, alpha: float) -> None:
    systems = 6 if DESIGNS.find(test).all_systems else None
    answer = topic_set_size(difference=difference, power=power, alpha=alpha, variance=0.1, test=test, systems=systems)
    experiment = answer.experiment
    assert experiment.power(answer.topics, difference) >= power
    assert answer.topics == 2 or experiment.power(answer.topics - 1, difference) < power
    assert answer.power_had == pytest.approx(experiment.power(answer.topics, difference), rel=1e-12)


@pytest.mark.parametrize("test", ["interval", "unpaired-interval"])
def test_the_interval_is_too_wide_with_one_topic_less(test: str) -> None:
    answer = topic_set_size(width=0.1, variance=0.05, test=test)
    assert answer.experiment.width(answer.topics) <= 0.1 < answer.experiment.width(answer.topics - 1)
    assert detectable_difference(size=answer.topics, variance=0.05, test=test).width <= 0.1


def test_the_interval_by_the_formula() -> None:
    def width(n: int) -> float:
        shrinks = math.sqrt(2 / (n - 1)) * math.gamma(n / 2) / math.gamma((n - 1) / 2)
        return 2 * float(stats.t.isf(0.025, n - 1)) * math.sqrt(0.05 / n) * shrinks

    assert topic_set_size(width=0.1, variance=0.05).topics == next(n for n in range(2, 200) if width(n) <= 0.1)


@pytest.mark.parametrize("test", TESTS)
def test_difference_topics_and_power_are_one_relation(test: str) -> None:
    systems = 6 if DESIGNS.find(test).all_systems else None
    common: dict[str, Any] = {"variance": 0.05, "test": test, "systems": systems}
    for n in (2, 3, 17, 250):
        result = detectable_difference(size=n, **common).difference
        assert achieved_power(difference=result, size=n, **common).power == pytest.approx(0.8, abs=1e-9)
        assert topic_set_size(difference=result * (1 + 1e-9), **common).topics == n


def test_similar_designs_agree_for_two_systems() -> None:
    """Sakai's designs for two samples and for an ANOVA of two systems differ by approximation; exactly they agree."""
    for n in SIZES:
        power = {
            test: float(Experiment(DESIGNS.find(test), 0.04, 0.05).power(n, 0.1))
            for test in ("unpaired", "anova", "two-way", "tukey")
        }
        power["t"] = float(Experiment(DESIGNS.find("t"), 2 * 0.04, 0.05).power(n, 0.1))
        assert power["anova"] == pytest.approx(power["unpaired"], abs=1e-12)
        assert power["two-way"] == pytest.approx(power["t"], abs=1e-12)
        assert power["tukey"] == pytest.approx(power["t"], abs=1e-7)
        assert power["unpaired"] >= power["t"]  # more degrees of freedom, for the same variance of the difference


def test_a_paired_test_needs_no_more_topics_than_an_unpaired_one() -> None:
    scores = matrix()
    assert (
        topic_set_size(scores, difference=0.05).topics < topic_set_size(scores, difference=0.05, test="unpaired").topics
    )


@pytest.mark.parametrize("test", TESTS)
def test_power_without_a_difference_is_the_level(test: str) -> None:
    systems = 2 if test == "tukey" else 6  # for a pair among many systems, Tukey's test rejects less often
    assert Experiment(DESIGNS.find(test), 0.04, 0.05, systems).power(30, 0.0) == pytest.approx(0.05, abs=1e-7)


def test_a_difference_too_large_for_floating_point_is_found() -> None:
    for alternative in ("two-sided", "greater"):
        experiment = Experiment(DESIGNS.find("t"), 1e-6, 0.001, alternative=alternative)
        for difference in (100.0, 1e300):
            assert experiment.power(np.array([5, 50, 5000]), difference).tolist() == [1.0, 1.0, 1.0]


def test_the_search_reaches_its_upper_limit() -> None:
    experiment = Experiment(DESIGNS.find("t"), 1.0, 0.05)
    assert experiment.fewest_topics(lambda n: n >= 999_999_999) == 999_999_999
    assert experiment.fewest_topics(lambda n: True) == 2


# -- simulation: experiments with the advised number of topics have the power


def rejections(p: np.ndarray[Any, Any], promised: float) -> None:
    """The share of p ≤ 0.05 is the power, within four standard errors."""
    share = float((p <= 0.05).mean())
    assert abs(share - promised) < 4 * math.sqrt(promised * (1 - promised) / len(p)), (share, promised)


def test_paired_t_with_the_advised_topics_has_the_power() -> None:
    answer = topic_set_size(difference=0.1, variance=0.04)
    rng = np.random.default_rng(1)
    d = rng.normal(0.1, 0.2, (20_000, answer.topics))
    rejections(stats.ttest_1samp(d, 0, axis=1).pvalue, answer.power_had)


def test_unpaired_t_with_the_advised_topics_has_the_power() -> None:
    answer = topic_set_size(difference=0.1, variance=0.02, test="unpaired")
    rng = np.random.default_rng(2)
    x, y = (rng.normal(mean, math.sqrt(0.02), (20_000, answer.topics)) for mean in (0.5, 0.4))
    rejections(stats.ttest_ind(x, y, axis=1).pvalue, answer.power_had)


def simulated_systems(answer: Any, simulations: int, topic_effect: float) -> np.ndarray[Any, Any]:
    """simulations × topics × systems; the first is best, the last is worst, the others half-way."""
    rng = np.random.default_rng(3)
    experiment = answer.experiment
    scores = rng.normal(0, math.sqrt(experiment.variance), (simulations, answer.topics, experiment.systems))
    scores += rng.normal(0, topic_effect, (simulations, answer.topics, 1))
    scores[:, :, 0] += answer.difference / 2
    scores[:, :, -1] -= answer.difference / 2
    return scores


def test_one_way_anova_with_the_advised_topics_has_the_power() -> None:
    answer = topic_set_size(difference=0.2, variance=0.04, systems=5, test="anova")
    scores = simulated_systems(answer, 5_000, 0.0)
    rejections(stats.f_oneway(*np.moveaxis(scores, 2, 0), axis=1).pvalue, answer.power_had)


@pytest.mark.parametrize("test", ["two-way", "tukey"])
def test_two_way_analyses_with_the_advised_topics_have_the_power(test: str) -> None:
    answer = topic_set_size(difference=0.2, variance=0.04, systems=5, test=test)
    scores = simulated_systems(answer, 5_000, 0.3)
    n, m = scores.shape[1:]
    means = scores.mean(axis=1)
    left = scores - means[:, None, :] - scores.mean(axis=2, keepdims=True) + scores.mean(axis=(1, 2), keepdims=True)
    error = (left**2).sum(axis=(1, 2)) / ((m - 1) * (n - 1))
    if test == "two-way":
        p = stats.f.sf(n * means.var(axis=1, ddof=1) / error, m - 1, (m - 1) * (n - 1))
    else:
        q = stats.studentized_range.ppf(0.95, m, (m - 1) * (n - 1))
        p = np.where((means[:, 0] - means[:, -1]) / np.sqrt(error / n) > q, 0.0, 1.0)
    rejections(p, answer.power_had)


@pytest.mark.parametrize("n", [4, 40])
def test_the_expected_width_is_the_mean_width(n: int) -> None:
    d = np.random.default_rng(4).normal(0, 0.2, (40_000, n))
    mean = float((2 * stats.t.isf(0.025, n - 1) * d.std(axis=1, ddof=1) / math.sqrt(n)).mean())
    assert Experiment(DESIGNS.find("interval"), 0.04, 0.05).width(n) == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize("n", [2, 10])
def test_the_expected_width_for_two_samples_is_the_mean_width(n: int) -> None:
    x, y = np.random.default_rng(5).normal(0, 0.2, (2, 40_000, n))
    spread = np.sqrt((x.var(axis=1, ddof=1) + y.var(axis=1, ddof=1)) / 2)
    mean = float((2 * stats.t.isf(0.025, 2 * n - 2) * spread * math.sqrt(2 / n)).mean())
    assert Experiment(DESIGNS.find("unpaired-interval"), 0.04, 0.05).width(n) == pytest.approx(mean, rel=0.01)


def test_the_width_is_smooth_where_the_approximation_begins() -> None:
    experiment = Experiment(DESIGNS.find("interval"), 1.0, 0.05)
    before, after = (float(experiment.width(n)) * math.sqrt(n) for n in (100_000, 100_002))
    assert before == pytest.approx(after, rel=1e-9)


# -- answers


def test_the_answer_is_a_sentence() -> None:
    scores = Scores.from_matrix(matrix(), measure="nDCG@10")
    answer = topic_set_size(scores, difference=0.05)
    variance = 2 * estimated_variance(scores).value
    assert str(answer) == (
        f"{answer.topics} topics are needed to find a difference of 0.05 in nDCG@10 with power 0.80 at α = 0.05 "
        f"(paired t test, variance of differences {variance:.4g}, estimated from 5 systems on 30 topics)"
    )
    assert str(achieved_power(scores, difference=0.05)).startswith("With 30 topics, a difference of 0.05 in nDCG@10 is")
    assert "with power 0.9999 at" in str(topic_set_size(difference=0.05, variance=0.0225, power=0.9999))
    assert "is found with power above 0.999 at" in str(achieved_power(difference=1, variance=0.0225, size=20))
    assert str(topic_set_size(width=0.1, variance=0.05)).startswith("79 topics are needed for a 95% interval")


def test_the_curve_holds_the_answer() -> None:
    answer = topic_set_size(difference=0.05, variance=0.0225, measure="AP")
    curve = answer.curve()
    at = curve.topics.tolist().index(73)
    assert curve.power[at] == pytest.approx(answer.power_had, rel=1e-12)
    assert (np.diff(curve.power) > 0).all()
    assert (np.diff(curve.difference) < 0).all()
    assert curve.difference[at] <= 0.05 < curve.difference[at - 1]
    frame = answer.curve(topics=[100, 10]).to_pandas()
    assert frame["topics"].tolist() == [10, 100]
    assert list(frame) == ["measure", "topics", "power", "difference"]
    assert list(topic_set_size(width=0.1, variance=0.05).curve().columns()) == ["measure", "topics", "width"]
    assert list(achieved_power(difference=0.1, size=9, variance=1.0).curve().columns()) == [
        "measure",
        "topics",
        "power",
    ]


def test_the_curve_is_drawn() -> None:
    lines = topic_set_size(difference=0.05, variance=0.0225).table(bars=True).text().splitlines()[1:]
    answer = next(line for line in lines if line.lstrip().startswith("73 "))
    assert answer.endswith(" <")
    assert answer.count("█") == 24  # 30 blocks are a power of 1


def test_answers_have_every_output_format() -> None:
    answer = topic_set_size(difference=0.05, variance=0.0225)
    fields = json.loads(answer.to_json())
    assert (fields["topics"], fields["width"], fields["variance_of"]) == (73, None, "differences")
    assert fields["curve"]["topics"][0] >= 2
    assert answer.to_pandas()["topics"].tolist() == [73]
    assert "73 topics are needed" in answer._repr_html_()
    assert r"\caption{73 topics are needed" in answer.to_latex()
    assert json.loads(topic_set_size(width=0.1, variance=0.05).to_json())["power_had"] is None


# -- two collections


def test_two_collections_are_compared_on_standardised_scores() -> None:
    """Raw scores depend on the difficulty of topics, standardised ones only on systems."""
    rng = np.random.default_rng(6)
    quality = np.array([0.0, 0.2, 0.4, 0.6, 2.0])

    def collection(topics: int, hardness: float) -> Scores:
        return Scores.from_matrix(
            hardness + 0.05 * quality + rng.normal(0, 0.05, (topics, 1)) + rng.normal(0, 0.05, (topics, 5)),
            runs=["a", "b", "c", "d", "new"],
        )

    easy, hard = collection(60, 0.6), collection(40, 0.2)

    def p(x: Scores, y: Scores, run: str, other: str) -> float:
        return unpaired_t(x.select(runs=run).values[0, 0], y.select(runs=other).values[0, 0]).p

    assert p(easy, hard, "a", "a") < 1e-6  # the same system
    for method in ("z", "linear", "empirical"):
        standard = [scores.standardised(method) for scores in (easy, hard)]
        assert p(*standard, "a", "a") > 0.05
        assert p(*standard, "a", "new") < 1e-6
    z = easy.standardised("z")
    assert topic_set_size(z, difference=0.5, test="unpaired").ground.topics == (60,)


# -- bad input


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"difference": 0.05, "variance": 0.1, "alpha": 0}, "alpha == 0, must be above 0 and below 1"),
        ({"difference": 0.05, "variance": 0.1, "power": 1}, "power == 1, must be above 0 and below 1"),
        ({"difference": 0.05, "variance": 0.1, "power": 0.05}, "must be above alpha"),
        ({"difference": 0, "variance": 0.1}, "difference == 0, must be above 0"),
        ({"difference": "big", "variance": 0.1}, "difference == 'big', must be a number"),
        ({"difference": 0.05, "variance": -1}, "variance == -1, must be above 0"),
        ({"difference": 0.05, "variance": math.nan}, "must be a number"),
        ({"difference": 1e-9, "variance": 0.1}, "more than 1,000,000,000 topics"),
        ({"difference": 0.05}, "either scores .* or variance= is needed"),
        ({"variance": 0.1}, "either difference= .* or width= .* is needed"),
        ({"width": 0, "variance": 0.1}, "width == 0, must be above 0"),
        ({"width": 0.1, "variance": 0.1, "test": "unpaired"}, "width= goes with test='unpaired-interval'"),
        ({"difference": 0.1, "variance": 0.1, "test": "interval"}, "goes with width=, not difference="),
        ({"difference": 0.1, "variance": 0.1, "test": "anvoa"}, "did you mean 'anova'"),
        ({"difference": 0.1, "variance": 0.1, "test": "anova"}, "needs the number of systems"),
        ({"difference": 0.1, "variance": 0.1, "test": "anova", "systems": 1}, "systems == 1, must be 2 or more"),
        ({"difference": 0.1, "variance": 0.1, "test": "anova", "systems": 3, "alternative": "less"}, "not directional"),
        ({"difference": 0.1, "variance": Variance(0.1, "differences"), "test": "unpaired"}, "a variance of scores"),
        ({"data": [[0.1, 0.2]], "difference": 0.1}, "1 topic, a variance needs 2 or more"),
    ],
)
def test_bad_settings_raise_an_error(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        topic_set_size(**settings)


def test_power_needs_a_difference() -> None:
    with pytest.raises(UsageError, match="state the difference that would matter"):
        achieved_power(matrix())
    with pytest.raises(UsageError, match="an interval has no power"):
        achieved_power(matrix(), difference=0.1, test="interval")
    with pytest.raises(UsageError, match="size == 1, must be 2 or more"):
        achieved_power(difference=0.1, variance=1.0, size=1)
    with pytest.raises(UsageError, match="the number of topics is needed"):
        achieved_power(difference=0.1, variance=1.0)
    with pytest.raises(UsageError, match="2 or more"):
        topic_set_size(difference=0.05, variance=0.0225).curve(topics=[1, 10])
