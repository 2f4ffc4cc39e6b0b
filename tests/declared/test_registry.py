"""Names are read alike in all registries, with and without parameters."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from cranfield.building.merging import MERGING_METHODS
from cranfield.building.pools.pooling import POLICIES, Method
from cranfield.comparison.apply_test import SAMPLE_TESTS
from cranfield.comparison.corrections import CORRECTIONS
from cranfield.comparison.pair_tests import TESTS
from cranfield.comparison.power.designs import DESIGNS
from cranfield.declared.registry import Registry, folded, parameters_of
from cranfield.errors import UsageError
from cranfield.fusion import fuse
from cranfield.fusion.fusion_methods import FUSION_METHODS, NORMALISATIONS, Fusion
from cranfield.online.clicks import CLICK_MODELS
from cranfield.online.interleaving.mixing_methods import MIXING_METHODS, MixingMethod
from cranfield.online.log_measures import ONLINE_MEASURES, parse_online

REGISTRIES: list[Registry[Any]] = [
    POLICIES, FUSION_METHODS, NORMALISATIONS, MIXING_METHODS, ONLINE_MEASURES, TESTS, SAMPLE_TESTS, CORRECTIONS,
    DESIGNS, MERGING_METHODS, CLICK_MODELS,
]  # fmt: skip
FINE = 0.12345678901234567
"""A number that 6 digits do not tell from others."""


class Entry(NamedTuple):
    """A name of a registry, with the defaults of its parameters."""

    read: Callable[[str], Any]
    name: str
    defaults: dict[str, Any]


def entries() -> dict[str, Entry]:
    every: dict[str, Entry] = {}
    for kind in (Method, Fusion, MixingMethod):
        for name, entry in kind.registry.items():
            defaults = {key: setting.default for key, setting in parameters_of(entry).items()}
            every[f"{kind.__name__} {name}"] = Entry(kind.of, name, defaults)
    for name, measure in ONLINE_MEASURES.items():
        defaults = {key: setting.default for key, setting in measure.declared().items() if key != "k"}
        every[f"online {name}"] = Entry(parse_online, name, defaults)
    return every


EVERY = entries()
WITH_PARAMETERS = [name for name, entry in EVERY.items() if entry.defaults]


def bracketed(name: str, inside: str) -> str:
    """The name with parameters, which stand before a cutoff."""
    base, at, cutoff = name.partition("@")
    return f"{base}({inside}){at}{cutoff}"


def written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_registry_has_names_with_parameters() -> None:
    assert {name.split()[0] for name in WITH_PARAMETERS} == {"Method", "Fusion", "MixingMethod", "online"}


@pytest.mark.parametrize("name", EVERY)
def test_a_name_reads_back_and_is_found_in_any_spelling(name: str) -> None:
    entry = EVERY[name]
    plain = entry.read(entry.name)
    assert entry.read(str(plain)) == plain
    for spelling in (entry.name.upper(), entry.name.replace("-", "_"), entry.name.replace("-", " ").title()):
        assert entry.read(spelling) == plain
        assert hash(entry.read(spelling)) == hash(plain)


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_parameter_at_its_default_changes_neither_the_value_nor_the_name(name: str) -> None:
    entry = EVERY[name]
    for key, default in entry.defaults.items():
        given = entry.read(bracketed(entry.name, f"{key}={written(default)}"))
        assert given == entry.read(entry.name)
        assert str(given) == str(entry.read(entry.name))


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_repeated_parameter_is_refused(name: str) -> None:
    entry = EVERY[name]
    for key, default in entry.defaults.items():
        with pytest.raises(UsageError, match=f"{key} is given twice"):
            entry.read(bracketed(entry.name, f"{key}={written(default)},{key}={written(default)}"))


@pytest.mark.parametrize("name", EVERY)
def test_an_unknown_parameter_or_a_word_without_a_value_is_refused(name: str) -> None:
    entry = EVERY[name]
    with pytest.raises(UsageError, match="no parameter 'wrong'"):
        entry.read(bracketed(entry.name, "wrong=1"))
    for text in (bracketed(entry.name, "wrong"), bracketed(entry.name, "=1"), f"{entry.name}(", f"{entry.name}(a=1)b"):
        with pytest.raises(UsageError):
            entry.read(text)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (Method.of, f"rbp(p={FINE})"),
        (Method.of, f"epsilon-greedy(c=1.0000001,d={FINE})"),
        (Fusion.of, "rrf(k=60.0000001)"),
        (Fusion.of, f"rbc(phi={FINE})"),
        (MixingMethod.of, f"probabilistic(tau={FINE})"),
        (MixingMethod.of, f"probabilistic(tau={FINE},replacement=false)"),
        (parse_online, f"satisfied-clicks(seconds={FINE})"),
    ],
)
def test_a_name_keeps_its_parameters_exactly(read: Callable[[str], Any], text: str) -> None:
    assert str(read(text)) == text
    assert read(str(read(text))) == read(text)


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_every_registry_finds_its_names_and_aliases_in_any_spelling(registry: Registry[Any]) -> None:
    assert len({folded(name) for name in registry}) == len(registry) > 1
    for entry in registry.values():
        for name in (entry.name, *getattr(entry, "aliases", ())):
            for spelling in (name, name.upper(), name.replace("-", "_"), name.replace("-", " ").title()):
                assert registry.find(spelling) is entry


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_an_unknown_name_is_an_error_that_suggests_only_what_is_close(registry: Registry[Any]) -> None:
    with pytest.raises(UsageError, match=f"no {registry.kind} 'xyzzyxyzzy'; there are"):
        registry.find("xyzzyxyzzy")
    with pytest.raises(UsageError, match=f"a {registry.kind} is given by its name, not by 7"):
        registry.find(7)  # type: ignore[arg-type]
    long = max(registry, key=len)
    if len(long) > 5:
        with pytest.raises(UsageError, match=f"did you mean '{re.escape(long)}'"):
            registry.find(f"{long[:-2]}{long[-1]}")


def test_the_order_of_parameters_does_not_matter() -> None:
    assert Method.of("epsilon-greedy(d=0.5,c=2)") == Method.of("epsilon-greedy(c=2, d=0.5)")


def test_a_parameter_in_the_name_and_beside_it_is_refused() -> None:
    with pytest.raises(UsageError, match="tau is given twice, as 1 and 2"):
        MixingMethod.of("probabilistic(tau=1)", tau=2)
    with pytest.raises(UsageError, match="k is given twice, as 20 and 30"):
        Fusion.of("rrf(k=20)", k=30)
    with pytest.raises(UsageError, match="k is given twice"):
        parse_online("CTR(k=3)@5")


def test_a_fused_run_is_named_with_the_parameter_of_its_method() -> None:
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}]
    assert [fuse(runs, method).name for method in ("rrf", "rrf(k=60)", "rrf(k=20)")] == ["rrf", "rrf", "rrf(k=20)"]
