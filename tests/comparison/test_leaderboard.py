"""Ranks, groups, teams and repeated runs of a leaderboard, with numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cranfield.cli import main
from cranfield.comparison.compare import compare
from cranfield.comparison.leaderboard import Leaderboard, leaderboard, leaderboard_of, rank_intervals, teams_of_runs
from cranfield.comparison.result_tables import letters
from cranfield.errors import UsageError
from cranfield.evaluation.same_rankings import SameRankings
from cranfield.scores.scores import Scores

RUNS = {"x": [0.5, 0.7, 0.6], "y": [0.9, 1.0, 0.8], "z": [0.7, 0.5, 0.6], "w": [0.1, 0.19, 0.0]}
SCORES = Scores.from_matrix([list(row) for row in zip(*RUNS.values(), strict=True)], runs=list(RUNS), measure="AP")


def test_a_shared_rank_is_marked() -> None:
    board = leaderboard_of(SCORES)
    assert board.places == ["1", "2=", "2=", "4"]
    assert [row[0] for row in board.table().rows] == ["1", "2=", "2=", "4"]


def test_lower_scores_are_better_for_a_measure_that_says_so() -> None:
    scores = Scores.from_matrix([[9.0, 1.0], [5.0, 3.0]], runs=["late", "early"], measure="LastRel")
    board = leaderboard_of(scores)
    assert board.run == ("early", "late")
    assert board.rank_spans == ["1–2", "1–2"]


def test_the_interval_of_a_rank_counts_the_runs_that_are_significantly_better_and_worse() -> None:
    """The same numbers from the table of all pairs by the max-t test."""
    rng = np.random.default_rng(4)
    values = np.clip(rng.normal(0.4, 0.1, 20) + np.linspace(0, 0.2, 6)[:, None] + rng.normal(0, 0.08, (6, 20)), 0, 1)
    names = [f"r{n}" for n in range(6)]
    rows = compare(dict(zip(names, values.tolist(), strict=True)), test="max-t", resamples=2000).rows()
    pairs = [(row["system"], row["other"], row["difference"] > 0) for row in rows if row["significant"]]
    ahead = [(one, other) if higher else (other, one) for one, other, higher in pairs]
    low, high = rank_intervals(values)
    assert low.tolist() == [1 + sum(loser == name for _, loser in ahead) for name in names]
    assert high.tolist() == [6 - sum(winner == name for winner, _ in ahead) for name in names]
    assert 0 < len(ahead) < 15
    flipped = rank_intervals(-values, lower=True)
    assert (flipped[0].tolist(), flipped[1].tolist()) == (low.tolist(), high.tolist())


def test_with_few_topics_every_rank_is_possible() -> None:
    low, high = rank_intervals(np.array([[0.9, 0.8], [0.1, 0.2], [np.nan, np.nan]]))
    assert (low.tolist(), high.tolist()) == ([1, 1, 1], [3, 3, 3])


def test_runs_above_and_below_count_the_significant_pairs() -> None:
    comparison = compare(SCORES, "AP")
    board = Leaderboard.of(SCORES, "AP", None, comparison)
    better = dict.fromkeys(RUNS, 0)
    for row in comparison.rows():
        if row["significant"]:
            better[row["system"] if row["difference"] > 0 else row["other"]] += 1
    assert dict(zip(board.run, board.above.tolist(), strict=True)) == better
    assert board.above.sum() == board.below.sum() > 0


def test_one_run_has_no_groups() -> None:
    board = leaderboard_of(SCORES.select(runs="x"))
    assert board.groups == ("",)
    assert "groups" not in board.columns()
    assert "above" not in board.columns()


def test_what_cannot_be_compared_is_noted() -> None:
    nothing = Scores.from_matrix([[0.5, float("nan")], [0.4, float("nan")]], runs=["x", "y"], measure="AP")
    board = leaderboard_of(nothing)
    assert any(note.startswith("no groups: ") for note in board.notes)
    assert board.run == ("x", "y")


def test_teams_come_from_a_table_and_runs_without_one_are_named(tmp_path: Path) -> None:
    (tmp_path / "teams.csv").write_text("x,red\ny,blue\nw,blue\n")
    board = leaderboard_of(SCORES, teams=tmp_path / "teams.csv")
    assert board.team == ("blue", "red", "", "blue")
    assert "1 run without a team: z" in board.notes


def test_teams_are_also_found_by_the_files_of_runs() -> None:
    files = {"x": "runs/sub1.run.gz", "y": "runs/sub2.txt", "z": "z.run", "w": "w.run"}
    board = leaderboard_of(SCORES, teams={"sub1": "red", "sub2.txt": "blue", "z": "green", "w": "green"}, files=files)
    assert dict(zip(board.run, board.team, strict=True)) == {"x": "red", "y": "blue", "z": "green", "w": "green"}


def test_the_name_of_a_run_wins_over_the_name_of_a_file_with_a_note() -> None:
    """Tags and files of two runs are exchanged: file y.run has tag x."""
    teams, notes = teams_of_runs({"x": "red", "y": "blue"}, ["x", "y"], {"x": "y.run", "y": "x.run"})
    assert teams == {"x": "red", "y": "blue"}
    assert notes == [
        "the file of run 'x' is 'y', of team 'blue'; used 'red'",
        "the file of run 'y' is 'x', of team 'red'; used 'blue'",
    ]
    teams, notes = teams_of_runs({"x": "red"}, ["x", "z"], {"x": "sub1.run", "z": "x.run"})
    assert teams == {"x": "red", "z": ""}
    assert notes == ["run 'z' has no team: its file 'x' is also the name of another run"]


def test_the_command_finds_teams_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    for file, tag, first in (("sub1.run", "alpha", "a"), ("sub2.run", "beta", "c")):
        lines = [f"1 Q0 {first} 1 2 {tag}", f"1 Q0 d 2 1 {tag}", f"2 Q0 b 1 1 {tag}"]
        (tmp_path / file).write_text("\n".join(lines) + "\n")
    (tmp_path / "teams.csv").write_text("sub1,red\nsub2.run,blue\n")
    files = [str(tmp_path / name) for name in ("qrels", "sub1.run", "sub2.run")]
    assert main(["leaderboard", *files, "-m", "AP", "--teams", str(tmp_path / "teams.csv"), "--format", "csv"]) == 0
    rows = [line.split(",")[1:3] for line in capsys.readouterr().out.splitlines()[:3]]
    assert rows == [["run", "team"], ["alpha", "red"], ["beta", "blue"]]


def test_a_table_of_other_runs_is_an_error() -> None:
    with pytest.raises(UsageError, match="teams: no run 'X'; did you mean 'x'"):
        leaderboard_of(SCORES, teams={"X": "red"})


def test_the_same_ranking_under_two_names_is_noticed_whatever_its_scores() -> None:
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1}}
    one = {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0, "x": 0.5}}
    scaled = {"1": {"a": 20.0, "b": 3.0}, "2": {"c": 9.0, "x": 8.0}}
    other = {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0, "y": 0.5}}  # equal scores, another document
    board = leaderboard(qrels, {"one": one, "two": scaled, "three": other}, ["AP", "RR"])
    assert dict(zip(board.run, board.same_as, strict=True)) == {"one": "two", "two": "one", "three": ""}
    assert "the same ranking under 2 names: one, two" in board.notes
    assert list(board.others) == ["RR"]


def test_runs_that_cannot_be_read_again_are_only_said_to_score_alike() -> None:
    board = leaderboard_of(SCORES, same=SameRankings((), (("x", "z"),)))
    assert "equal scores on every topic: x, z; are they one run?" in board.notes


@pytest.mark.parametrize(("option", "value"), [("level", 1.5), ("alpha", 0.0), ("test", "tt"), ("correction", "bob")])
def test_wrong_settings_are_errors(option: str, value: object) -> None:
    with pytest.raises(UsageError):
        leaderboard_of(SCORES, **{option: value})  # type: ignore[arg-type]


def test_groups_are_all_maximal_sets_that_do_not_differ() -> None:
    """Against an enumeration of all sets of up to eight systems."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        m = int(rng.integers(1, 9))
        differ = np.triu(rng.random((m, m)) < rng.uniform(0.1, 0.8), 1)
        differ |= differ.T
        sets = [
            s
            for s in range(1, 1 << m)
            if not any(differ[i, j] and s >> i & 1 and s >> j & 1 for i in range(m) for j in range(i))
        ]
        maximal = {s for s in sets if not any(s != t and s & t == s for t in sets)}
        shown = letters(differ)
        assert shown is not None
        groups = {sum(1 << i for i in range(m) if letter in shown[i]) for letter in set("".join(shown))}
        assert groups == maximal
