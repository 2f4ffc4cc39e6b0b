"""Parquet files and Arrow tables with unusual columns: their names, types and values; and damaged files."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.ipc
import pyarrow.parquet
from fuzzing import Target, attempt
from mutation import PIECES, mutate

from cranfield import Qrels, Run, Topics
from cranfield.building.assessor_labels import Labels
from cranfield.collection.linting.lint import check_files
from cranfield.scores import Scores

NAMES = [
    "query_id", "qid", "topic", "doc_id", "docno", "doc", "score", "relevance", "rank", "run", "tag", "iteration",
    "measure", "value", "worker", "label", "task", "title", "text", "missing", "notes", "", " ", "x", "\r", "qid ",
    "caf\u00e9", "time",
]  # fmt: skip
USUAL = [
    ("query_id", "doc_id", "score"), ("query_id", "doc_id", "relevance"),
    ("query_id", "doc_id", "score", "rank", "run"),
    ("measure", "run", "topic", "value"), ("task", "worker", "label"), ("topic", "doc", "worker", "label"),
    ("query_id", "title"),
]  # fmt: skip
TYPES = [
    arrow.string(), arrow.string(), arrow.large_string(), arrow.binary(), arrow.int64(), arrow.int8(), arrow.uint64(),
    arrow.float64(), arrow.float64(), arrow.float32(), arrow.bool_(), arrow.null(), arrow.list_(arrow.string()),
    arrow.list_(arrow.int64()), arrow.struct([("a", arrow.int64())]), arrow.timestamp("us"), arrow.date32(),
    arrow.decimal128(10, 2), arrow.dictionary(arrow.int32(), arrow.string()), arrow.map_(arrow.string(), arrow.int64()),
    arrow.time64("us"), arrow.duration("s"),
]  # fmt: skip
TEXTS = ["1", "2", "d1", "d2", "", "nan", "a b", "\n", "caf\u00e9", "0", "x" * 70_000, "\0", "1e5"]


def value(kind: arrow.DataType, rng: random.Random) -> Any:
    if rng.random() < 0.05:
        return None
    if arrow.types.is_dictionary(kind):
        return rng.choice(TEXTS)
    if arrow.types.is_map(kind):
        return [("a", 1)]
    if arrow.types.is_list(kind):
        return [value(kind.value_type, rng) for _ in range(rng.randrange(3))]
    if arrow.types.is_struct(kind):
        return {"a": 1}
    if arrow.types.is_string(kind) or arrow.types.is_large_string(kind):
        return rng.choice(TEXTS)
    if arrow.types.is_binary(kind):
        return rng.choice([b"1", b"d1", b"\xff", b""])
    if arrow.types.is_floating(kind):
        return rng.choice([0.0, 1.0, 2.5, -1.0, float("nan"), float("inf"), 1e300])
    if arrow.types.is_boolean(kind):
        return rng.random() < 0.5
    if arrow.types.is_null(kind):
        return None
    if arrow.types.is_decimal(kind):
        import decimal

        return decimal.Decimal("1.50")
    return rng.choice([0, 1, 2, 100])


def column(name: str, rows: int, rng: random.Random) -> arrow.Array:
    number = name in ("score", "relevance", "rank", "value")
    usual = arrow.float64() if number else arrow.string()
    kind = usual if rng.random() < 0.7 else rng.choice(TYPES)
    values = [value(kind, rng) for _ in range(rows)]
    if arrow.types.is_dictionary(kind):
        return arrow.array(values, arrow.string()).dictionary_encode()
    return arrow.array(values, kind)


def table(rng: random.Random) -> arrow.Table:
    names = list(rng.choice(USUAL))
    for _ in range(rng.choice([0, 0, 1, 2])):
        at = rng.randrange(len(names) + 1)
        names[at : at + rng.randrange(2)] = [rng.choice(NAMES)] if rng.random() < 0.7 else []
    rows = rng.choice([0, 1, 2, 5])
    return arrow.Table.from_arrays([column(name, rows, rng) for name in names], names)


def parquet_bytes(rng: random.Random) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(table(rng), out)
    data = out.getvalue()
    return data if rng.random() < 0.7 else damaged(data, rng)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Changed in a place or two, or cut."""
    return (
        mutate(data, rng, PIECES[:40], rng.choice([1, 2])) if rng.random() < 0.7 else data[: rng.randrange(len(data))]
    )


def arrow_bytes(rng: random.Random) -> bytes:
    made, out = table(rng), io.BytesIO()
    with pyarrow.ipc.new_stream(out, made.schema) as stream:
        stream.write_table(made)
    return out.getvalue()


def parquet_file(path: Path) -> None:
    for kind in (Run, Qrels):
        read = attempt(kind.read, path)
        if read is not None:
            copy = path.with_suffix(".parquet")
            attempt(read.write, copy)
    attempt(Topics.read, path)
    attempt(Scores.read, path)
    attempt(Labels.read, path)
    attempt(check_files, [path], [path], [path])


def arrow_table(path: Path) -> None:
    """The tables themselves, as a caller passes them; and the bytes of Arrow as a file, which is none of ours."""
    with pyarrow.ipc.open_stream(path.read_bytes()) as stream:
        made = stream.read_all()
    for frame in (made, made.to_pandas() if made.num_columns == len(set(made.column_names)) else made):
        attempt(Run.of, frame)
        attempt(Qrels.of, frame)
        attempt(Labels.of, frame)
    attempt(Run.read, path)
    attempt(check_files, [path], [path], [path])


TARGETS = {"parquet": Target(parquet_bytes, parquet_file), "arrow": Target(arrow_bytes, arrow_table)}
