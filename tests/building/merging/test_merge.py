"""Merging labels: votes, ties, gold, priors, starts, results and bad input."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield import CranfieldError
from cranfield.building.assessor_labels import Labels
from cranfield.building.merging import MERGING_METHODS, merge, merge_labels
from cranfield.building.merging.label_problem import Fit, problem_of
from cranfield.building.merging.merge_labels import worse_than_votes
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning, DataError
from tests.building.merging.simulated import simulated

VOTES = [("t1", "a", 0), ("t1", "b", 1), ("t2", "a", 2), ("t2", "b", 2), ("t2", "c", 0), ("t3", "c", 1)]
PAIRS = [("7", "d1", "a", 0), ("7", "d1", "b", 2), ("7", "d2", "a", 2), ("8", "d1", "a", 1), ("8", "d1", "b", 1)]


def test_the_majority_vote_counts() -> None:
    """t1 has a vote for 0 and one for 1; t2 two votes for 2 and one for 0; t3 one vote for 1."""
    merged = merge(VOTES)
    assert np.allclose(merged.posterior, [[0.5, 0.5, 0], [1 / 3, 0, 2 / 3], [0, 1, 0]])
    assert merged.expected.tolist() == pytest.approx([0.5, 4 / 3, 1.0])
    assert merged.entropy.tolist() == pytest.approx([1.0, np.log2(3) - 2 / 3, 0.0])
    assert merged.accuracy.tolist() == pytest.approx([(1 / 2 + 2 / 3) / 2, (1 / 2 + 2 / 3) / 2, (1 / 3 + 1) / 2])
    assert (merged.ties, merged.decided_by_one, merged.steps, merged.converged) == (1, 1, 0, None)


@pytest.mark.parametrize(("ties", "label"), [("lowest", 0), ("highest", 1), ("undecided", None)])
def test_ties_follow_the_rule(ties: str, label: int | None) -> None:
    merged = merge(VOTES, ties=ties)
    assert merged.label.tolist() == [label, 2, 1]
    assert any(note.startswith("1 item with several most probable labels") for note in merged.notes)


def test_random_ties_follow_the_seed_and_are_fair() -> None:
    rows = [(f"t{i}", worker, y) for i in range(1000) for worker, y in (("a", 0), ("b", 2))]
    rows.append(("last", "a", 1))
    first, again, other = (merge(rows, ties="random", seed=seed).label[:1000] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(first.tolist()) == {0, 2}
    assert abs((first == 0).mean() - 0.5) < 0.08  # five standard errors


def test_weights_are_log_odds_of_the_accuracy_on_gold() -> None:
    """With (2, 1) imaginary labels: a has 2 of 2 right, so (2 + 2) / 5; b has 1 of 2, so 3 / 5."""
    rows = [("g1", "a", 1), ("g1", "b", 1), ("g2", "a", 0), ("g2", "b", 1), ("t", "a", 0), ("t", "b", 1)]
    merged = merge(rows, "weighted", gold={"g1": 1, "g2": 0})
    assert merged.worker_values["measured accuracy"].tolist() == pytest.approx([0.8, 0.6])
    assert merged.worker_values["weight"].tolist() == pytest.approx([np.log(4), np.log(1.5)])
    assert merged.posterior[2].tolist() == pytest.approx([4 / 5.5, 1.5 / 5.5])


def test_weights_without_gold_come_from_agreement_with_the_majority() -> None:
    """c disagrees with the majority of three on both items: (0 + 2) / (2 + 3); a and b agree: 4 / 5."""
    rows = [(t, w, y) for t, ys in {"t1": "001", "t2": "110"}.items() for w, y in zip("abc", ys, strict=True)]
    merged = merge(rows, "weighted", weight="accuracy")
    assert merged.worker_values["weight"].tolist() == pytest.approx([0.8, 0.8, 0.4])
    assert merged.posterior[0].tolist() == pytest.approx([0.8, 0.2])


def test_a_label_that_is_one_of_two_most_frequent_ones_is_half_right() -> None:
    """Both have half a right label of one, and (2, 1) imaginary labels: 2.5 / 4."""
    merged = merge([("t", "a", 0), ("t", "b", 1)], "weighted", weight="accuracy")
    assert merged.worker_values["weight"].tolist() == [0.625, 0.625]


def test_the_binomial_vote_estimates_a_success_probability() -> None:
    """Labels 0, 2, 2 are 4 successes in 3 · 2 trials: p = 2/3, and grades are Binomial(2, 2/3)."""
    merged = merge([("t", "a", 0), ("t", "b", 2), ("t", "c", 2), ("u", "a", 1)], "bmv")
    assert merged.posterior[0].tolist() == pytest.approx([1 / 9, 4 / 9, 4 / 9])
    assert merged.expected[0] == pytest.approx(4 / 3)
    # Two-sided exact test: 2 P(X <= 2) for X ~ Binomial(6, 1/2) is 2 · 22 / 64.
    assert merged.item_values["p"].tolist() == pytest.approx([44 / 64, 1.0])


def test_the_binomial_vote_is_the_majority_vote_for_two_labels() -> None:
    data = simulated(classes=2, each=5)
    binomial, votes = merge(data.labels, "bmv"), merge(data.labels)
    assert np.allclose(binomial.posterior, votes.posterior)


def test_majorities_that_are_not_significant_can_stay_undecided() -> None:
    """Six equal votes have p = 2 / 64 = 0.031; five have 2 / 32 = 0.0625."""
    rows = [("six", f"w{i}", 1) for i in range(6)] + [("five", f"w{i}", 1) for i in range(5)] + [("none", "w1", 0)]
    merged = merge(rows, "bmv", alpha=0.05)
    assert merged.label.tolist() == [1, None, None]
    assert "2 items are undecided" in merged.notes
    assert merge(rows, "bmv", alpha=0.05, gold={"five": 1}).label.tolist() == [1, 1, None]


@pytest.mark.parametrize("method", MERGING_METHODS)
def test_gold_is_kept_by_every_method(method: str) -> None:
    """The gold label is one that nobody gave."""
    rows = [(f"t{i}", w, i % 2) for i in range(12) for w in "abc"] + [("t99", "a", 2)]
    merged = merge(rows, method, gold={"t0": 2, "t1": 0})
    assert merged.label[:2].tolist() == [2, 0]
    assert merged.posterior[0].tolist() == [0, 0, 1]
    assert "2 gold labels, kept as they are" in merged.notes


@pytest.mark.parametrize("method", MERGING_METHODS)
def test_every_method_agrees_with_unanimous_assessors(method: str) -> None:
    rows = [(f"t{i}", w, i % 3) for i in range(30) for w in "abcd"]
    merged = merge(rows, method)
    assert merged.label.tolist() == [i % 3 for i in range(30)]
    assert np.allclose(merged.posterior.sum(axis=1), 1)


def test_gold_is_read_from_all_its_forms(tmp_path: Path) -> None:
    files = {
        "gold.qrels": "7 0 d1 2\n8 0 d1 0\n",
        "gold.csv": "topic,doc,label\n7,d1,2\n8,d1,0\n",
        "gold.tsv": "label\ttopic\tdoc\n2\t7\td1\n0\t8\td1\n",
        "three.txt": "7 d1 2.0\n8 d1 0\n",
    }
    golds: list[Any] = [{"7": {"d1": 2}, "8": {"d1": 0}}, Qrels.from_dict({"7": {"d1": 2}, "8": {"d1": 0}})]
    golds.append({("7", "d1"): 2, ("8", "d1"): 0.0})
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        golds.append(tmp_path / name)
    for gold in golds:
        assert merge(PAIRS, gold=gold).gold.tolist() == [2, -1, 0]
    (tmp_path / "tasks.csv").write_text("task,gold\nt1,1\nt3,0\n")
    assert merge(VOTES, gold=tmp_path / "tasks.csv").gold.tolist() == [1, -1, 0]


def test_merged_labels_are_qrels() -> None:
    merged = merge(PAIRS, ties="undecided")
    assert merged.to_qrels().to_dict() == {"7": {"d2": 2}, "8": {"d1": 1}}
    assert merged.to_qrels(expected=True).to_dict() == {"7": {"d1": 1.0, "d2": 2.0}, "8": {"d1": 1.0}}


def test_measures_read_expected_grades() -> None:
    """DCG of the document with expected grade 0.5 at rank 1, and 1 at rank 2."""
    import cranfield as cf

    rows = [("1", "d1", "a", 0), ("1", "d1", "b", 1), ("1", "d2", "a", 1)]
    run = {"1": {"d1": 2.0, "d2": 1.0}}
    scores = cf.evaluate(merge(rows).to_qrels(expected=True), {"run": run}, "DCG@2")
    assert scores.means()[0, 0] == pytest.approx(0.5 + 1 / np.log2(3))


def test_a_warm_start_is_used() -> None:
    """From a converged result there is nothing left to do; new items start from their votes."""
    data = simulated()
    cold = merge(data.labels, "dawid-skene", tolerance=1e-10)
    warm = merge(data.labels, "dawid-skene", tolerance=1e-10, start=cold)
    assert warm.steps < cold.steps / 3
    assert np.allclose(warm.posterior, cold.posterior, atol=1e-5)
    assert any("from an earlier result" in note for note in warm.notes)
    part = data.labels.select(data.labels.item < 30)
    assert merge(data.labels, "dawid-skene", start=merge(part, "dawid-skene")).converged


def test_a_class_prior_moves_probabilities_by_bayes_rule() -> None:
    """The start are the votes, so both accuracies are (1 + 2) / (1 + 3) = 3/4 after one step; P(0 | labels 1, 1) is
    proportional to 0.9 · 1/4 · 1/4, and P(1 | labels 1, 1) to 0.1 · 3/4 · 3/4."""
    data = Labels.of([("t", "a", 1), ("t", "b", 1)], scale=[0, 1])
    with pytest.warns(CranfieldWarning, match="did not converge"):
        merged = merge(data, "one-coin", steps=1, class_prior=[0.9, 0.1], assessor_prior=(2.0, 1.0))
    assert merged.posterior[0].tolist() == pytest.approx([0.5, 0.5])


def test_records_have_tables_json_and_frames() -> None:
    merged = merge(PAIRS, "dawid-skene", assessor_prior=(1, 1))
    assert list(merged.to_pandas().columns) == ["topic", "doc", "label", "expected", "probability", "entropy", "labels"]
    assert list(merged.posteriors()) == ["topic", "doc", "p(0)", "p(1)", "p(2)"]
    facts = merged.to_dict()
    assert (facts["method"], facts["converged"], len(facts["rows"])) == ("dawid-skene", True, 3)
    assert facts["steps"] == len(merged.trace)


def test_a_result_that_has_not_converged_says_so() -> None:
    with pytest.warns(CranfieldWarning, match="dawid-skene did not converge in 2 steps; allow more steps"):
        merged = merge(simulated().labels, "dawid-skene", steps=2)
    assert merged.converged is False
    assert any("not converged" in note for note in merged.notes)


class TestWorseThanVoting:
    """A method that is worse than the votes is reported, whichever it is."""

    @pytest.mark.parametrize("method", ["one-coin", "mace"])
    def test_on_gold_labels(self, method: str) -> None:
        """Three assessors copy each other's guesses, so they agree more than four who are right in 75%."""
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, 400)
        good = np.where(rng.random((400, 4)) < 0.75, truth[:, None], 1 - truth[:, None])
        copied = np.where(rng.random(400) < 0.55, truth, 1 - truth)
        every = np.column_stack([good, copied, copied, copied])
        rows = [(f"t{i}", f"w{w}", int(every[i, w])) for i in range(400) for w in range(7)]
        gold = {f"t{i}": int(truth[i]) for i in range(60)}
        with pytest.warns(CranfieldWarning, match=rf"{method} is worse than the majority vote here: .* gold labels"):
            merged = merge(rows, method, gold=gold)
        rest = slice(60, None)
        assert (merged.label[rest] == truth[rest]).mean() < (merge(rows).label[rest] == truth[rest]).mean()
        assert any("worse than the majority vote" in note for note in merged.notes)

    @pytest.mark.parametrize("method", [name for name in MERGING_METHODS if name != "majority"])
    def test_every_method_is_compared(self, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        compared = []
        monkeypatch.setattr(merge_labels, "worse_than_votes", lambda *found: compared.append(found[0].name))
        merge(VOTES, method)
        merge(VOTES, method, compare_votes=False)
        merge(VOTES, "majority")
        assert compared == [method]

    @pytest.mark.parametrize("method", ["dawid-skene", "one-coin"])
    def test_on_labels_that_are_held_out(self, method: str) -> None:
        """Assessors with four labels each have accuracies that nobody can estimate; all are right in 70%."""
        rng = np.random.default_rng(0)
        truth, item = rng.integers(0, 2, 800), np.repeat(np.arange(800), 5)
        worker = rng.permutation(4000) // 4
        label = np.where(rng.random(4000) < 0.7, truth[item], 1 - truth[item])
        labels = Labels(tuple(map(str, range(800))), tuple(map(str, range(1000))), ("0", "1"), item, worker, label)
        with pytest.warns(CranfieldWarning, match=rf"{method} looks worse .* 1,200 labels that were held out"):
            merged = merge(labels, method)
        assert (merged.label == truth).mean() < (merge(labels).label == truth).mean()

    def test_on_a_scale_that_has_no_order(self) -> None:
        """Wrong labels are as often distant as near, which the binomial vote takes for a middle grade."""
        rng = np.random.default_rng(5)
        truth = np.arange(300) % 3
        wrong = (truth[:, None] + rng.integers(1, 3, (300, 5))) % 3
        given = np.where(rng.random((300, 5)) < 0.7, truth[:, None], wrong)
        rows = [(f"t{i}", f"w{w}", int(given[i, w])) for i in range(300) for w in range(5)]
        with pytest.warns(CranfieldWarning, match="bmv looks worse than the majority vote here"):
            merged = merge(rows, "bmv")
        assert (merged.label == truth).mean() < (merge(rows).label == truth).mean() - 0.05

    def test_a_model_that_sees_through_a_common_habit_is_not_called_worse(self) -> None:
        """Assessors call most relevant documents not relevant. Votes agree with them more often than the truth does."""
        rng = np.random.default_rng(4)
        truth = rng.integers(0, 2, 500)
        says_1 = np.where(truth[:, None] == 1, rng.uniform(0.3, 0.7, 9), rng.uniform(0.01, 0.1, 9))
        given = (rng.random((500, 9)) < says_1).astype(int)
        rows = [(f"t{i}", f"w{w}", int(given[i, w])) for i in range(500) for w in range(9)]
        merged = merge(rows, "dawid-skene")  # a warning would be an error
        assert (merged.label == truth).mean() > (merge(rows).label == truth).mean() + 0.1
        agreed = [(given == labels.astype(int)[:, None]).mean() for labels in (merge(rows).label, merged.label)]
        assert agreed[0] > agreed[1]
        with pytest.warns(CranfieldWarning, match="one-coin looks worse"):
            coin = merge(rows, "one-coin")
        assert (coin.label == truth).mean() < (merge(rows).label == truth).mean()

    @pytest.mark.parametrize("method", ["weighted", "dawid-skene", "one-coin", "glad", "mace"])
    def test_nothing_is_said_if_the_model_is_better(self, method: str) -> None:
        data = simulated(items=600, workers=12, each=7, classes=2, spammers=6, seed=3)
        merged = merge(data.labels, method)  # a warning would be an error
        assert not any("worse" in note for note in merged.notes)

    def test_nothing_is_compared_if_it_is_not_wanted_or_labels_are_those_of_the_votes(self) -> None:
        fits = []
        method = MERGING_METHODS.find("one-coin")
        counted = replace(method, fit=lambda problem: fits.append(problem) or method.fit(problem))  # type: ignore[func-returns-value]
        problem, _ = problem_of(simulated(items=100, workers=6, each=4, classes=2, seed=1).labels)
        assert worse_than_votes(counted, problem, Fit(problem.shares)) is None
        assert not fits
        worse_than_votes(counted, problem, Fit(problem.shares[:, ::-1]))
        assert len(fits) == 3
        assert all(part.first is None for part in fits)


def test_converged_labels_do_not_change_with_more_steps() -> None:
    """The likelihood of these labels is flat after 36 steps, when an item will still get another label."""
    rng = np.random.default_rng(0)
    truth = rng.choice(4, 300, p=[0.6, 0.2, 0.12, 0.08])
    bias, noise = rng.normal(0, 0.5, 30), rng.uniform(0.4, 1, 30)
    rows = []
    for i in range(300):
        for w in rng.choice(30, 4, replace=False).tolist():
            seen = truth[i] + bias[w] + noise[w] * rng.normal()
            rows.append((f"t{i}", f"w{w}", int(np.clip(np.round(seen), 0, 3))))
    merged = merge(rows, "dawid-skene", compare_votes=False)
    assert merged.converged
    longer = merge(rows, "dawid-skene", steps=3000, tolerance=0.0, compare_votes=False)
    assert longer.position.tolist() == merged.position.tolist()
    flat = int(np.flatnonzero(np.diff(merged.trace) < 1e-7 * len(rows))[0]) + 2  # the likelihood alone would stop here
    with pytest.warns(CranfieldWarning, match="did not converge"):
        early = merge(rows, "dawid-skene", steps=flat, compare_votes=False)
    assert (early.position != merged.position).any()


def test_labels_are_labels_and_positions_are_positions() -> None:
    rows = [("a", "x", "yes"), ("b", "x", "no"), ("b", "y", "no"), ("c", "x", "yes"), ("c", "y", "no")]
    merged = merge(rows, ties="undecided")
    assert (merged.label.tolist(), merged.position.tolist()) == (["yes", "no", None], [1, 0, -1])
    grades = merge([("a", "x", 10), ("b", "x", 2.5)])
    assert (grades.label.tolist(), grades.position.tolist()) == ([10, 2.5], [1, 0])
    assert [type(label) for label in grades.label] == [int, float]


@pytest.mark.parametrize("header", ["orig_id\tgold", "task\tlabel", "frage\tantwort"])
def test_a_header_of_a_gold_file_is_not_an_item(tmp_path: Path, header: str) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text(f"{header}\nt1\t1\nt9\t0\n")
    merged = merge([("t1", "x", 0), ("t2", "x", 1)], gold=path)
    assert merged.label.tolist() == [1, 1]
    assert "1 gold item has no labels of assessors, left out: t9" in merged.notes
    unusual = any("line 1 of" in note and "is read as a header: frage, antwort" in note for note in merged.notes)
    assert unusual == (header == "frage\tantwort")


def test_gold_labels_are_a_column_of_a_wide_table(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\n1\tx\tt1\t0\t1\n2\ty\tt1\t0\t1\n")
    assert merge(Labels.of(path, scale=[0, 1]), gold=path).label.tolist() == [1]
    path.write_text("1\tx\tt1\t0\t1\n")
    with pytest.raises(DataError, match=r"labels.tsv:1: 5 columns, expected task label, .*, or a first line of names"):
        merge([("t1", "x", 0), ("t1", "y", 1)], gold=path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: merge(VOTES, "dawid-sken"), "no method 'dawid-sken'; did you mean 'dawid-skene'"),
        (lambda: merge([("t1", "a", 1), ("t1", "b", 1)]), "all 2 labels are '1', .* by scale="),
        (lambda: merge([("t1", "a", "yes"), ("t1", "b", "no")], "ordinal"), "with an order, but 'no', 'yes' are words"),
        (lambda: merge([("t1", "a", "yes"), ("t1", "b", "no")], "bmv"), "bmv needs labels with an order"),
        (lambda: merge(VOTES, ties="first"), "merge: ties == 'first', must be one of 'lowest'"),
        (lambda: merge(VOTES, steps=5), "steps == 5 is a setting of dawid-skene, .*, gp, not of majority"),
        (lambda: merge(VOTES, "glad", assessor_prior=(1, 1)), "is a setting of weighted, .*, not of glad"),
        (lambda: merge(VOTES, "dawid-skene", steps=0), "steps == 0, must be a whole number, 1 or more"),
        (lambda: merge(VOTES, "dawid-skene", tolerance=-1.0), "tolerance == -1.0, must be 0 or above"),
        (lambda: merge(VOTES, "dawid-skene", class_counts=float("nan")), "class_counts == nan, must be a number"),
        (lambda: merge(VOTES, "dawid-skene", assessor_prior=(1, -1)), "must be two numbers, 0 or more"),
        (lambda: merge(VOTES, "dawid-skene", assessor_prior=(1,)), "assessor_prior == .*, must be two numbers"),
        (lambda: merge(VOTES, "dawid-skene", class_prior=[0.5, 0.5, 0]), "a label with probability 0 could never be"),
        (lambda: merge(VOTES, "dawid-skene", class_prior=[0.5, 0.5]), "a probability for each of the 3 labels"),
        (lambda: merge(VOTES, "dawid-skene", class_prior=[0.5, 0.5, 0.5]), "probabilities with sum 1, not 1.5"),
        (lambda: merge(VOTES, "dawid-skene", class_prior="flat"), "'estimated', 'uniform' or a probability per label"),
        (lambda: merge(VOTES, "mace", inference="mcmc"), "inference == 'mcmc', must be one of 'vb', 'em'"),
        (lambda: merge(VOTES, "mace", restarts=-1), "restarts == -1, must be a whole number, 0 or more"),
        (lambda: merge(VOTES, "bmv", alpha=1.0), "alpha == 1.0, must be above 0 and below 1"),
        (lambda: merge(VOTES, "gp", window=0), "window == 0, must be a whole number"),
        (lambda: merge(VOTES, "gp", length=0.0), "length == 0.0, must be above 0"),
        (lambda: merge(VOTES, seed=-1), "seed == -1, must be a whole number, 0 or more"),
        (lambda: merge(VOTES, start=merge(VOTES)), "start is for methods that take steps; majority does not"),
        (lambda: merge(VOTES, "glad", start=merge(VOTES[:2])), "another scale than the labels: 0, 1 and 0, 1, 2"),
        (lambda: merge(VOTES, gold={"t9": 1}), "no gold item .* gold has 't9', labels 't1'"),
        (lambda: merge(VOTES, gold={"t1": 7}), "gold label '7' of t1 is not on the scale 0, 1, 2"),
        (lambda: merge(VOTES, gold=7), "int cannot be read as gold"),
        (lambda: merge(VOTES).to_qrels(), "the topics of items are unknown"),
    ],
)  # fmt: skip
def test_bad_input_is_explained(call: Any, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        call()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,label\nt1,0\nt2,2\nt1,1\n", "gold.csv:4: gold contradicts itself: t1 has the labels 0 and 1"),
        ("task,label\nt1,9\n", "gold.csv:2: gold label '9' of t1 is not on the scale"),
        ("t1 0\nt2\n", "gold.csv:2: 1 column, expected 2 as on line 1"),
        ("", "gold.csv: is empty"),
        ("task,label\n", "gold.csv:1: holds only a header"),
    ],
)  # fmt: skip
def test_wrong_gold_files_are_explained(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "gold.csv"
    path.write_text(text)
    with pytest.raises(CranfieldError, match=message):
        merge(VOTES, gold=path)


@pytest.mark.filterwarnings("ignore:no item has two labels")
@pytest.mark.parametrize("method", MERGING_METHODS)
@pytest.mark.parametrize("workers", ["aaa", "abc"])
def test_labels_that_nobody_checks_are_taken_as_they_are(method: str, workers: str) -> None:
    """One assessor, or several who never label the same item."""
    merged = merge([(f"t{i}", w, int(i > 0)) for i, w in enumerate(workers)], method)
    assert merged.label.tolist() == [0, 1, 1]
    assert "3 items have a single label, which no other label checks" in merged.notes
    assert ("there is one assessor, whom nobody checks" in merged.notes) == (workers == "aaa")
    if MERGING_METHODS[method].iterative:
        blind = f"no item has two labels or a gold label, so {method} cannot learn anything about assessors"
        assert any(note.startswith(blind) for note in merged.notes)


def test_a_model_that_cannot_learn_anything_warns() -> None:
    with pytest.warns(CranfieldWarning, match="dawid-skene cannot learn anything about assessors"):
        merge([("t1", "a", 0), ("t2", "b", 1)], "dawid-skene")


@pytest.mark.parametrize("method", MERGING_METHODS)
def test_small_data_has_probabilities(method: str) -> None:
    merged = merge([*VOTES, ("t3", "a", 1)], method)
    assert np.isfinite(merged.posterior).all()
    assert np.allclose(merged.posterior.sum(axis=1), 1)


def test_labels_that_differ_from_the_votes_are_counted() -> None:
    """a and b are always right on gold, c and d always wrong; on t two of them stand against c, d and e."""
    rows = [(f"g{i}", w, i % 2 if w in "ab" else 1 - i % 2) for i in range(20) for w in "abcd"]
    rows += [("t", w, 0 if w in "ab" else 1) for w in "abcde"]
    merged = merge(rows, "dawid-skene", gold={f"g{i}": i % 2 for i in range(20)})
    assert merged.label[-1] == 0
    assert "1 item gets another label than by the majority vote" in merged.notes


def test_tables_of_confusion_that_do_not_fit_in_memory_are_an_error() -> None:
    """400 assessors and 400 labels: 64 million cells."""
    labels = Labels.of([(f"t{i}", f"w{i}", i) for i in range(400)] + [(f"t{i}", "w0", i) for i in range(1, 400)])
    with pytest.raises(CranfieldError, match=r"64,000,000 cells, must be 50,000,000 or fewer; merge labels"):
        merge(labels, "dawid-skene")
    assert merge(labels, "mace").converged


def test_an_assessor_with_one_label_is_noted() -> None:
    merged = merge([*VOTES, ("t1", "d", 1)], "dawid-skene")
    assert "1 assessor with a single label, about whom little can be known: d" in merged.notes


def test_gold_for_unknown_items_is_noted() -> None:
    merged = merge(VOTES, gold={"t1": 1, "t8": 0, "t9": 1})
    assert "2 gold items have no labels of assessors, left out: t8, t9" in merged.notes


def test_items_without_labels_are_left_out_with_a_note() -> None:
    labels = Labels.of(PAIRS)
    merged = merge(labels.select(labels.item != 1), "dawid-skene")
    assert np.isnan(merged.posterior[1]).all()
    assert merged.label[1] is None
    assert "1 item without any label, left out" in merged.notes
    assert "d2" not in merged.to_qrels(expected=True).to_dict()["7"]


def test_words_without_an_order_are_merged_but_have_no_grades() -> None:
    merged = merge([("t1", "a", "cat"), ("t1", "b", "dog"), ("t2", "a", "dog")], "majority")
    assert merged.columns()["label"].tolist() == ["cat", "dog"]
    assert "expected" not in merged.columns()
    assert "the labels have no order; the lowest is the first by name" in merged.notes
    with pytest.raises(CranfieldError, match="words without an order"):
        _ = merged.expected


def test_a_repeated_label_counts_twice_if_it_is_kept() -> None:
    rows = [("t", "a", 0), ("t", "a", 0), ("t", "b", 1)]
    assert merge(Labels.of(rows, on_duplicate="keep")).posterior[0].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_expected_grades_are_written_without_rounding_noise() -> None:
    rows = [("7", "d1", f"a{worker}", grade) for worker, grade in enumerate((0, 0, 0, 0, 3))]
    assert merge(rows, "majority").to_qrels(expected=True).to_dict()["7"]["d1"] == 0.6
