"""Evaluators that compute with the core of cranfield. Imported on first use, so that the stand-in starts fast."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cranfield import _core
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.compat.ir_measures.measure import MeanAgg, Measure, SumAgg
from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, CalcResults, CwlMetric, Metric, ScoredDoc
from cranfield.compat.ir_measures.plan import ListedCompat, Plan, Ranking
from cranfield.compat.ir_measures.provider import Evaluator
from cranfield.compat.trec_lists import TrecQrels
from cranfield.errors import CranfieldWarning
from cranfield.types import Array, Index, Index64
from cranfield.views.condensed import Condensed


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
