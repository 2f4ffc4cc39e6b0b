"""`cranfield explain`, `stats`, `validate` and `convert`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from cranfield.cli.file_kind import kind_of_file
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.topics import Topics
from cranfield.errors import UsageError
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

# -- explain


def test_explain_rank_by_rank(cranfield: Cranfield, tiny: Path) -> None:
    """AP by hand: precision 1/1 at rank 1 and 2/4 at rank 4, divided by R = 2."""
    result = cranfield("explain", "qrels.txt", "mine.run", "--topic", "1", "-m", "AP")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "AP of mine on topic 1 = 0.7500"
    assert lines[1].split() == ["rank", "doc", "score", "grade", "precision", "adds", "so", "far"]
    assert lines[2].split() == ["1", "a", "9", "1", "1.0000", "1.0000", "0.5000"]
    assert lines[4].split()[:4] == ["3", "c", "7", "unjudged"]
    assert lines[5].split() == ["4", "d", "6", "2", "0.5000", "0.5000", "0.7500"]


def test_explain_as_data(cranfield: Cranfield, tiny: Path) -> None:
    words = ("explain", "qrels.txt", "mine.run", "--topic", "1", "-m", "AP", "--format")
    data = json.loads(cranfield(*words, "json").out)
    assert data["score"] == 0.75
    assert [line["doc"] for line in data["lines"]] == ["a", "b", "c", "d"]
    rows = list(csv.DictReader(io.StringIO(cranfield(*words, "csv").out)))
    assert [row["so far"] for row in rows] == ["0.5", "0.5", "0.5", "0.75"]
    assert r"\begin{tabular}" in cranfield(*words, "latex").out


def test_explain_depth_and_several_measures(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("explain", "qrels.txt", "mine.run", "--topic", "1", "-m", "AP", "-m", "nDCG@4", "--depth", "2")
    one, two = result.out.split("\n\n")
    assert "AP of mine" in one
    assert "nDCG@4 of mine" in two
    assert " c " not in result.out


def test_explain_rejects_an_unknown_topic(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("explain", "qrels.txt", "mine.run", "--topic", "7")
    assert (result.code, result.out) == (2, "")
    assert "7" in result.err


# -- stats


def test_stats_of_the_sample(cranfield: Cranfield, collection: Sample) -> None:
    """3,065 judgments of 24 topics, 113 without a relevant document, dense without 114: the sample's README."""
    result = cranfield("collection", "stats", collection.qrels, *collection.runs)
    assert (result.code, result.err) == (0, "")
    judged = next(line.split() for line in result.out.splitlines() if line.startswith("judged"))
    assert judged[1] == "3065"
    assert "24 topics" in result.out
    assert "without a relevant document: 113" in result.out
    dense = next(line.split() for line in result.out.splitlines() if line.startswith("dense"))
    assert dense[1:3] == ["23", "1"]


def test_stats_as_data(cranfield: Cranfield, collection: Sample) -> None:
    data = json.loads(cranfield("collection", "stats", collection.qrels, *collection.runs, "-f", "json").out)
    assert data["qrels"]["judged"]["total"] == 3065
    assert sum(level["total"] for level in data["qrels"]["by_level"].values()) == 3065
    assert data["qrels"]["without_relevant"] == ["113"]
    assert {run["name"]: run["missing_topics"] for run in data["runs"]}["dense"] == ["114"]
    rows = list(csv.DictReader(io.StringIO(cranfield("collection", "stats", collection.qrels, "-q", "-f", "csv").out)))
    assert sum(int(row["judged"]) for row in rows) == 3065
    runs = list(
        csv.DictReader(
            io.StringIO(cranfield("collection", "stats", collection.qrels, *collection.runs, "-f", "csv").out)
        )
    )
    assert [row["run"] for row in runs] == ["bm25", "coord", "dense", "fusion"]


def test_stats_with_a_higher_bar(cranfield: Cranfield, tiny: Path) -> None:
    data = json.loads(cranfield("collection", "stats", "qrels.txt", "--rel", "2", "-f", "json").out)
    assert data["qrels"]["relevant"]["total"] == 1  # d alone has grade 2


# -- validate


def test_validate_reports_everything_at_once(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "bad.run").write_text("1 Q0 a 1 x t\n1 Q0 b\n1 Q0 c 3 1 t\n1 Q0 c 4 1 t\n")
    result = cranfield("validate", "qrels.txt", "mine.run", "bad.run")
    assert (result.code, result.err) == (1, "")
    lines = result.out.splitlines()
    for place, code in (("bad.run:1:", "not-a-number"), ("bad.run:2:", "columns"), ("bad.run:4:", "duplicate")):
        assert any(line.startswith(f"{place} error: ") and line.endswith(f"[{code}]") for line in lines), (place, lines)
    assert lines[-1].startswith("3 files: 3 errors")


def test_validate_sound_files(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("validate", "qrels.txt", "mine.run", "--show", "warning")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("2 files: 0 errors, 0 warnings")


def test_validate_the_sample_has_no_errors(cranfield: Cranfield, collection: Sample) -> None:
    words = ("validate", collection.qrels, *collection.runs, collection.topics)
    result = cranfield(*words)
    assert result.code == 0
    assert "dense.run: warning: 1 topic" in result.out  # 114 is missing
    assert cranfield(*words, "--strict").code == 1


def test_validate_as_data(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "bad.run").write_text("1 Q0 a 1 x t\n")
    result = cranfield("validate", "--qrels", "qrels.txt", "--runs", "bad.run", "--runs", "absent.run", "-f", "json")
    assert result.code == 1
    data = json.loads(result.out)
    assert data["counts"]["error"] == len([f for f in data["findings"] if f["severity"] == "error"])
    assert {(f["path"], f["line"], f["code"]) for f in data["findings"]} >= {
        ("bad.run", 1, "not-a-number"),
        ("absent.run", None, "missing-file"),
    }
    assert data["files"] == {"qrels": ["qrels.txt"], "run": ["bad.run", "absent.run"], "topics": []}


def test_validate_without_files(cranfield: Cranfield) -> None:
    assert cranfield("validate").code == 2
    assert cranfield("validate", "-").code == 2


def test_validate_names_the_option_that_reads_tags_as_runs(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "two.run"
    path.write_text("1 Q0 a 1 2 t1\n2 Q0 b 1 2 t2\n")
    assert "split_tags=True; on the command line: --split-tags [several-tags]" in cranfield("validate", str(path)).out
    assert "on the command line" not in cranfield("validate", str(path), "--split-tags").out


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("x", b"1 Q0 a 1 2.5 tag\n", "run"),
        ("x", b"1 0 a 1\n1 0 b 0\n", "qrels"),
        ("x", b"1 0 17 1\n1 0 18 0\n", "qrels"),
        ("x", b"1 1.5  a 1\n1 2  b 0\n", "qrels"),  # the round in which a document was judged
        ("x", b"1 1 a L1\n1 2 b L0\n", "qrels"),  # intents
        ("x", b"1 0.5 a 0.5\n1 1 b -1\n", "qrels"),
        ("x", b"1 a 1 9.5\n1 b 2 8.5\n", "run"),
        ("x", b"1 a 1\n1 b 2\n2 a 1\n", "run"),
        ("x", b"1 a 0\n1 b 1\n2 a 1\n2 c 1\n", "qrels"),
        ("x", b"1\tfirst topic\n2\tsecond topic\n", "topics"),
        ("x", b"<topics></topics>", "topics"),
        ("x", b"query-id\tcorpus-id\tscore\nq\td\t1\n", None),
        ("my.qrels", b"query-id\tcorpus-id\tscore\nq\td\t1\n", "qrels"),
        ("my.run", b"1 a 3 5\n1 b 3 5\n", "run"),
        ("qrels-empty", b"", "qrels"),
        ("x", b"", "run"),
    ],
)
def test_kinds_of_files(tmp_path: Path, name: str, content: bytes, kind: str | None) -> None:
    (tmp_path / name).write_bytes(content)
    if kind is None:
        with pytest.raises(UsageError, match="cannot tell"):
            kind_of_file(str(tmp_path / name), "--kind")
    else:
        assert kind_of_file(str(tmp_path / name), "--kind") == kind


# -- convert


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "tsv", "run.gz", "run.zst"])
def test_runs_there_and_back(cranfield: Cranfield, collection: Sample, tmp_path: Path, ending: str) -> None:
    there, back = str(tmp_path / f"there.{ending}"), str(tmp_path / "back.run")
    result = cranfield("convert", collection.runs[0], there, "--kind", "run")
    assert result.code == 0
    assert result.err.startswith(f"wrote {there} (")
    assert result.out.startswith(f"{there}: 2,400 documents as ")
    assert cranfield("convert", there, back, "--kind", "run", "--quiet") == (0, "", "")
    assert Run.read(back).to_dict() == Run.read(collection.runs[0]).to_dict()


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "tsv", "qrels.xz"])
def test_qrels_there_and_back(cranfield: Cranfield, collection: Sample, tmp_path: Path, ending: str) -> None:
    there, back = str(tmp_path / f"there.{ending}"), str(tmp_path / "back.qrels")
    assert cranfield("convert", collection.qrels, there).out.startswith(f"{there}: 3,065 judgments as ")
    assert cranfield("convert", there, back, "--kind", "qrels", "--quiet") == (0, "", "")
    assert Qrels.read(back) == Qrels.read(collection.qrels)


def test_topics(cranfield: Cranfield, collection: Sample, tmp_path: Path) -> None:
    there = str(tmp_path / "topics.jsonl")
    assert cranfield("convert", collection.topics, there).out.startswith(f"{there}: 24 topics as ")
    assert dict(Topics.read(there)) == dict(Topics.read(collection.topics))


def test_pipes(cranfield: Cranfield, tiny: Path) -> None:
    run = (tiny / "mine.run").read_bytes()
    result = cranfield("convert", "-", "-", "--kind", "run", "--to", "jsonl", stdin=run)
    assert (result.code, result.err) == (0, "")
    assert [json.loads(line)["doc_id"] for line in result.out.splitlines()] == ["a", "b", "c", "d"]
    only_runs = cranfield("convert", "-", "-", "--from", "msmarco-scored", "--to", "jsonl", stdin=b"1 a 1 9\n")
    assert (only_runs.code, json.loads(only_runs.out)["score"]) == (0, 9)
    unsaid = cranfield("convert", "-", "-", "--to", "jsonl", stdin=run)
    assert unsaid.code == 2
    assert "--kind run" in unsaid.err


def test_content_that_a_format_cannot_hold_is_an_error(cranfield: Cranfield, tiny: Path) -> None:
    """MS MARCO's three columns have no scores."""
    words = ("convert", "mine.run", "three.tsv", "--to", "msmarco")
    refused = cranfield(*words)
    assert refused.code == 1
    assert refused.err.rstrip().endswith("on the command line: --allow-loss")
    assert not (tiny / "three.tsv").exists()
    assert cranfield(*words, "--allow-loss").code == 0
    assert (tiny / "three.tsv").read_text().split()[:3] == ["1", "a", "1"]


def test_an_unknown_format_is_an_error(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("convert", "mine.run", "mine.xlsx", "--to", "xlsx")
    assert result.code == 2
    assert ".xlsx is not written here; name a file that ends in .csv" in result.err
    assert list(tiny.glob("*.xlsx")) == []


def test_converted_files_give_the_same_scores(cranfield: Cranfield, collection: Sample, tmp_path: Path) -> None:
    qrels, run = str(tmp_path / "qrels.json"), str(tmp_path / "bm25.jsonl")
    cranfield("convert", collection.qrels, qrels)
    cranfield("convert", collection.runs[0], run)
    words = ("-m", "AP,nDCG@10", "--quiet", "-f", "json")
    assert cranfield("eval", qrels, run, *words) == cranfield("eval", collection.qrels, collection.runs[0], *words)


@pytest.mark.parametrize(
    "text", [b'topic,doc,score\n1,a,"x\n', b"topic,doc,score\n1,a\n", b'{"topic": 1}\n', b"1 Q0 a\n"]
)
@pytest.mark.parametrize(
    "words", ["eval qrels.txt - -m AP", "eval - mine.run -m AP", "convert - out.run --kind run", "validate --run -"]
)
def test_a_fault_on_standard_input_names_it(cranfield: Cranfield, tiny: Path, words: str, text: bytes) -> None:
    done = cranfield(*words.split(), stdin=text)
    assert done.code == 1
    assert (done.out if words.startswith("validate") else done.err.removeprefix("error: ")).startswith("standard input")


def test_utf_16_with_two_marks_is_called_utf_16(cranfield: Cranfield, tiny: Path) -> None:
    Path("a.jsonl").write_bytes(b"\xff\xfe\xff\xfe" + '{"topic": "1", "doc": "a", "score": 1}\n'.encode("utf-16-le"))
    assert "a.jsonl: is UTF-16 text, expected UTF-8; to convert it" in cranfield("eval", "qrels.txt", "a.jsonl").err
