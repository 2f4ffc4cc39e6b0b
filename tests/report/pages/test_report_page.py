"""The page of a report: one file, no request, tables and figures that can be saved, and it works in a browser."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cranfield.errors import UsageError
from cranfield.report.figures import describe_heat
from cranfield.report.pages.figure_worker import cleaned
from cranfield.report.pages.html_page import source_digest
from cranfield.report.pages.report_parts import FigureBlock, ListingBlock, Report, Section, TableBlock, report_page
from cranfield.report.reports.experiment import Experiment
from cranfield.report.reports.run_report import make_report
from cranfield.scores.scores import Scores
from cranfield.table import Column, Estimate, Table
from tests.building.serve.browsing import CHROMIUM, browser

__all__ = ["browser"]
VOID = {"meta", "input", "br"}
VALUES = [[0.1, 0.8, 0.5], [0.2, 0.9, 0.4], [0.15, 0.7, 0.6], [0.3, 0.6, 0.55]]
NAMES = ["low", "</pre><script>alert(1)</script>", "mid"]


class Balanced(HTMLParser):
    """Tags that are opened and closed in order, and what is in the hidden texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.files: dict[str, str] = {}
        self.name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "button" and given.get("data-save"):
            self.name = str(given["data-save"])
        if tag == "pre" and "hidden" in given:
            self.files[self.name] = ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["pre"] and self.name in self.files:
            self.files[self.name] += data


@pytest.fixture(scope="module")
def report() -> Report:
    return make_report(Experiment(Scores.from_matrix(VALUES, runs=NAMES, measure="AP")))


@pytest.fixture(scope="module")
def text(report: Report) -> str:
    return report_page(report)


def parsed(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert not parser.open
    return parser


def test_the_page_parses_and_ids_are_unique(text: str, report: Report) -> None:
    ids = parsed(text).ids
    assert len(set(ids)) == len(ids)
    assert {section.key for section in report.sections} <= set(ids)


def test_nothing_is_requested_and_names_are_escaped(text: str) -> None:
    assert not re.search(r"(src|href)=\"(?!#)|https?:|url\((?!#)|@import|fetch\(", text)
    assert "<script>alert" not in text
    assert " style=" not in text
    assert not re.search(r"<[^>]*\son\w+=", text.rpartition("<script>")[0])


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page(text: str) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    policy = unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', text)[0])
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src {source_digest(style)};" in policy
    assert f"script-src {source_digest(script)};" in policy


def test_the_files_in_the_page_are_those_of_the_tables(text: str, report: Report) -> None:
    files = parsed(text).files
    blocks = [block for section in report.sections for block in section.blocks if isinstance(block, TableBlock)]
    assert len(blocks) >= 5
    for block in blocks:
        assert files[f"{block.name}.csv"] == block.csv()
    names = [row["run"] for row in csv.DictReader(io.StringIO(files["leaderboard.csv"]))]
    assert names == [NAMES[1], "mid", "low"]


def test_a_report_of_anything_is_shown_by_the_same_page() -> None:
    mean = Estimate("", "", 0.5, 0.4, 0.6, 3, 0, 0)
    table = Table((Column("arm"), Column("clicks", "number")), (("a & b", mean), ("c", None)), notes=("a note",))
    blocks = (
        TableBlock("arms", table, "Arms"),
        FigureBlock("grid", describe_heat([[1, 0.5], [0.5, 1]], ["x", "y"])),
        ListingBlock("query", "\nselect 1 < 2", "Query", "sql"),
    )
    page = report_page(Report("A/B", (Section("test", "The test", ("It ran.",), ("One point.",), blocks),)))
    parser = parsed(page)
    assert parser.files["arms.csv"] == "arm,clicks,clicks low,clicks high\na & b,0.5,0.4,0.6\nc,,,"
    assert "0.5000 [0.4000, 0.6000]" in page
    assert '<pre class="listing">\n\nselect 1 &lt; 2</pre>' in page
    assert "<nav" not in page  # one section needs no contents


def test_two_blocks_of_one_name_are_an_error() -> None:
    block = ListingBlock("same", "x")
    with pytest.raises(UsageError, match="two blocks have the name 'same'"):
        report_page(Report("t", (Section("a", "A", blocks=(block, block)),)))


def test_long_tables_are_cut_on_paper_only() -> None:
    table = Table((Column("n", "count"),), tuple((n,) for n in range(50)))
    page = report_page(Report("t", (Section("a", "A", blocks=(TableBlock("numbers", table),)),)))
    assert page.count("<tr>") == 51
    assert "The first 40 of 50 rows; the HTML page has all." in page


def test_text_in_a_figure_is_not_changed() -> None:
    svg = '<svg class="m"><text>id="x" style="y" url(#z)</text><use xlink:href="#a"/><a href="http://x.org"/></svg>'
    expected = (
        '<svg role="img" overflow="visible" aria-label="&lt;"><text>id="x" style="y" url(#z)</text>'
        '<use xlink:href="#f-a"/><a/></svg>'
    )
    assert cleaned(svg, "<", "f") == expected


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")
@pytest.mark.xdist_group("browser")
def test_tables_sort_and_files_are_saved_in_a_browser(browser: Any, text: str, report: Report, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(text, "utf-8")
    context = browser.new_context(offline=True, accept_downloads=True, viewport={"width": 375, "height": 800})
    page = context.new_page()
    trouble: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 375  # a phone: tables scroll, the page does not

    board = page.locator("#leaderboard")
    names = board.locator("tbody td.name")
    assert names.all_inner_texts() == [NAMES[1], "mid", "low"]
    head = board.get_by_role("button", name="AP")
    head.click()
    head.click()
    assert names.all_inner_texts() == ["low", "mid", NAMES[1]]

    def saved(name: str) -> str:
        with page.expect_download() as download:
            page.locator(f"button[data-save='{name}']").click()
        assert download.value.suggested_filename == name
        return Path(download.value.path()).read_text("utf-8")

    (block,) = [b for s in report.sections for b in s.blocks if isinstance(b, TableBlock) and b.name == "leaderboard"]
    assert saved("leaderboard.csv") == block.csv() + "\n"
    svg = saved("topics.svg")
    assert 'xmlns="http://www.w3.org/2000/svg"' in svg
    assert saved("references.bib").startswith("@")
    assert [url for url in requests if not url.startswith(("file:", "blob:"))] == []
    assert not trouble
    context.close()
