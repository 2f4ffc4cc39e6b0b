"""How much a run loses when it was not pooled: what pooled runs would lose without the documents that only they found.

Adding that loss to the scores of a new run corrects them for the bias of the pool.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed import Array
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation import MeasureLike, as_measures, evaluate
from cranfield.scores import Scores


@dataclass(frozen=True, eq=False)
class PoolBias:
    """What each pooled run would lose on each topic."""

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Array
    """Measures × runs × topics: the score, less the score without its own documents; NaN where either is undefined."""

    def mean(self, run: str | None = None) -> dict[str, float]:
        """What to add to a mean score, by measure: the mean over topics and all runs, or over the topics of one."""
        if run is not None and run not in self.runs:
            raise UsageError(f"run {run!r} is not known; there are {', '.join(self.runs)}")
        values = self.values if run is None else self.values[:, [self.runs.index(run)]]
        many = np.isfinite(values).sum(axis=(1, 2))
        means = np.nansum(values, axis=(1, 2)) / np.where(many > 0, many, np.nan)
        return dict(zip(self.measures, means.tolist(), strict=True))

    def adjusted(self, scores: Scores) -> dict[str, dict[str, float]]:
        """{run: {measure: mean score, adjusted}} on topics for which the runs were not pooled.

        A run whose bias was found on other topics gets its own, any other the mean of all runs.
        """
        unknown = [name for name in scores.measures if name not in self.measures]
        if unknown:
            raise UsageError(f"the bias of {unknown[0]} is not known; there are {', '.join(self.measures)}")
        out = {}
        for run, row in scores.mean().items():
            added = self.mean(run if run in self.runs else None)
            out[run] = {name: value + added[name] for name, value in row.items()}
        return out


def pool_bias_of(
    qrels: Any,
    pooled: Mapping[str, Any],
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    depth: int,
    groups: Mapping[str, str] | None = None,
) -> PoolBias:
    """The bias of the pool that `qrels` were judged from.

    pooled: {name: run}, the runs that were pooled, their first `depth` documents each.
    groups: which group a run is from, where groups sent several; without it each run is a group. A run is then scored
    without the documents that no other group found.

    Two ways to adjust a new run: by the mean bias of the pooled runs, which supposes that it is like them; or,
    better, by its own bias on a few topics for which it was pooled along with the others (`qrels` and runs of those
    common topics). A topic that would have no relevant document left is passed over for that run.

    Reference: Webber & Park, Score Adjustment for Correction of Pooling Bias, SIGIR 2009, doi:10.1145/1571941.1572018

    >>> runs = {"a": {"q": {"d1": 2.0, "d2": 1.0}}, "b": {"q": {"d1": 2.0, "d3": 1.0}}}
    >>> bias = pool_bias_of({"q": {"d1": 1, "d2": 1, "d3": 0}}, runs, "P@2", depth=2)
    >>> bias.mean()  # a loses d2, 1/2 of its P@2; b loses nothing that is relevant
    {'P@2': 0.25}
    """
    check.whole("pool_bias_of", depth=depth)
    if len(pooled) < 2:
        raise UsageError(f"{len(pooled)} pooled run given, must be 2 or more: a run is compared with the others")
    judgments, chosen = Qrels.of(qrels), as_measures(measures)
    runs = {str(name): Run.of(run) for name, run in pooled.items()}
    group = {name: name if groups is None else groups.get(name, name) for name in runs}
    if len(set(group.values())) < 2:
        raise UsageError("all pooled runs are from one group: nobody else found anything")
    full = evaluate(judgments, runs, chosen)
    grades = judgments.to_dict()
    found = {name: _tops(run, grades, depth) for name, run in runs.items()}
    by_group: dict[str, dict[str, set[str]]] = {}
    for name, tops in found.items():
        for topic, docs in tops.items():
            by_group.setdefault(group[name], {}).setdefault(topic, set()).update(docs)
    finders = {topic: Counter(doc for tops in by_group.values() for doc in tops.get(topic, ())) for topic in grades}
    values = np.full(full.values.shape, np.nan)
    for place, name in enumerate(full.runs):
        own = by_group.get(group[name], {})
        without = {
            topic: {doc: g for doc, g in of.items() if doc not in own.get(topic, ()) or finders[topic][doc] > 1}
            for topic, of in grades.items()
        }
        left = {topic: of for topic, of in without.items() if any(g > 0 for g in of.values())}
        if not left:
            continue
        with warnings.catch_warnings():  # topics that are passed over
            warnings.simplefilter("ignore", CranfieldWarning)
            scores = evaluate(Qrels.from_dict(left), {name: runs[name]}, chosen)
        at = [full.topics.index(topic) for topic in scores.topics]
        values[:, place, at] = full.values[:, place, at] - scores.values[:, 0]
    return PoolBias(full.measures, full.runs, full.topics, values)


def _tops(run: Run, topics: Iterable[str], depth: int) -> dict[str, set[str]]:
    """The first documents of a run on each judged topic."""
    there = set(run.topics)
    return {topic: {entry.doc for entry in run.ranking(topic)[:depth]} for topic in topics if topic in there}
