"""Click models: fit and evaluate them, simulate clicks, and what follows from them.

The functions have the names of the verbs of `cranfield clicks`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.online.calibration.calibrate import calibrate as calibrate
    from cranfield.online.clicks.click_evaluation import evaluate_clicks as evaluate
    from cranfield.online.clicks.click_fitting import fit_clicks as fit
    from cranfield.online.clicks.click_judgments import click_judgments as judgments
    from cranfield.online.clicks.click_simulation import simulate_clicks as simulate
    from cranfield.online.policies.off_policy import off_policy as offpolicy

__all__ = ["calibrate", "evaluate", "fit", "judgments", "offpolicy", "simulate"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "calibrate": "online.calibration.calibrate:calibrate",
            "evaluate": "online.clicks.click_evaluation:evaluate_clicks",
            "fit": "online.clicks.click_fitting:fit_clicks",
            "judgments": "online.clicks.click_judgments:click_judgments",
            "offpolicy": "online.policies.off_policy:off_policy",
            "simulate": "online.clicks.click_simulation:simulate_clicks",
        },
    )
