"""Every example in a docstring runs and prints what it shows; `page_blocks.py` runs those of pages."""

import doctest
import importlib
import pkgutil

import pytest

import cranfield
from tests.page_blocks import OPTIONS

MODULES = ["cranfield"] + [
    m.name for m in pkgutil.walk_packages(cranfield.__path__, "cranfield.") if not m.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failed == 0
