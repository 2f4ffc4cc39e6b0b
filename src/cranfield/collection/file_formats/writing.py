"""Write runs and qrels in every format; an error reports data that a format cannot hold."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.collection.column_names import DELIMITER
from cranfield.collection.columns import Columns
from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.text import listed

if TYPE_CHECKING:
    from cranfield.collection.file_formats.formats import Layout, Structured


BLOCK = 1 << 15
"""The number of entries that are written at a time, so that only these are Python objects."""


class Part(NamedTuple):
    """Some entries of a run or of qrels."""

    columns: Columns
    ranks: list[Any]
    """The rank column of a run, or the ranks by score if there is none."""
    probabilities: list[float]
    """For judgments of a sample, the probability with which each document was drawn."""


@dataclass(frozen=True)
class Outgoing:
    """A run or qrels, ready to be written part by part."""

    kind: str
    name: str
    size: int
    """The number of entries."""
    part: Callable[[int, int], Part]
    """Return the entries from a place up to another."""
    lists: Callable[[], Iterable[tuple[str, dict[str, Any]]]] = tuple
    """Return (topic, {doc: value}) for each topic."""
    ranks_matter: bool = False
    """The ranks do not follow from the scores."""
    scores_matter: bool = False
    """The scores do not follow from the ranks."""
    labelled: bool = False
    """Column 2 has a meaning."""
    intents: bool = False
    sampled: bool = False
    """Judgments of a sample, with probabilities."""
    several_runs: bool = False
    empty_topics: Sequence[str] = ()
    """Topics without documents, which only {topic: {doc: value}} can hold."""

    @property
    def nests(self) -> bool:
        """Whether {topic: {doc: value}} can hold everything."""
        return not (self.labelled or self.ranks_matter or self.several_runs)

    def parts(self) -> Iterator[Part]:
        """The entries, some at a time."""
        for begin in range(0, max(1, self.size), BLOCK):
            yield self.part(begin, min(self.size, begin + BLOCK))

    def named(self, part: Part | None = None) -> dict[str, list[Any]]:
        """The columns of a part, or of all entries, under the names that ir_datasets and ir_measures use."""
        columns = (part or self.part(0, self.size)).columns
        out = {
            "query_id": columns.topics,
            "doc_id": columns.docs,
            "score" if self.kind == "run" else "relevance": columns.values,
            "rank": columns.ranks,
            "intent" if self.intents else "iteration": columns.labels,
            "run": columns.names,
        }
        return {name: column for name, column in out.items() if column is not None}


def together(outs: Sequence[Outgoing]) -> Outgoing:
    """Several runs in one file; each keeps its name."""
    if len(outs) == 1:
        return outs[0]
    ends = list(accumulate(out.size for out in outs))

    def part(begin: int, end: int) -> Part:
        """Entries of the runs that lie between these places."""
        inside = [
            out.part(max(begin - (last - out.size), 0), min(end, last) - (last - out.size))
            for out, last in zip(outs, ends, strict=True)
            if last - out.size < end and last > begin
        ]
        ranked = all(out_has_ranks)

        def joined(name: str) -> list[Any]:
            return [entry for part in inside for entry in getattr(part.columns, name) or ()]

        columns = Columns(
            joined("topics"), joined("docs"), joined("values"), ranks=joined("ranks") if ranked else None,
            names=joined("names"), origin=outs[0].name,
        )  # fmt: skip
        return Part(columns, [rank for part in inside for rank in part.ranks], [])

    out_has_ranks = [out.part(0, 0).columns.ranks is not None for out in outs]
    return Outgoing(
        "run", "", ends[-1] if ends else 0, part,
        ranks_matter=any(out.ranks_matter for out in outs),
        scores_matter=any(out.scores_matter for out in outs),
        several_runs=len({out.name for out in outs}) > 1,
        empty_topics=[topic for out in outs for topic in out.empty_topics],
    )  # fmt: skip


def encode(out: Outgoing, format: Layout | Structured, path: str, *, allow_loss: bool = False) -> Iterator[bytes]:
    """The bytes of a file, part by part; an error if the format cannot hold everything, unless `allow_loss`."""
    lost = losses(out, format)
    if lost and not allow_loss:
        what = f"{format.name} cannot hold {' or '.join(lost)}; to leave that out: allow_loss=True"
        raise DataError(path, None, what)
    return format.encode(out, path)


def losses(out: Outgoing, format: Layout | Structured) -> list[str]:
    """The parts of the data that a format cannot hold; not counting the tag of a single run, which its file names."""
    needed = {
        "label": (out.labelled, "intents" if out.intents else "iterations"),
        "value": (out.scores_matter, "scores"),
        "rank": (out.ranks_matter, "ranks that do not follow the scores"),
        "name": (out.several_runs, "several runs"),
    }
    lost = [what for role, (matters, what) in needed.items() if matters and role not in format.columns]
    if out.sampled and format.name != "sampled":
        lost.append("the probabilities of a sample")
    if out.empty_topics and not (format.name == "json" and out.nests):
        lost.insert(0, f"topics without documents ({listed(out.empty_topics)})")
    return lost


# ---------------------------------------------------------------------------------------------- lines of columns


def lines_of_columns(out: Outgoing, layout: Layout, path: str) -> Iterator[bytes]:
    """Lines with the columns of a layout."""
    _check_ids(out, layout.name, path, layout.delimiter, "label" in layout.columns)
    if out.kind == "qrels" and "rank" in layout.columns and not out.sampled:
        raise DataError(path, None, f"{layout.name} needs the probabilities of a sample, which these judgments lack")
    between = layout.written_with or layout.delimiter
    return _lines(out, layout, between)


def _lines(out: Outgoing, layout: Layout, between: str) -> Iterator[bytes]:
    if layout.header:
        yield _encoded(layout.expected.replace(" ", between) + "\n")
    for columns, ranks, probabilities in out.parts():
        size = len(columns.docs)
        by_role: dict[str, Sequence[str]] = {
            "topic": columns.topics,
            "doc": columns.docs,
            "value": list(map(repr, columns.values)),
            "rank": list(map(repr, probabilities or ranks)),
            "label": (columns.labels or ["0"] * size) if out.kind == "qrels" else ["Q0"] * size,
            "name": columns.names or [out.name] * size,
        }
        lines = map(between.join, zip(*(by_role[role] for role in layout.columns), strict=True))
        yield _encoded("\n".join([*lines, ""]))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _check_ids(out: Outgoing, format: str, path: str, delimiter: str, labels: bool) -> None:
    """Refuse ids that a text format would not read back as they are; without a delimiter, the columns are quoted."""
    breaks = (" \t" if delimiter == " " else delimiter) + "\n\r\0" if delimiter else "\0"
    noun = {" ": "a blank", "\t": "a tab"}.get(delimiter, repr(delimiter))
    breaking = f"{noun}, a line break or a NUL" if delimiter else "a NUL"
    pattern = re.compile(f"[{re.escape(breaks)}]")
    topics: dict[str, None] = {}
    others: dict[str, dict[str, None]] = {"iteration": {}, "name of the run": {}}

    def documents() -> Iterator[tuple[str, Sequence[str]]]:
        for part in out.parts():
            topics.update(dict.fromkeys(part.columns.topics))
            if labels:
                others["iteration"].update(dict.fromkeys(part.columns.labels or ()))
                others["name of the run"].update(dict.fromkeys(part.columns.names or ()))
            yield "document", part.columns.docs

    for what, ids in chain(documents(), [("topic", topics)], others.items()):
        if pattern.search("".join(ids)):
            bad = next(id_ for id_ in ids if pattern.search(id_))
            ways = "; csv and json can" if " " in bad and what != "name of the run" else ""
            raise DataError(path, None, f"the {what} {bad!r} contains {breaking}, which {format} cannot hold{ways}")
        if "" in ids:
            raise DataError(path, None, f"the {what} is empty, which {format} cannot hold")
        padded = None if delimiter in ("", " ") else next((id_ for id_ in ids if id_ != id_.strip(" \t")), None)
        if padded is not None:
            raise DataError(path, None, f"the {what} {padded!r} has a blank at its end, which {format} cannot hold")
    comment = next((topic for topic in topics if topic.startswith(("#", "\ufeff"))), None)
    if delimiter and comment is not None:
        raise DataError(path, None, f"the topic {comment!r} would be read as a comment, which {format} cannot hold")


# ------------------------------------------------------------------------------------------ structured formats


def to_json(out: Outgoing, path: str) -> Iterator[bytes]:
    """JSON: {topic: {doc: value}} if that can hold everything, else a list of records."""
    if out.nests:
        return _json_text((f"{_dump(topic)}: {_dump(documents)}" for topic, documents in out.lists()), "{", ", ", "}\n")
    objects = (text for part in out.parts() for text in json_objects(out.named(part)))
    return _json_text(objects, "[\n", ",\n", "\n]\n")


def _json_text(items: Iterable[str], begin: str, between: str, end: str) -> Iterator[bytes]:
    """Items between brackets, about a megabyte at a time."""
    lead, some, size = begin, [], 0
    for item in items:
        some.append(item)
        size += len(item)
        if size > 1 << 20:
            yield _encoded(lead + between.join(some))
            lead, some, size = between, [], 0
    yield _encoded((lead if some or lead is begin else "") + between.join(some) + end)


def to_json_lines(out: Outgoing, path: str) -> Iterator[bytes]:
    """JSON-lines: a record per line."""
    return (_encoded("\n".join([*json_objects(out.named(part)), ""])) for part in out.parts())


def to_table(format: str, out: Outgoing, path: str) -> Iterator[bytes]:
    """The bytes of `csv` or `tsv` with a header."""
    _check_ids(out, format, path, "", labels=False)
    carriage = any(has_carriage(out.named(part)) for part in out.parts())
    return (
        _encoded(to_delimited(out.named(part), DELIMITER[format], head=place == 0, carriage=carriage))
        for place, part in enumerate(out.parts())
    )


def _dump(value: Any) -> str:
    """JSON text; ids that are not UTF-8 are escaped, so that any bytes are read back unchanged."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def json_objects(data: dict[str, list[Any]]) -> list[str]:
    """The rows of a table as JSON objects.

    >>> json_objects({"query_id": ["q"], "score": [0.5]})
    ['{"query_id": "q", "score": 0.5}']
    """
    line = "{" + ", ".join(f'"{name}": %s' for name in data) + "}"
    return list(map(line.__mod__, zip(*map(_json_texts, data.values()), strict=True)))


def _json_texts(column: list[Any]) -> list[str]:
    """The values of a column as JSON; a whole column at once is many times faster than row by row."""
    if column and not isinstance(column[0], str):
        return json.dumps(column)[1:-1].split(", ")
    try:
        "".join(column).encode("utf-8")
    except UnicodeEncodeError:
        return list(map(json.encoder.encode_basestring_ascii, column))
    return list(map(json.encoder.encode_basestring, column))


def has_carriage(data: dict[str, list[Any]]) -> bool:
    """Whether a text of a table has a carriage return, which some readers take for the end of a line."""
    return any("\r" in "".join(column) for column in data.values() if column and isinstance(column[0], str))


def to_delimited(data: dict[str, list[Any]], delimiter: str, *, head: bool = True, carriage: bool | None = None) -> str:
    """Columns with a header; fields are quoted if necessary. `carriage`: quote all texts; None: if one needs it."""
    out = io.StringIO(newline="")
    quoted = has_carriage(data) if carriage is None else carriage
    writer = csv.writer(
        out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL
    )
    if head:
        writer.writerow(data)
    writer.writerows(zip(*data.values(), strict=True))
    return out.getvalue()


def to_parquet(out: Outgoing, path: str) -> Iterator[bytes]:
    """The bytes of a Parquet file."""
    parquet, sink = need("pyarrow.parquet", f"{path}: Parquet"), io.BytesIO()
    writer = None
    for part in out.parts():
        table = to_frame("pyarrow", out.named(part), path)
        writer = writer or parquet.ParquetWriter(sink, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    yield sink.getvalue()


def to_frame(library: str, data: dict[str, list[Any]], origin: str) -> Any:
    """Columns as a frame of pandas or polars, or as a table of pyarrow."""
    module = need(library, f"{origin}: a {library} {'table' if library == 'pyarrow' else 'frame'}")
    try:
        return module.table(data) if library == "pyarrow" else module.DataFrame(data)
    except UnicodeEncodeError as error:
        raise DataError(origin, None, f"the id {error.object!r} is not UTF-8 text, as {library} needs") from None
