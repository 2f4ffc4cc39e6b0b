"""The documentation site: one command builds it, everything has a page, and nothing is loaded from elsewhere."""

from __future__ import annotations

import doctest
import functools
import html
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.merging import MERGING_METHODS
from cranfield.cli import GROUPS, STAND_INS, every_verb, find
from cranfield.cli.parser import parsed
from cranfield.cli.verb_measures import verb_pages
from cranfield.comparison.pair_tests import TESTS
from cranfield.measures.base import Measure
from cranfield.measures.property_tables import by_family
from cranfield.online.clicks.click_kinds import CLICK_MODELS
from cranfield.online.log_measures import ONLINE_MEASURES
from cranfield.report import figures

ROOT = Path(__file__).parent.parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.xdist_group("site")  # the site is built once, by one worker
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "here").mkdir()
    # Paths count from the folder in which the command is typed, as they do for every other command.
    command = [sys.executable, str(ROOT / "tools" / "make_site.py"), "--output", "../site", "--pages", "../pages"]
    done = subprocess.run(command, cwd=folder / "here", capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="the tests run in one process")
def test_the_tests_of_a_group_run_on_one_worker(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@site")  # this is how pytest-xdist keeps a group together


def test_the_commands_of_the_gallery_can_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verbs and options exist; the build of the site, which is slow, runs the commands."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    gallery = importlib.import_module("website.gallery")
    shown = [command for kinds in gallery.SHOWN.values() for commands in kinds.values() for command in commands]
    assert len(shown) > 40
    for command in [gallery.LOG, *shown]:
        _, word, *words = shlex.split(command.partition(" > ")[0].partition(" | ")[0].partition("<")[0])
        if word in GROUPS:
            named = bool(words) and words[0] in GROUPS[word].verbs
            word = f"{word} {words.pop(0) if named else GROUPS[word].default}"
        parsed(find(word), f"cranfield {word}", words)


@pytest.mark.parametrize("name", ["gallery", "python_pages", "staging", "text"])
def test_the_examples_of_the_generator_are_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    result = doctest.testmod(importlib.import_module(f"website.{name}"), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


@cache
def our_names() -> frozenset[str]:
    """The names of all measures, from a process in which no test or example has registered one of its own."""
    code = "from cranfield.measures import REGISTRY; print(*REGISTRY, sep='\\n')"
    return frozenset(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split("\n"))


def our_measures() -> list[type[Measure]]:
    """The measures of the package."""
    return [kind for kinds in by_family().values() for kind in kinds if kind.name in our_names()]


def titles(folder: Path) -> list[str]:
    """The first headings of the pages in a folder, without that of the index."""
    pages = [path for path in folder.glob("*.html") if path.name != "index.html"]
    headings = [re.search(r"<h1[^>]*>(.*?)<a class=\"headerlink\"", path.read_text("utf-8")) for path in pages]
    return sorted(html.unescape(heading[1]) for heading in headings if heading)


def test_every_entry_of_the_registries_has_a_page(site: Path) -> None:
    reference = site / "reference"
    measures = [kind.name for kind in our_measures()]
    assert titles(reference / "measures") == sorted([*measures, *(page.name for page in verb_pages())])
    assert titles(reference / "tests") == sorted(TESTS)
    assert titles(reference / "merging") == sorted(MERGING_METHODS)
    assert titles(reference / "online") == sorted(ONLINE_MEASURES)
    assert titles(reference / "clicks") == sorted(CLICK_MODELS)
    verbs = [*every_verb(), *GROUPS, *STAND_INS]
    assert titles(reference / "commands") == sorted(f"cranfield {verb}" for verb in verbs)


def test_measures_have_a_formula_and_a_picture_or_say_why_not(site: Path) -> None:
    without = {"NumRel", "ideal_dcg"}
    for kind in our_measures():
        (path,) = (page for page in (site / "reference" / "measures").glob("*.html") if is_page_of(kind.name, page))
        text = path.read_text("utf-8")
        assert ("<math" in text) == (".. math::" in (kind.__doc__ or "")), kind.name
        pictures = re.findall(r'<img [^>]*src="([^"]*)"', text)
        assert len(pictures) == (kind.name not in without), kind.name
        assert all((path.parent / picture).resolve().is_file() for picture in pictures)
        assert ("There is no picture" in text) == (kind.name in without), kind.name


def is_page_of(measure: str, page: Path) -> bool:
    """Is this the page of a measure of ranked lists? F is also a measure of answers."""
    text = page.read_text("utf-8")
    return f'>{html.escape(measure)}<a class="headerlink"' in text and "<code>cranfield eval</code>" in text


def test_the_gallery_has_every_figure(site: Path) -> None:
    text = (site / "gallery.html").read_text("utf-8")
    for name in figures.__all__:
        if name.startswith("describe_"):
            assert f"pictures/gallery/{name}.svg" in text
            assert (site / "pictures" / "gallery" / f"{name}.svg").read_text("utf-8").startswith("<svg")


def test_every_page_of_the_documentation_is_in_the_navigation(site: Path) -> None:
    """mkdocs warns of pages that are not, and warnings stop the build; this looks for pages that were not copied."""
    replaced = {"measures.html", "merging.html", "online_measures.html"}  # each of their entries has a page of its own
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        name = "guides.html" if name == "README.html" else name.replace("README.html", "index.html")
        assert (site / name).is_file() != (name in replaced), name


def test_the_navigation_has_seven_entries(site: Path) -> None:
    start = (site / "index.html").read_text("utf-8")
    tabs = re.findall(r'<li class="md-tabs__item[^"]*">.*?<a [^>]*>(.*?)</a>', start, re.DOTALL)
    expected = ["Start", "Tutorial", "How-to", "Concepts", "Guides", "Reference", "Switching"]
    assert [html.unescape(re.sub(r"<[^>]*>", "", tab)).strip() for tab in tabs] == expected


class Loaded(HTMLParser):
    """The addresses that a browser loads by itself to show a page; links are not among them."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in ("src", "srcset", "data", "poster") or (tag == "link" and name == "href")):
                self.addresses.append(value)
            if value and name == "style":
                self.addresses += re.findall(r"url\(([^)]*)\)", value)


def test_nothing_is_loaded_from_another_server(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 300
    for page in pages:
        parser = Loaded()
        parser.feed(page.read_text("utf-8"))
        assert parser.addresses, page  # at least the style
        assert not [address for address in parser.addresses if re.match(r"(?:\w+:)?//", address)], page
    for style in site.rglob("*.css"):
        assert not re.findall(r"url\([\"']?(?:https?:)?//", style.read_text("utf-8")), style
    for picture in site.rglob("*.svg"):
        assert not re.findall(r"(?:href|src)=[\"']https?:", picture.read_text("utf-8")), picture


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from make_site import build  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    (tmp_path / "pages" / "static").mkdir(parents=True)
    (tmp_path / "pages" / "index.md").write_text("# Start\n\n[away](nowhere.md)\n")
    with pytest.raises(SystemExit, match="the site was not built"):
        build(tmp_path / "pages", tmp_path / "site", [{"Start": "index.md"}])


# -- in a browser

WALK = (
    "index.html", "guides.html", "compare.html", "notation.html", "gallery.html", "reference/measures/index.html",
    "reference/measures/ndcg.html", "reference/measures/alpha-ndcg.html", "reference/tests/index.html",
    "reference/commands/eval.html", "reference/python/cranfield.html", "coming_from/trec_eval.html",
)  # fmt: skip


FIRST = {
    "nDCG": "reference/measures/ndcg.html", "map": "notation.html", "AP'": "notation.html",
    "compare two runs": "how_to/compare_two_runs.html", "RAG": "rag.html", "faithfulness": "rag.html",
    "LLM judge": "machine_judges.html", "recommender": "recommenders.html", "A/B test": "experiments.html",
    "elasticsearch": "how_to/score_results.html", "trec_eval": "coming_from/trec_eval.html",
}  # fmt: skip
"""The first result of a search: a guide before the signature of a function."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield launched
        launched.close()


def watched_page(browser: Any, allowed: str, **options: Any) -> tuple[Any, list[str]]:
    """A page without a network beyond `allowed`, and the list of what goes wrong on it."""
    context = browser.new_context(**options)
    problems: list[str] = []

    def decide(route: Any) -> None:
        if route.request.url.startswith((allowed, "data:", "blob:")):
            route.continue_()
        else:
            problems.append(f"request to {route.request.url}")
            route.abort()

    context.route("**/*", decide)
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("response", lambda response: problems.append(response.url) if response.status >= 400 else None)
    return page, problems


def search_for(page: Any, words: str) -> str:
    """Type into the search box; return the address of the first result."""
    page.locator("input.md-search__input").click()
    page.keyboard.type(words)
    found = page.locator(".md-search-result__item a.md-search-result__link").first
    found.wait_for(state="visible", timeout=30_000)
    return str(found.get_attribute("href"))


@needs_chromium
@pytest.mark.parametrize("how", ["server", "disk"])
def test_pages_load_and_the_search_finds_a_measure_without_a_network(
    site: Path, browser: Any, request: pytest.FixtureRequest, how: str
) -> None:
    start = request.getfixturevalue("address") if how == "server" else f"{site.as_uri()}/"
    page, problems = watched_page(browser, start)
    for name in WALK:
        page.goto(start + name)
        assert page.locator("h1").first.is_visible()
        broken = page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        assert broken == [], name
    for words, first in FIRST.items():
        page.goto(start + "index.html")
        assert first in search_for(page, words), words
    assert problems == []
    page.context.close()


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_formulas_are_drawn_and_nothing_is_wider_than_a_phone(address: str, browser: Any, scheme: str) -> None:
    options = {"viewport": {"width": 390, "height": 800}, "color_scheme": scheme}
    page, problems = watched_page(browser, address, **options)
    for name in ("index.html", "reference/measures/ndcg.html", "reference/commands/eval.html", "gallery.html"):
        page.goto(address + name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.goto(address + "reference/measures/ndcg.html")
    formula = page.locator("math[display=block]").first.bounding_box()
    assert formula["height"] > 30  # a fraction is higher than a line
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(255, 255, 255)") == (scheme == "light"), dark
    assert problems == []
    page.context.close()


@needs_chromium
def test_blocks_of_code_fit_a_screen_of_1400_pixels(address: str, browser: Any) -> None:
    page, problems = watched_page(browser, address, viewport={"width": 1400, "height": 900})
    for name in ("index.html", "tutorial.html", "compare.html", "experiments.html", "reference/measures/ndcg.html"):
        page.goto(address + name)
        wide = "[...document.querySelectorAll('pre > code, .formula')].filter(c => c.scrollWidth > c.clientWidth + 1)"
        assert page.evaluate(f"{wide}.map(c => c.innerText)") == [], name
    assert problems == []
    page.context.close()
