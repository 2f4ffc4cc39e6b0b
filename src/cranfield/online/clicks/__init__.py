"""Click models: fitted to logs, evaluated on other sessions, simulated, and turned into judgments.

The public functions:

    model = fit_clicks("log.parquet", "PBM")           # -> ClickModel; also a Log, a frame, or Pages.of(arrays)
    model.value("examination").value                   # by rank; with .low and .high
    model.of_pair("cats", "d1")                        # attractiveness of a document for a query
    model.click_probabilities(pages)                   # pages × ranks
    evaluate_clicks({"PBM": model}, pages)             # log-likelihood and perplexity
    simulate_clicks(model, runs, "log.parquet")        # sessions with clicks
    click_judgments(model).to_qrels()                  # expected grades
    CLICK_MODELS                               # {name: click model}
"""

from cranfield.online.clicks.click_estimates import Estimates
from cranfield.online.clicks.click_evaluation import ClickEvaluation, evaluate_clicks
from cranfield.online.clicks.click_fitting import fit_clicks
from cranfield.online.clicks.click_judgments import ClickJudgments, click_judgments
from cranfield.online.clicks.click_kinds import CLICK_MODELS
from cranfield.online.clicks.click_model import ClickModel, load_click_model, save_click_model
from cranfield.online.clicks.click_pages import Pages
from cranfield.online.clicks.click_simulation import ClickSimulation, SimulatedClicks, simulate_clicks

__all__ = [
    "CLICK_MODELS", "ClickEvaluation", "ClickJudgments", "ClickModel", "ClickSimulation", "Estimates", "Pages",
    "SimulatedClicks", "click_judgments", "evaluate_clicks", "fit_clicks", "load_click_model", "save_click_model",
    "simulate_clicks",
]  # fmt: skip
