"""Runs in tables get the scores of `evaluate`, bit by bit, on DuckDB and on Spark, by SQL and by the core."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from cranfield import CranfieldWarning, DataError, UsageError, evaluate
from cranfield.cluster import evaluate_tables
from cranfield.online.engines import Engine

MEASURES = ["nDCG@10", "AP", "RR", "Q", "RBP(p=0.8)", "AP'", "bpref", "AP[ties]", "num_ret"]
Runs = dict[str, dict[str, dict[str, float]]]
Qrels = dict[str, dict[str, int]]
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")


def collection(seed: int = 0) -> tuple[Qrels, Runs]:
    """Many ties; run `b` lacks topic 3 and has topic `x`, which is not judged; ids of several bytes."""
    rng = np.random.default_rng(seed)
    docs = [f"d{n}" for n in range(30)] + ["é1", "Z9", "00", "0"]

    def some(size: int) -> list[str]:
        return [docs[n] for n in rng.choice(len(docs), size, replace=False)]

    qrels = {f"{topic}": {doc: int(rng.integers(0, 4)) for doc in some(15)} for topic in range(1, 6)}
    scores = [-1.5, -0.0, 0.0, 0.25, 0.25 + 1e-12, 3.0]
    runs = {
        name: {topic: {doc: float(rng.choice(scores)) for doc in some(20)} for topic in topics}
        for name, topics in {"a": "12345", "b": "1245x", "it's": "12345"}.items()
    }
    return qrels, runs


def table_of(runs: Runs) -> pyarrow.Table:
    """The rows of all runs, shuffled."""
    rows = [
        (run, topic, doc, score)
        for run, lists in runs.items()
        for topic, docs in lists.items()
        for doc, score in docs.items()
    ]
    rows = [rows[n] for n in np.random.default_rng(9).permutation(len(rows))]
    return pyarrow.table(dict(zip(("run", "topic", "doc", "score"), map(list, zip(*rows, strict=True)), strict=True)))


def ranks_of(runs: Runs) -> tuple[pyarrow.Table, dict[str, Any]]:
    """The same documents with ranks that have nothing to do with scores, and as lists for `evaluate`."""
    rng = np.random.default_rng(5)
    lists: dict[str, Any] = {
        run: {topic: rng.permutation(sorted(docs)).tolist() for topic, docs in of_run.items()}
        for run, of_run in runs.items()
    }
    rows = [
        (run, topic, doc, rank)
        for run, of_run in lists.items()
        for topic, docs in of_run.items()
        for rank, doc in enumerate(docs, 1)
    ]
    names = ("system", "qid", "docno", "rank")
    return pyarrow.table(dict(zip(names, map(list, zip(*rows[::-1], strict=True)), strict=True))), lists


@pytest.fixture(
    params=[
        ("duck", "sql"),
        pytest.param(("spark", "sql"), marks=pytest.mark.xdist_group("spark")),
        pytest.param(("spark", "core"), marks=pytest.mark.xdist_group("spark")),
    ],
    ids="-".join,
)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """An engine, and how it joins."""
    name, how = request.param
    return {"engine": request.getfixturevalue(name), "how": how}


@pytest.mark.parametrize(
    "options",
    [{}, {"precision": 32}, {"depth": 7}, {"missing": "skip"}, {"depth": 3, "precision": 32}, {"ties": "a-z"}],
    ids=["plain", "32 bits", "depth", "skip", "depth and 32 bits", "a to z"],
)
def test_scores_are_those_of_evaluate(way: dict[str, Any], options: dict[str, Any]) -> None:
    qrels, runs = collection()
    assert evaluate_tables(qrels, table_of(runs), MEASURES, **way, **options) == evaluate(
        qrels, runs, MEASURES, **options
    )


def test_ranks_order_lists_without_scores(way: dict[str, Any]) -> None:
    qrels, runs = collection(1)
    table, lists = ranks_of(runs)
    ours = evaluate_tables(qrels, table, MEASURES[:4], **way)
    assert ours.notes[0] == "order: rank"
    assert np.array_equal(ours.values, evaluate(qrels, lists, MEASURES[:4], order="file").values, equal_nan=True)


def test_files_and_one_table_for_each_run(way: dict[str, Any], tmp_path: Path) -> None:
    """Parquet files in a directory, judgments in Parquet, and tables by name; run `b` is given first."""
    qrels, runs = collection(2)
    expected = evaluate(qrels, runs, MEASURES)
    folder = tmp_path / "runs"
    folder.mkdir()
    table = table_of(runs)
    for part in range(3):
        parquet.write_table(table.slice(part * 100, 100 if part < 2 else None), folder / f"{part}.parquet")
    rows = [(topic, doc, grade) for topic, docs in qrels.items() for doc, grade in docs.items()]
    (tmp_path / "qrels").mkdir()
    judged = pyarrow.table(dict(zip(("topic", "doc", "grade"), map(list, zip(*rows, strict=True)), strict=True)))
    parquet.write_table(judged, tmp_path / "qrels" / "0.parquet")
    assert evaluate_tables(str(tmp_path / "qrels"), str(folder), MEASURES, **way) == expected
    by_name = {name: table_of({name: runs[name]}).drop_columns(["run"]) for name in ("b", "it's")}
    two = {name: runs[name] for name in by_name}
    assert evaluate_tables(qrels, by_name, MEASURES, **way) == evaluate(qrels, two, MEASURES)


def test_wrong_rows_are_errors(way: dict[str, Any]) -> None:
    qrels, runs = collection()
    table = table_of(runs)
    twice = pyarrow.concat_tables([table, table.slice(0, 1)])
    with pytest.raises(DataError, match=r"document|duplicate"):
        evaluate_tables(qrels, twice, "AP", **way)
    for wrong in (float("nan"), None):
        scores = [*table["score"].to_pylist()[:-1], wrong]
        with pytest.raises(DataError, match="expected a"):
            evaluate_tables(qrels, table.set_column(3, "score", pyarrow.array(scores)), "AP", **way)
    ranked, _ = ranks_of(runs)
    ones = ranked.set_column(3, "rank", pyarrow.array([1] * len(ranked)))
    with pytest.raises(DataError, match="documents have the same rank"):
        evaluate_tables(qrels, ones, "AP", **way)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("how", ["core", "sql"])
def test_the_number_of_partitions_does_not_matter(spark: Engine, how: str) -> None:
    qrels, runs = collection(3)
    session = spark.session  # type: ignore[attr-defined]
    before = session.conf.get("spark.sql.shuffle.partitions")
    session.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        found = evaluate_tables(qrels, table_of(runs), MEASURES, engine=session, how=how)
    finally:
        session.conf.set("spark.sql.shuffle.partitions", before)
    assert found == evaluate(qrels, runs, MEASURES)


def test_missing_columns_and_unusual_names(duck: Engine) -> None:
    qrels, runs = collection()
    table = table_of(runs)
    with pytest.raises(DataError, match="no column for the topic; the columns are run, doc, score;"):
        evaluate_tables(qrels, table.drop_columns(["topic"]), "AP", engine=duck)
    with pytest.raises(DataError, match="no column for the run"):
        evaluate_tables(qrels, table.drop_columns(["run"]), "AP", engine=duck)
    renamed = table.rename_columns(["who", "search term", "sku", "points"])
    named = {"run": "who", "topic": "search term", "doc": "sku", "score": "points"}
    assert evaluate_tables(qrels, renamed, "AP", engine=duck, columns=named) == evaluate(qrels, runs, "AP")
    with pytest.raises(UsageError, match="no column 'nobody'"):
        evaluate_tables(qrels, table, "AP", engine=duck, columns={"run": "nobody"})


def test_ids_that_look_like_numbers_stay_text(duck: Engine, tmp_path: Path) -> None:
    """In a CSV file, document 007 is not document 7."""
    path = tmp_path / "runs.csv"
    path.write_text("run,topic,doc,score\n1,01,007,0.5\n1,01,7,0.9\n", "utf-8")
    scores = evaluate_tables({"01": {"007": 1}}, path, "RR", engine=duck)
    assert scores.mean() == {"1": {"RR": 0.5}}


def test_what_a_table_cannot_do(duck: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, runs = collection()
    table = table_of(runs)
    with pytest.raises(UsageError, match="rows of a table have no order"):
        evaluate_tables(qrels, table, "AP", engine=duck, order="file")
    with pytest.raises(UsageError, match="ties == 'file', but the rows of a table have no order"):
        evaluate_tables(qrels, table, "AP", engine=duck, ties="file")
    with pytest.raises(UsageError, match="how == 'core' needs Spark"):
        evaluate_tables(qrels, table, "AP", engine=duck, how="core")
    with pytest.raises(DataError, match="none of its topics is judged"):
        evaluate_tables({"other": {"d1": 1}}, table, "AP", engine=duck)
    with pytest.raises(DataError, match="it has no rows"):
        evaluate_tables(qrels, table.slice(0, 0), "AP", engine=duck)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=r"pip install 'cranfield\[logs\]'"):
        evaluate_tables(qrels, table, "AP")


def test_missing_and_unjudged_topics_are_reported(duck: Engine) -> None:
    qrels, runs = collection()
    with pytest.warns(CranfieldWarning) as caught:
        evaluate_tables(qrels, table_of(runs), "AP", engine=duck)
    messages = " ".join(str(warning.message) for warning in caught)
    assert "1 judged topic missing from runs: b (3)" in messages
    assert "1 topic without judgments ignored: b (x)" in messages


def test_a_missing_file_of_judgments_is_found_before_a_cluster_is_asked() -> None:
    with pytest.raises(DataError, match=r"absent\.txt: no such file"):
        evaluate_tables("absent.txt", "runs.parquet", ["AP"], engine="spark://127.0.0.1:1")
