"""The methods of interleaving: their names, parameters, credit, and what is known about their bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cranfield.declared.registry import Named, Registry
from cranfield.declared.settings import Setting
from cranfield.errors import UsageError

MOST_IN_ROUNDS = 12
"""Without replacement, the core sums over all orders of the systems, up to this number of systems."""


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
    parameters: Mapping[str, Setting] = field(default_factory=dict)
    two_only: bool = False


_SHARED = Setting(False)
_TAU = Setting(3.0, least=0, most=30)
_WORTH = Setting("inverse", choices=("linear", "inverse", "binary"))
_SAMPLES = Setting(2000, least=1, most=100_000)

MIXING_METHODS: Registry[Family] = Registry(
    "method of interleaving",
    (
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
            {"credit": _WORTH, "samples": _SAMPLES, "bias_weight": Setting(1.0, least=0, most=1e6)},
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
    ),
    aliases={
        "td": "team-draft", "tdi": "team-draft", "tdm": "team-draft", "balance": "balanced", "pi": "probabilistic",
        "pm": "probabilistic", "oi": "optimised", "om": "optimised", "rom": "roughly-optimised", "ppm": "pairwise",
        "pairwise-preference": "pairwise", "sample-only-scored": "sosm",
    },
)  # fmt: skip


class MixingMethod(Named):
    """A method with its parameters.

    >>> MixingMethod.of("probabilistic(tau=1)").values
    {'tau': 1.0, 'replacement': True}
    >>> str(MixingMethod.of("td", skip_shared=True))
    'team-draft(skip_shared=true)'
    """

    registry = MIXING_METHODS

    @property
    def family(self) -> Family:
        """What is known about the method."""
        return MIXING_METHODS[self.name]

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
