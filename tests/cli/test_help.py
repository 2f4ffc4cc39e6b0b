"""The help of verbs: what it shows, how long it is, colour, and names from the registries."""

from __future__ import annotations

import dataclasses
import re

import pytest

from cranfield.cli import every_verb, find
from cranfield.cli.declare import declared
from cranfield.comparison.corrections import CORRECTIONS
from cranfield.comparison.pair_tests import TESTS
from cranfield.meta.judgments.robustness import METHODS
from tests.cli.conftest import Cranfield
from tests.cli.verbs.test_eval import in_terminal

EVERY_VERB = every_verb()
MOST_LINES = 48


@pytest.mark.parametrize("verb", EVERY_VERB)
def test_help_has_usage_options_and_examples(cranfield: Cranfield, verb: str) -> None:
    page = cranfield(*verb.split(), "--help")
    assert (page.code, page.err) == (0, "")
    assert page.out.startswith(f"usage: cranfield {verb}")
    assert "\nExamples:\n  $ " in page.out
    assert cranfield("help", *verb.split()) == page
    assert cranfield(*verb.split(), "-h") == page


@pytest.mark.parametrize("verb", [verb for verb in EVERY_VERB if verb not in ("judge demo", "measures")])
def test_a_verb_that_lacks_its_arguments_prints_its_usage(cranfield: Cranfield, verb: str) -> None:
    done = cranfield(*verb.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"usage: cranfield {verb}")
    assert done.err.endswith(f"cranfield {verb} --help shows the options\n")


@pytest.mark.parametrize("verb", EVERY_VERB)
def test_help_fits_a_screen(cranfield: Cranfield, verb: str) -> None:
    lines = cranfield(*verb.split(), "--help").out.splitlines()
    assert len(lines) <= MOST_LINES
    assert max(len(line) for line in lines if not line.startswith(("  $ ", "cranfield "))) <= 100


@pytest.mark.parametrize("verb", EVERY_VERB)
def test_help_all_shows_every_option(cranfield: Cranfield, verb: str) -> None:
    page = cranfield(*verb.split(), "--help-all").out
    for parameter in declared(find(verb)):
        for spelling in parameter.spellings:
            assert re.search(rf"^  .*{re.escape(spelling)}\b", page, re.MULTILINE), spelling


def test_rare_options_are_left_to_help_all(cranfield: Cranfield) -> None:
    short, full = (cranfield("eval", word).out for word in ("--help", "--help-all"))
    groups = "rarely needed options, files that some measures need, reading files, ranking documents"
    last = f"cranfield eval --help-all also shows: {groups}"
    assert short.splitlines()[-1] == last
    for group in ("Files that some measures need:", "Reading files:", "Ranking documents:"):
        assert group not in short
        assert group in full
    for group in ("Arguments:", "Options:", "Output:", "Examples:"):
        assert group in short
        assert group in full


def test_text_in_brackets_reaches_the_reader(cranfield: Cranfield) -> None:
    expected = "grade 0 ([worst])"
    assert expected in cranfield("eval", "--help").out
    assert expected in re.sub(r"\x1b\[[\d;]*m", "", in_terminal("eval", "--help", COLUMNS="100"))


def test_colour_in_a_terminal_only(cranfield: Cranfield) -> None:
    shown = in_terminal("eval", "--help", COLUMNS="100")
    assert "\x1b[1m" in shown
    plain = cranfield("eval", "--help").out
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == plain
    assert in_terminal("eval", "--help", COLUMNS="100", NO_COLOR="1") == plain


def test_names_come_from_the_registries(cranfield: Cranfield, monkeypatch: pytest.MonkeyPatch) -> None:
    for registry, like, name in ((TESTS, "t", "brand-new-test"), (CORRECTIONS, "holm", "brand-new-correction")):
        entries = {**registry, name: dataclasses.replace(registry[like], name=name)}
        monkeypatch.setattr(registry, "_entries", entries)
    monkeypatch.setitem(METHODS, "brand-new-method", METHODS["random"])
    page = cranfield("compare", "--help").out
    assert "brand-new-test" in page
    assert "brand-new-correction" in page
    assert "brand-new-test" in cranfield("meta", "power", "--help").out
    assert "brand-new-method" in cranfield("meta", "robust", "--help").out


def test_all_names_are_found() -> None:
    """An option that names a list of the library names one that exists and has entries."""
    for verb in EVERY_VERB:
        for parameter in declared(find(verb)):
            if parameter.names:
                assert all(isinstance(value, str) for value in parameter.values())
                assert parameter.values(), (verb, parameter.label)


def test_defaults_are_among_the_names() -> None:
    for verb in EVERY_VERB:
        for parameter in declared(find(verb)):
            if parameter.values() and parameter.default is not None:
                assert parameter.default in parameter.values(), (verb, parameter.label)
