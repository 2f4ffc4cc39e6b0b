"""Intervals and standard errors: against slow versions, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.building.agreement import agreement, topic_agreement
from cranfield.building.agreement.chance_corrected import COEFFICIENTS
from cranfield.building.agreement.unit_bootstrap import bootstrap, draws, percentile_interval
from cranfield.building.assessor_labels import Labels
from tests.building.agreement.test_coefficients import random_labels

LINEAR = [name for name, one in COEFFICIENTS.items() if one.error in ("gwet", "alpha", "overlap")]


def with_topics(labels: Labels, topics: int) -> Labels:
    """The same labels, with items dealt to topics."""
    columns = labels.columns()
    rows = zip(columns["task"].tolist(), columns["worker"].tolist(), columns["label"].tolist(), strict=True)
    return Labels.of([(f"t{int(item[1:]) % topics}", item, worker, label) for item, worker, label in rows])


def copies(labels: Labels, times: dict[str, int], key: str) -> Labels:
    """The labels with every item, or every item of a topic, as often as it was drawn."""
    columns = labels.columns()
    rows = []
    for i in range(len(labels)):
        for copy in range(times[columns[key][i]]):
            item = f"{columns['task'][i] if key == 'task' else columns['doc'][i]} {copy}"
            rows.append((item, columns["worker"][i], columns["label"][i]))
    return Labels.of(rows, scale=labels.scale)


@pytest.mark.parametrize("unit", ["item", "topic"])
def test_a_resample_is_the_agreement_of_items_or_topics_drawn_with_replacement(unit: str) -> None:
    """The weighted sums give what labels give in which items are repeated as often as they were drawn."""
    labels = with_topics(random_labels(1, items=60, share=0.9), 6)
    names, key = list(COEFFICIENTS), "doc" if unit == "item" else "topic"
    units = list(dict.fromkeys(labels.docs)) if unit == "item" else list(labels.topic_names)
    seed, resamples = 7, 5
    drawn = draws(np.random.default_rng(seed), resamples, len(units)).astype(int)
    slow = []
    for times in drawn:
        number = dict(zip(units, times.tolist(), strict=True))
        slow.append(agreement(copies(labels, number, key), names, unit="item", resamples=0).values)
    result = agreement(labels, names, unit=unit, resamples=resamples, seed=seed)
    low, high = percentile_interval(np.array(slow), 0.95)
    cohen = [name.startswith("cohen") for name in names]
    assert result.low[np.invert(cohen)] == pytest.approx(low[np.invert(cohen)])
    assert result.high[np.invert(cohen)] == pytest.approx(high[np.invert(cohen)])
    # Over several pairs, the interval of Cohen's κ is reflected at the value.
    assert result.low[cohen] == pytest.approx(2 * result.values[cohen] - high[cohen])
    assert result.high[cohen] == pytest.approx(np.minimum(2 * result.values[cohen] - low[cohen], 1))


def test_the_number_of_resamples_held_at_a_time_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an even number of units, a generator draws the same numbers at once or in parts."""
    matrix = np.arange(20.0).reshape(10, 2)
    whole = bootstrap(matrix, lambda sums: sums, 40, 3).result
    monkeypatch.setattr("cranfield.building.agreement.unit_bootstrap.BLOCK", 50)
    assert bootstrap(matrix, lambda sums: sums, 40, 3).result.tolist() == whole.tolist()


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


def test_equal_rows_are_drawn_together_with_the_same_distribution() -> None:
    """With 100 rows of two kinds, the sums have the mean and the variance of 100 draws."""
    matrix = np.repeat([[1.0, 0.0], [0.0, 3.0]], [70, 30], axis=0)
    sums = bootstrap(matrix, lambda sums: sums, 20_000, 1).result
    assert sums.mean(axis=0) == pytest.approx([70, 90], rel=0.01)
    assert sums.var(axis=0) == pytest.approx([100 * 0.7 * 0.3, 9 * 100 * 0.7 * 0.3], rel=0.05)
    assert (sums[:, 0] + sums[:, 1] / 3 == 100).all()


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
