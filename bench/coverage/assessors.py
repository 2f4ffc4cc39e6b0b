"""Agreement, assessors, merged labels."""

from __future__ import annotations

import warnings
from functools import cache, partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from scipy.stats import binom

from cranfield.building.agreement import agreement
from cranfield.building.effect import merge_effect
from cranfield.building.merging import merge
from cranfield.building.merging.assessor_report import rate_assessors

Rng = np.random.Generator
Array = np.ndarray


def cases() -> list[Case]:
    return agreements() + flags() + effects() + cautions()


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
    report = rate_assessors(rows, gold=gold if known else None, method="majority")  # the flag needs no merged labels
    return [Outcome(flag != "spam?") for flag in report.flag]


def spammers(kind: str, prevalence: float, rng: Rng) -> list[Outcome]:
    """A spammer who is not flagged is an error."""
    rows, _ = crowd(rng, 400, prevalence, kind)
    report = rate_assessors(rows, method="majority")
    return [Outcome(report.flag[report.workers.index(name)] == "spam?") for name in ("w0", "w1")]


# -- the effect of merging

METHODS = ("majority", "aware")
TOPICS, DOCS = 6, 12


def effects() -> list[Case]:
    made = []
    for assessors in (3, 5, 9):
        for data, spread in (("assessors who are alike", 0.0), ("assessors who differ", 0.25)):
            trial = partial(effect, assessors, spread)
            made.append(Case("merge-effect, means", data, f"{assessors} assessors", trial, trials=60))
    return made


@cache
def collection() -> tuple[Array, dict[str, dict[str, dict[str, float]]]]:
    """True relevance (topics × documents), and three runs that rank by it with more and more noise."""
    rng = np.random.default_rng(1)
    truth = rng.random((TOPICS, DOCS)) < 0.4
    runs = {}
    for name, noise in (("a", 0.3), ("b", 0.8), ("c", 2.0)):
        score = truth + rng.normal(0, noise, truth.shape)
        runs[name] = {f"q{t}": {f"d{d}": float(score[t, d]) for d in range(DOCS)} for t in range(TOPICS)}
    return truth, runs


def judgments(rng: Rng, assessors: int, spread: float) -> list[tuple[str, str, str, int]]:
    """Each assessor has an accuracy and a leniency of their own."""
    truth, _ = collection()
    rows = []
    for a in range(assessors):
        miss, alarm = (np.clip(rng.normal(0.2, spread, 2), 0.02, 0.9)) if spread else (0.2, 0.2)
        given = np.where(truth, rng.random(truth.shape) >= miss, rng.random(truth.shape) < alarm)
        rows += [(f"q{t}", f"d{d}", f"w{a}", int(given[t, d])) for t in range(TOPICS) for d in range(DOCS)]
    return rows


@cache
def expected_means(assessors: int, spread: float) -> Array:
    """The means of P@5 that such assessors give on average, methods × runs; the number of assessors is odd."""
    truth, runs = collection()
    drawn = np.random.default_rng(2).normal(0.2, spread, 1_000_000)
    wrong = float(np.clip(drawn, 0.02, 0.9).mean())
    alone = np.where(truth, 1 - wrong, wrong)
    chances = binom.sf(assessors // 2, assessors, alone), alone
    means = []
    for chance in chances:
        for run in runs.values():
            tops = [sorted(run[f"q{t}"], key=run[f"q{t}"].get, reverse=True)[:5] for t in range(TOPICS)]
            means.append(np.mean([[chance[t, int(doc[1:])] for doc in top] for t, top in enumerate(tops)]))
    return np.array(means).reshape(2, 3)


def effect(assessors: int, spread: float, rng: Rng) -> list[Outcome]:
    # fewer resamples make the spread rougher, not smaller
    found = merge_effect(judgments(rng, assessors, spread), collection()[1], "P@5", methods=METHODS, resamples=25).means
    right = expected_means(assessors, spread)
    return [covers(right[m, r], found.low[m, 0, r], found.high[m, 0, r]) for m in range(len(METHODS)) for r in range(3)]


# -- methods worse than voting


def cautions() -> list[Case]:
    """A caution against a method that finds as many true labels as the votes, or more, is an error."""
    return [
        Case("merge, a caution against the method", data, f"{items} items", partial(caution, items, spread), trials=100)
        for items in (60, 200)
        for data, spread in (("assessors who are alike", 0.0), ("assessors who differ", 0.2))
    ]


def caution(items: int, spread: float, rng: Rng) -> Outcome:
    truth = (rng.random(items) < 0.3).astype(int)
    accuracy = np.clip(rng.normal(0.75, spread, 8), 0.5, 0.98)
    rows = [
        (f"t{i}", f"w{w}", int(truth[i] if rng.random() < accuracy[w] else 1 - truth[i]))
        for i in range(items)
        for w in rng.permutation(8)[:5]
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        merged = merge(rows, "dawid-skene")
        voted = merge(rows, "majority")
    warned = any("worse than the majority vote" in str(one.message) for one in caught)
    warned |= any("worse than the majority vote" in note for note in merged.notes)
    right, right_by_votes = (
        np.mean([one.grades[one.labels.items.index(f"t{i}")] == truth[i] for i in range(items)])
        for one in (merged, voted)
    )
    return Outcome(not (warned and right >= right_by_votes))
