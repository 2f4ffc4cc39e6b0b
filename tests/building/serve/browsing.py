"""A real browser, a server for it, and what a person at it waits for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.serve.project.store import Store
from tests.building.serve.live import PASSWORD, Server, make_project

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IN_BROWSER = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),
]
"""The marks of tests that need a browser."""


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
