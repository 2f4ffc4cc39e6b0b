"""Interleaving: show the results of several systems in one list, and let clicks decide which system is better."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.online.interleaving.attribution_log import read_records as read_records
    from cranfield.online.interleaving.attribution_log import write_records as write_records
    from cranfield.online.interleaving.history_reuse import reuse_history as reuse_history
    from cranfield.online.interleaving.history_reuse import reuse_logged as reuse_logged
    from cranfield.online.interleaving.interleaved import Interleaved as Interleaved
    from cranfield.online.interleaving.interleaved import Interleaver as Interleaver
    from cranfield.online.interleaving.interleaved import credit as credit
    from cranfield.online.interleaving.interleaved import interleave as interleave
    from cranfield.online.interleaving.interleaving_analysis import analyse_interleaving as analyse_interleaving
    from cranfield.online.interleaving.interleaving_simulation import simulate_interleaving as simulate_interleaving
    from cranfield.online.interleaving.mixing_methods import MIXING_METHODS as MIXING_METHODS
    from cranfield.online.interleaving.mixing_methods import MixingMethod as MixingMethod
    from cranfield.online.interleaving.sign_statistics import interleaving_power as interleaving_power
    from cranfield.online.interleaving.simulated_impressions import CascadeUser as CascadeUser

_HOME = {
    "attribution_log": ("read_records", "write_records"),
    "history_reuse": ("reuse_history", "reuse_logged"),
    "interleaved": ("Interleaved", "Interleaver", "credit", "interleave"),
    "interleaving_analysis": ("analyse_interleaving",),
    "interleaving_simulation": ("simulate_interleaving",),
    "mixing_methods": ("MIXING_METHODS", "MixingMethod"),
    "sign_statistics": ("interleaving_power",),
    "simulated_impressions": ("CascadeUser",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
__all__ = list(_MODULE)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULE:
        raise AttributeError(f"cranfield.online.interleaving has no {name!r}")
    return getattr(import_module(f"cranfield.online.interleaving.{_MODULE[name]}"), name)
