"""Simulations: against pools made by hand, without shared state, and with known answers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.building.kept_pairs import KeptPairs, Significance
from cranfield.building.pools.pool_coverage import pool_contributions, pool_holes
from cranfield.building.pools.pool_simulation import judging_order, simulate_pools
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import POLICIES, Method
from cranfield.comparison.corrections import holm
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.errors import CranfieldWarning, UsageError
from tests.building.pools.small_pools import as_runs, random_lists, random_relevance

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
Grades = dict[str, dict[str, int]]


def collection(seed: int, topics: int = 8, runs: int = 6) -> tuple[Grades, dict[str, dict[str, dict[str, float]]]]:
    by_topic = random_lists(seed, topics=topics, runs=runs)
    qrels: Grades = {}
    for (topic, doc), relevant in random_relevance(by_topic, seed).items():
        qrels.setdefault(topic, {})[doc] = int(relevant)
    return qrels, as_runs(by_topic)


def judged_by(method: str, qrels: Grades, runs: dict[str, dict[str, dict[str, float]]], budget: int) -> Grades:
    """The judgments that a method asks for, `budget` for each topic, from lists that are made for this purpose."""
    lists = PooledLists.of(runs)
    truth = [qrels[topic][doc] > 0 for t, topic in enumerate(lists.topics) for doc in lists.docs(t)]
    policy = Method.of(method).make(lists, sizes=np.minimum(np.diff(lists.start), budget))
    place = judging_order(policy, np.array(truth))
    kept: Grades = {topic: {} for topic in qrels}
    for t, topic in enumerate(lists.topics):
        for number, doc in enumerate(lists.docs(t), int(lists.start[t])):
            if 0 < place[number] <= budget:
                kept[topic][doc] = qrels[topic][doc]
    return kept


def mean_ap(qrels: Grades, runs: dict[str, dict[str, dict[str, float]]], topics: list[str]) -> dict[str, float]:
    scores = cf.evaluate({topic: qrels[topic] for topic in topics}, runs, "AP")
    return {run: row["AP"] for run, row in scores.mean().items()}


@pytest.mark.parametrize("method", POLICIES)
def test_numbers_are_those_of_a_pool_made_separately(method: str) -> None:
    qrels, runs = collection(3)
    result = simulate_pools(qrels, runs, [method], [2, 5], "AP")
    for budget, outcome in zip((2, 5), result.outcomes, strict=True):
        kept = judged_by(method, qrels, runs, budget)
        assert outcome.judgments == sum(map(len, kept.values()))
        assert outcome.relevant == sum(sum(grades.values()) for grades in kept.values())
        assert outcome.share == pytest.approx(outcome.relevant / sum(sum(g.values()) for g in qrels.values()))
        # AP is undefined without relevant documents: such topics count in neither mean.
        topics = [topic for topic in qrels if any(kept[topic].values())]
        before, after = mean_ap(qrels, runs, topics), mean_ap(kept, runs, topics)
        expected = stats.kendalltau([before[run] for run in runs], [after[run] for run in runs]).statistic
        assert outcome.tau == pytest.approx(expected)


def test_all_judgments_keep_everything() -> None:
    qrels, runs = collection(1)
    result = simulate_pools(
        qrels, runs, ["depth", "hedge", "thompson"], [10_000], "AP", depth=None, alpha=0.5, correction="none"
    )
    for outcome in result.outcomes:
        assert (outcome.share, outcome.tau) == (1, 1)
        assert outcome.pairs.kept == outcome.pairs.significant > 0
        assert outcome.pairs.lost == outcome.pairs.new == outcome.pairs.reversed == 0
    for curve in result.curves.values():
        assert curve[-1] == 1
        assert (np.diff(curve) >= 0).all()
    assert any("fewer than budgets of 10000" in note for note in result.notes)


def test_a_total_budget_is_divided_over_topics() -> None:
    qrels, runs = collection(2)
    total = simulate_pools(qrels, runs, ["depth"], [16], "AP", total=True).outcomes[0]
    each = simulate_pools(qrels, runs, ["depth"], [2], "AP").outcomes[0]
    assert total.judgments == each.judgments == 16
    assert (total.relevant, total.tau) == (each.relevant, each.tau)


def test_the_curve_follows_the_budgets() -> None:
    qrels, runs = collection(2)
    result = simulate_pools(qrels, runs, ["max-mean"], [1, 3], "AP")
    curve = result.curves["max-mean"]
    for outcome in result.outcomes:
        assert curve[outcome.judgments - 1] == pytest.approx(outcome.share)
    columns = result.curve()
    assert columns["judgments"][0] == columns["share"][0] == 0


@pytest.mark.parametrize("method", ["depth", "rrf", "max-mean", "hedge", "stratified", "sample"])
@pytest.mark.parametrize("seed", [4, 7])
def test_a_team_that_is_left_out_is_pooled_by_the_others_alone(method: str, seed: int) -> None:
    qrels, runs = collection(seed)
    teams = {run: "AABBC"[number] if number < 5 else "D" for number, run in enumerate(runs)}
    (outcome,) = simulate_pools(qrels, runs, [method], [3], "P@5", teams=teams).outcomes
    within = judged_by(method, qrels, runs, 3)
    with_all = cf.evaluate({t: g or {"none": 0} for t, g in within.items()}, runs, "P@5").mean()
    changes, lost = [], []
    for team in "ABCD":
        members = [run for run in runs if teams[run] == team]
        others = {run: ({} if run in members else lists) for run, lists in runs.items()}
        # The names of the runs stay, because ties are broken by the place of a run among all runs.
        alone = judged_by(method, qrels, others, 3)
        without = cf.evaluate({t: g or {"none": 0} for t, g in alone.items()}, runs, "P@5").mean()
        for run in members:
            change = without[run]["P@5"] - with_all[run]["P@5"]
            changes.append(change)
            score = with_all[run]["P@5"]
            rest = [with_all[other]["P@5"] for other in runs if teams[other] != team]
            lost.append(sum(x > score + change + 1e-12 for x in rest) - sum(x > score + 1e-12 for x in rest))
    assert outcome.left_out_change == pytest.approx(np.mean(changes), abs=1e-12)
    assert outcome.left_out_ranks == max(lost)


def test_leaving_out_teams_in_several_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.building.pools import pool_simulation

    qrels, runs = collection(4)
    (whole,) = simulate_pools(qrels, runs, ["max-mean"], [3], "AP", leave_out=True).outcomes
    monkeypatch.setattr(pool_simulation, "MOST_ENTRIES", 1)
    (blocks,) = simulate_pools(qrels, runs, ["max-mean"], [3], "AP", leave_out=True).outcomes
    assert whole == blocks


def test_progress_counts_the_teams_that_are_left_out() -> None:
    qrels, runs = collection(4)
    calls: list[tuple[int, int]] = []
    teams = {run: "AAB"[number % 3] for number, run in enumerate(runs)}
    simulate_pools(qrels, runs, ["depth", "rrf"], [3], "AP", teams=teams, progress=lambda *call: calls.append(call))
    assert calls == [(step, 6) for step in range(1, 7)]  # two methods: two teams, then the method itself


def signs(values: np.ndarray, alpha: float) -> np.ndarray:
    how = Significance(TESTS.find("t"), "holm", TestSettings(alpha=alpha))
    return how.signs(values, "abcd"[: len(values)], [str(t) for t in range(20)], "AP")[0]


def test_significant_pairs_are_those_of_a_corrected_t_test() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((4, 20)) + np.array([0, 0, 0.5, 0.8])[:, None]
    full = signs(values, 0.05)
    p = [stats.ttest_rel(values[i], values[j]).pvalue for i, j in combinations(range(4), 2)]
    sign = [np.sign(values[i].mean() - values[j].mean()) for i, j in combinations(range(4), 2)]
    assert full.tolist() == [s if x <= 0.05 else 0 for s, x in zip(sign, holm(p), strict=True)]
    # The same scores keep all pairs; the opposite scores reverse all; constant scores lose all.
    significant = int((full != 0).sum())
    assert KeptPairs.of(full, signs(values, 0.05))[:3] == (significant, significant, 0)
    assert KeptPairs.of(full, signs(-values, 0.05)).reversed == significant
    assert KeptPairs.of(full, signs(np.ones((4, 20)), 0.05)).lost == significant
    assert KeptPairs.of(full, signs(np.full((4, 20), np.nan), 0.05)).lost == significant


def test_new_pairs_are_counted() -> None:
    same = np.tile(np.linspace(0, 1, 20), (2, 1)) + np.array([[0.0], [0.0]])
    noise = np.random.default_rng(1).normal(0, 0.01, (2, 20))
    moved = same + noise + np.array([[0.5], [0.0]])
    assert KeptPairs.of(signs(same + noise, 0.01), signs(moved, 0.01)) == (0, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["depht"]}, "did you mean 'depth'"),
        ({"methods": []}, "no methods"),
        ({"methods": ["mm", "max-mean"]}, "max-mean is given twice"),
        ({"budgets": [0]}, "budget == 0"),
        ({"depth": 0}, "depth == 0"),
        ({"teams": {"r0": "A", "nobody": "B"}, "budgets": [1]}, None),
        ({"teams": {"x": "A"}}, "no run is in the table of teams"),
        ({"teams": {f"r{n}": "A" for n in range(6)}}, "all runs belong to team 'A'"),
        ({"test": "tt"}, "no test"),
        ({"correction": "hulm"}, "did you mean 'holm'"),
    ],
)
def test_wrong_calls_are_clear_errors(options: dict[str, object], message: str | None) -> None:
    qrels, runs = collection(1)
    if message is None:
        with pytest.warns(CranfieldWarning, match="not among the runs: nobody"):
            simulate_pools(qrels, runs, **options)  # type: ignore[arg-type]
        return
    with pytest.raises(UsageError, match=message):
        simulate_pools(qrels, runs, **options)  # type: ignore[arg-type]


def test_a_pool_without_judged_documents_finds_nothing() -> None:
    runs = {name: {"q": {f"{name}{n}": float(-n) for n in range(3)}} for name in "xyz"}
    result = simulate_pools({"q": {"elsewhere": 1}}, runs, ["depth", "hedge", "max-mean", "sample"], [3], "P@2")
    for outcome in result.outcomes:
        assert (outcome.judgments, outcome.relevant, outcome.share) == (0, 0, 0)
    assert any("1 relevant document is in no list to depth 100" in note for note in result.notes)


# -- holes and contributions


def test_notes_of_contributions_mention_a_depth_only_if_there_is_one() -> None:
    runs = {"x": {"q": {"a": 2, "b": 1}}}
    qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    assert pool_contributions(qrels, runs).notes[-1] == "1 judged document is in no list"
    assert pool_contributions(qrels, runs, depth=1).notes[-1] == "2 judged documents are in no list to that depth"


def test_holes_are_unjudged_documents_of_the_first_k() -> None:
    qrels, runs = collection(5)
    for topic in list(qrels)[:4]:
        qrels[topic] = {doc: grade for doc, grade in qrels[topic].items() if int(doc[1:]) % 2}
    del qrels["t7"]
    holes = pool_holes(qrels, runs, 3)
    every = set()
    for r, run in enumerate(holes.runs):
        for t, topic in enumerate(holes.topics):
            top = sorted(runs[run].get(topic, {}), key=lambda doc: -runs[run][topic][doc])[:3]
            missing = [doc for doc in top if doc not in qrels.get(topic, {})]
            assert (holes.documents[t, r], holes.unjudged[t, r]) == (len(top), len(missing))
            every |= {(topic, doc) for doc in missing}
    assert set(zip(holes.pool.topic, holes.pool.doc, strict=True)) == every
    assert any("1 topic without any judgment: t7" in note for note in holes.notes)
    assert int(holes.columns()["unjudged"].sum()) == int(holes.by_topic()["unjudged"].sum())


@pytest.mark.parametrize("depth", [3, None])
def test_contributions_are_differences_of_sets(depth: int | None) -> None:
    qrels, runs = collection(6)
    teams = {run: "AAB"[number % 3] for number, run in enumerate(runs)}
    for by in (None, teams):
        result = pool_contributions(qrels, runs, teams=by, depth=depth)
        group = {run: run for run in runs} if by is None else by
        found: dict[str, set[tuple[str, str]]] = {name: set() for name in result.names}
        for run, lists in runs.items():
            for topic, documents in lists.items():
                top = sorted(documents, key=lambda doc, own=documents: -own[doc])[:depth]  # type: ignore[misc]
                found[group[run]] |= {(topic, doc) for doc in top}
        for number, name in enumerate(result.names):
            unique = found[name] - set().union(*(docs for other, docs in found.items() if other != name))
            assert result.judged[number] == len(found[name])
            assert result.unique[number] == len(unique)
            assert result.unique_relevant[number] == sum(qrels[topic][doc] for topic, doc in unique)
