"""Which measure predicts the online winner: counts by hand, files, and simulation with a known answer."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from cranfield.errors import DataError, UsageError
from cranfield.online.prediction import OnlineOutcomes, online_agreement, read_outcomes, simulate_outcomes
from cranfield.scores.scores import Scores

RUNS = ("a", "b", "c", "d")
AP = [[0.1, 0.2], [0.3, 0.4], [0.2, 0.3], [0.5, 0.4]]
RR = [[1.0, 1.0], [0.5, 0.0], [0.0, 0.0], [0.0, 0.0]]
SCORES = Scores(["AP", "RR"], RUNS, ["1", "2"], np.array([AP, RR]))
PAIRS = list(combinations(RUNS, 2))


def outcomes(effect: list[float], p: list[float] | None = None, kind: str = "ab") -> OnlineOutcomes:
    first, second = zip(*PAIRS, strict=True)
    chances = np.full(6, np.nan) if p is None else np.array(p)
    return OnlineOutcomes(first, second, np.array(effect), chances, (kind,) * 6)


def test_agreement_by_hand() -> None:
    # ab ac ad bc bd cd. AP: means 0.15, 0.35, 0.25, 0.45: b, c, d, b, d, d win. RR: a, a, a, b, b win; c and d tie
    won = outcomes([-0.2, -0.1, -0.3, 0.1, 0.2, 0.0], [0.01, 0.2, 0.001, 0.3, 0.04, 1])
    result = online_agreement(SCORES, won, resamples=50)
    assert result.agreement[0].tolist() == pytest.approx([4 / 5, 2 / 5])  # AP is wrong on bd, RR on ab, ac and ad
    assert result.pairs.tolist() == [5]
    assert result.decided_pairs.tolist() == [3]
    assert result.decided[0].tolist() == pytest.approx([2 / 3, 1 / 3])  # ab, ad and bd
    assert "1 pair with an online tie left out" in result.notes
    x, y = np.array([-0.2, -0.1, -0.3, 0.1, -0.1]), np.array([-0.2, -0.1, -0.3, 0.1, 0.2])
    assert result.correlation[0, 0] == pytest.approx(x @ y / np.sqrt(x @ x * y @ y))
    assert result.verdict.startswith("ab: AP names the winner of 80% of 5 pairs")


def test_an_offline_tie_counts_a_half() -> None:
    won = outcomes([0, 0, 0, 0, 0, 0.5])
    assert online_agreement(SCORES, won, resamples=20).agreement[0].tolist() == [0.0, 0.5]


def test_the_interval_resamples_systems() -> None:
    won = outcomes([-0.2, -0.1, -0.3, 0.1, 0.2, -0.1])
    result = online_agreement(SCORES, won, resamples=400, seed=3)
    hits = np.array([1, 1, 1, 1, 0, 1.0])
    rng = np.random.default_rng(3)
    drawn = []
    for times in rng.multinomial(4, [1 / 4] * 4, size=400):
        weights = np.array([times[RUNS.index(x)] * times[RUNS.index(y)] for x, y in PAIRS])
        if weights.sum():
            drawn.append(weights @ hits / weights.sum())
    assert (result.low[0, 0], result.high[0, 0]) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


def test_right_on_all_pairs_is_no_certainty() -> None:
    from scipy import stats

    result = online_agreement(SCORES, outcomes([-1, -1, -1, 1, -1, -1]), resamples=50)
    assert result.agreement[0, 0] == 1
    exact = stats.binomtest(2, 2).proportion_ci(0.95, "exact")  # four systems make two separate pairs
    assert (result.low[0, 0], result.high[0, 0]) == pytest.approx((exact.low, exact.high))


def test_kinds_are_counted_apart() -> None:
    both = OnlineOutcomes(("a", "a"), ("b", "b"), np.array([-1.0, 1.0]), np.array([np.nan] * 2), ("ab", "interleaving"))
    result = online_agreement(SCORES, both, resamples=20)
    assert result.kinds == ("ab", "interleaving")
    assert result.agreement.tolist() == [[1, 0], [0, 1]]


def test_the_number_of_topics_by_enumeration() -> None:
    # With one topic of two, each topic is drawn half of the time
    won = outcomes([-0.2, -0.1, -0.3, 0.1, 0.2, -0.1])
    result = online_agreement(SCORES, won, sizes=[1, 2], draws=600, resamples=10)
    one_topic = []
    for topic in (0, 1):
        values = SCORES.values[0][:, topic]
        sides = [np.sign(values[RUNS.index(x)] - values[RUNS.index(y)]) for x, y in PAIRS]
        one_topic.append(np.mean([(s * np.sign(e) + 1) / 2 for s, e in zip(sides, won.effect, strict=True)]))
    assert result.curve[0, 0, 0] == pytest.approx(np.mean(one_topic), abs=0.02)
    assert result.curve[0, 0, 1] == pytest.approx(result.agreement[0, 0])


def test_outcomes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.tsv"
    path.write_text("first\tsecond\toutcome\tp\tkind\na\tb\t-0.2\t0.01\tab\na\tc\ttie\t\tinterleaving\n")
    read = read_outcomes(path)
    assert read.effect.tolist() == [-0.2, 0.0]
    assert read.p[0] == 0.01
    assert np.isnan(read.p[1])
    assert read.kind == ("ab", "interleaving")
    path.write_text(read.text())
    assert read_outcomes(path).text() == read.text()
    path.write_text("a,b,first\nb,c,loss\n")
    assert read_outcomes(path).effect.tolist() == [1, -1]
    assert read_outcomes(path).kind == ("online", "online")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tbetter\n", ":1: the outcome is 'better', expected a number or one of first, win"),
        ("a\ta\t1\n", ":1: 'a' is compared with itself"),
        ("a\tb\t1\t2\n", ":1: the p is '2', expected a number, between 0 and 1"),
        ("first\tsecond\toutcome\n", "holds only a header"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "outcomes.tsv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_outcomes(path)


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="no pair of the outcomes has scores; the outcomes are of x, y"):
        online_agreement(SCORES, OnlineOutcomes(("x",), ("y",), np.ones(1), np.ones(1), ("ab",)))
    with pytest.raises(UsageError, match="every pair ties online"):
        online_agreement(SCORES, outcomes([0] * 6))
    with pytest.raises(UsageError, match="sizes == 3, but there are 2 topics"):
        online_agreement(SCORES, outcomes([1] * 6), sizes=[3])


def simulated_collection() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Three systems that put the relevant document at rank 1, 3 or 8 of ten."""
    qrels = {f"t{i}": {f"d{k}": int(k == 0) for k in range(10)} for i in range(20)}
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for name, place in {"good": 0, "fair": 2, "poor": 7}.items():
        order = [f"d{k}" for k in range(1, 10)]
        order.insert(place, "d0")
        runs[name] = {topic: {doc: 10.0 - rank for rank, doc in enumerate(order)} for topic in qrels}
    return qrels, runs


def test_simulated_users_prefer_the_better_system() -> None:
    qrels, runs = simulated_collection()
    made = simulate_outcomes(qrels, runs, "navigational", queries=1500, seed=1)
    by_pair = {
        (a, b, kind): (effect, p)
        for a, b, effect, p, kind in zip(made.first, made.second, made.effect, made.p, made.kind, strict=True)
    }
    for kind in ("ab", "interleaving"):
        for better, worse in (("good", "fair"), ("fair", "poor"), ("good", "poor")):
            effect, p = (
                by_pair[better, worse, kind] if (better, worse, kind) in by_pair else by_pair[worse, better, kind]
            )
            assert p < 0.01
            assert (effect > 0) == ((better, worse, kind) in by_pair), (better, worse, kind)


def test_a_fitted_click_model_can_be_the_user() -> None:
    from cranfield.online.clicks.click_fitting import fit_clicks
    from cranfield.online.clicks.click_pages import Pages

    qrels, runs = simulated_collection()
    # in this log only d0 is ever clicked, on half of its pages
    docs = [[f"d{k}" for k in range(10)]] * 40
    clicked = [[int(page % 2), *[0] * 9] for page in range(40)]
    model = fit_clicks(Pages.of([f"t{page % 20}" for page in range(40)], docs, clicked), "DCTR", prior=(0, 0))
    made = simulate_outcomes(qrels, runs, model, queries=2000, metric="clicks")
    effects = [e for e, kind in zip(made.effect, made.kind, strict=True) if kind == "ab"]
    assert effects == pytest.approx([0] * 3, abs=0.08)  # the same document is clicked wherever it stands


def test_the_mean_of_a_simulated_test_is_the_expectation() -> None:
    # Perfect users click on the relevant document only: 1 / rank of the first click is 1, 1/3 and 1/8
    qrels, runs = simulated_collection()
    made = simulate_outcomes(qrels, runs, "perfect", queries=50)
    effects = {
        (a, b): e for a, b, e, kind in zip(made.first, made.second, made.effect, made.kind, strict=True) if kind == "ab"
    }
    expected = {"good": 1.0, "fair": 1 / 3, "poor": 1 / 8}
    for (a, b), effect in effects.items():
        assert effect == pytest.approx(expected[a] - expected[b])
