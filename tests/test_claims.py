"""Claims of the documentation: each strong one has a test, and its commands work as they are typed."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

from cranfield.errors import UsageError
from cranfield.frames import install_command, need

ROOT = Path(__file__).parent.parent


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("claims")


def test_every_strong_claim_names_the_test_that_holds_it(script: ModuleType) -> None:
    assert doctest.testmod(script).failed == 0
    assert len(script.claims()) > 100
    assert script.faults() == []


def test_a_claim_without_a_test_is_found(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"README.md": {"no such sentence": "tests/test_claims.py::test_nothing"}}
    monkeypatch.setattr(script, "entries", lambda: page)
    faults = "\n".join(script.faults())
    assert "README.md: nothing holds" in faults
    assert "README.md: no sentence has 'no such sentence'" in faults
    assert "tests/test_claims.py::test_nothing is not a test" in faults


def test_no_page_installs_cranfield_from_an_index_on_which_it_is_not() -> None:
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = [place for place in places if re.search(r"pip install '?cranfield", place.read_text("utf-8"))]
    assert found == []


def test_a_missing_package_is_named_with_its_extra() -> None:
    """pip finds the cranfield that is installed, and installs only what the extra adds."""
    assert install_command("frames") == "pip install 'cranfield[frames]'"
    for package, extra in {"pyarrow": "frames", "altair": "plot", "psycopg": "postgres", "duckdb": "logs"}.items():
        said = rf"X needs {package}, .*: pip install 'cranfield\[{extra}\]'"
        with mock.patch.dict(sys.modules, {package: None}), pytest.raises(UsageError, match=said):
            need(package, "X")


def test_every_promise_of_security_names_tests_that_are_there() -> None:
    """Each row of the tables of attacks and failures ends with its tests."""
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|\n]+ \| [^|\n]+ \| ([^|\n]+) \|$", text, re.MULTILINE)
    tests = [re.findall(r"`(tests/[\w/]+\.py)`", row) for row in rows if row not in {"test", "---"}]
    assert len(tests) > 20
    assert all(tests)
    assert [name for row in tests for name in row if not (ROOT / name).is_file()] == []
