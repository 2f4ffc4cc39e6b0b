"""A replacement for ir_measures: change only the import line.

    import cranfield.compat.ir_measures as ir_measures
    from cranfield.compat.ir_measures import nDCG, AP, P

    ir_measures.calc_aggregate([nDCG @ 10, P(rel=2) @ 5, AP], qrels, run)   # {measure: value}
    for metric in ir_measures.iter_calc([nDCG @ 10], qrels, run):           # query_id, measure, value
        ...

Judgments and runs are dicts of dicts, frames with the columns query_id, doc_id, relevance or score, or iterables of
named tuples with these fields. Measures are the objects of this module, those of the ir_measures package, those of
cranfield, or names; the keys of results are the measures as given.

As in ir_measures, a judged topic that the run lacks scores 0, also in counts; and, unlike elsewhere in cranfield, so
does a topic on which a measure is undefined. Scores are compared as 32-bit numbers, as in trec_eval 9. Measures of
diversity use the column `iteration` of the judgments as the intent. docs/trec_eval.md lists the differences.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from cranfield import _core, measures
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.compat.ir_measures_plan import Plan, plan
from cranfield.compat.ir_measures_records import CalcResults, Metric, Qrel, ScoredDoc, read_trec_qrels, read_trec_run
from cranfield.compat.trec_lists import TrecQrels
from cranfield.compat.trec_measures import CUTOFFS
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.measures import ranked
from cranfield.types import Array
from cranfield.views.condensed import Condensed

__all__ = [
    "AP", "AP_IA", "BPM", "ERR", "ERR_IA", "INSQ", "INST", "MAP", "MAP_IA", "MRR", "NDCG", "NERR8", "NERR9", "NERR10",
    "NERR11", "NRBP", "P_IA", "RBP", "RR", "SDCG", "Accuracy", "BPref", "Bpref", "CalcResults", "Compat", "Evaluator",
    "IPrec", "Judged", "Measure", "Metric", "NumQ", "NumRel", "NumRelRet", "NumRet", "P", "Precision", "Qrel", "R",
    "RPrec", "Recall", "Rprec", "ScoredDoc", "SetAP", "SetF", "SetP", "SetR", "SetRelP", "StRecall", "Success",
    "alpha_DCG", "alpha_nDCG", "calc", "calc_aggregate", "evaluator", "infAP", "iter_calc", "nDCG", "nERR_IA",
    "nNRBP", "parse_measure", "parse_trec_measure", "read_trec_qrels", "read_trec_run", "α_DCG", "α_nDCG",
]  # fmt: skip

# -- measures


class Measure:
    """A measure with its parameters, written as in ir_measures; `@` sets the parameter `at`.

    >>> nDCG @ 10, AP(rel=2), P(rel=2, judged_only=True) @ 5
    (nDCG@10, AP(rel=2), P(rel=2,judged_only=True)@5)
    """

    def __init__(self, name: str, defaults: Mapping[str, Any], at: str = "cutoff", **params: Any) -> None:
        for parameter in params:
            if parameter not in defaults:
                known = ", ".join(defaults) or "none"
                raise UsageError(f"{name}: no parameter {parameter!r}; its parameters: {known}")
        self.NAME = name
        self.params = params
        self._defaults = defaults
        self._at = at

    def __call__(self, **params: Any) -> Measure:
        return Measure(self.NAME, self._defaults, self._at, **{**self.params, **params})

    def __matmul__(self, at: float) -> Measure:
        return self(**{self._at: at})

    def __getitem__(self, name: str) -> Any:
        return self.params.get(name, self._defaults[name])

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.params.items() if value != self._defaults[name]}
        others = ",".join(f"{name}={value!r}" for name, value in shown.items() if name != self._at)
        at = f"@{self.params[self._at]}" if self._at in self.params else ""
        return self.NAME + (f"({others})" if others else "") + at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def iter_calc(self, qrels: Any, run: Any) -> Iterator[Metric]:
        return iter_calc([self], qrels, run)

    def calc_aggregate(self, qrels: Any, run: Any) -> float:
        return calc_aggregate([self], qrels, run)[self]

    def calc(self, qrels: Any, run: Any) -> CalcResults:
        results = calc([self], qrels, run)
        return CalcResults(results.aggregated[self], results.per_query)

    def evaluator(self, qrels: Any) -> Evaluator:
        return evaluator([self], qrels)


_REL: dict[str, Any] = {"rel": 1}
_RANKED: dict[str, Any] = {"cutoff": None, "rel": 1, "judged_only": False}
_SET: dict[str, Any] = {"rel": 1, "judged_only": False}
_NDCG: dict[str, Any] = {"cutoff": None, "dcg": "log2", "gains": None, "judged_only": False}
_SCALED: dict[str, Any] = {"min_rel": 0, "max_rel": None}
_SCALED_AT: dict[str, Any] = {"cutoff": None, **_SCALED}
_NOVELTY: dict[str, Any] = {**_RANKED, "alpha": 0.5}
_RANK_BIASED: dict[str, Any] = {"rel": 1, "alpha": 0.5, "beta": 0.5}

nDCG = NDCG = Measure("nDCG", _NDCG)
AP = MAP = Measure("AP", _RANKED)
P = Precision = Measure("P", _RANKED)
RR = MRR = Measure("RR", _RANKED)
R = Recall = Measure("R", _RANKED)
Success = Measure("Success", _RANKED)
Rprec = RPrec = Measure("Rprec", _SET)
Bpref = BPref = Measure("Bpref", _REL)
infAP = Measure("infAP", _REL)
IPrec = Measure("IPrec", {"recall": None, **_SET}, at="recall")
Judged = Measure("Judged", {"cutoff": None})
SetP = Measure("SetP", {**_SET, "relative": False})
SetRelP = SetP(relative=True)
SetR = Measure("SetR", _REL)
SetF = Measure("SetF", {**_SET, "beta": 1.0})
SetAP = Measure("SetAP", _SET)
NumQ = Measure("NumQ", {})
NumRet = Measure("NumRet", {"rel": None})
NumRelRet = NumRet(rel=1)
NumRel = Measure("NumRel", _REL)
RBP = Measure("RBP", {"cutoff": None, "p": 0.8, "rel": None})
ERR = Measure("ERR", {"cutoff": None})
Accuracy = Measure("Accuracy", {"cutoff": None, "rel": 1})
Compat = Measure("Compat", {"p": 0.95, "normalize": True})

SDCG = Measure("SDCG", {**_SCALED_AT, "dcg": "log2"})
BPM = Measure("BPM", {**_SCALED_AT, "T": 1.0})
INST = Measure("INST", {"T": 1.0, **_SCALED})
INSQ = Measure("INSQ", {"T": 1.0, **_SCALED})
NERR8 = Measure("NERR8", _SCALED_AT)
NERR9 = Measure("NERR9", _SCALED_AT)
NERR10 = Measure("NERR10", {"p": 0.9, **_SCALED})
NERR11 = Measure("NERR11", {"T": 1.0, **_SCALED})

alpha_DCG = α_DCG = Measure("alpha_DCG", _NOVELTY)
alpha_nDCG = α_nDCG = Measure("alpha_nDCG", _NOVELTY)
ERR_IA = Measure("ERR_IA", _RANKED)
nERR_IA = Measure("nERR_IA", _RANKED)
AP_IA = MAP_IA = Measure("AP_IA", _SET)
P_IA = Measure("P_IA", _RANKED)
NRBP = Measure("NRBP", _RANK_BIASED)
nNRBP = Measure("nNRBP", _RANK_BIASED)
StRecall = Measure("StRecall", {"cutoff": None, "rel": 1})

_NAMED: dict[str, Measure] = {name: thing for name, thing in list(globals().items()) if isinstance(thing, Measure)}


def parse_measure(measure: str | Measure) -> Measure:
    """A measure from its name.

    >>> parse_measure("AP(rel=2)@100")
    AP(rel=2)@100
    """
    if isinstance(measure, Measure):
        return measure
    wrong = ValueError(f"problem parsing measure {measure!r}; must be in format Measure(k1=v1, k2=v2)@c")
    try:
        node: ast.AST = ast.parse(measure, mode="eval").body
        params: dict[str, Any] = {}
        at = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at, node = ast.literal_eval(node.right), node.left
        if isinstance(node, ast.Call) and not node.args:
            params = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
            node = node.func
    except (SyntaxError, ValueError):
        raise wrong from None
    if not isinstance(node, ast.Name):
        raise wrong
    if node.id not in _NAMED:
        raise NameError(f"measure not found: {node.id}")
    parsed = _NAMED[node.id](**params)
    return parsed if at is None else parsed @ at


TREC_NAMES: dict[str, Measure] = {
    "ndcg": nDCG, "map": AP, "recip_rank": RR, "Rprec": Rprec, "bpref": Bpref, "infAP": infAP, "set_P": SetP,
    "set_relative_P": SetRelP, "set_recall": SetR, "set_map": SetAP, "num_q": NumQ, "num_ret": NumRet,
    "num_rel": NumRel, "num_rel_ret": NumRelRet,
}  # fmt: skip
TREC_NAMES_WITH_PARAMETERS: dict[str, tuple[Measure, str, tuple[float, ...]]] = {
    "ndcg_cut": (nDCG, "cutoff", CUTOFFS),
    "map_cut": (AP, "cutoff", CUTOFFS),
    "P": (P, "cutoff", CUTOFFS),
    "recall": (R, "cutoff", CUTOFFS),
    "success": (Success, "cutoff", (1, 5, 10)),
    "iprec_at_recall": (IPrec, "recall", ranked.ELEVEN),
    "set_F": (SetF, "beta", (1.0,)),
}
"""The measure, the parameter that follows the name, and its default values."""


def parse_trec_measure(measure: str) -> list[Measure]:
    """The measures of a trec_eval name.

    >>> parse_trec_measure("P.5,10"), parse_trec_measure("map")
    ([P@5, P@10], [AP])
    """
    match = re.fullmatch(r"(.+?)(?:[._]([\d.]+(?:,[\d.]+)*))?", measure)
    name, typed = match.groups() if match else (measure, None)
    if name in TREC_NAMES:
        if typed:
            raise ValueError(f"unknown argument for {name}: {typed}")
        return [TREC_NAMES[name]]
    if name not in TREC_NAMES_WITH_PARAMETERS:
        raise ValueError(f"unknown measure {measure}")
    base, parameter, values = TREC_NAMES_WITH_PARAMETERS[name]
    if typed:
        values = tuple(map(int if parameter == "cutoff" else float, typed.split(",")))
    return [base(**{parameter: value}) for value in values]


# -- from measures of ir_measures to those of cranfield


def _plan(measure: Any) -> Plan:
    if isinstance(measure, str):
        try:
            measure = parse_measure(measure)
        except NameError:
            measure = measures.parse(measure)
    if isinstance(measure, type) and issubclass(measure, measures.Measure):
        measure = measure()
    if isinstance(measure, measures.Measure):
        return Plan(measure)
    if not hasattr(measure, "NAME") or not hasattr(measure, "params"):
        raise UsageError(f"{measure!r} is not a measure; use one such as nDCG @ 10, or its name")
    if measure.NAME not in _NAMED:
        raise ValueError(f"Unsupported measures {{{measure}}}.")
    return plan(measure.NAME, measure.params)


# -- evaluating


class Evaluator:
    """Measures and judgments, prepared to score many runs.

    >>> with_ndcg = evaluator([nDCG @ 10], {"q1": {"d1": 1}})
    >>> with_ndcg.calc_aggregate({"q1": {"d1": 0.3, "d2": 0.1}})
    {nDCG@10: 1.0}
    """

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        self.measures: list[Any] = list(dict.fromkeys(measures))
        self._plans = [_plan(measure) for measure in self.measures]
        self._judgments = Qrels.of(qrels)
        self._qrels = None if self._judgments.has_intents else TrecQrels(self._judgments.judged(), whole_grades=False)
        self._topics: list[str] = self._qrels.topics if self._qrels else list(self._judgments.topics)
        self.qrel_qids: set[str] = set(self._topics)

    def _values(self, run: Any) -> tuple[list[str], Array]:
        """The judged topics of the run, in its order; and measure × judged topic, 0 for topics that the run lacks."""
        if not isinstance(run, dict):
            run = run if hasattr(run, "columns") else list(run)
            run = Run.of(run) if len(run) else {}
        topics = [str(topic) for topic in run] if isinstance(run, dict) else run.table.topics
        judged = [topic for topic in topics if topic in self.qrel_qids]
        values = np.zeros((len(self._plans), len(self._topics)))
        if judged:
            lists, condensed = self._lists(run)
            for number, plan in enumerate(self._plans):
                values[number] = np.where(lists.missing, 0.0, plan.values(lists, condensed))
        return judged, values

    def _lists(self, run: dict[Any, Any] | Run) -> tuple[Assessed, Assessed]:
        """The run's lists on every judged topic, and the same without unjudged documents."""
        if self._qrels is None:
            with warnings.catch_warnings():  # ir_measures does not warn about topics that one side lacks
                warnings.simplefilter("ignore", CranfieldWarning)
                lists = join(self._judgments, {"run": run}, JoinOptions(order="score", precision=32))
            return lists, Condensed().apply(lists)
        if isinstance(run, Run):
            joined = _core.join_tables(self._qrels.core, [run.table], "score", True, 0)
        else:
            joined = _core.join_dicts(self._qrels.core, [("run", run)], "score", True, 0)
        return self._qrels.lists(joined), self._qrels.lists(joined, judged_only=True)

    def _metrics(self, topics: list[str], values: Array) -> Iterator[Metric]:
        row = {topic: number for number, topic in enumerate(self._topics)}
        for topic in topics:
            for measure, value in zip(self.measures, values[:, row[topic]].tolist(), strict=True):
                yield Metric(topic, measure, value)
        lacking = sorted(self.qrel_qids.difference(topics))
        for measure in sorted(self.measures, key=str):
            for topic in lacking:
                yield Metric(topic, measure, 0.0)

    def _aggregated(self, values: Array) -> dict[Any, float]:
        return {
            measure: float(row.sum() if plan.summed else row.mean())
            for measure, plan, row in zip(self.measures, self._plans, values, strict=True)
        }

    def iter_calc(self, run: Any) -> Iterator[Metric]:
        """Every measure on every judged topic."""
        yield from self._metrics(*self._values(run))

    def calc_aggregate(self, run: Any) -> dict[Any, float]:
        """Every measure over all judged topics: the mean, for counts the sum."""
        return self._aggregated(self._values(run)[1])

    def calc(self, run: Any) -> CalcResults:
        """Values over all judged topics, and values of each."""
        topics, values = self._values(run)
        return CalcResults(self._aggregated(values), list(self._metrics(topics, values)))


def evaluator(measures: Iterable[Any], qrels: Any) -> Evaluator:
    """The same as `Evaluator(measures, qrels)`."""
    return Evaluator(measures, qrels)


def iter_calc(measures: Iterable[Any], qrels: Any, run: Any) -> Iterator[Metric]:
    """Every measure on every judged topic."""
    return Evaluator(measures, qrels).iter_calc(run)


def calc_aggregate(measures: Iterable[Any], qrels: Any, run: Any) -> dict[Any, float]:
    """Every measure over all judged topics.

    >>> calc_aggregate([nDCG @ 10, "AP"], {"q1": {"d1": 1}, "q2": {"d1": 1}}, {"q1": {"d1": 2.0}})
    {nDCG@10: 0.5, 'AP': 0.5}
    """
    return Evaluator(measures, qrels).calc_aggregate(run)


def calc(measures: Iterable[Any], qrels: Any, run: Any) -> CalcResults:
    """Values over all topics, and values of each topic."""
    return Evaluator(measures, qrels).calc(run)
