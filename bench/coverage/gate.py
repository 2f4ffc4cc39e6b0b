"""The gate, and tests of equivalence: a candidate that is worse by exactly the margin must not pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome
from bench.coverage.generators import Array

from cranfield import comparison
from cranfield.comparison.gate import gate_scores
from cranfield.comparison.gate.gate import Conditions
from cranfield.scores.scores import Scores

MARGIN = 0.01
Loss = Callable[[np.random.Generator, int], np.ndarray]
"""Differences with mean −MARGIN."""


def rare(share: float) -> Loss:
    """The same loss on a share of the topics."""
    return lambda rng, n: np.where(rng.random(n) < share, -MARGIN / share, 0.0)


def uneven(share: float) -> Loss:
    """Exponential losses on a share of the topics."""
    return lambda rng, n: np.where(rng.random(n) < share, -rng.exponential(MARGIN / share, n), 0.0)


def mixed(share: float) -> Loss:
    """Gains and larger losses on a share of the topics."""
    return lambda rng, n: np.where(rng.random(n) < share, rng.choice([-0.3, 0.3], n) - MARGIN / share, 0.0)


LOSSES: dict[str, Loss] = {
    "2 % of topics lose .5": rare(0.02),
    "4 % of topics lose .25": rare(0.04),
    "20 % of topics lose .05": rare(0.2),
    "skewed losses of 30 %": uneven(0.3),
    "gains and losses of 30 %": mixed(0.3),
    "normal": lambda rng, n: rng.normal(-MARGIN, 0.1, n),
}


BASE = (0.1, 0.8)
"""Scores of the baseline are between 0.1 and 0.9, and their mean is 0.34."""


def alike(rng: np.random.Generator, base: Array) -> Array:
    return base - 0.034 + rng.normal(0, 0.001, len(base))


SHARES: dict[str, Callable[[np.random.Generator, Array], Array]] = {
    "each topic loses 10 %": lambda rng, base: base * (0.9 + rng.normal(0, 1e-6, len(base))),
    "losses vary": lambda rng, base: base * (0.9 + rng.uniform(-0.1, 0.1, len(base))),
    "each topic loses as much": alike,
}
"""Candidates that are worse by a tenth of the mean of the baseline."""


def cases() -> list[Case]:
    small = {("4 % of topics lose .25", 25), ("2 % of topics lose .5", 50)}
    gates = [
        Case("gate, worse by the margin", name, f"{topics} topics", partial(passes, loss, topics),
             trials=400, small=150 if (name, topics) in small else 0)
        for name, loss in LOSSES.items()
        for topics in (10, 25, 50, 100)
    ]  # fmt: skip
    shares = [
        Case("gate, margin 10 %, worse by it", name, f"{topics} topics", partial(relative, candidate, topics),
             trials=400, small=150 if (candidate, topics) == (alike, 25) else 0)
        for name, candidate in SHARES.items()
        for topics in (25, 50)
    ]  # fmt: skip
    equivalence = [
        Case("tost, different by the margin", name, f"{topics} topics", partial(equal, LOSSES[name], topics),
             trials=200, small=40 if (name, topics) == ("4 % of topics lose .25", 25) else 0)
        for name in ("4 % of topics lose .25", "20 % of topics lose .05", "skewed losses of 30 %", "normal")
        for topics in (10, 25, 50, 100)
    ]  # fmt: skip
    return gates + shares + equivalence


def _scores(values: np.ndarray, run: str) -> Scores:
    return Scores.from_matrix(values[:, None], runs=[run], measure="AP")


def passes(loss: Loss, topics: int, rng: np.random.Generator) -> Outcome:
    """The baseline is in the middle of the range, so that every loss is possible."""
    base = rng.uniform(0.5, 0.6, topics)
    candidate = np.clip(base + loss(rng, topics), 0, 1)
    return Outcome(not gate_scores(_scores(candidate, "new"), _scores(base, "prod"), Conditions(margin=MARGIN)).passed)


def relative(
    candidate: Callable[[np.random.Generator, Array], Array], topics: int, rng: np.random.Generator
) -> Outcome:
    base = BASE[0] + BASE[1] * rng.beta(1.2, 2.8, topics)
    new = candidate(rng, base)
    return Outcome(not gate_scores(_scores(new, "new"), _scores(base, "prod"), Conditions(margin="10%")).passed)


def equal(loss: Loss, topics: int, rng: np.random.Generator) -> Outcome:
    base = rng.uniform(0.5, 0.6, topics)
    found = comparison.tost(np.clip(base + loss(rng, topics), 0, 1), base, margin=MARGIN, measure="AP")
    return Outcome(found.p > 0.05)
