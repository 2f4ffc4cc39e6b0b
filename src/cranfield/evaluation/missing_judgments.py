"""What missing judgments hide: the lowest and highest score of a run, and the loss of a run that was not pooled.

The loss is estimated from pooled runs, by their scores without their own documents. Added to the scores of a new run,
it corrects them for the bias of the pool.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np

from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.collection.accepted_inputs import QrelsLike, RunLike
from cranfield.collection.run import Belongs, Run, belongs
from cranfield.collection.source import shown_path
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, score, values_of, with_scores
from cranfield.measures import Measure
from cranfield.measures.declarations import Properties
from cranfield.notes import caution_note
from cranfield.record import Columns, Record, crossed, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array
from cranfield.views.unjudged import Unjudged


class Residual(NamedTuple):
    """The lowest and the highest score of each list, and whether they are bounds or two scenarios."""

    low: Array
    high: Array
    bounds: bool
    """Whether they enclose the scores under every judgment of the unjudged documents; if not, they are scenarios."""


def ends(measure: Measure) -> tuple[Measure, Measure]:
    """The measure with all unjudged documents worst, and with all of them best, before its own views."""
    return measure.first_through(Unjudged("worst")), measure.first_through(Unjudged("best"))


def residual(measure: MeasureLike, lists: Assessed) -> Residual:
    """The scores of lists if all unjudged documents have grade 0, and if all have the highest grade.

    For a measure that does not depend on recall (P, RBP, DCG, ERR, RR, ...) these are bounds for the score once all
    retrieved documents are judged. A measure that is normalised by the relevant documents may fall when a document
    turns out to be relevant, because the ideal list grows too; then these are two scenarios. If topics have intents,
    an unjudged document is relevant to all intents of its topic or to none; with global gains (D-, DIN-) these are
    always scenarios.

    Reference: Moffat & Zobel, TOIS 27(1), 2008, doi:10.1145/1416950.1416952, for rank-biased precision

    >>> low, high, bounds = residual("P@4", Assessed.one([1, None, 0, None]))
    >>> low.tolist(), high.tolist(), bounds
    ([0.25], [0.75], True)
    >>> residual("AP", Assessed.one([1, None, 0, None])).bounds
    False
    """
    (chosen,) = as_measures([measure])
    worst, best = (values_of(end, lists) for end in ends(chosen))
    return Residual(np.fmin(worst, best), np.fmax(worst, best), chosen.has_bounds())


UNEVEN = 0.3
"""From this correlation of errors and scores on, a caution says that good runs stay too low."""


ALL = "(all runs)"


@dataclass(frozen=True, eq=False, repr=False)
class PoolBias(Record):
    """What each pooled run loses on each topic without its own documents."""

    facts = ("depth",)

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Array
    """Measures × runs × topics: the score minus the score without its own documents; NaN if either is undefined."""
    properties: Mapping[str, Properties] = field(default_factory=dict)
    """The properties of the measures, by name."""
    scores: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Measures × runs: the mean scores of the pooled runs."""
    depth: int = 0
    """How many documents of each run were pooled."""

    def columns(self) -> Columns:
        """run, topic and each measure: a row per pooled run and topic."""
        by_measure = dict(zip(self.measures, self.values, strict=True))
        return crossed({"run": self.runs, "topic": self.topics}, by_measure)

    def table(self) -> Table:
        """The mean loss of each pooled run, and of all runs."""
        means = [self.mean(run) for run in self.runs] + [self.mean()]
        columns = {"run": [*self.runs, ALL], **{name: [row[name] for row in means] for name in self.measures}}
        return table_of(columns, caption=f"Loss of each run if its first {self.depth} documents had not been pooled")

    def adjusted_table(self, scores: Scores) -> Table:
        """The scores of runs, and their adjusted scores."""
        means, adjusted = scores.mean(), self.adjusted(scores)
        columns: dict[str, list[str] | list[float]] = {"run": list(scores.runs)}
        for name in scores.measures:
            columns[name] = [means[run][name] for run in scores.runs]
            columns[f"{name} adjusted"] = [adjusted[run][name] for run in scores.runs]
        own = [run for run in scores.runs if run in self.runs]
        notes = [*scores.notes, *self.limits(scores)]
        if len(own) < len(scores.runs):
            notes.append(f"adjusted by the mean loss of {len(self.runs)} pooled runs")
            if caution := self.caution(scores):
                notes.append(caution)
        if own:
            notes.append(caution_note(f"adjusted by their own loss on other topics: {', '.join(own)}"))
        return table_of(columns, caption="Adjusted scores", notes=tuple(notes))

    def mean(self, run: str | None = None) -> dict[str, float]:
        """What to add to a mean score, by measure: the mean over topics and all runs, or over the topics of one run."""
        if run is not None and run not in self.runs:
            raise UsageError(f"run {run!r} is not known; there are {listed(self.runs, 10)}")
        values = self.values if run is None else self.values[:, [self.runs.index(run)]]
        count = np.isfinite(values).sum(axis=(1, 2))
        means = np.nansum(values, axis=(1, 2)) / np.where(count > 0, count, np.nan)
        return dict(zip(self.measures, means.tolist(), strict=True))

    def adjusted(self, scores: Scores) -> dict[str, dict[str, float]]:
        """{run: {measure: adjusted mean score}} on topics for which the runs were not pooled.

        A run that was pooled on other topics is adjusted by its own bias, any other run by the mean bias. Numbers that
        describe a list and do not rate it, such as Judged, are not adjusted; no score leaves the range of its measure.
        """
        unknown = [name for name in scores.measures if name not in self.measures]
        if unknown:
            raise UsageError(f"the bias of {unknown[0]} is not known; there are {', '.join(self.measures)}")
        adjusted = {}
        for run, row in scores.mean().items():
            bias = self.mean(run if run in self.runs else None)
            adjusted[run] = {name: self._adjusted(name, value, bias[name])[0] for name, value in row.items()}
        return adjusted

    def limits(self, scores: Scores) -> tuple[str, ...]:
        """Which measures are not adjusted, and which adjusted scores were limited to the range of the measure."""
        notes = []
        described = [name for name in scores.measures if not self._rates(name)]
        if described:
            what = "it describes a list and does not rate it"
            if len(described) > 1:
                what = "they describe a list and do not rate it"
            notes.append(caution_note(f"not adjusted: {listed(described)}, because {what}"))
        limited = []
        for run, row in scores.mean().items():
            bias = self.mean(run if run in self.runs else None)
            limited += [f"{name} of {run}" for name, value in row.items() if self._adjusted(name, value, bias[name])[1]]
        if limited:
            notes.append(f"limited to the range of the measure: {listed(limited)}")
        return tuple(notes)

    def errors(self) -> dict[str, tuple[float, float]]:
        """How far off the mean loss of the others is for each pooled run, by measure.

        The root mean square, and the correlation with the scores of the runs: below 0, good runs are still too low
        after the adjustment, and poor ones too high.
        """
        count = np.isfinite(self.values).sum(axis=2)
        loss = np.nansum(self.values, axis=2) / np.where(count > 0, count, np.nan)
        others = (np.nansum(loss, axis=1, keepdims=True) - loss) / (np.isfinite(loss).sum(axis=1, keepdims=True) - 1)
        errors = {}
        for name, error, own in zip(self.measures, others - loss, self.scores, strict=True):
            known = np.isfinite(error) & np.isfinite(own)
            varied = known.sum() > 2 and min(np.ptp(error[known]), np.ptp(own[known])) > 1e-12
            together = float(np.corrcoef(error[known], own[known])[0, 1]) if varied else np.nan
            errors[name] = (float(np.sqrt(np.mean(error[known] ** 2))) if known.any() else np.nan, together)
        return errors

    def caution(self, scores: Scores) -> str | None:
        """What the mean loss leaves: runs lose differently, and often the good ones lose more."""
        errors = {name: self.errors()[name] for name in scores.measures if self._rates(name)}
        if not errors or len(self.runs) < 3:
            return None
        sizes = ", ".join(f"{name} {size:.4f}" for name, (size, _) in errors.items())
        text = caution_note(
            f"caution: runs lose differently; pooled runs, adjusted by the loss of the others, are off by {sizes}"
        )
        uneven = [f"{name} {r:.2f}" for name, (_, r) in errors.items() if r < -UNEVEN]
        if uneven:
            text += f", and the error falls with the score (correlation {', '.join(uneven)}): good runs stay too low"
        return text

    def _rates(self, name: str) -> bool:
        """Whether a measure says how good a list is."""
        return name not in self.properties or self.properties[name].better != "neither"

    def _adjusted(self, name: str, value: float, bias: float) -> tuple[float, bool]:
        """The adjusted score, and whether the range of the measure limits it."""
        if not self._rates(name):
            return value, False
        properties = self.properties.get(name)
        low, high = (properties.low, properties.high) if properties else (-np.inf, np.inf)
        within = float(np.clip(value + bias, low, high))
        return within, abs(within - (value + bias)) > 1e-9


@operation
def pool_bias_of(
    qrels: QrelsLike,
    pooled: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    depth: Annotated[
        int,
        about("The number of first documents of each run that were judged.", least=1, spelled="--pool-depth N"),
    ],
    groups: Belongs | None = None,
) -> PoolBias:
    """The bias of the pool that `qrels` were judged from.

    pooled: {name: run}, the runs whose first `depth` documents were pooled.
    groups: the group of each run, if groups submitted several runs: {run: group}, or a file with lines `run group`; a
    run without a group is its own group. A run is scored without the documents that no other group found.

    There are two ways to adjust a new run: by the mean bias of the pooled runs, which assumes that it is like them; or,
    better, by its own bias on a few topics for which it was pooled with the others (`qrels` and runs of these common
    topics). Good runs often lose more than poor ones, and their mean then corrects the level of scores, not the order
    of runs: `errors` has what is left. A topic that would have no relevant document left is left out for that run.

    Reference: Webber & Park, Score Adjustment for Correction of Pooling Bias, SIGIR 2009, doi:10.1145/1571941.1572018

    >>> runs = {"a": {"q": {"d1": 2.0, "d2": 1.0}}, "b": {"q": {"d1": 2.0, "d3": 1.0}}}
    >>> bias = pool_bias_of({"q": {"d1": 1, "d2": 1, "d3": 0}}, runs, "P@2", depth=2)
    >>> bias.mean()  # a loses d2, 1/2 of its P@2; b loses no relevant document
    {'P@2': 0.25}
    """
    if len(pooled) < 2:
        raise UsageError(f"{counted(len(pooled), 'pooled run')} given, must be 2 or more")
    chosen = as_measures(measures)
    runs = {str(name): Run.of(run) for name, run in pooled.items()}
    group_of = dict(zip(runs, runs, strict=True)) | ({} if groups is None else _groups_of(groups, tuple(runs)))
    names = tuple(dict.fromkeys(group_of.values()))
    if len(names) < 2:
        raise UsageError("all pooled runs are from one group, must be from 2 or more")
    place = {name: at for at, name in enumerate(names)}
    group = np.array([place[group_of[name]] for name in runs])
    documents = JudgedDocuments.of(qrels, runs, with_scores(JoinOptions(), chosen))
    full = score(documents.lists, chosen)
    pool = documents.pool(group, names, depth)
    values = np.full(full.values.shape, np.nan)
    for number in range(len(names)):
        members, left = np.flatnonzero(group == number), pool.left(number)
        lists = documents.judged(keep=left, runs=members)
        shape = (len(members), len(full.topics))
        without = np.stack([values_of(measure, lists).reshape(shape) for measure in chosen])
        left_out = np.bincount(documents.topic[left & (documents.grade > 0)], minlength=shape[1]) == 0
        values[:, members] = full.values[:, members] - np.where(left_out, np.nan, without)
    properties = {name: measure.properties for name, measure in zip(full.measures, chosen, strict=True)}
    return PoolBias(full.measures, full.runs, full.topics, values, properties, full.means(), depth)


def _groups_of(groups: Belongs, runs: tuple[str, ...]) -> dict[str, str]:
    """{run: group}; runs that are not pooled are an error."""
    group_of = belongs(groups, "group")
    unknown = [run for run in group_of if run not in runs]
    if unknown:
        origin = "groups" if isinstance(groups, Mapping) else shown_path(os.fspath(groups))
        message = f"{counted(len(unknown), 'run is', 'runs are')} not pooled: {listed(unknown)}"
        raise DataError(origin, None, f"{message}; the pooled runs are {listed(runs, 10)}")
    return group_of
