"""Names with parameters behave alike in all registries: pools, fusion, interleaving and online measures."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import pytest

from cranfield.building.fusion import fuse
from cranfield.building.fusion.fusion_methods import METHODS as FUSIONS
from cranfield.building.fusion.fusion_methods import Fusion
from cranfield.building.pools.pool_methods import POLICIES, Method
from cranfield.errors import UsageError
from cranfield.named_values import folded
from cranfield.online.interleaving.mixing_methods import METHODS as MIXING
from cranfield.online.interleaving.mixing_methods import MixingMethod
from cranfield.online.log_measures import known_online, parse_online
from cranfield.online.log_measures.online_measure import REGISTRY

FINE = 0.12345678901234567
"""A number that 6 digits do not tell from others."""


class Entry(NamedTuple):
    """A name of a registry, with the defaults of its parameters."""

    read: Callable[[str], Any]
    name: str
    defaults: dict[str, Any]


def entries() -> dict[str, Entry]:
    found = {}
    for name, policy in POLICIES.items():
        found[f"pool {name}"] = Entry(Method.of, name, {key: one.default for key, one in policy.parameters.items()})
    for name, fusion in FUSIONS.items():
        parameters = {fusion.parameter: fusion.default} if fusion.parameter else {}
        found[f"fusion {name}"] = Entry(Fusion.of, name, parameters)
    for name, family in MIXING.items():
        defaults = {key: setting.default for key, setting in family.settings.items()}
        found[f"interleaving {name}"] = Entry(MixingMethod.of, name, defaults)
    for name in known_online():
        defaults = {each.name: each.default for each in fields(REGISTRY[name]) if each.name != "k"}
        found[f"online {name}"] = Entry(parse_online, name, defaults)
    return found


EVERY = entries()
WITH_PARAMETERS = [name for name, entry in EVERY.items() if entry.defaults]


def bracketed(name: str, inside: str) -> str:
    """The name with parameters, which stand before a cutoff."""
    base, at, cutoff = name.partition("@")
    return f"{base}({inside}){at}{cutoff}"


def written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_registry_has_names_with_parameters() -> None:
    assert {name.split()[0] for name in WITH_PARAMETERS} == {"pool", "fusion", "interleaving", "online"}


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


def test_names_of_a_registry_differ_when_folded() -> None:
    for names in (POLICIES, FUSIONS, MIXING, REGISTRY):
        assert len({folded(name) for name in names}) == len(names)


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
