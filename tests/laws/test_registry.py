"""Every registered measure is classified, documented and referenced."""

from __future__ import annotations

import inspect
import re

import pytest

import cranfield.measures
from cranfield.errors import UsageError
from cranfield.measures import MEASURES, REGISTRY, Measure, Properties, measure, names
from tests.laws.instances import ALL

every = pytest.mark.parametrize("name", MEASURES)
SCALES = re.compile(r"not interval|ratio|interval( iff .*)?")


def page(name: str) -> str:
    return inspect.getdoc(REGISTRY[name]) or ""


@every
def test_the_docstring_begins_with_one_sentence(name: str) -> None:
    first = page(name).split("\n\n")[0]
    assert "\n" not in first
    assert first.endswith(".")


@every
def test_the_docstring_has_a_formula(name: str) -> None:
    assert ".. math::" in page(name)


@every
def test_the_docstring_says_what_happens_without_relevant_documents(name: str) -> None:
    assert re.search(r"No relevant documents: \S.*\.", page(name))


@every
def test_the_docstring_has_a_reference(name: str) -> None:
    reference = REGISTRY[name].reference()
    assert re.search(r"(19|20)\d\d", reference), "the Reference: line needs a year"
    for doi in re.findall(r"doi:(\S+)", reference):
        assert re.fullmatch(r"10\.\d{4,}/[^\s;,]+", doi.rstrip(";,")), doi


@every
def test_the_docstring_has_an_example(name: str) -> None:
    assert re.search(r">>> .*\.of\(", page(name))


@every
def test_is_classified(name: str) -> None:
    kind = REGISTRY[name]
    assert "properties" in kind.__dict__, "declare the properties of the measure"
    properties = kind.properties
    assert properties.low < properties.high
    assert properties.better in ("higher", "lower", "neither")
    assert SCALES.fullmatch(properties.scale)
    assert kind.cutoff_kind in ("rank", "recall", "none")
    assert kind.__doc__ != Measure.__doc__


@every
def test_is_exported_under_its_name(name: str) -> None:
    written = name if name.isidentifier() else REGISTRY[name].__name__  # P+ is Pplus in Python
    assert getattr(cranfield.measures, written) is REGISTRY[name]
    assert written in cranfield.measures.__all__


@every
def test_is_covered_by_the_laws(name: str) -> None:
    assert REGISTRY[name].needs or any(made.name == name for made in ALL)


@every
def test_the_docstring_explains_the_parameters(name: str) -> None:
    for parameter in REGISTRY[name].parameters():
        common = {"rel", "gain", "norm", "N", "base"}
        assert parameter in common or len(parameter) == 1 or re.search(rf"`{parameter}|{parameter}=", page(name))


def test_no_two_measures_share_a_name() -> None:
    taken = [alias for kind in (REGISTRY[name] for name in MEASURES) for alias in (kind.name, *kind.aliases)]
    assert len(taken) == len(set(taken))
    assert set(taken) <= set(names())


def test_every_exported_name_exists() -> None:
    assert all(hasattr(cranfield.measures, name) for name in cranfield.measures.__all__)


def test_a_user_cannot_redefine_a_built_in_measure() -> None:
    def AP(lists: object) -> object:
        return lists

    with pytest.raises(UsageError, match="the name 'AP' is taken by cranfield"):
        measure(AP)  # type: ignore[arg-type]
    assert REGISTRY["AP"].__module__ == "cranfield.measures.ranked_lists.ranked"


def test_properties_have_defaults_that_promise_nothing() -> None:
    assert Properties() == Properties(False, False, False, False, False, 0.0, 1.0, "higher", "not interval")
