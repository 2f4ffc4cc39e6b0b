"""Figures for a paper: their size in inches, letters, and texts that fit without the usual fonts."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from cranfield.comparison.compare import compare
from cranfield.errors import UsageError
from cranfield.meta import correlate
from cranfield.report.figures import Figure, describe_boxes, describe_differences, describe_intervals
from cranfield.report.figures.lettering import text_width, with_widths, wrapped
from cranfield.report.figures.saving import rendered
from cranfield.report.figures.style import Style, size_of
from cranfield.scores.scores import Scores


def scores(measures: int = 1) -> Scores:
    values = np.random.default_rng(0).beta(2, 3, (measures, 5, 30))
    return Scores(
        [f"m{i}" for i in range(measures)], [f"a-long-name-{i}" for i in range(5)], map(str, range(30)), values
    )


def figures() -> dict[str, Figure]:
    return {
        "boxes": describe_boxes(scores()),
        "intervals": describe_intervals(compare(scores())),
        "differences": describe_differences(scores(), ("a-long-name-0", "a-long-name-1")),
        "correlations": correlate(scores(14), resamples=0).plot(),
    }


@pytest.mark.parametrize("name", figures())
@pytest.mark.parametrize(("width", "inches"), [(1, 3.33), ("2", 6.99), ("8cm", 8 / 2.54), ("240pt", 240 / 72.27)])
def test_a_figure_is_as_wide_as_was_asked_for(name: str, width: float | str, inches: float) -> None:
    figure = figures()[name].styled(width=width, font_size=8)
    size = size_of(rendered(figure, "svg").decode())
    if name == "correlations" and width == "2":
        assert size["width"] < inches * 96  # a grid keeps its shape
        return
    assert size["width"] == pytest.approx(inches * 96, abs=4)


def test_a_figure_is_as_high_as_was_asked_for() -> None:
    size = size_of(rendered(figures()["differences"].styled(height="5cm"), "svg").decode())
    assert size["height"] == pytest.approx(5 / 2.54 * 96, abs=4)


def test_a_pdf_has_the_size_of_the_figure_in_points() -> None:
    pdf = rendered(figures()["boxes"].styled(width=1), "pdf")
    box = re.search(rb"MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box is not None
    assert float(box[1]) == pytest.approx(3.33 * 72, abs=3)  # a PDF has 72 points per inch


def test_letters_have_the_size_that_was_asked_for() -> None:
    svg = rendered(figures()["boxes"].styled(font_size=6), "svg").decode()
    assert set(re.findall(r'font-size="([\d.]+)px"', svg)) >= {"8"}  # 6 points of 72 per inch are 8 pixels of 96


def test_a_figure_without_title_has_its_labels() -> None:
    figure = figures()["boxes"]
    assert figure.title in rendered(figure, "svg").decode()
    svg = rendered(figure.styled(titled=False), "svg").decode()
    assert figure.title not in svg
    assert "a-long-name-0" in svg


@pytest.mark.parametrize("width", ["wide", "3", "0.5cm", "200cm", "5 miles", "nan"])
def test_other_widths_are_errors(width: str) -> None:
    if width == "3":
        assert Style(width).inches_wide == pytest.approx(3 * 3.33 + 2 * 0.33)
        return
    with pytest.raises(UsageError, match=r"such as 8.5cm|must be between"):
        Style(width)


def test_plot_takes_the_size() -> None:
    assert scores().plot(width=1, font_size=7).style == Style(1, None, 7)


def test_every_text_says_how_wide_it_is() -> None:
    """By Adobe's metrics of Helvetica: M is 0.833, i is 0.222 of the size."""
    assert text_width("Mi", 10) == pytest.approx(10.55)
    svg = rendered(figures()["intervals"], "svg").decode()
    texts = re.findall(r"<(?:text|tspan)([^>]*)>([^<]{3,})</", svg)
    assert texts
    assert all("textLength" in look for look, _ in texts)


def test_text_of_other_alphabets_is_drawn_as_it_is() -> None:
    assert "textLength" not in with_widths('<text font-size="11px">検索</text>')


def test_lines_are_as_wide_as_they_may_be() -> None:
    assert wrapped("aa bb cc", text_width("aa bb", 11), 11) == ["aa bb", "cc"]


def test_topics_below_narrow_bars_do_not_run_into_each_other() -> None:
    svg = rendered(figures()["differences"].styled(width=1), "svg").decode()
    label = r'translate\(([\d.]+),2\) rotate\(270\)[^>]*font-size="([\d.]+)px"[^>]*opacity="1">\d+</text>'
    across, letters = zip(*[(float(x), float(size)) for x, size in re.findall(label, svg)], strict=True)
    assert 2 < len(across) < 30
    assert min(after - before for before, after in pairwise(across)) > max(letters)


def test_a_long_title_of_an_axis_is_broken_in_a_narrow_figure() -> None:
    figure = compare(scores(), baseline="a-long-name-0").plot()
    whole = ">difference of mean m0 from a-long-name-0</text>"
    assert whole in rendered(figure, "svg").decode()
    assert whole not in rendered(figure.styled(width="4.5cm"), "svg").decode()
