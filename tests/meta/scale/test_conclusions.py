"""Scores on other scales, and conclusions under them: enumeration by hand, scipy's ranks, brute force."""

import itertools

import numpy as np
import pytest
from scipy import stats

from cranfield.assessed.join import join
from cranfield.comparison import compare
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import score
from cranfield.measures import parse
from cranfield.meta import conclusions, interval_scores, rank_scores
from cranfield.scores.scores import Scores

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


def ranked(order: str) -> dict[str, float]:
    """A list of documents; capitals are relevant in the judgments below."""
    return {doc: float(-place) for place, doc in enumerate(order)}


QRELS = {"1": {"A": 1, "B": 1, "x": 0}, "2": {"A": 1, "B": 1, "C": 1, "x": 0}}
RUNS = {
    "good": {"1": ranked("ABx"), "2": ranked("AxB")},
    "late": {"1": ranked("xyA"), "2": ranked("xAB")},
    "none": {"1": ranked("xyz"), "2": ranked("x")},
}


def by_hand(name: str, relevant: int, grades: tuple[int, ...]) -> float:
    """The index of a list's score among those of all lists of 3 documents with at most `relevant` relevant ones."""
    measure, scores = parse(name), []
    for bits in itertools.product((0, 1), repeat=3):
        if sum(bits) <= relevant:
            scores.append((measure.of(bits, missed=[1] * (relevant - sum(bits))), bits))
    steps = sorted({round(value, 9) for value, _ in scores})
    value = next(round(value, 9) for value, bits in scores if bits == grades)
    return steps.index(value) / (len(steps) - 1)


@pytest.mark.parametrize("name", ["AP@3", "nDCG@3"])
def test_each_topic_has_the_scale_of_its_recall_base(name: str) -> None:
    scores = interval_scores(join(QRELS, RUNS), name)
    expected = [
        [by_hand(name, 2, (1, 1, 0)), by_hand(name, 3, (1, 0, 1))],
        [by_hand(name, 2, (0, 0, 1)), by_hand(name, 3, (0, 1, 1))],
        [0.0, 0.0],
    ]
    assert scores.values[0] == pytest.approx(np.array(expected))
    assert expected[0][0] == 1  # the best list of topic 1


def test_rr_by_hand() -> None:
    # RR@3 is 0, 1/3, 1/2 or 1: the relevant document at rank 3, 2, 1 is on step 1, 2, 3 of 3, for every topic.
    scores = interval_scores(join(QRELS, RUNS), "RR@3")
    assert scores.measures == ("RR@3 (interval scale)",)
    assert scores.values[0] == pytest.approx(np.array([[1, 1], [1 / 3, 2 / 3], [0, 0]]))
    assert "in the order of the measure (Ferrante, Ferro & Fuhr" in scores.notes[-1]


@pytest.mark.parametrize("name", ["P@3", "RBP(p=0.5)@3"])
def test_a_measure_on_an_interval_scale_changes_linearly(name: str) -> None:
    lists = join(QRELS, RUNS)
    before, after = score(lists, name).values.ravel(), interval_scores(lists, name).values.ravel()
    assert after == pytest.approx(before / parse(name).of([1, 1, 1]))


def test_graded_lists() -> None:
    # Grades 0, 1, 2 and two documents: CG@2 is 0, 1, 2, 3 or 4 if the topic has enough of each; equally spaced.
    qrels = {"1": {"A": 2, "B": 2, "C": 1, "D": 1}}
    lists = join(qrels, {"a": {"1": ranked("AC")}, "b": {"1": ranked("xD")}})
    assert interval_scores(lists, "CG@2").values[0].ravel().tolist() == [0.75, 0.25]


def test_a_topic_without_relevant_documents_stays_undefined_or_worst() -> None:
    qrels = {"1": {"A": 1}, "2": {"x": 0}}
    lists = join(qrels, {"a": {"1": ranked("A"), "2": ranked("x")}})
    assert np.isnan(interval_scores(lists, "AP@2").values[0, 0, 1])
    assert interval_scores(lists, "P@2").values[0, 0].tolist() == [0.5, 0]


def test_measures_without_a_scale_are_refused() -> None:
    lists = join(QRELS, RUNS)
    with pytest.raises(UsageError, match=r"AP: .* give a measure with a cutoff"):
        interval_scores(lists, "AP")
    with pytest.raises(UsageError, match="too many to enumerate"):
        interval_scores(lists, "AP@30")
    with pytest.raises(UsageError, match=r"grade 0\.5 is in the judgments, must be a whole number"):
        interval_scores(join({"1": {"A": 0.5}}, {"a": {"1": ranked("A")}}), "P@2")


def test_ranks_are_scipys_over_all_runs_and_topics() -> None:
    values = np.random.default_rng(0).integers(0, 5, (2, 3, 4)) / 4
    values[0, 1, 2] = np.nan
    ranks = rank_scores(Scores(["AP", "ESL"], "abc", "1234", values))
    expected = stats.rankdata(values[0].ravel(), nan_policy="omit").reshape(3, 4)
    assert np.array_equal(ranks.values[0], expected, equal_nan=True)
    assert np.array_equal(ranks.values[1], stats.rankdata(-values[1].ravel()).reshape(3, 4))  # lower is better


def made(seed: int) -> Scores:
    values = np.random.default_rng(seed).integers(0, 6, (1, 5, 8)) / 5
    return Scores(["AP"], "abcde", "12345678", values)


@pytest.mark.parametrize("seed", range(5))
def test_order_holds_on_any_scale_if_it_does_for_every_step_function(seed: int) -> None:
    # Every increasing function of these scores is a sum of steps x ≥ c with weights above 0, so the means keep their
    # order under all of them if, and only if, they keep it (or tie) under each step.
    scores = made(seed)
    result = conclusions(scores)
    for i, (a, b) in enumerate(itertools.combinations(range(5), 2)):
        x, y = scores.values[0, [a, b]]
        signs = {np.sign((x >= c).mean() - (y >= c).mean()) for c in np.arange(6) / 5}
        signs.discard(0)
        assert result.dominates[i] == (signs.pop() if len(signs) == 1 else 0)


def test_decisions_are_those_of_compare_on_each_scale() -> None:
    scores = made(9)
    result = conclusions(scores, test="wilcoxon", alpha=0.2, correction="none")
    assert result.scales == ("scores", "ranks")
    for number, data in enumerate((scores, rank_scores(scores))):
        rows = compare(data, test="wilcoxon", alpha=0.2, correction="none", direction="given").columns()
        assert result.significant[number].tolist() == rows["significant"].tolist()
        assert result.difference[number] == pytest.approx(rows["difference"])


def test_conclusions_by_one_measure_do_not_depend_on_other_measures() -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(0, 0.2, (2, 6, 20)) + np.linspace(0, 0.35, 6)[:, None]
    names = [f"r{i}" for i in range(6)]
    both = Scores(["AP", "P@10"], names, map(str, range(20)), values)
    alone = conclusions(Scores(["AP"], names, map(str, range(20)), values[:1]))
    beside = conclusions(both)
    assert beside.significant[:, :15].tolist() == alone.significant.tolist()
    assert int(compare(both, direction="given").columns()["significant"][:15].sum()) < int(alone.significant[0].sum())
    assert "test: t, holm over the pairs of each measure (15), α = 0.05" in beside.notes


def test_a_pair_can_change_its_order() -> None:
    # By means a (0.4) is below b (0.46). The ranks of 0.3, 0.4 and 1.0 are 2, 6.5 and 10: 6.5 against 4.5.
    values = [[0.4, 0.3], [0.4, 0.3], [0.4, 0.3], [0.4, 0.4], [0.4, 1.0]]
    result = conclusions(Scores.from_matrix(values, ["a", "b"], measure="AP"))
    assert result.difference.ravel().tolist() == pytest.approx([0.4 - 0.46, 6.5 - 4.5])
    assert result.reversed.ravel().tolist() == [False, True]
    assert result.dominates.tolist() == [0]
    assert result.table().rows[1][:4] == ("AP", "ranks", 1, 1)
    assert [row[:3] for row in result.changed().rows] == [("AP", "a", "b")]


def test_interval_scores_take_part() -> None:
    lists = join(QRELS, RUNS)
    scores, interval = score(lists, "RR@3"), interval_scores(lists, "RR@3")
    result = conclusions(scores, interval)
    assert result.scales == ("scores", "interval", "ranks")
    assert result.difference[1] == pytest.approx([1 - 0.5, 1, 0.5])
    assert result.dominates.tolist() == [1, 1, 1]
    with pytest.raises(UsageError, match="interval has other measures or runs"):
        conclusions(scores, interval.select(runs=["good", "late"]))


def test_a_measure_for_which_lower_is_better_counts_as_better_when_low() -> None:
    scores = Scores(["ESL"], ["a", "b"], "123", [[[1.0, 2.0, 4.0], [2.0, 3.0, 3.0]]])
    result = conclusions(scores)
    assert np.sign(result.difference[0]).tolist() == [1]
    lower = conclusions(Scores(["ESL"], ["a", "b"], "123", [[[1.0, 2.0, 3.0], [2.0, 3.0, 3.5]]]))
    assert lower.dominates.tolist() == [1]
