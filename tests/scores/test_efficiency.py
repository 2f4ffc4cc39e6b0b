"""Efficiency beside effectiveness: statistics by hand, and the Pareto front by its definition."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.scores.efficiency import efficiency, pareto_front, read_times
from cranfield.scores.scores import Scores

SCORES = Scores.from_matrix(
    [[0.2, 0.5, 0.4], [0.4, 0.5, 0.4]], runs=["bm25", "dense", "slow"], topics=["1", "2"], measure="AP"
)
TIMES = {"bm25": {"1": 0.1, "2": 0.3}, "dense": {"1": 0.5, "2": 0.7}, "slow": {"1": 0.9, "2": 1.9}}


def test_means_and_seconds_by_hand() -> None:
    result = efficiency(SCORES, TIMES)
    assert result.effectiveness[0] == pytest.approx([0.3, 0.5, 0.4])
    assert result.seconds[0] == pytest.approx([0.2, 0.6, 1.4])
    assert result.seconds[1] == pytest.approx([0.2, 0.6, 1.4])
    # The 95th percentile of two values is at 95 % of the way from the lower to the higher one.
    assert result.seconds[2] == pytest.approx([0.1 + 0.95 * 0.2, 0.5 + 0.95 * 0.2, 0.9 + 0.95 * 1.0])
    assert result.front.tolist() == [[True, True, False]]  # dense is better and faster than slow
    assert [row[0] for row in result.table().rows] == ["bm25", "dense", "slow"]
    assert result.table().rows[1][-1] == "yes"


def test_the_front_follows_the_statistic_of_seconds() -> None:
    scores = Scores.from_matrix([[0.5, 0.4]] * 3, runs=["a", "b"], topics="123")
    times = {"a": {"1": 1.0, "2": 1.0, "3": 10.0}, "b": {"1": 2.0, "2": 2.0, "3": 2.0}}
    assert efficiency(scores, times).front.tolist() == [[True, True]]  # 4 and 2 seconds
    assert efficiency(scores, times, time="median").front.tolist() == [[True, False]]  # 1 and 2 seconds


@given(st.lists(st.tuples(st.integers(0, 4) | st.none(), st.integers(0, 4) | st.none()), min_size=1, max_size=12))
def test_the_front_is_that_of_the_definition(points: list[tuple[int | None, int | None]]) -> None:
    gain, cost = np.array([[np.nan if value is None else value for value in point] for point in points], dtype=float).T
    expected = []
    for g, c in zip(gain, cost, strict=True):
        beaten = any(h >= g and d <= c and (h > g or d < c) for h, d in zip(gain, cost, strict=True))
        expected.append(not np.isnan(g) and not np.isnan(c) and not beaten)
    assert pareto_front(gain, cost).tolist() == expected


def test_low_is_good_for_some_measures() -> None:
    scores = Scores(["ESL"], ["a", "b"], ["1"], [[[3.0], [5.0]]])
    assert efficiency(scores, {"a": {"1": 1.0}, "b": {"1": 2.0}}).front.tolist() == [[True, False]]


def test_runs_and_topics_without_times_are_noted() -> None:
    result = efficiency(SCORES, {"bm25": {"1": 0.1, "9": 99.0}, "dense": TIMES["dense"]})
    assert result.seconds[0, 0] == 0.1  # topic 9 has no score
    assert np.isnan(result.seconds[:, 2]).all()
    assert result.timed.tolist() == [1, 2, 0]
    assert result.front.tolist() == [[True, True, False]]
    assert "1 run without times: slow" in result.notes
    assert "some topics have no time, and do not count in seconds: bm25" in result.notes
    rows = json.loads(result.to_json())["rows"]
    assert rows[2] == {
        "measure": "AP", "run": "slow", "effectiveness": 0.4, "mean": None, "median": None, "p95": None, "topics": 0,
        "front": False,
    }  # fmt: skip


def test_files_of_times(tmp_path: Path) -> None:
    path = tmp_path / "times.tsv"
    path.write_text("run\ttopic\tseconds\nbm25\t1\t0.5\nbm25\t2\t1e-3\n# a comment\ndense 1 2\n")
    assert read_times(path) == {"bm25": {"1": 0.5, "2": 0.001}, "dense": {"1": 2.0}}
    path.write_text("bm25,1,0.5\nbm25,1,0.7\nbm25,1,9\n")
    with pytest.warns(CranfieldWarning, match="1 topic of a run measured several times; the median counts"):
        assert read_times(path) == {"bm25": {"1": 0.7}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 0.5\na 2 fast\n", r"t\.txt:2: the time in seconds is 'fast', expected a number, 0 or above"),
        ("a 1 0.5\na 2 -1\n", r"t\.txt:2: the time in seconds is '-1', expected a number"),
        ("a 1 0.5\na 2\n", r"t\.txt:2: 2 columns, expected 3: run topic seconds"),
        ("run topic seconds\n", r"t\.txt:1: holds only a header"),
        ("", r"t\.txt: is empty"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_times(tmp_path / "t.txt")


def test_wrong_input_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no run has times; the runs are 'bm25', .* those with times 'x'"):
        efficiency(SCORES, {"x": {"1": 1.0}})
    with pytest.raises(UsageError, match="no topic of the scores has a time; the first topic with one is '01'"):
        efficiency(SCORES, {"bm25": {"01": 1.0}})
    with pytest.raises(UsageError, match="'bm25' has a time below 0"):
        efficiency(SCORES, {"bm25": {"1": -1.0}})
    with pytest.raises(UsageError, match="time == 'max', must be one of 'mean'"):
        efficiency(SCORES, TIMES, time="max")
