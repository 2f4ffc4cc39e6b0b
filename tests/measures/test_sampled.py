"""xinfAP, infNDCG and statAP: compared with their definitions as loops and with the full judgments."""

from __future__ import annotations

import math
from itertools import combinations, product
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.sampling import Sample
from cranfield.building.pools.pool_building import make_pool
from cranfield.building.pools.pool_samples import join_pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.errors import UsageError
from cranfield.measures import AP, infAP, infNDCG, nDCG, statAP, xinfAP

EPSILON = 0.00001  # as in trec_eval's infAP

Pool = list[tuple[int, str]]
"""Grade and stratum of each document, from the top."""


def slow_xinfap(pool: Pool, retrieved: int, unseen: str) -> float:
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
                    if unseen == "half":
                        share = len(above) / (rank - 1)
                        expected += (rank - 1) / rank * share * (good + EPSILON) / (good + bad + 2 * EPSILON)
                    elif good:
                        others = [i for i, (_, s) in enumerate(pool) if s == other and i != rank - 1]
                        count = sum(pool[i][0] >= 0 for i in others)
                        none = math.comb(len(others) - len(above), count) / math.comb(len(others), count)
                        expected += len(above) * good / (good + bad) / (1 - none) / rank
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


@given(pools, st.integers(0, 14), st.sampled_from(["weighed", "half"]))
def test_xinfap_agrees_with_its_definition(pool: Pool, retrieved: int, unseen: str) -> None:
    assert score(xinfAP(unseen=unseen), pool, retrieved) == pytest.approx(slow_xinfap(pool, retrieved, unseen))


@given(pools, st.integers(0, 14))
def test_infndcg_agrees_with_its_definition(pool: Pool, retrieved: int) -> None:
    assert score(infNDCG(), pool, retrieved) == pytest.approx(slow_infndcg(pool, retrieved))


@given(pools, st.integers(0, 14))
def test_one_stratum_gives_infap(pool: Pool, retrieved: int) -> None:
    grades = [g for g, _ in pool]
    expected = infAP().of(grades[:retrieved], grades[retrieved:])
    half = xinfAP(unseen="half")
    assert half.of(grades[:retrieved], grades[retrieved:]) == pytest.approx(expected)
    assert score(half, [(g, "a") for g in grades], retrieved) == pytest.approx(expected)


@given(pools, st.integers(0, 14), st.integers(1, 14))
def test_with_everything_drawn_estimates_are_exact(pool: Pool, retrieved: int, cutoff: int) -> None:
    every = [(max(g, 0), s) for g, s in pool]
    grades = [g for g, _ in every]
    list_and_missed = grades[:retrieved], grades[retrieved:]
    assert score(xinfAP(), every, retrieved) == pytest.approx(AP().of(*list_and_missed))
    assert score(infNDCG() @ cutoff, every, retrieved) == pytest.approx((nDCG @ cutoff).of(*list_and_missed))
    ones = statAP().of(*list_and_missed, inclusion=[1] * len(grades))
    assert ones == pytest.approx(AP().of(*list_and_missed))


def test_by_hand() -> None:
    # stratum a is drawn in full, two of the three documents of b are: R is estimated as 1 + 3/2. Above rank 3 are a
    # relevant document of a and an undrawn one of b (nothing seen, or half a relevant document)
    grades, strata = [1, -1, 1, 0], "abbb"
    assert xinfAP().of(grades, strata=strata) == pytest.approx((1 + 1.5 * 2 / 3) / 2.5)
    assert xinfAP(unseen="half").of(grades, strata=strata) == pytest.approx((1 + 1.5 * 2.5 / 3) / 2.5, abs=1e-4)
    # ideal: one document, then one and a half: ranks 1 and 2 are full, rank 3 holds half a document
    ideal = 1 + 1 / log2(3) + 0.5 / 2
    assert infNDCG().of(grades, strata=strata) == pytest.approx((1 + 1.5 / 2) / ideal)
    # the document at rank 2 stands for 1/0.5 = 2, each with the precision 2/2, among 1 + 2
    assert statAP().of([1, 1], inclusion=[1, 0.5]) == pytest.approx((1 + 2 * 1) / 3)
    # it also counts as two in its own precision: (1 + 2)/2
    assert statAP(pairs="product").of([1, 1], inclusion=[1, 0.5]) == pytest.approx((1 + 2 * 1.5) / 3)


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


@pytest.mark.parametrize("many", [2, 3, 4, 6])
def test_the_sum_of_precisions_of_xinfap_is_unbiased(many: int) -> None:
    # exact, over every sample; the original counts half of the documents as relevant where nothing was seen
    true = sum(AP().of(TRUTH) for _ in range(4))
    sums = {}
    for unseen in ("weighed", "half"):
        terms = [xinfAP(unseen=unseen).terms(_lists(grades)) for grades in every_sample({"a": 2, "b": many})]
        sums[unseen] = float(np.mean([part.hits.sum(part.adds)[0] for part in terms]))
    assert sums["weighed"] == pytest.approx(true)
    assert many > 4 or abs(sums["half"] - true) > 0.001


def test_few_relevant_documents_in_a_sample_are_a_caution() -> None:
    qrels = {"1": {f"d{i}": [1, 0, -1, -1][i % 4] for i in range(40)}}
    few = {"1": {doc: grade if doc != "d0" else 1 for doc, grade in list(qrels["1"].items())[:8]}}
    run = {"1": {f"d{i}": -float(i) for i in range(40)}}
    noted = [
        "caution: a topic has" in " ".join(cf.evaluate(q, run, ["xinfAP"], strata=True).notes) for q in (qrels, few)
    ]
    assert noted == [False, True]


def expected_parts_of_statap(
    samples: list[tuple[float, list[int]]], chances: list[float], strata: str, pairs: str
) -> tuple[float, float]:
    """The sum of precisions and R, averaged over all samples, which have these probabilities."""
    precisions, relevant = 0.0, 0.0
    for weight, judged in samples:
        own = sum(1 / p for p, g in zip(chances, judged, strict=True) if g == 1)
        relevant += weight * own
        if own:
            precisions += weight * own * statAP(pairs=pairs).of(judged, inclusion=chances, strata=strata)
    return precisions, relevant


def test_a_document_counts_once_in_its_own_precision_when_documents_are_drawn_independently() -> None:
    grades, chances = [1, 0, 1, 1], [0.9, 0.5, 0.4, 0.7]
    samples = [
        (
            float(np.prod([p if d else 1 - p for p, d in zip(chances, draw, strict=True)])),
            [g if d else -1 for g, d in zip(grades, draw, strict=True)],
        )
        for draw in product([0, 1], repeat=4)
    ]
    true = 1 / 1 + 2 / 3 + 3 / 4  # the sum of precisions
    for pairs in ("joint", "independent"):  # every document is its own stratum: its number is not fixed
        assert expected_parts_of_statap(samples, chances, "abcd", pairs) == pytest.approx((true, 3))
    # a document paired with itself counts 1/π instead of 1
    scaled = (1 / 0.9) / 1 + (1 + 1 / 0.4) / 3 + (2 + 1 / 0.7) / 4
    assert expected_parts_of_statap(samples, chances, "abcd", "product") == pytest.approx((scaled, 3))


def test_statap_knows_that_a_stratum_gives_a_fixed_number_of_documents() -> None:
    # two of the six documents of b are drawn: one that is drawn leaves one of five for the others, not two of six
    every = every_sample({"a": 2, "b": 2})
    samples = [(1 / len(every), grades) for grades in every]
    chances = [1, 1, *[2 / 6] * 6]
    true = 1 + 2 / 3 + 3 / 4 + 4 / 7
    assert expected_parts_of_statap(samples, chances, STRATA, "joint") == pytest.approx((true, 4))
    in_b = [1 / 4, 2 / 7]  # documents of b above the one at rank 4, and above the one at rank 7
    seen = true - sum(in_b) * (1 - (1 / 5) / (2 / 6))
    assert expected_parts_of_statap(samples, chances, STRATA, "independent") == pytest.approx((seen, 4))
    rounded = [1, 1, *[0.3333] * 6]  # a file that rounds
    assert expected_parts_of_statap(samples, rounded, STRATA, "joint")[0] == pytest.approx(true, rel=1e-3)


def mean_biases(names: list[str], method: str, seeds: int) -> dict[str, float]:
    """The mean estimate minus the mean of all judgments, in a simulated collection of which a part is judged."""
    rng = np.random.default_rng(5)
    docs = [f"d{number}" for number in range(200)]
    topics = [str(number) for number in range(12)]
    qrels = {t: {d: int(rng.random() < 0.4 * np.exp(-at / 60)) for at, d in enumerate(docs)} for t in topics}
    runs = {
        f"run {noise}": {t: {d: -at + rng.normal(0, noise) for at, d in enumerate(docs)} for t in topics}
        for noise in (40, 100)
    }
    lists = PooledLists.of(runs, depth=200)
    full = cf.evaluate(qrels, runs, ["AP", "nDCG"]).mean()
    true = {name: np.mean([row["nDCG" if name == "infNDCG" else "AP"] for row in full.values()]) for name in names}
    samples = [
        join_pool(make_pool(lists, method, most_per_topic=50, seed=seed), qrels).qrels() for seed in range(seeds)
    ]
    estimates = [cf.evaluate(sample, runs, names).mean() for sample in samples]
    return {
        name: float(np.mean([row[name] for means in estimates for row in means.values()]) - true[name])
        for name in names
    }


def test_the_bias_of_estimates_in_a_simulated_collection() -> None:
    # 30 samples of 50 of the 200 documents of each of 12 topics
    names = ["statAP", 'statAP(pairs="product")', "xinfAP", "infNDCG"]
    for method in ("sample", "stratified"):
        bias = mean_biases(names, method, 30)
        assert bias.pop('statAP(pairs="product")') > 0.05, method
        assert all(abs(value) < 0.015 for value in bias.values()), (method, bias)


def test_strata_without_a_drawn_document_are_counted() -> None:
    # nothing is known about b, so that its relevant documents are in no sum
    grades, strata = [1, -1, 0, -1], "abab"
    assert xinfAP().of(grades, strata=strata) == pytest.approx(1, abs=1e-4)
    note = xinfAP().note(cf.Assessed.one(grades).replace(sample=Sample.one(grades, strata=strata, inclusion=None)))
    assert str(note).startswith("no document was drawn from 1 stratum")


@settings(max_examples=50)
@given(pools, st.integers(0, 14), st.data())
def test_statap_agrees_with_its_definition(pool: Pool, retrieved: int, data: st.DataObject) -> None:
    grades = [g for g, _ in pool]
    chances = data.draw(st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0]), min_size=len(pool), max_size=len(pool)))
    worth = [(1 / p if g >= 1 else 0.0) for g, p in zip(grades, chances, strict=True)]
    listed = grades[:retrieved], grades[retrieved:]
    for pairs, itself in (("independent", 1.0), ("product", None)):
        numerator = sum(
            worth[i] * (sum(worth[:i]) + (worth[i] if itself is None else itself)) / (i + 1)
            for i in range(min(retrieved, len(pool)))
        )
        score = statAP(pairs=pairs).of(*listed, inclusion=chances)
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
