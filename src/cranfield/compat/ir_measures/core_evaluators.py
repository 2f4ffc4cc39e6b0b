"""How cranfield computes each measure of ir_measures, and evaluators that do. Imported on first use, to start fast."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cranfield import _core, measures
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.compat.ir_measures.measure import MeanAgg, Measure, SumAgg, _plain
from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, CalcResults, CwlMetric, Metric, ScoredDoc
from cranfield.compat.ir_measures.provider import Evaluator
from cranfield.compat.trec_lists import TrecQrels
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.measures.base import divide
from cranfield.measures.gain import num_retrieved
from cranfield.measures.ranked_lists import ranked
from cranfield.measures.readers.cwl_members import as_cwl
from cranfield.types import Array, Index, Index64
from cranfield.views.unjudged import Condensed

SUMMED = ("NumQ", "NumRet", "NumRel")
"""Counts, which are summed over topics; other measures are averaged."""

_SCALED = ("SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ", "BPM")
"""C/W/L measures with gains from 0 at `min_rel` to 1 at `max_rel`."""

NEEDS: dict[str, tuple[str, ...]] = {
    "P": ("cutoff",),
    "R": ("cutoff",),
    "Success": ("cutoff",),
    "IPrec": ("recall",),
    **dict.fromkeys(("NERR10", "NERR11", "INST", "INSQ"), ("max_rel",)),
    **dict.fromkeys(("SDCG", "NERR8", "NERR9", "BPM"), ("max_rel", "cutoff")),
}
"""Required parameters."""
_EXAMPLE = {"cutoff": "{} @ 10", "recall": "{} @ 0.1", "max_rel": "{}(max_rel=3)"}


class Ranking(NamedTuple):
    """How a tool behind ir_measures ranks documents by score."""

    precision: int
    """The bits in which scores are compared."""
    ties: str
    """The order of documents with equal scores, as in `JoinOptions`."""


TREC_EVAL, GDEVAL = Ranking(32, "z-a"), Ranking(64, "z-a")
BY_ID, AS_GIVEN = Ranking(64, "a-z"), Ranking(64, "file")
"""The sorting of Python: by score and id; or by score alone, which keeps the order of the run."""


class PairAccuracy(measures.Measure):
    """The probability that a retrieved relevant document is above a retrieved nonrelevant one: Accuracy of ir_measures.

    Undefined without relevant or without nonrelevant documents.
    """

    rel: float = 1

    name = "PairAccuracy"

    def score(self, lists: Assessed) -> Array:
        hits = lists.relevant(self.rel, self.k)
        relevant = hits.sum(np.ones(len(hits)))
        depth = lists.retrieved if self.k is None else np.minimum(lists.retrieved, self.k)
        return 1.0 - divide(hits.sum(hits.rank - hits.nth), relevant * (depth - relevant))


class ListedDocuments(measures.Measure):
    """The fraction of the retrieved documents that the judgments list, with any grade: Judged of ir_measures."""

    name = "ListedDocuments"

    def score(self, lists: Assessed) -> Array:
        return divide(lists.hits(self.k).count, num_retrieved(lists, self.k))


class ListedCompat(measures.Compat):
    """Compat of ir_measures: the ideal ranking takes a document that was not retrieved for one with the score 0."""

    name = "ListedCompat"

    def scored(self, lists: Assessed, ideal_rank: Index64) -> Array:
        """The score of each list; `ideal_rank` has the place of each hit in the ideal ranking."""
        relevant, depth = self._depth(lists)
        weight, overlap = self.tables(int(depth.max(initial=0)))
        hits = lists.hits().where(lists.grade > 0)
        both = np.maximum(lists.rank, ideal_rank)[lists.grade > 0]
        total = hits.sum(overlap[depth[hits.row]] - overlap[both - 1])
        return divide(total, self._largest(relevant, depth, weight, overlap))


@dataclass(frozen=True)
class Plan:
    """How to compute a requested measure; without a measure of cranfield it counts topics."""

    ours: measures.Measure | None
    judged_only: bool = False
    summed: bool = False
    highest: float | None = None
    """Higher grades count as this one."""
    decimals: int | None = None
    """The number of decimals that values are rounded to."""
    ranking: Ranking = TREC_EVAL

    def values(
        self, lists: Assessed, condensed: Assessed, undefined: float = 0.0, ideal_rank: Index64 | None = None
    ) -> Array:
        """One number per list; `ideal_rank` is for Compat."""
        if self.ours is None:
            return np.ones(lists.rows)
        if ideal_rank is not None and isinstance(self.ours, ListedCompat):
            scores = self.ours.scored(lists, ideal_rank)
        else:
            scores = self.ours.evaluate(self._limited(condensed if self.judged_only else lists))
        scores = np.where(np.isnan(scores), undefined, scores)
        return scores if self.decimals is None else np.round(scores, self.decimals)

    def _limited(self, lists: Assessed) -> Assessed:
        """The lists with grades of at most `highest`."""
        if self.highest is None or lists.max_grade <= self.highest:
            return lists
        judged = Judged(lists.judged.start, np.minimum(lists.judged.grade, self.highest))
        return lists.replace(grade=np.minimum(lists.grade, self.highest), judged=judged)

    def reader(self, lists: Assessed) -> Array:
        """Expected utility, total utility, cost, total cost and number of items of a C/W/L measure, for each list."""
        if self.ours is None:
            raise UsageError("NumQ is not a C/W/L measure")
        cwl, lists = as_cwl(self.ours), self._limited(lists)
        reports = [cwl.replace(report=report).evaluate(lists) for report in ("EU", "ETU", "EC", "ETC", "ED")]
        return np.nan_to_num(np.array(reports))


def plan(name: str, parameters: Mapping[str, Any]) -> Plan:
    """The plan for a measure with these parameters.

    >>> plan("nDCG", {"cutoff": 10, "judged_only": True})
    Plan(ours=nDCG@10, judged_only=True, summed=False, highest=None, decimals=None, ranking=Ranking(precision=32, \
ties='z-a'))
    >>> plan("INST", {"T": 2.0, "max_rel": 3}).ours
    INST(T=2,max_grade=3)
    """
    params = {parameter: _plain(value) for parameter, value in parameters.items()}
    for needed in NEEDS.get(name, ()):
        if params.get(needed) is None:
            raise UsageError(f"{name} needs a {needed}: write {_EXAMPLE[needed].format(name)}")
    if name == "NumQ":
        return Plan(None, summed=True)
    if name == "Accuracy":
        return Plan(PairAccuracy(**params))
    if name == "Judged":
        return Plan(ListedDocuments(**params))
    if name == "Compat":
        return Plan(ListedCompat(**params))
    if name == "SDCG" and params.pop("dcg", "log2") != "log2":
        raise UsageError(f"SDCG: dcg == {parameters['dcg']!r}, must be 'log2'")
    judged_only = bool(params.pop("judged_only", False))
    if name in ("ERR_IA", "nERR_IA", "alpha_DCG"):  # ir_measures gets them from ndeval
        params["dialect"] = "ndeval"
    highest = params["max_rel"] if name in _SCALED else None
    text = ",".join(f"{parameter}={value!r}" for parameter, value in params.items())
    ours = measures.parse(f"{name}({text})")
    if isinstance(ours, ranked.IPrec):  # as ir_measures computes them with trec_eval 9 and gdeval
        ours = measures.IPrec(rel=ours.rel, dialect="trec9", cutoff=ours.cutoff)
    elif isinstance(ours, measures.ERR):
        ours = measures.ERR(max_grade=4, cutoff=ours.cutoff)
    elif isinstance(ours, measures.RBP) and "rel" not in params:
        ours = measures.RBP(p=ours.p, gain="linear", cutoff=ours.cutoff)
    return Plan(ours, judged_only, name in SUMMED, highest)


class RankedRun(NamedTuple):
    """A run by one rule of ranking; without a judged topic there are no lists."""

    topics: list[str]
    """The judged topics of the run, in its order."""
    lists: Assessed | None = None
    """Its lists on every judged topic."""
    condensed: Assessed | None = None
    """The same without unjudged documents."""
    ideal_rank: Index64 | None = None
    """For each hit, its place in the ideal ranking of Compat."""


class CoreEvaluator(Evaluator):
    """Measures and their plans, and judgments ready to be joined with runs."""

    def __init__(self, plans: dict[Measure, Plan], qrels: TYPE_QREL) -> None:
        self._plans = list(plans.values())
        judgments = _qrels_of(qrels)
        if judgments.labels_vary and any(plan.ours and plan.ours.uses_intents() for plan in self._plans):
            judgments = judgments.with_intents()  # in ir_measures, diversity measures use the iteration
        self._judgments = judgments
        self._qrels = None if judgments.has_intents else TrecQrels(judgments.judged(), whole_grades=False)
        self._topics: list[str] = self._qrels.topics if self._qrels else list(judgments.topics)
        super().__init__(list(plans), set(self._topics))
        self._row = {topic: row for row, topic in enumerate(self._topics)}

    # -- values

    def _rankings(self, run: TYPE_RUN) -> dict[Ranking, RankedRun]:
        """The run by every rule that the measures need."""
        run = _listed(run, "run")
        return {ranking: self._ranked(run, ranking) for ranking in dict.fromkeys(plan.ranking for plan in self._plans)}

    def _ranked(self, run: Any, ranking: Ranking) -> RankedRun:
        scores = any(isinstance(plan.ours, ListedCompat) for plan in self._plans if plan.ranking == ranking)
        fast = None if self._qrels is None else _joined_rows(self._qrels.core, run, ranking, scores)
        if fast is not None:
            joined, places = fast
            return self._of_join([self._topics[place] for place in places.tolist()], joined, scores)
        known = _run_of(run)
        topics = [str(topic) for topic in known] if isinstance(known, dict) else known.table.topics
        judged = [topic for topic in topics if topic in self._row]
        if not judged:
            return RankedRun([])
        if self._qrels is None:
            with warnings.catch_warnings():  # ir_measures does not warn about topics that one side lacks
                warnings.simplefilter("ignore", CranfieldWarning)
                lists = join(self._judgments, {"run": known}, JoinOptions(order="score", **ranking._asdict()))
            return RankedRun(judged, lists, Condensed().apply(lists))
        rules: Any = {"order": "score", "single_precision": ranking.precision == 32, "depth": 0, "ties": ranking.ties}
        if isinstance(known, Run):
            joined = _core.join_tables(self._qrels.core, [known.table], scores=scores, **rules)
        else:
            joined = _core.join_dicts(self._qrels.core, [("run", known)], scores=scores, **rules)
        return self._of_join(judged, joined, scores)

    def _of_join(self, topics: list[str], joined: _core.Joined, scores: bool) -> RankedRun:
        assert self._qrels is not None
        ideal = _ideal_rank(self._qrels.core, joined) if scores else None
        return RankedRun(topics, self._qrels.lists(joined), self._qrels.lists(joined, judged_only=True), ideal)

    def _values(self, run: TYPE_RUN) -> tuple[list[str], Array]:
        """The judged topics of the run, in its order; and measure × judged topic, 0 for topics that the run lacks."""
        rankings = self._rankings(run)
        values = np.zeros((len(self._plans), len(self._topics)))
        judged: list[str] = []
        for number, plan in enumerate(self._plans):
            judged, lists, condensed, ideal_rank = rankings[plan.ranking]
            if lists is not None and condensed is not None:
                of_lists = plan.values(lists, condensed, ideal_rank=ideal_rank)
                values[number] = np.where(lists.missing, 0.0, of_lists)
        return judged, values

    def _metrics(self, topics: list[str], values: Array) -> Iterator[Metric]:
        for topic in topics:
            for measure, value in zip(self.measures, values[:, self._row[topic]].tolist(), strict=True):
                yield Metric(topic, measure, value)
        lacking = sorted(set(self._topics).difference(topics))
        for measure in sorted(self.measures, key=str):
            for topic in lacking:
                yield Metric(topic, measure, measure.DEFAULT)

    def _aggregated(self, values: Array) -> dict[Measure, float]:
        return {measure: _combined(measure, row) for measure, row in zip(self.measures, values, strict=True)}

    # -- what users call

    def iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        yield from self._metrics(*self._values(run))

    def _iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        return self.iter_calc(run)

    def calc_aggregate(self, run: TYPE_RUN) -> dict[Measure, float]:
        return self._aggregated(self._values(run)[1])

    def calc(self, run: TYPE_RUN) -> CalcResults:
        topics, values = self._values(run)
        return CalcResults(self._aggregated(values), list(self._metrics(topics, values)))


class DefinedEvaluator(CoreEvaluator):
    """Leaves out the topics on which a measure is undefined, as ir_measures does if Accuracy is requested alone."""

    def iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        rankings = self._rankings(run)
        for measure, plan in zip(self.measures, self._plans, strict=True):
            topics, lists, condensed, _ = rankings[plan.ranking]
            if lists is None or condensed is None:
                return
            values = plan.values(lists, condensed, undefined=np.nan)
            for topic in topics:
                value = float(values[self._row[topic]])
                if value == value:
                    yield Metric(topic, measure, value)

    calc_aggregate = Evaluator.calc_aggregate
    calc = Evaluator.calc


class CwlEvaluator(CoreEvaluator):
    """Adds what a reader spends and gets in the C/W/L framework, on the topics of the run."""

    def iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        rankings = self._rankings(run)
        values = np.zeros((len(self._plans), len(self._topics)))
        topics: list[str] = []
        for measure, plan in zip(self.measures, self._plans, strict=True):
            topics, lists, *_ = rankings[plan.ranking]
            if lists is None:
                break
            report = plan.reader(lists)
            for topic in topics:
                yield CwlMetric(topic, measure, *report[:, self._row[topic]].tolist())  # type: ignore[misc]
        for metric in self._metrics([], values):
            if metric.query_id not in topics:
                yield metric

    calc_aggregate = Evaluator.calc_aggregate
    calc = Evaluator.calc


def _combined(measure: Measure, values: Array) -> float:
    """The value over all topics, by the aggregator of the measure; means and sums need no loop."""
    aggregator = measure.aggregator()
    kind = type(aggregator).__name__  # measures of the ir_measures package have aggregators of their own
    if kind == SumAgg.__name__:
        return float(values.sum())
    if kind == MeanAgg.__name__ and len(values):
        return float(values.mean())
    for value in values.tolist():
        aggregator.add(value)
    return aggregator.result()


def _listed(data: Any, noun: str) -> Any:
    """The data, with an iterator read into a list; anything but dicts, frames and iterables is an error."""
    if isinstance(data, dict | list | Run | Qrels) or hasattr(data, "columns"):
        return data
    if not hasattr(data, "__iter__"):
        raise ValueError(f"unknown {noun} format: a {type(data).__name__}, expected named tuples, a frame or a dict")
    return list(data)


def _qrels_of(qrels: TYPE_QREL) -> Qrels:
    known = _listed(qrels, "qrels")
    return Qrels.of(known if len(known) else {})


def _run_of(run: Any) -> Run | dict[Any, Any]:
    if isinstance(run, Run | dict):
        return run
    return Run.of(run) if len(run) else {}


def _ideal_rank(judged: _core.Judged, joined: _core.Joined) -> Index64:
    """For each hit, its place in the ideal ranking of Compat: by grade, then by score, then as in the judgments.

    Documents that were not retrieved have the score 0.
    """
    before = np.cumsum(np.concatenate(([0], joined["retrieved"])))
    score = np.zeros(int(judged.start[-1]))
    score[joined["document"]] = joined["scores"][before[joined["row"]] + joined["rank"] - 1]
    topic = np.repeat(np.arange(len(judged.topics)), np.diff(judged.start))
    place = np.empty(len(topic), dtype=np.int64)
    place[np.lexsort((np.arange(len(topic)), -score, -judged.grade, topic))] = np.arange(len(topic))
    return np.asarray(place[joined["document"]] - judged.start[:-1][joined["row"]] + 1)


def _joined_rows(judged: _core.Judged, run: Any, ranking: Ranking, scores: bool) -> tuple[_core.Joined, Index] | None:
    """The join of named tuples or of a frame of pandas or polars, without a table of the run in between.

    None: another kind of run, or something is unusual, and the longer way explains it or accepts it.
    """
    if isinstance(run, Run):
        return None
    names = getattr(run[0], "_fields", ()) if isinstance(run, list) and run else getattr(run, "columns", ())
    if not all(name in names for name in ScoredDoc._fields):
        return None
    rules: Any = {"single_precision": ranking.precision == 32, "keep_scores": scores, "ties": ranking.ties}
    if isinstance(run, list):
        topic, doc, score = map(names.index, ScoredDoc._fields)
        return _core.join_tuples(judged, run, topic, doc, score, **rules)
    if hasattr(run, "iter_rows"):  # polars; a lazy frame has no rows yet
        if not run["score"].dtype.is_numeric() or run["score"].dtype.is_decimal():
            return None
        numbers = run["score"].cast(float).fill_null(np.nan).to_numpy()
    elif hasattr(run, "itertuples") and len(set(names)) == len(names) and run["score"].dtype.kind in "fiu":
        numbers = run["score"].to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        return None
    topics, docs = (run[name].to_list() for name in ("query_id", "doc_id"))
    return _core.join_columns(judged, topics, docs, np.ascontiguousarray(numbers), **rules)
