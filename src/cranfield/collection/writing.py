"""Writing runs and qrels: every format, whole files or nothing, and no silent loss."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.collection import text_formats as layouts
from cranfield.collection.columns import Columns
from cranfield.collection.source import PathLike, write_bytes
from cranfield.collection.structured import pyarrow
from cranfield.errors import CranfieldError, DataError

SUFFIXES = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""Formats by suffix; any other suffix means TREC's."""


@dataclass(frozen=True)
class Outgoing:
    """What a writer has to know of a run or of qrels."""

    kind: str
    name: str
    columns: Columns
    lists: Callable[[], dict[str, dict[str, Any]]]
    """{topic: {doc: value}}, made when it is wanted."""
    ranks: Sequence[Any] = ()
    """Of a run: the rank column, or the ranks by score if there is none."""
    ranks_matter: bool = False
    """The rank column says something that the scores do not say."""
    scores_matter: bool = False
    """The scores say something that the ranks do not say."""
    intents: bool = False
    empty_topics: Sequence[str] = field(default=())
    """Topics without documents, which only {topic: {doc: value}} can hold."""

    def named(self) -> dict[str, list[Any]]:
        """Columns under the names that ir_datasets and ir_measures give them."""
        columns = self.columns
        out = {"query_id": columns.topics, "doc_id": columns.docs}
        out["score" if self.kind == "run" else "relevance"] = columns.values
        if columns.ranks is not None:
            out["rank"] = columns.ranks
        if columns.labels is not None:
            out["intent" if self.intents else "iteration"] = columns.labels
        if columns.names is not None:
            out["run"] = columns.names
        return out


def format_of(path: PathLike, format: str | None, kind: str) -> str:
    """The format said, or the one the suffix stands for.

    >>> format_of("bm25.jsonl.gz", None, "run"), format_of("bm25.run", None, "run")
    ('jsonl', 'trec')
    """
    if format is not None:
        layouts.named(format, kind)
        return format
    name = os.fspath(path)
    root, suffix = os.path.splitext(name)
    if suffix in (".gz", ".bz2", ".xz", ".zst"):
        suffix = os.path.splitext(root)[1]
    return SUFFIXES.get(suffix.lower(), "trec")


def write(out: Outgoing, path: PathLike, format: str | None, *, allow_loss: bool) -> None:
    """Write one run or qrels into a file."""
    chosen = format_of(path, format, out.kind)
    write_bytes(path, encode(out, chosen, os.fspath(path), allow_loss=allow_loss))


def encode(out: Outgoing, format: str, path: str, *, allow_loss: bool = False) -> bytes:
    """The bytes of a file; an error if the format cannot hold all there is."""
    lost = losses(out, format)
    if lost and not allow_loss:
        raise DataError(path, None, f"{format} cannot hold {' or '.join(lost)}; say allow_loss to leave that out")
    if format == "parquet":
        return to_parquet(out.named(), path)
    if format == "json":
        text = dump(out.lists()) + "\n" if _nests(out) else "[\n" + ",\n".join(json_objects(out.named())) + "\n]\n"
    elif format == "jsonl":
        text = "\n".join([*json_objects(out.named()), ""])
    elif format in ("csv", "tsv"):
        _check_ids(out, format, path)
        text = to_delimited(out.named(), "," if format == "csv" else "\t")
    else:
        _check_ids(out, format, path)
        text = to_lines(out, format)
    return text.encode("utf-8", "surrogateescape")


def losses(out: Outgoing, format: str) -> list[str]:
    """What there is that a format has no place for. The tag of a single run is not counted: its file names it."""
    lost = []
    columns: tuple[str, ...]
    if format in layouts.STRUCTURED:
        columns = ("topic", "label", "doc", "rank", "value", "name")
    else:
        columns = (layouts.RUNS if out.kind == "run" else layouts.QRELS)[format].columns
    if out.empty_topics and not (format == "json" and _nests(out)):
        lost.append(f"topics without documents ({', '.join(out.empty_topics[:5])})")
    if out.columns.labels is not None and "label" not in columns:
        lost.append("intents" if out.intents else "iterations")
    if out.scores_matter and "value" not in columns:
        lost.append("scores")
    if out.ranks_matter and "rank" not in columns:
        lost.append("ranks that do not follow the scores")
    if out.columns.names is not None and len(set(out.columns.names)) > 1 and "name" not in columns:
        lost.append("several runs")
    return lost


def _nests(out: Outgoing) -> bool:
    """Whether {topic: {doc: value}} says it all."""
    several = out.columns.names is not None and len(set(out.columns.names)) > 1
    return out.columns.labels is None and not out.ranks_matter and not several


# ---------------------------------------------------------------------------------------------- lines of columns


def to_lines(out: Outgoing, format: str) -> str:
    """TREC, MS MARCO and BEIR lines."""
    layout = (layouts.RUNS if out.kind == "run" else layouts.QRELS)[format]
    columns, size = out.columns, len(out.columns.docs)
    by_role: dict[str, Callable[[], Sequence[str]]] = {
        "topic": lambda: columns.topics,
        "doc": lambda: columns.docs,
        "value": lambda: list(map(repr, columns.values)),
        "rank": lambda: list(map(repr, out.ranks)),
        "label": lambda: (columns.labels or ["0"] * size) if out.kind == "qrels" else ["Q0"] * size,
        "name": lambda: columns.names or [out.name] * size,
    }
    between = "\t" if layout.delimiter == "\t" or format.startswith("msmarco") else " "
    lines = list(map(between.join, zip(*(by_role[role]() for role in layout.columns), strict=True)))
    if layout.header:
        lines.insert(0, between.join(layout.expected.split(" ")))
    return "\n".join([*lines, ""])


_BREAKS_COLUMNS = re.compile("[ \t\n\r\0]")
_BREAKS_LINES = re.compile("[\t\n\r\0]")
_BREAKS_QUOTES = re.compile("\0")


def _check_ids(out: Outgoing, format: str, path: str) -> None:
    """Ids that a text format would read back as something else are refused."""
    broken_by = {"csv": _BREAKS_QUOTES, "tsv": _BREAKS_QUOTES, "beir": _BREAKS_LINES}.get(format, _BREAKS_COLUMNS)
    columns = out.columns
    checked: list[tuple[str, Sequence[str]]] = [("topic", list(dict.fromkeys(columns.topics)))]
    checked.append(("document", columns.docs))
    if format in ("trec", "diversity"):
        checked.append(("iteration", list(dict.fromkeys(columns.labels or ()))))
        checked.append(("name of the run", list(dict.fromkeys(columns.names or ()))))
    for what, ids in checked:
        if broken_by.search("".join(ids)):
            bad = next(id_ for id_ in ids if broken_by.search(id_))
            breaking = {
                _BREAKS_COLUMNS: "a blank, a line break or a NUL",
                _BREAKS_LINES: "a tab, a line break or a NUL",
                _BREAKS_QUOTES: "a NUL",
            }[broken_by]
            raise DataError(path, None, f"the {what} {bad!r} has {breaking} in it, which {format} cannot hold")
        if "" in ids:
            raise DataError(path, None, f"the {what} is empty, which {format} cannot hold")
    if format in ("csv", "tsv"):
        return
    comment = next((topic for topic in checked[0][1] if topic.startswith(("#", "\ufeff"))), None)
    if comment is not None:
        raise DataError(path, None, f"the topic {comment!r} would be read as a comment, which {format} cannot hold")
    if format == "beir":
        for what, ids in checked:
            bad_blank = next((id_ for id_ in ids if id_ != id_.strip(" ")), None)
            if bad_blank is not None:
                raise DataError(path, None, f"the {what} {bad_blank!r} has a blank at its end, which beir cannot hold")


# ------------------------------------------------------------------------------------------ structured formats


def dump(value: Any) -> str:
    """JSON text; ids that are not UTF-8 are escaped, so that any bytes come back as they were."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def json_objects(data: dict[str, list[Any]]) -> list[str]:
    """Each row of some columns as a JSON object.

    >>> json_objects({"query_id": ["q"], "score": [0.5]})
    ['{"query_id": "q", "score": 0.5}']
    """
    line = "{" + ", ".join(f'"{name}": %s' for name in data) + "}"
    return list(map(line.__mod__, zip(*map(_json_texts, data.values()), strict=True)))


def _json_texts(column: list[Any]) -> list[str]:
    """Each value of a column as JSON, column by column: many times faster than row by row."""
    if column and not isinstance(column[0], str):
        return json.dumps(column)[1:-1].split(", ")
    try:
        "".join(column).encode("utf-8")
    except UnicodeEncodeError:
        return list(map(json.encoder.encode_basestring_ascii, column))
    return list(map(json.encoder.encode_basestring, column))


def to_delimited(data: dict[str, list[Any]], delimiter: str) -> str:
    """Columns with a header; fields are quoted where they need it."""
    out = io.StringIO(newline="")
    carriage = any("\r" in "".join(column) for column in data.values() if column and isinstance(column[0], str))
    writer = csv.writer(
        out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if carriage else csv.QUOTE_MINIMAL
    )
    writer.writerow(data)
    writer.writerows(zip(*data.values(), strict=True))
    return out.getvalue()


def to_arrow(data: dict[str, list[Any]], origin: str) -> Any:
    """Columns as an Arrow table."""
    arrow = pyarrow(f"{origin}: an Arrow table")
    try:
        return arrow.table(data)
    except UnicodeEncodeError as error:
        raise DataError(origin, None, f"the id {error.object!r} is not UTF-8 text, which Arrow wants") from None


def to_parquet(data: dict[str, list[Any]], origin: str) -> bytes:
    """Columns as the bytes of a Parquet file."""
    table = to_arrow(data, origin)
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def to_frame(library: str, data: dict[str, list[Any]], origin: str) -> Any:
    """Columns as a frame of pandas or polars."""
    import importlib

    try:
        frames = importlib.import_module(library)
    except ImportError:
        raise CranfieldError(f"{origin}: a {library} frame needs {library}: pip install {library}") from None
    try:
        return frames.DataFrame(data)
    except UnicodeEncodeError as error:
        raise DataError(origin, None, f"the id {error.object!r} is not UTF-8 text, which {library} wants") from None
