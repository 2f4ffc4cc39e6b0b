"""Concordance: Sakai's pseudo-code, line by line, against the matrix products."""

import numpy as np
import pytest
from scipy.stats import binomtest

from cranfield.errors import UsageError
from cranfield.meta.agreement.concordance import concord
from cranfield.scores.scores import Scores


def made(measures: int = 5, runs: int = 6, topics: int = 7, seed: int = 0) -> Scores:
    """Few different values, so that there are many ties."""
    values = np.random.default_rng(seed).integers(0, 4, (measures, runs, topics)) / 4
    return Scores([f"m{i}" for i in range(measures)], [f"r{i}" for i in range(runs)], map(str, range(topics)), values)


def figure_17(m1: np.ndarray, m2: np.ndarray, golds: list[np.ndarray]) -> tuple[int, int, int, int, int]:
    """Sakai 2014 Fig. 17 and Sakai 2013 Fig. 6, with several gold standards as Sakai 2013 §4.2 says; and wins."""
    disagreements = conc1 = conc2 = wins1 = wins2 = 0
    for x in range(len(m1)):
        for y in range(x + 1, len(m1)):
            for q in range(m1.shape[1]):
                d1, d2 = m1[x, q] - m1[y, q], m2[x, q] - m2[y, q]
                if d1 * d2 < 0:
                    disagreements += 1
                    first = all(d1 * (gold[x, q] - gold[y, q]) >= 0 for gold in golds)
                    second = all(d2 * (gold[x, q] - gold[y, q]) >= 0 for gold in golds)
                    conc1, conc2 = conc1 + first, conc2 + second
                    wins1, wins2 = wins1 + (first and not second), wins2 + (second and not first)
    return disagreements, conc1, conc2, wins1, wins2


@pytest.mark.parametrize("seed", range(3))
def test_counts_agree_with_sakais_pseudo_code(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.meta.agreement import concordance

    monkeypatch.setattr(concordance, "_BLOCK", 100)  # several blocks
    scores = made(seed=seed)
    result = concord(scores, ["m3", "m4"])
    assert result.golds == ("m3", "m4", "m3 AND m4")
    assert result.measures == ("m0", "m1", "m2")
    assert result.compared == 15 * 7
    v = scores.values
    for g, golds in enumerate(([v[3]], [v[4]], [v[3], v[4]])):
        for i in range(3):
            for j in range(3):
                if i != j:
                    expected = figure_17(v[i], v[j], golds)
                    assert (
                        result.disagreements[i, j], result.concordant[g, i, j], result.concordant[g, j, i],
                        result.wins[g, i, j], result.wins[g, j, i],
                    ) == expected  # fmt: skip
                    assert result.shares[g, i, j] == expected[1] / expected[0]
                    p = binomtest(expected[3], expected[3] + expected[4]).pvalue
                    assert result.p[g, i, j] == pytest.approx(p)


def test_sakais_wins_are_significant() -> None:
    # Sakai 2014 §5.3: D#-nDCG wins 592 times and ERR-IA 130 times, significant at α = 0.01.
    from cranfield.comparison.distributions import sign_p

    assert sign_p(np.array(592.0), np.array(130.0), "two-sided") < 0.01


def test_the_gold_standard_agrees_with_itself() -> None:
    result = concord(made(), "m0", ["m0", "m1"])
    assert result.shares[0, 0, 1] == 1


def test_rounding_errors_are_ties() -> None:
    values = np.array([[[0.1 + 0.2], [0.3]], [[0.2], [0.1]], [[1.0], [0.0]]])
    result = concord(Scores("abc", "xy", "1", values), "c")
    assert result.disagreements[0, 1] == 0
    assert np.isnan(result.shares[0, 0, 1])
    assert result.p[0, 0, 1] == 1


def test_table_as_in_sakais_papers() -> None:
    result = concord(made(), ["m3", "m4"])
    table = result.table("m3")
    assert table.caption == "Concordance with m3"
    share, other = result.shares[0, 0, 1], result.shares[0, 1, 0]
    assert str(table.rows[0][1]).startswith(f"{share:.1%}/{other:.1%}")
    assert str(table.rows[0][1]).endswith(f"({result.disagreements[0, 1]})")
    assert table.rows[1][1] == "-"
    assert result.table().caption == "Concordance with m3 AND m4"
    columns = result.columns()
    assert len(columns["gold"]) == 9
    total = columns["wins"] + columns["losses"] + columns["both"] + columns["neither"]
    assert total.tolist() == columns["disagreements"].tolist()
    assert len(result.pairs().rows) == 9


def test_undefined_topics_are_left_out() -> None:
    scores = made(topics=4)
    values = scores.values.copy()
    values[4, 0, 3] = np.nan  # the gold standard, on the last topic
    holed = Scores(scores.measures, scores.runs, scores.topics, values)
    result = concord(holed, "m4")
    assert result.topics == 3
    assert np.array_equal(result.concordant, concord(scores.select(topics=["0", "1", "2"]), "m4").concordant)


@pytest.mark.parametrize(
    ("gold", "measures", "message"),
    [
        ([], None, "no gold standard"),
        ("m9", None, "no measure 'm9'"),
        ("m0", ["m1"], "1 measure to compare"),
    ],
)
def test_bad_input_is_refused(gold: object, measures: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        concord(made(), gold, measures)
    with pytest.raises(UsageError, match="1 system, must be 2 or more"):
        concord(made(runs=1), "m0")
