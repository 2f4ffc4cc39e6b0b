"""Scores: labels, means, intervals, standardisation, reading and writing."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.frames import need
from cranfield.scores import summary as aggregate
from cranfield.scores.scores import Scores

NAN = math.nan


def small(missing_rule: str = "zero") -> Scores:
    """Two measures, two runs, three topics; AP undefined on topic 2, run b lacks topic 3."""
    return Scores(
        ["AP", "P@5"],
        ["a", "b"],
        ["1", "2", "3"],
        [[[0.2, NAN, 0.6], [0.4, NAN, 0.0]], [[0.2, 0.4, 0.6], [0.8, 0.2, 0.0]]],
        [[False, False, False], [False, False, True]],
        missing_rule,
        ["order: score"],
    )


# -- the value


def test_scores_with_the_same_content_are_equal_and_nan_equals_nan() -> None:
    assert small() == small()
    assert hash(small()) == hash(small())
    assert small() != small("skip")
    assert small() != small().select(runs=["b", "a"])
    assert small() != "scores"


def test_scores_cannot_be_changed_and_do_not_follow_the_array_they_came_from() -> None:
    values = np.zeros((1, 1, 1))
    scores = Scores(["AP"], ["a"], ["1"], values)
    values[:] = 1
    assert scores.values.item() == 0
    with pytest.raises(ValueError, match="read-only"):
        scores.values[:] = 1
    with pytest.raises(AttributeError):
        scores.runs = ("b",)  # type: ignore[misc]


@dataclass(frozen=True)
class Named:
    """An object whose str() is its name, like a measure."""

    name: str = "AP"

    def __str__(self) -> str:
        return self.name


def test_a_measure_is_found_by_its_name_as_an_object_and_as_a_class() -> None:
    assert small()["P@5"].values.tolist() == [[[0.2, 0.4, 0.6], [0.8, 0.2, 0.0]]]
    assert small()[Named("P@5")] == small()["P@5"]  # type: ignore[index]
    assert small()[Named] == small()["AP"]  # type: ignore[index]
    assert "AP" in small()
    assert "nDCG" not in small()
    assert list(small()) == ["AP", "P@5"]
    assert Scores([Named()], ["a"], ["1"], [[[1]]]).measures == ("AP",)  # type: ignore[list-item]


def test_a_measure_is_found_by_any_of_its_names() -> None:
    measures = ["I-rec@5", "nDCG@10", "my own", "map"]
    scores = Scores(measures, ["a"], ["1"], np.arange(4.0).reshape(4, 1, 1))
    for name, value in {"StRecall@5": 0, "nDCG(gain='linear')@10": 1, "ndcg_cut_10": 1, "my own": 2, "AP": 3}.items():
        assert scores[name].values.item() == value
        assert name in scores
    assert "S-recall" not in scores
    assert "os:getcwd" not in scores
    with pytest.raises(UsageError, match="no measure 'os:getcwd'"):
        scores["os:getcwd"]
    with pytest.raises(UsageError, match="no run 'MAP'"):
        Scores(["x"], ["AP"], ["1"], [[[0.0]]]).select(runs="MAP")


def test_an_exact_label_is_found_if_two_labels_name_one_measure() -> None:
    scores = Scores(["map", "AP"], ["a"], ["1"], [[[0.1]], [[0.2]]])
    assert scores["map"].values.item() == 0.1
    assert scores["AP"].values.item() == 0.2
    with pytest.raises(UsageError, match="'MAP' may be 'map' or 'AP'"):
        scores["MAP"]


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="no measure 'PP@5'; did you mean 'P@5'"):
        small()["PP@5"]
    with pytest.raises(UsageError, match="no topic '9'; there are '1', '2', '3'"):
        small().select(topics="9")


def test_select_keeps_the_requested_order() -> None:
    some = small().select(measures="P@5", runs=["b", "a"], topics=["3", "1"])
    assert some.values.tolist() == [[[0.0, 0.8], [0.6, 0.2]]]
    assert some.missing.tolist() == [[True, False], [False, False]]
    assert some.notes == ("order: score",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [[[1.0, 2.0]]]}, r"values.shape == \(1, 1, 2\), must be measures × runs × topics: \(1, 1, 1\)"),
        ({"missing": [True]}, r"missing.shape == \(1,\), must be runs × topics: \(1, 1\)"),
        ({"missing_rule": "drop"}, "missing_rule == 'drop', must be one of 'zero', 'skip'"),
        ({"topics": ["1", "1"], "values": [[[1, 1]]]}, "topics has '1' twice"),
    ],
)
def test_labels_and_values_that_do_not_match_are_refused(change: dict[str, object], message: str) -> None:
    whole: dict[str, object] = {"measures": ["AP"], "runs": ["a"], "topics": ["1"], "values": [[[0.5]]]}
    with pytest.raises(UsageError, match=message):
        Scores(**{**whole, **change})  # type: ignore[arg-type]


def test_repr_shows_shape_means_missing_and_undefined() -> None:
    # AP of a: (0.2 + 0.6) / 2 = 0.4, of b: (0.4 + 0) / 2 = 0.2; P@5 of a: 1.2 / 3 = 0.4, of b: 1 / 3
    assert repr(small()).splitlines() == [
        "Scores: 2 measures × 2 runs × 3 topics; 1 missing list with score 0; 2 undefined",
        "       AP     P@5",
        "a  0.4000  0.4000",
        "b  0.2000  0.3333",
        "order: score",
    ]
    assert ">0.3333</td>" in small()._repr_html_()
    assert "&lt;b&gt;" in Scores.from_matrix([[1.0]], runs=["<b>"])._repr_html_()
    many = Scores.from_matrix(np.zeros((1, 30)))
    assert repr(many).endswith("... 10 more runs")


def test_twenty_runs_are_all_shown_with_the_best_first() -> None:
    means = np.random.default_rng(5).permutation(20) / 20
    names = [f"run{mean:.2f}" for mean in means]
    _, _, *rows = repr(Scores.from_matrix(means[np.newaxis], runs=names, measure="AP")).splitlines()
    assert [row.split()[0] for row in rows] == sorted(names, reverse=True)
    _, _, *rows = repr(Scores.from_matrix(means[np.newaxis], runs=names, measure="ESL")).splitlines()
    assert [row.split()[0] for row in rows] == sorted(names)  # lower is better


# -- means


def test_means_leave_out_undefined_topics_and_follow_the_rule_for_missing_ones() -> None:
    assert small().means().tolist() == [[0.4, 0.2], [pytest.approx(0.4), pytest.approx(1 / 3)]]
    skip = small("skip")
    assert skip.means()[:, 1].tolist() == [0.4, 0.5]  # b without topic 3: 0.4 / 1 and (0.8 + 0.2) / 2
    assert skip.mean()["b"] == {"AP": 0.4, "P@5": 0.5}


def test_skipped_and_undefined_topics_differ() -> None:
    skip = small("skip")
    assert np.isnan(skip.values[0, 1]).tolist() == [False, True, True]
    assert skip.undefined[0, 1].tolist() == [False, True, False]
    estimate = skip.summary(level=None)["AP", "b"]
    assert (estimate.topics, estimate.undefined, estimate.missing) == (1, 1, 1)


def test_the_mean_of_nothing_is_undefined() -> None:
    nothing = Scores(["AP"], ["a"], ["1", "2"], [[[NAN, NAN]]])
    for name in aggregate.STATISTICS:
        estimate = nothing.summary(name)["AP", "a"]
        assert math.isnan(estimate.value)
        assert math.isnan(estimate.low)
        assert estimate.topics == 0
    no_topics = Scores(["AP"], ["a"], [], np.empty((1, 1, 0)))
    assert all(math.isnan(no_topics.summary(name, level=None)["AP", "a"].value) for name in aggregate.STATISTICS)


@given(arrays(np.float64, (2, 3, 7), elements=st.floats(0, 1) | st.just(NAN)))
def test_statistics_are_numpys_over_the_topics_that_count(values: np.ndarray) -> None:
    scores = Scores("mn", "abc", map(str, range(7)), values)
    by_numpy: dict[str, Callable[[np.ndarray], float]] = {
        "mean": np.mean,
        "gmean": lambda x: scipy.stats.gmean(np.maximum(x, 1e-5)),
        "median": np.median,
        "std": lambda x: np.std(x, ddof=1) if len(x) > 1 else NAN,
        "min": np.min,
        "max": np.max,
    }
    for name, function in by_numpy.items():
        summary = scores.summary(name, level=None)
        for m, r in itertools.product(range(2), range(3)):
            counted = values[m, r][~np.isnan(values[m, r])]
            expected = function(counted) if len(counted) else NAN
            got = summary["mn"[m], "abc"[r]]
            assert got.value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)
            assert got.topics == len(counted)


def test_gmean_is_trec_evals_gm_map() -> None:
    import pytrec_eval

    qrels = {"1": {"x": 1, "y": 1}, "2": {"x": 1}, "3": {"y": 1}}
    run = {"1": {"x": 3.0, "z": 2.0, "y": 1.0}, "2": {"z": 2.0, "x": 1.0}, "3": {"z": 1.0}}  # AP 5/6, 1/2, 0
    by_topic = pytrec_eval.RelevanceEvaluator(qrels, {"map", "gm_map"}).evaluate(run)
    theirs = pytrec_eval.compute_aggregated_measure("gm_map", [row["gm_map"] for row in by_topic.values()])
    scores = Scores.from_dict({"run": {topic: {"AP": row["map"]} for topic, row in by_topic.items()}})
    ours = scores.summary("gmean")["AP", "run"].value
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert ours == pytest.approx((5 / 6 * 1 / 2 * 1e-5) ** (1 / 3), rel=1e-9)


def test_area_of_the_worst_topics_by_hand() -> None:
    # Voorhees 2003: the means of the 1, 2 and 3 worst topics are 0.1, 0.2 and 0.3, so the area from 1 to 3 is
    # (0.1 + 0.2) / 2 + (0.2 + 0.3) / 2 = 0.4. A quarter of 12 topics is 3.
    x = [0.5, 0.9, 0.3, 0.6, 0.1, *[0.7] * 7]
    scores = Scores.from_matrix(np.array([x, [1.0] * 12]).T, runs=["a", "b"], measure="AP")
    area = scores.summary("area", level=None)
    assert area["AP", "a"].value == pytest.approx(0.4)
    assert area["AP", "b"].value == pytest.approx(2)
    # One more topic: the mean of 0.1, 0.3, 0.5, 0.6 is 0.375, and the area grows by (0.3 + 0.375) / 2.
    assert scores.summary("area", level=None, worst=4)["AP", "a"].value == pytest.approx(0.4 + 0.3375)


@given(arrays(np.float64, (2, 1, 17), elements=st.floats(0, 1) | st.just(NAN)), st.none() | st.integers(2, 17))
def test_area_is_numpys_trapezoid_over_the_topics_that_count(values: np.ndarray, worst: int | None) -> None:
    area = Scores("mn", "a", map(str, range(17)), values).summary("area", level=None, worst=worst)
    for m in range(2):
        counted = np.sort(values[m, 0][~np.isnan(values[m, 0])])
        last = len(counted) // 4 if worst is None else worst
        means = [counted[:x].mean() for x in range(1, last + 1)] if 2 <= last <= len(counted) else []
        expected = scipy.integrate.trapezoid(means) if means else NAN
        assert area["mn"[m], "a"].value == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_bootstrap_of_the_area_is_that_of_all_resamples() -> None:
    x = [0.1, 0.4, 0.9]
    resamples = np.sort(np.array(list(itertools.product(x, repeat=3))), axis=1)  # all 27, equally likely
    exact = (resamples[:, 0] + (resamples[:, 0] + resamples[:, 1]) / 2) / 2
    low, high = np.quantile(exact, [0.25, 0.75], method="inverted_cdf")
    scores = Scores.from_matrix(np.array(x)[:, None], runs=["a"])
    estimate = scores.summary("area", level=0.5, resamples=20_000, worst=2)["score", "a"]
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-9)


# -- intervals


def test_t_interval_is_scipys() -> None:
    x = np.array([0.12, 0.5, 0.33, 0.71, 0.05])
    scores = Scores.from_matrix(x[:, None], runs=["a"])
    estimate = scores.summary(level=0.9, method="t")["score", "a"]
    expected = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    logs = scipy.stats.ttest_1samp(np.log(x), 0).confidence_interval(0.9)
    estimate = scores.summary("gmean", level=0.9, method="t")["score", "a"]
    assert (estimate.low, estimate.high) == pytest.approx((np.exp(logs.low), np.exp(logs.high)), rel=1e-12)


def test_intervals_leave_out_undefined_topics() -> None:
    with_hole = Scores.from_matrix([[0.1], [NAN], [0.4], [0.3]], runs=["a"]).summary()["score", "a"]
    without = Scores.from_matrix([[0.1], [0.4], [0.3]], runs=["a"]).summary()["score", "a"]
    assert (with_hole.low, with_hole.high) == pytest.approx((without.low, without.high), rel=1e-12)
    assert (with_hole.topics, with_hole.undefined) == (3, 1)


def test_a_single_topic_has_no_interval() -> None:
    scores = Scores.from_matrix([[0.5]], runs=["a"])
    for method in ("t", "bootstrap"):
        estimate = scores.summary(method=method)["score", "a"]
        assert estimate.value == 0.5
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)


@pytest.mark.parametrize("name", ["mean", "median", "std", "gmean"])
def test_bootstrap_interval_is_that_of_all_resamples(name: str) -> None:
    # Three topics have 27 equally likely resamples: the quantiles of their statistics are the exact interval.
    x = [0.1, 0.4, 0.9]
    resamples = np.array(list(itertools.product(x, repeat=3)))
    exact = aggregate.statistic(resamples, name)
    low, high = np.quantile(exact, [0.25, 0.75], method="inverted_cdf")
    scores = Scores.from_matrix(np.array(x)[:, None], runs=["a"])
    estimate = scores.summary(name, level=0.5, method="bootstrap", resamples=20_000)["score", "a"]
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-9)


def test_bootstrap_interval_agrees_with_scipys() -> None:
    x = np.random.default_rng(3).beta(2, 4, 50)
    theirs = scipy.stats.bootstrap((x,), np.mean, method="percentile", n_resamples=9999, rng=1).confidence_interval
    ours = Scores.from_matrix(x[:, None], runs=["a"]).summary(method="bootstrap")["score", "a"]
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)  # both err by about 0.0005


def test_bootstrap_depends_on_the_seed_and_not_on_other_runs() -> None:
    values = np.random.default_rng(0).random((2, 5, 20))
    values[0, 3, 4] = NAN
    scores = Scores("mn", "abcde", map(str, range(20)), values)
    whole = scores.summary(method="bootstrap", resamples=500, seed=7)
    alone = scores.select("m", "d").summary(method="bootstrap", resamples=500, seed=7)
    assert alone["m", "d"].low == pytest.approx(whole["m", "d"].low, rel=1e-12)
    assert whole == scores.summary(method="bootstrap", resamples=500, seed=7)
    assert whole != scores.summary(method="bootstrap", resamples=500, seed=8)
    by_rng = [scores.summary(method="bootstrap", resamples=500, rng=np.random.default_rng(1)) for _ in range(2)]
    assert by_rng[0] == by_rng[1]


def test_bootstrap_in_blocks_is_the_bootstrap_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = Scores.from_matrix(np.random.default_rng(0).random((30, 7)))
    at_once = scores.summary(method="bootstrap", resamples=1000)
    monkeypatch.setattr(aggregate, "_BLOCK", 1500)
    in_blocks = scores.summary(method="bootstrap", resamples=1000)
    for estimate, other in zip(at_once, in_blocks, strict=True):
        assert (estimate.low, estimate.high) == pytest.approx((other.low, other.high), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statistic": "mode"}, "statistic == 'mode', must be one of 'mean'"),
        ({"level": 95}, "level == 95, must be above 0 and below 1"),
        ({"method": "magic"}, "method == 'magic', must be one of 'range', 't', 'bootstrap'"),
        ({"statistic": "median", "method": "t"}, "for 'median' use method='bootstrap'"),
        ({"statistic": "max", "method": "bootstrap"}, "no bootstrap interval for 'max'"),
        ({"method": "bootstrap", "resamples": 0}, "resamples == 0, must be above 0"),
        ({"statistic": "area", "worst": 1}, "worst == 1, must be 2 or more"),
        ({"statistic": "area", "worst": 9}, "worst == 9, expected at most"),
        ({"statistic": "median", "worst": 3}, "worst == 3 is for the statistic 'area', not for 'median'"),
    ],
)
def test_summary_refuses_impossible_requests(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        small().summary(**arguments)  # type: ignore[arg-type]


def test_summary_as_dict_and_frames() -> None:
    summary = small().summary("median")
    assert summary.method == "bootstrap"
    assert summary.to_dict()["a"]["P@5"]["value"] == 0.4
    pandas = summary.to_pandas()
    assert list(pandas.columns) == ["measure", "run", "value", "low", "high", "topics", "undefined", "missing"]
    assert pandas.attrs["cranfield"]["statistic"] == "median"
    assert summary.to_polars().shape == (4, 8)
    assert summary.to_arrow().column("topics").to_pylist() == [2, 2, 3, 3]
    assert small().summary("max").level is None
    with pytest.raises(UsageError, match="no estimate of 'AP' for 'c'"):
        summary["AP", "c"]


# -- standardisation

BY_TOPIC = np.array([[0.1, 0.2, 0.6], [0.5, 0.5, 0.5], [0.0, 1.0, NAN]])
"""A row per topic, a column per run."""


def test_z_scores_are_scipys_per_topic() -> None:
    z = Scores.from_matrix(BY_TOPIC).standardised("z").values[0].T
    assert z[0] == pytest.approx(scipy.stats.zscore(BY_TOPIC[0], ddof=1))
    # two scores 0 and 1: mean 1/2, sample deviation 1/sqrt(2)
    assert z[2].tolist() == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5), NAN], nan_ok=True)


def test_standardised_is_undefined_where_all_runs_score_the_same() -> None:
    scores = Scores.from_matrix(np.full((1, 3), 0.1))  # the mean of three 0.1 is not 0.1 in floating point
    assert np.isnan(scores.standardised("z").values).all()
    assert np.isnan(scores.standardised("linear").values).all()
    assert scores.standardised("empirical").values.tolist() == [[[1], [1], [1]]]


def test_linear_is_scaled_z_between_0_and_1() -> None:
    scores = Scores.from_matrix(BY_TOPIC)
    z = scores.standardised("z").values
    assert scores.standardised("linear").values == pytest.approx(0.15 * z + 0.5, nan_ok=True)
    wide = scores.standardised("linear", a=10, b=0.5).values[0, :, 0]
    # z of 0.1, 0.2, 0.6 (mean 0.3, deviation sqrt(0.07)): -0.756, -0.378, 1.134; times 10 all leave [0, 1]
    assert wide.tolist() == [0.0, 0.0, 1.0]


def test_z_through_the_normal_distribution() -> None:
    scores = Scores.from_matrix(BY_TOPIC)
    expected = scipy.stats.norm.cdf(scores.standardised("z").values)
    assert scores.standardised("z", cdf=True).values == pytest.approx(expected, nan_ok=True)
    with pytest.raises(UsageError, match="cdf == True needs method == 'z', not 'linear'"):
        scores.standardised("linear", cdf=True)


def test_empirical_is_the_share_of_runs_that_score_no_higher() -> None:
    share = Scores.from_matrix(BY_TOPIC).standardised("empirical").values[0].T
    assert share.tolist() == [[1 / 3, 2 / 3, 1], [1, 1, 1], [0.5, 1, pytest.approx(NAN, nan_ok=True)]]
    reference = scipy.stats.ecdf(BY_TOPIC[0]).cdf.evaluate([0.15, 0.05, 0.9])
    new = Scores.from_matrix([[0.15, 0.05, 0.9]], runs="xyz")
    seen = new.standardised("empirical", Scores.from_matrix(BY_TOPIC[:1]))
    assert seen.values[0, :, 0] == pytest.approx(reference)


def test_standardised_on_reference_runs() -> None:
    reference = Scores.from_matrix([[0.1, 0.3], [0.2, 0.6]], topics=["2", "1"])
    new = Scores.from_matrix([[0.8], [0.2]], runs=["new"], topics=["1", "2"])
    # topic 1: mean 0.4, deviation 0.4 / sqrt(2); topic 2: mean 0.2, so z = 0
    z = new.standardised("z", reference)
    assert z.values[0, 0].tolist() == pytest.approx([0.4 / (0.4 / math.sqrt(2)), 0.0])
    assert z.notes == ("standardised per topic (z) on 2 runs",)
    with pytest.raises(UsageError, match="no topic '3'"):
        Scores.from_matrix([[0.8]], topics=["3"]).standardised("z", reference)
    with pytest.raises(UsageError, match="1 reference runs, 'z' needs 2 or more"):
        new.standardised("z")
    with pytest.raises(UsageError, match="method == 'rank', must be one of 'z', 'linear', 'empirical'"):
        reference.standardised("rank")


def test_standardisation_follows_the_rule_for_missing_topics() -> None:
    values = [[[0.2, 0.4], [0.0, 0.4], [0.4, 0.0]]]
    lacks = [[False, False], [True, False], [False, False]]
    zero = Scores(["AP"], "abc", "12", values, lacks).standardised("empirical")
    skip = Scores(["AP"], "abc", "12", values, lacks, "skip").standardised("empirical")
    assert zero.values[0, :, 0].tolist() == [2 / 3, 1 / 3, 1]
    assert skip.values[0, :, 0].tolist() == [0.5, pytest.approx(NAN, nan_ok=True), 1]


# -- out and back

LABELS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), min_size=1, max_size=3, unique=True)


@st.composite
def some_scores(draw: st.DrawFn) -> Scores:
    measures, runs, topics = draw(LABELS), draw(LABELS), draw(LABELS)
    shape = (len(measures), len(runs), len(topics))
    return Scores(
        measures,
        runs,
        topics,
        draw(arrays(np.float64, shape, elements=st.floats(allow_nan=True, width=64))),
        draw(arrays(np.bool_, shape[1:])),
        draw(st.sampled_from(["zero", "skip"])),
        draw(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=2)),
    )


@pytest.mark.parametrize("name", ["scores.csv", "scores.tsv", "scores.json", "scores.parquet", "scores.csv.gz"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scores=some_scores())
def test_a_written_file_reads_back_the_same(scores: Scores, name: str, tmp_path: Path) -> None:
    scores.write(tmp_path / name)
    assert Scores.read(tmp_path / name) == scores


@settings(max_examples=40, deadline=None)
@given(scores=some_scores())
def test_frames_round_trip(scores: Scores) -> None:
    assert Scores.from_frame(scores.to_pandas()) == scores
    assert Scores.from_frame(scores.to_arrow()) == scores
    assert Scores.from_frame(Streamed(scores)) == scores
    # polars frames carry no facts, so the rule follows from the values and the notes are lost
    frame = scores.to_polars()
    back = Scores.from_frame(frame, missing=scores.missing_rule)
    plain = Scores(scores.measures, scores.runs, scores.topics, scores.values, scores.missing, scores.missing_rule)
    assert back == plain


class Streamed:
    """An object that only has the Arrow C stream."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.scores.__arrow_c_stream__(requested_schema)


@settings(max_examples=40, deadline=None)
@given(scores=some_scores())
def test_dicts_round_trip_except_for_facts_they_cannot_hold(scores: Scores) -> None:
    full = Scores(scores.measures, scores.runs, scores.topics, scores.values)
    assert Scores.from_dict(full.to_dict()) == full


def test_frames_are_tidy_and_undefined_is_null() -> None:
    table = small("skip").to_arrow()
    assert table.column_names == ["measure", "run", "topic", "value", "missing"]
    assert table.slice(3, 3).to_pydict() == {
        "measure": ["AP"] * 3,
        "run": ["b"] * 3,
        "topic": ["1", "2", "3"],
        "value": [0.4, None, None],
        "missing": [False, False, True],
    }
    import polars

    assert polars.DataFrame(small())["value"].null_count() == 2
    assert small().to_polars()["value"].mean() == pytest.approx((0.2 + 0.6 + 0.4 + 0 + 1.2 + 1.0) / 10)


def test_a_filtered_frame_has_only_its_rows() -> None:
    frame = small().to_pandas()
    assert Scores.from_frame(frame[frame.run == "a"]) == small().select(runs="a")


def test_a_dict_leaves_out_topics_skipped_as_missing() -> None:
    assert list(small("skip").to_dict()["b"]) == ["1", "2"]
    assert small().to_dict()["b"]["3"] == {"AP": 0.0, "P@5": 0.0}


def test_json_is_valid_and_distinguishes_undefined_from_missing() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    data = json.loads(small("skip").to_json(), parse_constant=refuse)
    assert data["scores"]["b"] == {"1": {"AP": 0.4, "P@5": 0.8}, "2": {"AP": None, "P@5": 0.2}}
    assert data["missing"] == {"b": ["3"]}
    assert data["missing_rule"] == "skip"
    assert "Infinity" not in Scores.from_matrix([[math.inf]]).to_json()


def test_csv_has_all_digits_and_its_notes_in_the_first_row() -> None:
    third = Scores(["AP"], ["a, b"], ["1", "2"], [[[1 / 3, NAN]]], notes=["order: score", "a | b"])
    assert third.to_csv().splitlines() == [
        "measure,run,topic,value,missing,notes",
        'AP,"a, b",1,0.3333333333333333,false,zero | order: score | a \\| b',
        'AP,"a, b",2,,false,',
    ]
    import io

    import pandas

    assert pandas.read_csv(io.StringIO(third.to_csv())).value.tolist()[0] == 1 / 3


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"scores.xls: unknown suffix, must be one of .csv, .tsv, .json, .parquet"):
        small().write(tmp_path / "scores.xls")
    with pytest.raises(UsageError, match="format == 'xls', must be one of"):
        small().write(tmp_path / "scores.xls", format="xls")
    with pytest.raises(DataError, match=r"no/such/place.csv: cannot be written"):
        small().write(tmp_path / "no/such/place.csv")
    assert list(tmp_path.iterdir()) == []
    small().write(tmp_path / "scores.txt", format="csv")
    small().write(tmp_path / "scores.txt", format="json")
    assert [p.name for p in tmp_path.iterdir()] == ["scores.txt"]
    assert Scores.read(tmp_path / "scores.txt") == small()


# -- from elsewhere


def test_absent_scores_count_as_zero_with_a_warning_or_are_skipped() -> None:
    data = {"a": {"1": {"AP": 0.5}, "2": {"AP": 0.7}}, "b": {"1": {"AP": 0.5}}}
    with pytest.warns(CranfieldWarning, match="1 of 4 lists have no score and count as 0: b 2; missing='skip'"):
        zero = Scores.from_dict(data)
    assert zero.means().tolist() == [[0.6, 0.25]]
    skip = Scores.from_dict(data, missing="skip")
    assert skip.means().tolist() == [[0.6, 0.5]]
    assert zero.missing.tolist() == skip.missing.tolist() == [[False, False], [False, True]]


def test_dicts_of_one_measure_and_frames_without_a_run() -> None:
    assert Scores.from_dict({"a": {"1": 0.5, "2": None}}, measure="AP").undefined.tolist() == [[[False, True]]]
    scores = Scores.from_frame({"query_id": [1, 2], "metric": ["AP", "AP"], "score": [0.1, 0.2]}, run="a")
    assert scores.to_dict() == {"a": {"1": {"AP": 0.1}, "2": {"AP": 0.2}}}


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"run": ["a"], "value": [1]}, "no column 'topic'"),
        ({"run": ["a"], "topic": ["1"], "value": [1]}, "no column 'measure', expected one, or measure="),
        ({"topic": ["1"], "value": ["high"], "run": ["a"], "measure": ["AP"]}, "row 0: 'high' is not a number"),
        (
            {"topic": ["1", "1"], "value": [1, 2], "run": "aa", "measure": "mm"},
            "row 1: measure 'm'.* already has a score",
        ),
        ({"topic": ["1"], "value": [1, 2], "run": "aa", "measure": "mm"}, "'topic' has 1 entries, value has 2"),
        ({"topic": [], "value": [], "run": [], "measure": []}, "no scores"),
        ({"topic": ["1"], "value": [1], "run": "a", "measure": "m", "missing": ["maybe"]}, "expected true or false"),
    ],
)
def test_faults_in_frames_name_the_row(frame: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Scores.from_frame(frame)


def test_two_columns_of_a_frame_with_one_name() -> None:
    frame = pandas.DataFrame([["a", "1", 0.1, 0.2]], columns=["run", "topic", "value", "Value"])
    with pytest.raises(DataError, match=r"frame: 2 columns are called value \(3 and 4\), must be one"):
        Scores.from_frame(frame, measure="AP")


def test_scores_after_two_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("\ufeff\ufefftopic,a\n1,0.25\n", encoding="utf-8")
    assert Scores.read(path, measure="AP").mean() == {"a": {"AP": 0.25}}


def test_combine_merges_runs_and_measures() -> None:
    whole = small("skip")
    parts = [whole.select(m, r) for m in whole.measures for r in whole.runs]
    assert Scores.combine(*parts) == whole
    with pytest.raises(DataError, match="measure 'AP', run 'a', topic '1' already has a score"):
        Scores.combine(whole, whole)
    with pytest.raises(UsageError, match="missing topics count as 0 in some parts, not in others"):
        Scores.combine(small().select(runs="b"), Scores(["AP"], ["c"], ["1"], [[[NAN]]], [[True]], "skip"))


def test_combine_counts_missing_topics_as_zero_only_if_others_have_a_score() -> None:
    a = Scores.from_matrix([[0.5], [0.7]], runs=["a"], topics=["1", "2"], measure="AP")
    b = Scores.from_matrix([[0.5]], runs=["b"], topics=["1"], measure="P@5")
    with pytest.warns(CranfieldWarning, match="1 of 4 lists"):
        both = Scores.combine(a, b)
    nan = pytest.approx(NAN, nan_ok=True)
    assert both.values.tolist() == [[[0.5, 0.7], [nan, 0.0]], [[nan, nan], [0.5, nan]]]


TREC = """\
map                   \t301\t0.2500
P_10                  \t301\t0.3000
relstring             \t301\t'1010'
map                   \t302\t0.7500
P_10                  \t302\t0.5000
runid                 \tall\tbm25
num_q                 \tall\t2
map                   \tall\t0.5000
gm_map                \tall\t0.4330
P_10                  \tall\t0.4000
"""


def written(folder: Path, text: str | bytes, name: str = "some.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_trec_eval_output_is_read(tmp_path: Path) -> None:
    scores = Scores.read(written(tmp_path, TREC))
    assert scores.measures == ("map", "P_10")
    assert scores.runs == ("bm25",)
    assert scores.mean() == {"bm25": {"map": 0.5, "P_10": 0.4}}
    assert scores.notes == ()


def test_trec_eval_output_of_two_runs_after_one_another(tmp_path: Path) -> None:
    second = (
        TREC.replace("bm25", "dense")
        .replace("0.7500", "0.9500")
        .replace("num_q                 \tall\t2", "num_q\tall\t3")
    )
    scores = Scores.read(written(tmp_path, TREC + second))
    assert scores.runs == ("bm25", "dense")
    assert scores["map"].means().tolist() == [[0.5, 0.6]]
    assert scores.notes == ("dense: trec_eval averaged over 3 topics, 2 are listed",)


def test_trec_eval_output_without_summary_is_named_by_its_file(tmp_path: Path) -> None:
    bare = "".join(line for line in TREC.splitlines(keepends=True) if "\tall\t" not in line)
    paths = [written(tmp_path, bare, name) for name in ("bm25.txt", "dense.txt")]
    assert Scores.read(paths).runs == ("bm25", "dense")
    assert Scores.read(paths[0], run="mine").runs == ("mine",)
    assert Scores.read(written(tmp_path, bare.replace("\n", "\r\n")), "trec").mean() == {
        "some": {"map": 0.5, "P_10": 0.4}
    }


MATRICES = {
    "bare, blanks": ("0.1 0.2\n0.3  0.4\n", ("run1", "run2"), ("1", "2")),
    "bare, commas, no newline at the end": ("0.1,0.2\n0.3,0.4", ("run1", "run2"), ("1", "2")),
    "header": ("a,b\n0.1,0.2\n\n0.3,0.4\n", ("a", "b"), ("1", "2")),
    "header and topics": ("topic\ta\tb\n301\t0.1\t0.2\n302\t0.3\t0.4\n", ("a", "b"), ("301", "302")),
    "header that is numbers": ("topic,1,2\n301,0.1,0.2\n302,0.3,0.4\n", ("1", "2"), ("301", "302")),
    "nothing in the corner": (",a,b\nq1,0.1,0.2\nq2,0.3,0.4\n", ("a", "b"), ("q1", "q2")),
    "no corner": ("a b\n301 0.1 0.2\n302 0.3 0.4\n", ("a", "b"), ("301", "302")),
    "topics by name": ("q1,0.1,0.2\nq2,0.3,0.4\n", ("run1", "run2"), ("q1", "q2")),
    "topics by number": ("301 0.1 0.2\n302 0.3 0.4\n", ("run1", "run2"), ("301", "302")),
    "marks and carriage returns": ("\ufeffa,b\r\n0.1,0.2\r\n0.3,0.4\r\n", ("a", "b"), ("1", "2")),
    "semicolons": ("a;b\n0.1;0.2\n0.3;0.4\n", ("a", "b"), ("1", "2")),
}


@pytest.mark.parametrize("case", MATRICES)
def test_a_plain_matrix_is_read(case: str, tmp_path: Path) -> None:
    text, runs, topics = MATRICES[case]
    scores = Scores.read(written(tmp_path, text), measure="AP")
    assert (scores.measures, scores.runs, scores.topics) == (("AP",), runs, topics)
    assert scores.values.tolist() == [[[0.1, 0.3], [0.2, 0.4]]]


def test_header_and_topic_column_of_a_matrix_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "1 2\n3 4\n")
    assert Scores.read(path).values.tolist() == [[[1, 3], [2, 4]]]
    assert Scores.read(path, header=True).to_dict() == {"1": {"1": {"score": 3}}, "2": {"1": {"score": 4}}}
    assert Scores.read(path, topic_column=True).to_dict() == {"run1": {"1": {"score": 2}, "3": {"score": 4}}}


def test_dicts_in_json_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, '{"301": {"map": 0.5}, "302": {"map": 0.7}}', "bm25.json")
    assert Scores.read(path).mean() == {"bm25": {"map": 0.6}}
    two = written(tmp_path, '{"a": {"301": {"map": 0.5}}, "b": {"301": {"map": 0.7}}}', "both.json")
    assert Scores.read(two).mean() == {"a": {"map": 0.5}, "b": {"map": 0.7}}


HEAD = "measure,run,topic,value,missing\n"
BAD: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("some.csv", "", "some.csv: is empty, expected scores"),
    "blank": ("some.txt", " \n\n", "some.txt: is empty, expected scores"),
    "header only": ("some.csv", HEAD, "some.csv: no scores"),
    "matrix, header only": ("some.csv", "a,b\n", "some.csv:1: a header and no scores"),
    "text for a number": ("some.csv", HEAD + "AP,a,1,0.5,false\nAP,a,2,high,false\n", "csv:3: 'high' is not a number"),
    "underscores": ("some.csv", HEAD + "AP,a,1,1_0,false\n", "some.csv:2: '1_0' is not a number"),
    "neither true nor false": ("some.csv", HEAD + "AP,a,1,0.5,maybe\n", "some.csv:2: missing is 'maybe'"),
    "short row": ("some.csv", HEAD + "AP,a,1,0.5\n", "some.csv:2: 4 columns, expected 5: measure, run, topic"),
    "twice": (
        "some.csv",
        HEAD + "AP,a,1,0.5,false\n" * 2,
        "some.csv:3: measure 'AP', run 'a', topic '1' already has a score",
    ),
    "open quote": ("some.csv", HEAD + 'AP,"a,1,0.5,false\n', "some.csv:2: not a row of cells"),
    "matrix, ragged": ("some.csv", "0.1,0.2\n0.3\n", "some.csv:2: 1 column, expected 2 as in line 1"),
    "matrix, text in line 1": ("some.csv", "0.1,0.2,x\n0.3,1,1\n", "some.csv:1: 'x' is not a number, other cells are"),
    "matrix, text later": ("some.csv", "0.1,0.2\n0.3,x\n", "some.csv:2: 'x' is not a number"),
    "matrix, text in column 1": (
        "some.csv",
        "0.1,0.2\nx,0.3\n",
        "some.csv:2: 'x' is not a number; use topic_column=True",
    ),
    "tidy, a column twice": (
        "some.csv",
        "run,topic,measure,value,value\na,1,AP,0.1,0.2\n",
        r"some.csv:1: 2 columns are called value \(4 and 5\), must be one: rename or drop the others",
    ),
    "matrix, topic twice": ("some.csv", "topic,a\n1,0.2\n1,0.3\n", "some.csv:3: topic '1' appears twice"),
    "matrix, run twice": ("some.csv", "a,a\n0.1,0.2\n", "some.csv:1: run 'a' appears twice"),
    "matrix, too many names": ("some.csv", "a,b,c\n0.1,0.2\n", "some.csv:1: 3 names, expected 2"),
    "topics and nothing": ("some.csv", "topic\nq1\n", "some.csv:2: topics and no scores"),
    "trec, text": ("some.txt", "map  \t301\tx\n", "some.txt:1: 'x' is not a number"),
    "trec, twice": (
        "some.txt",
        "map  \t301\t1\n" * 2,
        "some.txt:2: measure 'map', run 'some', topic '301' already has a score",
    ),
    "trec, means only": (
        "some.txt",
        "map  \tall\t1\n",
        "some.txt: no scores of topics, expected .* trec_eval -q",
    ),
    "json, broken": ("some.json", '{"a":\n {', "some.json:2: is not valid JSON"),
    "json, a list": ("some.json", "[1]", "some.json: list, expected"),
    "json, twice": ("some.json", '{"a": {"1": 1}, "a": {}}', "some.json: 'a' appears twice"),
    "json, text": ("some.json", '{"a": {"1": {"AP": "x"}}}', "measure 'AP', run 'a', topic '1': 'x' is not a number"),
    "json, a number for topics": ("some.json", '{"a": {"1": {"AP": 1}}, "b": 7}', "run 'b': 7, expected"),
    "json, half": ("some.json", '{"cranfield": "scores"}', "some.json: 'scores' is None, expected dict"),
    "not text": ("some.csv", b"a,b\n\xff\xfe,1\n", "some.csv:2: byte 0xff, expected UTF-8 text"),
    "not parquet": ("some.parquet", "measure,run", "some.parquet: the Parquet data is damaged"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_name_file_and_line(case: str, tmp_path: Path) -> None:
    name, content, message = BAD[case]
    with pytest.raises(DataError, match=message):
        Scores.read(written(tmp_path, content, name))


def test_a_trec_line_that_is_too_short(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"some.txt:2: 2 columns, expected name, topic, value"):
        Scores.read(written(tmp_path, "map  \t301\t1\nmap\t302\n"), "trec")


def test_a_missing_file(tmp_path: Path) -> None:
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(DataError, match=f"{name}: no such file"):
            Scores.read(tmp_path / name)
    with pytest.raises(DataError, match="is a directory"):
        Scores.read(tmp_path)
    with pytest.raises(UsageError, match="format == 'xls', must be one of 'csv'"):
        Scores.read(tmp_path / "none.csv", "xls")


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(
        UsageError, match="to_x needs no_such_package, which is not installed: pip install no_such_pack"
    ):
        need("no_such_package.part", "to_x")


def test_an_integer_too_large_for_a_number_is_an_error(tmp_path: Path) -> None:
    """Found by fuzz/run json."""
    path = tmp_path / "scores.json"
    path.write_text('{"a": {"1": {"AP": ' + "1" * 400 + "}}}")
    with pytest.raises(DataError, match="is not a number"):
        Scores.read(path)


def test_missing_lists_of_a_file_are_skipped_on_request(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    small("zero").write(path)
    assert Scores.read(path, missing="skip").means().tolist() == small("skip").means().tolist()
