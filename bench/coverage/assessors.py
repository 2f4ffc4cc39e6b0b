"""Agreement, assessors, merged labels."""

from __future__ import annotations

from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers

from cranfield.building.agreement import agreement
from cranfield.building.merging.worker_report import rate_workers

Rng = np.random.Generator
Array = np.ndarray


def cases() -> list[Case]:
    return agreements() + flags()


# -- agreement


COEFFICIENTS = ("percent", "cohen", "fleiss", "ac1", "alpha")


def agreements() -> list[Case]:
    made = []
    for assessors in (2, 4):
        for prevalence, accuracy in ((0.5, 0.85), (0.3, 0.7), (0.1, 0.85), (0.05, 0.98)):
            for items in (10, 20, 50):
                data = f"{assessors} assessors, {100 * prevalence:g} % relevant, accuracy {accuracy:g}"
                trial = partial(agreed, assessors, prevalence, accuracy, items)
                small = 60 if (assessors, items) == (2, 20) and prevalence < 0.3 else 0
                made.append(Case("agree", data, f"{items} items", trial, trials=400, small=small))
    return made


def agreed(assessors: int, prevalence: float, accuracy: float, items: int, rng: Rng) -> list[Outcome]:
    """Each coefficient is an outcome."""
    truth = rng.random(items) < prevalence
    given = truth[:, None] ^ (rng.random((items, assessors)) >= accuracy)
    rows = [(f"t{i}", f"w{a}", int(given[i, a])) for i in range(items) for a in range(assessors)]
    # fewer weightings make ends rougher, not narrower
    found = agreement(rows, COEFFICIENTS, resamples=300)
    right = true_agreement(prevalence, accuracy)
    return [covers(right[name], found.low[i], found.high[i]) for i, name in enumerate(found.names)]


def true_agreement(prevalence: float, accuracy: float) -> dict[str, float]:
    """Assessors are alike, so the coefficients with chance agreement from shares of labels are equal."""
    seen = accuracy**2 + (1 - accuracy) ** 2
    share = prevalence * accuracy + (1 - prevalence) * (1 - accuracy)
    chance, gwet = share**2 + (1 - share) ** 2, 2 * share * (1 - share)
    kappa = (seen - chance) / (1 - chance)
    return {"percent": seen, "ac1": (seen - gwet) / (1 - gwet)} | dict.fromkeys(("cohen", "fleiss", "alpha"), kappa)


# -- spam?


def flags() -> list[Case]:
    made = []
    for labels in (20, 50, 200):
        for prevalence in (0.1, 0.3, 0.5):
            for basis in ("gold", "others"):
                data = f"honest assessors, accuracy .85, {100 * prevalence:g} % relevant, against {basis}"
                trial = partial(honest, labels, prevalence, basis == "gold")
                small = 20 if (labels, prevalence) == (20, 0.1) else 0
                made.append(Case("workers, spam?", data, f"{labels} labels each", trial, trials=100, small=small))
    for kind in ("random", "one label"):
        for prevalence in (0.1, 0.5):
            data = f"spammers ({kind}), {100 * prevalence:g} % relevant, against others"
            trial = partial(spammers, kind, prevalence)
            made.append(Case("workers, spammers are flagged", data, "400 labels each", trial, wrong=0.2, trials=100))
    return made


def crowd(rng: Rng, labels: int, prevalence: float, spam: str) -> tuple[list[tuple[str, str, int]], dict[str, int]]:
    """Ten assessors, five labels for each item; the first two are spammers if there are any."""
    items = 2 * labels
    truth = (rng.random(items) < prevalence).astype(int)
    rows = []
    for item in range(items):
        for worker in rng.permutation(10)[:5]:
            label = truth[item] if rng.random() < 0.85 else 1 - truth[item]
            if spam and worker < 2:
                label = rng.integers(2) if spam == "random" else 0
            rows.append((f"t{item}", f"w{worker}", int(label)))
    return rows, {f"t{item}": int(truth[item]) for item in range(items)}


def honest(labels: int, prevalence: float, known: bool, rng: Rng) -> list[Outcome]:
    """An honest assessor who is flagged is an error."""
    rows, gold = crowd(rng, labels, prevalence, "")
    report = rate_workers(rows, gold=gold if known else None, method="majority")  # the flag needs no merged labels
    return [Outcome(flag != "spam?") for flag in report.flag]


def spammers(kind: str, prevalence: float, rng: Rng) -> list[Outcome]:
    """A spammer who is not flagged is an error."""
    rows, _ = crowd(rng, 400, prevalence, kind)
    report = rate_workers(rows, method="majority")
    return [Outcome(report.flag[report.workers.index(name)] == "spam?") for name in ("w0", "w1")]
