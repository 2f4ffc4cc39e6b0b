"""Evaluate search: test collections, measures, scores.

>>> import cranfield as cf
>>> qrels = {"q1": {"d1": 1, "d2": 0, "d3": 2}}
>>> run = {"q1": {"d3": 0.9, "d2": 0.5, "d1": 0.4}}
>>> scores = cf.evaluate(qrels, {"mine": run}, [cf.nDCG @ 10, cf.AP])
>>> {name: round(value, 4) for name, value in scores.mean()["mine"].items()}
{'nDCG@10': 0.9502, 'AP': 0.8333}
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from cranfield.assessed import Assessed as Assessed
    from cranfield.collection.qrels import Qrels as Qrels
    from cranfield.collection.run import Run as Run
    from cranfield.collection.run import read_runs as read_runs
    from cranfield.collection.topics import Topics as Topics
    from cranfield.comparison.systems import compare as compare
    from cranfield.errors import CranfieldError as CranfieldError
    from cranfield.errors import CranfieldWarning as CranfieldWarning
    from cranfield.errors import DataError as DataError
    from cranfield.errors import UsageError as UsageError
    from cranfield.evaluation import Evaluator as Evaluator
    from cranfield.evaluation import evaluate as evaluate
    from cranfield.evaluation import score as score
    from cranfield.explanation import explain as explain
    from cranfield.join_options import JoinOptions as JoinOptions
    from cranfield.joining import assess_arrays as assess_arrays
    from cranfield.joining import join as join
    from cranfield.measures import *  # noqa: F403
    from cranfield.pool_bias import pool_bias_of as pool_bias_of
    from cranfield.residuals import residual as residual
    from cranfield.samples import sample as sample
    from cranfield.scores import Scores as Scores

_HOME = {
    "assessed": ("Assessed",),
    "collection.qrels": ("Qrels",),
    "collection.run": ("Run", "read_runs"),
    "collection.topics": ("Topics",),
    "comparison.systems": ("compare",),
    "errors": ("CranfieldError", "CranfieldWarning", "DataError", "UsageError"),
    "evaluation": ("Evaluator", "evaluate", "score"),
    "explanation": ("explain",),
    "join_options": ("JoinOptions",),
    "joining": ("assess_arrays", "join"),
    "pool_bias": ("pool_bias_of",),
    "residuals": ("residual",),
    "samples": ("sample",),
    "scores": ("Scores",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: importing the package stays light."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _MODULE and find_spec(f"cranfield.{name}"):
        return import_module(f"cranfield.{name}")
    module = import_module(f"cranfield.{_MODULE.get(name, 'measures')}")
    try:
        found = getattr(module, name)
    except AttributeError:
        raise AttributeError(f"cranfield has no {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    measures = import_module("cranfield.measures")
    return sorted([*_MODULE, *measures.__all__, "__version__"])
