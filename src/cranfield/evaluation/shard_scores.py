"""Scores on random parts of the documents (shards): replicates of every topic and system."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cranfield import check
from cranfield.assessed.given_runs import distinct_names, each_run
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.accepted_inputs import QrelsLike, RunsLike
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.shards import shards_of
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.evaluation.evaluator import Evaluator, MeasureLike, score
from cranfield.scores.scores import Scores
from cranfield.text import counted
from cranfield.types import Progress


def shard_scores(
    qrels: QrelsLike,
    runs: RunsLike,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    shards: int = 5,
    *,
    seed: int = 0,
    missing: str = "zero",
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Scores]:
    """Score runs on random parts of the collection: {shard: scores}.

    Every document is in one shard at random (by its id and `seed`). Runs and judgments are cut to the documents of a
    shard, in the order of the whole lists, and scored as if there were no other documents. A run that finds nothing in
    a shard has an empty list there. A topic without relevant documents in a shard has no scores in it, and a warning
    counts such topics. Other parameters are those of `evaluate`.

    The result is what `anova` and `mixed` take with `across="shard"`, and `bootstrap_anova` with `shards=True`.

    Reference: Voorhees, Samarov & Soboroff, Using Replicates in Information Retrieval Evaluation, TOIS 36(2), 2017,
    doi:10.1145/3086701; Ferro & Sanderson, Improving the Accuracy of System Performance Estimation by Using Shards,
    SIGIR 2019

    >>> qrels = {"q": {"d1": 1, "d2": 1, "d3": 1, "d4": 0}}
    >>> run = {"q": {"d4": 4, "d3": 3, "d2": 2, "d1": 1}}
    >>> {shard: scores.mean()["mine"] for shard, scores in shard_scores(qrels, {"mine": run}, "RR", 2).items()}
    {'1': {'RR': 1.0}, '2': {'RR': 0.5}}
    """
    check.whole("shards", shards=shards)
    if shards < 2:
        raise check.wrong("", "shards", shards, "a whole number, 2 or more")
    for name in ("dimensions", "topic_numbers", "together"):
        if options.get(name) is not None:
            raise UsageError(f"{name} are of the whole collection, and cannot be cut into shards; leave them out")
    rules = JoinOptions(**options)
    whole = Evaluator(qrels, measures, missing=missing, options=rules)
    whole_runs = runs_in_memory(runs, rules)
    lists = whole.assess(whole_runs, progress)
    judged = shards_of(whole.qrels, shards, seed)
    runs_by_shard = {name: shards_of(run, shards, seed) for name, run in whole_runs.items()}
    absent = lists.missing.reshape(len(lists.runs), len(lists.topics))
    place = {topic: number for number, topic in enumerate(lists.topics)}
    scores: dict[str, Scores] = {}
    for shard, part in enumerate(judged):
        if not len(part):
            raise UsageError(f"shard {shard + 1} of {shards} has no relevant document; use fewer shards")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)  # they are about the whole lists, and were given above
            evaluator = Evaluator(part, whole.measures, missing=missing, options=rules)
            cut = evaluator.assess({name: _or_empty(runs[shard], part) for name, runs in runs_by_shard.items()})
            columns = [place[topic] for topic in cut.topics]
            values = score(cut.replace(missing=absent[:, columns].ravel()), whole.measures, missing=missing)
        scores[str(shard + 1)] = replace(values, notes=tuple(lists.notes))
    lacking = len(lists.topics) - len(set.intersection(*(set(part.topics) for part in scores.values())))
    if lacking:
        verb = "has" if lacking == 1 else "have"
        topics = f"{counted(lacking, 'topic')} of {len(lists.topics)}"
        warn_caller(f"{topics} {verb} no relevant document in some shard", CranfieldWarning)
    return scores


def _or_empty(run: Run, qrels: Qrels) -> Run:
    """The run, or empty lists if it has no document of a judged topic, which would be an error in a whole run."""
    if set(run.topics) & set(qrels.topics):
        return run
    return Run.from_dict({topic: {} for topic in qrels.topics}, run.name)


def runs_in_memory(runs: Any, rules: JoinOptions) -> dict[str, Run]:
    """All runs in memory, under different names."""
    read = [
        run
        for name, thing in each_run(runs)
        for run in runs_of(
            thing, name, format=rules.format, on_duplicate=rules.on_duplicate, split_tags=rules.split_tags
        )
    ]
    return dict(zip(distinct_names([run.name for run in read], [run.path or "" for run in read]), read, strict=True))
