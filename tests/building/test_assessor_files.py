"""Groups of assessors and the cost of their labels."""

from pathlib import Path

import numpy as np
import pytest

from cranfield.building.assessor_labels import Assessor, Labels, assessors_of
from cranfield.errors import DataError

ROWS = [("t1", "anna", 1), ("t1", "ben", 0), ("t2", "ben", 1)]


def written(folder: Path, text: str) -> Path:
    path = folder / "assessors.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text", ["worker,group,cost\nanna,experts,2\nben,crowd,0.1\n", "anna experts 2\nben crowd .1\n"]
)
def test_a_file_with_or_without_a_header_is_read(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    assert assessors_of(path) == {"anna": Assessor("experts", 2.0), "ben": Assessor("crowd", 0.1)}
    labels = Labels.of(ROWS).with_assessors(path)
    assert labels.group == ("experts", "crowd")
    assert labels.cost is not None
    assert labels.cost.tolist() == [2.0, 0.1, 0.1]


def test_without_costs_those_of_the_table_remain(tmp_path: Path) -> None:
    columns = ("task", "worker", "label", "cost")
    labels = Labels.of([dict(zip(columns, (*row, 5), strict=True)) for row in ROWS])
    with_groups = labels.with_assessors(written(tmp_path, "anna\texperts\nben\tcrowd\n"))
    assert with_groups.cost is not None
    assert with_groups.cost.tolist() == [5, 5, 5]
    assert Labels.of(ROWS).with_assessors({"anna": "experts"}).cost is None


def test_an_unknown_cost_of_some_assessors_is_nan() -> None:
    labels = Labels.of(ROWS).with_assessors({"anna": ("experts", 1.0), "ben": "crowd"})
    assert labels.cost is not None
    assert labels.cost[0] == 1
    assert np.isnan(labels.cost[1:]).all()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("anna experts cheap\n", ":1: assessor 'anna': the cost of a label is 'cheap', expected a number, 0 or above"),
        ("anna experts -2\n", ":1: assessor 'anna': the cost of a label is '-2'"),
        ("anna experts\nanna crowd\n", ":2: assessor 'anna' appears twice, first on line 1"),
        ("worker,group\n", ":1: holds only a header"),
        ("anna\n", ":1: 1 column, expected assessor group"),
        ("", "is empty"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        assessors_of(written(tmp_path, text))
