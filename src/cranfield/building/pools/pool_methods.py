"""From the name of a method, such as `rbp(p=0.95)`, to a policy."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.building.pools.adaptive_policies import (
    EpsilonGreedy,
    Hedge,
    MaxMean,
    MaxMeanNonStationary,
    MoveToFront,
    RandomRun,
    Thompson,
    UpperBound,
)
from cranfield.building.pools.pool_policy import Depth, Policy, RankBiased, ReciprocalRank
from cranfield.building.pools.pool_samples import Stratified, Stratum, WeightedSample
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.declared.registry import Named, Registry
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
