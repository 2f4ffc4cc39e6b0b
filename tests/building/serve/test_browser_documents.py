"""Documents in a real browser: hostile ones, those of other servers, and all modes of judging."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.judging_modes import Document, Facet, PoolEntry
from cranfield.building.serve.project.store import Store
from cranfield.collection.topics import Topic, Topics
from tests.building.serve.browsing import (
    IN_BROWSER,
    browser,
    path,
    qrels,
    saved,
    server,
    shown,
    visit,
    wait_for,
)
from tests.building.serve.live import PASSWORD, Server

pytestmark = IN_BROWSER
__all__ = ["browser", "path", "server", "visit"]
BEFORE_THE_FRAME = """() => {
    const places = [...document.querySelectorAll('a[href], button, input, textarea, select, summary, iframe')];
    const usable = places.filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0);
    usable[usable.findIndex((one) => one.tagName === 'IFRAME') - 1].focus();
}"""
"""Puts the focus on what is before the frame of a document."""


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
        page.evaluate(BEFORE_THE_FRAME)
        page.keyboard.press("Tab")  # people without a mouse get into the frame
        page.wait_for_function("() => document.activeElement.tagName === 'IFRAME'")
