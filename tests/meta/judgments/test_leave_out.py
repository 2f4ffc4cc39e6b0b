"""Leaving out runs and teams agrees with judgments that are written without their documents and evaluated again."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.meta.judgments.leave_out import LeftOut, leave_one_out
from tests.meta.judgments.pooled import MEASURES, collection, kept, means, ranking

GRADES, LISTS = collection()
TEAMS = {"r0": "A", "r1": "B", "r2": "A", "r3": "B", "r4": "C", "r5": "C"}


def unique(teams: dict[str, str], depth: int) -> dict[str, set[tuple[str, str]]]:
    """U_j = C_j − ∪ C_j', Sakai 2014 §5.4, set by set."""
    result: dict[str, set[tuple[str, str]]] = {name: set() for name in teams.values()}
    for run, lists in LISTS.items():
        for topic, documents in lists.items():
            result[teams[run]] |= {(topic, doc) for doc in ranking(documents)[:depth] if doc in GRADES[topic]}
    return {
        name: own - set().union(*(other for rival, other in result.items() if rival != name))
        for name, own in result.items()
    }


@pytest.mark.parametrize("depth", [3, 8, 20])
@pytest.mark.parametrize("teams", [None, TEAMS], ids=["by run", "by team"])
def test_scores_are_those_by_judgments_without_unique_contributions(teams: dict[str, str] | None, depth: int) -> None:
    left = leave_one_out(GRADES, LISTS, MEASURES, teams=teams, pool_depth=depth)
    own = unique(teams or {run: run for run in LISTS}, depth)
    assert set(left.names) == set(own)
    before = means(GRADES, LISTS, MEASURES)
    for number, name in enumerate(left.names):
        fewer = kept(GRADES, lambda topic, doc, gone=own[name]: (topic, doc) not in gone)  # type: ignore[misc]
        after = means(fewer, LISTS, MEASURES)
        assert left.before[number] == pytest.approx(before, abs=1e-12)
        assert left.after[number] == pytest.approx(after, abs=1e-12)
        assert left.contributions["unique"][number] == len(own[name])
        assert left.contributions["unique_relevant"][number] == sum(GRADES[t][d] >= 1 for t, d in own[name])
        for m in range(len(left.measures)):
            expected = stats.kendalltau(before[m].round(12), after[m].round(12)).statistic
            assert left.tau[number, m] == pytest.approx(expected)
    assert sum(map(len, own.values())) > 0


def test_judgments_that_are_written_give_the_same_scores(tmp_path: Path) -> None:
    left = leave_one_out(GRADES, LISTS, ["AP", "AP'"], teams=TEAMS, pool_depth=4)
    paths = left.write(tmp_path / "new" / "folder")
    assert list(paths) == ["A", "B", "C"]
    for number, path in enumerate(paths.values()):
        assert cf.evaluate(path, LISTS, ["AP", "AP'"]).means() == pytest.approx(left.after[number], abs=1e-12)
    assert left.qrels("B") == cf.Qrels.read(paths["B"])
    with pytest.raises(UsageError, match="no team 'D'; there are 'A', 'B', 'C'"):
        left.qrels("D")


def test_lengths_scores_and_residual_views_are_supported() -> None:
    lengths = {f"d{number:02}": 100.0 + 7 * number for number in range(100)}
    names = ["TBG", "TBG'", "U", 'ADM(estimate="minmax")', "RBP[best]", "AP[worst]", "P@5[ties=best]"]
    left = leave_one_out(GRADES, LISTS, names, pool_depth=5, options=cf.JoinOptions(lengths=lengths))
    for number, name in enumerate(left.names):
        afresh = cf.evaluate(left.qrels(name), LISTS, names, lengths=lengths)
        assert left.after[number] == pytest.approx(afresh.means(), abs=1e-12)


@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_missing_topics_count_as_empty_lists_or_are_skipped(missing: str) -> None:
    lists = {**LISTS, "r3": {topic: docs for topic, docs in LISTS["r3"].items() if topic != "t2"}}
    done: list[tuple[int, int]] = []
    left = leave_one_out(
        GRADES, lists, "AP", pool_depth=5, missing=missing, progress=lambda *numbers: done.append(numbers)
    )
    for number, name in enumerate(left.names):
        afresh = cf.evaluate(left.qrels(name), lists, "AP", missing=missing)
        assert left.after[number] == pytest.approx(afresh.means(), abs=1e-12)
    assert done == [(number, 6) for number in range(1, 7)]


def test_names_that_are_not_file_names_get_distinct_files(tmp_path: Path) -> None:
    teams = dict(zip(LISTS, ["../a", "a/b", "a b", "A b", "..", "é"], strict=True))
    paths = leave_one_out(GRADES, LISTS, "AP", teams=teams).write(tmp_path)
    assert len(set(paths.values())) == 6
    assert {Path(path).parent for path in paths.values()} == {tmp_path}
    assert len(list(tmp_path.iterdir())) == 6


def test_ranks_and_changes_of_each_run() -> None:
    left = leave_one_out(GRADES, LISTS, ["AP", "P@5"], teams=TEAMS, pool_depth=4)
    columns = left.columns()
    for row in range(len(columns["run"])):
        number = left.names.index(columns["left_out"][row])
        m, r = left.measures.index(columns["measure"][row]), left.runs.index(columns["run"][row])
        assert TEAMS[columns["run"][row]] == columns["left_out"][row]
        assert columns["change"][row] == left.after[number, m, r] - left.before[number, m, r]
        ranks = [1 + int((side > side[r] + 1e-12).sum()) for side in (left.before[number, m], left.after[number, m])]
        assert [columns["rank"][row], columns["rank_without"][row]] == ranks


def test_ranks_where_lower_is_better() -> None:
    columns = leave_one_out(GRADES, LISTS, "Fallout(N=1000)@5", pool_depth=4).columns()
    assert columns["score"][columns["rank"] == 1] == pytest.approx(columns["score"].min())


def test_scores_fall_but_condensed_scores_do_not() -> None:
    """Plain measures underestimate runs that were not pooled, condensed lists overestimate them (Sakai 2008)."""
    left = leave_one_out(GRADES, LISTS, ["AP", "nDCG@10"], condensed=True, pool_depth=8)
    assert left.measures == ("AP", "AP'", "nDCG@10", "nDCG'@10")
    change = {name: left._own(left.after - left.before)[m].mean() for m, name in enumerate(left.measures)}
    assert change["AP"] < 0 < change["AP'"]
    assert change["nDCG@10"] < 0 < change["nDCG'@10"]


def test_a_topic_that_loses_all_relevant_documents_counts_in_neither_mean() -> None:
    grades = {"q1": {"a": 1, "c": 0}, "q2": {"b": 1, "c": 0}}
    runs = {
        "x": {"q1": {"a": 3, "c": 2}, "q2": {"c": 3, "b": 2}},
        "y": {"q1": {"c": 3}, "q2": {"b": 3}},
        "z": {"q1": {"c": 3}, "q2": {"c": 3, "b": 2}},
    }
    left = leave_one_out(grades, runs, "AP", pool_depth=2)
    # only x retrieved a: without it q1 has no relevant document, and AP is that of q2, 1/2, 1 and 1/2, before and after
    assert left.before[0, 0].tolist() == left.after[0, 0].tolist() == [0.5, 1.0, 0.5]
    assert left.before[1, 0].tolist() == [0.75, 0.5, 0.25]
    assert "no relevant documents are left for q1 without x" in left.notes


def test_judgments_by_intent_are_left_out_too() -> None:
    rng = np.random.default_rng(3)
    lines = [
        (topic, doc, int(rng.random() < 0.4), intent)
        for topic, row in GRADES.items()
        for doc in row
        for intent in ("1", "2", "3")
    ]
    names = ["D-nDCG@10", "I-rec@10", "ERR-IA@10", "AP"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        left = leave_one_out(cf.Qrels.from_tuples(lines), LISTS, names, teams=TEAMS, pool_depth=8)
        own = unique(TEAMS, 8)
        for number, name in enumerate(left.names):
            fewer = [line for line in lines if line[:2] not in own[name]]
            assert 0 < len(lines) - len(fewer) == 3 * len(own[name])
            afresh = cf.evaluate(cf.Qrels.from_tuples(fewer), LISTS, names).means()
            assert left.after[number] == pytest.approx(afresh, abs=1e-12)


def test_an_intent_that_loses_all_relevant_documents_is_left_out() -> None:
    """As if the intent had never been judged: its probability goes to the other intents."""
    lines = [("q", "a", 1, "1"), ("q", "b", 1, "2"), ("q", "c", 1, "3"), ("q", "c", 0, "1")]
    runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"b": 3, "c": 2}}, "z": {"q": {"c": 3, "b": 2}}}
    likely = {"q": {"1": 0.5, "2": 0.3, "3": 0.2}}
    options = cf.JoinOptions(intent_probabilities=likely)
    left = leave_one_out(cf.Qrels.from_tuples(lines), runs, ["D-nDCG@2", "I-rec@2", "P-IA@2"], options=options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        afresh = cf.evaluate(cf.Qrels.from_tuples(lines[1:]), runs, left.measures, intent_probabilities=likely).means()
    assert left.after[0] == pytest.approx(afresh)
    assert left.after[0, 1].tolist() == [0.5, 1.0, 1.0]  # of intents 2 and 3, x finds one and the others both


def actual(teams: dict[str, str], pool_depth: int | None = None) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        leave_one_out(GRADES, LISTS, "AP", teams=teams, pool_depth=pool_depth)
    return [str(warning.message) for warning in caught]


def test_teams_without_runs_and_runs_without_teams_are_named() -> None:
    teams = {"r0": "A", "r1": "A", "r2": "B", "x9": "C", "x8": "A"}
    assert actual(teams) == [
        "teams without any of the runs: C",
        "runs in the table of teams that are not among the runs: x9, x8",
        "runs without a team, left out one by one: r3, r4, r5",
    ]


def test_a_run_without_a_team_does_not_join_a_team_of_its_name() -> None:
    with pytest.warns(CranfieldWarning, match="r5"):
        left = leave_one_out(
            GRADES, LISTS, "AP", teams={**{run: "r5" for run in LISTS if run not in ("r5", "r0")}, "r0": "A"}
        )
    assert left.names == ("A", "r5", "r5 (run)")


def test_a_pool_depth_beyond_all_lists_uses_whole_lists() -> None:
    assert actual(TEAMS, pool_depth=500) == [
        "pool_depth == 500, but the longest list has 20 documents: whole lists are used"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        deep = leave_one_out(GRADES, LISTS, "AP", teams=TEAMS, pool_depth=500)
    whole = leave_one_out(GRADES, LISTS, "AP", teams=TEAMS)
    assert np.array_equal(deep.after, whole.after)
    deep = "a list has an unjudged document at rank 9: not all were pooled that deep"
    assert f"{deep}; give the depth of the pool, pool_depth" in whole.notes


def test_bad_input_is_refused() -> None:
    two = {name: LISTS[name] for name in ("r0", "r1")}
    with pytest.raises(UsageError, match="2 runs, must be 3 or more"):
        leave_one_out(GRADES, two, "AP")
    with pytest.raises(UsageError, match="all runs belong to team 'A', there must be 2 or more teams"):
        leave_one_out(GRADES, LISTS, "AP", teams=dict.fromkeys(LISTS, "A"))
    with pytest.raises(UsageError, match="no run is in the table of teams: it has x, the runs are r0, r1"):
        leave_one_out(GRADES, LISTS, "AP", teams={"x": "A"})
    with pytest.raises(UsageError, match="pool_depth == 0"):
        leave_one_out(GRADES, LISTS, "AP", pool_depth=0)
    with pytest.raises(UsageError, match="no document is judged relevant"):
        leave_one_out({"t0": {"d01": 0}}, LISTS, "AP")
    sampled = cf.Qrels.from_tuples([("t0", "d01", 1, "1"), ("t0", "d02", -1, "2"), ("t0", "d03", -1, "2")])
    with pytest.raises(UsageError, match="of a sample"):
        leave_one_out(sampled, LISTS, "AP")


@pytest.mark.filterwarnings("ignore:.*the same judged documents")
def test_identical_runs_have_no_correlation() -> None:
    same = dict.fromkeys(("a", "b", "c"), LISTS["r0"])
    left = leave_one_out(GRADES, same, "AP", pool_depth=5)
    assert np.isnan(left.tau).all()
    assert left.contributions["unique"].tolist() == [0, 0, 0]
    assert " - " in left.table().text()


def test_tables_have_a_row_per_measure_team_or_run() -> None:
    left = leave_one_out(GRADES, LISTS, "AP", teams=TEAMS, pool_depth=4)
    assert isinstance(left, LeftOut)
    assert str(left).startswith("Leave one team out\nmeasure  mean change")
    assert [column.header for column in left.contribution_table().columns] == [
        "team", "runs", "found", "found relevant", "unique", "unique relevant", "% of all relevant",
    ]  # fmt: skip
    assert len(left.run_table().rows) == len(left.to_pandas()) == 6


def test_completely_judged_lists_have_no_note_on_unjudged_documents() -> None:
    runs = {"x": {"q": {"a": 2, "b": 1}}, "y": {"q": {"b": 2, "a": 1}}, "z": {"q": {"a": 1}}}
    whole = leave_one_out({"q": {"a": 1, "b": 0}}, runs, "AP")
    assert not [note for note in whole.notes if "unjudged" in note]
    part = leave_one_out({"q": {"a": 1}}, runs, "AP")  # b is at rank 1 of y
    assert [note for note in part.notes if "unjudged document at rank 1:" in note]
