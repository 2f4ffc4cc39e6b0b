"""`cranfield collection sample-topics` and `cranfield collection split`, as a user meets them."""

import json
import os
from pathlib import Path

import pytest

from cranfield.building.topic_sets import sample_topics
from cranfield.cli.printing import in_bytes
from cranfield.collection.topics import Topics
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

LOG = "query\tcount\tuser\nWeather\t50\ta\nweather  \t10\tb\nmaps\t30\ta\nnews\t20\tc\ntv guide\t8\td\nguide tv\t2\td\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.tsv"
    path.write_text(LOG)
    return path


def test_json_has_the_numbers_of_python(cranfield: Cranfield, log: Path) -> None:
    words = ("-n", "1,1,1", "--strata-ends", "1/4,1/2", "--seed", "3", "--near", "words", "--sampling", "volume")
    rows = json.loads(cranfield("collection", "sample-topics", str(log), *words, "-f", "json").out)["rows"]
    sample = sample_topics(log, [1, 1, 1], shares=[0.25, 0.5], seed=3, stem=False, edits=False, draw="volume")
    assert [row["query"] for row in rows] == list(sample.texts)
    assert [row["probability"] for row in rows] == pytest.approx(sample.probability.tolist())


def test_topics_and_classes_are_written(cranfield: Cranfield, log: Path, tmp_path: Path) -> None:
    topics, classes = tmp_path / "topics.xml", tmp_path / "classes.tsv"
    result = cranfield(
        "collection",
        "sample-topics",
        str(log),
        "-n",
        "3",
        "--write-topics",
        str(topics),
        "--write-classes",
        str(classes),
        "--first",
        "401",
    )
    assert result.code == 0
    assert list(Topics.read(topics)) == ["401", "402", "403"]
    assert classes.read_text().splitlines()[0] == "401\thead"


def test_strata_and_dropped_queries_are_shown(cranfield: Cranfield, log: Path) -> None:
    assert "guide tv" in cranfield("collection", "sample-topics", str(log), "--show", "dropped").out
    assert "most frequent" in cranfield("collection", "sample-topics", str(log), "--show", "strata").out
    assert (
        "guide tv" not in cranfield("collection", "sample-topics", str(log), "--show", "dropped", "--near", "none").out
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-n", "0"), "--size 0: expected whole numbers from 1 on"),
        (("--near", "sound"), "--near sound: 'sound' is not one of words, stems, edits, none"),
        (("--strata-ends", "half"), "--strata-ends half: expected numbers or fractions"),
        (("--least-users", "9"), "no query is left"),
        (("--normalise", "accents"), "'accents' is not one of unicode, case, punctuation, none"),
        (("--jaccard", "0"), "--jaccard == 0.0, must be above 0 and at most 1"),
        (("--since", "2026"), "has no column for the time"),
    ],
)
def test_wrong_options_are_refused(cranfield: Cranfield, log: Path, words: tuple[str, ...], message: str) -> None:
    result = cranfield("collection", "sample-topics", str(log), *words)
    assert result.code in (1, 2)
    assert message in result.err


def test_a_log_in_another_encoding_names_the_option(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"caf\xe9\n")
    assert "on the command line: --encoding NAME" in cranfield("collection", "sample-topics", str(path)).err
    assert "caf\u00e9" in cranfield("collection", "sample-topics", str(path), "--encoding", "latin-1").out


def test_a_collection_is_split(cranfield: Cranfield, collection: Sample, tmp_path: Path) -> None:
    run = str(next(iter(collection.runs)))
    folder = tmp_path / "parts"
    result = cranfield(
        "collection", "split", collection.qrels, run, "--folder", str(folder), "--parts", "train=3,test=1"
    )
    size = in_bytes(sum(path.stat().st_size for path in folder.rglob("*.*")))
    assert (result.code, result.err) == (0, f"wrote 5 files in {os.path.relpath(folder)} ({size})\n")
    assert sorted(path.name for path in folder.iterdir()) == ["split.tsv", "test", "train"]
    words = ("-m", "AP", "-f", "csv", "--quiet")
    by_part = cranfield("eval", collection.qrels, run, *words, "--by", str(folder / "split.tsv"))
    of_test = cranfield("eval", str(folder / "test" / Path(collection.qrels).name), run, *words)
    assert f"test,{of_test.out.splitlines()[1]}" in by_part.out.splitlines()


def test_files_of_an_unknown_kind_name_the_options(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    path.write_text("1\tone query\n2\ttwo queries\n")
    result = cranfield("collection", "split", str(path), "--folder", str(tmp_path / "parts"))
    assert "on the command line: --qrels FILE or --runs FILE or --topics FILE" in result.err
    words = ("collection", "split", "--topics", str(path), "--folder", str(tmp_path / "parts"), "--parts", "a=1,b=1")
    assert cranfield(*words).code == 0
    assert len(Topics.read(tmp_path / "parts" / "a" / "topics.txt", "tsv")) == 1


@pytest.mark.parametrize("parts", ["train", "train=0,test=1", "a=1,a=2", "a=x"])
def test_wrong_parts_are_refused(cranfield: Cranfield, collection: Sample, tmp_path: Path, parts: str) -> None:
    result = cranfield("collection", "split", collection.qrels, "--folder", str(tmp_path), "--parts", parts)
    assert result.code == 2
    assert f"--parts {parts}" in result.err
