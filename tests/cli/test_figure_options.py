"""The options of verbs that draw a figure for its size."""

from __future__ import annotations

from tests.cli.conftest import Cranfield


def test_the_size_needs_a_figure(cranfield: Cranfield) -> None:
    done = cranfield("compare", "--sample", "-m", "AP", "--figure-width", "1")
    assert done.code == 2
    assert "--figure-width is for a figure; add --plot FILE" in done.err


def test_a_width_that_cannot_be_read_is_refused_before_anything_is_read(cranfield: Cranfield) -> None:
    done = cranfield("compare", "absent", "--plot", "x.svg", "--figure-width", "wide")
    assert done.code == 2
    assert "such as 8.5cm" in done.err
