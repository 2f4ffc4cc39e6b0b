"""Runs topic by topic."""

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.evaluation.topic_sheet import deciding_topics, topic_sheet, topics_that_decide
from cranfield.report.figures import describe_topics
from cranfield.scores import Scores

VALUES = np.array([[0.2, 0.5, 0.9, 0.4], [0.1, 0.0, 0.3, 0.1], [0.6, 0.6, 0.6, 0.6]])
SCORES = Scores.from_matrix(VALUES, runs=["a", "b", "c", "d"], topics=["1", "2", "3"], measure="AP")


def by_topic(sheet: cf.evaluation.topic_sheet.TopicSheet) -> dict[str, dict[str, object]]:
    rows = sheet.to_dict()["rows"]
    return {row["topic"]: row for row in rows}


def test_best_median_worst_spread_and_rank_of_each_topic() -> None:
    sheet = topic_sheet(SCORES, run="a")
    row = by_topic(sheet)["1"]  # scores 0.2 0.5 0.9 0.4: the median is 0.45, a is last
    assert (row["best"], row["best run"], row["worst"], row["worst run"]) == (0.9, "c", 0.2, "a")
    assert (row["median"], row["spread"]) == pytest.approx((0.45, 0.7))
    assert (row["a"], row["− median"], row["rank"]) == (0.2, pytest.approx(-0.25), 4)
    assert by_topic(sheet)["2"]["rank"] == 2  # shared with d
    assert list(by_topic(sheet)) == ["1", "2", "3"]  # −0.25, 0, 0; of equals, the lower best first


def test_a_note_says_that_one_of_several_best_runs_is_named() -> None:
    note = "best run, worst run: of several runs with the same score, the first"
    assert note in topic_sheet(SCORES).notes  # topic 3: all have 0.6
    assert note not in topic_sheet(SCORES.select(topics=["1"])).notes


def test_the_orders_of_topics() -> None:
    assert list(by_topic(topic_sheet(SCORES))) == ["2", "1", "3"]  # medians 0.1, 0.45, 0.6
    assert list(by_topic(topic_sheet(SCORES, sort="spread"))) == ["1", "2", "3"]  # 0.7, 0.3, 0
    assert list(by_topic(topic_sheet(SCORES, sort="topic", run="c"))) != []
    backwards = SCORES.select(topics=["3", "1", "2"])
    assert list(by_topic(topic_sheet(backwards, sort="hardest"))) == ["2", "1", "3"]
    with pytest.raises(UsageError, match="name the run"):
        topic_sheet(SCORES, sort="difference")
    with pytest.raises(UsageError, match="sort == 'best', must be one of 'hardest'"):
        topic_sheet(SCORES, sort="best")


def test_medians_agree_with_numpy_on_random_scores_with_undefined_ones() -> None:
    rng = np.random.default_rng(2)
    values = rng.random((30, 7))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[4] = np.nan
    scores = Scores.from_matrix(values, measure="AP")
    sheet = topic_sheet(scores, run="run3", sort="topic")
    rows = by_topic(sheet)
    for t in (t for t in range(30) if t != 4):
        row = rows[str(t + 1)]
        assert row["median"] == pytest.approx(np.nanmedian(values[t]))
        assert (row["best"], row["worst"]) == (np.nanmax(values[t]), np.nanmin(values[t]))
        assert row["best run"] == f"run{np.nanargmax(values[t]) + 1}"
        if not np.isnan(values[t, 2]):
            assert row["rank"] == 1 + np.nansum(values[t] > values[t, 2])
    assert rows["5"]["median"] is None
    assert any(note == "undefined for all runs: AP (5)" for note in sheet.notes)


def test_the_lowest_score_is_best_if_lower_is_better() -> None:
    ranks = Scores.from_matrix([[5.0, 9.0, 1.0]], runs=["a", "b", "c"], measure="LastRel")
    (row,) = topic_sheet(ranks, run="b").to_dict()["rows"]
    assert (row["best"], row["worst"], row["median"], row["spread"]) == (1.0, 9.0, 5.0, 8.0)
    assert (row["best run"], row["rank"], row["− median"]) == ("c", 3, 4.0)


def test_several_measures_have_a_column_for_the_measure() -> None:
    two = Scores.combine(SCORES, Scores(["P@5"], SCORES.runs, SCORES.topics, SCORES.values))
    assert [column.header for column in topic_sheet(two).table().columns][:2] == ["measure", "topic"]
    assert len(topic_sheet(two).to_pandas()) == 6
    assert len(topic_sheet(two, "AP").to_pandas()) == 3


def test_titles_and_missing_topics_are_shown_and_named() -> None:
    sheet = topic_sheet(SCORES, topics={"1": "flutter", "2": "ice"})
    assert by_topic(sheet)["1"]["title"] == "flutter"
    assert "not in the file of topics: 3" in sheet.notes
    with pytest.raises(UsageError, match="none of the 3 judged topics, such as '1'"):
        topic_sheet(SCORES, topics={"9": "x"})
    lacking = Scores(["AP"], ["a", "b"], ["1", "2"], np.zeros((1, 2, 2)), missing=[[False, True], [False, False]])
    assert "missing topics count as empty lists: a (2)" in topic_sheet(lacking).notes


def test_the_topics_that_decide_between_two_runs() -> None:
    # c − a: 0.7, 0.2, 0: the mean is 0.3; without topic 1 it is 0.1, so both favourable topics must go.
    result = deciding_topics(SCORES, "c", "a")
    columns = result.columns()
    assert columns["topic"].tolist() == ["1", "2", "3"]
    assert columns["difference"].tolist() == pytest.approx([0.7, 0.2, 0.0])
    assert columns["mean without it"].tolist() == pytest.approx([0.1, 0.35, 0.45])
    assert result.notes[0].endswith("2 won, 1 tied, 0 lost; it changes sign without its 2 most favourable topics")
    assert topics_that_decide(np.array([-0.5, 0.1, 0.1])) == 1
    with pytest.raises(UsageError, match="both runs are 'a'"):
        deciding_topics(SCORES, "a", "a")
    with pytest.raises(UsageError, match="no run 'e'"):
        deciding_topics(SCORES, "a", "e")


def test_the_figure_shows_the_range_and_where_the_run_is_below_the_median() -> None:
    figure = describe_topics(topic_sheet(SCORES, run="a"))
    columns = figure.columns()
    assert columns["low"].tolist() == [0.2, 0.0, 0.6]
    assert columns["high"].tolist() == [0.9, 0.3, 0.6]
    assert columns["stands"].tolist() == ["below the median", "at or above the median", "at or above the median"]
