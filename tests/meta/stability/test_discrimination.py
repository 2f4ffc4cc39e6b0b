"""Discriminative power: the papers' figures line by line, and known properties of measures on simulated systems."""

from fractions import Fraction

import numpy as np
import pytest

from cranfield.comparison import compare
from cranfield.comparison.methods.paired_resampling import bootstrap_borderline
from cranfield.comparison.pair_tests import TESTS, Matrix, TestSettings
from cranfield.errors import UsageError
from cranfield.meta.stability.discrimination import DiscriminativePower, discriminative_power
from cranfield.scores.scores import Scores
from tests.meta.simulated import ONE_HIGHLY_RELEVANT, systems_of_known_order
from tests.oracles import resample as oracle


def made(seed: int = 0, *, measures: int = 2, runs: int = 4, topics: int = 12, gap: float = 0.1) -> Scores:
    """Run r3 is better than r2, and so on; the second measure is noisier than the first."""
    rng = np.random.default_rng(seed)
    values = [
        gap * np.arange(runs)[:, None] + rng.random((1, topics)) + rng.normal(0, 0.15 * (m + 1), (runs, topics))
        for m in range(measures)
    ]
    return Scores([f"m{m}" for m in range(measures)], [f"r{r}" for r in range(runs)], map(str, range(topics)), values)


def pairs(runs: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(runs) for j in range(i + 1, runs)]


# The figures.


@pytest.mark.parametrize(("alpha", "seed"), [(0.05, 0), (0.2, 7)])
def test_bootstrap_is_sakai_2013_figures_2_and_3(alpha, seed):
    scores = made(seed)
    result = discriminative_power(scores, alpha=alpha, resamples=200, seed=seed, asl="share")
    for m in range(2):
        differences = [(scores.values[m, i] - scores.values[m, j]).tolist() for i, j in pairs(4)]
        asl = [oracle.paired_bootstrap_asl(z, 200, seed) for z in differences]
        assert result.p[m].tolist() == asl
        assert result.significant[m] == sum(level < alpha for level in asl)
        assert result.delta[m] == pytest.approx(
            max(oracle.bootstrap_delta(z, 200, seed, alpha)[1] for z in differences)
        )
    assert 0 < result.significant.sum() < 12


@pytest.mark.parametrize("rank", [1, 4, 10, 39])
def test_the_borderline_resample_where_many_have_the_same_t(rank):
    """All numbers are exact in binary, so t² = r (n − 1) / (1 − r) with r = S1² / (n S2) is compared as fractions."""
    n, resamples = 8, 40
    x, y = np.random.default_rng(3).integers(0, 3, (2, n)) / 8
    matrix = Matrix.of({"x": x.tolist(), "y": y.tolist()})
    requested = TestSettings(alpha=rank / resamples, resamples=resamples, seed=5)
    w = [Fraction(a) - Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    w = [x - sum(w) / n for x in w]
    drawn = []
    for b in range(resamples):
        random = oracle.Random(5, b)
        sample = [w[random.below(n)] for _ in range(n)]
        squares = sum(x**2 for x in sample)
        drawn.append((Fraction(sum(sample) ** 2, n * squares) if squares else Fraction(0), abs(sum(sample)) / n))
    assert len({t for t, _ in drawn}) < resamples - 5  # many ties
    result = bootstrap_borderline(matrix, np.array([0]), np.array([1]), requested)
    assert result.difference[0] == float(sorted(drawn, reverse=True)[rank - 1][1])


def test_the_borderline_does_not_change_the_p_values_of_the_bootstrap(monkeypatch):
    scores = made(2, runs=5)
    matrix = Matrix.of(scores["m1"])
    first, second = (side.astype(np.int64) for side in np.triu_indices(5, 1))
    expected = TESTS.find("bootstrap").run(matrix, first, second, TestSettings(resamples=3000)).p
    assert bootstrap_borderline(matrix, first, second, TestSettings(resamples=3000)).p.tolist() == expected.tolist()
    whole = bootstrap_borderline(matrix, first, second, TestSettings(resamples=1000))
    monkeypatch.setattr("cranfield.comparison.methods.paired_resampling.MOST_SUMS", 1)
    part = bootstrap_borderline(matrix, first, second, TestSettings(resamples=3000))
    assert part.p.tolist() == expected.tolist()
    assert part.difference.tolist() == whole.difference.tolist()
    assert "first 1,000 resamples" in part.notes[0]


@pytest.mark.parametrize(
    ("test", "resamples"), [("bootstrap", 1_000), ("randomised-tukey", 5_000), ("randomized tukey", 5_000)]
)
def test_the_default_number_of_resamples_is_that_of_sakai_2013(test: str, resamples: int) -> None:
    # Sakai 2013 §5.1: "we used B = 1,000 for the bootstrap tests ... we use B = 5,000 for randomised Tukey's HSD"
    result = discriminative_power(made(1), test=test)
    assert result.resamples == resamples
    assert np.array_equal(result.p, discriminative_power(made(1), test=test, resamples=resamples).p)


def test_randomised_tukey_is_sakai_2013_figures_4_and_5():
    scores = made(1)
    result = discriminative_power(scores, test="randomised-tukey", resamples=200, seed=3, asl="share")
    for m in range(2):
        u = scores.values[m].T.tolist()
        asl = oracle.randomised_tukey_asl(u, 200, 3)
        assert result.p[m].tolist() == list(asl.values())
        if any(level < 0.05 for level in asl.values()):
            assert result.delta[m] == pytest.approx(oracle.tukey_delta(u, asl, 0.05))
    assert result.significant.sum() > 0


@pytest.mark.parametrize("test", sorted(TESTS))
def test_p_values_agree_with_compare_for_every_test(test):
    scores = made(4, topics=15)
    result = discriminative_power(scores, test=test, resamples=300)
    expected = compare(
        scores, test=test, resamples=300, **({} if TESTS.find(test).simultaneous else {"correction": "none"})
    )
    columns = expected.columns()
    assert result.p.ravel() == pytest.approx(columns["p"], rel=1e-12)
    assert result.differ.ravel().tolist() == columns["significant"].tolist()
    if test != "bootstrap":
        for m in range(2):
            gaps = np.abs(result.difference[m])[result.differ[m]]
            assert np.isnan(result.delta[m]) if not len(gaps) else result.delta[m] == gaps.min()


# The tables.


def record(differ: np.ndarray, delta: list[float]) -> DiscriminativePower:
    """As from 20 systems, 24 topics."""
    first, second = (side.astype(np.int64) for side in np.triu_indices(20, 1))
    names = tuple(f"m{m}" for m in range(len(differ)))
    nothing = np.zeros(differ.shape)
    return DiscriminativePower(
        names, tuple(map(str, range(20))), first, second, nothing, np.where(differ, 0.01, 0.5), differ,
        np.array(delta), "randomised-tukey", True, 0.05, 24, 1000, 0, "seed", (),
    )  # fmt: skip


def test_table_of_power_and_of_overlap_as_in_sakai_2013_tables_3_and_4():
    """Sakai 2013 Table 4, I-rec and P+Q#: 3/48/2, so 51/190 = 26.8% and 50/190 = 26.3%, in Table 3 Δ 0.23 and 0.15."""
    differ = np.zeros((2, 190), dtype=bool)
    differ[0, :51] = True
    differ[1, 3:53] = True
    result = record(differ[::-1], [0.1512, 0.2345])
    assert result.table().rows == (("m1", "51/190", "26.8%", "0.23"), ("m0", "50/190", "26.3%", "0.15"))
    assert record(differ, [0.2345, 0.1512]).overlap().rows == (("m0", "3/48/2"),)
    assert record(differ, [0.2345, 0.1512]).overlap_data().rows == (("m0", "m1", 3, 48, 2),)
    assert result.data().rows[0] == ("m1", 190, 51, 51 / 190, 0.2345)


def test_asl_curves_are_sorted_and_the_most_discriminative_comes_first():
    result = discriminative_power(made(5), resamples=300)
    curves = result.asl()
    assert result.significant[0] > result.significant[1]
    assert list(dict.fromkeys(curves["measure"].tolist())) == ["m0", "m1"]
    assert curves["p"][:6].tolist() == sorted(result.p_of("m0").tolist())
    assert curves["pair"].tolist() == [1, 2, 3, 4, 5, 6] * 2


@pytest.mark.parametrize("measure", ["AP", "E"])  # of E lower is better, which turns no difference round
def test_pairs_have_the_differences_of_means(measure):
    scores = Scores([measure], "abcd", map(str, range(12)), made(6, measures=1).values)
    result = discriminative_power(scores, test="t").pairs()
    means = scores.mean()
    for row in zip(*(result[name].tolist() for name in ("measure", "system", "other", "difference")), strict=True):
        measure, system, other, difference = row
        assert difference == pytest.approx(means[system][measure] - means[other][measure])


def test_notes_describe_the_method():
    actual = " ".join(discriminative_power(made(), resamples=200, seed=9).notes)
    for part in ("bootstrap test at α = 0.05", "B = 200", "seed 9", "4 systems, 6 pairs, 12 topics", "0.2649"):
        assert part in actual  # 1 − 0.95⁶ = 0.2649
    assert "all pairs together" in " ".join(discriminative_power(made(), test="tukey").notes)


# Directions.


def test_measures_rank_by_power_as_in_sakai_2007_table_4():
    """Q and AP above P+, P+ above NWRR, NWRR above RR: significant pairs of six collections together."""
    result = np.zeros(5, dtype=np.int64)
    for seed in range(6):
        result += discriminative_power(systems_of_known_order(seed, ONE_HIGHLY_RELEVANT), resamples=500).significant
    q, ap, p_plus, nwrr, rr = result.tolist()
    assert min(q, ap) > p_plus > nwrr > rr


def test_pairs_of_randomised_tukey_are_a_subset_of_the_bootstraps():
    """Sakai 2013 §5.3: a proper subset."""
    scores = systems_of_known_order(1, ["AP"])
    tukey, bootstrap = (discriminative_power(scores, test=name).differ for name in ("randomised-tukey", "bootstrap"))
    assert not (tukey & ~bootstrap).any()
    assert tukey.sum() < bootstrap.sum()


# Rules and bad input.


def test_the_share_rule_is_below_alpha_and_the_default_at_most_alpha():
    result = discriminative_power(made(8), resamples=19, alpha=0.05)
    plain = discriminative_power(made(8), resamples=19, alpha=0.05, asl="share")
    hits = np.round(result.p * 20 - 1)
    assert (result.differ == (hits == 0)).all()  # (1 + 0) / 20 is α
    assert (plain.p == hits / 19).all()
    assert (plain.differ == (hits / 19 < 0.05)).all()


@pytest.mark.parametrize(("asl", "differs"), [("plus-one", True), ("share", False)])
def test_a_p_value_equal_to_alpha(asl, differs):
    p = discriminative_power(made(8), resamples=100, asl=asl).p
    alpha = float(p[(p > 0.02) & (p < 0.5)][0])
    result = discriminative_power(made(8), resamples=100, alpha=alpha, asl=asl)
    assert (result.differ[p == alpha] == differs).all()


def test_with_too_few_resamples_the_required_difference_is_unknown():
    result = discriminative_power(made(), resamples=10)
    assert np.isnan(result.delta).all()
    assert result.table().rows[0][3] == "-"
    assert any("too few" in note for note in result.notes)


def test_the_number_of_threads_does_not_change_the_result():
    one, more = (discriminative_power(made(), resamples=500, threads=n) for n in (1, 3))
    assert one.p.tolist() == more.p.tolist()
    assert one.delta.tolist() == more.delta.tolist()


def test_a_note_names_measures_that_tie_all_systems():
    scores = Scores(["AP"], "abc", ["1", "2", "3"], np.full((1, 3, 3), 0.5))
    for test in ("bootstrap", "randomised-tukey", "t", "wilcoxon"):
        result = discriminative_power(scores, test=test, resamples=100)
        assert result.significant.tolist() == [0]
        assert np.isnan(result.delta[0])
        assert any("score the same on every topic by AP" in note for note in result.notes)


def test_topics_undefined_for_one_measure_are_left_out_of_all():
    scores = made()
    values = np.array(scores.values)
    values[1, 2, 3] = np.nan
    result = discriminative_power(Scores(scores.measures, scores.runs, scores.topics, values), test="t")
    kept = scores.select(topics=[t for t in scores.topics if t != "3"])
    assert result.topics == 11
    assert result.p == pytest.approx(discriminative_power(kept, test="t").p, rel=1e-12)


def test_progress_reaches_the_end():
    seen = []
    for test in ("bootstrap", "randomised-tukey"):
        discriminative_power(made(), test=test, resamples=100, progress=lambda done, total: seen.append((done, total)))
        assert seen[-1] == (200, 200)


def test_ctrl_c_raises_instead_of_using_fewer_resamples():
    """A stopped test returns fewer resamples, but all measures need the same number."""
    seen = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        discriminative_power(made(), test="randomised-tukey", resamples=10_000, progress=stop)
    assert seen == [(8192, 20_000)]  # two measures


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha == 1.5"),
        ({"resamples": 0}, "resamples == 0"),
        ({"test": "tuckey"}, "did you mean 'tukey'"),
        ({"test": "t", "asl": "share"}, "for tests that resample; t does not"),
        ({"asl": "sead"}, "asl == 'sead'"),
        ({"measures": ["m7"]}, "no measure 'm7'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        discriminative_power(made(), **options)


def test_bad_scores_are_refused():
    with pytest.raises(UsageError, match="2 systems, must be 3 or more"):
        discriminative_power(made(runs=2))
    with pytest.raises(UsageError, match="1 topic, discriminative power needs 2 or more"):
        discriminative_power(made(topics=1))
    values = np.array(made().values)
    values[1, 2] = np.nan
    with pytest.raises(UsageError, match="m1 has no value for run 'r2'"):
        discriminative_power(Scores(["m0", "m1"], ["r0", "r1", "r2", "r3"], map(str, range(12)), values))


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"statistic": "gmean"}, "Δ: smallest significant difference of geometric means"),
        ({"statistic": "median"}, "Δ: smallest significant difference of medians"),
        ({"test": "t"}, "Δ: smallest significant difference of means"),
        ({"test": "randomised-tukey"}, "Δ: smallest significant difference of means (Sakai 2013 Fig. 5)"),
    ],
)
def test_the_note_on_delta_names_what_is_compared_and_cites_the_figure_for_its_test_only(settings, note):
    values = np.random.default_rng(0).uniform(0.1, 0.9, (1, 3, 12))
    scores = Scores(["AP"], "abc", map(str, range(12)), values)
    assert note in discriminative_power(scores, resamples=50, **settings).notes
