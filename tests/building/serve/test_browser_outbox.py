"""What a browser sends: nothing is lost with a connection or a server, and nothing is judged by a slip."""

from __future__ import annotations

from typing import Any

from cranfield.building.serve.project.judging_modes import Facet
from cranfield.building.serve.project.store import Store
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


def test_a_lost_connection_keeps_judgments_and_sends_them_later(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    page.keyboard.press("1")
    wait_for(page, "d1")
    saved(page, 1)
    page.context.set_offline(True)
    page.keyboard.press("2")  # the next documents are already here
    wait_for(page, "d2")
    page.keyboard.press("0")
    wait_for(page, "d3")
    page.wait_for_function("() => document.querySelector('#connection').textContent.includes('2 judgments kept here')")
    assert len(qrels(path)) == 1
    page.context.set_offline(False)
    saved(page, 3)
    page.wait_for_function("() => document.querySelector('#connection').textContent === ''")
    assert qrels(path) == {("1", "d0"): 1, ("1", "d1"): 2, ("1", "d2"): 0}


def test_a_judgment_that_was_not_sent_survives_a_reload(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    page.context.route("**/api/judge", lambda route: route.abort())
    blocked = "() => fetch('/api/judge', {method: 'POST'}).then(() => false, () => true)"
    assert any(page.evaluate(blocked) for _ in range(100))  # the browser may take a moment to block requests
    page.keyboard.press("2")
    wait_for(page, "d1")
    page.wait_for_function("() => document.querySelector('#connection').textContent.includes('1 judgment kept here')")
    page.on("dialog", lambda dialog: dialog.accept())  # the browser asks whether to leave the page
    page.context.unroute("**/api/judge")
    page.reload()
    page.wait_for_selector("#document h1")
    saved(page, 1)
    assert qrels(path) == {("1", "d0"): 2}
    assert shown(page) == "d1"


def test_a_server_killed_in_the_middle_loses_nothing(path: str, visit: Any) -> None:
    with Server(path) as first:
        page = visit(first)
        page.keyboard.press("1")
        wait_for(page, "d1")
        saved(page, 1)
        first.kill()
        page.keyboard.press("2")
        wait_for(page, "d2")
        page.wait_for_function("() => document.querySelector('#connection').textContent.includes('kept here')")
        with Server(path, port=first.port):
            saved(page, 2)
            page.keyboard.press("0")
            wait_for(page, "d3")
            saved(page, 3)
    assert qrels(path) == {("1", "d0"): 1, ("1", "d1"): 2, ("1", "d2"): 0}


def clicks(page: Any, selector: str, times: int) -> None:
    """Click at a place several times, at once, so that no load of the machine makes a pause in between."""
    page.evaluate(
        "([at, times]) => { while (times--) document.querySelector(at).click(); }", [selector, times]
    )  # fmt: skip


def test_the_second_press_of_a_double_click_judges_nothing(server: Server, visit: Any, path: str) -> None:
    page = visit(server)
    clicks(page, "#rows .grade:nth-child(2)", 2)
    wait_for(page, "d1")
    clicks(page, "#cannot", 3)
    wait_for(page, "d2")
    page.evaluate(
        """() => [1, 2].forEach(
        () => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '2', bubbles: true})))"""
    )
    wait_for(page, "d3")
    saved(page, 3)
    clicks(page, "#undo", 2)
    wait_for(page, "d2")
    saved(page, 2)
    with Store(path) as store:
        rows = store.database.read("SELECT doc, action, state, grade FROM judgment ORDER BY id")
    assert rows == [("d0", "judge", "graded", 1), ("d1", "judge", "cannot", None), ("d2", "judge", "graded", 2),
                    ("d2", "undo", "none", None)]  # fmt: skip


def test_a_key_that_is_held_down_judges_once(path: str, visit: Any) -> None:
    """A grade, Enter on a button, and Enter that saves a document with passages, or without any."""
    with Store(path) as store:
        store.add_facets([Facet("1", "nugget", "n1", "flutter")])
    for mode, keys in (("graded", ("1", "Enter")), ("nuggets", ("Enter",))):
        with Store(path) as store:
            store.database.write(lambda connection: [connection.run(f"DELETE FROM {t}") for t in ("judgment", "offer")])
            store.set_settings(store.settings().changed(mode=mode))
        with Server(path) as server:
            page = visit(server)
            for number, key in enumerate(keys):
                if mode == "graded":
                    page.focus("#rows .grade:nth-child(2)")  # on a button, Enter is a click
                page.keyboard.down(key)
                for _ in range(5):
                    ready(page)
                    page.keyboard.down(key)  # the browser says that it is a repeat
                page.keyboard.up(key)
                wait_for(page, f"d{number + 1}")
            saved(page, len(keys))
        assert list(qrels(path)) == [("1", f"d{number}") for number in range(len(keys))]


def test_a_judgment_that_is_refused_is_shown_and_the_assessor_lets_go_of_it(
    server: Server, visit: Any, path: str
) -> None:
    page = visit(server)
    page.evaluate("document.querySelector('#reason').value = 'half \\ud83d of a pair'")
    page.keyboard.press("2")
    page.wait_for_selector("#unsent:not([hidden])")
    listed = page.inner_text("#unsent-list")
    assert "1 · d0 · highly relevant" in listed
    assert "reason has U+D83D at character 6, which is not a character" in listed
    wait_for(page, "d0")  # the document is back
    page.keyboard.press("1")
    wait_for(page, "d1")
    saved(page, 1)
    page.reload()  # what was refused is still there
    page.wait_for_selector("#unsent:not([hidden])")
    page.click("#unsent-list .danger")
    page.wait_for_selector("#unsent", state="hidden")
    page.reload()
    page.wait_for_selector("#document h1")
    assert page.is_hidden("#unsent")
    assert qrels(path) == {("1", "d0"): 1}


def test_a_judgment_that_cannot_be_sent_does_not_hold_up_the_others_for_ever(
    server: Server, visit: Any, path: str
) -> None:
    """The server answers 503 to one judgment, whatever it is. Letting go of it lets the others through."""

    def answer(route: Any) -> None:
        wrong = "cannot be saved" in (route.request.post_data or "")
        if wrong:
            route.fulfill(status=503, json={"error": "there is no place for it"})
        else:
            route.continue_()

    page = visit(server)
    page.context.route("**/api/judge", answer)
    page.fill("#reason", "cannot be saved")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    wait_for(page, "d1")
    page.keyboard.press("1")
    page.wait_for_selector("#unsent-list li:nth-child(2)")
    assert "there is no place for it" in page.inner_text("#unsent-list li:nth-child(1)")
    assert not qrels(path)
    page.click("#unsent-list li:nth-child(1) .danger")
    saved(page, 1)
    page.wait_for_selector("#unsent", state="hidden")
    assert qrels(path) == {("1", "d1"): 1}
    while shown(page) != "d0":  # it comes back, after what was fetched in advance
        doc = shown(page)
        ready(page)
        page.keyboard.press("0")
        wait_for_another(page, doc)
