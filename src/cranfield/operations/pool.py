"""Which documents should be judged: pools, what is not judged, and whom that favours.

The functions have the names of the verbs of `cranfield pool`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.building.pools.pool_building import make_pool as build
    from cranfield.building.pools.pool_coverage import pool_contributions as contributions
    from cranfield.building.pools.pool_coverage import pool_holes as holes
    from cranfield.building.pools.pool_samples import join_pool as join
    from cranfield.building.pools.pool_simulation import simulate_pools as simulate
    from cranfield.evaluation.missing_judgments import pool_bias_of as bias

__all__ = ["bias", "build", "contributions", "holes", "join", "simulate"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "bias": "evaluation.missing_judgments:pool_bias_of",
            "build": "building.pools.pool_building:make_pool",
            "contributions": "building.pools.pool_coverage:pool_contributions",
            "holes": "building.pools.pool_coverage:pool_holes",
            "join": "building.pools.pool_samples:join_pool",
            "simulate": "building.pools.pool_simulation:simulate_pools",
        },
    )
