"""The audit of machine judges: agreement, bias, rankings and conclusions, by hand and beside other tools."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from scipy.stats import t as student
from statsmodels.stats.inter_rater import cohens_kappa

from cranfield.building.machine.judge_agreement import judge_agreement
from cranfield.building.machine.judge_rankings import compare_rankings
from cranfield.building.machine.judged_pairs import ALL, BOTH, JudgedPairs, ScoredTwice, clustered_mean, score_twice
from cranfield.building.machine.machine_audit import audit, family_bias, length_bias, spearman
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.comparison.compare import compare
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.agreement.overlap import rbo
from cranfield.scores.scores import Scores

HUMAN = {"1": dict(zip("abcde", [1, 1, 0, 0, 0], strict=True)), "2": dict(zip("fghij", [2, 1, 0, 0, 0], strict=True))}
MACHINE = {"1": dict(zip("abcde", [1, 0, 1, 0, 0], strict=True)), "2": dict(zip("fghij", [2, 2, 0, 0, 1], strict=True))}
CONFUSION = [[4, 2, 0], [1, 1, 1], [0, 0, 1]]
"""Human grades in rows, machine grades in columns."""


def pairs_of(human: Any = HUMAN, machine: Any = MACHINE, name: str = "model") -> JudgedPairs:
    return JudgedPairs.of(Qrels.of(human), Qrels.of(machine), name)


def run_of(*docs: str) -> Run:
    """A run that retrieves the documents of each topic in this order: `1ab` is a, b for topic 1."""
    return Run.of({text[0]: {doc: float(-i) for i, doc in enumerate(text[1:])} for text in docs})


# -- agreement


def test_agreement_and_leniency_by_hand() -> None:
    agreement, confusion, _ = judge_agreement([pairs_of()])
    assert confusion.matrix("model")[1].tolist() == CONFUSION
    assert agreement.agreement.item() == pytest.approx(0.6)  # 4 + 1 + 1 of 10
    chance = (6 * 5 + 3 * 3 + 1 * 2) / 100
    assert agreement.kappa[0].item() == pytest.approx((0.6 - chance) / (1 - chance))
    assert agreement.relevant[:, 0].tolist() == pytest.approx([0.4, 0.5])
    # Topic 1 has 0 of 5 grades too many, topic 2 has 2 of 5: mean .2, variance 2/1 · (1² + 1²) / 10².
    half = student.ppf(0.975, 1) * 0.2
    assert agreement.leniency[:, 0].tolist() == pytest.approx([0.2, 0.2 - half, 0.2 + half])


@pytest.mark.peers
def test_kappa_is_that_of_statsmodels() -> None:
    agreement, _, _ = judge_agreement([pairs_of()])
    assert agreement.kappa[0].item() == pytest.approx(cohens_kappa(np.array(CONFUSION)).kappa)
    weighted = cohens_kappa(np.array(CONFUSION), wt="quadratic").kappa
    assert agreement.weighted[0].item() == pytest.approx(weighted)


def test_the_interval_of_kappa_is_over_resampled_topics() -> None:
    """With two topics, half of the resamples have both, a quarter each only one of them."""
    agreement, _, topics = judge_agreement([pairs_of()], level=0.9, resamples=4_000)
    assert agreement.kappa[1:, 0].tolist() == pytest.approx(sorted(topics.kappa.tolist()))
    assert "fewer than 10 topics, so that intervals of κ are too narrow: model" in agreement.notes


def test_topics_by_hand_and_the_worst_first() -> None:
    _, _, topics = judge_agreement([pairs_of()])
    assert topics.agreement.tolist() == pytest.approx([0.6, 0.6])
    assert topics.leniency.tolist() == pytest.approx([0.0, 0.4])
    assert (topics.human_relevant.tolist(), topics.machine_relevant.tolist()) == ([2, 2], [2, 3])
    machine = {"1": HUMAN["1"], "2": MACHINE["2"]}
    assert judge_agreement([pairs_of(machine=machine)])[2].worst(1).rows[0][1] == "2"


def test_documents_of_one_file_are_counted_and_left_out() -> None:
    machine = {"1": {**MACHINE["1"], "x": 3}, "9": {"y": 1}}
    pairs = pairs_of(machine=machine)
    assert (len(pairs), pairs.only_human, pairs.only_machine) == (5, 5, 2)
    assert pairs.topics == ("1",)
    assert "model: 1 topic without common documents: 2" in pairs.notes
    assert "model: 1 judgment with a grade that the human judgments do not have (3)" in pairs.notes


def test_files_in_another_order_are_matched() -> None:
    turned = {topic: dict(reversed(grades.items())) for topic, grades in reversed(MACHINE.items())}
    pairs = pairs_of(machine=turned)
    assert pairs.machine.tolist() == pairs_of().machine.tolist()


def test_judges_are_compared_with_each_other() -> None:
    result = audit(HUMAN, {"a": MACHINE, "b": HUMAN, "c": {"1": {"zz": 1, "a": 1}}})
    assert result.judges is not None
    columns = result.judges.columns()
    assert list(zip(columns["judge"], columns["other"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert columns["both"].tolist() == [10, 1, 1]
    assert columns["kappa"][0] == pytest.approx(result.agreement.kappa[0, 0])  # b is the human file
    assert columns["leniency"][0] == pytest.approx(-0.2)


def test_clusters_of_one_document_are_a_plain_t_interval() -> None:
    values = np.array([0.0, 1.0, 1.0, -1.0, 2.0])
    mean, low, high = clustered_mean(values, np.arange(5), 5)
    half = student.ppf(0.975, 4) * values.std(ddof=1) / np.sqrt(5)
    assert (mean, low, high) == pytest.approx((0.6, 0.6 - half, 0.6 + half))


# -- bias


def test_bias_by_length_by_hand() -> None:
    lengths = dict(zip("abcdefghij", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], strict=True))
    bias = length_bias([pairs_of()], lengths, bins=2)
    # Differences in order of length: 0, −1, 1, 0, 0 | 0, 1, 0, 0, 1.
    assert bias.leniency[0].tolist() == pytest.approx([0.0, 0.4])
    assert (bias.shortest.tolist(), bias.longest.tolist()) == ([1, 6], [5, 10])
    expected = spearmanr(np.arange(10), [0, -1, 1, 0, 0, 0, 1, 0, 0, 1]).statistic
    assert bias.correlation["model"] == pytest.approx(expected)


def test_documents_without_a_length_are_left_out_and_counted() -> None:
    bias = length_bias([pairs_of()], {"a": 5, "b": 7})
    assert bias.documents.sum() == 2
    assert any("8 documents without a length, left out: c, d, e, f, g and 3 more" in note for note in bias.notes)
    with pytest.raises(UsageError, match="no document that both judged has a length"):
        length_bias([pairs_of()], {"zz": 5})


def test_spearman_of_a_constant_is_undefined() -> None:
    assert np.isnan(spearman(np.ones(3), np.arange(3.0)))


def test_bias_by_family_by_hand() -> None:
    runs = {"x": run_of("1ab", "2fh"), "y": run_of("1cd", "2gj"), "z": run_of("1ac", "2fg")}
    human, machine, pairs = Qrels.of(HUMAN), Qrels.of(MACHINE), pairs_of()
    scored = score_twice(human, machine, pairs, runs, "P@2")[:1]
    bias = family_bias(human, [pairs], scored, runs, {"x": "lexical", "y": "neural", "z": "lexical"})
    columns = bias.columns()
    assert columns["family"].tolist() == ["lexical", "neural"]
    # lexical retrieves a b c f g h with machine − human 0 −1 1 0 1 0; neural c d g j with 1 0 1 1
    assert columns["documents"].tolist() == [6, 4]
    assert columns["leniency"].tolist() == pytest.approx([1 / 6, 3 / 4])
    # P@2 on topics 1, 2: x 1→½, ½→½; y 0→½, ½→1; z ½→1, 1→1. Changes: x −½ 0, y ½ ½, z ½ 0.
    change = np.array([[-0.5, 0.0], [0.5, 0.5], [0.5, 0.0]])
    lexical = change[[0, 2]].mean(axis=0) - change.mean(axis=0)
    assert columns["score change"].tolist() == pytest.approx([0.0, 0.5])
    assert columns["favour"].tolist() == pytest.approx([lexical.mean(), (change[1] - change.mean(axis=0)).mean()])
    half = student.ppf(0.975, 1) * lexical.std(ddof=1) / np.sqrt(2)
    assert columns["favour high"][0] - columns["favour"][0] == pytest.approx(half)
    first = family_bias(human, [pairs], scored, runs, {"x": "l", "y": "n", "z": "l"}, depth=1).columns()
    assert first["documents"].tolist() == [2, 2]  # a, f; c, g


@pytest.mark.parametrize(
    ("families", "message"),
    [({"q": "l", "x": "n"}, "no run 'q'"), ({"x": "l", "y": "l"}, "all runs are of the family 'l'")],
)
def test_bad_families(families: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        audit(HUMAN, {"m": MACHINE}, {"x": run_of("1a"), "y": run_of("1b")}, "P@2", families=families)


# -- rankings and conclusions


def drawn(seed: int, runs: int = 6, topics: int = 25) -> tuple[Scores, Scores]:
    rng = np.random.default_rng(seed)
    truth = rng.beta(2, 3, (runs, topics)) + np.linspace(0, 0.3, runs)[:, None]
    other = truth + rng.normal(0, 0.15, truth.shape)
    names = [f"r{i}" for i in range(runs)]
    return tuple(Scores(["AP"], names, map(str, range(topics)), [values]) for values in (truth, other))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(3))
def test_rankings_and_conclusions_are_those_of_a_literal_count(seed: int) -> None:
    human, machine = drawn(seed)
    rankings, changes, ranks = compare_rankings([ScoredTwice("m", BOTH, human, machine, ())], test="t", alpha=0.05)
    means = [scores.means()[0] for scores in (human, machine)]
    assert rankings.tau.item() == pytest.approx(kendalltau(*means).statistic)
    order = [np.argsort(-values).tolist() for values in means]
    assert rankings.rbo.item() == pytest.approx(rbo(*order, p=0.9).extrapolated)
    tests = [
        {
            (row["system"], row["other"]): (row["difference"], row["p adjusted"])
            for row in compare(scores, direction="given").rows()
        }
        for scores in (human, machine)
    ]
    counts = {"lost": 0, "gained": 0, "reversed": 0}
    found = {}
    for pair in itertools.combinations(human.runs, 2):
        (d, p), (e, q) = tests[0][pair], tests[1][pair]
        kind = "lost" if p <= 0.05 < q else "gained" if q <= 0.05 < p else "reversed" if p <= 0.05 and d * e < 0 else ""
        if kind:
            counts[kind] += 1
            found[pair] = kind
    assert dict(zip(counts, rankings.changes[:, 0].tolist(), strict=True)) == counts
    assert dict(zip(zip(changes.run, changes.other, strict=True), changes.change, strict=True)) == found
    assert ranks.rank[0].tolist() == [1 + int((means[0] > value).sum()) for value in means[0]]


def test_conclusions_by_one_measure_do_not_depend_on_other_measures() -> None:
    first, others = drawn(1), drawn(2)
    both = [
        Scores(["AP", "P@10"], a.runs, a.topics, np.concatenate([a.values, b.values]))
        for a, b in zip(first, others, strict=True)
    ]
    alone = compare_rankings([ScoredTwice("m", BOTH, *first, ())])
    beside = compare_rankings([ScoredTwice("m", BOTH, *both, ())])
    assert beside[0].significant[:, 0].tolist() == alone[0].significant[:, 0].tolist()
    assert beside[0].changes[:, 0].tolist() == alone[0].changes[:, 0].tolist()
    # Corrected over both measures, some conclusions by AP would be lost: the test can fail.
    together = compare(both[0], direction="given").families[0].adjusted
    assert int((together <= 0.05).sum()) < alone[0].significant[0, 0]
    pairs = len(first[0].runs) * (len(first[0].runs) - 1) // 2
    assert f"test: t, holm over the pairs of each measure ({pairs}), α = 0.05" in beside[0].notes


def test_a_reversed_conclusion_is_named() -> None:
    human, _ = drawn(0, runs=2)
    apart = Scores(["AP"], human.runs, human.topics, human.values + np.array([0.0, 1.0])[None, :, None])
    turned = Scores(["AP"], human.runs, human.topics, human.values + np.array([1.0, 0.0])[None, :, None])
    rankings, changes, _ = compare_rankings([ScoredTwice("m", BOTH, apart, turned, ())])
    assert changes.change.tolist() == ["reversed"]
    assert rankings.tau.item() == -1
    assert rankings.swapped.item() == 1


def test_lower_is_better_turns_the_ranking() -> None:
    assert lower_is_better("LastRel")
    human = Scores(["LastRel"], "abc", "12", [[[1, 1], [2, 2], [4, 4]]])
    _, _, ranks = compare_rankings([ScoredTwice("m", BOTH, human, human, ())])
    assert ranks.rank[0].tolist() == [1, 2, 3]


def test_documents_judged_by_both_and_all_judgments_are_scored_apart() -> None:
    human = {"1": {"a": 1, "b": 0, "only-human": 1}, "2": {"c": 1}}
    machine = {"1": {"a": 1, "b": 1, "only-machine": 1}, "3": {"d": 1}}
    runs = {"x": Run.of({"1": {"only-human": 3.0, "only-machine": 2.0, "a": 1.0}})}
    pairs = pairs_of(human, machine)
    both, whole = score_twice(Qrels.of(human), Qrels.of(machine), pairs, runs, "P@3")
    assert (both.documents, whole.documents) == (BOTH, ALL)
    assert both.human.topics == whole.machine.topics == ("1",)
    assert both.human.values.item() == both.machine.values.item() == pytest.approx(1 / 3)  # a
    assert whole.human.values.item() == whole.machine.values.item() == pytest.approx(2 / 3)
    expected = evaluate({"1": {"a": 1, "b": 0}}, runs, "P@3").values.item()
    assert both.human.values.item() == expected


def test_the_same_documents_are_scored_once() -> None:
    runs = {"x": run_of("1ab"), "y": run_of("1cd")}
    result = audit(HUMAN, {"m": MACHINE}, runs, "P@2")
    assert result.rankings is not None
    assert result.rankings.documents.tolist() == [BOTH]
    assert any("judged the same documents as people" in note for note in result.rankings.notes)


def test_topics_with_undefined_scores_are_left_out_of_both_and_named() -> None:
    human = {**HUMAN, "3": HUMAN["1"]}
    machine = {"1": MACHINE["1"], "2": dict.fromkeys("fghij", 0), "3": MACHINE["1"]}
    runs = {"x": run_of("1ab", "2f", "3b"), "y": run_of("1cd", "2g", "3b")}
    result = audit(human, {"m": machine}, runs, "AP")
    assert result.rankings is not None
    assert result.rankings.topics.tolist() == [2]
    note = "1 topic left out, because a score is undefined with human or machine judgments: 2"
    assert note in result.rankings.notes


def test_ranks_spread_over_judges() -> None:
    runs = {"x": run_of("1ab", "2f"), "y": run_of("1cd", "2j")}
    turned = {topic: {doc: 1 - min(grade, 1) for doc, grade in grades.items()} for topic, grades in HUMAN.items()}
    result = audit(HUMAN, {"same": HUMAN, "turned": turned}, runs, "P@2")
    assert result.ranks is not None
    table = result.ranks.table()
    names = [column.header for column in table.columns]
    assert names == ["documents", "measure", "run", "human", "same", "turned", "spread"]
    assert table.rows == (("both", "P@2", "x", 1, 1, 2, 1), ("both", "P@2", "y", 2, 2, 1, 1))


def test_json_has_every_part() -> None:
    runs = {"x": run_of("1ab", "2f"), "y": run_of("1cd", "2j")}
    lengths = dict.fromkeys("abcdefghij", 5)
    result = audit(HUMAN, {"m": MACHINE}, runs, "P@2", lengths=lengths, families={"x": "l", "y": "n"})
    data = json.loads(result.to_json())
    assert set(data) == {
        "notes", "agreement", "confusion", "topics", "lengths", "rankings", "changes", "ranks", "families"
    }  # fmt: skip
    assert data["agreement"]["rows"][0]["agreement"] == pytest.approx(0.6)


# -- bad input


@pytest.mark.parametrize(
    ("human", "machine", "error"),
    [
        (HUMAN, {}, "no machine judgments"),
        (HUMAN, {"m": {"9": {"a": 1}}}, "no document is judged by both the human judgments and m .no topic in common"),
        (HUMAN, {"m": {"1": {"zz": 1}}}, "1 topic in common; the first documents are a, b, c and zz"),
    ],
)
def test_bad_judgments(human: Any, machine: Any, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        audit(human, machine)


def test_judgments_by_intent_are_refused() -> None:
    with pytest.raises(DataError, match="judged by intent, which an audit cannot compare"):
        audit(Qrels.of(b"1 i1 a 1\n1 i2 a 0\n"), {"m": MACHINE})


def test_all_labels_equal_and_a_single_topic_are_stated() -> None:
    agreement, _, _ = judge_agreement([pairs_of({"1": {"a": 1, "b": 1}}, {"1": {"a": 1, "b": 1}})])
    assert np.isnan(agreement.kappa).all()
    assert agreement.agreement.item() == 1
    assert any("give all documents that both judged the grade 1" in note for note in agreement.notes)
    assert "a single topic has no intervals" in agreement.notes
    assert np.isnan(agreement.leniency[1:]).all()


def test_few_runs_are_stated() -> None:
    assert "no runs: rankings of runs and conclusions were not compared" in audit(HUMAN, {"m": MACHINE}).notes
    one = audit(HUMAN, {"m": MACHINE}, {"x": run_of("1ab")}, "P@2")
    assert one.rankings is None
    assert "1 run: rankings and conclusions need 2 or more" in one.notes
    topic = audit({"1": HUMAN["1"]}, {"m": MACHINE}, {"x": run_of("1ab"), "y": run_of("1cd")}, "P@2")
    assert "rankings and conclusions need scores on 2 topics or more, which m does not have" in topic.notes
    with pytest.raises(UsageError, match="families of runs are given, but no runs"):
        audit(HUMAN, {"m": MACHINE}, families={"x": "l"})


def test_runs_without_judged_documents_tie_and_missing_topics_are_named() -> None:
    result = audit(HUMAN, {"m": MACHINE}, {"x": run_of("1xyz"), "y": run_of("1uvw")}, "P@2")
    assert result.rankings is not None
    assert np.isnan(result.rankings.tau).all()
    assert result.ranks is not None
    assert result.ranks.rank.tolist() == [[1, 1], [1, 1], [0, 0]]
    assert "2 runs without any judged document: x, y" in result.rankings.notes
    assert any("missing from runs: x (2), y (2)" in note for note in result.rankings.notes)
