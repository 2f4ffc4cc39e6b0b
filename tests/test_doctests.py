"""Every example in a docstring and in the README runs and prints what it shows; `test_pages.py` runs those of docs/."""

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
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failed == 0


def test_readme_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = re.sub(r"^```.*$", "", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0
