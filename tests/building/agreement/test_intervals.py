"""Intervals and standard errors: against slow versions, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from cranfield.building.agreement import agreement, topic_agreement
from cranfield.building.agreement.agreement_intervals import unseen_units
from cranfield.building.agreement.agreement_settings import settings_of
from cranfield.building.agreement.chance_corrected import COEFFICIENTS
from cranfield.building.assessor_labels import Labels
from tests.building.agreement.test_coefficients import random_labels

LINEAR = [name for name, one in COEFFICIENTS.items() if one.error in ("gwet", "alpha", "overlap")]


def with_topics(labels: Labels, topics: int) -> Labels:
    """The same labels, with items dealt to topics."""
    columns = labels.columns()
    rows = zip(columns["task"].tolist(), columns["assessor"].tolist(), columns["label"].tolist(), strict=True)
    return Labels.of([(f"t{int(item[1:]) % topics}", item, worker, label) for item, worker, label in rows])


def test_the_units_that_were_not_seen_are_items_with_a_disagreement_and_with_an_agreement() -> None:
    """Twice the unit of disagreement is what labels give to which both ways to disagree are added."""
    labels = Labels.of([(f"t{i}", w, int(x)) for i in range(12) for w, x in zip("ab", divmod(i % 4, 2), strict=True)])
    more = [("u", "a", 0), ("u", "b", 1), ("v", "a", 1), ("v", "b", 0)]
    rows = [
        (labels.items[i], labels.workers[w], int(x))
        for i, w, x in zip(labels.item, labels.worker, labels.label, strict=True)
    ]
    settings, _ = settings_of(
        labels, None, relevant=1, unit="item", interval="bootstrap", resamples=0, level=0.95, seed=0
    )
    statistics = settings.statistics(labels, np.arange(12))
    unseen = unseen_units(statistics)
    assert unseen is not None
    sums = np.asarray(statistics.matrix.sum(axis=0))
    found = settings.computed(statistics, sums + 2 * unseen[0])[0]
    assert found == pytest.approx(agreement([*rows, *more], resamples=0).values)
    agreed = settings.computed(statistics, sums + unseen[1])[0]
    assert agreed == pytest.approx(agreement([*rows, ("u", "a", 1), ("u", "b", 1)], resamples=0).values)


@pytest.mark.parametrize("agreed", [10, 17, 20])
def test_percent_agreement_has_the_interval_of_clopper_and_pearson(agreed: int) -> None:
    rows = [(f"t{i}", w, int(w == "b" and i >= agreed)) for i in range(20) for w in "ab"]
    result = agreement(Labels.of(rows, scale=["0", "1"]), ["percent"], resamples=20_000)
    expected = binomtest(agreed, 20).proportion_ci()
    assert (result.low[0], result.high[0]) == pytest.approx((expected.low, expected.high), abs=0.01)


@pytest.mark.parametrize("unit", ["item", "topic"])
def test_standard_errors_are_those_of_a_jackknife(unit: str) -> None:
    """Leave one item or topic out at a time: nearly the same error, as both linearise the coefficient."""
    labels = with_topics(random_labels(2, items=400, share=0.8), 80)
    names = [name for name in LINEAR if name != "alpha-ordinal"]  # whose formula holds the distances of ranks fixed
    names_of = list(labels.items) if unit == "item" else list(labels.topic_names)
    of_label = labels.item if unit == "item" else labels.topic[labels.item]
    left_out = np.array(
        [agreement(labels.select(of_label != u), names, unit="item", resamples=0).values for u in range(len(names_of))]
    )
    size = len(names_of)
    expected = np.sqrt((size - 1) / size * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    assert agreement(labels, names, unit=unit, resamples=0).errors == pytest.approx(expected, rel=0.02)


def test_the_error_of_ordinal_alpha_is_close_to_the_bootstrap() -> None:
    labels = random_labels(4, items=400, share=0.8)
    result = agreement(labels, ["alpha-ordinal"], unit="item", resamples=2000)
    assert result.errors[0] == pytest.approx((result.high[0] - result.low[0]) / (2 * 1.96), rel=0.15)


def test_normal_intervals_are_the_value_and_1_96_errors() -> None:
    result = agreement(random_labels(2), ["fleiss", "ac1"], interval="normal")
    assert result.low == pytest.approx(result.values - 1.959964 * result.errors, rel=1e-6)
    assert result.high == pytest.approx(result.values + 1.959964 * result.errors, rel=1e-6)


def test_the_same_seed_gives_the_same_intervals() -> None:
    labels = random_labels(2)
    one, again, other = (agreement(labels, ["alpha"], seed=seed) for seed in (5, 5, 6))
    assert one.low[0] == again.low[0]
    assert one.low[0] != other.low[0]


def test_topics_are_resampled_if_there_are_ten() -> None:
    labels = random_labels(1, items=60)
    assert agreement(labels, ["percent"]).unit == "item"
    assert agreement(with_topics(labels, 9), ["percent"]).unit == "item"
    assert agreement(with_topics(labels, 10), ["percent"]).unit == "topic"


def test_intervals_cover_the_true_agreement() -> None:
    """Three assessors give the true label, 0 or 1 with equal chance, with probability 0.8, else the other one.

    Two of them agree with probability 0.8² + 0.2² = 0.68; all shares are 1/2, so κ, AC1 and α are 0.36 in the
    population. Of 200 intervals of level 90%, about 180 cover it: fewer than 165 or more than 193 have a probability
    below 0.01 if the level is right.
    """
    names = ["fleiss", "ac1", "alpha"]
    covered = {"bootstrap": np.zeros(3), "normal": np.zeros(3)}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 80)
        rows = [(f"i{i}", f"w{g}", int(truth[i] ^ (rng.random() < 0.2))) for i in range(80) for g in range(3)]
        labels = Labels.of(rows)
        for kind, hits in covered.items():
            result = agreement(labels, names, interval=kind, resamples=300, level=0.9, seed=seed)
            hits += (result.low <= 0.36) & (result.high >= 0.36)
    assert all(165 <= hit <= 193 for hits in covered.values() for hit in hits), covered


def test_coefficients_of_topics_are_those_of_their_labels_alone() -> None:
    labels = with_topics(random_labels(3, items=60), 4)
    names = ["percent", "fleiss", "alpha-ordinal", "overlap", "conger"]
    result = topic_agreement(labels, names, resamples=200, seed=2)
    for t, topic in enumerate(result.topics):
        alone = labels.select(labels.topic[labels.item] == labels.topic_names.index(topic))
        assert result.values[t] == pytest.approx(agreement(alone, names, resamples=0).values)
        assert (result.low[t] <= result.values[t]).all()
        assert (result.high[t] >= result.values[t]).all()
    assert result.mean == pytest.approx(result.values.mean(axis=0))
    assert result.labels.sum() == len(labels)


def test_a_large_crowd_has_no_cohen_by_default_and_no_interval_on_request() -> None:
    """300 assessors with 10 labels each: two of them share at most a few items."""
    rng = np.random.default_rng(0)
    rows = {(f"i{rng.integers(0, 1000)}", f"w{g}"): int(rng.integers(0, 2)) for g in range(300) for _ in range(10)}
    labels = Labels.of([(*key, label) for key, label in rows.items()])
    result = agreement(labels, resamples=20)
    assert "cohen" not in result.names
    assert "conger" in result.names
    assert any(note.startswith("no Cohen's κ: pairs of assessors share") for note in result.notes)
    asked = agreement(labels, ["cohen"], resamples=20)
    assert np.isnan(asked.low[0])
    assert any("Cohen's κ over pairs has no interval" in note for note in asked.notes)


def test_the_interval_of_kappa_over_pairs_with_few_common_items_contains_the_value() -> None:
    rng = np.random.default_rng(15)
    rows = [
        (f"t{i}", worker, int(rng.integers(0, 5)))
        for i in range(40)
        for worker in rng.choice(list("abcdef"), 2, replace=False)
    ]
    wide = agreement(rows, ["cohen"], resamples=200)
    assert wide.low[0] < wide.values[0] < wide.high[0]
