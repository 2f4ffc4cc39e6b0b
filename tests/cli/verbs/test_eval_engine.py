"""`cranfield eval --engine` prints what `cranfield eval` prints for the same runs in files."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from cranfield.collection.run import Run
from cranfield.samples import sample
from tests.cli.conftest import Cranfield


@pytest.fixture
def table(tmp_path: Path) -> str:
    """The runs of the sample collection in one Parquet file."""
    rows: list[tuple[str, str, str, float]] = []
    for path in sample().runs:
        lists = Run.read(path).to_dict()
        rows += [(Path(path).stem, topic, doc, score) for topic in lists for doc, score in lists[topic].items()]
    names = ("run", "topic", "doc", "score")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


def test_the_table_is_that_of_files(cranfield: Cranfield, table: str) -> None:
    measures = ("-m", "nDCG@10", "-m", "AP", "-q", "--format", "csv")
    files = cranfield("eval", sample().qrels, *sample().runs, *measures)
    engine = cranfield("eval", sample().qrels, table, "--engine", "duckdb", *measures)
    assert files.code == engine.code == 0
    assert sorted(engine.out.splitlines()) == sorted(files.out.splitlines())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "ducks"), "no engine 'ducks'; did you mean 'duckdb'?"),
        (("--joined-by", "sql"), "--joined-by applies only to --engine"),
        (("--engine", "duckdb", "--order", "file"), "the rows of a table have no order"),
        (("--engine", "duckdb", "--lengths", "x.tsv"), "--lengths does not apply to runs in tables"),
        (("--engine", "duckdb", "--joined-by", "core"), "--joined-by == 'core' needs Spark"),
    ],
)
def test_what_does_not_go_together(cranfield: Cranfield, table: str, words: tuple[str, ...], message: str) -> None:
    result = cranfield("eval", sample().qrels, table, "-m", "AP", *words)
    assert result.code == 2
    assert message in result.err
