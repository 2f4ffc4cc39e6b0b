"""The figure of ranks under each method."""

import pytest

from cranfield import CranfieldError
from cranfield.report.figures import describe_method_ranks


def test_ranks_of_each_method_are_lines() -> None:
    table = {"method": ["a"] * 3 + ["b"] * 3, "run": ["x", "y", "z"] * 2, "rank": [1, 2, 3, 3, 2, 1]}
    figure = describe_method_ranks(table, measure="AP")
    assert figure.columns()["system"].tolist() == ["x", "x", "y", "y", "z", "z"]
    assert figure.columns()["rank"].tolist() == [1, 3, 2, 2, 3, 1]
    assert figure.subtitle == "rank 1 is the best; 2 of 3 systems change rank, by up to 2"


def test_of_many_systems_those_that_move_are_shown() -> None:
    runs = [f"s{i}" for i in range(40)]
    ranks = [*range(1, 41), *range(2, 41), 1]
    figure = describe_method_ranks({"method": ["a"] * 40 + ["b"] * 40, "run": runs * 2, "rank": ranks})
    assert "s39" in figure.columns()["system"].tolist()
    assert len(figure.columns()["system"]) == 60
    assert figure.subtitle.endswith("; the 30 that move most are shown")


def test_two_measures_at_once_are_refused() -> None:
    with pytest.raises(CranfieldError, match="2 rows, but only 1 pairs of method and system; choose one measure"):
        describe_method_ranks({"method": ["a", "a"], "run": ["x", "x"], "rank": [1, 2]})
