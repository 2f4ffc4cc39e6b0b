"""Merging models of labels, written slowly and literally from their formulas.

Labels are triples (item, worker, label) of whole numbers from 0. Posteriors are lists of lists, items × classes. A
model with parameters that have no closed form maximises the expected log-likelihood with scipy's general optimiser.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma
from scipy.stats import norm

Triples = Sequence[tuple[int, int, int]]
Posterior = list[list[float]]


def shares(labels: Triples, items: int, classes: int) -> Posterior:
    """The share of votes of every label."""
    votes = [[0.0] * classes for _ in range(items)]
    for i, _, y in labels:
        votes[i][y] += 1
    return [[count / sum(row) for count in row] for row in votes]


def e_step(
    labels: Triples, items: int, prior: Sequence[float], chance: Callable[[int, int, int, int], float]
) -> Posterior:
    """Bayes' rule for every item; chance(position in labels, worker, true, given) is the probability of a label."""
    posterior = [list(map(float, prior)) for _ in range(items)]
    for at, (i, w, y) in enumerate(labels):
        for k in range(len(prior)):
            posterior[i][k] *= chance(at, w, k, y)
    return [[value / sum(row) for value in row] for row in posterior]


def class_shares(posterior: Posterior, counts: float = 0.0) -> list[float]:
    sums = [sum(row[k] for row in posterior) + counts for k in range(len(posterior[0]))]
    return [value / sum(sums) for value in sums]


def fix(posterior: Posterior, gold: dict[int, int]) -> Posterior:
    """Gold items get their gold label with probability 1."""
    return [[float(gold[i] == k) for k in range(len(row))] if i in gold else row for i, row in enumerate(posterior)]


def dawid_skene(
    labels: Triples, items: int, workers: int, classes: int, steps: int, *,
    prior: tuple[float, float] = (0.0, 0.0), class_counts: float = 0.0, gold: dict[int, int] | None = None,
) -> Posterior:  # fmt: skip
    """Equations 2.3 to 2.5 of Dawid and Skene 1979, with imaginary labels and gold."""
    gold = gold or {}
    posterior = fix(shares(labels, items, classes), gold)
    for _ in range(steps):
        table = [[[prior[k != y] for y in range(classes)] for k in range(classes)] for _ in range(workers)]
        for i, w, y in labels:
            for k in range(classes):
                table[w][k][y] += posterior[i][k]
        for rows in table:
            for row in rows:
                total = sum(row)
                row[:] = [value / total if total else 1 / classes for value in row]
        p = class_shares(posterior, class_counts)
        posterior = fix(e_step(labels, items, p, lambda at, w, k, y, table=table: table[w][k][y]), gold)  # type: ignore[misc]
    return posterior


def one_coin(labels: Triples, items: int, workers: int, classes: int, steps: int) -> Posterior:
    posterior = shares(labels, items, classes)
    for _ in range(steps):
        right, count = [0.0] * workers, [0] * workers
        for i, w, y in labels:
            right[w] += posterior[i][y]
            count[w] += 1
        accuracy = [a / n for a, n in zip(right, count, strict=True)]

        def chance(at: int, w: int, k: int, y: int, accuracy: list[float] = accuracy) -> float:
            return accuracy[w] if k == y else (1 - accuracy[w]) / (classes - 1)

        posterior = e_step(labels, items, class_shares(posterior), chance)
    return posterior


def mace(labels: Triples, items: int, workers: int, classes: int, steps: int, variational: bool) -> Posterior:
    """Hovy et al. 2013, from knowing = ½ and uniform habits; the indicator of guessing is summed out label by label."""
    knowing, guessing = [0.5] * workers, [0.5] * workers
    habit = [[1 / classes] * classes for _ in range(workers)]

    def chance(at: int, w: int, k: int, y: int) -> float:
        return guessing[w] * habit[w][y] + (knowing[w] if k == y else 0.0)

    def scaled(values: list[float]) -> list[float]:
        total = sum(values)
        if variational:
            return [math.exp(digamma(value) - digamma(total)) for value in values]
        return [value / total for value in values]

    uniform = [1 / classes] * classes
    posterior = e_step(labels, items, uniform, chance)
    small = 0.01 / classes
    for _ in range(steps):
        knew = [0.5 if variational else small] * workers
        guessed = [0.5 if variational else small] * workers
        counts = [[10.0 if variational else small] * classes for _ in range(workers)]
        for i, w, y in labels:
            known = posterior[i][y] * knowing[w] / (knowing[w] + guessing[w] * habit[w][y])
            knew[w] += known
            guessed[w] += 1 - known
            counts[w][y] += 1 - known
        for w in range(workers):
            knowing[w], guessing[w] = scaled([knew[w], guessed[w]])
            habit[w] = scaled(counts[w])
        posterior = e_step(labels, items, uniform, chance)
    return posterior


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def glad(labels: Triples, items: int, workers: int, classes: int, steps: int) -> Posterior:
    """Whitehill et al. 2009 with uniform classes; every M-step is a search for the optimum."""
    point = np.ones(workers + items)

    def chances(point: np.ndarray, w: int, i: int) -> float:
        return _sigmoid(point[w] * math.exp(point[workers + i]))

    def posterior_of(point: np.ndarray) -> Posterior:
        def chance(at: int, w: int, k: int, y: int) -> float:
            right = chances(point, w, labels[at][0])
            return right if k == y else (1 - right) / (classes - 1)

        return e_step(labels, items, [1 / classes] * classes, chance)

    posterior = posterior_of(point)
    for _ in range(steps):

        def loss(point: np.ndarray, posterior: Posterior = posterior) -> float:
            value = 0.5 * float(((point - 1) ** 2).sum())
            for i, w, y in labels:
                right = chances(point, w, i)
                value -= posterior[i][y] * math.log(right)
                value -= (1 - posterior[i][y]) * math.log((1 - right) / (classes - 1))
            return value

        point = minimize(loss, point, method="BFGS", options={"gtol": 1e-6}).x
        posterior = posterior_of(point)
    return posterior


def ordinal(labels: Triples, items: int, workers: int, classes: int, steps: int) -> Posterior:
    """A bias and a noise for each assessor, with a slip of 0.01; every M-step is a search for the optimum."""
    values = np.zeros((workers, 2))

    def chance_of(bias: float, log_noise: float, k: int, y: int) -> float:
        noise = math.exp(log_noise)
        upper = norm.cdf((y + 0.5 - k - bias) / noise) if y < classes - 1 else 1.0
        lower = norm.cdf((y - 0.5 - k - bias) / noise) if y > 0 else 0.0
        return 0.99 * float(upper - lower) + 0.01 / classes

    posterior = shares(labels, items, classes)
    for _ in range(steps):
        for worker in range(workers):

            def loss(point: np.ndarray, worker: int = worker, posterior: Posterior = posterior) -> float:
                value = 0.5 * float((point**2).sum())
                for i, w, y in labels:
                    if w == worker:
                        for k in range(classes):
                            value -= posterior[i][k] * math.log(chance_of(point[0], point[1], k, y))
                return value

            values[worker] = minimize(loss, values[worker], method="BFGS", options={"gtol": 1e-6}).x

        def chance(at: int, w: int, k: int, y: int) -> float:
            return chance_of(values[w][0], values[w][1], k, y)

        posterior = e_step(labels, items, class_shares(posterior), chance)
    return posterior


def gp(labels: Triples, items: int, workers: int, classes: int, steps: int, window: int, length: float) -> Posterior:
    """Log-odds per window under a Gaussian process; every M-step is a search for the optimum."""
    seen = [0] * workers
    windows = []
    for _, w, _ in labels:
        windows.append(seen[w] // window)
        seen[w] += 1
    sizes = [math.ceil(n / window) for n in seen]
    middle = math.log(0.7 / 0.3)
    odds = [np.full(size, middle) for size in sizes]
    precision = []
    for size in sizes:
        kernel = np.empty((size, size))
        for a in range(size):
            for b in range(size):
                kernel[a, b] = 1.5**2 + math.exp(-((a - b) ** 2) / (2 * length**2)) + (1e-4 if a == b else 0)
        precision.append(np.linalg.inv(kernel))
    posterior = shares(labels, items, classes)
    for _ in range(steps):
        for worker in range(workers):

            def loss(point: np.ndarray, worker: int = worker, posterior: Posterior = posterior) -> float:
                value = 0.5 * float((point - middle) @ precision[worker] @ (point - middle))
                for at, (i, w, y) in enumerate(labels):
                    if w == worker:
                        right = _sigmoid(point[windows[at]])
                        value -= posterior[i][y] * math.log(right) + (1 - posterior[i][y]) * math.log(1 - right)
                return value

            odds[worker] = minimize(loss, odds[worker], method="BFGS", options={"gtol": 1e-6}).x

        def chance(at: int, w: int, k: int, y: int, odds: list[np.ndarray] = odds) -> float:
            right = _sigmoid(odds[w][windows[at]])
            return right if k == y else (1 - right) / (classes - 1)

        posterior = e_step(labels, items, class_shares(posterior), chance)
    return posterior
