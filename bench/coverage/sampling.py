"""Sampled and incomplete judgments: estimates of average precision, and scores of runs that were not pooled."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import lru_cache, partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers

import cranfield as cf
from cranfield.building.pools.pool_building import make_pool
from cranfield.building.pools.pool_samples import Stratum, join_pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.comparison import mean_interval

Array = np.ndarray

DOCUMENTS = 200
KINDS = {"good runs": (0.95, 100.0, 25.0), "usual runs": (0.5, 60.0, 50.0), "poor runs": (0.3, 60.0, 90.0)}
"""Relevance falls from the first number by the second; a run is off the best order by the third."""
MEASURES = ("xinfAP", "statAP")


def cases() -> list[Case]:
    designs = {
        "a tenth of the pool": ("uniform", 20),
        "a fifth of the pool": ("uniform", 40),
        "strata": ("stratified", 40),
        "weighted samples": ("sample", 40),
    }
    return [
        Case(f"interval of mean {measure}", f"{kind}, {design}", "25 topics",
             partial(estimate, measure, kind, method, size), trials=120,
             small=40 if (measure, kind, method) == ("xinfAP", "poor runs", "stratified") else 0)
        for kind in KINDS
        for design, (method, size) in designs.items()
        for measure in MEASURES
    ]  # fmt: skip


def drawn_topics(kind: str, topics: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Topics × documents: relevance, and the scores of a run."""
    base, decay, noise = KINDS[kind]
    place = np.arange(DOCUMENTS)
    relevant = rng.random((topics, DOCUMENTS)) < base * np.exp(-place / decay)
    return relevant, -place + rng.normal(0, noise, (topics, DOCUMENTS))


@lru_cache(maxsize=8)
def true_mean(kind: str) -> float:
    """The mean of average precision over very many topics."""
    relevant, scores = drawn_topics(kind, 20_000, np.random.default_rng(1))
    ordered = np.take_along_axis(relevant, np.argsort(-scores, axis=1), axis=1)
    found = np.cumsum(ordered, axis=1)
    precision = found / np.arange(1, DOCUMENTS + 1)
    each = (precision * ordered).sum(axis=1) / np.maximum(found[:, -1], 1)
    return float(each[found[:, -1] > 0].mean())


def estimate(measure: str, kind: str, method: str, size: int, rng: np.random.Generator) -> Iterable[Outcome]:
    relevant, scores = drawn_topics(kind, 25, rng)
    qrels = {str(t): {f"d{d}": int(grade) for d, grade in enumerate(row)} for t, row in enumerate(relevant.tolist())}
    run = {str(t): {f"d{d}": score for d, score in enumerate(row)} for t, row in enumerate(scores.tolist())}
    by_place = {str(t): {f"d{d}": -float(d) for d in range(DOCUMENTS)} for t in range(25)}
    lists = PooledLists.of({"pooled": by_place}, depth=DOCUMENTS)
    seed = int(rng.integers(2**31))
    if method == "uniform":
        pool = make_pool(lists, "stratified", strata=[Stratum(DOCUMENTS, size / DOCUMENTS)], seed=seed)
    else:
        pool = make_pool(lists, method, most_per_topic=size, seed=seed)
    sample = join_pool(pool, qrels).qrels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of topics without a relevant document in the sample
        found = cf.evaluate(sample, {"run": run}, [measure])
    said = any("too few for estimates" in note for note in found.notes)
    values = found.values[0, 0]
    interval = mean_interval(values[~np.isnan(values)], measure=measure).interval
    yield covers(true_mean(kind), interval.low, interval.high, said)
