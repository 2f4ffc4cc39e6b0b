"""The page of a leaderboard: one file, its own style and script only, rows that sort and filter in a browser."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from cranfield.comparison.leaderboard import Leaderboard, leaderboard_of
from cranfield.report.pages.html_page import source_digest
from cranfield.report.pages.leaderboard_page import leaderboard_page
from cranfield.scores.scores import Scores
from tests.building.serve.browsing import CHROMIUM, browser

__all__ = ["browser"]
VALUES = {"low": [0.1, 0.2, 0.15], "<b>top</b>": [0.8, 0.9, 0.7], "mid": [0.5, 0.4, 0.6]}


def board(**options: Any) -> Leaderboard:
    rows = [list(row) for row in zip(*VALUES.values(), strict=True)]
    scores = Scores.from_matrix(rows, runs=list(VALUES), measure="AP")
    return leaderboard_of(scores, teams={"low": "red", "<b>top</b>": "blue", "mid": "red"}, **options)


def test_names_are_escaped_and_nothing_is_requested() -> None:
    page = leaderboard_page(board(), title="Track & <i>")
    assert "<b>top" not in page
    assert "&lt;b&gt;top&lt;/b&gt;" in page
    assert "<title>Track &amp; &lt;i&gt;</title>" in page
    assert not re.search(r"(src|href)=|https?:|url\(|@import|fetch\(", page)


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page() -> None:
    page = leaderboard_page(board())
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    policy = unescape(policy)
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src {source_digest(style)};" in policy
    assert f"script-src {source_digest(script)};" in policy
    assert " style=" not in page
    assert not re.search(r"\son\w+=", page.partition("<script>")[0])


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")
@pytest.mark.xdist_group("browser")
def test_rows_sort_and_filter_in_a_browser(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "board.html").write_text(leaderboard_page(board()), "utf-8")
    context = browser.new_context()
    page = context.new_page()
    trouble: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "board.html").as_uri())

    def shown() -> list[str]:
        return [row.inner_text() for row in page.locator("tbody tr:visible td.name").all()]

    assert shown() == ["<b>top</b>", "mid", "low"]
    page.get_by_role("button", name="AP").click()  # the best is first already
    assert shown() == ["<b>top</b>", "mid", "low"]
    page.get_by_role("button", name="AP").click()
    assert shown() == ["low", "mid", "<b>top</b>"]
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("AP")
    page.get_by_label("Team").select_option("red")
    assert shown() == ["low", "mid"]
    page.get_by_label("Filter").fill("MID")
    assert shown() == ["mid"]
    assert page.get_by_role("status").inner_text() == "1 of 3 rows"
    page.get_by_role("button", name="Reset").click()
    assert shown() == ["<b>top</b>", "mid", "low"]
    assert page.evaluate("getComputedStyle(document.querySelector('section')).borderTopWidth") == "1px"
    assert len(requests) == 1
    assert not trouble
    context.close()
