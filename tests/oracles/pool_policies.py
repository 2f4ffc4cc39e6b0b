"""Pooling policies, one topic at a time and as their papers put them: slow, with dicts and loops."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator

import numpy as np

Lists = dict[str, list[str]]
"""{run: documents, best first}."""
Judge = Callable[[str], bool]


def depth_order(lists: Lists) -> list[str]:
    """Rank 1 of every run, then rank 2, ..., each document once."""
    order: list[str] = []
    for rank in range(max(map(len, lists.values()))):
        for documents in lists.values():
            if rank < len(documents) and documents[rank] not in order:
                order.append(documents[rank])
    return order


def by_weight(lists: Lists, weight: Callable[[int], float]) -> list[str]:
    """Documents by the sum of a weight of their ranks; ties in the order of the depth pool."""
    total = dict.fromkeys(depth_order(lists), 0.0)
    for documents in lists.values():
        for rank, doc in enumerate(documents, 1):
            total[doc] += weight(rank)
    return sorted(total, key=lambda doc: -round(total[doc], 10))  # sorted() is stable


def generator(topic: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(topic.encode())])


def bandit(lists: Lists, judge: Judge, method: str, topic: str, seed: int, **options: float) -> Iterator[str]:
    """Choose a run, take its first unjudged document, count the judgment for every run that has it."""
    rng = generator(topic, seed)
    names = list(lists)
    runs = [names[number] for number in rng.permutation(len(names))]  # ties are broken in this order
    judged: dict[str, bool] = {}
    history: dict[str, list[bool]] = {run: [] for run in runs}
    while True:
        drawn = _draws(rng, method, runs, history)
        live = [run for run in runs if any(doc not in judged for doc in lists[run])]
        if not live:
            return
        scores = {run: _score(method, run, history[run], drawn, len(judged), runs, lists, options) for run in runs}
        best = max(scores[run] for run in live)
        run = next(run for run in live if scores[run] == best)
        doc = next(doc for doc in lists[run] if doc not in judged)
        judged[doc] = judge(doc)
        for other in runs:
            if doc in lists[other]:
                history[other].append(judged[doc])
        yield doc


def _draws(rng: np.random.Generator, method: str, runs: list[str], history: dict[str, list[bool]]) -> list[float]:
    if method == "random":
        return list(rng.random(len(runs)))
    if method == "epsilon-greedy":
        return list(rng.random(len(runs) + 1))
    if method == "thompson":
        good = np.array([sum(history[run]) for run in runs])
        bad = np.array([len(history[run]) - sum(history[run]) for run in runs])
        return list(rng.beta(good + 1.0, bad + 1.0))
    return []


def _score(
    method: str,
    run: str,
    history: list[bool],
    drawn: list[float],
    judgments: int,
    runs: list[str],
    lists: Lists,
    options: dict[str, float],
) -> float:
    seen, found = len(history), sum(history)
    place = runs.index(run)
    if method in ("random", "thompson"):
        return drawn[place]
    if method == "max-mean":
        return (found + 1) / (seen + 2)
    if method == "mm-ns":
        rate, ret, rel = options["rate"], 0.0, 0.0
        for relevant in history:
            ret, rel = rate * ret + 1, rate * rel + relevant
        return (rel + 1) / (ret + 2)
    if method == "epsilon-greedy":
        arms = sum(bool(documents) for documents in lists.values())
        epsilon = min(1.0, options["c"] * arms / (options["d"] ** 2 * (judgments + 1)))
        return drawn[1 + place] if drawn[0] < epsilon else (found / seen if seen else 0.0)
    assert method == "ucb"
    if seen == 0:
        return math.inf
    mean = found / seen
    variance = mean - mean**2 + math.sqrt(2 * math.log(judgments) / seen)
    return mean + math.sqrt(math.log(judgments) / seen * min(0.25, variance))


def move_to_front(lists: Lists, judge: Judge, topic: str, seed: int) -> Iterator[str]:
    """Take documents of a run until one is not relevant; then lower its priority, and go to the highest."""
    names = list(lists)
    runs = [names[number] for number in generator(topic, seed).permutation(len(names))]
    priority = dict.fromkeys(runs, 0)
    judged: set[str] = set()

    def rest(run: str) -> list[str]:
        return [doc for doc in lists[run] if doc not in judged]

    while any(map(rest, runs)):
        run = max((run for run in runs if rest(run)), key=lambda one: priority[one])
        while rest(run):
            doc = rest(run)[0]
            judged.add(doc)
            relevant = judge(doc)
            yield doc
            if not relevant:
                priority[run] -= 1
                break


def hedge(lists: Lists, judge: Judge, beta: float) -> Iterator[str]:
    """Weights β^loss; the document with the highest weighted loss comes next, if it were not relevant."""
    order = depth_order(lists)
    longest = max(map(len, lists.values()))
    loss = dict.fromkeys(lists, 0.0)

    def cost(run: str, doc: str) -> float:
        return 0.5 * math.log(longest / (lists[run].index(doc) + 1)) if doc in lists[run] else 0.0

    left = list(order)
    while left:
        weight = {run: beta ** loss[run] for run in lists}
        total = sum(weight.values())
        mixture = {doc: sum(weight[run] / total * cost(run, doc) for run in lists) for doc in left}
        best = max(round(value, 10) for value in mixture.values())
        doc = next(doc for doc in left if round(mixture[doc], 10) == best)
        left.remove(doc)
        relevant = judge(doc)
        for run in lists:
            loss[run] += -cost(run, doc) if relevant else cost(run, doc)
        yield doc


def average_precision_prior(lists: Lists) -> dict[str, float]:
    """The prior of Aslam and Pavlu: the mean over runs of (1 + 1/r + ... + 1/s) / (2s)."""
    prior = dict.fromkeys(depth_order(lists), 0.0)
    for documents in lists.values():
        size = len(documents)
        for rank, doc in enumerate(documents, 1):
            prior[doc] += (1 + sum(1 / i for i in range(rank, size + 1))) / (2 * size) / len(lists)
    return prior
