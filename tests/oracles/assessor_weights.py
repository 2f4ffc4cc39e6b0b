"""AWARE, written slowly and literally: scores by pytrec_eval, weights by loops over scores."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytrec_eval
from scipy import stats

Judgments = Mapping[str, Mapping[str, int]]
Runs = Mapping[str, Mapping[str, Mapping[str, float]]]


def average_precision(qrels: Judgments, runs: Runs) -> dict[tuple[str, str], float]:
    """{(run, topic): AP} on the topics with a relevant document."""
    useful = {topic: dict(grades) for topic, grades in qrels.items() if any(grade >= 1 for grade in grades.values())}
    scores = {}
    for name, run in runs.items():
        found = pytrec_eval.RelevanceEvaluator(useful, {"map"}).evaluate({t: dict(docs) for t, docs in run.items()})
        scores |= {(name, topic): values["map"] for topic, values in found.items()}
    return scores


def averaged(per_assessor: Sequence[Mapping[Any, float]], weights: Sequence[float]) -> dict[Any, float]:
    """The weighted mean of each score over the assessors who have it."""
    out = {}
    for key in {key for scores in per_assessor for key in scores}:
        own = [(weight, scores[key]) for weight, scores in zip(weights, per_assessor, strict=True) if key in scores]
        out[key] = sum(weight * value for weight, value in own) / sum(weight for weight, _ in own)
    return out


def slow_frobenius(first: Any, second: Any) -> float:
    squares = [(a - b) ** 2 for a, b in zip(np.ravel(first), np.ravel(second), strict=True) if a == a and b == b]
    return math.sqrt(sum(squares) / len(squares))


def slow_means(scores: Any, others: Any) -> list[float]:
    columns = [t for t in range(len(scores[0])) if all(row[t] == row[t] for part in (scores, others) for row in part)]
    return [sum(row[t] for t in columns) / len(columns) for row in scores]


def slow_rmse(first: Any, second: Any) -> float:
    a, b = slow_means(first, second), slow_means(second, first)
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / len(a))


def slow_kl(first: Any, second: Any) -> float:
    a = [value for value in np.ravel(first) if value == value]
    b = [value for value in np.ravel(second) if value == value]
    low, high = min(a + b), max(a + b)

    def shares(values: list[float]) -> list[float]:
        counts = [0.5] * 20
        for value in values:
            counts[min(19, int((value - low) / (high - low) * 20))] += 1
        return [count / sum(counts) for count in counts]

    return sum(p * math.log(p / q) for p, q in zip(shares(a), shares(b), strict=True))


def slow_tau(first: Any, second: Any) -> float:
    return 1 - float(stats.kendalltau(slow_means(first, second), slow_means(second, first)).statistic)


def slow_tau_ap(first: Any, second: Any) -> float:
    """Without ties: the mean of both AP correlations (Yilmaz, Aslam & Robertson 2008)."""

    def one_way(gold: list[float], other: list[float]) -> float:
        order = sorted(range(len(other)), key=lambda i: -other[i])
        total = 0.0
        for place in range(1, len(order)):
            above = order[:place]
            total += sum(gold[i] > gold[order[place]] for i in above) / place
        return 2 * total / (len(order) - 1) - 1

    a, b = slow_means(first, second), slow_means(second, first)
    return 1 - (one_way(a, b) + one_way(b, a)) / 2
