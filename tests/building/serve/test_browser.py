"""The pages in a real browser, by keyboard: judging, undo, back, two people, search, the end of the pool."""

from __future__ import annotations

from typing import Any

import pytest

from cranfield.building.serve.project.store import Store
from tests.building.serve.accessible import NARROW, SCHEMES, WIDE, looks
from tests.building.serve.browsing import (
    IN_BROWSER,
    browser,
    path,
    qrels,
    ready,
    saved,
    server,
    shown,
    visit,
    wait_for,
    wait_for_another,
)
from tests.building.serve.live import Server

pytestmark = IN_BROWSER
__all__ = ["browser", "path", "server", "visit"]


def test_one_key_judges_saves_and_goes_on(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    assert page.inner_text("#topic-title") == "wing flutter"
    assert page.eval_on_selector_all("#document mark", "marks => marks.map(m => m.textContent)") == ["wing", "flutter"]
    for number, key in enumerate("0120"):
        assert shown(page) == f"d{number}"
        page.keyboard.press(key)
        wait_for(page, f"d{number + 1}")
    saved(page, 4)
    assert qrels(path) == {("1", "d0"): 0, ("1", "d1"): 1, ("1", "d2"): 2, ("1", "d3"): 0}
    page.keyboard.press("7")  # no such grade
    assert shown(page) == "d4"


def test_many_keys_in_a_row_lose_nothing(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    for number in range(15):
        wait_for(page, f"d{number}")
        page.keyboard.press("1")
    saved(page, 15)
    assert len(qrels(path)) == 15


def test_cannot_judge_later_and_a_reason(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    page.keyboard.press("c")
    wait_for(page, "d1")
    page.keyboard.press("l")
    wait_for(page, "d2")
    page.keyboard.press("r")
    page.keyboard.type("1 word on it")  # digits in the field are text, not grades
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    wait_for(page, "d3")
    assert page.input_value("#reason") == ""
    page.wait_for_function("() => document.querySelector('#progress-text').textContent.startsWith('1 of')")
    with Store(path) as store:
        rows = store.database.read("SELECT doc, state, grade, reason FROM judgment ORDER BY id")
    assert rows == [("d0", "cannot", None, ""), ("d1", "later", None, ""), ("d2", "graded", 2, "1 word on it")]


def test_undo_shows_the_document_again(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    for number in range(3):
        wait_for(page, f"d{number}")
        page.keyboard.press("1")
    wait_for(page, "d3")
    page.keyboard.press("u")
    wait_for(page, "d2")
    assert "taken back" in page.inner_text("#notice")
    page.keyboard.press("2")
    wait_for(page, "d3")
    saved(page, 3)
    assert qrels(path)["1", "d2"] == 2
    page.keyboard.press("u")
    wait_for(page, "d2")
    page.keyboard.press("u")
    wait_for(page, "d1")
    saved(page, 1)
    assert list(qrels(path)) == [("1", "d0")]


def test_back_shows_what_was_said_and_a_new_judgment_replaces_it(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    page.keyboard.press("0")
    wait_for(page, "d1")
    page.keyboard.press("1")
    wait_for(page, "d2")
    page.keyboard.press("b")
    wait_for(page, "d1")
    page.keyboard.press("b")
    wait_for(page, "d0")
    assert page.inner_text(".grade[aria-pressed=true]").split() == ["0", "not", "relevant"]
    with page.expect_response("**/api/judge") as answer:
        page.keyboard.press("2")
    assert answer.value.ok
    wait_for(page, "d2")
    assert qrels(path) == {("1", "d0"): 2, ("1", "d1"): 1}


def test_bulk_undo_from_the_list(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    for number in range(5):
        wait_for(page, f"d{number}")
        page.keyboard.press("1")
    saved(page, 5)
    page.keyboard.press("h")
    page.wait_for_selector("#history[open] li:nth-child(3)")
    page.click("#history li:nth-child(3) .danger")
    saved(page, 2)
    assert set(qrels(path)) == {("1", "d0"), ("1", "d1")}


def test_a_reload_goes_on_where_it_was(server: Server, visit: Any) -> None:
    page = visit(server)
    page.keyboard.press("1")
    wait_for(page, "d1")
    saved(page, 1)
    page.reload()
    page.wait_for_selector("#document h1")
    assert shown(page) == "d1"
    saved(page, 1)


def test_two_assessors_at_once_judge_different_documents(server: Server, visit: Any, path: str) -> None:
    first, second = visit(server, "w0"), visit(server, "w1")
    second.select_option("#topics", "1")
    second.wait_for_function("() => document.querySelector('#topic-id').textContent === '1'")
    ready(second)
    seen: list[str] = []
    for _ in range(5):
        for page in (first, second):
            doc = shown(page)
            seen.append(doc)
            page.keyboard.press("1")
            wait_for_another(page, doc)
    saved(first, 5)
    saved(second, 5)
    assert len(set(seen)) == 10
    assert len(qrels(path)) == 10


def test_search_by_keyboard_and_judge_what_was_found(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    page.keyboard.press("/")
    page.keyboard.type("text 33")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results button")
    page.click("#search-results button")
    wait_for(page, "d33")
    page.keyboard.press("2")
    wait_for(page, "d0")  # back to where it was
    saved(page, 1)
    assert qrels(path) == {("1", "d33"): 2}


def test_the_whole_pool_and_then_the_end(path: str, visit: Any) -> None:
    with Store(path) as store:
        store.set_settings(store.settings().changed(budget=3))
    with Server(path) as server:
        page = visit(server)
        for _ in range(3):
            doc = shown(page)
            page.keyboard.press("1")
            wait_for_another(page, doc)
        page.wait_for_selector("#finished:not([hidden])")
        page.wait_for_function("() => document.querySelector('#finished').textContent.includes('Nothing is left')")
        assert len(qrels(path)) == 3
        page.click("#undo-last")  # the buttons below a document are gone, and a phone has no keys
        wait_for(page, doc)
        saved(page, 2)
        assert len(qrels(path)) == 2


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_pages_are_accessible(server: Server, visit: Any, width: int) -> None:
    page = visit(server, "olga", viewport={"width": width, "height": 800})
    page.keyboard.press("1")
    wait_for(page, "d1")
    problems = {}

    def check(name: str) -> None:
        for look, found in looks(page, tuple((width, scheme) for scheme in SCHEMES)):
            if found:
                problems[name, look] = found

    check("judge")
    for key, dialog in (("?", "help"), ("h", "history"), ("/", "search")):
        page.keyboard.press(key)
        page.wait_for_selector(f"#{dialog}[open]")
        check(dialog)
        page.keyboard.press("Escape")
    for address in ("/organise", "/organise/log"):
        page.goto(f"{server.base}{address}")
        check(address)
    page.context.clear_cookies()
    page.goto(f"{server.base}/login")
    check("login")
    assert not problems
