"""Rating assessors, and planning more labels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cranfield import CranfieldError
from cranfield.building.assessor_labels import Labels
from cranfield.building.merging import merge, plan_labels, rate_assessors
from cranfield.building.merging.assessor_report import majority_of_others, spammer_scores, wilson
from cranfield.building.merging.label_problem import shrunk
from tests.building.merging.simulated import simulated

# a is always right, b always says 1, c is right in 3 of 4; gold is 0, 1, 0, 1.
ROWS = [(t, w, y) for t, ys in {"t1": "010", "t2": "111", "t3": "011", "t4": "111"}.items()
        for w, y in zip("abc", ys, strict=True)]  # fmt: skip
GOLD = {"t1": 0, "t2": 1, "t3": 0, "t4": 1}


def test_checks_against_gold_are_counted() -> None:
    report = rate_assessors(ROWS, gold=GOLD)
    assert report.checks.tolist() == [4, 4, 4]
    assert report.right.tolist() == [4, 2, 3]
    # By chance: a says 0 and 1 half of the time each, as gold does; b always says 1; c says 0 once and 1 three times.
    assert report.chance.tolist() == [0.5, 0.5, 0.5]
    # P(X >= 4), P(X >= 2) and P(X >= 3) for X ~ Binomial(4, 1/2).
    assert report.p.tolist() == pytest.approx([1 / 16, 11 / 16, 5 / 16])
    assert report.accuracy.tolist() == [1.0, 0.5, 0.75]
    assert report.bias.tolist() == pytest.approx([0.0, 0.5, 0.25])
    assert report.basis == "gold labels"


def test_information_and_spammer_score_by_hand() -> None:
    """Classes are equally frequent. a: 1 bit. b: 0. c: rows (1/2, 1/2) and (0, 1), so H(1/4) - 1/2 · 1 bit.

    The squared distance of c's rows is 1/4 + 1/4, divided by K (K - 1) = 2.
    """
    report = rate_assessors(ROWS, gold=GOLD)
    quarter = -(0.25 * np.log2(0.25) + 0.75 * np.log2(0.75))
    assert report.information.tolist() == pytest.approx([1.0, 0.0, quarter - 0.5])
    assert report.spammer_score.tolist() == pytest.approx([1.0, 0.0, 0.25])


def test_agreement_with_others_by_hand() -> None:
    """On t1 b differs from a and c, who agree; on t3 a differs from b and c; on t2 and t4 all agree."""
    report = rate_assessors(ROWS, gold=GOLD)
    assert report.agreement.tolist() == [5 / 8, 5 / 8, 6 / 8]


def test_the_median_time_of_each_assessor() -> None:
    labels = replace(Labels.of(ROWS), seconds=np.array([1.0, 9, np.nan, 3, 9, 7, 2, 9, 8, 50, 9, np.nan]))
    assert rate_assessors(labels, gold=GOLD).seconds.tolist() == [2.5, 9.0, 7.5]
    assert np.isnan(rate_assessors(ROWS, gold=GOLD).seconds).all()


def test_without_gold_labels_are_checked_against_the_others() -> None:
    """a: t1 tie of b and c, t2 1, t3 1, t4 1. b: t1 0, t2 1, t3 tie, t4 1. c: t1 tie, t2 1, t3 tie, t4 1."""
    report = rate_assessors(ROWS, method="majority")
    assert report.checks.tolist() == [3, 3, 2]
    assert report.right.tolist() == [2, 2, 2]


def test_the_majority_of_others_leaves_out_all_own_labels() -> None:
    """A repeated label of the same assessor is not one of another."""
    labels = Labels.of([("t", "a", 0), ("t", "a", 0), ("t", "b", 1)], on_duplicate="keep")
    assert majority_of_others(labels).tolist() == [1, 1, 0]


def test_the_binomial_test_is_that_of_scipy() -> None:
    from scipy.stats import binomtest

    data = simulated(items=200, spammers=2)
    report = rate_assessors(data.labels)
    for right, checks, chance, p in zip(report.right, report.checks, report.chance, report.p, strict=True):
        assert p == pytest.approx(binomtest(int(right), int(checks), float(chance), "greater").pvalue)


def test_the_interval_is_that_of_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    right, count = np.array([0, 3, 8, 50]), np.array([4, 10, 10, 50])
    expected = proportion_confint(right, count, 0.1, "wilson")
    assert np.allclose(wilson(right, count, 0.1), expected, atol=1e-12)


def test_guessers_are_flagged_and_others_are_not() -> None:
    data = simulated(items=400, workers=8, each=5, spammers=3, seed=6)
    flags = rate_assessors(data.labels).flag.tolist()
    assert flags[5:].count("spam?") >= 2
    assert "" not in flags[5:]
    assert flags[:4] == [""] * 4


def test_somebody_who_always_says_the_frequent_label_is_flagged() -> None:
    """He is right in 90%, like chance."""
    rng = np.random.default_rng(1)
    truth = (rng.random(300) < 0.1).astype(int)
    rows = [(f"t{i}", w, 0 if w == "lazy" else int(truth[i])) for i in range(300) for w in ("a", "b", "lazy")]
    report = rate_assessors(rows, gold={f"t{i}": int(truth[i]) for i in range(300)})
    assert report.share[2] == pytest.approx(0.9, abs=0.05)
    assert report.flag.tolist() == ["", "", "spam?"]


def test_too_few_checks_are_not_called_spam() -> None:
    report = rate_assessors([*ROWS, ("t1", "d", 0)], gold=GOLD)
    assert report.flag.tolist()[3] == "not shown"
    assert any(note.startswith("not shown: ") and note.endswith("d") for note in report.notes)


def test_words_without_an_order_have_no_bias() -> None:
    rows = [(t, w, "yes" if y == "1" else "no") for t, w, y in ROWS]
    report = rate_assessors(rows)
    assert np.isnan(report.bias).all()
    assert "bias" not in [column.header for column in report.table().columns]


class TestPlan:
    """Which items need labels, how many, and from whom."""

    def test_open_items_come_by_uncertainty(self) -> None:
        data = simulated(items=60, seed=4)
        plan = plan_labels(data.labels, count=60)
        merged = merge(data.labels, "dawid-skene")
        is_open = merged.probability < 0.95
        assert plan.open_items == int(is_open.sum()) == len(plan.items)
        assert plan.closed_items == 60 - plan.open_items
        assert (np.diff(plan.entropy) <= 0).all()
        assert set(plan.items) == {data.labels.items[i] for i in np.flatnonzero(is_open)}

    def test_the_margin_rule_by_hand(self) -> None:
        """2·√t − 0.1·t is 3.6 after 4 labels and 3.97 after 5: 4:0 is closed, 3:0 (needs 3.16) and 4:1 are open."""
        rows = [("four", w, 1) for w in "abcd"] + [("three", w, 0) for w in "abc"]
        rows += [("five", w, int(w != "e")) for w in "abcde"]
        plan = plan_labels(rows, stop="margin", count=9)
        assert set(plan.items) == {"three", "five"}
        wide = plan_labels(rows, stop="margin", count=9, slack=0.5)  # 2·√5 − 2.5 = 1.97, and 2·√3 − 1.5 = 1.96
        assert wide.items == ()

    def test_gold_items_are_closed(self) -> None:
        data = simulated(items=60, seed=4)
        worst = plan_labels(data.labels, count=1).items[0]
        other = plan_labels(data.labels, count=60, gold={worst: 0})
        assert worst not in other.items
        assert plan_labels([("t", "a", 0), ("u", "b", 1)], stop="margin", gold={"t": 0}).items == ("u",)

    def test_the_assessor_with_most_information_is_asked(self) -> None:
        """A literal version, for every open item: H of the mixture of rows, less the mean of H of the rows."""
        data = simulated(items=60, seed=4)
        merged = merge(data.labels, "dawid-skene")
        plan = plan_labels(data.labels, count=60, merged=merged)
        tables, _ = shrunk(merged.confusion_counts)

        def entropy(row: Any) -> float:
            return -sum(p * np.log2(p) for p in row if p > 0)

        for item, worker, gain in zip(plan.items, plan.worker, plan.gain, strict=True):
            i = data.labels.items.index(item)
            done = set(data.labels.worker[data.labels.item == i].tolist())
            p = merged.posterior[i]
            gains = {
                name: entropy([sum(p[k] * table[k][y] for k in range(3)) for y in range(3)])
                - sum(p[k] * entropy(table[k]) for k in range(3))
                for w, (name, table) in enumerate(zip(data.labels.workers, tables, strict=True))
                if w not in done
            }
            assert gain == pytest.approx(max(gains.values()))
            assert gains[worker] == pytest.approx(gain)

    def test_tables_are_drawn_towards_the_mean(self) -> None:
        """c has one label; with five imaginary labels in a row, five sixths of it are those of the mean assessor."""
        rows = [(f"t{i}", w, i % 2) for i in range(10) for w in "ab"] + [("t0", "c", 1)]
        merged = merge(rows, "majority", gold={f"t{i}": i % 2 for i in range(10)})
        tables, mean = shrunk(merged.confusion_counts)
        assert np.allclose(tables[2][0], (np.array([0, 1]) + 5 * mean[0]) / 6)
        # 10 right labels and c's wrong one for class 0; one imaginary right label, and half a label in each cell.
        assert np.allclose(mean[0], np.array([11.5, 1.5]) / 13)

    def test_costs_and_limits_count(self) -> None:
        data = simulated(items=60, seed=4)
        best = plan_labels(data.labels, count=10).worker
        cost = np.where(data.labels.worker == data.labels.workers.index(best[0]), 1000.0, 1.0)
        assert best[0] not in plan_labels(replace(data.labels, cost=cost), count=1).worker
        limited = plan_labels(data.labels, count=30, most_per_assessor=2).worker
        assert max(limited.count(name) for name in set(limited) - {""}) <= 2

    def test_the_number_of_further_labels_is_near_that_of_a_simulation(self) -> None:
        """Wald's approximation for two classes, accuracy 0.8 and P = 0.95 from even odds: drift 0.6 · log 4, so 4."""
        rng = np.random.default_rng(3)
        truth = np.arange(2000) % 2
        right = rng.random((2000, 4)) < 0.8
        rows = [(f"t{i}", w, int(truth[i] if right[i, k] else 1 - truth[i])) for i in range(2000)
                for k, w in enumerate("abcd")]  # fmt: skip
        merged = merge([*rows, ("even", "a", 0), ("even", "b", 1)], "dawid-skene")
        plan = plan_labels(merged.labels, merged=merged, count=5000)
        assert plan.more[plan.items.index("even")] in (3, 4)
        assert np.log(19) / (0.6 * np.log(4)) == pytest.approx(3.54, abs=0.01)

    def test_nobody_left_to_ask(self) -> None:
        plan = plan_labels([("t", "a", 0), ("t", "b", 1), ("u", "a", 0)], stop="margin")
        assert dict(zip(plan.items, plan.worker, strict=True)) == {"t": "", "u": "b"}
        assert "1 item without an assessor who could be asked" in plan.notes

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"count": 0}, "count == 0, must be a whole number, 1 or more"),
            ({"stop": "never"}, "stop == 'never', must be one of 'posterior', 'margin'"),
            ({"probability": 1.0}, "probability == 1.0, must be above 0 and below 1"),
            ({"margin": 0.0}, "margin == 0.0, must be above 0"),
            ({"slack": -0.1}, "slack == -0.1, must be 0 or above"),
            ({"most_per_assessor": 0}, "most_per_assessor == 0, must be a whole number"),
        ],
    )
    def test_bad_settings_are_explained(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(CranfieldError, match=message):
            plan_labels(ROWS, **settings)

    def test_one_assessor_is_an_error(self) -> None:
        with pytest.raises(CranfieldError, match="there is one assessor, whom nobody checks; ask a second one first"):
            plan_labels([("t", "a", 0), ("u", "a", 1)])


def test_alpha_of_the_report_is_checked() -> None:
    with pytest.raises(CranfieldError, match="alpha == 0, must be above 0 and below 1"):
        rate_assessors(ROWS, alpha=0)


def test_spammer_scores_are_distances_of_all_pairs_of_rows() -> None:
    merged = merge(simulated(seed=3, classes=4).labels, "dawid-skene", assessor_prior=(1, 1))
    table = merged.confusion
    for w, score in enumerate(spammer_scores(merged).tolist()):
        slow = sum(((table[w, c] - table[w, d]) ** 2).sum() for c in range(4) for d in range(c)) / (4 * 3)
        assert score == pytest.approx(slow, nan_ok=True)


@pytest.mark.filterwarnings("ignore::cranfield.errors.NotedWarning")
def test_a_plan_does_not_trust_labels_that_nobody_checks() -> None:
    alone = [("t1", "a", 1), ("t2", "b", 0), ("t3", "c", 1)]
    with pytest.raises(CranfieldError, match=r"every item has a single label and no gold label.*stop='margin'"):
        plan_labels(alone)
    assert plan_labels(alone, stop="margin").open_items == 3
    assert plan_labels(alone, gold={"t1": 1}).closed_items >= 1


def test_finished_items_with_a_single_label_are_counted() -> None:
    rows = [("t1", "a", 1), ("t1", "b", 1), ("t2", "a", 0), ("t2", "b", 0), ("t3", "a", 1), ("t4", "b", 0)]
    plan = plan_labels(rows, method="majority")
    assert "2 items without need of more labels have a single label, which nobody checks" in plan.notes


@pytest.mark.parametrize(("wrong", "flag"), [(1, "not shown"), (5, "not shown"), (10, "spam?")])
def test_a_few_wrong_checks_make_nobody_a_spammer(wrong: int, flag: str) -> None:
    """A recall of 0 of n is at most 1 − .05^(1/n); that of the label without checks may be 1.

    The mean is .725 for 5 checks and .629 for 10; a useful assessor has .5 + .3 · .5 = .65.
    """
    items = [f"t{i}" for i in range(wrong)]
    rows = [(item, "bad", 0) for item in items] + [(item, "good", 1) for item in items]
    report = rate_assessors(rows, gold=dict.fromkeys(items, 1), method="majority")
    assert report.flag[report.workers.index("bad")] == flag


def test_the_upper_bound_of_the_recall_combines_those_of_clopper_and_pearson() -> None:
    """18 of 20 zeros and 1 of 4 ones are found."""
    from scipy.stats import binomtest

    truth = [0] * 20 + [1] * 4
    given = [0] * 18 + [1] * 2 + [1] + [0] * 3
    rows = [(f"t{i}", "a", label) for i, label in enumerate(given)]
    report = rate_assessors(rows, gold={f"t{i}": label for i, label in enumerate(truth)}, method="majority")
    zeros, ones = (binomtest(k, n).proportion_ci(0.9).high for k, n in ((18, 20), (1, 4)))
    assert report.recall[0] == pytest.approx((0.9 + 0.25) / 2)
    assert report.recall_high[0] == pytest.approx(0.575 + np.hypot(zeros - 0.9, ones - 0.25) / 2)
