"""`--collection` and `--collections` of eval and compare."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

QRELS = {"news": "1 0 a 1\n1 0 b 0\n2 0 a 1\n", "web": "1 0 a 1\n2 0 b 1\n3 0 c 1\n"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """x finds the relevant document first on all topics, y second on some; z is only on the web."""
    monkeypatch.chdir(tmp_path)
    for name, qrels in QRELS.items():
        Path(name).mkdir()
        Path(f"{name}.qrels").write_text(qrels)
        for run, places in {"x": "111", "y": "212", "z": "221"}.items():
            if run == "z" and name == "news":
                continue
            lines = []
            for topic, place in zip(
                dict.fromkeys(line.split()[0] for line in qrels.splitlines()), places, strict=False
            ):
                doc = next(
                    line.split()[2] for line in qrels.splitlines() if line.startswith(topic) and line.endswith("1")
                )
                docs = [doc, "other"] if place == "1" else ["other", doc]
                lines += [f"{topic} Q0 {one} {rank} {9 - rank} {run}" for rank, one in enumerate(docs, 1)]
            Path(name, f"{run}.run").write_text("\n".join(lines) + "\n")
    Path("both.toml").write_text(
        "".join(f'[collections.{name}]\nqrels = "{name}.qrels"\nruns = "{name}/*.run"\n' for name in QRELS)
    )


WORDS = ("--collection", "news=news.qrels:news", "--collection", "web=web.qrels:web/*.run")


def test_rows_are_runs_and_columns_collections(cranfield: Cranfield) -> None:
    """RR of y: (1/2 + 1)/2 on news, (1/2 + 1 + 1/2)/3 on web."""
    done = cranfield("eval", *WORDS, "-m", "RR", "-f", "csv")
    rows = {row["run"]: row for row in csv.DictReader(io.StringIO(done.out))}
    assert list(rows) == ["x", "y", "z"]
    assert [float(rows["y"][name]) for name in ("news", "web", "mean")] == pytest.approx(
        [0.75, 2 / 3, (0.75 + 2 / 3) / 2]
    )
    assert (rows["z"]["news"], rows["z"]["mean"]) == ("", "")
    assert "1 run lacks a collection and has no mean over collections: z (news)" in done.err


def test_a_file_gives_the_same_as_words(cranfield: Cranfield) -> None:
    for verb in (("eval",), ("compare", "-b", "x")):
        from_words = cranfield(*verb, *WORDS, "-m", "RR")
        assert from_words.code == 0
        assert cranfield(*verb, "--collections", "both.toml", "-m", "RR") == from_words


def test_the_rule_for_lacking_collections_is_said(cranfield: Cranfield) -> None:
    done = cranfield("eval", *WORDS, "-m", "RR", "--missing-collections", "zero")
    assert "1 run lacks a collection and has 0 there: z (news)" in done.out
    assert done.out.splitlines()[3].split() == ["z", "-", "0.6667", "0.3333"]


def test_topics_of_each_collection(cranfield: Cranfield) -> None:
    done = cranfield("eval", *WORDS, "-m", "RR", "-q", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["collection"], row["topic"]) for row in rows if row["run"] == "x"] == [
        ("news", "1"), ("news", "2"), ("web", "1"), ("web", "2"), ("web", "3"),
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["table", "json", "tsv", "latex", "markdown", "html"])
def test_all_formats(cranfield: Cranfield, format: str) -> None:
    for verb in (("eval", "--ci"), ("compare", "-b", "x")):
        done = cranfield(*verb, *WORDS, "-m", "RR,AP", "-f", format)
        assert done.code == 0
        assert "news" in done.out
        if format == "json":
            assert json.loads(done.out)


def test_compare_has_each_collection_and_the_mean_over_them(cranfield: Cranfield) -> None:
    done = cranfield("compare", *WORDS, "-m", "RR", "-b", "x", "-f", "csv", "--why")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["collection"], row["system"]) for row in rows] == [
        ("news", "y"), ("web", "y"), ("web", "z"), ("(mean over collections)", "y"),
    ]  # fmt: skip
    assert float(rows[-1]["difference"]) == pytest.approx((-0.25 - 1 / 3) / 2)
    assert "left out, because they lack a collection: z (news)" in done.err


def test_sorted_by_the_mean_over_collections(cranfield: Cranfield) -> None:
    done = cranfield("eval", *WORDS, "-m", "RR", "--missing-collections", "skip", "--sort", "RR")
    assert [line.split()[0] for line in done.out.splitlines()[1:4]] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("eval", "news.qrels", *WORDS), "--collection names the judgments and runs; leave out 'news.qrels'"),
        (("eval", "--sample", *WORDS), "leave out --sample"),
        (("eval", *WORDS, "--collections", "both.toml"), "--collection and --collections FILE do not go together"),
        (("eval", *WORDS, "-m", "RR", "--statistic", "GeoRisk"), "--statistic GeoRisk is of one collection"),
        (("eval", *WORDS, "-f", "trec"), "--format trec has no place for collections"),
        (("eval", *WORDS, "--by", "both.toml"), "--by and --collection do not go together"),
        (("eval", "--collection", "news"), "'news': expected NAME=QRELS:RUNS"),
        (("eval", "--sample", "--missing-collections", "zero"), "applies only to --collection"),
        (("eval", *WORDS, "--missing-collections", "no"), "must be one of 'undefined', 'skip', 'zero'"),
        (("compare", *WORDS, "--scores", "x.csv"), "replace --scores"),
        (("compare", *WORDS, "--baseline", "w"), "no run 'w'"),
        (("compare", *WORDS, "--score-scale", "ranks"), "do not go together"),
    ],
)
def test_what_does_not_go_together_is_an_error(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    done = cranfield(*words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
