"""Figures of machine judges: their data, and that they can be drawn with few and with many runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cranfield.building.effect.label_errors import LabelErrors
from cranfield.building.machine.judge_agreement import JudgeConfusion, TopicAgreement
from cranfield.building.machine.judge_rankings import RunRanks
from cranfield.building.machine.powered_intervals import PoweredIntervals, powered_intervals
from cranfield.errors import UsageError
from cranfield.report.figures import (
    Figure,
    describe_judge_confusion,
    describe_judge_ranks,
    describe_powered,
    describe_topic_leniency,
)
from cranfield.scores.scores import Scores


def named(*names: str) -> np.ndarray:
    return np.array(names, dtype=object)


def ranks(runs: int) -> RunRanks:
    """The human ranking and two machine rankings, one the same and one turned."""
    names = [f"run{i}" for i in range(runs)] * 2
    human = np.tile(np.arange(1, runs + 1), 2)
    machine = np.concatenate([np.arange(1, runs + 1), np.arange(runs, 0, -1)])
    judges = named(*["same"] * runs, *["turned"] * runs)
    both = named(*["both"] * 2 * runs)
    means = np.zeros((2, 2 * runs))
    change, spread = machine - human, np.tile(np.abs(machine - human)[runs:], 2)
    places = np.stack([human, machine, change])
    return RunRanks(judges, both, named(*["AP"] * 2 * runs), named(*names), means, places, spread, ())


def powered(runs: int, **options: bool) -> PoweredIntervals:
    rng = np.random.default_rng(0)
    truth = rng.random((1, runs, 60))
    names = [f"run{i}" for i in range(runs)]
    human = Scores(["AP"], names, map(str, range(10)), truth[:, :, :10])
    machine = Scores(["AP"], names, map(str, range(60)), truth + rng.normal(0, 0.1, truth.shape))
    return powered_intervals(human, machine, **options)  # type: ignore[arg-type]


def label_errors(runs: int) -> LabelErrors:
    """Two documents and their changes in each run."""
    names = named(*[f"run{i}" for i in range(runs)] * 2)
    docs, ones = named(*["a"] * runs, *["b"] * runs), np.ones(2 * runs, dtype=np.int64)
    change = np.random.default_rng(1).normal(0, 0.1, 2 * runs)
    return LabelErrors(
        named(*["AP"] * 2 * runs), named(*["1"] * 2 * runs), docs, ones * 1.0, ones * 0.0, ones, ones, names, ones,
        change, change / 2, ones, (np.zeros((1, runs)), np.zeros((1, runs))), "majority", "uniform", (),
    )  # fmt: skip


def confusion() -> JudgeConfusion:
    grades = np.array([0.0, 1.0])
    share = np.array([6 / 8, 2 / 8, 1 / 4, 3 / 4])
    return JudgeConfusion(named(*["m"] * 4), np.repeat(grades, 2), np.tile(grades, 2), np.array([6, 2, 1, 3]), share)


def topics() -> TopicAgreement:
    count = np.full(4, 5)
    share = np.array([0.5, 0.6, 0.7, 0.8])
    judges, names = named("a", "a", "b", "b"), named("1", "2", "1", "2")
    return TopicAgreement(judges, names, count, share, share, share - 0.6, count, count)


def test_confusion_is_the_share_of_each_human_grade() -> None:
    figure = describe_judge_confusion(confusion())
    assert figure.columns()["value"].tolist() == [6 / 8, 2 / 8, 1 / 4, 3 / 4]
    assert figure.columns()["row"].tolist()[0] == "human 0 (8)"
    with pytest.raises(UsageError, match="no judge 'x'"):
        describe_judge_confusion(confusion(), "x")


def test_ranks_have_a_column_for_people_and_for_each_judge() -> None:
    figure = describe_judge_ranks(ranks(3))
    assert figure.columns()["judge"].tolist()[:3] == ["human", "same", "turned"]
    assert figure.columns()["rank"].reshape(3, 3).tolist() == [[1, 1, 3], [2, 2, 2], [3, 3, 1]]
    assert figure.subtitle.startswith("2 of 3 runs have another rank under a machine judge")
    with pytest.raises(UsageError, match="no measure 'P@5'"):
        describe_judge_ranks(ranks(3), measure="P@5")


def test_leniency_is_above_0_where_the_machine_is_lenient() -> None:
    columns = describe_topic_leniency(topics()).columns()
    assert dict(zip(columns["system"], columns["mean"].round(6).tolist(), strict=True)) == {"a": -0.05, "b": 0.15}


def test_both_intervals_of_a_run_are_neighbours_best_first() -> None:
    result = powered(3)
    columns = describe_powered(result).columns()
    best = int(np.argmax(result.means.estimate))
    assert columns["system"].tolist()[:2] == [f"run{best}"] * 2
    assert columns["low"][:2].tolist() == [result.means.low[best], result.means.classical_low[best]]
    pairs = describe_powered(powered(3, pairs=True))
    assert "−" in pairs.columns()["system"][0]
    assert pairs.references[0].value == 0


def test_of_many_intervals_the_highest_are_shown_and_it_is_said() -> None:
    figure = describe_powered(powered(12, pairs=True))
    assert len(figure.columns()["system"]) == 2 * 60
    assert "the 60 highest of 66" in figure.subtitle


@pytest.mark.parametrize(
    "figure",
    [
        describe_judge_confusion(confusion()), describe_topic_leniency(topics()), describe_judge_ranks(ranks(2)),
        describe_judge_ranks(ranks(130)), describe_powered(powered(2)), describe_powered(powered(50)),
    ],
    ids=["confusion", "leniency", "ranks", "many ranks", "powered", "many powered"],
)  # fmt: skip
def test_figures_can_be_drawn(figure: Figure, tmp_path: Path) -> None:
    figure.save(tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert figure.title.split(":")[0].split(" by ")[0][:12] in drawn
    figure.save(tmp_path / "figure.csv")
    assert len((tmp_path / "figure.csv").read_text().splitlines()) == 1 + len(next(iter(figure.columns().values())))
