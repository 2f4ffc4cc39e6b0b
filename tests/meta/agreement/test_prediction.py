"""Query performance prediction: scipy, the definition of sMARE with ranks by counting, and resampling one by one."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cranfield.errors import DataError, UsageError
from cranfield.meta import read_predictors
from cranfield.meta.agreement import prediction
from cranfield.meta.agreement.prediction import prediction_quality
from cranfield.scores.scores import Scores

TOPICS = [str(300 + i) for i in range(12)]


def made(seed: int = 0, levels: int = 1_000) -> tuple[Scores, dict[str, dict[str, float]]]:
    """Two measures, two runs and three predictors; few levels give many ties."""
    rng = np.random.default_rng(seed)
    scores = Scores(["AP", "P@10"], ["a", "b"], TOPICS, rng.integers(0, levels, (2, 2, 12)) / levels)
    values = scores.values[0, 0] + rng.integers(0, levels, (3, 12)) / levels
    predictors = {f"p{i}": dict(zip(TOPICS, row.tolist(), strict=True)) for i, row in enumerate(values)}
    return scores, predictors


def by_scipy(x: np.ndarray, y: np.ndarray) -> list[float]:
    """Pearson, Spearman and τ_b of scipy; sMARE by its definition (Faggioli et al. 2021), ranks by scipy."""
    error = np.mean(np.abs(stats.rankdata(x) - stats.rankdata(y)) / len(x))
    return [stats.pearsonr(x, y)[0], stats.spearmanr(x, y)[0], stats.kendalltau(x, y)[0], error]


@pytest.mark.parametrize("levels", [3, 1_000])
@pytest.mark.parametrize("block", [prediction._BLOCK, 30])
def test_coefficients_are_those_of_scipy(levels: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BLOCK", block)
    scores, predictors = made(levels=levels)
    result = prediction_quality(scores, predictors, resamples=0)
    assert result.values.shape == (4, 2, 2, 3)
    for m, r, p in np.ndindex(2, 2, 3):
        expected = by_scipy(np.array(list(predictors[f"p{p}"].values())), scores.values[m, r])
        assert result.values[:, m, r, p] == pytest.approx(expected)
        assert result.errors[m, r, p].mean() == pytest.approx(expected[3])
    assert np.isnan(result.low).all()


def test_smare_by_hand() -> None:
    # Ranks by prediction 1 2 3 4, by score 1 3 2 4: errors 0 1 1 0 of 4 topics, (0 + 1/4 + 1/4 + 0) / 4 = 0.125.
    scores = Scores.from_matrix([[0.1], [0.4], [0.3], [0.9]], runs=["a"], topics="wxyz", measure="AP")
    result = prediction_quality(scores, {"p": dict(zip("wxyz", [1, 2, 3, 4], strict=True))}, resamples=0)
    assert result.errors.ravel().tolist() == [0, 0.25, 0.25, 0]
    assert result.values[3].item() == 0.125
    # Reversed ranks of four topics: (3 + 1 + 1 + 3) / 4 / 4 = 0.5.
    worst = prediction_quality(scores, {"p": dict(zip("wyxz", [4, 3, 2, 1], strict=True))}, resamples=0)
    assert worst.values[:, 0, 0, 0].tolist()[1:] == pytest.approx([-1, -1, 0.5])


@pytest.mark.parametrize("levels", [3, 1_000])
def test_intervals_are_those_of_the_jackknife_and_of_resamples(levels: int) -> None:
    scores, predictors = made(seed=4, levels=levels)
    result = prediction_quality(scores, predictors, "AP", resamples=50, seed=7, level=0.8)
    x, y = np.array(list(predictors["p1"].values())), scores.values[0, 1]
    value = np.array(by_scipy(x, y))
    without = np.arctanh([by_scipy(np.delete(x, i), np.delete(y, i))[:3] for i in range(12)])
    of_normal = [1 / 9, (1 + value[1] ** 2 / 2) / 9, 0.437 / 8]
    error = np.sqrt(np.maximum(of_normal, 11 * without.var(axis=0)))
    margin = stats.t.ppf(0.9, 10) * error
    assert result.low[:3, 0, 1, 1] == pytest.approx(np.tanh(np.arctanh(value[:3]) - margin))
    assert result.high[:3, 0, 1, 1] == pytest.approx(np.tanh(np.arctanh(value[:3]) + margin))
    times = np.random.default_rng(7).multinomial(12, np.full(12, 1 / 12), size=50)
    drawn = [by_scipy(np.repeat(x, row), np.repeat(y, row))[3] for row in times]
    margin = stats.t.ppf(0.9, 11) * np.std(drawn) * np.sqrt(12 / 11)
    assert result.low[3, 0, 1, 1] == pytest.approx(value[3] - margin)
    assert result.high[3, 0, 1, 1] == pytest.approx(value[3] + margin)
    again = prediction_quality(scores, predictors, "AP", resamples=50, seed=7, level=0.8)
    assert np.array_equal(result.low, again.low)


def test_a_perfect_ranking_of_few_topics_has_a_wide_interval() -> None:
    scores = Scores.from_matrix([[0.1], [0.3], [0.4], [0.6], [0.9]], runs=["bm25"], topics="abcde", measure="AP")
    result = prediction_quality(scores, {"p": dict(zip("abcde", [1, 2, 4, 8, 9], strict=True))}, resamples=50)
    assert result.values[1:3, 0, 0, 0].tolist() == [1, 1]
    assert result.high[1:3, 0, 0, 0].tolist() == [1, 1]
    assert (result.low[1:3, 0, 0, 0] < 0).all()


def test_anova_of_the_rank_errors_is_that_of_statsmodels() -> None:
    import pandas as pd
    import statsmodels.formula.api as smf
    from statsmodels.stats.anova import anova_lm

    scores, predictors = made(seed=2)
    result = prediction_quality(scores, predictors, resamples=0)
    ours = result.anova("AP", "a")
    errors = result.errors[0, 0]
    frame = pd.DataFrame([(errors[p, t], p, t) for p, t in np.ndindex(3, 12)], columns=["error", "p", "t"])
    theirs = anova_lm(smf.ols("error ~ C(t) + C(p)", frame).fit())
    assert ours["predictor"].f == pytest.approx(theirs.loc["C(p)", "F"])
    assert ours["predictor"].p == pytest.approx(theirs.loc["C(p)", "PR(>F)"])
    assert ours["topic"].f == pytest.approx(theirs.loc["C(t)", "F"])


def test_anova_over_systems_and_measures_is_that_of_statsmodels() -> None:
    import pandas as pd
    import statsmodels.formula.api as smf
    from statsmodels.stats.anova import anova_lm

    scores, predictors = made(seed=2)
    result = prediction_quality(scores, predictors, resamples=0)
    rows = [(result.errors[place], *place) for place in np.ndindex(*result.errors.shape)]
    frame = pd.DataFrame(rows, columns=["error", "m", "s", "p", "t"])
    assert frame.m.nunique() > 1
    assert frame.s.nunique() > 1
    theirs = anova_lm(smf.ols("error ~ C(t) + C(m) + C(s) + C(p) + C(p):C(s) + C(p):C(m)", frame).fit())
    ours = result.anova()
    peers = {"topic": "C(t)", "predictor": "C(p)", "system": "C(s)", "measure": "C(m)"}
    for name, peer in {**peers, "predictor:system": "C(p):C(s)", "predictor:measure": "C(p):C(m)"}.items():
        assert (ours[name].f, ours[name].p) == pytest.approx((theirs.loc[peer, "F"], theirs.loc[peer, "PR(>F)"]))


def test_a_measure_for_which_lower_is_better_is_negated() -> None:
    values = [[[3.0, 2.0, 1.0]]]
    result = prediction_quality(Scores(["ESL"], ["a"], "xyz", values), {"p": {"x": 1, "y": 2, "z": 3}}, resamples=0)
    assert result.values[:3].ravel().tolist() == pytest.approx([1, 1, 1])
    assert "lower is better: ESL" in result.notes


def test_topics_without_a_prediction_or_a_score_are_left_out() -> None:
    scores = Scores(["AP"], ["a"], "vwxyz", [[[0.1, 0.5, 0.2, np.nan, 0.9]]])
    predictors = {"p": {"v": 1.0, "w": 2.0, "x": 4.0, "y": 5.0}, "q": {"v": 1.0, "w": 3.0, "x": 2.0, "z": 0.0}}
    result = prediction_quality(scores, predictors, resamples=0)
    assert result.topics == ("v", "w", "x")
    assert "1 topic without predictions left out: z" in result.notes
    assert "1 of 5 topics left out because a score is undefined (y)" in result.notes


def test_a_constant_predictor_has_no_correlation() -> None:
    scores, _ = made()
    result = prediction_quality(scores, {"flat": dict.fromkeys(TOPICS, 0.1)}, resamples=20)
    assert np.isnan(result.values[:3]).all()
    assert np.isnan(result.low[:3]).all()
    # All topics share rank 6.5; against untied scores: (5.5 + 4.5 + ... + 5.5) / 12 / 12 = 36 / 144 = 0.25.
    assert result.values[3, 0, 0, 0] == pytest.approx(0.25)
    assert "all topics tie by flat: no correlation" in result.notes


def test_files_of_one_and_of_several_predictors(tmp_path: Path) -> None:
    (tmp_path / "qpp.csv").write_text("topic,clarity,nqc\n301,1.5,2\n302,,3\n")
    (tmp_path / "wig.txt").write_text("# topic prediction\n301 0.5\n302 7\n303 -1e3\n")
    read = read_predictors([tmp_path / "qpp.csv", tmp_path / "wig.txt"])
    assert read.runs == ("clarity", "nqc", "wig")
    assert read.topics == ("301", "302", "303")
    assert np.array_equal(read.values[0], [[1.5, np.nan, np.nan], [2, 3, np.nan], [0.5, 7, -1000]], equal_nan=True)
    for name in ("one", "two"):
        (tmp_path / name).write_text("qid\tscore\n301\t1\n")
    assert read_predictors([tmp_path / "one", tmp_path / "two"]).runs == ("score", "two")
    (tmp_path / "absent").write_text("301,\n302,na\n303,4\n")
    assert np.array_equal(read_predictors(tmp_path / "absent").values[0, 0], [np.nan, np.nan, 4], equal_nan=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("301 0.5\n301 0.7\n", r"p\.txt:2: topic '301' appears twice"),
        ("301 0.5\n302 high\n", r"p\.txt:2: topic '302': the column 2 is 'high', expected a number or one of nan, na"),
        ("301 inf\n", r"p\.txt:1: topic '301': the column 2 is 'inf', expected a number"),
        ("topic a b\n301 1\n", r"p\.txt:2: 2 columns, expected 3 as on line 1"),
        ("topic a a\n301 1 2\n", r"p\.txt:1: 2 columns are called a \(2 and 3\)"),
        ("topic clarity\n", r"p\.txt:1: holds only a header, expected lines of topic and a number per predictor"),
        ("301\n", r"p\.txt:1: 1 column, expected topic and a number per predictor"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "p.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_predictors(tmp_path / "p.txt")


def test_wrong_input_is_refused() -> None:
    scores, predictors = made()
    with pytest.raises(UsageError, match=r"no topic has both .* '300', .* prediction '1'"):
        prediction_quality(scores, {"p": {"1": 0.5}})
    with pytest.raises(UsageError, match="2 topics with a score and predictions, must be 3 or more"):
        prediction_quality(scores, {"p": {"300": 0.5, "301": 1.0}})
    with pytest.raises(UsageError, match="'p' is not a mapping"):
        prediction_quality(scores, {"p": [1, 2]})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="rank errors of one run at a time, but there are 2: a, b"):
        prediction_quality(scores, predictors, "AP", resamples=0).rank_errors()
    with pytest.raises(UsageError, match="1 predictor, must be 2 or more"):
        prediction_quality(scores, {"p": predictors["p0"]}, resamples=0).anova("AP", "a")
