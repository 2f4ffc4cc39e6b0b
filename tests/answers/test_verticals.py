"""Pages of blocks from several verticals, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cranfield import DataError, UsageError
from cranfield.answers.verticals import Block, page_scores, read_orientation, read_pages

PAGES = {
    "x": {"1": [Block("images", ("i1", "i2")), Block("web", ("d1", "d2"))]},
    "y": {"1": [Block("web", ("d1",)), Block("news", ("n1",))]},
}
QRELS = {"1": {"d1": 2, "d2": 0, "i1": 1, "n1": 1}}
ORIENTATION = {"1": {"web": 1.0, "images": 0.4, "news": 0.6}}


def test_by_hand() -> None:
    """x: images 0.4 × 1/4, then web 1/2; y: web 1, then news 0.6 × 1/2. Best blocks: web 1, news 0.3, images 0.1."""
    scores = page_scores(PAGES, QRELS, ORIENTATION)
    x = 0.1 + 0.5 / math.log2(3)
    y = 1 + 0.3 / math.log2(3)
    ideal = 1 + 0.3 / math.log2(3) + 0.1 / math.log2(4)
    assert scores.values[:2, :, 0].ravel().tolist() == pytest.approx([x, y, x / ideal, y / ideal])
    # wanted: web and news; x shows images and web
    assert scores.values[2:, :, 0].tolist() == [[0.5, 1], [0.5, 1], [0.5, 1]]


def test_users_who_do_not_want_a_vertical_gain_nothing_from_it() -> None:
    without = page_scores(PAGES, QRELS, {"1": {"web": 1.0, "images": 0.0, "news": 0.6}}, ["page-DCG"])
    assert without.values[0, 0, 0] == pytest.approx(0.5 / math.log2(3))


def test_a_vertical_without_orientation_is_an_error() -> None:
    with pytest.raises(UsageError, match="topic '1': no orientation of vertical 'images'; there are web"):
        page_scores(PAGES, QRELS, {"1": {"web": 1.0}})


def test_files(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("topic\tblock\tvertical\tdoc\n1\t2\tweb\td1\n1\t1\timages\ti1\n1\t1\timages\ti2\n")
    assert read_pages([tmp_path / "x.tsv"]) == {"x": {"1": [Block("images", ("i1", "i2")), Block("web", ("d1",))]}}
    (tmp_path / "o.tsv").write_text("topic\tvertical\torientation\n1\tweb\t0.8\n")
    assert read_orientation(tmp_path / "o.tsv") == {"1": {"web": 0.8}}
    (tmp_path / "bad.tsv").write_text("topic\tblock\tvertical\tdoc\n1\t1\tweb\td1\n1\t1\tnews\tn1\n")
    with pytest.raises(DataError, match=r"bad.tsv:3: block 1 is of 'web' before and of 'news' here"):
        read_pages([tmp_path / "bad.tsv"])
    (tmp_path / "o.tsv").write_text("topic\tvertical\torientation\n1\tweb\t1.8\n")
    with pytest.raises(
        DataError, match=r"o.tsv:2: topic '1': the orientation is '1.8', expected a number, between 0 and 1"
    ):
        read_orientation(tmp_path / "o.tsv")
