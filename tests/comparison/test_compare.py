"""Comparing all systems at once: pairs, corrections, groups, intervals and notes."""

import json
import math
import re

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import cranfield as cf
from cranfield.comparison.pair_tests import TESTS
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.notes import shown_notes
from cranfield.scores.scores import Scores

RNG = np.random.default_rng(7)
TOPICS = [str(301 + i) for i in range(30)]
DIFFICULTY = RNG.beta(2, 3, 30)
VALUES = np.clip(DIFFICULTY[:, None] + np.array([0, 0.02, 0.1, 0.25]) + RNG.normal(0, 0.08, (30, 4)), 0, 1)
NAMES = ["coord", "bm25", "dense", "fusion"]
SCORES = Scores.from_matrix(VALUES, runs=NAMES, topics=TOPICS, measure="nDCG@10")
PAIRS = [(j, i) for i in range(4) for j in range(i + 1, 4)]  # better − worse: the means rise from left to right


def test_t_with_holms_correction_agrees_with_scipy_and_statsmodels() -> None:
    rows = list(cf.compare(SCORES).rows())
    expected = [stats.ttest_rel(VALUES[:, i], VALUES[:, j]) for i, j in PAIRS]
    assert [(row["system"], row["other"]) for row in rows] == [(NAMES[i], NAMES[j]) for i, j in PAIRS]
    np.testing.assert_allclose([row["p"] for row in rows], [result.pvalue for result in expected], rtol=1e-9)
    np.testing.assert_allclose([row["t"] for row in rows], [result.statistic for result in expected], rtol=1e-9)
    holm = multipletests([result.pvalue for result in expected], method="holm")[1]
    np.testing.assert_allclose([row["p adjusted"] for row in rows], holm, rtol=1e-9)


RESAMPLING = [name for name in TESTS if TESTS.find(name).resampling]


@pytest.mark.parametrize("test", RESAMPLING)
def test_p_can_be_the_share_of_resamples(test: str) -> None:
    usual, shares = (cf.compare(SCORES, test=test, resamples=199, asl=rule) for rule in ("plus-one", "share"))
    assert shares.asl == "share"
    for one, other in zip(usual.families, shares.families, strict=True):
        hits = np.round(one.tests.p * 200 - 1)  # p is (1 + hits) / (1 + B)
        np.testing.assert_allclose(other.tests.p, hits / 199, atol=1e-12)
    assert "B = 199, seed 0; p = hits / B, significant below α" in shares.method()
    assert not any("resamples" in note and "reach" in note for note in shares.notes)


def test_a_share_of_resamples_has_to_be_below_alpha() -> None:
    result = cf.compare(SCORES, test="randomised-tukey", resamples=200, asl="share")
    assert sorted(result.columns()["p"])[:1] == [0]
    least = min(p for p in result.columns()["p"].tolist() if p > 0)
    at = cf.compare(SCORES, test="randomised-tukey", resamples=200, asl="share", alpha=least)
    above = cf.compare(SCORES, test="randomised-tukey", resamples=200, asl="share", alpha=least + 0.001)
    assert above.significant == at.significant + 1
    p = at.columns()["p"]
    assert at.columns()["significant"].tolist() == (p < least).tolist()
    # meta power has the same rule
    power = cf.meta.power(SCORES, test="randomised-tukey", resamples=200, alpha=least, asl="share")
    assert power.columns()["significant"].tolist() == [at.significant]


def test_the_share_of_resamples_is_for_tests_that_resample() -> None:
    with pytest.raises(UsageError, match="compare: asl == 'share' is for tests that resample; t does not"):
        cf.compare(SCORES, asl="share")
    with pytest.raises(UsageError, match="asl == 'hits', must be one of 'plus-one', 'share'"):
        cf.compare(SCORES, test="bootstrap", asl="hits")


INTERVAL_LEVELS = {  # of each of 6 pairs, so that all together have level 0.95
    "none": 0.95,
    "bonferroni": 1 - 0.05 / 6,  # Dunn, JASA 1961
    "holm": 1 - 0.05 / 6,  # has no intervals of its own
    "hochberg": 1 - 0.05 / 6,
    "sidak": 0.95 ** (1 / 6),  # Šidák, JASA 1967
    "holm-sidak": 0.95 ** (1 / 6),
    "bh": 0.95,
}


@pytest.mark.parametrize("test", ["t", "randomisation"])
@pytest.mark.parametrize("correction", list(INTERVAL_LEVELS))
def test_intervals_are_corrected_for_the_number_of_comparisons(test: str, correction: str) -> None:
    result = cf.compare(SCORES, test=test, correction=correction, resamples=200)
    assert result.interval_level == pytest.approx(INTERVAL_LEVELS[correction])
    for row, (i, j) in zip(result.rows(), PAIRS, strict=True):
        interval = stats.ttest_rel(VALUES[:, i], VALUES[:, j]).confidence_interval(INTERVAL_LEVELS[correction])
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    of_pairs = [note for note in result.notes if note.startswith("[low, high] of a difference")]
    assert bool(of_pairs) == (correction != "none")
    assert ("each pair alone, not corrected" in "".join(of_pairs)) == (correction == "bh")
    assert not [note for note in result.ranking().notes if note in of_pairs]


@pytest.mark.parametrize("correction", ["bonferroni", "sidak"])
def test_an_interval_contains_0_exactly_if_the_corrected_test_finds_no_difference(correction: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 0.2, (30, 12)) + np.linspace(0, 0.3, 12)
    rows = list(cf.compare(values, correction=correction).rows())
    assert {row["significant"] for row in rows} == {True, False}
    assert all(row["significant"] == (not row["low"] <= 0 <= row["high"]) for row in rows)


def test_no_interval_beside_holms_decisions_excludes_0_for_a_pair_that_does_not_differ() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 0.2, (30, 12)) + np.linspace(0, 0.3, 12)
    result = cf.compare(values)
    rows = list(result.rows())
    contains = [row["low"] <= 0 <= row["high"] for row in rows]
    assert all(inside or row["significant"] for inside, row in zip(contains, rows, strict=True))
    odd = sum(inside and row["significant"] for inside, row in zip(contains, rows, strict=True))
    assert odd > 0
    assert any(f"the interval of {odd} pair" in note and "contains 0 although" in note for note in result.notes)


def test_intervals_of_the_bootstrap_say_that_they_are_of_each_pair_alone() -> None:
    notes = cf.compare(SCORES, test="bootstrap", resamples=500).notes
    assert any("95% interval of each pair alone, not corrected" in note for note in notes)


def many_systems() -> Scores:
    """129 systems whose groups go beyond the letter z."""
    rng = np.random.default_rng(1)
    values = rng.beta(2, 3, (50, 1)) + np.linspace(0, 0.45, 129) + rng.normal(0, 0.15, (50, 129))
    return Scores.from_matrix(values, measure="AP")


def test_groups_of_129_systems_are_unambiguous_in_every_format() -> None:
    result = cf.compare(many_systems(), test="tukey")
    significant = {(row["system"], row["other"]): row["significant"] for row in result.rows()}
    texts = {}
    for line in result.ranking().text().splitlines()[2:131]:
        words = line.split()
        texts[words[1]] = words[5]
    data = {row["system"]: row["groups"] for row in json.loads(result.to_json())["ranking"]}
    latex = dict(re.findall(r"(?m)^(\w+) & .*\\mathrm\{(\w+)\}", result.to_latex(marks="groups")))
    assert len(texts) == 129
    assert texts == data == latex
    assert any(letter.isupper() for letter in "".join(texts.values()))  # there are more than 26 groups
    for (system, other), differ in significant.items():
        assert differ == (not set(texts[system]) & set(texts[other]))
    assert "groups: systems with a letter in common do not differ significantly, all others do" in result.notes
    assert "Systems with a letter in common do not differ significantly, all others do" in result.to_latex(
        marks="groups"
    )


def test_groups_that_do_not_fit_step_aside_and_the_table_says_so() -> None:
    result = cf.compare(many_systems(), test="t")  # tests pair by pair give hundreds of groups
    table = result.ranking()
    assert "groups" not in [column.header for column in table.columns]
    assert max(map(len, table.text().splitlines())) < 200
    assert any("groups are not shown" in note and "beats, loses to: the number" in note for note in table.notes)
    assert not any("letter in common" in note for note in table.notes)
    assert {row["groups"] for row in json.loads(result.to_json())["ranking"]} == {None}
    assert "mathrm" not in result.to_latex(marks="groups")
    assert "letter in common" not in result.to_latex()


def test_a_measure_whose_groups_do_not_fit_is_named_among_several() -> None:
    scores = many_systems()
    few = Scores(["P@10"], scores.runs, scores.topics, scores.values * 0 + np.arange(50) / 50)
    result = cf.compare(Scores.combine(scores, few), test="t")
    assert [row[4] for row in result.ranking().rows] == [None] * 129 + ["a"] * 129
    assert any(note.startswith("groups of AP are not shown") for note in result.notes)


def test_what_an_assumption_says_agrees_with_whether_it_holds() -> None:
    rng = np.random.default_rng(0)
    good = {"a": rng.normal(0.4, 0.1, 40).tolist(), "b": rng.normal(0.5, 0.1, 40).tolist()}
    same = [0.1] * 30
    bad = {"a": [*same, *np.linspace(0, 1, 10) ** 9], "b": [*same, *[0.2] * 10]}
    negations = ("do not look normal", "the same score on more than half", "are few", "not on one")
    for data, measure, holds in ((good, "P@10", True), (bad, "AP", False)):
        for systems in (data, {**data, "c": data["a"][::-1] if holds else data["b"]}):
            result = cf.compare(systems, measure)
            for assumption in result.assumptions:
                negative = any(words in assumption.says for words in negations)
                assert negative == (assumption.holds is False), assumption
            if holds:
                assert all(assumption.holds for assumption in result.assumptions)


def test_a_caution_is_stated_once_for_all_measures() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((3, 4, 20))
    scores = Scores(["AP", "nDCG@10", "P@10"], "abcd", map(str, range(20)), values)
    cautions = [note for note in cf.compare(scores).notes if note.startswith("caution")]
    assert len([note for note in cautions if "20 topics are few" in note]) == 1
    (scale,) = [note for note in cautions if "interval scale" in note]
    assert scale == "caution: means need an interval scale; AP, nDCG@10 are not on one"


def test_below_a_comparison_are_the_test_and_the_first_caution_in_lines_of_a_terminal() -> None:
    values = np.random.default_rng(0).random((1, 4, 30))
    result = cf.compare(Scores(["nDCG@5"], "abcd", map(str, range(30)), values))
    test, caution, _ = shown_notes(result.notes)
    assert test == "t test, two-sided; α = 0.05; n = 30 topics; p corrected for 6 comparisons (holm)"
    assert caution == "caution: means need an interval scale; nDCG@5 is not on one"
    assert max(map(len, (test, caution))) <= 80
    assert any("Ferro & Maistro" in note for note in result.notes)  # the source is among the others


def test_wins_ties_and_losses_are_counted_topic_by_topic() -> None:
    row = next(cf.compare({"a": [0.3, 0.1, 0.5, 0.2], "b": [0.1 + 0.2, 0.2, 0.4, 0.1]}).rows())
    assert (row["win"], row["tie"], row["loss"]) == (2, 1, 1)  # 0.1 + 0.2 differs from 0.3 only in its last bit


def test_against_a_baseline_the_difference_is_system_minus_baseline() -> None:
    result = cf.compare(SCORES, baseline="bm25")
    rows = list(result.rows())
    assert [row["system"] for row in rows] == ["coord", "dense", "fusion"]
    assert {row["other"] for row in rows} == {"bm25"}
    np.testing.assert_allclose([row["difference"] for row in rows], VALUES.mean(0)[[0, 2, 3]] - VALUES.mean(0)[1])
    marks = {row[1]: row[3] for row in result.ranking().rows}
    assert marks["bm25"] == "baseline"
    assert marks["fusion"] == "▲"


def test_one_sided_tests_against_a_baseline_agree_with_scipy() -> None:
    rows = list(cf.compare(SCORES, baseline="bm25", alternative="greater").rows())
    expected = stats.ttest_rel(VALUES[:, 3], VALUES[:, 1], alternative="greater").pvalue
    assert next(row["p"] for row in rows if row["system"] == "fusion") == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("test", ["tukey", "randomised-tukey", "scheffe"])
def test_intervals_overlap_exactly_when_systems_do_not_differ(test: str) -> None:
    result = cf.compare(SCORES, test=test, resamples=2000)
    family = result.families[0]
    low, high = family.intervals(0.95)
    for i, j, p in zip(family.first, family.second, family.adjusted, strict=True):
        overlap = low[i] <= high[j] and low[j] <= high[i]
        assert overlap == (p > 0.05)


def test_letters_agree_with_the_pairs() -> None:
    result = cf.compare(SCORES, test="tukey")
    groups = {row[1]: set(str(row[3])) for row in result.ranking().rows}
    for row in result.rows():
        assert row["significant"] == (not groups[row["system"]] & groups[row["other"]])


def test_several_measures_are_corrected_together() -> None:
    both = Scores.combine(SCORES, Scores.from_matrix(VALUES**2, runs=NAMES, topics=TOPICS, measure="AP"))
    alone = [row["p"] for row in cf.compare(both, "nDCG@10", correction="none").rows()]
    alone += [row["p"] for row in cf.compare(both, "AP", correction="none").rows()]
    together = [row["p adjusted"] for row in cf.compare(both, ["nDCG@10", "AP"], correction="bonferroni").rows()]
    np.testing.assert_allclose(together, np.minimum(1, np.array(alone) * 12))


def test_several_collections_are_corrected_together() -> None:
    result = cf.compare({"robust": SCORES, "web": SCORES.select(topics=TOPICS[:20])}, correction="bonferroni")
    assert result.comparisons == 12
    assert {row["collection"] for row in result.rows()} == {"robust", "web"}
    assert {row["topics"] for row in result.rows()} == {30, 20}


def test_runs_of_one_system_are_averaged_topic_by_topic() -> None:
    seeds = {"dense-1": "dense", "dense-2": "dense"}
    names = ["bm25", "dense-1", "dense-2"]
    data = Scores.from_matrix(VALUES[:, :3], runs=names, topics=TOPICS, measure="AP")
    result = cf.compare(data, systems=seeds)
    row = next(result.rows())
    assert row["p"] == pytest.approx(stats.ttest_rel(VALUES[:, 0], VALUES[:, 1:3].mean(axis=1)).pvalue, rel=1e-9)
    assert any("dense (2)" in note for note in result.notes)


def test_identical_systems_have_p_1_and_effect_0_with_a_note() -> None:
    x = VALUES[:, 0].tolist()
    for test in TESTS:
        row = next((result := cf.compare({"a": x, "b": x}, test=test, resamples=200)).rows())
        assert row["p"] == 1, test
        assert row["d_z"] == 0, test
        assert any("identical on every topic" in note for note in result.notes), test


def test_every_registered_test_finds_a_large_difference_and_not_a_null_one() -> None:
    for test in TESTS:
        rows = {(r["system"], r["other"]): r for r in cf.compare(SCORES, test=test, resamples=2000).rows()}
        assert rows["fusion", "coord"]["significant"], test
        assert not rows["bm25", "coord"]["significant"] or rows["bm25", "coord"]["p adjusted"] > 1e-4, test
        assert all(0 < row["p"] <= 1 for row in rows.values()), test


@pytest.mark.parametrize("test", ["bootstrap", "randomisation", "randomised-tukey"])
def test_the_same_seed_gives_the_same_p_at_any_number_of_threads(test: str) -> None:
    one_thread, four_threads, other_seed = (
        [row["p"] for row in cf.compare(SCORES, test=test, resamples=3000, seed=seed, threads=threads).rows()]
        for seed, threads in ((3, 1), (3, 4), (4, 2))
    )
    assert one_thread == four_threads
    assert one_thread != other_seed


def test_listwise_drops_a_topic_everywhere_pairwise_only_where_needed() -> None:
    holes = VALUES.copy()
    holes[0, 0] = math.nan
    listwise, pairwise = (
        [row["topics"] for row in cf.compare(Scores.from_matrix(holes), nan=rule).rows()]
        for rule in ("listwise", "pairwise")
    )
    assert listwise == [29] * 6
    assert pairwise == [29, 29, 29, 30, 30, 30]


def test_systems_are_ranked_ascending_if_lower_is_better() -> None:
    scores = Scores.from_matrix([[0.2, 0.5], [0.3, 0.4]], runs=["good", "bad"], measure="E")
    assert [row[1] for row in cf.compare(scores).ranking().rows] == ["good", "bad"]


def test_topics_are_sorted_by_their_difference() -> None:
    table = cf.compare({"a": [0.9, 0.5, 0.2], "b": [0.1, 0.5, 0.3]}).topics("a", "b")
    assert [row[0] for row in table.rows] == ["1", "3", "2"]
    assert table.rows[0][4] == pytest.approx((-0.1 + 0) / 2)  # without topic 1
    assert "without its most favourable topic" in table.notes[0]


def test_json_has_all_fields_and_no_nan() -> None:
    fields = json.loads(cf.compare(SCORES, test="wilcoxon").to_json())
    assert fields["test"] == "wilcoxon"
    assert fields["comparisons"] == len(fields["pairs"]) == 6
    assert len(fields["ranking"]) == 4


def test_latex_is_a_table_for_a_paper() -> None:
    table = cf.compare(SCORES, baseline="bm25").to_latex()
    assert r"\begin{tabular}{lr@{}lr}" in table
    assert r"{\fontseries{b}\selectfont " in table
    assert r"$^{\dagger}$" in table
    caption = next(line for line in table.splitlines() if line.startswith(r"\caption"))
    for word in ("t test", "(Holm)", r"$\alpha$ = 0.05", "n = 30"):
        assert word in caption
    assert r"$^{\mathrm{" in cf.compare(SCORES, test="tukey").to_latex()


def test_frames_have_a_row_per_pair() -> None:
    result = cf.compare(SCORES)
    assert len(result.to_pandas()) == len(result.to_polars()) == result.to_arrow().num_rows == 6


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (np.ones((2, 4000)), {}, "4,000 systems have 7,998,000 pairs, more than 5,000,000; name a baseline"),
        ({"a": [0.1, 0.2]}, {}, r"1 system \(a\), a comparison needs 2 or more"),
        (SCORES, {"alpha": 0}, "alpha == 0, must be above 0 and below 1"),
        (SCORES, {"alpha": 1.5}, "alpha == 1.5, must be above 0 and below 1"),
        (SCORES, {"resamples": 0}, "resamples == 0, must be a whole number, 1 or more"),
        (SCORES, {"test": "tuckey"}, "no test 'tuckey'; did you mean 'tukey'"),
        (SCORES, {"correction": "holms"}, "did you mean 'holm'"),
        (SCORES, {"baseline": "bm52"}, "no system 'bm52'; did you mean 'bm25'"),
        (SCORES, {"alternative": "bigger"}, "alternative == 'bigger'"),
        (SCORES, {"alternative": "greater"}, "needs a baseline or exactly two systems"),
        (SCORES, {"test": "tukey", "correction": "holm"}, "leave out correction='holm'"),
        (SCORES, {"test": "tukey", "nan": "pairwise"}, "needs a score of every system on every topic"),
        (SCORES, {"nan": "omit"}, "nan == 'omit'"),
        (SCORES, {"systems": {"bm24": "x"}}, "no run 'bm24'; did you mean 'bm25'"),
        (SCORES, {"effect": "eta"}, "'eta'"),
        (SCORES, {"seed": -1}, "compare: seed == -1, must be a whole number, 0 or more"),
        (SCORES, {"threads": 0}, "compare: threads == 0, must be a whole number, 1 or more"),
        (SCORES, {"resamples": 10.5}, "resamples == 10.5, must be a whole number, 1 or more"),
        (SCORES, {"test": None}, "a test is given by its name, not by None"),
        (SCORES, {"baseline": 7}, "no system 7"),
        (SCORES, {"systems": {"bm25": "lexical"}, "baseline": "bm25"}, "a run of system 'lexical'; name the system"),
        ({"a": [0.1], "b": [0.2]}, {}, "1 topic"),
        ({"a": [math.nan, math.nan], "b": [0.1, 0.2]}, {}, "no topic has a score for a"),
        ({"a": {"1": 0.1, "2": 0.2}, "b": {"3": 0.1, "4": 0.2}}, {}, "a and b have no topic in common"),
    ],
)
def test_errors_name_the_parameter_and_its_value(data: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cf.compare(data, **options)  # type: ignore[arg-type]


def test_no_measure_raises_an_error() -> None:
    with pytest.raises(UsageError, match="no measure to compare by"):
        cf.compare(cf.Scores.from_matrix(np.eye(3), measure="AP"), [])


def test_the_sentence_about_a_single_pair_is_singular() -> None:
    notes = "\n".join(cf.compare({"a": [0.1, 0.1, 0.1, 0.9], "b": [0.1, 0.1, 0.1, 0.2]}).notes)
    assert "0 of 1 pair differs" in notes
    assert "corrected" not in notes
    assert "caution: the systems have the same score on more than half of the topics" in notes


def test_too_few_resamples_for_the_correction_give_a_caution() -> None:
    scores = (
        np.linspace(0, 1, 30)[:, None] * 0.5 + np.arange(8) * 0.05 + np.random.default_rng(0).normal(0, 0.01, (30, 8))
    )
    few = cf.compare(scores, test="bootstrap", resamples=500)  # 28 pairs: 28 / 501 > 0.05
    assert few.significant == 0
    assert any("the correction for 28 comparisons none is below α; use more resamples" in note for note in few.notes)
    for options in ({"resamples": 600}, {"resamples": 500, "correction": "bh"}, {"resamples": 500, "baseline": "run1"}):
        enough = cf.compare(scores, test="bootstrap", **options)  # type: ignore[arg-type]
        assert enough.significant > 0
        assert not any("use more resamples" in note for note in enough.notes)


def test_an_interrupted_comparison_uses_the_finished_resamples() -> None:
    seen = []

    def progress(done: int, total: int) -> None:
        seen.append(total)
        if len(seen) == 1:
            raise KeyboardInterrupt

    scores = {"old": cf.Scores.from_matrix(np.random.default_rng(0).random((60, 5)))}
    scores["new"] = cf.Scores.from_matrix(np.random.default_rng(1).random((60, 5)))
    with pytest.warns(CranfieldWarning, match=r"interrupted after [\d,]+ of 30,000 resamples"):
        result = cf.compare(scores, test="bootstrap", resamples=30_000, progress=progress)
    assert result.resamples is not None
    assert 100 <= result.resamples < 30_000
    assert {family.tests.resamples for family in result.families} == {result.resamples}
    assert any(note.startswith("interrupted after") for note in result.notes)


def test_constant_scores_do_not_crash() -> None:
    for test in TESTS:
        row = next(cf.compare({"a": [0.5] * 5, "b": [0.4] * 5}, test=test, resamples=200).rows())
        assert 0 <= row["p"] <= 1, test


@pytest.mark.parametrize("test", ["t", "randomisation", "bootstrap-shift"])
def test_topics_that_do_not_vary_give_no_interval(test: str) -> None:
    for shift in (0.0, 0.25):
        scores = np.column_stack([np.linspace(0, 0.5, 20) + shift, np.linspace(0, 0.5, 20)])
        tests = cf.compare(scores, test=test, resamples=99).families[0].tests
        assert np.isnan(tests.low).all()
        assert np.isnan(tests.high).all()


@pytest.mark.parametrize("changed", [1, 4, 5])
def test_intervals_from_few_changed_topics_are_cautioned(changed: int) -> None:
    scores = np.column_stack([np.linspace(0, 0.5, 20), np.linspace(0, 0.5, 20)])
    scores[:changed, 0] += 0.25
    cautions = [note for note in cf.compare(scores).notes if "on fewer than 5 topics" in note]
    assert len(cautions) == (changed < 5)
    assert not [note for note in cf.compare(scores, test="max-t").notes if "on fewer than 5 topics" in note]
