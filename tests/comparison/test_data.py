"""Scores are accepted in every form, and errors and notes report problems."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cranfield.comparison.data import Matrix, paired, unpaired
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores

VALUES = np.array([[0.2, 0.4], [0.6, 0.5], [0.1, 0.3]])
SCORES = Scores.from_matrix(VALUES, runs=["a", "b"], topics=["301", "302", "303"], measure="AP")


@pytest.mark.parametrize(
    "thing",
    [
        SCORES,
        VALUES,
        VALUES.tolist(),
        {"a": [0.2, 0.6, 0.1], "b": [0.4, 0.5, 0.3]},
        {"a": dict(zip("123", VALUES[:, 0], strict=True)), "b": dict(zip("123", VALUES[:, 1], strict=True))},
        pd.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]}, index=["301", "302", "303"]),
        pl.DataFrame({"topic": ["301", "302", "303"], "a": VALUES[:, 0], "b": VALUES[:, 1]}),
        SCORES.to_pandas(),
        SCORES.to_polars(),
        SCORES.to_arrow(),
    ],
    ids=["Scores", "array", "lists", "columns", "dicts", "wide pandas", "wide polars", "pandas", "polars", "arrow"],
)
def test_every_input_format_gives_the_same_matrix(thing: object) -> None:
    assert np.array_equal(Matrix.of(thing).values, VALUES)


def test_a_file_of_scores(tmp_path: object) -> None:
    path = f"{tmp_path}/scores.csv"
    SCORES.write(path)
    assert np.array_equal(Matrix.of(path).values, VALUES)
    assert Matrix.of(path).measure == "AP"


def test_a_missing_topic_is_nan_with_a_note() -> None:
    matrix = Matrix.of({"a": {"1": 0.2, "2": 0.3}, "b": {"1": 0.4}})
    assert np.isnan(matrix.values[1, 1])
    assert matrix.complete().topics == ("1",)
    assert any("1 of 2 topics left out" in note for note in matrix.complete().notes)


def test_no_topic_with_all_scores_raises_an_error() -> None:
    three = Matrix.of([[0.2, np.nan, 0.1], [np.nan, 0.3, 0.1]])
    with pytest.raises(UsageError, match="no topic has a score for all 3 systems; compare fewer systems, or use nan="):
        three.complete()
    two = three.select(["run1", "run2"])  # for two systems, pairwise would not help
    with pytest.raises(UsageError, match="score: run1 and run2 have no topic in common"):
        two.complete()


def test_a_system_without_any_value_is_named() -> None:
    with pytest.raises(UsageError, match="no topic has a score for run2"):
        Matrix.of([[0.2, np.nan], [0.1, np.nan]]).complete()


def test_paired_dicts_are_matched_by_topic() -> None:
    pair = paired({"1": 0.5, "2": 0.7}, {"2": 0.1, "3": 0.9})
    assert pair.topics == ("2",)
    assert pair.notes == ("compared on 1 topic; 2 topics of only one system left out",)


def test_paired_series_are_matched_by_index() -> None:
    pair = paired(pd.Series({"1": 0.5, "2": 0.7}), pd.Series({"2": 0.1, "1": 0.2}))
    assert pair.difference.round(6).tolist() == [0.3, 0.6]


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.1, 0.2], [0.1], "x has 2 scores and y has 1"),
        ({"1": 0.1}, {"2": 0.1}, "no topic in common"),
        ([np.nan], [0.1], "no topic has a score for both"),
        ([np.inf], [0.1], "infinite score"),
        ([[0.1]], [0.1], "one score per topic"),
        (["high"], [0.1], "must hold numbers"),
        ([0.1] * 3, None, r"scores.shape == \(3,\), must be topics × systems"),
        (np.ones((3, 3)), None, "there are 3 systems; choose two"),
    ],
)
def test_samples_that_cannot_be_paired_raise_an_error(x: object, y: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        paired(x, y)


def test_unpaired_samples_may_differ_in_length_and_nan_is_left_out() -> None:
    pair = unpaired([0.1, np.nan, 0.3], [0.2])
    assert pair.x.tolist() == [0.1, 0.3]
    assert pair.notes == ("1 of 3 scores of x left out: undefined",)


def test_one_of_several_measures_must_be_chosen() -> None:
    both = Scores.combine(SCORES, Scores.from_matrix(VALUES, runs=["a", "b"], topics=SCORES.topics, measure="RR"))
    with pytest.raises(UsageError, match="there are 2 measures; choose one of AP, RR"):
        Matrix.of(both)
    assert Matrix.of(both, "RR").measure == "RR"


@pytest.mark.parametrize("measure", [None, "AP"])
def test_a_row_per_score_need_not_name_the_measure(measure: str | None) -> None:
    frame = pd.DataFrame({"run": ["a", "a", "b", "b"], "topic": [1, 2, 1, 2], "value": [0.1, 0.2, 0.3, 0.4]})
    matrix = Matrix.of(frame, measure)
    assert matrix.measure == (measure or "score")
    assert matrix.values.tolist() == [[0.1, 0.3], [0.2, 0.4]]
