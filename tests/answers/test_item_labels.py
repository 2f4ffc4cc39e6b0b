"""Classes, grades and clusters that systems give to items; scikit-learn is the witness where it has the measure."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from cranfield import DataError, UsageError
from cranfield.answers.item_labels import (
    MEASURES_OF,
    TASKS,
    closeness,
    label_scores,
    read_gold_labels,
    read_item_labels,
)

RNG = np.random.default_rng(7)
TRUE = RNG.integers(1, 6, 200)
OWN = np.where(RNG.random(200) < 0.6, TRUE, RNG.integers(1, 6, 200))


def labelled(values: np.ndarray) -> dict[str, dict[str, str]]:
    return {"all": {f"i{at}": str(value) for at, value in enumerate(values.tolist())}}


def scored(task: str, own: np.ndarray = OWN, true: np.ndarray = TRUE, **settings: object) -> dict[str, float]:
    scores = label_scores({"mine": labelled(own)}, labelled(true), task=task, **settings)  # type: ignore[arg-type]
    return dict(zip(scores.measures, scores.values[:, 0, 0].tolist(), strict=True))


def test_classification_is_that_of_scikit_learn() -> None:
    found = scored("classification", per_class=True)
    expected = {"accuracy": metrics.accuracy_score(TRUE, OWN)}
    for kind in ("micro", "macro"):
        values = metrics.precision_recall_fscore_support(TRUE, OWN, average=kind)
        expected |= {f"{kind}-{letter}": value for letter, value in zip("PRF", values, strict=False)}
    for letter, values in zip("PRF", metrics.precision_recall_fscore_support(TRUE, OWN), strict=False):
        expected |= {f"{letter}({label})": value for label, value in enumerate(values.tolist(), 1)}
    assert found == pytest.approx(expected)


def test_f_with_a_beta_is_that_of_scikit_learn() -> None:
    expected = metrics.fbeta_score(TRUE, OWN, beta=2, average="macro")
    assert scored("classification", beta=2)["macro-F"] == pytest.approx(expected)


def test_errors_of_ordinal_labels_are_those_of_scikit_learn() -> None:
    found = scored("ordinal")
    assert found["MAE"] == pytest.approx(metrics.mean_absolute_error(TRUE, OWN))
    assert found["MSE"] == pytest.approx(metrics.mean_squared_error(TRUE, OWN))


def test_closeness_by_hand() -> None:
    """Gold a a b c: prox(a, a) = −log2(1/4) = 2, prox(b, b) = prox(c, c) = −log2(1/8) = 3, in all 2 + 2 + 3 + 3 = 10.

    prox(c, a) = −log2((1/2 + 1 + 2)/4) and prox(b, c) = −log2((1/2 + 1)/4).
    """
    own = {"1": "a", "2": "c", "3": "b"}
    gold = {"1": "a", "2": "a", "3": "b", "4": "c"}
    expected = (2 - math.log2(3.5 / 4) + 3 + 0) / 10  # nothing for item 4, which has no label
    scores = label_scores({"mine": {"all": own}}, {"all": gold}, ["CEM", "MAE"], task="ordinal", class_order="a,b,c")
    assert scores.values[:, 0, 0].tolist() == pytest.approx([expected, (0 + 2 + 0 + 2) / 4])  # c is at most 2 away
    assert "1 item without a label counted as wrong" in " ".join(scores.notes)


def test_closeness_of_all_items_by_the_sum_over_items() -> None:
    def proximity(a: int, b: int) -> float:
        low, high = min(a, b), max(a, b)
        between = sum(1 for g in TRUE if low <= g <= high and g != a)
        return -math.log2((sum(a == TRUE) / 2 + between) / len(TRUE))

    expected = sum(map(proximity, OWN.tolist(), TRUE.tolist())) / sum(map(proximity, TRUE.tolist(), TRUE.tolist()))
    assert closeness(TRUE.astype(float), OWN.astype(float)) == pytest.approx(expected)
    assert closeness(TRUE.astype(float), TRUE.astype(float)) == pytest.approx(1)
    assert math.isnan(closeness(np.ones(3), np.ones(3)))


def test_clusters_by_the_definitions_over_items_and_sets() -> None:
    found = scored("clustering")
    n = len(TRUE)
    precision = [np.mean(TRUE[OWN[d] == OWN] == TRUE[d]) for d in range(n)]
    recall = [np.mean(OWN[TRUE[d] == TRUE] == OWN[d]) for d in range(n)]
    table = metrics.cluster.contingency_matrix(TRUE, OWN)  # classes × clusters
    assert found["purity"] == pytest.approx(table.max(axis=0).sum() / n)
    assert found["inverse-purity"] == pytest.approx(table.max(axis=1).sum() / n)
    assert found["BCubed-P"] == pytest.approx(np.mean(precision))
    assert found["BCubed-R"] == pytest.approx(np.mean(recall))
    p, r = np.mean(precision), np.mean(recall)
    assert found["BCubed-F"] == pytest.approx(2 * p * r / (p + r))
    f = 2 * table / (table.sum(axis=0)[None] + table.sum(axis=1)[:, None])
    assert found["purity-F"] == pytest.approx((table.sum(axis=1) * f.max(axis=1)).sum() / n)


def test_clusters_by_hand() -> None:
    """Clusters ab, cde; classes abc, de. BCubed-P: (1 + 1 + 1/3 + 2/3 + 2/3)/5; -R: (2/3 + 2/3 + 1/3 + 1 + 1)/5."""
    found = scored("clustering", np.array([1, 1, 2, 2, 2]), np.array([1, 1, 1, 2, 2]))
    assert found["purity"] == found["inverse-purity"] == pytest.approx(4 / 5)
    assert [found["BCubed-P"], found["BCubed-R"]] == pytest.approx([11 / 15, 11 / 15])
    assert found["purity-F"] == pytest.approx(3 / 5 * (4 / 5) + 2 / 5 * (4 / 5))


@pytest.mark.parametrize("task", TASKS)
def test_a_perfect_system_has_the_best_scores(task: str) -> None:
    found = scored(task, TRUE)
    best = [0 if name in ("MAE", "MSE") else 1 for name in MEASURES_OF[task]]
    assert list(found.values()) == pytest.approx(best)


def test_items_left_out() -> None:
    """Of 4 items 2 have a label and 1 of them is right; the two without one are alone in their clusters."""
    gold = {"all": {"a": "x", "b": "x", "c": "y", "d": "y"}}
    names = ["accuracy", "micro-P", "micro-R", "purity", "inverse-purity"]
    scores = label_scores({"mine": {"all": {"a": "x", "b": "y", "z": "x"}}}, gold, names)
    assert scores.values[:, 0, 0].tolist() == [1 / 4, 1 / 2, 1 / 4, 1, 1 / 2]
    assert "1 item without a gold label left out" in " ".join(scores.notes)


def test_topics_are_scored_apart_and_read_from_tables(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("topic,item,label\n1,a,x\n1,b,y\n2,a,y\n")
    (tmp_path / "mine.csv").write_text("item,label,topic\na,x,1\nb,x,1\n")
    gold = read_gold_labels(tmp_path / "gold.csv")
    scores = label_scores(read_item_labels([tmp_path / "mine.csv"]), gold, ["accuracy"])
    assert scores.values[0, 0].tolist() == [0.5, 0]
    assert scores.missing[0].tolist() == [False, True]


def test_wrong_labels_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("item,label\na,x\na,y\n")
    with pytest.raises(DataError, match=r"mine\.csv:3: item .?a.? appears twice"):
        read_item_labels(path)
    gold = {"all": {"a": "low", "b": "high"}}
    with pytest.raises(UsageError, match="gold: label 'low' of item 'a' is not a number"):
        label_scores({"mine": gold}, gold, task="ordinal")
    with pytest.raises(UsageError, match="label 'low' of item 'a' is not one of high, medium"):
        label_scores({"mine": gold}, gold, task="ordinal", class_order="high,medium")
