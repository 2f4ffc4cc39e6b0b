"""Pages from arrays."""

from __future__ import annotations

import pytest

from cranfield.errors import UsageError
from cranfield.online.clicks import Pages, click_pages


def test_equal_pages_are_one_page_with_the_number_of_its_sessions() -> None:
    pages = Pages.of(["b", "a", "b"], [["x", "y"], ["x", "y"], ["x", "y"]], [[0, 1], [0, 1], [0, 1]])
    assert sorted(pages.sessions.tolist()) == [1, 2]
    assert sorted(pages.names.keys) == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert pages.impressions == 6


def test_cells_by_hand() -> None:
    pages = Pages.of(["q", "q", "q"], [["x", "y"], ["y", "x"], ["x"]], [[1, 0], [0, 1], [0]])
    cells = pages.cells()
    names = [pages.names.keys[pair][1] for pair in cells.pair.tolist()]
    counts = zip(names, cells.rank.tolist(), cells.shown.tolist(), cells.clicked.tolist(), strict=True)
    assert sorted(counts) == [("x", 1, 2, 1), ("x", 2, 1, 1), ("y", 1, 1, 0), ("y", 2, 1, 0)]


def test_repeated_clicks_count_once_with_a_note() -> None:
    pages = Pages.of(["q"], [["x", "y"]], [[3, 0]])
    assert pages.clicked.tolist() == [[True, False]]
    assert pages.notes == ("1 document was clicked more than once in a session; that counts as one click",)


def test_wrong_arrays() -> None:
    with pytest.raises(UsageError, match="docs has 1 rows, must have one per query, 2"):
        Pages.of(["q", "r"], [["x"]], [[0]])
    with pytest.raises(UsageError, match=r"clicks\.shape"):
        Pages.of(["q"], [["x", "y"]], [[0]])
    with pytest.raises(UsageError, match="0 or more"):
        Pages.of(["q"], [["x"]], [[-1]])
    with pytest.raises(UsageError, match="clicks at ranks without a document"):
        Pages.of(["q"], [["x", None]], [[0, 1]])


def test_counts_do_not_depend_on_how_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, lists = ["q", "q", "r"], [["x", "y"], ["y", "x"], ["z", "x"]]
    pages = Pages.of(queries, lists, [[1, 0], [0, 1], [1, 1]])
    one = pages.cells()
    monkeypatch.setattr(click_pages, "DENSE", 0)
    two = pages.cells()
    for name in ("pair", "rank", "shown", "clicked"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist()
