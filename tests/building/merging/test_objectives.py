"""The value that the steps of each model raise, computed again from its parameters."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from cranfield.building.merging import merge
from cranfield.building.merging.label_problem import MergeSettings, problem_of
from cranfield.building.merging.models.mace import Habit
from tests.building.merging.simulated import Simulated, simulated
from tests.oracles.merging import class_shares

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*worse than the majority vote")

RIGHT, WRONG, ITEMS = 2.0, 0.5, 0.3
PRIORS: dict[str, Any] = {"assessor_prior": (RIGHT, WRONG), "class_counts": ITEMS, "tolerance": 0.0}


def log_likelihood(data: Simulated, shares: list[float], chance: Any) -> float:
    """The sum over items of the logarithm of the probability of their labels."""
    items, _, classes = data.sizes
    total = 0.0
    for item in range(items):
        mine = [(w, y) for i, w, y in data.triples if i == item]
        total += math.log(sum(shares[k] * math.prod(chance(w, k, y) for w, y in mine) for k in range(classes)))
    return total


def test_the_objective_of_dawid_skene() -> None:
    """After five steps, the parameters are those of the probabilities after four."""
    data = simulated()
    _, workers, classes = data.sizes
    before = merge(data.labels, "dawid-skene", steps=4, **PRIORS).posterior.tolist()
    table = [[[RIGHT if k == y else WRONG for y in range(classes)] for k in range(classes)] for _ in range(workers)]
    for i, w, y in data.triples:
        for k in range(classes):
            table[w][k][y] += before[i][k]
    table = [[[cell / sum(row) for cell in row] for row in rows] for rows in table]
    shares = class_shares(before, ITEMS)
    merged = merge(data.labels, "dawid-skene", steps=5, **PRIORS)
    likelihood = log_likelihood(data, shares, lambda w, k, y: table[w][k][y])
    prior = ITEMS * sum(map(math.log, shares))
    prior += sum(
        (RIGHT if k == y else WRONG) * math.log(table[w][k][y])
        for w in range(workers) for k in range(classes) for y in range(classes)
    )  # fmt: skip
    assert merged.log_likelihood == pytest.approx(likelihood)
    assert merged.trace[-1] == pytest.approx(likelihood + prior)


def test_the_objective_of_one_coin() -> None:
    data = simulated()
    merged = merge(data.labels, "one-coin", steps=5, **PRIORS)
    accuracy, shares = merged.worker_values["accuracy"].tolist(), merged.class_probabilities
    assert shares is not None
    likelihood = log_likelihood(data, shares.tolist(), lambda w, k, y: accuracy[w] if k == y else (1 - accuracy[w]) / 2)
    prior = ITEMS * float(np.log(shares).sum())
    prior += sum(RIGHT * math.log(a) + WRONG * math.log(1 - a) for a in accuracy)
    assert merged.trace[-1] == pytest.approx(likelihood + prior)


def test_the_objective_of_glad() -> None:
    """Normal priors with mean 1 and variance 1 on abilities, and on the logarithm of easiness."""
    merged = merge(simulated().labels, "glad", steps=5, tolerance=0.0)
    ability, log_ease = merged.worker_values["ability"], -np.log(merged.item_values["difficulty"])
    prior = -0.5 * float(((ability - 1) ** 2).sum() + ((log_ease - 1) ** 2).sum())
    assert merged.trace[-1] - merged.log_likelihood == pytest.approx(prior)


def test_the_objective_of_the_ordinal_model() -> None:
    """Standard normal priors on biases and on the logarithm of noises."""
    merged = merge(simulated().labels, "ordinal", steps=5, tolerance=0.0)
    bias, noise = merged.worker_values["bias"], merged.worker_values["noise"]
    prior = -0.5 * float((bias**2).sum() + (np.log(noise) ** 2).sum())
    assert merged.trace[-1] - merged.log_likelihood == pytest.approx(prior)


def test_the_bound_of_mace_has_the_divergence_from_the_priors() -> None:
    """With two labels, a Dirichlet distribution is a beta distribution, whose divergence can be integrated."""
    data = simulated(classes=2, workers=4)
    problem, _ = problem_of(data.labels, settings=MergeSettings(inference="vb"))
    model = Habit(problem)
    model.update(problem.shares)
    assert model._bound is not None
    knowing, guessing, habit = model._bound

    def divergence(a: float, b: float, prior: float) -> float:
        q, p = beta(a, b), beta(prior, prior)
        return float(quad(lambda x: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), 1e-12, 1 - 1e-12, limit=200)[0])

    total = sum(divergence(a, b, 0.5) for a, b in zip(knowing, guessing, strict=True))
    total += sum(divergence(a, b, 10.0) for a, b in habit)
    assert model.penalty() == pytest.approx(-total, rel=1e-6)
