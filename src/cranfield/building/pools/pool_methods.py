"""From the name of a method, such as `rbp(p=0.95)`, to a policy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cranfield.building.pools.fixed_order import Depth, RankBiased, ReciprocalRank
from cranfield.building.pools.hedge import Hedge
from cranfield.building.pools.pool_policy import Policy
from cranfield.building.pools.pool_samples import Stratified, Stratum, WeightedSample
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.run_bandits import (
    EpsilonGreedy,
    MaxMean,
    MaxMeanNonStationary,
    MoveToFront,
    RandomRun,
    Thompson,
    UpperBound,
)
from cranfield.declared.registry import Named, Registry
from cranfield.errors import UsageError
from cranfield.types import Index64

POLICIES: Registry[type[Policy]] = Registry(
    "method",
    (
        Depth, ReciprocalRank, RankBiased, MoveToFront, Hedge, RandomRun, EpsilonGreedy, UpperBound, Thompson, MaxMean,
        MaxMeanNonStationary, Stratified, WeightedSample,
    ),
    aliases={
        "mtf": "move-to-front", "mm": "max-mean", "epsilon": "epsilon-greedy", "depth-k": "depth", "ts": "thompson",
    },
)  # fmt: skip


class Method(Named):
    """A method with its parameters.

    >>> Method.of("rbp(p=0.95)").given
    (('p', 0.95),)
    >>> str(Method.of("mtf"))
    'move-to-front'
    """

    registry = POLICIES

    @property
    def policy(self) -> type[Policy]:
        """The class of the policy."""
        return POLICIES[self.name]

    def make(
        self, lists: PooledLists, *, seed: int = 0, sizes: Index64 | None = None, strata: Sequence[Stratum] = ()
    ) -> Policy:
        """The policy at its start; only samples use `sizes`, the numbers of documents to draw, and `strata`."""
        more = {"strata": tuple(strata)} if self.name == "stratified" else {}
        return self.policy(lists, seed=seed, sizes=sizes, **dict(self.given), **more)


def read_strata(text: str) -> tuple[Stratum, ...]:
    """Strata from text: the deepest rank of each, with or without the share to draw.

    >>> read_strata("10:1,100:0.2")
    (Stratum(rank=10, share=1.0), Stratum(rank=100, share=0.2))
    """
    strata = []
    for part in text.replace(",", " ").split():
        match = re.fullmatch(r"(\d+)(?::(\d*\.?\d+))?", part)
        if match is None:
            raise UsageError(f"strata: {part!r}, expected a rank such as 10, or a rank and a share such as 10:0.5")
        strata.append(Stratum(int(match[1]), None if match[2] is None else float(match[2])))
    ranks = [one.rank for one in strata]
    if not ranks or ranks[0] < 1 or ranks != sorted(set(ranks)):
        raise UsageError(f"strata: ranks {', '.join(map(str, ranks)) or 'none'}, must rise from 1 on")
    if len({one.share is None for one in strata}) > 1:
        raise UsageError(f"strata: {text!r}, give a share for every stratum or for none")
    wrong = [one.share for one in strata if one.share is not None and not 0 < one.share <= 1]
    if wrong:
        raise UsageError(f"strata: a share of {wrong[0]:g}, must be above 0, at most 1")
    return tuple(strata)
