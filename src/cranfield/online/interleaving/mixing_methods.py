"""The methods of interleaving: names, parameters, what is known about their bias, and the credit of clicks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cranfield.declared.registry import Named, Registry
from cranfield.declared.settings import Setting
from cranfield.errors import UsageError
from cranfield.types import Array

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


Clicks = NDArray[np.bool_]
"""lists × places: was the document clicked?"""
Ranks = NDArray[np.int32]
"""lists × places × systems: the rank that each system gives the document, 0 if it does not return it."""

_BLOCK = 2_000_000
"""Numbers held at a time, to bound memory."""


def worth_credit(worth: Array, clicks: Clicks) -> Array:
    """lists × systems: the sum of the worths of the clicked places."""
    return np.asarray(np.einsum("np,nps->ns", clicks.astype(np.float64), worth))


def balanced_credit(rank: Ranks, counted: Clicks, clicks: Clicks) -> Array:
    r"""lists × 2: the clicked documents among the first k of each system.

    .. math:: k = \min_s \text{rank}_s(d_{c}), \quad h_s = |\{d \text{ clicked} : \text{rank}_s(d) \le k\}|

    d_c is the lowest clicked document. Only places of `counted` count: not those that fill the page when a list has
    ended. Reference: Radlinski, Kurup & Joachims, CIKM 2008

    >>> rank = np.array([[[1, 2], [3, 1], [2, 4]]], dtype=np.int32)  # a1 b1 a2, which A ranks 1, 3, 2 and B 2, 1, 4
    >>> balanced_credit(rank, np.ones((1, 3), dtype=bool), np.array([[False, True, True]])).tolist()
    [[1.0, 1.0]]
    """
    clicks = clicks & counted
    n, places = clicks.shape
    last = places - 1 - np.argmax(clicks[:, ::-1], axis=1)
    at_last = rank[np.arange(n), last]
    k = np.where(at_last > 0, at_last, np.iinfo(np.int32).max).min(axis=1)
    within = (rank > 0) & (rank <= k[:, None, None]) & clicks[:, :, None]
    return np.asarray(within.sum(axis=1, dtype=np.float64))


def pairwise_credit(rank: Ranks, choices: Array, clicks: Clicks) -> Array:
    r"""lists × systems: preferences for clicked documents over others, that each system shares or contradicts.

    A clicked document d is preferred to a document e that was not clicked, if e is above the lowest click or just below
    it. The pair counts if both are placed no higher than r, the place from which on either could have been drawn. Then
    both orders were equally likely. It adds w to systems that rank d above e, and subtracts w if they rank e above d:

    .. math:: w = 1 \Big/ \prod_{i = t}^{r - 1} \left(1 - \frac{1}{|\Omega_i|}\right), \quad
        r = \max(t_d, t_e), \quad t = \min(t_d, t_e)

    t_d is the best rank that a system gives d, and Ω_i the documents that could be drawn at place i.
    Reference: Oosterhuis & de Rijke, CIKM 2017, doi:10.1145/3132847.3132895

    >>> rank = np.array([[[1, 2], [2, 1]]], dtype=np.int32)
    >>> pairwise_credit(rank, np.array([[2.0, 1.0]]), np.array([[True, False]])).tolist()
    [[1.0, -1.0]]
    """
    n, places, systems = rank.shape
    out = np.zeros((n, systems))
    block = max(1, _BLOCK // (places * places * systems))
    for begin in range(0, n, block):
        part = slice(begin, begin + block)
        out[part] = _pairwise(rank[part].astype(np.int64), choices[part], clicks[part])
    return out


def _pairwise(rank: NDArray[np.int64], choices: Array, clicks: Clicks) -> Array:
    n, places, _ = rank.shape
    absent = np.iinfo(np.int32).max
    rank = np.where(rank > 0, rank, absent)
    top = rank.min(axis=2) - 1  # from 0 on; a place without a document has none
    shown = choices > 0
    clicked = clicks & shown
    below = np.cumsum(clicked[:, ::-1], axis=1)[:, ::-1]  # clicks at this place or lower
    included = shown & (np.concatenate([np.ones((n, 1), dtype=int), below[:, :-1]], axis=1) > 0)
    other = included & ~clicked
    place = np.arange(places)
    first = np.minimum(place[:, None], place[None, :])
    high = np.maximum(top[:, :, None], top[:, None, :])
    low = np.minimum(top[:, :, None], top[:, None, :])
    pairs = clicked[:, :, None] & other[:, None, :] & (first[None] >= high)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(choices > 1, np.log1p(-1 / np.where(choices > 1, choices, 2)), 0.0)
    until = np.concatenate([np.zeros((n, 1)), np.cumsum(logs, axis=1)], axis=1)
    rows = np.arange(n)[:, None, None]
    high, low = np.minimum(high, places), np.minimum(low, places)
    weight = np.where(pairs, np.exp(until[rows, low] - until[rows, high]), 0.0)
    sign = np.sign(rank[:, None, :, :] - rank[:, :, None, :])  # clicked × other: + if the clicked one is ranked higher
    return np.asarray(np.einsum("nij,nijs->ns", weight, sign))


def sample_only_list(ranks: list[int], systems: int, tau: float) -> list[float]:
    """`sample_only_worth` of one list, place by place for each system, without the overhead of arrays.

    >>> sample_only_list([1, 0, 3, 1], systems=2, tau=1.0)
    [1.0, 0.5, 0.5, 1.0]
    """
    places = len(ranks) // systems
    powers = [place**-tau for place in range(1, places + 1)]
    worth = [0.0] * len(ranks)
    for system in range(systems):
        column = ranks[system::systems]
        returned = sorted((rank, place) for place, rank in enumerate(column) if rank > 0)
        for power, (_, place) in zip(powers, returned, strict=False):
            worth[place * systems + system] = power
        if len(returned) < places:
            mean = sum(powers[len(returned) :]) / (places - len(returned))
            for place, rank in enumerate(column):
                if rank == 0:
                    worth[place * systems + system] = mean
    return worth


def sample_only_worth(rank: Ranks, tau: float) -> Array:
    r"""lists × places × systems: 1 / r^τ, where r is the rank of a document among those shown, by the system.

    Documents that a system does not return share the ranks that are left: each gets the mean of their worths. So all
    systems have the same sum. Places without a document are worth 0; all ranks are 0 there.
    Reference: Brost, Cox, Seldin & Lioma, CIKM 2016, doi:10.1145/2983323.2983874

    >>> sample_only_worth(np.array([[[1, 0], [3, 1]]], dtype=np.int32), tau=1.0).tolist()
    [[[1.0, 0.5], [0.5, 1.0]]]
    """
    places = rank.shape[1]
    shown = np.asarray((rank > 0).any(axis=2))
    key = np.where(rank > 0, rank, np.iinfo(np.int32).max)
    order = np.argsort(np.argsort(key, axis=1, kind="stable"), axis=1, kind="stable")  # 0 for the best one shown
    worth = (order + 1.0) ** -tau
    absent = shown[:, :, None] & (rank == 0)
    returned = (rank > 0).sum(axis=1)  # lists × systems
    number = shown.sum(axis=1)[:, None]
    sums = np.concatenate([[0.0], np.cumsum(np.arange(1.0, places + 1) ** -tau)])
    left = np.maximum(number - returned, 1)
    mean = (sums[number] - sums[returned]) / left
    worth = np.where(absent, mean[:, None, :], worth)
    return np.asarray(np.where(shown[:, :, None], worth, 0.0))
