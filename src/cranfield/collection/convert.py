"""Convert runs, qrels and topics from one format to another without loss."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from cranfield.collection.column_names import column_key
from cranfield.collection.file_formats import formats, writing
from cranfield.collection.grade_labels import levels_as_numbers
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import NO_LABEL
from cranfield.collection.run import runs_of
from cranfield.collection.source import (
    HEAD,
    STDIN,
    FromStdin,
    PathLike,
    beginning,
    bytes_origin,
    first_line,
    read_bytes,
    without_compression,
    write_bytes,
)
from cranfield.collection.topic_tables import is_header
from cranfield.collection.topics import FORMATS, Topics, check_block
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError

KINDS = ("run", "qrels", "topics")


@dataclass(frozen=True)
class Converted:
    """A description of the file that was written."""

    path: str
    kind: str
    format: str
    entries: int
    """Retrieved documents, judgments or topics."""


_FORMATS = "collection.file_formats.formats:"
NAMES = f"{_FORMATS}RUNS {_FORMATS}STRUCTURED {_FORMATS}QRELS collection.topics:FORMATS"
"""Where the names of formats are listed."""


@operation
def convert(
    src: PathLike,
    dst: PathLike,
    *,
    kind: Annotated[
        str | None,
        about("Kind of file: {names}; default: detected from the content.", choices=KINDS, spelled="--kind KIND"),
    ] = None,
    from_: Annotated[
        str | None, about("Format of SRC; default: detected.", names=NAMES, spelled="--from FORMAT")
    ] = None,
    to: Annotated[
        str | None, about("Format of DST: {names}; default: from its name.", names=NAMES, spelled="--to FORMAT")
    ] = None,
    allow_loss: Annotated[bool, about("Leave out what the format of DST cannot hold.", solves="allow_loss=")] = False,
) -> Converted:
    """Read `src` and write `dst`. Data that the target format cannot hold is an error, unless `allow_loss`.

    Without `kind`, `from_` decides if only one kind has a format of that name; else the content if it can: six columns,
    or ranks and scores, are a run; four columns with a meaningless second are qrels; markup is topics. Without `from_`,
    the format is detected; without `to`, it is that of the suffix of `dst`. `-` is standard input or output.
    """
    source, target = os.fspath(src), os.fspath(dst)
    thing: Any = source
    if source == "-":
        thing = FromStdin(read_bytes(source, partial(_check_block, kind=kind, format=from_)))
    kind = kind or kind_of(thing, from_)
    if kind == "topics":
        topics = Topics.read(thing, from_)
        topics.write(target, to)
        return Converted(target, "topics", to or os.path.splitext(target)[1].lstrip("."), len(topics))
    chosen = formats.format_for(target, to, kind)
    if kind == "qrels":
        out = Qrels.of(thing, format=from_).outgoing()
    else:
        out = writing.together([run.outgoing() for run in runs_of(thing, format=from_, split_tags=True)])
    write_bytes(target, writing.encode(out, chosen, target, allow_loss=allow_loss))
    return Converted(target, kind, chosen.name, out.size)


def only_kind(format: str | None) -> str | None:
    """The kind of files that can have this format; None if there are several kinds, or none.

    >>> only_kind("diversity"), only_kind("msmarco-scored"), only_kind("trec")
    ('qrels', 'run', None)
    """
    names = {"run": formats.RUNS, "qrels": formats.QRELS, "topics": FORMATS}
    kinds = [kind for kind in KINDS if format in names[kind] or (kind != "topics" and format in formats.STRUCTURED)]
    return kinds[0] if len(kinds) == 1 else None


def _check_block(head: bytes, kind: str | None, format: str | None) -> None:
    """Raise an error if the first block of standard input cannot be read, before the rest is read."""
    kind = kind or (kind_of(head, format) if len(head) >= HEAD else "topics")
    if kind == "topics":
        check_block(head, STDIN, format)
    else:
        formats.check_block(head, kind, format, STDIN)


def kind_of(thing: Any, format: str | None = None) -> str:
    """Detect whether a file holds a run, qrels or topics; an error if the content leaves it open.

    >>> kind_of(b"1 Q0 d1 1 0.5 bm25")
    'run'
    """
    if kind := only_kind(format):
        return kind
    path = bytes_origin(thing) if isinstance(thing, bytes) else os.fspath(thing)
    buffer = thing if isinstance(thing, bytes) else beginning(thing)
    first = first_line(buffer)
    if first.lstrip().startswith(b"<") or is_header(first.decode("utf-8", "replace").split("\t")):
        return "topics"
    by_suffix = {".run": "run", ".qrels": "qrels"}.get(os.path.splitext(without_compression(path))[1])
    detected = formats.detect(
        buffer, "qrels", path, check_kind=False
    )  # whether it is structured does not depend on the kind
    if isinstance(detected, formats.Layout):
        cells = first.decode("utf-8", "replace").split()
        judged = len(cells) == 4 and cells[1] in NO_LABEL
        judged |= len(cells) in (3, 4) and bool(levels_as_numbers(first)[1])
        kind = "run" if len(cells) == 6 else "qrels" if judged else by_suffix
    else:
        kind = _kind_by_names(detected.column_names(buffer, path)) or by_suffix
    if kind is None:
        raise UsageError(f"{path}: may be a run or qrels; choose with kind='run' or kind='qrels'")
    return kind


def _kind_by_names(names: Sequence[str]) -> str | None:
    keys = {column_key(name) for name in names}
    if keys & {"run", "tag", "run_id", "runid"} or {"rank", "score"} <= keys:
        return "run"
    if keys & {"relevance", "grade", "rel", "label", "iteration", "intent", "subtopic_id"}:
        return "qrels"
    if keys & {"title", "text", "description", "narrative"}:
        return "topics"
    return None
