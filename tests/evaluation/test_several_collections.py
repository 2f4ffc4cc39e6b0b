"""Runs on several collections: means over collections, lacking runs, names that match."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.collection.collection_files import collections_of_words, read_collections
from cranfield.errors import CranfieldError, CranfieldWarning, DataError, UsageError
from cranfield.evaluation.several_collections import CollectionScores, matched_names
from cranfield.scores.scores import Scores

EASY = Scores.from_matrix([[0.8, 0.6], [0.6, 0.4]], runs=["a", "b"], topics=["1", "2"], measure="AP")
HARD = Scores.from_matrix([[0.2], [0.1], [0.3]], runs=["a"], topics=["7", "8", "9"], measure="AP")


@pytest.mark.parametrize(
    ("rule", "mean_of_b"),
    [("undefined", math.nan), ("skip", 0.5), ("zero", 0.25)],  # b: .5 on easy, nothing on hard
)
def test_a_run_that_lacks_a_collection_has_a_mean_by_the_rule_and_is_named(rule: str, mean_of_b: float) -> None:
    scores = CollectionScores({"easy": EASY, "hard": HARD}, rule)
    assert scores.over_collections()[0].tolist() == pytest.approx([(0.7 + 0.2) / 2, mean_of_b], nan_ok=True)
    assert any("b (hard)" in note for note in scores.table().notes)


def test_each_collection_has_the_same_weight_whatever_its_topics() -> None:
    """a: .7 over 2 topics and .2 over 3, so .45; the mean over all 5 topics would be .4."""
    scores = CollectionScores({"easy": EASY, "hard": HARD})
    assert scores.over_collections()[0, 0] == pytest.approx(0.45)


def test_the_interval_of_the_mean_combines_those_of_the_collections() -> None:
    low, high = CollectionScores({"easy": EASY, "hard": HARD}).intervals(0.95)
    easy, hard = EASY.summary()["AP", "a"], HARD.summary()["AP", "a"]
    below = math.hypot(easy.value - easy.low, hard.value - hard.low) / 2
    above = math.hypot(easy.high - easy.value, hard.high - hard.value) / 2
    assert (low[0, 0], high[0, 0]) == pytest.approx((0.45 - below, 0.45 + above))
    assert np.isnan(low[0, 1])


def test_an_undefined_mean_on_a_collection_stays_undefined() -> None:
    none = Scores.from_matrix([[np.nan, 0.5]], runs=["a", "b"], measure="AP")
    scores = CollectionScores({"easy": EASY, "none": none}, "skip")
    assert scores.over_collections()[0].tolist() == pytest.approx([math.nan, 0.5], nan_ok=True)


def test_runs_are_sorted_by_their_mean_over_collections() -> None:
    other = Scores.from_matrix([[0.1, 0.9]], runs=["a", "b"], measure="AP")
    scores = CollectionScores({"easy": EASY, "other": other}).sort("AP")
    assert scores.runs == ("b", "a")
    assert [row[0] for row in scores.table().rows] == ["b", "a"]


def test_measures_must_be_the_same() -> None:
    with pytest.raises(UsageError, match="collection 'x' has scores by RR, not AP"):
        CollectionScores({"easy": EASY, "x": Scores.from_matrix([[0.1]], runs=["a"], measure="RR")})


def one_run(*names: str) -> Scores:
    return Scores.from_matrix([[0.5] * len(names)], runs=names)


@pytest.mark.parametrize(
    ("tags", "files", "names"),
    [
        ((["x", "y"], ["x", "y"]), (["p.run", "q.run"], ["p.run", "q.run"]), (["x", "y"], ["x", "y"])),  # a tie: tags
        ((["c1-x", "c1-y"], ["tool"]), (["p.run", "q.run"], ["p.run"]), (["p", "q"], ["p"])),
        ((["t1"], ["t2"]), (["bm25.c1.run"], ["c2_bm25.run"]), (["bm25"], ["bm25"])),
        ((["x"], ["y"]), ([], []), (["x"], ["y"])),  # names that were given are kept
    ],
)
def test_names_that_match_best_are_used(
    tags: tuple[list[str], ...], files: tuple[list[str], ...], names: tuple[list[str], ...]
) -> None:
    parts = {f"c{at}": one_run(*tag) for at, tag in enumerate(tags, 1)}
    matched, note = matched_names(parts, {f"c{at}": file for at, file in enumerate(files, 1) if file})
    assert [list(scores.runs) for scores in matched.values()] == list(map(list, names))
    assert bool(note) == (list(map(list, names)) != list(map(list, tags)))


QRELS, RUN = "1 0 a 1\n1 0 b 0\n", "1 Q0 a 1 2 {0}\n1 Q0 b 2 1 {0}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("news", "web"):
        (tmp_path / name / "runs").mkdir(parents=True)
        (tmp_path / name / "qrels.txt").write_text(QRELS)
        for run in ("bm25", "dense"):
            (tmp_path / name / "runs" / f"{run}.run").write_text(RUN.format(run))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_words_name_patterns_and_folders(folder: Path) -> None:
    news, web = collections_of_words(["news=news/qrels.txt:news/runs/b*", "web=web/qrels.txt:web/runs"])
    assert (news.qrels, news.runs) == ("news/qrels.txt", ("news/runs/bm25.run",))
    assert web.runs == ("web/runs/bm25.run", "web/runs/dense.run")


def test_the_colon_of_a_drive_does_not_end_a_path() -> None:
    (one,) = collections_of_words([r"x=C:\data\qrels.txt:C:\data\a.run"])
    assert (one.qrels, one.runs) == (r"C:\data\qrels.txt", (r"C:\data\a.run",))


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_a_toml_file_names_collections_relative_to_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("beir.toml").write_text(
        '[collections.news]\nqrels = "news/qrels.txt"\nruns = "news/runs"\n'
        '[collections.web]\nqrels = "web/qrels.txt"\n[collections.web.runs]\nbm25 = "web/runs/dense.run"\n'
    )
    monkeypatch.chdir("/")
    scores = cf.evaluate_collections(folder / "beir.toml", ["AP", "RR"])
    assert scores.collections == ("news", "web")
    assert scores.runs == ("bm25", "dense")
    assert scores.lacking() == {"dense": ["web"]}
    assert scores.to_dict()["mean over collections"] == {
        "AP": {"bm25": 1.0, "dense": None},
        "RR": {"bm25": 1.0, "dense": None},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[collection.news]\n", "no entry 'collection'; did you mean 'collections'?"),
        ("collections = 1\n", "collections == 1, must be a table"),
        ("", "there is no collection; expected tables such as"),
        ("[collections.news]\nqrels = 'x'\n", "collections.news: runs is missing"),
        ("[collections.news]\nqrels = 1\nruns = 'x'\n", "collections.news.qrels == 1, must be text"),
        ("[collections.news]\nqrels = 'q'\nruns = 3\n", "collections.news.runs == 3, must be text, a list of texts"),
        ("[collections.news]\nqrels = 'q'\nruns = 'none*'\n", "no file matches this pattern"),
        ("[collections.news]\nqrel = 'q'\n", "did you mean 'collections.news.qrels'?"),
        ("[collections\n", "not valid TOML"),
        (
            "[collections.news]\nqrels = 'q'\n[collections.news.runs]\na = 1\n",
            "collections.news.runs.a == 1, must be text",
        ),
    ],
)
def test_mistakes_in_the_file_name_the_entry(folder: Path, text: str, message: str) -> None:
    Path("beir.toml").write_text(text)
    with pytest.raises(DataError) as error:
        read_collections("beir.toml")
    assert str(error.value).startswith("beir.toml: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["news"], "'news': expected NAME=QRELS:RUNS"),
        (["a=b:c", "a=d:e"], "collection 'a' is given twice, with b and d"),
        (["a=q:empty"], "empty: there is no file in this folder"),
    ],
)
def test_wrong_words_are_errors(folder: Path, words: list[str], message: str) -> None:
    Path("empty").mkdir()
    with pytest.raises(CranfieldError) as error:
        collections_of_words(words)
    assert message in str(error.value)


def test_runs_that_match_nowhere_are_warned_about() -> None:
    pair = ({"1": {"a": 1}}, {"x": {"1": {"a": 1.0}}})
    other = ({"1": {"a": 1}}, {"y": {"1": {"a": 1.0}}})
    with pytest.warns(CranfieldWarning, match="no run is in two collections"):
        cf.evaluate_collections({"c": pair, "d": other}, "AP")
