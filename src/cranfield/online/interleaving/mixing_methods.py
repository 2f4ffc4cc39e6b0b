"""The methods of interleaving: their names, parameters, credit, and what is known about their bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cranfield import check
from cranfield.errors import UsageError
from cranfield.named_values import changed, check_names, find_name, full_name, given_once, number_of, read_name

MOST_IN_ROUNDS = 12
"""Without replacement, the core sums over all orders of the systems, up to this number of systems."""


class Setting(NamedTuple):
    """A parameter: its default, and the values that are allowed."""

    default: bool | float | str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()

    def value(self, method: str, name: str, given: Any) -> bool | float | str:
        """The value of text or of a Python value, checked."""
        if isinstance(self.default, bool):
            words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            if str(given).lower() not in words:
                raise check.wrong(method, name, given, "true or false")
            return words[str(given).lower()]
        if self.choices:
            check.one_of(method, self.choices, **{name: given})
            return str(given)
        number = number_of(method, name, given)
        check.between(method, low=self.low, high=self.high, **{name: number})
        return number


@dataclass(frozen=True)
class Family:
    """What all lists of one method have in common."""

    name: str
    title: str
    credit: str
    """How clicks count: `worth` (each click adds the worth of its place), `balanced` or `pairwise`."""
    source: str
    bias: str
    """What is known about clicks at random, which should favour nobody."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    two_only: bool = False


_SHARED = Setting(False)
_TAU = Setting(3.0, 0, 30)
_WORTH = Setting("inverse", choices=("linear", "inverse", "binary"))
_SAMPLES = Setting(2000, 1, 100_000)

METHODS: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "balanced", "balanced interleaving", "balanced", "Joachims 2003; Ferro & Maistro 2024 Algorithm 1",
            "biased if one list is the other one shifted: random clicks favour the list whose documents are seen first",
            two_only=True,
        ),
        Family(
            "team-draft", "team draft", "worth", "Radlinski, Kurup & Joachims, CIKM 2008; Schuth et al., CIKM 2014",
            "random clicks favour nobody; it may miss a difference if each system's better documents are taken by the "
            "other team",
            {"skip_shared": _SHARED},
        ),
        Family(
            "probabilistic", "probabilistic interleaving", "worth",
            "Hofmann, Whiteson & de Rijke, CIKM 2011; Schuth et al., SIGIR 2015",
            "random clicks favour nobody in mean credit; the lists differ more from those of the systems",
            {"tau": _TAU, "replacement": Setting(True)},
        ),
        Family(
            "optimised", "optimised interleaving", "worth",
            "Radlinski & Craswell, WSDM 2013; Schuth et al., CIKM 2014",
            "random clicks favour nobody, if the linear programme has a solution; else the bias is as low as possible",
            {"credit": _WORTH, "samples": _SAMPLES},
        ),
        Family(
            "roughly-optimised", "roughly optimised interleaving", "worth", "Manabe et al., SIGIR 2017",
            "some bias is traded for lists on which no system has an advantage",
            {"credit": _WORTH, "samples": _SAMPLES, "bias_weight": Setting(1.0, 0, 1e6)},
        ),
        Family(
            "pairwise", "pairwise preference", "pairwise", "Oosterhuis & de Rijke, CIKM 2017",
            "random clicks favour nobody",
        ),
        Family(
            "sosm", "sample-only-scored multileaving", "worth", "Brost, Cox, Seldin & Lioma, CIKM 2016",
            "random clicks favour nobody if every place is equally likely to be clicked",
            {"tau": _TAU, "skip_shared": _SHARED},
        ),
    )
}  # fmt: skip
"""All methods by name."""
OTHER_NAMES = {
    "teamdraft": "team-draft", "td": "team-draft", "tdi": "team-draft", "tdm": "team-draft", "balance": "balanced",
    "pi": "probabilistic", "pm": "probabilistic", "oi": "optimised", "optimized": "optimised", "om": "optimised",
    "roughly-optimized": "roughly-optimised", "rom": "roughly-optimised", "ppm": "pairwise",
    "pairwise-preference": "pairwise", "sample-only-scored": "sosm",
}  # fmt: skip


def known_methods() -> tuple[str, ...]:
    """The names of all methods."""
    return tuple(METHODS)


@dataclass(frozen=True)
class MixingMethod:
    """A method with its parameters.

    >>> MixingMethod.of("probabilistic(tau=1)").values
    {'tau': 1.0, 'replacement': True}
    >>> str(MixingMethod.of("td", skip_shared=True))
    'team-draft(skip_shared=true)'
    """

    name: str
    given: tuple[tuple[str, bool | float | str], ...] = ()
    """The parameters that differ from their defaults."""

    @staticmethod
    def of(text: str | MixingMethod, **parameters: Any) -> MixingMethod:
        """The method of a text such as `probabilistic(tau=1)`; the error for an unknown name suggests another."""
        if isinstance(text, MixingMethod):
            return text
        written = read_name(text, "method")
        name = find_name(written.name, METHODS, "method of interleaving", OTHER_NAMES)
        settings = METHODS[name].settings
        given = given_once(name, written.parameters, parameters)
        check_names(name, given, settings)
        values = {key: settings[key].value(name, key, value) for key, value in given.items()}
        return MixingMethod(name, changed(values, {key: setting.default for key, setting in settings.items()}))

    @property
    def family(self) -> Family:
        """What is known about the method."""
        return METHODS[self.name]

    @property
    def values(self) -> dict[str, Any]:
        """All parameters."""
        return {key: setting.default for key, setting in self.family.settings.items()} | dict(self.given)

    def check_systems(self, systems: int) -> None:
        """Raise an error if the method cannot mix this number of lists."""
        if systems < 2:
            raise UsageError(f"{self.name}: {systems} list, interleaving needs two or more")
        if self.family.two_only and systems != 2:
            raise UsageError(f"{self.name}: {systems} lists, but it takes two; team-draft takes more")
        if not self.values.get("replacement", True) and systems > MOST_IN_ROUNDS:
            raise UsageError(
                f"{self.name}: {systems} lists, at most {MOST_IN_ROUNDS} without replacement; use replacement=true"
            )

    def __str__(self) -> str:
        return full_name(self.name, self.given)
