"""What new rankings would be worth, from clicks on logged lists and how likely each position is examined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.collection.run import Run
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError, UsageError
from cranfield.frames import need
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import nw
from cranfield.online.logs.log import Log, queries_by_topic, run_table, shown_with_clicks
from cranfield.online.moments import moments
from cranfield.online.policies.off_policy import CLIP, LEAST_ESS, Clip, LeastESS, PolicyLevel, Shrink
from cranfield.online.policies.policy_estimates import (
    ESTIMATORS,
    MODEL_ERROR,
    Estimate,
    Logged,
    OffPolicy,
    Part,
    estimates_of,
    logged_value,
    verdict,
)
from cranfield.text import counted

UTILITIES = {"clicks": "expected clicks per query", "dcg": "expected sum of attractiveness / log2(rank + 1) per query"}
PARTS = (
    Part("IPS", "weighted", "n"),
    Part("clipped", "clipped_weighted", "n", high="clipped_high"),
    Part("direct", "direct", "n", weighted=False, influence="direct_influence"),
    Part("DR", "corrected", "n", influence="corrected_influence"),
)
SUMS = (
    "weight", "square", "weighted", "clipped_weighted", "clipped_high", "correction", "reward", "met",
    "direct_by_model", "corrected_by_model",
)  # fmt: skip


@operation
def off_policy_runs(
    log: Log,
    runs: Sequence[Run],
    examined: Sequence[float],
    *,
    topics: Mapping[str, str] | None = None,
    utility: Annotated[str, about("The worth of a ranking: {names}.", choices=tuple(UTILITIES))] = "clicks",
    depth: Annotated[int, about("The ranks of the lists that count.", least=1)] = 10,
    clip: Clip = CLIP,
    least_ess: LeastESS = LEAST_ESS,
    shrink: Shrink = 1.0,
    level: PolicyLevel = 0.95,
) -> OffPolicy:
    r"""What the rankings of new runs would be worth, from clicks on the logged lists.

    .. math:: \text{IPS} = \frac1n \sum_q \sum_{d \in q} c_{qd}\, \frac{v(k'_{qd})}{\gamma(k_{qd})}, \qquad
        v(k') = \gamma(k') \text{ or } \frac{1}{\log_2(k' + 1)}

    A click on document d at position k happens if the position is examined, with probability γ(k), and the document
    attracts (the position-based click model). The new run puts the document at rank k'. `utility` is `clicks`, the
    expected clicks per query, or `dcg`, the expected DCG of attractive documents.

    examined: γ by position, such as from a fitted position-based model; positions below the last number are left out,
        and a note counts them. All numbers must be above 0.
    topics: {topic: text of the query}; default: the topics of the runs are the texts of the queries.
    depth: the ranks of the new and of the logged lists that count, at most as many as `examined` has.

    The direct estimate predicts the attractiveness of a document for a topic by clicks / expected examinations over the
    whole log, shrunk towards the overall mean by `shrink` examinations; DR corrects it by the weighted errors. Since a
    weight times γ is the worth of the new rank, DR is IPS plus the direct estimate of documents that were not shown. To
    IPS these give no evidence: a note says how large their share is. Clusters are users. SNIPS is not given: the
    weights follow from the lists and do not vary by chance. The effective sample size counts queries: that of the
    documents, (Σw)² / Σw², divided by the mean number of documents with a weight above 0 in queries that have some. It
    is the number of these queries if all weights are equal, and falls as some outweigh others.
    Reference: Joachims, Swaminathan & Schnabel, WSDM 2017, doi:10.1145/3018661.3018699
    """
    gamma = _examination(examined)
    if not runs:
        raise UsageError("off_policy_runs: no runs")
    engine = log.engine
    depth = min(depth, len(gamma))
    worth = gamma if utility == "clicks" else 1.0 / np.log2(np.arange(len(gamma)) + 2.0)
    pyarrow = need("pyarrow", "off_policy_runs")
    # the logged lists are worth what their first `depth` documents are worth, as the new ones
    counts = np.arange(len(gamma)) < depth
    positions = engine.read(
        pyarrow.table({"position": np.arange(1, len(gamma) + 1), "gamma": gamma, "logged_worth": worth * counts})
    )
    ranks = engine.read(pyarrow.table({"rank": np.arange(1, len(gamma) + 1), "worth": worth}))
    every_query = queries_by_topic(log, topics)
    estimates: list[Estimate] = []
    verdicts, notes = [], [method_note(f"{utility}: {UTILITIES[utility]}, down to rank {depth}")]
    notes += [method_note(f"{name}: {text}") for name, text in ESTIMATORS.items() if name != "SNIPS"]
    notes.append(method_note(f"{MODEL_ERROR}; the probabilities of examination are taken as known"))
    logged_on: list[Logged] = []
    users, sizes = 0, []
    for run in runs:
        new = engine.keep(run_table(log, run, depth).join(ranks, on="rank", how="left"))
        queries = engine.keep(every_query.join(new.select("topic").unique(), on="topic", how="inner"))
        if lost := log.engine.count(log.queries) - log.engine.count(queries):
            notes.append(f"{run.name}: {counted(lost, 'query', 'queries')} left out, for which it has no list")
        shown = shown_with_clicks(log, queries)
        deep = engine.row(
            shown.filter(nw.col("position") > len(gamma)).select(
                nw.len().alias("rows"), nw.col("clicked").sum().alias("clicks")
            )
        )
        shown = engine.keep(shown.join(positions, on="position", how="inner"))
        pairs, attraction = _attractiveness(engine, shown, shrink)
        if pairs is None:
            raise DataError(
                log.origin or "log",
                None,
                f"no query with a list of {run.name} was shown; are the topics those of the log?",
            )
        influences = _model_influences(engine, new, queries, pairs, shrink, attraction)
        weighed = (
            shown.join(new, on=["topic", "doc"], how="left")
            .join(pairs, on=["topic", "doc"], how="left")
            .join(influences.of_pairs, on=["topic", "doc"], how="left")
            .with_columns(*influences.of_rows())
        )
        each = _weights_each(engine, weighed)
        sums = engine.keep(_weighed(weighed, clip).group_by("user").agg(*(nw.col(name).sum() for name in SUMS)))
        predicted = (
            new.join(pairs, on=["topic", "doc"], how="left")
            .with_columns(nw.col("attractive").fill_null(attraction))
            .with_columns((nw.col("worth") * nw.col("attractive")).alias("direct"))
            .group_by("topic")
            .agg(nw.col("direct").sum(), nw.col("worth").sum().alias("possible"))
        )
        per_user = (
            queries.join(predicted, on="topic", how="left")
            .with_columns(nw.lit(1.0).alias("n"))
            .group_by("user")
            .agg(nw.col("n").sum(), nw.col("direct").sum(), nw.col("possible").sum())
            .join(sums, on="user", how="left")
            .with_columns(*(nw.col(name).fill_null(0.0) for name in SUMS))
            .with_columns((nw.col("direct") + nw.col("correction")).alias("corrected"))
            .with_columns(
                (nw.col("direct") + nw.col("direct_by_model")).alias("direct_influence"),
                (nw.col("corrected") + nw.col("corrected_by_model")).alias("corrected_influence"),
            )
        )
        columns = ["n", "direct", "possible", "corrected", "direct_influence", "corrected_influence", *SUMS]
        table = moments(per_user, columns)
        of_run = estimates_of(run.name, table, "reward", level, least_ess, PARTS, weights_each=each)
        estimates += of_run
        verdicts.append(verdict(run.name, of_run, least_ess, level))
        users, count = int(table.n[0]), round(float(table.n[0] * table.mean[0, table.column("n")]))
        sizes.append(f"{counted(users, 'user')}, {counted(count, 'query', 'queries')}")
        logged_on.append(Logged(run.name, *logged_value(table, "reward", level), count))
        met, possible = (float(table.mean[0, table.column(name)]) for name in ("met", "possible"))
        if possible > 0 and met < possible * (1 - 1e-9):
            notes.append(
                caution_note(
                    f"{run.name}: {1 - met / possible:.1%} of the weight of its ranks is on documents that were "
                    "not shown "
                    "for the query; IPS and clipped count them as never clicked"
                )
            )
        if deep["rows"]:
            notes.append(
                caution_note(
                    f"{run.name}: {counted(deep['rows'], 'document')} below position {len(gamma)} left out, with "
                    f"{counted(int(deep['clicks'] or 0), 'click')}: no examination is known there"
                )
            )
    notes += dict.fromkeys(f"{level:.0%} intervals by {size}; delta method, t" for size in sizes)
    return OffPolicy(
        tuple(estimates), tuple(logged_on), users, "user", level, clip, least_ess, tuple(verdicts),
        tuple(dict.fromkeys([*log.notes, *notes])),
    )  # fmt: skip


def _examination(examined: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    gamma = np.array(examined, dtype=np.float64)
    if gamma.ndim != 1 or not len(gamma):
        raise UsageError("off_policy_runs: examined is empty, must be probabilities by position, such as [1, 0.6, 0.4]")
    for position, chance in enumerate(gamma.tolist(), 1):
        if not 0 < chance <= 1:
            raise UsageError(
                f"off_policy_runs: position {position} is examined with probability {chance:g}, must be above 0 and at "
                "most 1; cut the list before a position that nobody examines"
            )
    return gamma


def _attractiveness(engine: Engine, shown: Any, shrink: float) -> tuple[Any, float]:
    """Clicks per examination of every topic and document, shrunk towards the overall mean, and that mean."""
    total = engine.row(shown.select(nw.col("clicked").sum(), nw.col("gamma").sum()))
    if not total["gamma"]:
        return None, 0.0
    mean = total["clicked"] / total["gamma"]
    pairs = (
        shown.group_by("topic", "doc")
        .agg(
            nw.col("clicked").sum().alias("_clicks"),
            nw.col("gamma").sum().alias("_seen"),
            nw.len().cast(nw.Float64).alias("_times"),
        )
        .with_columns(((nw.col("_clicks") + shrink * mean) / (nw.col("_seen") + shrink)).alias("attractive"))
        .select("topic", "doc", "attractive", "_seen", "_times")
    )
    return engine.keep(pairs), mean


@dataclass(frozen=True, eq=False)
class _Influences:
    """How a click changes the direct and the doubly robust estimate by way of the fitted attractiveness."""

    of_pairs: Any
    """By topic and document, the factors of a click less its expectation."""
    of_mean: Mapping[str, float]
    """The same factors for the mean attractiveness, towards which all are shrunk."""
    mean: float

    def of_rows(self) -> list[Any]:
        """The influence of every document shown."""
        error = nw.col("clicked") - nw.col("gamma") * nw.col("attractive")
        from_mean = nw.col("clicked") - nw.col("gamma") * self.mean
        return [
            (nw.col(f"_{name}").fill_null(0.0) * error + factor * from_mean).alias(name)
            for name, factor in self.of_mean.items()
        ]


def _model_influences(engine: Engine, new: Any, queries: Any, pairs: Any, shrink: float, mean: float) -> _Influences:
    """The derivatives of both estimates with respect to the clicks that the attractiveness is made of.

    The attractiveness â = (Σc + s·m) / (Σγ + s) of a document has the derivative (c − γâ) / (Σγ + s), and s / (Σγ + s)
    times that of the mean m = Σc / Σγ of all. The direct estimate contains â once for each query of the topic, the
    doubly robust one only for queries that did not show the document, each times the worth of the new rank.
    """
    asked = queries.group_by("topic").agg(nw.len().cast(nw.Float64).alias("_asked"))
    listed = (
        new.join(asked, on="topic", how="inner")
        .join(pairs, on=["topic", "doc"], how="left")
        .with_columns(nw.col("_seen").fill_null(0.0), nw.col("_times").fill_null(0.0))
    )
    size = nw.col("_seen") + shrink
    contained = {
        "direct_by_model": nw.col("worth") * nw.col("_asked"),
        "corrected_by_model": nw.col("worth") * (nw.col("_asked") - nw.col("_times")),
    }
    shown = listed.filter(nw.col("_seen") > 0)
    of_pairs = engine.keep(
        shown.select("topic", "doc", *((times / size).alias(f"_{name}") for name, times in contained.items()))
    )
    safe = nw.when(nw.col("_seen") > 0).then(size).otherwise(1.0)
    part = nw.when(nw.col("_seen") > 0).then(shrink / safe).otherwise(1.0)
    sums = engine.fetch(listed.select(*((times * part).sum().alias(name) for name, times in contained.items())))
    examined = float(engine.row(pairs.select(nw.col("_seen").sum()))["_seen"])
    row = sums.to_pylist()[0]
    return _Influences(of_pairs, {name: float(row[name]) / examined for name in contained}, mean)


def _weights_each(engine: Engine, shown: Any) -> float:
    """The mean number of documents with a weight above 0, over the queries that have such documents; at least 1."""
    of_query = shown.filter(nw.col("worth") > 0).group_by("query_id", "user").agg(nw.len().alias("documents"))
    row = engine.row(of_query.select(nw.col("documents").mean().alias("mean")))
    return float(row["mean"] or 1.0)


def _weighed(shown: Any, clip: float) -> Any:
    """The numbers of each document shown whose sums the estimators need; 0 if the new run does not retrieve it."""
    frame = shown.with_columns(nw.col("worth").fill_null(0.0)).with_columns(
        (nw.col("worth") / nw.col("gamma")).alias("weight")
    )
    frame = frame.with_columns(
        nw.when(nw.col("weight") > clip).then(nw.lit(clip)).otherwise(nw.col("weight")).alias("clipped")
    )
    weight, clipped, clicked = nw.col("weight"), nw.col("clipped"), nw.col("clicked")
    return frame.select(
        "user",
        "weight",
        (weight * weight).alias("square"),
        (weight * clicked).alias("weighted"),
        (clipped * clicked).alias("clipped_weighted"),
        # what is cut is worth at most a click whenever the position is examined
        (clipped * clicked + (weight - clipped) * nw.col("gamma")).alias("clipped_high"),
        (weight * (clicked - nw.col("gamma") * nw.col("attractive"))).alias("correction"),
        (clicked * nw.col("logged_worth") / nw.col("gamma")).alias("reward"),
        nw.col("worth").alias("met"),
        "direct_by_model",
        "corrected_by_model",
    )
