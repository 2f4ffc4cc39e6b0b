"""Samples: their probabilities are those of the design, and estimated totals are unbiased over all samples."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import comb, factorial, prod

import numpy as np
import pytest

from cranfield.building.pools.pool_samples import Sampled, read_strata, shared, sizes_within
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Method
from cranfield.errors import UsageError
from tests.building.pools.small_pools import as_runs, random_lists
from tests.oracles import pool_policies as slow

RUNS = {"x": {"q": {"a": 9, "b": 8, "c": 7, "d": 6}}, "y": {"q": {"c": 9, "e": 8, "f": 7}}}
"""Best ranks: a 1, c 1, b 2, e 2, f 3, d 4 (c is also at rank 3 of x)."""
Sample = frozenset[int]


def made(method: str, size: int, seed: int = 0, strata: str = "") -> Sampled:
    policy = Method.of(method).make(
        PooledLists.of(RUNS), seed=seed, sizes=np.array([size]), strata=read_strata(strata) if strata else ()
    )
    assert isinstance(policy, Sampled)
    return policy


def all_stratified(stratum: np.ndarray, wanted: list[int]) -> dict[Sample, float]:
    """Every sample of a stratified design, with its probability: all are equally likely."""
    choices = [list(combinations(np.flatnonzero(stratum == s).tolist(), n)) for s, n in enumerate(wanted)]
    samples = [frozenset(sum(parts, ())) for parts in product(*choices)]
    return dict.fromkeys(samples, 1 / len(samples))


def all_bucketed(order: list[int], weight: list[float], size: int) -> dict[Sample, float]:
    """Every sample of Aslam and Pavlu's design: `size` draws of buckets, then documents of each without replacement."""
    buckets = [order[at : at + size] for at in range(0, len(order), size)]
    p = [sum(weight[d] for d in bucket) / sum(weight) for bucket in buckets]
    samples: Counter[Sample] = Counter()
    for counts in product(range(size + 1), repeat=len(buckets)):
        if sum(counts) != size:
            continue
        ways = factorial(size) / prod(factorial(k) for k in counts)
        chance = ways * prod(share**k for share, k in zip(p, counts, strict=True))
        choices = [list(combinations(range(size), k)) for k in counts]  # places of a bucket, some of which are empty
        for places in product(*choices):
            drawn = frozenset(
                bucket[at] for bucket, own in zip(buckets, places, strict=True) for at in own if at < len(bucket)
            )
            samples[drawn] += chance / prod(comb(size, k) for k in counts)
    return dict(samples)


def check_design(samples: dict[Sample, float], probability: np.ndarray) -> None:
    """The inclusion probabilities are right, and Horvitz-Thompson totals are unbiased, over all samples."""
    assert sum(samples.values()) == pytest.approx(1)
    for document, expected in enumerate(probability):
        assert sum(p for sample, p in samples.items() if document in sample) == pytest.approx(expected)
    value = np.array([3.0, 0, 1, 1, 0, 2])
    mean = sum(p * sum(value[d] / probability[d] for d in sample) for sample, p in samples.items())
    assert mean == pytest.approx(value.sum())


def test_a_stratified_sample_is_unbiased_over_all_samples() -> None:
    policy = made("stratified", 3, strata="1,4")
    # Best ranks in the order of the depth pool a c b e f d: 1 1 2 2 3 4. The strata share 3 documents: 2 and 1.
    assert policy.stratum.tolist() == [0, 0, 1, 1, 1, 1]
    assert policy.probability.tolist() == [1, 1, 0.25, 0.25, 0.25, 0.25]
    samples = all_stratified(policy.stratum, [2, 1])
    check_design(samples, policy.probability)
    drawn = Counter(frozenset(np.flatnonzero(made("stratified", 3, seed, "1,4").drawn).tolist()) for seed in range(400))
    assert drawn.keys() == samples.keys()
    for sample, chance in samples.items():  # 400 draws of 4 equally likely samples: standard deviation 8.7
        assert abs(drawn[sample] - 400 * chance) < 40


def test_shares_of_strata_are_rounded_to_at_least_one_document() -> None:
    policy = made("stratified", 6, strata="1:1,2:0.5,9:0.1")
    assert policy.probability.tolist() == [1, 1, 0.5, 0.5, 0.5, 0.5]  # round(.1 · 2) is 0, but 1 is drawn
    assert policy.left.tolist() == [2 + 1 + 1]


def test_strata_without_a_document_to_draw_are_merged() -> None:
    policy = made("stratified", 2, strata="1,2,3,4")
    assert policy.stratum.tolist() == [0, 0, 1, 1, 1, 1]
    assert policy.probability.tolist() == [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]


def test_the_prior_of_a_weighted_sample_is_that_of_average_precision() -> None:
    by_topic = random_lists(2, topics=1)
    lists = PooledLists.of(as_runs(by_topic))
    policy = Method.of("sample").make(lists, sizes=np.array([3]))
    assert isinstance(policy, Sampled)
    own = {run: documents for run, documents in by_topic["t0"].items() if documents}
    expected = slow.average_precision_prior(own)
    scale = len(own) / len(lists.runs)  # a run without a list has no documents, but counts in the mean
    assert policy.weights() == pytest.approx([expected[doc] * scale for doc in lists.docs(0)], rel=1e-9)


def test_a_weighted_sample_is_unbiased_over_all_samples() -> None:
    policy = made("sample", 4)
    prior = policy.weights()
    order = np.argsort(-prior, kind="stable").tolist()
    samples = all_bucketed(order, prior.tolist(), 4)  # buckets of 4 and 2: the last has two empty places
    check_design(samples, policy.probability)
    times = 3000
    drawn = Counter(frozenset(np.flatnonzero(made("sample", 4, seed).drawn).tolist()) for seed in range(times))
    assert drawn.keys() <= samples.keys()
    for sample, chance in samples.items():
        assert abs(drawn[sample] - times * chance) < 5 * (times * chance * (1 - chance)) ** 0.5 + 1


def test_a_sample_as_large_as_the_pool_holds_everything() -> None:
    for method in ("stratified", "sample"):
        policy = made(method, 99)
        assert policy.drawn.all()
        assert policy.probability.tolist() == [1] * 6


def test_the_same_seed_draws_the_same_documents() -> None:
    assert made("sample", 3, 7).drawn.tolist() == made("sample", 3, 7).drawn.tolist()
    assert any(made("sample", 3, 7).drawn.tolist() != made("sample", 3, seed).drawn.tolist() for seed in range(5))


def test_sizes_are_divided_evenly() -> None:
    assert shared(10, np.array([1, 100, 3, 100])).tolist() == [1, 3, 3, 3]
    assert shared(11, np.array([1, 100, 3, 100])).tolist() == [1, 4, 3, 3]
    assert shared(0, np.array([5, 5])).tolist() == [0, 0]
    assert shared(99, np.array([5, 5])).tolist() == [5, 5]
    lists = PooledLists.of(RUNS)
    assert sizes_within(lists, None, None) is None
    for given, sizes in (((4, None), [4]), ((None, 3), [3]), ((9, 3), [3])):
        found = sizes_within(lists, *given)
        assert found is not None
        assert found.tolist() == sizes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10,5", "must rise"),
        ("0,5", "must rise"),
        ("10:1,20", "every stratum or for none"),
        ("10:1.5", "at most 1"),
        ("ten", "expected a rank"),
        ("", "none"),
    ],
)
def test_wrong_strata_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_strata(text)


def test_a_sample_needs_a_size() -> None:
    with pytest.raises(UsageError, match="sample needs the number of documents to draw"):
        Method.of("sample").make(PooledLists.of(RUNS))
