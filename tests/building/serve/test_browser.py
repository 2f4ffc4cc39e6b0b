"""The pages in a real browser, by keyboard: judging, undo, back, two people, a lost connection, a killed server."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.serve.accounts import add_account
from cranfield.building.serve.project_parts import Document, Facet, PoolEntry
from cranfield.building.serve.store import Store
from cranfield.collection.topics import Topic, Topics
from tests.building.serve.live import PASSWORD, Server, make_project

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield launched
        launched.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "judgments.db")
    make_project(made, docs=40, people=2)
    with Store(made) as store:
        store.write_guidelines("Read first, then judge.", "olga")
    return made


@pytest.fixture
def server(path: str) -> Iterator[Server]:
    with Server(path) as running:
        yield running


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Log in and open the page; errors of scripts fail the test."""
    pages: list[Any] = []
    errors: list[str] = []

    def open_page(server: Server, name: str = "w0", **options: Any) -> Any:
        context = browser.new_context(**options)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if "Content Security" in message.text else None)
        page.goto(f"{server.base}/login")
        page.fill("[name=name]", name)
        page.fill("[name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_selector("#document .docid, #finished:not([hidden])")
        ready(page)
        pages.append(context)
        return page

    open_page.errors = errors  # type: ignore[attr-defined]
    yield open_page
    for context in pages:
        context.close()
    assert not errors


def still(page: Any) -> None:
    """Wait until nothing fades, because the colours in between have no contrast."""
    page.evaluate("Promise.all(document.getAnimations().map(animation => animation.finished.catch(() => null)))")


def shown(page: Any) -> str:
    return str(page.inner_text("#document .docid").strip())


def ready(page: Any) -> None:
    """Wait until the document in view can be judged, which takes a moment for people too."""
    page.wait_for_selector("#answers:not([aria-busy])", state="attached")


def wait_for(page: Any, doc: str) -> None:
    page.wait_for_function("doc => document.querySelector('#document .docid').textContent.trim() === doc", arg=doc)
    ready(page)


def wait_for_another(page: Any, doc: str) -> None:
    page.wait_for_function(
        """doc => document.querySelector('#document').hidden ||
        document.querySelector('#document .docid').textContent.trim() !== doc""",
        arg=doc,
    )
    ready(page)


def saved(page: Any, count: int) -> None:
    page.wait_for_function(
        "count => document.querySelector('#progress-text').textContent.includes(`· ${count} by you`)", arg=count
    )


def qrels(path: str) -> dict[tuple[str, str], float]:
    with Store(path) as store:
        return {(t, d): g for t, d, g in store.database.read("SELECT topic, doc, grade FROM current_qrels")}


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


def test_hostile_documents_run_nothing(path: str, visit: Any) -> None:
    attack = "<img src=x onerror='document.title=`hacked`'><script>document.title='hacked'</script>"
    html = f"<h1>Page</h1>{attack}<form action=/logout method=post><button id=b>x</button></form>"
    with Store(path) as store:
        store.add_documents(
            [
                Document("d0", attack, attack),
                Document("d1", "", "Page", "html", {"html": html, "url": "javascript:alert(1)"}),
            ]
        )
    with Server(path) as server:
        page = visit(server)
        assert page.inner_text("#document h1") == attack
        assert page.query_selector("#document img") is None
        page.keyboard.press("1")
        wait_for(page, "d1")
        assert page.query_selector("#document a") is None
        page.click("text=Show as a page")
        frame = page.frame_locator("#document iframe")
        frame.locator("h1").wait_for()
        assert page.get_attribute("#document iframe", "sandbox") == ""
        while not any("img-src data:" in error for error in visit.errors):  # it says that it did not load the image
            page.wait_for_event("console")
        assert "hacked" not in page.title()
        visit.errors.clear()


class Pages(BaseHTTPRequestHandler):
    """Documents of another server, with a script that must not run."""

    def do_GET(self) -> None:
        page = f"<title>page</title><h1>The page {self.path}</h1><script>document.body.textContent = 'hacked'</script>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def test_documents_of_another_server_by_address(tmp_path: Path, visit: Any) -> None:
    """The id becomes part of the address, whatever it is; the page is shown in a frame in which nothing runs."""
    other = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    path = str(tmp_path / "judgments.db")
    with Store(path) as store:
        store.add_topics(Topics([Topic("1", "wing flutter")]))
        store.add_pool([PoolEntry("1", "a/../b?c", {}), PoolEntry("1", "plain", {})])
        store.set_settings(
            store.settings().changed(order="pool", url=f"http://127.0.0.1:{other.server_port}/pages/{{doc}}.html")
        )
        add_account(store, "w0", password=PASSWORD)
    try:
        with Server(path) as server:
            page = visit(server)
            heading = page.frame_locator("#document iframe").locator("h1")
            heading.wait_for()
            assert heading.inner_text() == "The page /pages/a%2F..%2Fb%3Fc.html"
            assert page.get_attribute("#document iframe", "sandbox") == ""
            page.keyboard.press("1")
            wait_for(page, "plain · open the original")
            page.wait_for_selector(f"#document iframe[src='http://127.0.0.1:{other.server_port}/pages/plain.html']")
            saved(page, 1)  # the page goes on before the server has answered
    finally:
        other.shutdown()
        other.server_close()
    assert qrels(path) == {("1", "a/../b?c"): 1}


def test_grades_for_several_lines_by_keyboard(path: str, visit: Any) -> None:
    with Store(path) as store:
        for topic in "12":
            store.add_facets([Facet(topic, "intent", "a", "causes"), Facet(topic, "intent", "b", "tests")])
        store.set_settings(store.settings().changed(mode="intents"))
    with Server(path) as server:
        page = visit(server)
        page.keyboard.press("2")
        assert shown(page) == "d0"
        page.keyboard.press("0")
        wait_for(page, "d1")
        page.keyboard.press("ArrowDown")  # the second line first
        page.keyboard.press("1")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("0")
        wait_for(page, "d2")
        saved(page, 2)
    with Store(path) as store:
        rows = store.database.read("SELECT payload FROM current_qrels ORDER BY doc")
    assert [json.loads(payload)["grades"] for (payload,) in rows] == [{"a": 2, "b": 0}, {"a": 0, "b": 1}]


def test_preferences_side_by_side(path: str, visit: Any) -> None:
    with Store(path) as store:
        store.database.write(lambda connection: connection.run("DELETE FROM pool"))
        store.add_pool(
            PoolEntry("1", f"d{i} | d{i + 1}", {"first": f"d{i}", "second": f"d{i + 1}"}) for i in range(0, 8, 2)
        )
        store.set_settings(store.settings().changed(mode="preferences"))
    with Server(path) as server:
        page = visit(server)
        left = page.inner_text(".side:nth-child(1) .docid").strip()
        page.keyboard.press("1")
        page.wait_for_function("doc => document.querySelector('.side .docid').textContent.trim() !== doc", arg=left)
        saved(page, 1)
    with Store(path) as store:
        ((payload,),) = store.database.read("SELECT payload FROM current_qrels")
    said = json.loads(payload)
    assert said[said["preferred"]] == left


def test_passages_by_keyboard_and_by_mouse(path: str, visit: Any) -> None:
    text = "𝒜 wing flutters. It bends at high speed. The end."
    with Store(path) as store:
        store.add_documents([Document("d0", "", text)])
        store.add_facets([Facet("1", "nugget", "n1", "flutter"), Facet("1", "nugget", "n2", "bending")])
        store.set_settings(store.settings().changed(mode="nuggets"))
    with Server(path) as server:
        page = visit(server)
        page.keyboard.press("j")
        page.keyboard.press("1")
        page.evaluate(
            """() => { const walker = document.createTreeWalker(document.querySelector('#document .text'), 4);
            let node; while ((node = walker.nextNode())) { const at = node.data.indexOf('bends'); if (at >= 0) {
            const range = document.createRange(); range.setStart(node, at); range.setEnd(node, at + 5);
            getSelection().removeAllRanges(); getSelection().addRange(range); return; } } }"""
        )
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        wait_for(page, "d1")
        saved(page, 1)
    with Store(path) as store:
        ((payload,),) = store.database.read("SELECT payload FROM current_qrels")
    spans = json.loads(payload)["spans"]
    assert [(span["nugget"], text[span["start"] : span["end"]]) for span in spans] == [
        ("n1", "𝒜 wing flutters."),
        ("n2", "bends"),
    ]


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


def test_a_click_into_the_page_of_a_document_leaves_the_keys_to_judging(path: str, visit: Any) -> None:
    with Store(path) as store:
        html = "<h1>Page</h1><p>Some words.</p><a href='#x'>a link</a><input>"
        store.add_documents([Document("d0", "", "Page", "html", {"html": html})])
    with Server(path) as server:
        page = visit(server)
        page.click("text=Show as a page")
        page.frame_locator("#document iframe").locator("h1").click()
        page.wait_for_function("() => document.activeElement.id === 'main'")
        page.keyboard.press("2")
        wait_for(page, "d1")
        saved(page, 1)
        assert qrels(path) == {("1", "d0"): 2}
        page.keyboard.press("b")
        wait_for(page, "d0")
        page.click("text=Show as a page")
        page.frame_locator("#document iframe").locator("h1").wait_for()
        places: list[str] = []  # people without a mouse get into the frame
        while "IFRAME" not in places and len(places) < 30:
            page.keyboard.press("Tab")
            places.append(page.evaluate("document.activeElement.tagName"))
        assert places[-1] == "IFRAME"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_accessible(server: Server, visit: Any, scheme: str, width: int) -> None:
    """Labels, names, focus order and contrast, by the rules of axe-core."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    ).Axe()
    page = visit(server, "olga", color_scheme=scheme, viewport={"width": width, "height": 800})
    page.keyboard.press("1")
    wait_for(page, "d1")
    problems = {}

    def check(name: str) -> None:
        still(page)
        found = axe.run(page).response["violations"]
        if found:
            problems[name] = [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]

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
