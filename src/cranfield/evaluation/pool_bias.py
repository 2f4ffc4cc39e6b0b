"""How much a run loses when it was not pooled: what pooled runs would lose without the documents that only they found.

Adding that loss to the scores of a new run corrects them for the bias of the pool.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.judged_documents import JudgedDocuments
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.run_table import Belongs, belongs
from cranfield.collection.source import shown_path
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, score, values_of, with_scores
from cranfield.scores.scores import Scores
from cranfield.types import Array


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
    groups: Belongs | None = None,
) -> PoolBias:
    """The bias of the pool that `qrels` were judged from.

    pooled: {name: run}, the runs that were pooled, their first `depth` documents each.
    groups: which group a run is from, where groups sent several: {run: group}, or a file with lines `run group`; a run
    that is not there is a group of its own. A run is scored without the documents that no other group found.

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
    given = {} if groups is None else _groups_of(groups, tuple(runs))
    group = {name: given.get(name, name) for name in runs}
    if len(set(group.values())) < 2:
        raise UsageError("all pooled runs are from one group: nobody else found anything")
    names = tuple(dict.fromkeys(group.values()))
    of_run = np.array([names.index(group[name]) for name in runs])
    documents = JudgedDocuments.of(judgments, runs, with_scores(JoinOptions(), chosen))
    full = score(documents.lists, chosen)
    pool = documents.pool(of_run, names, depth)
    values = np.full(full.values.shape, np.nan)
    for number in range(len(names)):
        members, left = np.flatnonzero(of_run == number), pool.left(number)
        lists = documents.judged(keep=left, runs=members)
        shape = (len(members), len(full.topics))
        without = np.stack([values_of(one, lists).reshape(shape) for one in chosen])
        passed_over = np.bincount(documents.topic[left & (documents.grade > 0)], minlength=shape[1]) == 0
        values[:, members] = full.values[:, members] - np.where(passed_over, np.nan, without)
    return PoolBias(full.measures, full.runs, full.topics, values)


def _groups_of(groups: Belongs, runs: tuple[str, ...]) -> dict[str, str]:
    """{run: group}, of pooled runs only."""
    found = belongs(groups, "group")
    unknown = [run for run in found if run not in runs]
    if unknown:
        origin = "groups" if isinstance(groups, Mapping) else shown_path(os.fspath(groups))
        many = f"{len(unknown)} run{'s are' if len(unknown) > 1 else ' is'} not pooled: {', '.join(unknown[:5])}"
        raise DataError(origin, None, f"{many}; the pooled runs are {', '.join(runs[:10])}")
    return found
