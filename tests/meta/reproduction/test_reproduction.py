"""Replication and reproduction: comparison with repro_eval, and small cases by hand."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.meta.reproduction.reproduction import (
    delta_ri,
    effect_ratio,
    nrmse,
    p_value,
    reproduce,
    reproduce_scores,
    rmse,
    tau_union,
)
from cranfield.scores.scores import Scores

with warnings.catch_warnings():  # it imports scipy.stats.stats, and pkg_resources
    warnings.simplefilter("ignore")
    from repro_eval.measure import document_order, effectiveness, overall_effects, statistics

Lists = dict[str, dict[str, float]]
DEPTH = 30


def made_run(seed: int, noise: float, topics: int = 12) -> Lists:
    """Documents 0, 1, ... of every topic, the first ones best, but for noise; no ties."""
    rng = np.random.default_rng(seed)
    run = {}
    for t in range(topics):
        order = np.argsort(np.arange(60) + noise * rng.normal(size=60))[:DEPTH]
        run[f"{t:02}"] = {f"d{doc:03}": float(DEPTH - r) for r, doc in enumerate(order)}
    return run


def made_qrels(seed: int = 9, topics: int = 12) -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(seed)
    likely = np.linspace(0.7, 0.05, 60)
    return {f"{t:02}": {f"d{d:03}": int(rng.random() < likely[d]) for d in range(60)} for t in range(topics)}


BASE, AGAIN, ADVANCED, ADVANCED_AGAIN = (made_run(i, noise) for i, noise in enumerate((40, 42, 10, 14)))
MEASURES = ["AP", "nDCG@10", "P@10"]


def theirs(qrels: dict[str, dict[str, int]], run: Lists) -> dict[str, dict[str, float]]:
    return evaluate(qrels, {"run": run}, MEASURES).to_dict()["run"]


# -- beside repro_eval 0.5


@pytest.mark.peers
def test_tau_union_agrees_with_repro_eval_if_ids_are_in_the_order_of_ranks() -> None:
    result = reproduce(made_qrels(), (BASE, AGAIN), measures=["AP"], union="id")
    expected = document_order.KTU(BASE, AGAIN, per_topic=True)
    assert dict(zip(result.orders[0].topics, result.orders[0].tau.tolist(), strict=True)) == pytest.approx(expected)

    renamed = _renamed_in_the_order_of(BASE, AGAIN)
    by_rank = reproduce(made_qrels(), (BASE, AGAIN), measures=["AP"])
    expected = document_order.KTU(*renamed, per_topic=True)
    assert dict(zip(by_rank.orders[0].topics, by_rank.orders[0].tau.tolist(), strict=True)) == pytest.approx(expected)


def _renamed_in_the_order_of(first: Lists, second: Lists) -> tuple[Lists, Lists]:
    """Ids that sort in the order in which documents first appear: in the first list, then in the second."""
    out: tuple[Lists, Lists] = ({}, {})
    for topic in first:
        name = {doc: f"{i:04}" for i, doc in enumerate(dict.fromkeys([*first[topic], *second[topic]]))}
        for lists, new in zip((first, second), out, strict=True):
            new[topic] = {name[doc]: score for doc, score in lists[topic].items()}
    return out


@pytest.mark.peers
def test_overlap_is_repro_evals_plus_the_extrapolation() -> None:
    # repro_eval stops at the end of the lists and divides by the weight so far, 1 - p^k; extrapolated, the agreement at
    # the end, A_k, goes on with weight p^k.
    p = 0.95
    result = reproduce(made_qrels(), (BASE, AGAIN), measures=["AP"], p=p)
    cut = document_order.RBO(BASE, AGAIN, p=p, depth=DEPTH, pbar=False, per_topic=True)
    for topic, value in zip(result.orders[0].topics, result.orders[0].overlap.tolist(), strict=True):
        last = len(set(BASE[topic]) & set(AGAIN[topic])) / DEPTH
        assert value == pytest.approx(cut[topic] * (1 - p**DEPTH) + last * p**DEPTH)


@pytest.mark.peers
def test_a_replication_agrees_with_repro_eval() -> None:
    qrels = made_qrels()
    result = reproduce(qrels, (BASE, AGAIN), (ADVANCED, ADVANCED_AGAIN), MEASURES)
    b, b2, a, a2 = (theirs(qrels, run) for run in (BASE, AGAIN, ADVANCED, ADVANCED_AGAIN))
    for measure in MEASURES:
        base, advanced = result[measure, "baseline"], result[measure, "advanced"]
        assert base.rmse == pytest.approx(effectiveness.RMSE(b, b2)[measure])
        assert advanced.nrmse == pytest.approx(effectiveness.nRMSE(a, a2)[measure])
        assert advanced.p == pytest.approx(statistics.ttest(a, a2, rpd=True)[measure])
        assert advanced.effect_ratio == pytest.approx(overall_effects.ER(a, b, a2, b2)[measure])
        assert advanced.delta_ri == pytest.approx(overall_effects.DRI(a, b, a2, b2)[measure])
        assert math.isnan(base.effect_ratio)


@pytest.mark.peers
def test_a_reproduction_agrees_with_repro_eval() -> None:
    other = made_qrels(seed=4, topics=7)
    again, advanced_again = made_run(11, 35, topics=7), made_run(12, 20, topics=7)
    result = reproduce(made_qrels(), (BASE, again), (ADVANCED, advanced_again), MEASURES, other_qrels=other)
    b, a = theirs(made_qrels(), BASE), theirs(made_qrels(), ADVANCED)
    b2, a2 = theirs(other, again), theirs(other, advanced_again)
    assert result.kind == "reproduction"
    assert not result.orders
    for measure in MEASURES:
        row = result[measure, "advanced"]
        assert row.p == pytest.approx(statistics.ttest(a, a2, rpd=False)[measure])
        assert row.effect_ratio == pytest.approx(overall_effects.ER(a, b, a2, b2)[measure])
        assert row.delta_ri == pytest.approx(overall_effects.DRI(a, b, a2, b2)[measure])
        assert math.isnan(row.rmse)
    assert "τ union" not in str(result)


# -- by hand and by law


def test_a_run_replicates_itself_perfectly() -> None:
    result = reproduce(made_qrels(), (BASE, BASE), (ADVANCED, ADVANCED), MEASURES)
    for row in result.agreements:
        assert (row.tau, row.rmse, row.nrmse, row.p) == (1.0, 0.0, 0.0, 1.0)
        assert row.overlap == pytest.approx(1.0)
    assert result["AP", "advanced"].effect_ratio == 1.0
    assert result["AP", "advanced"].delta_ri == 0.0


def test_tau_union_of_reversed_and_of_disjoint_lists() -> None:
    assert tau_union("abcd", "dcba") == pytest.approx(-1)
    assert tau_union("abcd", "wxyz") == pytest.approx(1)  # both are numbered in their own order: the paper's rule


def test_tau_union_stops_at_the_end_of_the_shorter_list_and_needs_two_ranks() -> None:
    assert tau_union("abcdef", "ba") == pytest.approx(-1)
    assert math.isnan(tau_union("a", "a"))
    assert math.isnan(tau_union("abc", ""))


def test_effects_by_hand() -> None:
    # Improvements: 0.1 and 0.3, mean 0.2; again 0.1 on the only topic. RI: 0.2/0.3 and 0.1/0.5.
    assert effect_ratio([0.2, 0.4], [0.3, 0.7], [0.5], [0.6]) == pytest.approx(0.5)
    assert delta_ri([0.2, 0.4], [0.3, 0.7], [0.5], [0.6]) == pytest.approx(2 / 3 - 0.2)
    assert math.isnan(effect_ratio([0.2, 0.3], [0.3, 0.2], [0.1], [0.2]))
    assert math.isnan(delta_ri([0.0], [0.3], [0.1], [0.2]))


def test_errors_by_hand() -> None:
    # Differences 0.3 and 0.4: sqrt((0.09 + 0.16) / 2); at most 0.9 and 0.6 away.
    assert rmse([0.1, 0.6], [0.4, 0.2]) == pytest.approx(math.sqrt(0.125))
    assert nrmse([0.1, 0.6], [0.4, 0.2]) == pytest.approx(math.sqrt(0.25 / (0.81 + 0.36)))
    assert p_value([0.1, 0.2], [0.1, 0.2], same_topics=False) == 1.0


def test_saved_scores_give_everything_but_the_comparison_of_lists() -> None:
    runs = {"b": BASE, "b2": AGAIN, "a": ADVANCED, "a2": ADVANCED_AGAIN}
    scores = evaluate(made_qrels(), runs, MEASURES)
    from_scores = reproduce_scores(scores, scores, ("b", "b2"), ("a", "a2"))
    from_runs = reproduce(made_qrels(), (BASE, AGAIN), (ADVANCED, ADVANCED_AGAIN), MEASURES)
    for one, other in zip(from_scores.agreements, from_runs.agreements, strict=True):
        names = ("rmse", "nrmse", "p", "effect_ratio", "delta_ri", "original", "again")
        assert [getattr(one, name) for name in names] == pytest.approx(
            [getattr(other, name) for name in names], nan_ok=True
        )
    with pytest.raises(UsageError, match="topic by topic"):
        from_scores.topics()


def test_topics_of_one_run_only_are_counted_and_topics_without_a_value_left_out() -> None:
    fewer = {topic: docs for topic, docs in AGAIN.items() if topic != "03"}
    with pytest.warns(match="missing from runs"):
        result = reproduce(made_qrels(), (BASE, fewer), measures=["AP"], missing="skip")
    assert "baseline: lists compared on 11 topics; 1 left out that only one run has" in result.notes
    both = [topic for topic in BASE if topic != "03"]
    b, b2 = (theirs(made_qrels(), run) for run in (BASE, AGAIN))
    apart = [b[topic]["AP"] - b2[topic]["AP"] for topic in both]
    assert result["AP", "baseline"].rmse == pytest.approx(math.sqrt(np.mean(np.square(apart))))


def test_depth_cuts_the_lists_not_the_scores() -> None:
    result = reproduce(made_qrels(), (BASE, AGAIN), measures=["AP"], depth=5)
    first = [list(run["00"])[:5] for run in (BASE, AGAIN)]
    assert result.orders[0].tau[0] == pytest.approx(tau_union(*first))
    whole = reproduce(made_qrels(), (BASE, AGAIN), measures=["AP"])
    assert result["AP", "baseline"].rmse == whole["AP", "baseline"].rmse


def test_bad_input_is_refused() -> None:
    qrels = made_qrels()
    with pytest.raises(UsageError, match="advanced must be two runs"):
        reproduce(qrels, (BASE, AGAIN), (ADVANCED,))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="depth == 0"):
        reproduce(qrels, (BASE, AGAIN), depth=0)
    with pytest.raises(UsageError, match="no topic in common"):
        reproduce_scores(
            Scores.from_matrix([[0.1]], ["a"], ["1"]), Scores.from_matrix([[0.1]], ["a"], ["2"]), ("a", "a")
        )
    with pytest.raises(UsageError, match="union == 'score'"):
        tau_union("ab", "ab", union="score")
    with pytest.raises(UsageError, match="p == 1"):
        reproduce(qrels, (BASE, AGAIN), p=1)


def test_runs_are_named_by_their_tags(tmp_path: Path) -> None:
    Run.from_dict(BASE, "first").write(tmp_path / "a.run", "trec")
    Run.from_dict(AGAIN, "second").write(tmp_path / "b.run", "trec")
    result = reproduce(made_qrels(), (tmp_path / "a.run", tmp_path / "b.run"), measures=["AP"])
    assert result.runs == {"baseline": ("first", "second")}
    assert result.table().caption == "replication: baseline first and second"
    assert list(result.to_pandas()["role"]) == ["baseline"]


def test_lists_without_common_documents_are_named() -> None:
    """τ union of disjoint lists is 1, as if they were the same."""
    qrels = {"1": {"a": 1}, "2": {"a": 1}}
    mine = {topic: {"a": 3, "b": 2, "c": 1} for topic in qrels}
    other = {"1": {"x": 3, "y": 2, "z": 1}, "2": {"a": 3, "b": 2, "z": 1}}
    result = reproduce(qrels, (mine, other), measures=["RR"])
    assert result.orders[0].tau.tolist() == [1, 1]
    (caution,) = [note for note in result.notes if note.startswith("caution")]
    assert "share 33% of their documents" in caution  # 0 of 3 and 2 of 3
    assert "on 1 of 2 they share none, which gives τ union = 1" in caution
    assert not any(note.startswith("caution") for note in reproduce(qrels, (mine, mine), measures=["RR"]).notes)
