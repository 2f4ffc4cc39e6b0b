"""Interleaving: lists that mix the results of several systems, and what clicks on them say.

The functions have the names of the verbs of `cranfield interleave`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.online.interleaving.fair_pairs import fair_preferences as pairs
    from cranfield.online.interleaving.history_reuse import reuse_logged as reuse
    from cranfield.online.interleaving.interleaved_batch import interleave_runs as make
    from cranfield.online.interleaving.interleaving_analysis import analyse_interleaving as analyse
    from cranfield.online.interleaving.interleaving_simulation import simulate_interleaving as simulate
    from cranfield.online.interleaving.sign_statistics import interleaving_power as power

__all__ = ["analyse", "make", "pairs", "power", "reuse", "simulate"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "analyse": "online.interleaving.interleaving_analysis:analyse_interleaving",
            "make": "online.interleaving.interleaved_batch:interleave_runs",
            "pairs": "online.interleaving.fair_pairs:fair_preferences",
            "power": "online.interleaving.sign_statistics:interleaving_power",
            "reuse": "online.interleaving.history_reuse:reuse_logged",
            "simulate": "online.interleaving.interleaving_simulation:simulate_interleaving",
        },
    )
