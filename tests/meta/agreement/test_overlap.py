"""Rank-biased overlap: published values, and the definition summed far out."""

import itertools

import numpy as np
import pytest

from cranfield.errors import UsageError
from cranfield.meta.agreement.overlap import Overlap, _Depths, _TiedRanking, rbo, weight_of_top


def summed(x: list[str], y: list[str], p: float, depth: int = 2_000) -> float:
    """Webber et al. (4), literally: rankings without ties and long enough."""
    return sum((1 - p) * p ** (d - 1) * len(set(x[:d]) & set(y[:d])) / d for d in range(1, depth + 1))


def test_first_ranks_have_the_weight_of_webber_et_al() -> None:
    assert weight_of_top(0.9, 10) == pytest.approx(0.86, abs=0.005)  # Webber et al. 2010, (21): 86 %


@pytest.mark.parametrize("ties", ["w", "a", "b"])
def test_agreement_by_hand(ties: str) -> None:
    # abcdefg and zcavwxy agree by 0, 0, 2/3, 2/4, 2/5, 2/6, 2/7 at depths 1 to 7.
    p, agreement = 0.9, [0, 0, 2 / 3, 2 / 4, 2 / 5, 2 / 6, 2 / 7]
    seen = sum((1 - p) * p**d * a for d, a in enumerate(agreement))
    result = rbo("abcdefg", "zcavwxy", p, ties=ties)
    assert result.extrapolated == pytest.approx(seen + p**7 * agreement[-1])  # (1 - p) sum of p^(d-1) beyond is p^7


def test_low_and_high_bound_every_continuation() -> None:
    x, y, p = list("abcde"), list("bafgc"), 0.8
    result = rbo(x, y, p)
    alone = [f"x{i}" for i in range(2_000)]
    other = [f"y{i}" for i in range(2_000)]
    assert result.low == pytest.approx(summed(x + alone, y + other, p))
    # At most: x goes on with what only y holds, y with what only x holds, and then both with the same.
    same = [f"z{i}" for i in range(2_000)]
    assert result.high == pytest.approx(summed([*x, "f", "g", *same], [*y, "d", "e", *same], p))
    assert result.low < result.extrapolated < result.high
    assert result.residual == pytest.approx(result.high - result.low)


def test_uneven_lengths_by_webbers_formula() -> None:
    x, y, p = list("abcdefg"), list("cab"), 0.9  # s = 3, l = 7
    result = rbo(x, y, p)
    common = [len(set(x[:d]) & set(y[:d])) for d in range(1, 8)]
    s, l, at_s, at_l = 3, 7, common[2], common[6]  # noqa: E741 - Webber et al. (32)
    first = sum(common[d - 1] / d * p**d for d in range(1, l + 1))
    second = sum(at_s * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    expected = (1 - p) / p * (first + second) + ((at_l - at_s) / l + at_s / s) * p**l
    assert result.extrapolated == pytest.approx(expected)
    turned = rbo(y, x, p)
    assert (turned.extrapolated, turned.low, turned.high) == (result.extrapolated, result.low, result.high)


@pytest.mark.parametrize(
    ("ties", "extrapolated", "low", "high"),
    [
        ("a", 0.6922853, 0.3310519, 0.8930692),
        ("w", 0.7068257, 0.3429684, 0.9049857),
        ("b", 0.7207131, 0.3509163, 0.9129336),
    ],
)
def test_ties_as_corsi_and_urbano_publish(ties: str, extrapolated: float, low: float, high: float) -> None:
    # The example in the README of the code that goes with Corsi & Urbano, SIGIR 2024 (sigir2024-rbo, rbo/Python).
    x = ["red", {"blue", "green"}, "yellow", "pink"]
    y = [{"blue", "red"}, "white", {"yellow", "black", "purple"}, "green"]
    result = rbo(x, y, 0.95, ties=ties)
    assert (result.extrapolated, result.low, result.high) == pytest.approx((extrapolated, low, high), abs=5e-8)
    assert result.residual == pytest.approx(0.5620173, abs=5e-8)
    assert result.tied == (2, 5)


def test_rule_a_is_the_mean_over_all_orders_of_the_ties() -> None:
    x, y = ["a", {"b", "c", "d"}, "e"], [{"d", "a"}, "b", {"c", "f"}]
    orders = [
        rbo(["a", *middle, "e"], [*top, "b", *end], 0.8)
        for middle in itertools.permutations("bcd")
        for top in itertools.permutations("da")
        for end in itertools.permutations("cf")
    ]
    result = rbo(x, y, 0.8, ties="a")
    assert result.extrapolated == pytest.approx(np.mean([overlap.extrapolated for overlap in orders]))
    assert result.low == pytest.approx(np.mean([overlap.low for overlap in orders]))


def test_a_ranking_with_ties_and_itself() -> None:
    x = [{"a", "b"}, "c", {"d", "e", "f"}]
    assert rbo(x, x, ties="w").extrapolated == pytest.approx(1)
    assert rbo(x, x, ties="b").extrapolated == pytest.approx(1)
    assert rbo(x, x, ties="a").extrapolated < 1


def values(result: Overlap) -> tuple[float, float, float]:
    return result.extrapolated, result.low, result.high


def test_scores_can_be_rankings() -> None:
    scores = {"b": 0.5, "a": 0.9, "c": 0.5}
    expected = values(rbo(["a", {"b", "c"}], "abc", ties="b"))
    # a set has no order, so sums may round differently
    assert values(rbo(scores, "abc", ties="b")) == pytest.approx(expected, rel=1e-12)


def test_rankings_without_common_items_do_not_overlap() -> None:
    assert rbo("abc", "xyz").extrapolated == 0


@pytest.mark.parametrize(
    ("x", "y", "p", "ties", "message"),
    [
        ("abc", "abc", 1, "a", "p == 1"),
        ("abc", "abc", 0, "a", "p == 0"),
        ("abc", "abc", 1.5, "a", "p == 1.5"),
        ("abc", "abc", 0.9, "c", "ties == 'c'"),
        ("", "abc", 0.9, "a", "x is empty"),
        ("abc", "aba", 0.9, "a", "'a' appears twice in y"),
        (3, "abc", 0.9, "a", "x == 3"),
    ],
)
def test_bad_input_is_refused(x: object, y: object, p: float, ties: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rbo(x, y, p, ties=ties)  # type: ignore[arg-type]


def test_the_block_size_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.meta.agreement import overlap

    x, y = ["a", {"b", "c", "d"}, "e", "f"], [{"d", "a"}, "b", {"c", "f"}, "g", "h", {"i", "j"}]
    whole = [values(rbo(x, y, ties=ties)) for ties in "wab"]
    monkeypatch.setattr(overlap, "_BLOCK", 1)
    for ties, expected in zip("wab", whole, strict=True):
        assert values(rbo(x, y, ties=ties)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ties", ["w", "a", "b"])
def test_the_fast_path_without_ties_agrees_with_the_general_one(seed: int, ties: str) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.permutation(12)[: rng.integers(1, 13)].tolist() for _ in range(2))
    shorter, longer = sorted(([[item] for item in ranking] for ranking in (x, y)), key=len)
    fast = _Depths(shorter, longer, ties)
    place = {
        item: i for i, item in enumerate(dict.fromkeys(group[0] for ranking in (longer, shorter) for group in ranking))
    }
    fast.short, fast.long = (_TiedRanking.of(ranking, place, ties) for ranking in (shorter, longer))
    summed = fast._sums(fast.depth)
    for quick, slow in zip((fast.common, fast.sizes, fast.most), summed, strict=False):
        assert quick == pytest.approx(slow)
    beyond = fast.depth > fast.short_end  # no other depth looks at it
    assert fast.mean_part[beyond] == pytest.approx(summed[3][beyond])


def test_long_lists_are_fast() -> None:
    x, y = np.random.default_rng(0).permutation(20_000)[:10_000].tolist(), list(range(10_000))
    result = rbo(x, y, 0.999)  # items × depths would be 150 million
    common = [len(set(x[:d]) & set(y[:d])) for d in (1, 10, 10_000)]
    seen = _Depths([[item] for item in x], [[item] for item in y], "a")
    assert seen.common[[0, 9, 9_999]].tolist() == common
    assert result.low <= result.extrapolated <= result.high
