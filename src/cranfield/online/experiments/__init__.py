"""A/B tests: assign users to arms, compare the arms, plan the number of users, test the set-up with A/A splits."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.online.experiments.ab_analysis import analyse as analyse
    from cranfield.online.experiments.assignment import Experiment as Experiment
    from cranfield.online.experiments.experiment_power import ab_power as ab_power
    from cranfield.online.experiments.experiment_power import users_needed as users_needed
    from cranfield.online.experiments.log_analysis import analyse_log as analyse_log
    from cranfield.online.experiments.random_splits import aa_splits as aa_splits
    from cranfield.online.experiments.ratio_mismatch import sample_ratio as sample_ratio
    from cranfield.online.experiments.repeated_looks import boundaries as boundaries

_HOME = {
    "random_splits": ("aa_splits",),
    "ab_analysis": ("analyse",),
    "experiment_power": ("ab_power", "users_needed"),
    "assignment": ("Experiment",),
    "log_analysis": ("analyse_log",),
    "ratio_mismatch": ("sample_ratio",),
    "repeated_looks": ("boundaries",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULE:
        raise AttributeError(f"cranfield.online.experiments has no {name!r}")
    value = getattr(import_module(f"cranfield.online.experiments.{_MODULE[name]}"), name)
    globals()[name] = value
    return value
