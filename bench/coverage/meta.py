"""Evaluating measures: rank correlations, generalisability, and the prediction of query performance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers

from cranfield import meta
from cranfield.meta.agreement.correlation import rank_correlation
from cranfield.scores.scores import Scores

Array = np.ndarray
Pair = Callable[[np.random.Generator, int], tuple[Array, Array]]

COEFFICIENTS = ("tau-b", "tau-ap-symmetric", "rbo")
RESAMPLES = 300
"""Fewer than the default of 1,000: a standard deviation over resamples is known well enough from 300."""


def cases() -> list[Case]:
    return [*_correlations(), *_reliability(), *_predictions()]


# -- rank correlation of measures


def spread_systems(rng: np.random.Generator, systems: int, topics: int) -> Array:
    """Measures × systems × topics: systems are well apart, and both measures see nearly the same."""
    able = np.linspace(0, 0.25, systems)[:, None]
    both = rng.normal(0, 0.15, (systems, topics)) + rng.normal(0, 0.2, (1, topics))
    return np.stack([able + both, able**2 + both + rng.normal(0, 0.08, (systems, topics))])


def close_systems(rng: np.random.Generator, systems: int, topics: int) -> Array:
    """Most differences between systems are smaller than their standard error."""
    able = np.linspace(0, 0.04, systems)[:, None]
    both = rng.normal(0, 0.15, (systems, topics)) + rng.normal(0, 0.2, (1, topics))
    return np.stack([able + both, able + both + rng.normal(0, 0.1, (systems, topics))])


def unrelated_measures(rng: np.random.Generator, systems: int, topics: int) -> Array:
    able = np.linspace(0, 0.1, systems)
    other = np.random.default_rng(systems).permutation(able)
    return np.stack([means[:, None] + rng.normal(0, 0.15, (systems, topics)) for means in (able, other)])


def bounded_and_tied(rng: np.random.Generator, systems: int, topics: int) -> Array:
    """Something like average precision, and P@10, which has ties."""
    able = np.linspace(-1.5, -0.5, systems)[:, None]
    z = able + rng.normal(0, 1, (1, topics)) + rng.normal(0, 0.6, (systems, topics))
    tenths = np.round(1 / (1 + np.exp(-z - rng.normal(0, 0.5, (systems, topics)))), 1)
    return np.stack([1 / (1 + np.exp(-1.5 * z)), tenths])


MEASURED = {
    "systems apart": spread_systems,
    "close systems": close_systems,
    "unrelated measures": unrelated_measures,
    "AP and P@10": bounded_and_tied,
}


def _correlations() -> list[Case]:
    sizes = [(6, 10, 200), (10, 25, 200), (20, 50, 120)]
    found = [
        Case(
            "meta correlate, at this number of topics", data, f"{systems} systems, {topics} topics",
            partial(correlations, data, systems, topics, False), trials=trials,
            small=100 if (data, systems) == ("close systems", 10) else 0,
        )
        for data in MEASURED
        for systems, topics, trials in sizes
    ]  # fmt: skip
    for_all = [
        Case("meta correlate, if taken for all topics there could be", data, f"{systems} systems, {topics} topics",
             partial(correlations, data, systems, topics, True), trials=trials)
        for data in ("close systems", "AP and P@10")
        for systems, topics, trials in sizes[1:2]
    ]  # fmt: skip
    return [*found, *for_all]


@lru_cache(maxsize=64)
def true_correlations(data: str, systems: int, topics: int, for_all: bool) -> dict[str, float]:
    """The expected correlations of rankings by so many topics, or the correlations of rankings by 20,000 topics."""
    rng = np.random.default_rng(1)
    number = 1 if for_all else 600
    drawn = [MEASURED[data](rng, systems, 20_000 if for_all else topics).mean(axis=2) for _ in range(number)]
    return {name: float(np.mean([rank_correlation(*means, name).value for means in drawn])) for name in COEFFICIENTS}


def correlations(data: str, systems: int, topics: int, for_all: bool, rng: np.random.Generator) -> Iterable[Outcome]:
    values = MEASURED[data](rng, systems, topics)
    scores = Scores(["a", "b"], map(str, range(systems)), map(str, range(topics)), values)
    found = meta.correlate(scores, coefficients=COEFFICIENTS, resamples=RESAMPLES)
    said = for_all and any("with more, less is left to chance" in note for note in found.notes)
    truth = true_correlations(data, systems, topics, for_all)
    for k, name in enumerate(COEFFICIENTS):
        yield covers(truth[name], float(found.low[k, 0, 1]), float(found.high[k, 0, 1]), said)


# -- generalisability

OF_TOPICS, OF_BOTH, OF_SYSTEMS = 0.2, 0.12, 0.05
"""Standard deviations of the effects of topics, of systems and topics, and of systems."""


def _effects(systems: int, topics: int, kind: str, rng: np.random.Generator) -> Array:
    """Scores, topics × systems."""
    of_system, of_topic = rng.normal(0, 1, systems), rng.normal(0, 1, topics)
    both = rng.normal(0, 1, (topics, systems))
    if kind == "skewed systems":
        of_system = -rng.exponential(1, systems)
    elif kind == "a few bad runs":
        of_system = (rng.normal(0, 0.3, systems) - 2 * (rng.random(systems) < 0.15)) / np.sqrt(0.09 + 4 * 0.15 * 0.85)
    elif kind == "skewed topics":
        of_topic = rng.exponential(1, topics)
    elif kind == "hard topics vary more":
        both = both * np.sqrt(rng.exponential(1, (topics, 1)))
    return OF_SYSTEMS * of_system + OF_TOPICS * of_topic[:, None] + OF_BOTH * both


def _reliability() -> list[Case]:
    kinds = ("normal", "skewed systems", "a few bad runs", "skewed topics", "hard topics vary more")
    return [
        Case("meta gtheory", kind, f"{systems} systems, {topics} topics", partial(reliability, kind, systems, topics),
             trials=800, small=150 if (kind, systems) == ("skewed systems", 20) else 0)
        for kind in kinds
        for systems, topics in ((5, 10), (10, 25), (20, 50), (50, 25))
    ]  # fmt: skip


def reliability(kind: str, systems: int, topics: int, rng: np.random.Generator) -> Iterable[Outcome]:
    found = meta.g_study(_effects(systems, topics, kind, rng)).stability()
    own, both = OF_SYSTEMS**2, OF_BOTH**2
    yield covers(own / (own + both / topics), found.rho2_low, found.rho2_high)
    yield covers(own / (own + (both + OF_TOPICS**2) / topics), found.phi_low, found.phi_high)


# -- predictors of query performance


def normal_pairs(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = rng.normal(0, 1, n)
    return x, 0.5 * x + rng.normal(0, 1, n)


def close_pairs(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = rng.normal(0, 1, n)
    return x, x + rng.normal(0, 0.5, n)


def skewed_pairs(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = rng.exponential(1, n)
    return x, x + rng.exponential(1, n)


def pairs_with_zeros(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = rng.normal(0, 1, n)
    return x, np.maximum(0.7 * x + rng.normal(0, 1, n) - 0.4, 0)


def tied_pairs(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = np.round(rng.normal(0, 1, n))
    return x, np.round(0.6 * x + rng.normal(0, 1, n)) / 10


def pairs_with_outliers(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = rng.lognormal(0, 1, n)
    return x, 0.4 * x + rng.lognormal(0, 0.7, n)


PAIRS: dict[str, Pair] = {
    "normal": normal_pairs,
    "close to the scores": close_pairs,
    "skewed": skewed_pairs,
    "many zeros": pairs_with_zeros,
    "tied": tied_pairs,
    "outliers": pairs_with_outliers,
}


QUALITY = {"Pearson's correlation": (0,), "rank correlations and sMARE": (1, 2, 3)}


def _predictions() -> list[Case]:
    return [
        Case(f"meta predict, {name}", data, f"{topics} topics", partial(prediction, data, topics, which), trials=100,
             small=150 if (data, topics, which) == ("skewed", 10, (0,)) else 0)
        for data in PAIRS
        for topics in (6, 10, 25, 50)
        for name, which in QUALITY.items()
    ]  # fmt: skip


@lru_cache(maxsize=64)
def true_quality(data: str, topics: int) -> tuple[float, ...]:
    """Pearson's, Spearman's and Kendall's correlation of very many topics; sMARE, which depends on their number."""
    from scipy.stats import kendalltau, rankdata, spearmanr

    rng = np.random.default_rng(1)
    x, y = PAIRS[data](rng, 1_000_000)
    ranks = [[rankdata(part) for part in PAIRS[data](rng, topics)] for _ in range(4000)]
    error = np.mean([np.abs(a - b).mean() / topics for a, b in ranks])
    half = slice(0, 200_000)
    return (
        float(np.corrcoef(x, y)[0, 1]),
        float(spearmanr(x[half], y[half])[0]),
        float(kendalltau(x[half], y[half])[0]),
        float(error),
    )


def prediction(data: str, topics: int, which: tuple[int, ...], rng: np.random.Generator) -> Iterable[Outcome]:
    x, y = PAIRS[data](rng, topics)
    names = [str(topic) for topic in range(topics)]
    scores = Scores.from_matrix(y[:, None], runs=["run"], topics=names, measure="AP")
    found = meta.predict(scores, {"p": dict(zip(names, x.tolist(), strict=True))}, resamples=RESAMPLES)
    said = any(note.startswith("caution: pearson") for note in found.notes)
    for c in which:
        truth = true_quality(data, topics)[c]
        yield covers(truth, float(found.low[c, 0, 0, 0]), float(found.high[c, 0, 0, 0]), said and c == 0)
