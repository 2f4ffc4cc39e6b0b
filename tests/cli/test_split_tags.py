"""A file is one run, unless it is split by its tags. Expected numbers are worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.errors import CranfieldWarning, DataError
from tests.cli.conftest import Cranfield

TOPICS = 30
"""A submission whose tag is the number of the topic."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("".join(f"{t} 0 d{t} 1\n" for t in range(TOPICS)))
    Path("sub.run").write_text("".join(f"{t} Q0 d{t} 1 2.0 t{t}\n{t} Q0 x 2 1.0 t{t}\n" for t in range(TOPICS)))
    Path("two.run").write_text("0 Q0 d0 1 2.0 bm25\n0 Q0 d0 2 1.0 rm3\n0 Q0 x 1 2.0 rm3\n")


def test_a_file_with_several_tags_is_one_run(cranfield: Cranfield) -> None:
    """Its only relevant document is on top of every list: AP is 1, as in trec_eval."""
    done = cranfield("eval", "qrels", "sub.run", "-m", "AP", "--format", "json")
    assert [run["run"] for run in json.loads(done.out)["rows"]] == ["sub"]
    assert json.loads(done.out)["rows"][0]["AP"] == 1.0
    assert done.err == (
        "warning: sub.run: 30 tags (t0, t1, t2, t3, t4 and 25 more) are read as one run; to read a run for each tag: "
        "split_tags=True; on the command line: --split-tags\n"
    )


def test_split_tags_reads_a_run_for_each_tag(cranfield: Cranfield) -> None:
    done = cranfield("eval", "qrels", "sub.run", "-m", "AP", "--split-tags", "--format", "json")
    rows = json.loads(done.out)["rows"]
    assert [row["run"] for row in rows] == [f"t{t}" for t in range(TOPICS)]
    assert [row["AP"] for row in rows] == pytest.approx([1 / TOPICS] * TOPICS)
    assert "as one run" not in done.err


def test_runs_with_the_same_documents_name_the_way_out(cranfield: Cranfield) -> None:
    done = cranfield("eval", "qrels", "two.run", "-m", "AP")
    assert done.code == 1
    assert "two.run:2: document 'd0' appears twice for topic '0', first on line 1, in a file with 2 tags;" in done.err
    assert done.err.rstrip().endswith("on the command line: --split-tags or --on-duplicate RULE")
    assert cranfield("eval", "qrels", "two.run", "-m", "AP", "--split-tags").code == 0


@pytest.mark.parametrize("suffix", ["run", "jsonl", "csv", "parquet"])
def test_every_format_and_reader_follows_the_rule(cranfield: Cranfield, suffix: str) -> None:
    """Conversion keeps the tags."""
    path = f"again.{suffix}"
    assert cranfield("convert", "sub.run", path).code == 0
    with pytest.warns(CranfieldWarning, match="30 tags"):
        assert [run.name for run in cf.read_runs(path)] == ["again"]
    with pytest.warns(CranfieldWarning, match="30 tags"):
        assert cf.Run.read(path).topics == tuple(str(t) for t in range(TOPICS))
    with pytest.warns(CranfieldWarning, match="30 tags"):
        assert cf.evaluate("qrels", path, ["AP"]).runs == ("again",)
    assert len(cf.read_runs(path, split_tags=True)) == TOPICS
    with pytest.warns(CranfieldWarning, match="30 judged topics missing from runs"):
        assert len(cf.evaluate("qrels", path, ["AP"], split_tags=True).runs) == TOPICS


def test_rows_with_several_tags_name_the_way_out() -> None:
    rows = [{"query_id": "0", "doc_id": "d0", "score": 1.0, "run": tag} for tag in ("bm25", "rm3")]
    with pytest.raises(DataError, match=r"in data with 2 tags; .* or a run for each tag: split_tags=True"):
        cf.Run.of(rows)


def test_validate_names_the_tags(cranfield: Cranfield) -> None:
    done = cranfield("validate", "qrels", "sub.run")
    assert "sub.run: warning: 30 tags (t0, t1, t2, t3, t4 and 25 more) are read as one run" in done.out
    done = cranfield("validate", "qrels", "sub.run", "--split-tags")
    assert "sub.run: info: 30 runs in one file: t0" in done.out
