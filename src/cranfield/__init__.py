"""Evaluate search: test collections, measures, scores.

>>> import cranfield as cf
>>> qrels = {"q1": {"d1": 1, "d2": 0, "d3": 2}}
>>> run = {"q1": {"d3": 0.9, "d2": 0.5, "d1": 0.4}}
>>> scores = cf.evaluate(qrels, {"mine": run}, [cf.nDCG @ 10, cf.AP])
>>> {name: round(value, 4) for name, value in scores.mean()["mine"].items()}
{'nDCG@10': 0.9502, 'AP': 0.8333}
"""

from cranfield import _start as _start  # isort: skip  # before all others: it says what Ctrl-C does meanwhile

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cranfield import _fork

__version__ = "0.1.0"
_fork.install()

if TYPE_CHECKING:
    from cranfield.assessed.join import assess_arrays as assess_arrays
    from cranfield.assessed.join import join as join
    from cranfield.assessed.join_options import JoinOptions as JoinOptions
    from cranfield.assessed.lists import Assessed as Assessed
    from cranfield.collection.qrels import Qrels as Qrels
    from cranfield.collection.run import Run as Run
    from cranfield.collection.run import read_runs as read_runs
    from cranfield.collection.topics import Topics as Topics
    from cranfield.comparison.across_collections import compare_collections as compare_collections
    from cranfield.comparison.compare import compare as compare
    from cranfield.comparison.gate.gate import gate as gate
    from cranfield.comparison.leaderboard import leaderboard as leaderboard
    from cranfield.errors import CranfieldError as CranfieldError
    from cranfield.errors import CranfieldWarning as CranfieldWarning
    from cranfield.errors import DataError as DataError
    from cranfield.errors import UsageError as UsageError
    from cranfield.evaluation.evaluator import Evaluator as Evaluator
    from cranfield.evaluation.evaluator import evaluate as evaluate
    from cranfield.evaluation.evaluator import score as score
    from cranfield.evaluation.explanation import explain as explain
    from cranfield.evaluation.missing_judgments import pool_bias_of as pool_bias_of
    from cranfield.evaluation.missing_judgments import residual as residual
    from cranfield.evaluation.several_collections import evaluate_collections as evaluate_collections
    from cranfield.evaluation.shard_scores import shard_scores as shard_scores
    from cranfield.fusion.fuse import fuse as fuse
    from cranfield.measures import *  # noqa: F403
    from cranfield.samples import sample as sample
    from cranfield.scores.scores import Scores as Scores
    from cranfield.scores.topic_sheet import deciding_topics as deciding_topics
    from cranfield.scores.topic_sheet import topic_sheet as topic_sheet

_HOME = {
    "assessed.lists": ("Assessed",),
    "fusion.fuse": ("fuse",),
    "collection.qrels": ("Qrels",),
    "collection.run": ("Run", "read_runs"),
    "collection.topics": ("Topics",),
    "comparison.across_collections": ("compare_collections",),
    "comparison.compare": ("compare",),
    "comparison.gate.gate": ("gate",),
    "comparison.leaderboard": ("leaderboard",),
    "errors": ("CranfieldError", "CranfieldWarning", "DataError", "UsageError"),
    "evaluation.evaluator": ("Evaluator", "evaluate", "score"),
    "evaluation.explanation": ("explain",),
    "assessed.join_options": ("JoinOptions",),
    "assessed.join": ("assess_arrays", "join"),
    "evaluation.missing_judgments": ("pool_bias_of", "residual"),
    "evaluation.several_collections": ("evaluate_collections",),
    "evaluation.shard_scores": ("shard_scores",),
    "samples": ("sample",),
    "scores.scores": ("Scores",),
    "scores.topic_sheet": ("deciding_topics", "topic_sheet"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that importing the package stays fast."""
    if name.startswith("__"):
        raise AttributeError(name)
    with _fork.IMPORTING:
        if name not in _MODULE and find_spec(f"cranfield.{name}"):
            return import_module(f"cranfield.{name}")
        module = import_module(f"cranfield.{_MODULE.get(name, 'measures')}")
    try:
        value = getattr(module, name)
    except AttributeError:
        raise AttributeError(f"cranfield has no {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    measures = import_module("cranfield.measures")
    return sorted([*_MODULE, *measures.__all__, "__version__"])
