"""From one format to another without loss: runs, qrels and topics."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cranfield import check
from cranfield.collection import structured, writing
from cranfield.collection import text_formats as layouts
from cranfield.collection.columns import Columns
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import NO_LABEL
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import PathLike, load, read_bytes, unmarked, write_bytes
from cranfield.collection.topics import Topics
from cranfield.errors import DataError, UsageError

KINDS = ("run", "qrels", "topics")


@dataclass(frozen=True)
class Converted:
    """What was written."""

    path: str
    kind: str
    format: str
    entries: int
    """Retrieved documents, judgments or topics."""


def convert(
    src: PathLike,
    dst: PathLike,
    *,
    kind: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    allow_loss: bool = False,
) -> Converted:
    """Read `src`, write `dst`. What the target format cannot hold is an error, unless `allow_loss`.

    `kind` (run, qrels, topics) is told by the content where it can be: six columns, or ranks and scores, are a run;
    four columns with nothing in the second are qrels; markup is topics. `from_` is detected, `to` follows from the
    suffix of `dst`. `-` is standard input or output.
    """
    if kind is not None:
        check.one_of("convert", KINDS, kind=kind)
    source, target = os.fspath(src), os.fspath(dst)
    thing: Any = read_bytes(source) if source == "-" else source
    kind = kind or kind_of(thing, from_)
    if kind == "topics":
        return _convert_topics(thing, target, from_, to)
    chosen = writing.format_of(target, to, kind)
    if kind == "qrels":
        out = Qrels.of(thing, format=from_).outgoing()
    else:
        out = together(runs_of(thing, format=from_))
    write_bytes(target, writing.encode(out, chosen, target, allow_loss=allow_loss))
    return Converted(target, kind, chosen, len(out.columns.docs))


def _convert_topics(thing: Any, target: str, from_: str | None, to: str | None) -> Converted:
    topics = Topics.read(thing, from_)
    topics.write(target, to)
    return Converted(target, "topics", to or os.path.splitext(target)[1].lstrip("."), len(topics))


def together(runs: Sequence[Run]) -> writing.Outgoing:
    """Several runs as one thing to write; each keeps its name."""
    outs = [run.outgoing() for run in runs]
    if len(outs) == 1:
        return outs[0]

    def chain(lists: list[list[Any]]) -> list[Any]:
        return [item for part in lists for item in part]

    parts = [out.columns for out in outs]
    ranked = [part.ranks for part in parts if part.ranks is not None]
    columns = Columns(
        chain([part.topics for part in parts]),
        chain([part.docs for part in parts]),
        chain([part.values for part in parts]),
        ranks=chain(ranked) if len(ranked) == len(parts) else None,
        names=chain([part.names or [] for part in parts]),
        origin=parts[0].origin,
    )
    return writing.Outgoing(
        "run", "", columns, dict,
        ranks=chain([list(out.ranks) for out in outs]),
        ranks_matter=any(out.ranks_matter for out in outs),
        scores_matter=any(out.scores_matter for out in outs),
        empty_topics=chain([list(out.empty_topics) for out in outs]),
    )  # fmt: skip


def kind_of(thing: Any, format: str | None = None) -> str:
    """Whether a file holds a run, qrels or topics; an error where the content alone does not tell.

    >>> kind_of(b"1 Q0 d1 1 0.5 bm25")
    'run'
    """
    path = "<bytes>" if isinstance(thing, bytes) else os.fspath(thing)
    buffer = thing if isinstance(thing, bytes) else load(thing)
    start = unmarked(layouts.head_of(buffer)).lstrip()
    if format in ("sgml", "xml") or start.startswith(b"<"):
        return "topics"
    by_suffix = {".run": "run", ".qrels": "qrels"}.get(os.path.splitext(_without_packing(path))[1])
    found = layouts.detect(buffer, "qrels", path)  # whether it is structured does not depend on the kind
    if isinstance(found, layouts.Layout):
        columns = [cell.decode("utf-8", "replace") for cell in _first_line(start).split()]
        judged = len(columns) == 4 and columns[1] in NO_LABEL
        judged |= len(columns) in (3, 4) and bool(layouts.levels_as_numbers(_first_line(start))[1])
        kind = "run" if len(columns) == 6 else "qrels" if judged else by_suffix
    else:
        kind = _kind_by_names(_names(buffer, found, path)) or by_suffix
    if kind is None:
        raise UsageError(f"{path}: may be a run or qrels; say which with kind='run' or kind='qrels'")
    return kind


def _without_packing(path: str) -> str:
    root, suffix = os.path.splitext(path)
    return root if suffix in (".gz", ".bz2", ".xz", ".zst") else path


def _first_line(start: bytes) -> bytes:
    return next((line for line in start.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")), b"")


def _kind_by_names(names: Sequence[str]) -> str | None:
    keys = {layouts.column_key(name) for name in names}
    if keys & {"run", "tag", "run_id", "runid"} or {"rank", "score"} <= keys:
        return "run"
    if keys & {"relevance", "grade", "rel", "label", "iteration", "intent", "subtopic_id"}:
        return "qrels"
    if keys & {"title", "text", "description", "narrative"}:
        return "topics"
    return None


def _names(buffer: Any, format: str, path: str) -> list[str]:
    """The column names of a structured file."""
    if format == "parquet":
        arrow = structured.pyarrow(f"{path}: reading Parquet")
        from pyarrow import parquet

        try:
            return list(parquet.read_schema(arrow.BufferReader(arrow.py_buffer(buffer))).names)
        except (arrow.ArrowException, OSError) as error:
            raise DataError(path, None, f"the Parquet data is damaged: {str(error).splitlines()[0]}") from None
    text = unmarked(bytes(buffer)).decode("utf-8", "surrogateescape")
    if format in ("csv", "tsv"):
        first = structured.without_comments(text)[1].partition("\n")[0].strip("\r")
        delimiter = layouts.header_delimiter(first) or ","
        return [word.strip().strip('"') for word in first.split(delimiter)]
    return structured.first_keys(text, path)
