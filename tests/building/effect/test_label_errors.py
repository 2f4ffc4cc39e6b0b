"""Which mislabelled document moves which run: by hand, and by scoring the runs anew with other judgments."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield import UsageError, evaluate
from cranfield.building.effect.label_errors import LabelErrors, label_errors
from cranfield.building.merging import merge

RUNS = {
    "deep": {"1": {f"d{n}": 9.0 - n for n in range(6)}, "2": {f"d{n}": 9.0 - n for n in range(6)}},
    "turned": {"1": {f"d{n}": float(n) for n in range(6)}, "2": {f"d{n}": float(n) for n in range(1, 6)}},
}
GOLD = {"1": {"d0": 1, "d1": 0, "d2": 1, "d3": 0, "d4": 1, "d5": 0}, "2": {f"d{n}": n % 2 for n in range(6)}}


def some_labels() -> list[tuple[str, str, str, int]]:
    """Three assessors, each of whom is wrong in a quarter of the cases."""
    rng = np.random.default_rng(3)
    return [
        (topic, doc, name, int(grade ^ (rng.random() < 0.25)))
        for name in ("anna", "ben", "cleo")
        for topic, docs in GOLD.items()
        for doc, grade in docs.items()
    ]


def by_key(errors: LabelErrors) -> dict[tuple[str, str, str, str], tuple[float, float]]:
    keys = zip(errors.measure, errors.topic, errors.doc, errors.run, strict=True)
    return dict(zip(keys, zip(errors.upstream.tolist(), errors.downstream.tolist(), strict=True), strict=True))


def test_changes_are_those_of_scoring_anew() -> None:
    """Score the runs with all judgments, and with the label of one document corrected."""
    labels = some_labels()
    measures = ["AP", "RR", "P@2"]
    found = by_key(label_errors(labels, RUNS, measures, gold=GOLD))

    def scored(judgments: dict[str, dict[str, float]]) -> dict[tuple[str, str, str], float]:
        scores = evaluate(judgments, RUNS, measures)
        return {
            (measure, run, topic): scores.values[m, r, t]
            for m, measure in enumerate(scores.measures)
            for r, run in enumerate(scores.runs)
            for t, topic in enumerate(scores.topics)
        }

    def corrected(judgments: dict[str, dict[str, float]], topic: str, doc: str) -> dict[str, dict[str, float]]:
        return {**judgments, topic: {**judgments[topic], doc: GOLD[topic][doc]}}

    merged = merge(labels, "majority").to_qrels().to_dict()
    own = {name: {t: {} for t in GOLD} for name in ("anna", "ben", "cleo")}
    for topic, doc, name, grade in labels:
        own[name][topic][doc] = grade
    wrong = {(topic, doc) for topic, doc, _, grade in labels if grade != GOLD[topic][doc]}
    assert {key[1:3] for key in found} == wrong
    upstream, by_assessor = scored(merged), {name: scored(judged) for name, judged in own.items()}
    for (measure, topic, doc, run), (up, down) in found.items():
        key = (measure, run, topic)
        assert up == pytest.approx(upstream[key] - scored(corrected(merged, topic, doc))[key], abs=1e-12)
        changes = [by_assessor[n][key] - scored(corrected(own[n], topic, doc))[key] for n in own]
        assert down == pytest.approx(np.mean(changes), abs=1e-12)


def test_an_impatient_reader_does_not_see_a_wrong_label_far_down() -> None:
    """d2 is at rank 3 of `deep` and at rank 4 of `turned`: P@3 of the first changes by 1/3, that of the other does not.

    Two of three assessors are wrong about d2: downstream the change is two thirds of it.
    """
    labels = [(t, d, n, g) for n in ("anna", "ben", "cleo") for t, docs in GOLD.items() for d, g in docs.items()]
    labels = [(t, d, n, 0 if (t, d) == ("1", "d2") and n != "cleo" else g) for t, d, n, g in labels]
    errors = label_errors(labels, RUNS, ["P@3"], gold=GOLD)
    found = by_key(errors)
    assert found["P@3", "1", "d2", "deep"] == pytest.approx((-1 / 3, -2 / 9))
    assert found["P@3", "1", "d2", "turned"] == (0, 0)
    assert errors.rank.tolist() == [3, 4]
    assert errors.wrong.tolist() == [2, 2]
    rows = {row[1]: row[2:] for row in errors.runs_table().rows}
    assert rows["deep"] == pytest.approx((1, 1 / 3, 1, 2 / 9, -1 / 6, -1 / 9))
    assert rows["turned"] == (0, 0, 0, 0, 0, 0)


def test_pairs_turned_by_hand() -> None:
    """With c alone relevant, `a` has AP 1 and `b` 1/2; with d relevant too, both have 1."""
    runs = {"a": {"1": {"c": 2.0, "d": 1.0}}, "b": {"1": {"d": 2.0, "c": 1.0}}}
    labels = [("1", "c", "anna", 1), ("1", "d", "anna", 1), ("1", "z", "anna", 0)]
    errors = label_errors(labels, runs, ["AP"], gold={"1": {"c": 1, "d": 0}})
    assert errors.turned.tolist() == [1, 1]  # a tie becomes a difference
    assert by_key(errors)["AP", "1", "d", "b"] == (0.5, 0.5)


def test_without_errors_or_gold_it_says_so() -> None:
    labels, runs = [("1", "d0", "anna", 1), ("1", "z", "anna", 0)], {"a": {"1": {"d0": 2.0}}}
    with pytest.raises(UsageError, match="all labels agree with the gold labels"):
        label_errors(labels, runs, gold={"1": {"d0": 1}})
    with pytest.raises(UsageError, match="needs gold labels"):
        label_errors(labels, runs, gold=None)
