"""Evaluate search: test collections, measures, scores.

>>> import cranfield as cf
>>> qrels = {"q1": {"d1": 1, "d2": 0, "d3": 2}}
>>> run = {"q1": {"d3": 0.9, "d2": 0.5, "d1": 0.4}}
>>> scores = cf.evaluate(qrels, {"mine": run}, [cf.nDCG @ 10, cf.AP])
>>> {name: round(value, 4) for name, value in scores.mean()["mine"].items()}
{'nDCG@10': 0.9502, 'AP': 0.8333}

Every verb of the command line is a function here, with the same arguments: `cf.labels.merge("labels.csv", steps=50)` is
`cranfield labels merge labels.csv --steps 50`.

    evaluate, explain, topics, efficiency, fairness, simulate_time    score search results
    compare, leaderboard, report, gate, anova, power                  compare systems
    fuse, validate, convert                                           work with files
    cf.pool, cf.labels, cf.machine, cf.collection                     build a test collection
    cf.answers                                                        score summaries and answers
    cf.log, cf.ab, cf.interleave, cf.clicks                           evaluate with live traffic
    cf.meta                                                           judge the measures

Judgments are `Qrels`, results are `Run`, and measures are values such as `cf.nDCG @ 10`, `cf.RBP(p=0.95)` or
`cf.parse("D#-nDCG@10")`.
"""

from cranfield import _start as _start  # isort: skip  # before all others: it says what Ctrl-C does meanwhile

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cranfield import _fork, _lazy

__version__ = "0.1.0"
_fork.install()

if TYPE_CHECKING:
    from cranfield import answers as answers
    from cranfield import collection as collection
    from cranfield import meta as meta
    from cranfield.assessed.join import assess_arrays as assess_arrays
    from cranfield.assessed.join import join as join
    from cranfield.assessed.join_options import JoinOptions as JoinOptions
    from cranfield.assessed.lists import Assessed as Assessed
    from cranfield.collection.convert import convert as convert
    from cranfield.collection.qrels import Qrels as Qrels
    from cranfield.collection.run import Run as Run
    from cranfield.collection.run import read_runs as read_runs
    from cranfield.collection.topics import Topics as Topics
    from cranfield.comparison.across_collections import compare_collections as compare_collections
    from cranfield.comparison.anova.anova import anova as anova
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
    from cranfield.evaluation.missing_judgments import residual as residual
    from cranfield.evaluation.several_collections import evaluate_collections as evaluate_collections
    from cranfield.evaluation.shard_scores import shard_scores as shard_scores
    from cranfield.evaluation.simulated_time_gain import simulate_time as simulate_time
    from cranfield.evaluation.topic_sheet import deciding_topics as deciding_topics
    from cranfield.fusion.fuse import fuse as fuse
    from cranfield.measures import *  # noqa: F403
    from cranfield.operations import ab as ab
    from cranfield.operations import clicks as clicks
    from cranfield.operations import interleave as interleave
    from cranfield.operations import labels as labels
    from cranfield.operations import log as log
    from cranfield.operations import machine as machine
    from cranfield.operations import pool as pool
    from cranfield.operations.scores import fairness as fairness
    from cranfield.operations.scores import power as power
    from cranfield.operations.scores import topics as topics
    from cranfield.operations.scores import validate as validate
    from cranfield.report.reports.run_report import report as report
    from cranfield.samples import sample as sample
    from cranfield.scores.efficiency import efficiency as efficiency
    from cranfield.scores.scores import Scores as Scores

_HOMES = {
    "evaluate": "evaluation.evaluator:evaluate",
    "explain": "evaluation.explanation:explain",
    "topics": "operations.scores:topics",
    "efficiency": "scores.efficiency:efficiency",
    "fairness": "operations.scores:fairness",
    "simulate_time": "evaluation.simulated_time_gain:simulate_time",
    "compare": "comparison.compare:compare",
    "leaderboard": "comparison.leaderboard:leaderboard",
    "report": "report.reports.run_report:report",
    "gate": "comparison.gate.gate:gate",
    "anova": "comparison.anova.anova:anova",
    "power": "operations.scores:power",
    "fuse": "fusion.fuse:fuse",
    "validate": "operations.scores:validate",
    "convert": "collection.convert:convert",
    "pool": "operations.pool",
    "labels": "operations.labels",
    "machine": "operations.machine",
    "collection": "collection",
    "answers": "answers",
    "log": "operations.log",
    "ab": "operations.ab",
    "interleave": "operations.interleave",
    "clicks": "operations.clicks",
    "meta": "meta",
    "Assessed": "assessed.lists:Assessed",
    "CranfieldError": "errors:CranfieldError",
    "CranfieldWarning": "errors:CranfieldWarning",
    "DataError": "errors:DataError",
    "Evaluator": "evaluation.evaluator:Evaluator",
    "JoinOptions": "assessed.join_options:JoinOptions",
    "Qrels": "collection.qrels:Qrels",
    "Run": "collection.run:Run",
    "Scores": "scores.scores:Scores",
    "Topics": "collection.topics:Topics",
    "UsageError": "errors:UsageError",
    "assess_arrays": "assessed.join:assess_arrays",
    "compare_collections": "comparison.across_collections:compare_collections",
    "deciding_topics": "evaluation.topic_sheet:deciding_topics",
    "evaluate_collections": "evaluation.several_collections:evaluate_collections",
    "join": "assessed.join:join",
    "read_runs": "collection.run:read_runs",
    "residual": "evaluation.missing_judgments:residual",
    "sample": "samples:sample",
    "score": "evaluation.evaluator:score",
    "shard_scores": "evaluation.shard_scores:shard_scores",
}
"""Operations, in the order of the overview of the command line; then types and other functions."""

_get, _ = _lazy.names_of(__name__, _HOMES)
if not TYPE_CHECKING:
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """A public name, a measure, or a folder of the package, imported on first use."""
        if name in _HOMES:
            return _get(name)
        if name.startswith("__"):
            raise AttributeError(name)
        with _fork.IMPORTING:
            if find_spec(f"cranfield.{name}"):
                return import_module(f"cranfield.{name}")
            measures = import_module("cranfield.measures")
        if not hasattr(measures, name):
            raise AttributeError(_missing(name))
        globals()[name] = value = getattr(measures, name)
        return value

    def __dir__() -> list[str]:
        return _lazy.in_order(dict.fromkeys([*_HOMES, *import_module("cranfield.measures").__all__, "__version__"]))


def _missing(name: str) -> str:
    """The message for a name that is not here: perhaps it is a measure in another spelling.

    >>> _missing("map"), _missing("evalaute")
    ("cranfield has no 'map'; the measure is cf.AP", "cranfield has no 'evalaute'; did you mean cf.evaluate?")
    """
    message = f"cranfield has no {name!r}"
    if name.startswith("_"):
        return message
    from cranfield import measures
    from cranfield.check import similar
    from cranfield.errors import UsageError

    try:
        measure = measures.parse(name)
    except UsageError:
        close = similar(name, [*_HOMES, *measures.__all__])
        return f"{message}; did you mean {' or '.join(f'cf.{other}' for other in close)}?" if close else message
    is_plain = measure.name in measures.__all__ and measure == type(measure)()  # ndcg_cut_10 has a cutoff
    return f"{message}; the measure is " + (f"cf.{measure.name}" if is_plain else f'cf.parse("{measure}")')
