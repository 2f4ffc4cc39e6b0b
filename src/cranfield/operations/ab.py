"""A/B tests: assign users, compare arms, plan the number of users, try the set-up with A/A splits.

The functions have the names of the verbs of `cranfield ab`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.online.experiments.ab_analysis import analyse as analyse
    from cranfield.online.experiments.assignment import Experiment as Experiment
    from cranfield.online.experiments.assignment import assign_users as assign
    from cranfield.online.experiments.experiment_power import ab_power as power
    from cranfield.online.experiments.random_splits import aa_splits as aa

__all__ = ["Experiment", "aa", "analyse", "assign", "power"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "Experiment": "online.experiments.assignment:Experiment",
            "aa": "online.experiments.random_splits:aa_splits",
            "analyse": "online.experiments.ab_analysis:analyse",
            "assign": "online.experiments.assignment:assign_users",
            "power": "online.experiments.experiment_power:ab_power",
        },
    )
