"""xinfAP, infNDCG and statAP: compared with their definitions as loops and with the full judgments."""

from __future__ import annotations

from itertools import combinations, product
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.sampling import Sample
from cranfield.errors import UsageError
from cranfield.measures import AP, infAP, infNDCG, nDCG, statAP, xinfAP

EPSILON = 0.00001  # as in trec_eval's infAP

Pool = list[tuple[int, str]]
"""Grade and stratum of each document, from the top."""


def slow_xinfap(pool: Pool, retrieved: int) -> float:
    """The mean of the expected precisions in each stratum, weighted by its share of the relevant documents."""
    strata = {s for _, s in pool}
    estimates, means = {}, {}
    for stratum in strata:
        drawn = [i for i, (g, s) in enumerate(pool) if s == stratum and g >= 0]
        relevant = [i for i in drawn if pool[i][0] >= 1]
        if not relevant:
            continue
        size = sum(s == stratum for _, s in pool)
        estimates[stratum] = size * len(relevant) / len(drawn)
        precisions = []
        for i in relevant:
            if i >= retrieved:
                precisions.append(0.0)
                continue
            rank, expected = i + 1, 1 / (i + 1)
            for other in strata:
                above = [g for g, s in pool[:i] if s == other]
                if above:
                    good, bad = sum(g >= 1 for g in above), sum(g == 0 for g in above)
                    share = len(above) / (rank - 1)
                    expected += (rank - 1) / rank * share * (good + EPSILON) / (good + bad + 2 * EPSILON)
            precisions.append(expected)
        means[stratum] = sum(precisions) / len(precisions)
    whole = sum(estimates.values())
    return sum(estimates[s] / whole * means[s] for s in estimates)


def slow_infndcg(pool: Pool, retrieved: int) -> float:
    """Each drawn document represents size/drawn documents of its stratum; the ideal list is filled rank by rank."""

    def scale(stratum: str) -> float:
        grades = [g for g, s in pool if s == stratum]
        return len(grades) / sum(g >= 0 for g in grades)

    numerator = sum(scale(s) * g / log2(i + 2) for i, (g, s) in enumerate(pool[:retrieved]) if g > 0)
    waiting = sorted(([g, scale(s)] for g, s in pool if g > 0), reverse=True)
    ideal, rank = 0.0, 1
    while waiting:
        room = 1.0
        while room > 1e-12 and waiting:
            part = min(room, waiting[0][1])
            ideal += part * waiting[0][0] / log2(rank + 1)
            room -= part
            waiting[0][1] -= part
            if waiting[0][1] < 1e-12:
                waiting.pop(0)
        rank += 1
    return numerator / ideal


def score(measure: Any, pool: Pool, retrieved: int) -> float:
    grades = [g for g, _ in pool]
    return float(measure.of(grades[:retrieved], grades[retrieved:], strata=[s for _, s in pool]))


documents = st.lists(st.tuples(st.sampled_from([-1, 0, 0, 1, 2]), st.sampled_from("abc")), min_size=1, max_size=14)
pools = documents.filter(lambda pool: any(g > 0 for g, _ in pool))


@given(pools, st.integers(0, 14))
def test_xinfap_agrees_with_its_definition(pool: Pool, retrieved: int) -> None:
    assert score(xinfAP(), pool, retrieved) == pytest.approx(slow_xinfap(pool, retrieved))


@given(pools, st.integers(0, 14))
def test_infndcg_agrees_with_its_definition(pool: Pool, retrieved: int) -> None:
    assert score(infNDCG(), pool, retrieved) == pytest.approx(slow_infndcg(pool, retrieved))


@given(pools, st.integers(0, 14))
def test_one_stratum_gives_infap(pool: Pool, retrieved: int) -> None:
    grades = [g for g, _ in pool]
    expected = infAP().of(grades[:retrieved], grades[retrieved:])
    assert xinfAP().of(grades[:retrieved], grades[retrieved:]) == pytest.approx(expected)
    assert score(xinfAP(), [(g, "a") for g in grades], retrieved) == pytest.approx(expected)


@given(pools, st.integers(0, 14), st.integers(1, 14))
def test_with_everything_drawn_estimates_are_exact(pool: Pool, retrieved: int, cutoff: int) -> None:
    every = [(max(g, 0), s) for g, s in pool]
    grades = [g for g, _ in every]
    list_and_missed = grades[:retrieved], grades[retrieved:]
    assert score(xinfAP(), every, retrieved) == pytest.approx(AP().of(*list_and_missed), abs=1e-4)  # for ε
    assert score(infNDCG() @ cutoff, every, retrieved) == pytest.approx((nDCG @ cutoff).of(*list_and_missed))
    ones = statAP().of(*list_and_missed, inclusion=[1] * len(grades))
    assert ones == pytest.approx(AP().of(*list_and_missed))


def test_by_hand() -> None:
    # stratum a is drawn in full, two of the three documents of b are: R is estimated as 1 + 3/2. Above rank 3 are a
    # relevant document of a and an undrawn one of b (half a relevant document): precision (1 + 1 + 1/2)/3
    grades, strata = [1, -1, 1, 0], "abbb"
    assert xinfAP().of(grades, strata=strata) == pytest.approx((1 + 1.5 * 2.5 / 3) / 2.5, abs=1e-4)
    # ideal: one document, then one and a half: ranks 1 and 2 are full, rank 3 holds half a document
    ideal = 1 + 1 / log2(3) + 0.5 / 2
    assert infNDCG().of(grades, strata=strata) == pytest.approx((1 + 1.5 / 2) / ideal)
    # 1/0.5 = 2 documents at rank 2: precision (1 + 2)/2, counted twice, among 1 + 2
    assert statAP().of([1, 1], inclusion=[1, 0.5]) == pytest.approx((1 + 2 * 1.5) / 3)


# -- expectations over every sample that could have been drawn

TRUTH = [1, 0, 1, 1, 0, 0, 1, 0]
STRATA = "aabbbbbb"


def every_sample(drawn: dict[str, int]) -> list[list[int]]:
    """The judgments of every stratified sample of these sizes: -1 for documents that were not drawn."""
    choices = [list(combinations([i for i, s in enumerate(STRATA) if s == name], many)) for name, many in drawn.items()]
    return [
        [grade if i in {j for part in parts for j in part} else -1 for i, grade in enumerate(TRUTH)]
        for parts in product(*choices)
    ]


def test_the_parts_of_stratified_estimates_are_unbiased() -> None:
    samples = every_sample({"a": 1, "b": 3})
    assert len(samples) == 2 * 20
    gains, relevant = [], []
    for grades in samples:
        terms = infNDCG().terms(_lists(grades))
        gains.append(float(terms.hits.sum(terms.adds)[0]))
        relevant.append(float(np.asarray(xinfAP().terms(_lists(grades)).over)[0]))
    assert np.mean(gains) == pytest.approx(cf.DCG().of(TRUTH))
    assert np.mean(relevant) == pytest.approx(sum(TRUTH))


def _lists(grades: list[int]) -> Any:
    sample = Sample.one(grades, strata=STRATA, inclusion=None)
    return cf.Assessed.one(grades).replace(sample=sample, document=np.arange(len(grades)))


def test_the_expected_precision_at_a_drawn_document_is_unbiased() -> None:
    # over all samples with the document at rank 7; each has drawn documents of every stratum above it
    every_terms = [xinfAP().terms(_lists(grades)) for grades in every_sample({"a": 1, "b": 3}) if grades[6] == 1]
    assert len(every_terms) == 2 * 10
    assert np.mean([terms.columns["expected precision"][-1] for terms in every_terms]) == pytest.approx(4 / 7, abs=1e-4)


def test_xinfap_is_near_ap_on_average() -> None:
    # a ratio of estimates, with half a document where nothing is known: nearly unbiased
    def error(drawn: dict[str, int]) -> float:
        scores = [score(xinfAP(), list(zip(grades, STRATA, strict=True)), 8) for grades in every_sample(drawn)]
        return abs(float(np.nanmean(scores)) - AP().of(TRUTH))

    assert all(error({"a": 2, "b": many}) < 0.02 for many in (2, 3, 4, 5))
    assert error({"a": 2, "b": 6}) < 1e-4


def test_expectation_of_statap_over_independent_draws() -> None:
    # Documents are drawn independently. The estimate of R is unbiased. In the sum of precisions, pairs of different
    # documents are unbiased too, but a document paired with itself counts 1/π instead of 1.
    grades, chances = [1, 0, 1, 1], [0.9, 0.5, 0.4, 0.7]
    expected = sum(
        (sum(grades[:k]) + 1 / chances[k]) / (k + 1) for k in range(len(grades)) if grades[k]
    )  # over the relevant documents; those above count once each
    total, weighted_score = 0.0, 0.0
    for draw in product([0, 1], repeat=4):
        weight = float(np.prod([p if d else 1 - p for p, d in zip(chances, draw, strict=True)]))
        judged = [g if d else -1 for g, d in zip(grades, draw, strict=True)]
        relevant = sum(1 / p for p, g in zip(chances, judged, strict=True) if g == 1)
        total += weight * relevant
        if relevant:
            weighted_score += weight * relevant * statAP().of(judged, inclusion=chances)
    assert total == pytest.approx(sum(grades))
    assert weighted_score == pytest.approx(expected)


@settings(max_examples=50)
@given(pools, st.integers(0, 14), st.data())
def test_statap_agrees_with_its_definition(pool: Pool, retrieved: int, data: st.DataObject) -> None:
    grades = [g for g, _ in pool]
    chances = data.draw(st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0]), min_size=len(pool), max_size=len(pool)))
    worth = [(1 / p if g >= 1 else 0.0) for g, p in zip(grades, chances, strict=True)]
    numerator = sum(worth[i] * sum(worth[: i + 1]) / (i + 1) for i in range(min(retrieved, len(pool))))
    score = statAP().of(grades[:retrieved], grades[retrieved:], inclusion=chances)
    assert score == pytest.approx(numerator / sum(worth))


def test_missing_data_is_named() -> None:
    with pytest.raises(UsageError, match="topic doc probability"):
        statAP().of([1, 0])
    with pytest.raises(UsageError, match="how they were drawn is unknown"):
        xinfAP().view("best").of([1, None, -1], strata="abb")
    with pytest.raises(UsageError, match="strata: 1 entries, but there are 2 documents"):
        xinfAP().of([1, 0], strata="a")
    assert "column 2" in (xinfAP().note(cf.Assessed.one([1])) or "")


def test_no_relevant_documents() -> None:
    assert np.isnan(statAP().of([0, None, 0], [0], inclusion=[1, 1, 0.5, 0.5]))
    assert statAP().of([], [1, 0], inclusion=[0.5, 0.5]) == 0
