"""Significance over documents: would two runs still differ in another sample of documents, on the same topics?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged, ranges, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.comparison.corrections import adjust
from cranfield.comparison.data import Baseline, all_pairs
from cranfield.comparison.resampling import TestResamples
from cranfield.declared.operation import Alpha, Seed, operation
from cranfield.errors import UsageError
from cranfield.evaluation.shard_scores import runs_in_memory
from cranfield.measures import Measure, parse
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, table_of
from cranfield.scores.t_and_normal import normal_tail, t_tail
from cranfield.table import Table
from cranfield.types import Array, Index64, Progress
from cranfield.views.ties import Ties

COUNTS_AT_ONCE = 20_000_000
"""How many counts of documents are drawn at once, to bound memory."""


Counts = NDArray[np.int64]
"""resamples × documents: how many times each document of the collection is drawn."""


@dataclass(frozen=True, eq=False)
class TopicOfCollection:
    """The lists of all runs for one topic, as numbers of documents in the collection, and the judged documents.

    `judged` are the judged documents, best grade first, and `grade` their grades.
    """

    name: str
    lists: Sequence[Index64]
    judged: Index64
    grade: Array

    @staticmethod
    def of(
        name: str, rankings: Sequence[Sequence[str]], grades: Mapping[str, float], number: dict[str, int]
    ) -> TopicOfCollection:
        """From names of documents; documents that `number` does not know get the next numbers."""

        def numbers(documents: Sequence[str]) -> Index64:
            return np.array([number.setdefault(doc, len(number)) for doc in documents], dtype=np.int64)

        grade = np.array(list(grades.values()), dtype=np.float64)
        best_first = np.argsort(-grade, kind="stable")
        judged = numbers(list(grades))[best_first]
        return TopicOfCollection(name, [numbers(ranking) for ranking in rankings], judged, grade[best_first])

    def resampled(self, run: int, counts: Counts, max_grade: float) -> Assessed:
        """The list of one run in every resample, a row each. The copies of a document take consecutive ranks."""
        documents, resamples = self.lists[run], len(counts)
        drawn = counts[:, documents]
        end = np.cumsum(drawn, axis=1)
        grade_of = dict(zip(self.judged.tolist(), self.grade.tolist(), strict=True))
        place = np.array([at for at, doc in enumerate(documents.tolist()) if doc in grade_of], dtype=np.int64)
        grade = np.array([grade_of[doc] for doc in documents[place].tolist()])
        copies = drawn[:, place].ravel()
        rank = ranges((end - drawn)[:, place].ravel() + 1, copies)
        row = np.repeat(np.repeat(np.arange(resamples), len(place)), copies)
        judged = counts[:, self.judged].ravel()
        judged_row = np.repeat(np.repeat(np.arange(resamples), len(self.judged)), judged)
        judged_grade = np.repeat(np.tile(self.grade, resamples), judged)
        none = np.zeros(resamples, dtype=np.int64)
        return Assessed(
            ("run",),
            (self.name,),
            run=none,
            topic=none,
            retrieved=end[:, -1] if len(documents) else none,
            missing=np.zeros(resamples, dtype=bool),
            row=row,
            rank=rank,
            grade=np.repeat(np.tile(grade, resamples), copies),
            # one more judged set, which no list has, keeps the largest grade of the judgments
            judged=Judged(
                segment_starts(np.append(judged_row, resamples), resamples + 1), np.append(judged_grade, max_grade)
            ),
            set_of_row=np.arange(resamples),
        )


@dataclass(frozen=True, eq=False, repr=False)
class DocumentTests(Record):
    """What sampling documents and sampling topics say of the same pairs of runs."""

    facts = ("measure", "resamples", "seed", "alpha", "correction")

    measure: str
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    first: Index64
    second: Index64
    scores: Array
    """runs × topics."""
    topic_error: Array
    """pairs × topics: the standard error of the difference over samples of documents."""
    mean_error: Array
    """pairs: the standard error of the mean difference over samples of documents."""
    resamples: int
    seed: int
    alpha: float
    correction: str
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> Array:
        """pairs × topics: the difference of the scores."""
        return self.scores[self.first] - self.scores[self.second]

    @property
    def topic_p(self) -> Array:
        """pairs × topics: the p-value of the difference on one topic, over samples of documents."""
        return _two_sided(self.difference, self.topic_error)

    @property
    def over_documents(self) -> Array:
        """The p-value of each mean difference over samples of documents, not corrected."""
        return _two_sided(_mean(self.difference), self.mean_error)

    @property
    def over_topics(self) -> Array:
        """The p-value of each mean difference over samples of topics, by the paired t test, not corrected."""
        defined = ~np.isnan(self.difference)
        n = defined.sum(axis=1)
        error = self._topic_spread() / np.sqrt(np.maximum(n, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.abs(_mean(self.difference)) / error
        return np.where(n > 1, np.where(np.isnan(statistic), 1.0, 2 * t_tail(statistic, np.maximum(n - 1, 1))), np.nan)

    def _topic_spread(self) -> Array:
        """pairs: the standard deviation of the differences over topics."""
        defined = ~np.isnan(self.difference)
        n = defined.sum(axis=1)
        squares = np.where(defined, (self.difference - _mean(self.difference)[:, None]) ** 2, 0.0).sum(axis=1)
        return np.asarray(np.sqrt(squares / np.maximum(n - 1, 1)))

    @property
    def document_share(self) -> Array:
        """pairs: which part of the variance of differences over topics comes from the sample of documents."""
        variance = self._topic_spread() ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(variance > 0, _mean(self.topic_error**2) / variance, np.nan)

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference, both p-values (corrected), topics that differ (p < alpha), share of documents."""
        names = np.array(self.runs, dtype=object)
        return {
            "first": names[self.first],
            "second": names[self.second],
            "difference": _mean(self.difference),
            "p topics": adjust(self.over_topics, self.correction),
            "p documents": adjust(self.over_documents, self.correction),
            "topics that differ": (self.topic_p < self.alpha).sum(axis=1),
            "document share": self.document_share,
        }

    def table(self) -> Table:
        kinds = dict.fromkeys(("p topics", "p documents"), "probability")
        return table_of(self.columns(), kinds=kinds, notes=self.notes)

    def topic_columns(self) -> dict[str, NDArray[Any]]:
        """first, second, topic, difference, its standard error over documents and its p-value (not corrected)."""
        pair, topic = (axis.ravel() for axis in np.indices(self.topic_error.shape))
        names = np.array(self.runs, dtype=object)
        return {
            "first": names[self.first[pair]],
            "second": names[self.second[pair]],
            "topic": np.array(self.topics, dtype=object)[topic],
            "difference": self.difference.ravel(),
            "error": self.topic_error.ravel(),
            "p": self.topic_p.ravel(),
        }

    def topic_table(self) -> Table:
        """A row per pair and topic."""
        return table_of(self.topic_columns(), caption=f"{self.measure}: differences on each topic, over documents")


def _mean(values: Array) -> Array:
    """The mean of each row over its defined values."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=1)
    total = np.where(defined, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _two_sided(difference: Array, error: Array) -> Array:
    """The p-value of a difference with this standard error; 1 if there is neither."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(difference) / error
    p = np.where(np.isnan(z) & (difference == 0), 1.0, 2 * normal_tail(z))
    return np.where(np.isnan(difference), np.nan, p)


@operation
def document_bootstrap(
    qrels: Any,
    runs: Any,
    measure: Measure | str,
    *,
    baseline: Baseline = None,
    resamples: TestResamples = 1000,
    seed: Seed = 0,
    alpha: Alpha = 0.05,
    correction: str = "holm",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> DocumentTests:
    r"""Compare runs over samples of documents, beside the usual comparison over samples of topics.

    The documents of the collection are read as a sample of a much larger collection, and are resampled with
    replacement: in each resample, a document is drawn k times with the probability of a Poisson distribution of mean 1,
    the same for all runs and topics. It then stands k times in a list, one copy after the other, and is judged k times;
    all ranks below shift. The standard deviation of a difference over resamples is its standard error s, and

    .. math:: z = \frac{\bar d}{s(\bar d)}

    is compared with a normal distribution, for each topic and for the mean. This asks what another sample of documents
    would show on these topics. The paired t test asks what other topics would show. `document share` is the mean of the
    squared errors of the topics, divided by the variance of differences over topics: which part of that variance comes
    from the sample of documents. A resample in which a topic has no score (none of its relevant documents was drawn) is
    left out for this topic. The p-values of the pairs are corrected, those of single topics are not.

    runs: anything that `evaluate` takes. `baseline`: compare all other runs with this one; default: all pairs.

    Reference: Cormack & Lynam, Statistical Precision of Information Retrieval Evaluation, SIGIR 2006,
    doi:10.1145/1148170.1148262; Robertson & Kanoulas, On Per-topic Variance in IR Evaluation, SIGIR 2012,
    doi:10.1145/2348283.2348402

    >>> qrels = {"q": {f"d{n}": n % 2 for n in range(40)}}
    >>> good = {"q": {f"d{n}": n % 2 + n / 100 for n in range(40)}}
    >>> bad = {"q": {f"d{n}": n / 100 for n in range(40)}}
    >>> tests = document_bootstrap(qrels, {"good": good, "bad": bad}, "AP", resamples=200)
    >>> bool(tests.topic_p[0, 0] < 0.05)
    True
    """
    chosen = parse(measure) if isinstance(measure, str) else measure
    if chosen.needs or any(view.place or isinstance(view, Ties) for view in chosen.views):
        raise UsageError(
            f"document_bootstrap: {chosen} needs more than ranks and grades, which are all that is resampled"
        )
    rules = options or JoinOptions()
    for name in ("dimensions", "together", "strata", "inclusion", "intent_probabilities", "intent_types"):
        if getattr(rules, name):
            raise UsageError(f"document_bootstrap: {name} cannot be combined with samples of documents; leave it out")
    judgments = Qrels.of(qrels, on_duplicate=rules.on_duplicate)
    read = runs_in_memory(runs, rules)
    lists = join(judgments, read, rules)
    first, second = _pairs(lists.runs, baseline)
    topics, size = _topics(judgments, read, lists.topics, rules)
    once = np.ones((1, size), dtype=np.int64)
    whole = _scores(chosen, topics, len(read), once, lists.max_grade)[:, :, 0]
    rng, done, parts = np.random.default_rng(seed), 0, []
    while done < resamples:
        block = min(resamples - done, max(1, COUNTS_AT_ONCE // max(size, 1)), max(1, resamples // 10))
        parts.append(_scores(chosen, topics, len(read), rng.poisson(1.0, (block, size)), lists.max_grade))
        done += block
        if progress:
            progress(done, resamples)
    drawn = np.concatenate(parts, axis=2)  # runs × topics × resamples
    difference = drawn[first] - drawn[second]
    per_resample = np.stack([_mean(pair.T) for pair in difference]) if len(first) else np.zeros((0, resamples))
    undefined = int(np.isnan(drawn).any(axis=0).sum() - resamples * np.isnan(whole).any(axis=0).sum())
    notes = [
        method_note(f"documents: {resamples:,} resamples; topics: paired t test; p-values corrected by {correction}")
    ]
    if undefined:
        every = f"{undefined:,} of {resamples * len(topics):,} resampled topics"
        notes.append(caution_note(f"{every} have no score and are left out: no relevant document was drawn"))
    return DocumentTests(
        str(chosen), lists.runs, tuple(topic.name for topic in topics), first, second, whole,
        _spread(difference), _spread(per_resample), int(resamples), int(seed), float(alpha),
        correction, tuple(notes),
    )  # fmt: skip


def _spread(values: Array) -> Array:
    """The standard deviation over resamples, the last axis, where defined."""
    defined = ~np.isnan(values)
    n = defined.sum(axis=-1)
    mean = np.where(defined, values, 0.0).sum(axis=-1) / np.maximum(n, 1)
    squares = np.where(defined, (values - mean[..., None]) ** 2, 0.0).sum(axis=-1)
    return np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan)


def _pairs(runs: tuple[str, ...], baseline: str | None) -> tuple[Index64, Index64]:
    if len(runs) < 2:
        raise UsageError(f"document_bootstrap: {len(runs)} run, must be 2 or more")
    if baseline is None:
        return all_pairs(len(runs))
    if baseline not in runs:
        raise UsageError(f"baseline == {baseline!r}, the runs are {', '.join(runs)}")
    others = np.array([number for number, name in enumerate(runs) if name != baseline])
    return others, np.full(len(others), runs.index(baseline))


def _topics(
    qrels: Qrels, runs: dict[str, Run], names: tuple[str, ...], rules: JoinOptions
) -> tuple[list[TopicOfCollection], int]:
    """The lists of each topic, and the number of documents in all of them and in the judgments."""
    number: dict[str, int] = {}
    grades, order, topics = qrels.to_dict(), rules.order or "score", []
    for name in names:
        rankings = [
            [entry.doc for entry in run.ranking(name, order, rules.precision, rules.ties)[: rules.depth]]
            if name in run.topics
            else []
            for run in runs.values()
        ]
        topics.append(TopicOfCollection.of(name, rankings, grades[name], number))
    return topics, len(number)


def _scores(measure: Measure, topics: list[TopicOfCollection], runs: int, counts: Counts, max_grade: float) -> Array:
    """runs × topics × resamples: the scores if each document is drawn as often as `counts` says."""
    scores = np.empty((runs, len(topics), len(counts)))
    for t, topic in enumerate(topics):
        for run in range(runs):
            scores[run, t] = measure.evaluate(topic.resampled(run, counts, max_grade))
    return scores
