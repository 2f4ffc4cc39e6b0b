"""Every example in a docstring, in the README and in the documentation runs and prints what it shows."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import cranfield

ROOT = Path(__file__).parent.parent
MODULES = ["cranfield"] + [
    m.name for m in pkgutil.walk_packages(cranfield.__path__, "cranfield.") if not m.name.endswith("__main__")
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = re.sub(r"^```.*$", "", page.read_text("utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0
