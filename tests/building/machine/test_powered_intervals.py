"""Prediction-powered intervals of runs and pairs, and the number of topics they need."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from cranfield.building.machine.powered_intervals import ASSUMPTION, half_width_with, powered_intervals, topics_needed
from cranfield.building.machine.powered_means import powered_means
from cranfield.comparison.corrections import holm
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores

RUNS = ("a", "b", "c")


def scores(n: int = 20, total: int = 120, noise: float = 0.1, seed: int = 0) -> tuple[Scores, Scores]:
    rng = np.random.default_rng(seed)
    topics = [str(i) for i in range(total)]
    truth = rng.beta(2, 3, (2, 3, total)) + np.array([0.0, 0.05, 0.2])[:, None]
    machine = truth + rng.normal(0.1, noise, truth.shape)
    return (
        Scores(["AP", "P@5"], RUNS, topics[:n], truth[:, :, :n]),
        Scores(["AP", "P@5"], RUNS, topics, machine),
    )


def test_rows_are_measures_and_runs_and_match_the_arithmetic() -> None:
    human, machine = scores()
    result = powered_intervals(human, machine)
    assert list(zip(result.measure, result.run, strict=True)) == [(m, r) for m in ("AP", "P@5") for r in RUNS]
    alone = powered_means(human.values[1, 2:3], machine.values[1, 2:3, :20], machine.values[1, 2:3, 20:])
    assert result.means.estimate[5] == pytest.approx(alone.estimate[0])
    assert result.machine_only[5] == pytest.approx(machine.values[1, 2].mean())
    assert ASSUMPTION in result.notes


def test_differences_are_those_of_topics_and_not_of_means() -> None:
    human, machine = scores()
    result = powered_intervals(human, machine, baseline="b")
    assert list(zip(result.run, result.other, strict=True))[:2] == [("a", "b"), ("c", "b")]  # type: ignore[arg-type]
    y, f = (part.values[0, 2] - part.values[0, 1] for part in (human, machine))
    alone = powered_means(y[None], f[None, :20], f[None, 20:])
    assert result.means.low[1] == pytest.approx(alone.low[0])
    assert result.adjusted is not None
    assert result.adjusted.tolist() == pytest.approx(holm(result.means.p).tolist())
    assert result.differs.tolist() == (result.adjusted <= 0.05).tolist()


def test_all_pairs() -> None:
    human, machine = scores()
    result = powered_intervals(human, machine, pairs=True)
    assert len(result.run) == 2 * 3
    assert result.columns()["differs"].dtype == bool


def test_topics_are_matched_by_name_whatever_their_order() -> None:
    human, machine = scores()
    turned = machine.select(topics=machine.topics[::-1])
    assert powered_intervals(human, turned).means.low.tolist() == pytest.approx(
        powered_intervals(human, machine).means.low.tolist()
    )


def test_topics_without_machine_judgments_are_left_out_and_named() -> None:
    human, machine = scores()
    result = powered_intervals(human, machine.select(topics=machine.topics[2:]))
    assert result.topics == human.topics[2:]
    assert "2 topics without machine judgments, left out: 0, 1" in result.notes


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda h, m: (h, m.select(topics=m.topics[19:])), {}, "1 topic with both judgments, an interval needs 2"),
        (lambda h, m: (h, m), {"baseline": "x"}, "no run 'x'"),
        (lambda h, m: (h, m), {"baseline": "a", "pairs": True}, "exclude each other"),
        (lambda h, m: (h, m.select(runs=["a", "b"])), {}, "no run 'c'"),
        (lambda h, m: (h.select(runs="a"), m), {"pairs": True}, "1 run, a difference needs 2 or more"),
        (lambda h, m: (h.select(runs="a"), m), {"baseline": "a"}, "is the only run"),
        (lambda h, m: (h, m), {"correction": "x"}, "no correction 'x'"),
    ],
)
def test_bad_input(change: object, options: dict[str, object], message: str) -> None:
    human, machine = change(*scores())  # type: ignore[operator]
    with pytest.raises(UsageError, match=message):
        powered_intervals(human, machine, **options)  # type: ignore[arg-type]


def test_notes_count_undefined_scores_and_say_when_the_machine_adds_nothing() -> None:
    human, machine = scores()
    values = human.values.copy()
    values[0, 0, :3] = np.nan
    human = Scores(human.measures, human.runs, human.topics, values)
    notes = powered_intervals(human, machine.select(topics=machine.topics[:21])).notes
    assert any("undefined on 3 topics with both judgments and on 0" in note for note in notes)
    assert any("the intervals are the classical ones" in note for note in notes)


def test_the_half_width_by_hand() -> None:
    """n = 10 of T = 100; s_y² = .04, s_f² = .05, s_yf = .03: λ = .9 · .6 = .54."""
    variance = (0.04 - 2 * 0.54 * 0.03 + 0.54**2 * 0.05) / 10 + 0.54**2 * 0.05 / 90
    expected = student.ppf(0.975, 9) * math.sqrt(variance)
    assert half_width_with(10, (0.04, 0.05, 0.03), 100, 0.95) == pytest.approx(expected)


def test_the_number_of_topics_is_the_smallest_that_is_enough() -> None:
    human, machine = scores(n=30)
    answer = topics_needed(human, machine, 0.05)
    for row, needed in enumerate(answer.needed.tolist()):
        m, r = divmod(row, 3)
        moments = np.cov(human.values[m, r], machine.values[m, r, :30])
        pilot = moments[0, 0], moments[1, 1], moments[0, 1]
        widths = [half_width_with(n, pilot, 120, 0.95) for n in range(2, 121)]
        assert needed == 2 + next(i for i, width in enumerate(widths) if width <= 0.05)  # by trying all
        assert answer.correlation[row] == pytest.approx(
            np.corrcoef(human.values[m, r], machine.values[m, r, :30])[0, 1]
        )
        assert needed <= answer.classical[row]


def test_a_simulated_experiment_of_that_size_has_about_that_width() -> None:
    human, machine = scores(n=60, total=400, noise=0.05, seed=3)
    answer = topics_needed(human.select(measures="AP", runs="a"), machine, 0.03)
    needed = int(answer.needed[0])
    widths = []
    for seed in range(20):
        h, m = scores(n=needed, total=400, noise=0.05, seed=100 + seed)
        means = powered_intervals(h.select(measures="AP", runs="a"), m).means
        widths.append((means.high - means.low).item() / 2)
    assert np.median(widths) == pytest.approx(0.03, rel=0.25)  # the jackknife is wider for so few topics


def test_a_width_out_of_reach_is_undefined_and_counted() -> None:
    human, machine = scores()
    answer = topics_needed(human, machine, 0.001)
    assert np.isnan(answer.needed).all()
    assert (answer.classical > 120).all()
    assert any("all 120 topics are too few" in note for note in answer.notes)
    more = topics_needed(human, machine, 0.001, machine_topics=10_000_000)
    assert not np.isnan(more.needed).any()


def test_labels_are_topics_times_judgments() -> None:
    human, machine = scores(n=30)
    answer = topics_needed(human, machine, 0.05, judgments_per_topic=12.5)
    assert answer.columns()["labels needed"].tolist() == np.ceil(answer.needed * 12.5).tolist()
    assert "labels needed" not in [column.header for column in topics_needed(human, machine, 0.05).table().columns]
