"""A replacement for ir_measures: change only the import line.

    import cranfield.compat.ir_measures as ir_measures
    from cranfield.compat.ir_measures import nDCG, AP, P

    ir_measures.calc_aggregate([nDCG @ 10, P(rel=2) @ 5, AP], qrels, run)   # {measure: value}
    for metric in ir_measures.iter_calc([nDCG @ 10], qrels, run):           # query_id, measure, value
        ...

Judgments and runs are dicts of dicts, frames with the columns query_id, doc_id, relevance or score, or iterables of
named tuples with these fields. Measures are the objects of this module, those of the ir_measures package, or names.

As in ir_measures, a judged topic that the run lacks scores 0, also in counts; and, unlike elsewhere in cranfield, so
does a topic on which a measure is undefined. Scores are compared as 32-bit numbers, as in trec_eval 9. Measures of
diversity use the column `iteration` of the judgments as the intent. The differences are
listed in docs/coming_from/ir_measures.md.

>>> calc_aggregate([nDCG @ 10, AP], {"q1": {"d1": 1}, "q2": {"d1": 1}}, {"q1": {"d1": 2.0}})
{nDCG@10: 0.5, AP: 0.5}
>>> evaluator([nDCG @ 10], {"q1": {"d1": 1}}).calc_aggregate({"q1": {"d1": 0.3, "d2": 0.1}})
{nDCG@10: 1.0}
"""

from cranfield.compat.ir_measures import lazylibs, measures, providers, util
from cranfield.compat.ir_measures.core_providers import CranfieldProvider, FallbackProvider
from cranfield.compat.ir_measures.measures import *  # noqa: F403
from cranfield.compat.ir_measures.named_tuples import (
    CalcResults,
    CwlMetric,
    GenericQrel,
    GenericScoredDoc,
    Metric,
    Qrel,
    ScoredDoc,
    parse_trec_qrels,
    parse_trec_run,
    read_trec_qrels,
    read_trec_run,
)
from cranfield.compat.ir_measures.names import convert_trec_name, parse_measure, parse_trec_measure
from cranfield.compat.ir_measures.provider import Evaluator, Provider
from cranfield.compat.ir_measures.runtime import define, define_byquery

__version__ = "0.4.3"
"""The version of ir_measures that this module replaces."""

accuracy = providers.registry["accuracy"]
cwl_eval = providers.registry["cwl_eval"]
compat = providers.registry["compat"]
gdeval = providers.registry["gdeval"]
pytrec_eval = providers.registry["pytrec_eval"]
trectools = providers.registry["trectools"]
judged = providers.registry["judged"]
msmarco = providers.registry["msmarco"]
pyndeval = providers.registry["pyndeval"]
ranx = providers.registry["ranx"]
runtime = providers.registry["runtime"]

DefaultPipeline = FallbackProvider(
    [runtime, pytrec_eval, cwl_eval, compat, pyndeval, judged, msmarco, gdeval, accuracy, ranx, CranfieldProvider()]
)
evaluator = DefaultPipeline.evaluator
calc_ctxt = DefaultPipeline.calc_ctxt
iter_calc = DefaultPipeline.iter_calc
calc_aggregate = DefaultPipeline.calc_aggregate
calc = DefaultPipeline.calc
run_inputs = DefaultPipeline.run_inputs
qrel_inputs = DefaultPipeline.qrel_inputs

__all__ = [
    *(name for name in measures.__all__ if name not in ("register", "registry")),
    "CalcResults", "CwlMetric", "DefaultPipeline", "Evaluator", "GenericQrel", "GenericScoredDoc", "Metric",
    "Provider", "Qrel", "ScoredDoc", "__version__", "accuracy", "calc", "calc_aggregate", "calc_ctxt", "compat",
    "convert_trec_name", "cwl_eval", "define", "define_byquery", "evaluator", "gdeval", "iter_calc", "judged",
    "lazylibs", "measures", "msmarco", "parse_measure", "parse_trec_measure", "parse_trec_qrels", "parse_trec_run",
    "providers", "pyndeval", "pytrec_eval", "qrel_inputs", "ranx", "read_trec_qrels", "read_trec_run", "run_inputs",
    "runtime", "trectools", "util",
]  # fmt: skip
