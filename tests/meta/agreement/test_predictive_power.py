"""Predictive power: judgments counted by hand."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from cranfield.errors import DataError, UsageError
from cranfield.meta.agreement.concordance import Preferences, predictive_power, read_preferences
from cranfield.scores.scores import Scores

SCORES = Scores(
    ["AP", "P@1"],
    ["a", "b"],
    ["1", "2", "3"],
    [[[0.5, 0.2, 0.9], [0.4, 0.3, 0.1]], [[1, 0, 0], [1, 1, 1]]],
)
"""AP prefers a, b, a on topics 1, 2, 3; P@1 ties, prefers b, prefers b."""


def given(*ways: int) -> Preferences:
    topics = ("1", "2", "3")[: len(ways)]
    return Preferences(topics, ("a",) * len(ways), ("b",) * len(ways), ways, ("",) * len(ways))


@pytest.mark.parametrize(
    ("ties", "agreement"),
    [("half", [2 / 3, 0.5 / 3]), ("wrong", [2 / 3, 0]), ("leave-out", [2 / 3, 0])],
)
def test_share_of_agreements_by_hand(ties: str, agreement: list[float]) -> None:
    # People preferred a, a, a: AP is right twice; P@1 ties on topic 1 and is wrong twice.
    result = predictive_power(SCORES, given(1, 1, 1), measure_ties=ties, resamples=0)
    assert result.agreement.tolist() == pytest.approx(agreement)
    assert (result.agree.tolist(), result.tied.tolist(), result.disagree.tolist()) == ([2, 0], [0, 1], [1, 2])
    assert result.p[0] == pytest.approx(binomtest(2, 3).pvalue)


def test_judgments_of_a_tie_are_left_out_and_counted() -> None:
    result = predictive_power(SCORES, given(1, 0, -1), resamples=0)
    assert result.agreement[0] == 0.5
    assert "1 judgment left out: neither list was preferred" in result.notes


def test_swapping_the_two_runs_changes_nothing() -> None:
    turned = Preferences(("1", "2", "3"), ("b",) * 3, ("a",) * 3, (-1, -1, -1), ("",) * 3)
    assert np.array_equal(
        predictive_power(SCORES, given(1, 1, 1), resamples=0).agreement,
        predictive_power(SCORES, turned, resamples=0).agreement,
    )


def test_interval_is_over_topics() -> None:
    # Ten judgments on each of two topics, one of them always right and one always wrong: 0, 1/2 and 1 are drawn.
    topics = ("1",) * 10 + ("2",) * 10
    many = Preferences(topics, ("a",) * 20, ("b",) * 20, (1,) * 20, ("",) * 20)
    result = predictive_power(SCORES.select(measures=["AP"]), many)
    assert (result.low[0], result.agreement[0], result.high[0]) == (0, 0.5, 1)


def test_the_lower_score_is_preferred_if_lower_is_better() -> None:
    scores = Scores(["E"], ["a", "b"], ["1"], [[[0.1], [0.9]]])
    assert predictive_power(scores, given(1), resamples=0).agreement[0] == 1


def test_undefined_scores_do_not_count() -> None:
    values = SCORES.values.copy()
    values[0, 0, 0] = np.nan
    result = predictive_power(Scores(SCORES.measures, SCORES.runs, SCORES.topics, values), given(1, 1, 1), resamples=0)
    assert result.agreement[0] == 0.5
    assert any("used only for the measures that are defined there" in note for note in result.notes)


def test_best_first_in_the_table() -> None:
    result = predictive_power(SCORES, given(-1, -1, -1), resamples=5)
    assert [row[0] for row in result.table().rows] == ["P@1", "AP"]
    assert len(result.columns()["agreement"]) == 2


def test_preferences_are_read_from_text_and_csv(tmp_path: Path) -> None:
    plain, named = tmp_path / "plain.txt", tmp_path / "named.csv"
    plain.write_text("# judged in May\n1 a b A\n2 a b tie\n3 a b b\n")
    named.write_text("topic,A,B,preferred,assessor\n1,a,b,A,x\n2,a,b,Tie,x\n3,a,b,B,y\n")
    assert read_preferences(plain).preferred == read_preferences(named).preferred == (1, 0, -1)
    assert read_preferences(named).assessor == ("x", "x", "y")
    assert predictive_power(SCORES, plain, resamples=0).agreement[0] == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 a b\n", "bad.txt:1: 3 columns"),
        ("topic a b preferred\n1 a b C\n", "bad.txt:2: preferred 'C', must be A, B, tie"),
        ("1 a a A\n", "compared with itself"),
        ("", "is empty"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_preferences(tmp_path / "bad.txt")


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="all 3 judgments are ties"):
        predictive_power(SCORES, given(0, 0, 0))
    with pytest.raises(UsageError, match="no judgment is about runs and topics"):
        predictive_power(SCORES, Preferences(("9",), ("a",), ("b",), (1,), ("",)))
    with pytest.raises(UsageError, match="measure_ties == 'split'"):
        predictive_power(SCORES, given(1), measure_ties="split")
