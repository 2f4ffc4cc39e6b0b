"""AWARE: scores averaged over assessors, and the weights of assessors."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield import CranfieldError
from cranfield.building.assessor_labels import Labels
from cranfield.building.effect import aware, aware_weights, merge_effect
from cranfield.building.effect.aware import GAPS, _random_grades
from cranfield.building.effect.labelled_runs import LabelledRuns
from cranfield.errors import NotedWarning
from cranfield.scores.scores import Scores
from tests.building.effect.simulated_labels import simulated
from tests.oracles import assessor_weights as slow

pytestmark = pytest.mark.filterwarnings("ignore:weights by tau")
SLOW = {
    "frobenius": slow.slow_frobenius, "rmse": slow.slow_rmse, "kl": slow.slow_kl, "tau": slow.slow_tau,
    "tau-ap": slow.slow_tau_ap,
}  # fmt: skip


def by_assessor(labels: list[tuple[str, str, str, int]]) -> list[dict[str, dict[str, int]]]:
    """The judgments of each assessor, in order of appearance."""
    qrels: dict[str, dict[str, dict[str, int]]] = {}
    for topic, doc, worker, label in labels:
        qrels.setdefault(worker, {}).setdefault(topic, {})[doc] = label
    return list(qrels.values())


def as_dict(scores: Scores) -> dict[tuple[str, str], float]:
    values = scores.values[0]
    return {
        (run, topic): float(values[r, t])
        for r, run in enumerate(scores.runs)
        for t, topic in enumerate(scores.topics)
        if not np.isnan(values[r, t])
    }


@pytest.mark.filterwarnings("ignore:.*without judgments ignored")
@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
def test_uniform_weights_give_the_mean_of_pytrec_eval_on_each_assessor(share: float) -> None:
    labels, runs, _ = simulated(seed=2, share=share)
    expected = slow.averaged([slow.average_precision(qrels, runs) for qrels in by_assessor(labels)], [1] * 4)
    assert as_dict(aware(labels, runs, "AP")) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_given_weights_weigh_the_scores_of_evaluate() -> None:
    labels, runs, _ = simulated(seed=3, share=0.7, grades=4)
    weights = {"w0": 0.5, "w1": 0.25, "w2": 0.0, "w3": 2}
    names = list(dict.fromkeys(worker for _, _, worker, _ in labels))
    for measure in ("nDCG@5", "P@3", "RR"):
        parts = [as_dict(cf.evaluate(qrels, runs, measure)) for qrels in by_assessor(labels)]
        expected = slow.averaged(parts, [weights[name] for name in names])
        assert as_dict(aware(labels, runs, measure, weights=weights)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gap", "by_topic"),
    [*((gap, False) for gap in GAPS), ("frobenius", True), ("rmse", True), ("kl", True)],  # single topics have ties
)
def test_learned_weights_follow_the_formula(gap: str, by_topic: bool) -> None:
    """Random assessors are the same; scores by pytrec_eval, distances by loops, the smallest of the means of rates."""
    labels, runs, _ = simulated(seed=4, share=0.8)
    rates, replicates = (0.1, 0.5), 3
    joined = LabelledRuns(Labels.of(labels), runs, "AP")
    drawn = _random_grades(joined, rates, replicates, 1, seed=9)
    items = list(zip(joined.labels.topics, joined.labels.docs, strict=True))

    def matrix(scores: dict[tuple[str, str], float]) -> np.ndarray:
        return np.array([[scores.get((run, topic), np.nan) for topic in joined.topics] for run in joined.runs])

    topics: list[Any] = [slice(t, t + 1) for t in range(len(joined.topics))] if by_topic else [slice(None)]
    nearest = np.empty((len(joined.labels.workers), len(topics)))
    for k, own in enumerate(by_assessor(labels)):
        mine = matrix(slow.average_precision(own, runs))
        for place, part in enumerate(topics):
            means = []
            for rate in range(len(rates)):
                gaps = []
                for r in range(replicates):
                    random: dict[str, dict[str, int]] = {}
                    for i, (topic, doc) in enumerate(items):
                        if doc in own.get(topic, {}):
                            random.setdefault(topic, {})[doc] = int(drawn[rate, r, i])
                    theirs = matrix(slow.average_precision(random, runs))
                    both = ~np.isnan(mine[:, part]) & ~np.isnan(theirs[:, part])
                    if both.any():
                        gaps.append(SLOW[gap](mine[:, part].tolist(), theirs[:, part].tolist()))
                if gaps:
                    means.append(np.mean(gaps))
            nearest[k, place] = min(means) if means else 0.0
    found = aware_weights(
        labels, runs, "AP", weights=gap, rates=rates, replicates=replicates, power=2, by_topic=by_topic, seed=9
    )
    expected = nearest**2 / (nearest**2).sum(axis=0)
    assert found.weight[0] == pytest.approx(expected)
    per_assessor = [slow.average_precision(own, runs) for own in by_assessor(labels)]
    scores = as_dict(
        aware(labels, runs, "AP", weights=gap, rates=rates, replicates=replicates, power=2, by_topic=by_topic, seed=9)
    )
    for t, topic in enumerate(joined.topics):
        column = expected[:, t if by_topic else 0]
        by_hand = slow.averaged([{k: v for k, v in part.items() if k[1] == topic} for part in per_assessor], column)
        assert {key: value for key, value in scores.items() if key[1] == topic} == pytest.approx(by_hand)


def test_random_assessors_have_the_rates_that_are_asked_for() -> None:
    labels, runs, _ = simulated(seed=5, grades=4)
    joined = LabelledRuns(Labels.of(labels), runs, "AP")
    grades = _random_grades(joined, (0.05, 0.5), 400, 1, seed=0)
    size = grades[0].size
    for rate, drawn in zip((0.05, 0.5), grades, strict=True):
        assert (drawn >= 1).mean() == pytest.approx(rate, abs=4 * (rate * (1 - rate) / size) ** 0.5)
    given = np.array([label for *_, label in labels])
    for grade in (1, 2, 3):
        share = (given == grade).sum() / (given >= 1).sum()
        assert (grades[1] == grade).sum() / (grades[1] >= 1).sum() == pytest.approx(share, abs=0.02)


def test_an_assessor_who_labels_at_random_weighs_less_than_a_careful_one() -> None:
    """Three assessors with the truth, one who calls half of the documents relevant, by the toss of a coin."""
    labels, runs, gold = simulated(seed=6, grades=2)
    labels = [(t, d, w, gold[t][d]) for t, d, w, _ in labels if w != "w3"]
    rng = np.random.default_rng(1)
    labels += [(t, d, "coin", int(rng.random() < 0.5)) for t in gold for d in gold[t]]
    found = aware_weights(labels, runs, "AP", weights="frobenius", replicates=30)
    assert found.workers[-1] == "coin"
    assert found.weight[0, -1, 0] == found.weight[0, :, 0].min()


@pytest.mark.parametrize("kind", ["tau", "tau-ap", "frobenius"])
def test_weights_by_rankings_of_few_runs_are_cautioned(kind: str) -> None:
    """Three runs, an assessor who is right on 90% of documents, and one on 55%."""
    rng = np.random.default_rng(1)
    truth = rng.random((10, 30)) < 0.2
    labels = [
        (str(t), f"d{d}", name, int(truth[t, d] == (rng.random() < right)))
        for name, right in (("good", 0.9), ("bad", 0.55))
        for t in range(10)
        for d in range(30)
    ]
    scores = {f"r{r}": truth * r / 4 + rng.normal(0, 1, truth.shape) for r in range(20)}
    runs = {
        name: {str(t): {f"d{d}": float(x) for d, x in enumerate(row)} for t, row in enumerate(table)}
        for name, table in scores.items()
    }
    three = {name: runs[name] for name in ("r0", "r1", "r2")}
    if kind == "frobenius":
        found = aware_weights(labels, three, "AP", weights=kind)
        good, bad = found.weight[0, :, 0]
        assert good > bad
        assert not any("chance" in note for note in found.notes)
        return
    with pytest.warns(NotedWarning, match=f"weights by {kind} from 3 runs, fewer than 20, are mostly chance"):
        found = aware_weights(labels, three, "AP", weights=kind)
    good, bad = found.weight[0, :, 0]
    assert good < bad  # what the caution is about
    assert any("mostly chance" in note for note in found.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aware_weights(labels, runs, "AP", weights=kind, replicates=2)
    with pytest.warns(NotedWarning):
        effect = merge_effect(labels, three, "AP", methods=["majority", f"aware:{kind}"], resamples=0)
    assert any("mostly chance" in note for note in effect.notes)


def test_a_topic_that_an_assessor_did_not_label_is_scored_by_the_others() -> None:
    labels = [("1", "d1", "anna", 1), ("1", "d2", "anna", 0), ("2", "d1", "anna", 1), ("1", "d1", "ben", 1)]
    labels += [("1", "d2", "ben", 1), ("2", "d2", "cleo", 0)]
    runs = {"a": {"1": {"d2": 2.0, "d1": 1.0}, "2": {"d1": 1.0, "d2": 0.5}}}
    scores = aware(labels, runs, "AP")
    assert scores.values.tolist() == [[[0.75, 1.0]]]  # (0.5 + 1) / 2 by anna and ben; 1 by anna alone
    assert scores.notes == (
        "order: score",
        "AWARE: 3 assessors, all with the same weight",
        "2 topics are not labelled by every assessor, and scored by those who labelled them: 1, 2",
        "AP: undefined on 1 topic of an assessor, left out of the average over assessors",
    )


def test_scores_can_be_compared_and_written(tmp_path: Path) -> None:
    labels, runs, _ = simulated()
    scores = aware(labels, runs, ["AP", "P@3"])
    assert cf.compare(scores, "AP").comparisons == 10
    scores.to_csv(tmp_path / "scores.csv")
    assert Scores.read(tmp_path / "scores.csv").means().tolist() == scores.means().tolist()


@pytest.mark.filterwarnings("ignore:.*no retrieved document is judged")
def test_one_assessor_and_runs_without_labelled_documents_are_noted() -> None:
    scores = aware([("1", "d1", "anna", 1)], {"a": {"1": {"d1": 1.0}}, "b": {"1": {"d9": 1.0}}}, "AP")
    assert scores.values.tolist() == [[[1.0], [0.0]]]
    assert "1 run retrieves no labelled document: b" in scores.notes
    assert "there is one assessor, whose scores are taken as they are" in scores.notes


def test_weights_that_are_all_zero_become_equal() -> None:
    """All scores are 1 with any labels, so no assessor differs from a random one."""
    labels = [(t, d, w, int(d == "d1" or w == "ben")) for t in "12" for d in ("d1", "d2") for w in ("anna", "ben")]
    runs = {"a": {t: {"d1": 1.0} for t in "12"}}
    found = aware_weights(labels, runs, "RR", weights="tau")
    assert found.weight.tolist() == [[[0.5], [0.5]]]
    assert "2 assessors without a distance to random assessors, weight 0: anna, ben" in found.notes
    assert "all weights are 0 for 1 measure, where assessors get the same weight" in found.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "frobenus"}, "no kind of weights or file 'frobenus'; did you mean 'frobenius'"),
        ({"weights": {"w0": 0, "w1": 0, "w2": 0, "w3": 0}}, "all weights are 0; give at least one assessor"),
        ({"weights": {"w0": 1}}, "no weight for 3 assessors: w1, w2, w3"),
        ({"weights": {"w0": 1, "w1": -1, "w2": 0, "w3": 0}}, "the weight of w1 is -1, must be 0 or above"),
        ({"weights": 3}, "weights == 3, must be one of uniform"),
        ({"rates": (2,), "weights": "kl"}, "rates == 2, must be between 0 and 1"),
        ({"rates": (), "weights": "kl"}, "must be one or more probabilities"),
        ({"replicates": 0, "weights": "kl"}, "replicates == 0, must be a whole number"),
        ({"power": 0, "weights": "kl"}, "power == 0, must be above 0"),
        ({"rel": 5, "weights": "kl"}, "no label is at or above 5"),
        ({"rel": 0, "weights": "kl"}, "no label is below 0"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], message: str) -> None:
    labels, runs, _ = simulated()
    with pytest.raises(CranfieldError, match=message):
        aware(labels, runs, "AP", **options)


def test_weights_are_read_from_a_file(tmp_path: Path) -> None:
    labels, runs, _ = simulated()
    path = tmp_path / "weights.csv"
    path.write_text("w0,1\nw1,0\nw2,0\nw3,3\n")
    given = {"w0": 1, "w1": 0, "w2": 0, "w3": 3}
    assert as_dict(aware(labels, runs, "AP", weights=path)) == as_dict(aware(labels, runs, "AP", weights=given))
    path.write_text("w0,many\n")
    with pytest.raises(CranfieldError, match=r"weights.csv:1: assessor 'w0': the weight is 'many', expected a number"):
        aware(labels, runs, "AP", weights=path)


def test_labels_need_topics() -> None:
    with pytest.raises(CranfieldError, match="the topics of items are unknown"):
        aware([("t1", "anna", 1)], {"a": {"1": {"d1": 1.0}}}, "AP")
