"""The swap method: Sakai 2007 Fig. 4 line by line, in fractions, and known properties of measures."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import ttest_rel

from cranfield.errors import UsageError
from cranfield.meta.stability import swap
from cranfield.meta.stability.swap import SwapRates, swap_rates
from cranfield.scores.scores import Scores
from tests.meta.simulated import ONE_HIGHLY_RELEVANT, systems_of_known_order


def tenths(seed: int = 0, *, measures: int = 2, runs: int = 4, topics: int = 10) -> Scores:
    """Scores of one decimal: differences of means fall on the edges of bins, and many are ties."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, (measures, runs, topics)) / 10
    return Scores([f"m{m}" for m in range(measures)], [f"r{r}" for r in range(runs)], map(str, range(topics)), values)


def figure_4(values: np.ndarray, sets: list[tuple[list[int], list[int]]]) -> tuple[list[int], list[int], Fraction]:
    """Sakai 2007 Fig. 4 with its 21 bins, for one measure (systems × topics, in tenths); and the largest mean seen."""
    count, swap_count = [0] * 21, [0] * 21
    largest = Fraction(0)

    def mean(system: int, topics: list[int]) -> Fraction:
        return Fraction(sum(round(10 * values[system, q]) for q in topics), 10 * len(topics))

    def bin_of(difference: Fraction) -> int:
        return min(20, int(abs(difference) / Fraction(1, 100)))

    for x in range(len(values)):
        for y in range(x + 1, len(values)):
            for q, q_other in sets:
                d = mean(x, q) - mean(y, q)
                d_other = mean(x, q_other) - mean(y, q_other)
                count[bin_of(d)] += 1
                if d * d_other > 0:
                    continue
                swap_count[bin_of(d)] += 1
    for system in range(len(values)):
        largest = max(largest, *(mean(system, topics) for pair in sets for topics in pair))
    return count, swap_count, largest


@pytest.mark.parametrize("size", [None, 7])
def test_with_replacement_it_is_sakai_2007_figure_4(size):
    scores = tenths()
    result = swap_rates(scores, resamples=60, seed=3, sizes=size)
    times = np.random.default_rng(3).multinomial(size or 10, np.full(10, 1 / 10), size=(60, 2))
    sets = [tuple(np.repeat(np.arange(10), topics).tolist() for topics in pair) for pair in times]
    for m in range(2):
        count, swaps, largest = figure_4(scores.values[m], sets)
        assert result.counts[m, 0].tolist() == count
        assert result.swaps[m, 0].tolist() == swaps
        assert result.largest[m, 0] == pytest.approx(float(largest))
    assert result.sizes == (size or 10,)
    assert result.counts.sum() == 2 * 6 * 60  # measures × pairs × trials


@pytest.mark.parametrize(("topics", "size"), [(10, 5), (10, 3), (11, 5)])
def test_without_replacement_sets_are_disjoint_and_the_rest_is_the_same(topics, size):
    scores = tenths(1, topics=topics)
    result = swap_rates(scores, replacement=False, sizes=size, resamples=50, seed=8)
    drawn = np.concatenate(list(swap._draws(topics, size, False, 50, 8, 7)))
    sets = [tuple(np.flatnonzero(topics).tolist() for topics in pair) for pair in drawn]
    for one, other in sets:
        assert len(one) == len(other) == size
        assert not set(one) & set(other)
    assert len({tuple(one) for one, _ in sets}) > 5
    for m in range(2):
        count, swaps, _ = figure_4(scores.values[m], sets)
        assert result.counts[m, 0].tolist() == count
        assert result.swaps[m, 0].tolist() == swaps


def test_without_replacement_every_topic_is_drawn_alike():
    """400 draws of 3 of 9 topics, twice: each topic is in each set 133 times, sd √(400 · 1/3 · 2/3) = 9.4."""
    drawn = np.concatenate(list(swap._draws(9, 3, False, 400, 0, 100))).sum(axis=0)
    assert (np.abs(drawn - 400 / 3) < 4 * 9.4).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_the_block_size_does_not_change_the_result(monkeypatch, replacement):
    whole = swap_rates(tenths(), replacement=replacement, resamples=100)
    monkeypatch.setattr(swap, "_BLOCK", 40)
    parts = swap_rates(tenths(), replacement=replacement, resamples=100)
    assert parts.counts.tolist() == whole.counts.tolist()
    assert parts.swaps.tolist() == whole.swaps.tolist()


# The filter of Sanderson & Zobel, and the error rate of Buckley & Voorhees.


@pytest.mark.parametrize("replacement", [True, False])
def test_only_comparisons_that_pass_the_t_test_of_scipy_on_the_first_set_count(replacement):
    scores = tenths(3, topics=12)
    result = swap_rates(scores, resamples=40, seed=3, sizes=6, replacement=replacement, significant=0.2)
    drawn = np.concatenate(list(swap._draws(12, 6, replacement, 40, 3, 40))).astype(int)
    for m in range(2):
        counts, swaps = [0] * 21, [0] * 21
        for x, y in itertools.combinations(range(4), 2):
            for pair in drawn:
                first, second = (np.repeat(np.arange(12), times) for times in pair)
                a, b = scores.values[m, x], scores.values[m, y]
                same = np.ptp((a - b)[first].round(6)) == 0  # scipy divides by zero there
                if same and (a - b)[first[0]].round(6) == 0:
                    continue
                if not same and ttest_rel(a[first], b[first]).pvalue > 0.2:
                    continue
                one, other = figure_4(scores.values[m][[x, y]], [(first.tolist(), second.tolist())])[:2]
                counts, swaps = np.add(counts, one), np.add(swaps, other)
        assert result.counts[m, 0].tolist() == list(counts)
        assert result.swaps[m, 0].tolist() == list(swaps)
    assert 0 < result.counts.sum() < 2 * 6 * 40
    assert "only comparisons count whose paired t test" in " ".join(result.notes)


def test_the_filter_needs_two_topics():
    with pytest.raises(UsageError, match="sets of 1 topic, but a t test"):
        swap_rates(tenths(), sizes=1, significant=0.05)


def test_the_error_rate_counts_the_order_that_fewer_sets_have():
    """In fractions, for each pair: the smaller of the numbers of sets that prefer one and the other."""
    scores = tenths(5)
    result = swap_rates(scores, replacement=False, sizes=[2, 5], resamples=60, seed=1, fuzziness=0.1)
    for s, size in enumerate((2, 5)):
        drawn = np.concatenate(list(swap._draws(10, size, False, 60, 1, 60)))[:, 0]
        for m in range(2):
            errors = equal = 0
            tenth = np.rint(10 * scores.values[m]).astype(int)
            for x, y in itertools.combinations(range(4), 2):
                sums = [[sum(tenth[system][topics > 0].tolist()) for system in (x, y)] for topics in drawn]
                ties = [abs(a - b) <= Fraction(1, 10) * max(a, b) for a, b in sums]
                better = sum(a > b and not tie for (a, b), tie in zip(sums, ties, strict=True))
                worse = sum(a < b and not tie for (a, b), tie in zip(sums, ties, strict=True))
                errors, equal = errors + min(better, worse), equal + sum(ties)
            assert result.errors[m, s] == pytest.approx(errors / 360)
            assert result.equal[m, s] == pytest.approx(equal / 360)
    rows = result.error_table().rows
    assert [row[:2] for row in rows] == sorted(
        [(f"m{m}", size) for m in (0, 1) for size in (2, 5)],
        key=lambda row: (row[1], result.errors[int(row[0][1]), (2, 5).index(row[1])]),
    )


def test_the_error_rate_of_systems_far_apart_is_zero_and_of_equal_systems_all_are_equal():
    scores = Scores(["AP"], "abc", map(str, range(6)), [np.array([[0.8] * 6, [0.4] * 6, [0.39] * 6])])
    result = swap_rates(scores, resamples=10)
    assert result.errors.tolist() == [[0.0]]
    assert result.equal[0, 0] == pytest.approx(1 / 3)  # 0.4 and 0.39 differ by 2.5% of 0.4; a third of the pairs


# Sakai 2007 Table 3.


def record(counts: list[int], swaps: list[int], largest: float = 0.5) -> SwapRates:
    arrays = (np.array(array)[None, None] for array in (counts, swaps))
    interval = np.array([[[0.01]], [[np.inf]]])
    return SwapRates(
        ("AP",), (42,), *arrays, np.array([[largest]]), interval, 0.01, 0.05, 0.95, True, 30, 42, 1000, 0, (),
        np.array([[0.1]]), np.array([[0.2]]), 0.05, None,
    )  # fmt: skip


def test_the_five_columns_of_sakai_2007_table_3():
    """Rates 30%, 10%, 5%, 1%: 5% is not above 5%, so 0.02 is enough; 0.02/0.5 = 4%; (40 + 100)/260 reach it."""
    result = record([100, 20, 40, 100], [30, 2, 2, 1])
    assert result.table().rows == (("AP", "0.02", "[0.01, none]", "0.5000", "4%", "53.8%"),)
    assert result.data().rows == (("AP", 42, 0.02, 0.01, np.inf, 0.5, 0.04, 140 / 260),)
    assert [column.header for column in result.table().columns][1:] == [
        "abs. diff.", "95% interval", "max.", "diff./max.", "% pairs satisfying",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "swaps", "required", "satisfying"),
    [
        ([100, 100, 100, 100], [30, 1, 10, 1], 0.03, 0.25),  # 0.01 and 0.02 together: 11/200 is above 5%
        ([100, 100, 100, 100], [30, 1, 8, 1], 0.01, 0.75),  # 9/200 is not
        ([500, 300, 200, 3], [150, 9, 2, 1], 0.01, 503 / 1003),  # 1 of 3 is no evidence: (2 + 1)/203 is below 5%
        ([500, 300, 5, 195], [150, 30, 0, 20], np.nan, 0.0),  # nor is 0 of 5: 20/200 are above 5%
        ([500, 400, 80, 19], [150, 80, 0, 0], np.nan, 0.0),  # 99 comparisons reach 0.02
        ([500, 400, 80, 20], [150, 80, 0, 0], 0.02, 0.1),
        ([100, 100, 0, 100], [30, 10, 0, 1], 0.03, 1 / 3),  # nothing fell into 0.02
        ([100, 100, 0, 0], [30, 1, 0, 0], 0.01, 0.5),  # nothing is as large as 0.02
        ([100, 0, 0, 0], [1, 0, 0, 0], 0.0, 1.0),
        ([100, 100, 100, 100], [30, 30, 30, 30], np.nan, 0.0),
        ([100, 100, 0, 0], [1, 30, 0, 0], np.nan, 0.0),
    ],
)
def test_the_required_difference_is_the_first_whose_smoothed_rate_is_within_the_limit(
    counts, swaps, required, satisfying
):
    result = record(counts, swaps)
    assert result.required[0, 0] == pytest.approx(required, nan_ok=True)
    assert result.satisfying[0, 0] == pytest.approx(satisfying)
    assert any("no difference is large enough" in note for note in result.notes) == np.isnan(required)


def close_systems() -> Scores:
    """30 systems of 6 kinds whose means differ little, so that few differences are large."""
    rng = np.random.default_rng(2)
    able, easy = rng.normal(0, 0.02, 30), rng.beta(2, 4, 40)
    kinds = rng.normal(0, 0.1, (6, 40))[rng.integers(0, 6, 30)]
    values = easy[:, None] + able + kinds.T + rng.normal(0, 0.05, (30, 40)).T
    return Scores.from_matrix(np.clip(values, 0, 1), measure="AP")


def test_an_almost_empty_tail_does_not_decide_the_required_difference():
    """No bin above the limit from there on: 0.07 to 0.15 over these seeds. Smoothed: 0.07 to 0.09."""
    scores = close_systems()
    results = [swap_rates(scores, resamples=100, seed=seed) for seed in range(8)]
    last_above = [np.flatnonzero(result.rates[0, 0] > 0.05)[-1] * 0.01 for result in results]
    assert max(last_above) - min(last_above) > 0.05
    required = np.array([result.required[0, 0] for result in results])
    assert required.max() - required.min() < 0.021
    low, high = results[0].interval[:, 0, 0]
    assert low <= np.median(required) <= high


def test_the_interval_holds_the_answer_of_many_resamples():
    """95% intervals of 100 resamples should hold the answer of 5,000 in 95 of 100 seeds; at least 17 of 20 here."""
    scores = close_systems().select(runs=[f"run{i}" for i in range(1, 9)])
    answer = swap_rates(scores, resamples=5_000, seed=99).required[0, 0]
    intervals = [swap_rates(scores, resamples=100, seed=seed).interval[:, 0, 0] for seed in range(20)]
    assert sum(low - 1e-9 <= answer <= high + 1e-9 for low, high in intervals) >= 17
    assert any(low < high for low, high in intervals)


def test_smoothed_rates_are_those_of_isotonic_regression():
    """scipy.optimize.isotonic_regression, weighted by the number of comparisons."""
    from scipy.optimize import isotonic_regression

    rng = np.random.default_rng(5)
    counts = rng.integers(1, 40, (50, 21))
    swaps = rng.binomial(counts, np.linspace(0.5, 0.02, 21))
    for count, swapped, rates in zip(counts, swaps, swap.falling_rates(counts, swaps), strict=True):
        expected = isotonic_regression(swapped / count, weights=count, increasing=False).x
        assert rates == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "thin"), [([400, 300, 99, 50], True), ([400, 99, 300, 50], True), ([400] * 4, False)]
)
def test_a_caution_says_that_few_comparisons_decide(counts, thin):
    result = record(counts, [counts[0] // 2, counts[1] // 5, 0, 0])
    assert result.required[0, 0] == 0.02
    assert any("caution: fewer than 100" in note and note.endswith(": AP") for note in result.notes) == thin


def test_columns_are_the_curves():
    columns = record([100, 20, 0, 100], [30, 2, 0, 1]).columns()
    assert columns["difference"].tolist() == [0, 0.01, 0.02, 0.03]
    assert columns["rate"].tolist() == pytest.approx([0.3, 0.1, np.nan, 0.01], nan_ok=True)


def test_bins_and_their_width_can_be_chosen():
    fine = swap_rates(tenths(), resamples=100)
    coarse = swap_rates(tenths(), resamples=100, bins=5, width=0.05)
    # Five bins of 0.01 make one of 0.05; the last takes what is beyond.
    assert coarse.counts[0, 0, :4].tolist() == fine.counts[0, 0, :20].reshape(4, 5).sum(axis=1).tolist()
    assert coarse.swaps[0, 0, 4] == fine.swaps[0, 0, 20]


def test_lower_is_better_has_the_same_swaps_and_its_own_maximum():
    values = tenths(measures=1).values
    up, down = (swap_rates(Scores([name], "abcd", map(str, range(10)), values), resamples=50) for name in ("AP", "E"))
    assert up.swaps.tolist() == down.swaps.tolist()
    assert up.largest.tolist() == down.largest.tolist()


# Directions.


def test_measures_rank_by_the_swap_method_as_in_sakai_2007_table_3():
    """Q and AP above P+, P+ above NWRR, NWRR above RR: comparisons satisfying in six collections together."""
    result = sum(
        swap_rates(systems_of_known_order(seed, ONE_HIGHLY_RELEVANT), resamples=300).satisfying[:, 0]
        for seed in range(6)
    )
    q, ap, p_plus, nwrr, rr = result.tolist()
    assert min(q, ap) > p_plus > nwrr > rr


def test_more_topics_swap_less():
    """The larger the topic sets, the lower the rates, bin by bin (Voorhees & Buckley 2002)."""
    scores = systems_of_known_order(0, ["AP"])
    result = swap_rates(scores, replacement=False, sizes=[5, 10, 20], resamples=400)
    assert result.sizes == (5, 10, 20)
    small, middle, large = result.rates[0, :, 1:5]
    assert (small > middle).all()
    assert (middle > large).all()
    assert result.table().columns[1].header == "topics"


# Rules and bad input.


def test_all_ties_are_swaps():
    scores = Scores(["AP"], "abc", ["1", "2", "3"], np.full((1, 3, 3), 0.3))
    result = swap_rates(scores, resamples=20)
    assert result.rates[0, 0, 0] == 1
    assert np.isnan(result.required[0, 0])
    assert result.satisfying[0, 0] == 0
    assert result.table().rows == (("AP", "-", "[none, none]", "0.3000", "-", "0.0%"),)


def test_notes_describe_the_method():
    actual = " ".join(swap_rates(tenths(), resamples=70, seed=2).notes)
    for part in ("4 systems, 10 topics", "B = 70", "seed 2", "with replacement", "ties count as swaps", "0.20 up"):
        assert part in actual


def test_progress_reaches_the_end():
    seen = []
    swap_rates(tenths(), sizes=[2, 5], resamples=30, progress=lambda *now: seen.append(now))
    assert seen[-1] == (60, 60)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resamples": 0}, "resamples == 0"),
        ({"bins": 0}, "bins == 0"),
        ({"width": 0}, "width == 0"),
        ({"rate": 2}, "rate == 2"),
        ({"sizes": 11}, "sizes == 11, must be at most 10"),
        ({"sizes": 6, "replacement": False}, "sizes == 6, must be at most 5"),
        ({"sizes": []}, "sizes is empty"),
        ({"sizes": [2, 0]}, "sizes == 0"),
        ({"measures": "m9"}, "no measure 'm9'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        swap_rates(tenths(), **options)


def test_bad_scores_are_refused():
    with pytest.raises(UsageError, match="2 systems, must be 3 or more"):
        swap_rates(tenths(runs=2))
    with pytest.raises(UsageError, match="two disjoint sets need 2 or more"):
        swap_rates(tenths(topics=1), replacement=False)
