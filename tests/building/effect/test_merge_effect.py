"""The effect of merging on rankings, against loops over public functions."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield import CranfieldError
from cranfield.building.assessor_labels import Labels
from cranfield.building.effect import aware, collapse, merge_effect
from cranfield.building.effect.merge_effect import with_assessors
from cranfield.building.merging import merge
from cranfield.comparison.pair_tests import TESTS
from cranfield.declared.registry import Registry
from tests.building.effect.simulated_labels import simulated

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.NotedWarning")
METHODS = ["majority", "dawid-skene", "dawid-skene:expected", "aware", "aware:rmse"]


def scored(labels: Any, runs: Any, method: str, measure: str = "nDCG@5") -> cf.Scores:
    """The scores under a method, by the functions that a user would call."""
    if method.startswith("aware"):
        return aware(labels, runs, measure, weights=method.partition(":")[2] or "uniform")
    name, _, kind = method.partition(":")
    return cf.evaluate(merge(labels, name).to_qrels(expected=bool(kind)), runs, measure)


def signs(scores: cf.Scores) -> dict[tuple[str, str], int]:
    """The direction of significant differences."""
    rows = cf.compare(scores, test="t", direction="given").rows()
    return {
        (row["system"], row["other"]): int(np.sign(row["difference"])) * (row["p adjusted"] <= 0.05) for row in rows
    }


def test_means_correlations_and_pairs_are_those_of_public_functions() -> None:
    labels, runs, gold = simulated(seed=1, grades=4, share=0.8)
    effect = merge_effect(labels, runs, "nDCG@5", methods=METHODS, gold=gold, resamples=0)
    truth = cf.evaluate(gold, runs, "nDCG@5")
    reference = signs(truth)
    for k, method in enumerate(METHODS):
        scores = scored(labels, runs, method)
        assert effect.means.value[k, 0] == pytest.approx(scores.means()[0])
        tau = stats.kendalltau(scores.means()[0], truth.means()[0]).statistic
        assert effect.tau.value[k, 0] == pytest.approx(tau)
        own = signs(scores)
        assert effect.significant[k, 0] == sum(map(abs, own.values()))
        assert effect.kept.value[k, 0] == sum(own[p] == reference[p] != 0 for p in own)
        assert effect.lost[k, 0] == sum(reference[p] != 0 == own[p] for p in own)
        assert effect.new[k, 0] == sum(own[p] != 0 == reference[p] for p in own)
        assert effect.reversed[k, 0] == sum(own[p] == -reference[p] != 0 for p in own)
        order = stats.rankdata(-scores.means()[0], method="min")
        assert effect.rank[k, 0].tolist() == order.tolist()
    assert effect.reference == "the gold judgments"
    assert effect.reference_means[0] == pytest.approx(truth.means()[0])


def test_the_ap_correlation_takes_the_reference_as_gold() -> None:
    """By hand: the reference ranks a, b, c; the method ranks b, a, c. Of rank 2 (a), b above is wrong: 0 of 1; of rank
    3 (c), both above are right: 2 of 2. τ_ap = 2 / 2 · (0 + 1) − 1 = 0."""
    qrels = {"1": {"d1": 1, "d2": 0, "d3": 0, "d4": 0}}
    labels = [("1", "d1", "x", 0), ("1", "d2", "x", 0), ("1", "d3", "x", 1), ("1", "d4", "x", 0)]
    runs = {
        "a": {"1": {"d1": 9.0, "d3": 8.0}},
        "b": {"1": {"d3": 9.0, "d1": 8.0}},
        "c": {"1": {"d4": 9.0, "d2": 8.0, "d1": 7.0, "d3": 6.0}},
    }
    effect = merge_effect(labels, runs, "RR", methods=["majority"], gold=qrels, resamples=0)
    assert effect.reference_rank.tolist() == [[1, 2, 3]]
    assert effect.rank.tolist() == [[[2, 1, 3]]]
    assert effect.tau_ap.value.item() == pytest.approx(0)
    assert effect.tau.value.item() == pytest.approx(1 / 3)
    assert effect.columns()["change"].tolist() == [1, -1, 0]


def test_without_gold_the_first_method_is_the_reference() -> None:
    labels, runs, _ = simulated(seed=2)
    effect = merge_effect(labels, runs, ["AP", "P@3"], methods=["majority", "aware"], resamples=0)
    assert effect.reference == "majority"
    assert effect.tau.value[0].tolist() == [1, 1]
    assert effect.lost[0].tolist() == effect.new[0].tolist() == [0, 0]
    assert effect.kept.value[0].tolist() == effect.significant[0].tolist()


def test_an_assessor_who_is_drawn_twice_counts_as_two() -> None:
    labels = Labels.of([("1", "d1", "anna", 1), ("1", "d1", "ben", 0), ("1", "d2", "ben", 1), ("1", "d1", "cleo", 0)])
    drawn = with_assessors(labels, np.array([0, 0, 1]))
    assert drawn.counts().tolist() == [[1, 2], [0, 1]]
    assert drawn.matrix().tolist() == [[1, 1, 0], [-1, -1, 1]]
    assert merge(drawn).label.tolist() == [1, 1]


def test_intervals_are_those_of_t_and_of_percentiles_over_resampled_assessors() -> None:
    """The same draws, with labels made by hand and scored by public functions."""
    labels, runs, gold = simulated(seed=3, assessors=5)
    methods, resamples = ["majority", "aware"], 12
    effect = merge_effect(labels, runs, "P@3", methods=methods, gold=gold, resamples=resamples, level=0.8, seed=7)
    names = list(dict.fromkeys(worker for _, _, worker, _ in labels))
    rng = np.random.default_rng(7)
    truth = cf.evaluate(gold, runs, "P@3").means()[0]
    means, taus = [], []
    for _ in range(resamples):
        drawn = [names[i] for i in rng.integers(5, size=5)]
        sample = [(t, d, f"{w} {i}", label) for i, w in enumerate(drawn) for t, d, who, label in labels if who == w]
        own = [scored(sample, runs, method, "P@3").means()[0] for method in methods]
        means.append(own)
        taus.append([stats.kendalltau(row, truth).statistic for row in own])
    margin = stats.t.ppf(0.9, 4) * np.sqrt(5 / 4) * np.std(means, axis=0)
    margin[margin == 0] = np.nan
    value = effect.means.value[:, 0]
    assert effect.means.low[:, 0] == pytest.approx(np.maximum(value - margin, 0), nan_ok=True)
    assert effect.means.high[:, 0] == pytest.approx(np.minimum(value + margin, 1), nan_ok=True)
    low, high = np.quantile(taus, [0.1, 0.9], axis=0)
    assert effect.tau.low[:, 0] == pytest.approx(low)
    assert effect.tau.high[:, 0] == pytest.approx(high)
    full = [scored(labels, runs, method, "P@3").means()[0] for method in methods]
    stable = [np.mean([stats.kendalltau(row[k], full[k]).statistic for row in means]) for k in range(2)]
    assert effect.stability[:, 0] == pytest.approx(stable)


def test_a_value_outside_its_interval_is_explained() -> None:
    outcomes = set()
    for seed in range(8):
        labels, runs, gold = simulated(seed=seed, assessors=3)
        effect = merge_effect(labels, runs, "AP", methods=["majority"], gold=gold, resamples=3)
        outside = not effect.tau.low.item() <= effect.tau.value.item() <= effect.tau.high.item()
        assert outside == any(note.startswith("a τ is outside its interval") for note in effect.notes)
        outcomes.add(outside)
    assert outcomes == {True, False}


def test_coarser_scales_are_methods_of_their_own() -> None:
    labels, runs, _ = simulated(seed=4, grades=4)
    effect = merge_effect(labels, runs, "AP", methods=["majority"], scales=["0/123", "012/3", ">=2"], resamples=0)
    assert effect.methods == ("majority", "majority on 0/123", "majority on 012/3", "majority on >=2")
    binary = [(t, d, w, int(label >= 2)) for t, d, w, label in labels]
    assert effect.means.value[3, 0] == pytest.approx(scored(binary, runs, "majority", "AP").means()[0])


def test_topics_that_only_one_side_has_are_noted() -> None:
    labels, runs, gold = simulated(seed=5)
    gold = {topic: grades for topic, grades in gold.items() if topic != "q0"} | {"q9": {"d1": 1}}
    effect = merge_effect(labels, runs, "P@3", methods=["majority"], gold=gold, resamples=0)
    assert effect.topics == ("q1", "q2", "q3", "q4", "q5")
    assert "1 topic not in the gold judgments, left out: q0" in effect.notes
    assert "1 topic not in the labels, left out: q9" in effect.notes


def test_lower_is_better_is_respected() -> None:
    """With a measure of cost the ranks turn round, and so does the direction of τ_ap."""
    labels, runs, gold = simulated(seed=6)
    effect = merge_effect(labels, runs, "ESL(wanted=1)", methods=["majority"], gold=gold, resamples=0)
    means = effect.means.value[0, 0]
    assert effect.rank[0, 0].tolist() == stats.rankdata(means, method="min").tolist()


def test_one_assessor_has_no_intervals() -> None:
    labels, runs, _ = simulated(assessors=1)
    effect = merge_effect(labels, runs, "AP", methods=["majority", "aware"])
    assert effect.resamples == 0
    assert "there is one assessor, so assessors cannot be resampled and there are no intervals" in effect.notes
    assert effect.means.value[0] == pytest.approx(effect.means.value[1])


def test_ctrl_c_keeps_what_is_done() -> None:
    labels, runs, _ = simulated()

    def stop(done: int, total: int) -> None:
        if (done, total) == (3, 50):
            raise KeyboardInterrupt

    with pytest.warns(cf.CranfieldWarning, match="interrupted after 3 of 50 resamples of assessors"):
        effect = merge_effect(labels, runs, "AP", methods=["majority"], resamples=50, progress=stop)
    assert effect.resamples == 3
    same = merge_effect(labels, runs, "AP", methods=["majority"], resamples=3)
    assert effect.means.low.tolist() == same.means.low.tolist()


def test_scores_that_are_undefined_are_noted() -> None:
    labels, runs, _ = simulated()
    effect = merge_effect(labels, runs, "AP", methods=["majority", "dawid-skene:expected"], scales=[], resamples=0)
    assert np.isfinite(effect.means.value[0]).all()
    labels = [(t, d, w, 0 if t == "q0" else label) for t, d, w, label in labels]
    effect = merge_effect(labels, runs, "AP", methods=["majority"], resamples=0)
    assert "majority: AP is undefined on 1 topic, left out of its means" in effect.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["majorty"]}, "no method 'majorty'; did you mean 'majority'"),
        ({"methods": ["aware:frob"]}, "no method 'aware:frob'; did you mean 'aware:frobenius'"),
        ({"methods": []}, "there are no methods"),
        ({"gold": {"x": {"d1": 1}}}, "labels and gold judgments have no topic in common"),
        ({"level": 2}, "level == 2, must be between"),
        ({"resamples": -1}, "resamples == -1, must be a whole number"),
        ({"test": "u"}, "no test 'u'"),
        ({"scales": ["0/1/2"]}, "'2' is not among the labels 0, 1"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], message: str) -> None:
    labels, runs, _ = simulated()
    with pytest.raises(CranfieldError, match=message):
        merge_effect(labels, runs, "AP", **options)


def test_one_run_has_no_ranking() -> None:
    labels, runs, _ = simulated()
    with pytest.raises(CranfieldError, match="there is one run; a ranking needs 2 or more"):
        merge_effect(labels, {"s0": runs["s0"]}, "AP")


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("0/123", [0, 1, 1, 1]),
        ("01/23", [0, 0, 1, 1]),
        ("0/1/23", [0, 1, 2, 2]),
        ("0+1/2+3", [0, 0, 1, 1]),
        (">=2", [0, 0, 1, 1]),
        (">=1>=2.5", [0, 1, 1, 2]),
    ],
)
def test_scales_collapse_labels(scale: str, expected: list[int]) -> None:
    labels = Labels.of([("t", f"w{i}", i) for i in range(4)])
    collapsed = collapse(labels, scale)
    assert collapsed.label.tolist() == expected
    assert collapsed.values.tolist() == list(range(max(expected) + 1))


def test_words_and_magnitudes_collapse() -> None:
    words = Labels.of([("t", "a", "no"), ("t", "b", "partly"), ("t", "c", "fully")], scale=["no", "partly", "fully"])
    assert collapse(words, "no/partly+fully").label.tolist() == [0, 1, 1]
    magnitudes = Labels.of([("t", "a", 0.5), ("t", "b", 120), ("t", "c", 49.9)])
    assert collapse(magnitudes, ">=50").label.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("0123", "expected two groups of labels or more, such as 0/123, or limits: >=2"),
        ("0//123", "expected two groups of labels or more"),
        ("01/123", "label '1' is in two groups"),
        ("0/1", "no group for '2', '3'; every label needs one"),
        ("0/12345", "'4', '5' is not among the labels"),
        (">=2>=1", "limits must rise"),
        (">=50", "gives all labels the same grade; labels are between 0 and 3"),
    ],
)
def test_wrong_scales_are_refused(scale: str, message: str) -> None:
    labels = Labels.of([("t", f"w{i}", i) for i in range(4)])
    with pytest.raises(CranfieldError, match=message):
        collapse(labels, scale)


def test_tests_that_fail_are_counted() -> None:
    """One topic: no test is possible. Two methods and two measures, once for all assessors and once for 3 resamples."""
    labels, runs, _ = simulated(seed=1)
    one = [row for row in labels if row[0] == "q0"]
    runs = {name: {"q0": lists["q0"]} for name, lists in runs.items()}
    effect = merge_effect(one, runs, ["AP", "nDCG@5"], methods=["majority", "aware"], resamples=3)
    (note,) = (note for note in effect.notes if "test failed" in note)
    assert note.startswith("the t test failed 16 of 16 times (methods, measures and resamples); these pairs count as")
    assert "AP: 1 topic with scores of all runs, a test needs 2 or more" in note
    assert effect.significant.sum() == 0


def test_the_reason_of_a_test_that_raises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, runs, _ = simulated(seed=1)
    assert not any("test failed" in note for note in merge_effect(labels, runs, "AP", resamples=0).notes)

    def fail(*_: Any) -> None:
        raise CranfieldError("too few topics for this test")

    test = TESTS.find("t")
    module = sys.modules["cranfield.building.effect.merge_effect"]  # the package has a function of this name
    monkeypatch.setattr(module, "TESTS", Registry("test", [replace(test, engine=fail)]))
    effect = merge_effect(labels, runs, "AP", methods=["majority", "aware"], resamples=0)
    (note,) = (note for note in effect.notes if "test failed" in note)
    assert "failed 2 of 2 times" in note
    assert note.endswith("AP: too few topics for this test")
