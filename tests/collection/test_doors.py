"""The guard at the door of every reader: a value of a wrong type is an error that names the file, never a crash."""

from __future__ import annotations

import ast
import contextlib
import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cranfield
import cranfield as cf
from cranfield.building.assessor_labels import Labels
from cranfield.collection.doors import csv_rows, reads
from cranfield.errors import CranfieldError, DataError

ROOT = Path(cranfield.__file__).parent
LOADERS = {"load", "read_bytes"}
UNGUARDED = {
    "assessed/parts.py": "reads parts of files that were read before",
    "building/campaign/campaign_setup.py": "reads lines of ids as text",
    "collection/shards.py": "reads files that were read before",
    "building/machine/questions.py": "reads text",
    "building/serve/project/judging_project.py": "reads text",
    "cli/verbs/ab/assign.py": "reads lines of ids as text",
    "cli/verbs/judge/account.py": "reads a line of text",
    "cli/verbs/pool/build.py": "reads lines of ids as text",
    "collection/convert.py": "hands the bytes to a reader",
    "collection/doors.py": "hands the bytes to a reader",
    "collection/linting/lint.py": "reports every fault as a finding",
    "collection/linting/run_rules.py": "reads lines of ids as text",
    "collection/source.py": "reads bytes",
    "evaluation/evaluator.py": "computes a digest",
    "meta/reproduction/metadata.py": "writes a file that was read before",
    "meta/study/inputs.py": "its `load` is a parameter",
    "scores/score_input.py": "one of its functions is called by the guarded one",
}
"""Files with functions that load a file without the mark, and why they need none."""


def unmarked() -> Iterator[str]:
    """The files in which a function loads a file and is not marked by `reads`."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not any("reads" in ast.unparse(d) for d in node.decorator_list):
                calls = {c.func.id for c in ast.walk(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)}
                if calls & LOADERS:
                    yield path.relative_to(ROOT).as_posix()


def test_every_function_that_loads_a_file_is_guarded() -> None:
    assert set(unmarked()) == set(UNGUARDED)


@pytest.mark.parametrize("error", [TypeError("x"), KeyError("x"), OverflowError("x"), csv.Error("x"), RecursionError()])
def test_an_error_that_no_check_foresaw_names_the_file(error: Exception) -> None:
    @reads
    def whole(path: str) -> None:
        raise error

    @reads
    def by_row(number: int, path: str) -> Iterator[int]:
        yield number
        raise error

    for read in (lambda: whole("a.csv"), lambda: list(by_row(1, path="a.csv"))):
        with pytest.raises(DataError, match=r"a\.csv: is damaged, or is not the kind of file") as caught:
            read()
        assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [DataError("b.csv", 3, "short"), MemoryError(), KeyboardInterrupt(), OSError(5, "x")])
def test_other_errors_stay_what_they_are(error: BaseException) -> None:
    @reads
    def whole(path: str) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        whole("a.csv")
    assert caught.value is error


def test_an_object_that_is_not_a_file_keeps_its_errors() -> None:
    @reads
    def whole(path: Any) -> None:
        raise TypeError("x")

    with pytest.raises(TypeError):
        whole({"q1": {}})


def test_a_carriage_return_in_a_cell_has_a_line() -> None:
    with pytest.raises(DataError, match=r"^a\.csv:9: a carriage return \(CR\) in a cell"):
        list(csv_rows(["a,b", "c\rd,e"], ",", "a.csv", before=7))


# -- every Arrow type in every column

ARRAYS: dict[str, pa.Array] = {
    "null": pa.nulls(2),
    "list": pa.array([[1], [2]]),
    "fixed list": pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "map": pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"\xff", b"\0"]),
    "bool": pa.array([True, None]),
    "decimal": pa.array([1, 2], pa.decimal128(30, 2)),
    "timestamp": pa.array([1, 2], pa.timestamp("us")),
    "duration": pa.array([1, 2], pa.duration("s")),
    "date": pa.array([1, 2], pa.date32()),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "not finite": pa.array([np.inf, np.nan]),
    "large": pa.array([2**64 - 1, 0], pa.uint64()),
    "no rows": pa.nulls(0),
}
GOOD: dict[str, pa.Array] = {
    "score": pa.array([1.0, 2.0]),
    "grade": pa.array([1, 0]),
    **{name: pa.array(["1", "2"]) for name in ("topic", "doc", "run", "iteration", "assessor", "label")},
}
READERS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "run": (lambda thing: cf.evaluate({"1": {"a": 1}}, thing, "AP"), ("topic", "doc", "score", "run")),
    "qrels": (cf.Qrels.of, ("topic", "doc", "grade", "iteration")),
    "labels": (Labels.of, ("topic", "doc", "assessor", "label")),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", READERS)
def test_a_column_of_any_type_is_read_or_is_a_clear_error(kind: str, tmp_path: Path) -> None:
    read, names = READERS[kind]
    for damaged in names:
        for array in ARRAYS.values():
            columns = {name: array if name == damaged else GOOD[name].slice(0, len(array)) for name in names}
            table = pa.table(columns)
            parquet.write_table(table, tmp_path / "a.parquet")
            for thing in (table, table.to_pandas(), str(tmp_path / "a.parquet")):
                with contextlib.suppress(CranfieldError):
                    read(thing)


@pytest.mark.parametrize("names", [["", "topic"], ["a\0b", "doc"], ["topic", "topic"], ["'; DROP TABLE x", '"']])
@pytest.mark.parametrize("kind", READERS)
def test_damaged_names_of_columns_are_a_clear_error(kind: str, names: list[str], tmp_path: Path) -> None:
    table = pa.table([GOOD["topic"]] * 2, names=names)
    parquet.write_table(table, tmp_path / "a.parquet")
    for thing in (table, str(tmp_path / "a.parquet")):
        with pytest.raises(CranfieldError):
            READERS[kind][0](thing)


# -- every type of JSON in every value


@pytest.mark.parametrize("value", [None, True, 5, 10**400, "x", "\ud800", [1], [{}], {"a": 1}, [[[[1]]]]])
def test_a_value_of_any_json_type_is_a_clear_error_or_is_read(value: object, tmp_path: Path) -> None:
    shapes = {
        "msearch": {"responses": [{"hits": {"hits": [value]}}]},
        "hits": {"responses": [{"hits": {"hits": [{"_id": value, "_score": 1}]}}]},
        "scores": {"responses": [{"hits": {"hits": [{"_id": "a", "_score": value}]}}]},
        "responses": {"responses": [value]},
        "run": {"1": {"a": value}},
        "topic": {"1": value},
        "whole": value,
    }
    for shape in shapes.values():
        path = tmp_path / "a.json"
        path.write_text(json.dumps(shape))
        for read in (cf.Run.read, cf.Qrels.read):
            with contextlib.suppress(CranfieldError):
                read(path)
