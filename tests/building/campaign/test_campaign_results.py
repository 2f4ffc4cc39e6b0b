"""Ranks, groups and sheets, with numbers worked out by hand."""

from __future__ import annotations

import pytest

from cranfield.building.campaign.campaign_results import Leaderboard, Sheet
from cranfield.comparison.compare import compare
from cranfield.scores.scores import Scores

RUNS = {"x": [0.5, 0.7, 0.6], "y": [0.9, 1.0, 0.8], "z": [0.7, 0.5, 0.6], "w": [0.1, 0.19, 0.0]}
TEAMS = {"x": "red", "y": "blue", "z": "red", "w": "blue"}
SCORES = Scores.from_matrix([list(row) for row in zip(*RUNS.values(), strict=True)], runs=list(RUNS), measure="AP")


def test_runs_with_equal_means_share_a_rank_and_keep_the_order_of_submission() -> None:
    board = Leaderboard.of(SCORES, "AP", TEAMS)
    assert board.run == ("y", "x", "z", "w")
    assert board.rank.tolist() == [1, 2, 2, 4]
    assert board.mean.tolist() == pytest.approx([0.9, 0.6, 0.6, 0.29 / 3])
    assert board.team == ("blue", "red", "red", "blue")


def test_the_interval_of_a_mean_is_that_of_the_summary() -> None:
    board = Leaderboard.of(SCORES, "AP", TEAMS)
    estimate = SCORES.summary()["AP", board.run[0]]
    assert (board.low[0], board.high[0]) == (estimate.low, estimate.high)
    assert 0 < board.low[0] < 0.9 < board.high[0] < 1


def test_runs_that_differ_significantly_share_no_letter() -> None:
    board = Leaderboard.of(SCORES, "AP", TEAMS, compare(SCORES, "AP"))
    letters = dict(zip(board.run, board.groups, strict=True))
    pairs = {frozenset((row["system"], row["other"])): row["significant"] for row in compare(SCORES, "AP").rows()}
    assert any(pairs.values())
    for pair, significant in pairs.items():
        first, second = pair
        assert (not set(letters[first]) & set(letters[second])) == significant


def test_a_sheet_has_the_median_the_best_and_the_place_on_each_topic() -> None:
    sheet = Sheet.of(SCORES, "AP", "x", "red")
    assert sheet.score.tolist() == [0.5, 0.7, 0.6]
    assert sheet.median.tolist() == pytest.approx([0.6, 0.6, 0.6])  # of .5 .9 .7 .1; .7 1 .5 .19; .6 .8 .6 0
    assert sheet.best.tolist() == [0.9, 1.0, 0.8]
    assert sheet.place.tolist() == [3, 2, 2]


def test_a_topic_without_a_score_has_no_place() -> None:
    scores = Scores.from_matrix([[0.5, 0.4], [float("nan"), 0.3]], runs=["x", "y"], measure="AP")
    sheet = Sheet.of(scores, "AP", "x", "red")
    assert sheet.place.tolist() == [1, 0]
    assert sheet.best.tolist() == [0.5, 0.3]
