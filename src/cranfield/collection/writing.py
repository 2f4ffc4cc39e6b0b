"""Write runs and qrels in every format; an error reports data that a format cannot hold."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield.collection.column_names import DELIMITER
from cranfield.collection.columns import Columns
from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.text import listed

if TYPE_CHECKING:
    from cranfield.collection.formats import Layout, Structured


@dataclass(frozen=True)
class Outgoing:
    """A run or qrels, ready to be written."""

    kind: str
    name: str
    columns: Columns
    lists: Callable[[], dict[str, dict[str, Any]]]
    """Return {topic: {doc: value}}."""
    ranks: Sequence[Any] = ()
    """The rank column of a run, or the ranks by score if there is none."""
    ranks_matter: bool = False
    """The ranks do not follow from the scores."""
    scores_matter: bool = False
    """The scores do not follow from the ranks."""
    intents: bool = False
    probabilities: Sequence[float] = ()
    """For judgments of a sample, the probability with which each document was drawn."""
    empty_topics: Sequence[str] = ()
    """Topics without documents, which only {topic: {doc: value}} can hold."""

    @property
    def several_runs(self) -> bool:
        """Whether there is more than one run."""
        return self.columns.names is not None and len(set(self.columns.names)) > 1

    @property
    def nests(self) -> bool:
        """Whether {topic: {doc: value}} can hold everything."""
        return self.columns.labels is None and not self.ranks_matter and not self.several_runs

    def named(self) -> dict[str, list[Any]]:
        """The columns, under the names that ir_datasets and ir_measures use."""
        columns = self.columns
        out = {
            "query_id": columns.topics,
            "doc_id": columns.docs,
            "score" if self.kind == "run" else "relevance": columns.values,
            "rank": columns.ranks,
            "intent" if self.intents else "iteration": columns.labels,
            "run": columns.names,
        }
        return {name: column for name, column in out.items() if column is not None}


def encode(out: Outgoing, format: Layout | Structured, path: str, *, allow_loss: bool = False) -> bytes:
    """The bytes of a file; an error if the format cannot hold everything, unless `allow_loss`."""
    lost = losses(out, format)
    if lost and not allow_loss:
        what = f"{format.name} cannot hold {' or '.join(lost)}; to leave that out: allow_loss=True"
        raise DataError(path, None, what)
    return format.encode(out, path)


def losses(out: Outgoing, format: Layout | Structured) -> list[str]:
    """The parts of the data that a format cannot hold; not counting the tag of a single run, which its file names."""
    needed = {
        "label": (out.columns.labels is not None, "intents" if out.intents else "iterations"),
        "value": (out.scores_matter, "scores"),
        "rank": (out.ranks_matter, "ranks that do not follow the scores"),
        "name": (out.several_runs, "several runs"),
    }
    lost = [what for role, (matters, what) in needed.items() if matters and role not in format.columns]
    if out.probabilities and format.name != "sampled":
        lost.append("the probabilities of a sample")
    if out.empty_topics and not (format.name == "json" and out.nests):
        lost.insert(0, f"topics without documents ({listed(out.empty_topics)})")
    return lost


# ---------------------------------------------------------------------------------------------- lines of columns


def lines_of_columns(out: Outgoing, layout: Layout, path: str) -> bytes:
    """Lines with the columns of a layout."""
    _check_ids(out, layout.name, path, layout.delimiter, "label" in layout.columns)
    columns, size = out.columns, len(out.columns.docs)
    if out.kind == "qrels" and "rank" in layout.columns and not out.probabilities:
        raise DataError(path, None, f"{layout.name} needs the probabilities of a sample, which these judgments lack")
    by_role: dict[str, Callable[[], Sequence[str]]] = {
        "topic": lambda: columns.topics,
        "doc": lambda: columns.docs,
        "value": lambda: list(map(repr, columns.values)),
        "rank": lambda: list(map(repr, out.probabilities or out.ranks)),
        "label": lambda: (columns.labels or ["0"] * size) if out.kind == "qrels" else ["Q0"] * size,
        "name": lambda: columns.names or [out.name] * size,
    }
    between = layout.written_with or layout.delimiter
    lines = list(map(between.join, zip(*(by_role[role]() for role in layout.columns), strict=True)))
    if layout.header:
        lines.insert(0, layout.expected.replace(" ", between))
    return _encoded("\n".join([*lines, ""]))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _check_ids(out: Outgoing, format: str, path: str, delimiter: str, labels: bool) -> None:
    """Refuse ids that a text format would not read back as they are; without a delimiter, the columns are quoted."""
    breaks = (" \t" if delimiter == " " else delimiter) + "\n\r\0" if delimiter else "\0"
    noun = {" ": "a blank", "\t": "a tab"}.get(delimiter, repr(delimiter))
    breaking = f"{noun}, a line break or a NUL" if delimiter else "a NUL"
    pattern = re.compile(f"[{re.escape(breaks)}]")
    columns = out.columns
    topics = list(dict.fromkeys(columns.topics))
    checked: list[tuple[str, Sequence[str]]] = [("topic", topics), ("document", columns.docs)]
    if labels:
        checked.append(("iteration", list(dict.fromkeys(columns.labels or ()))))
        checked.append(("name of the run", list(dict.fromkeys(columns.names or ()))))
    for what, ids in checked:
        if pattern.search("".join(ids)):
            bad = next(id_ for id_ in ids if pattern.search(id_))
            raise DataError(path, None, f"the {what} {bad!r} contains {breaking}, which {format} cannot hold")
        if "" in ids:
            raise DataError(path, None, f"the {what} is empty, which {format} cannot hold")
        padded = None if delimiter in ("", " ") else next((id_ for id_ in ids if id_ != id_.strip(" \t")), None)
        if padded is not None:
            raise DataError(path, None, f"the {what} {padded!r} has a blank at its end, which {format} cannot hold")
    comment = next((topic for topic in topics if topic.startswith(("#", "\ufeff"))), None)
    if delimiter and comment is not None:
        raise DataError(path, None, f"the topic {comment!r} would be read as a comment, which {format} cannot hold")


# ------------------------------------------------------------------------------------------ structured formats


def to_json(out: Outgoing, path: str) -> bytes:
    """JSON: {topic: {doc: value}} if that can hold everything, else a list of records."""
    if out.nests:
        return _encoded(_dump(out.lists()) + "\n")
    return _encoded("[\n" + ",\n".join(json_objects(out.named())) + "\n]\n")


def to_json_lines(out: Outgoing, path: str) -> bytes:
    """JSON-lines: a record per line."""
    return _encoded("\n".join([*json_objects(out.named()), ""]))


def to_table(format: str, out: Outgoing, path: str) -> bytes:
    """The bytes of `csv` or `tsv` with a header."""
    _check_ids(out, format, path, "", labels=False)
    return _encoded(to_delimited(out.named(), DELIMITER[format]))


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


def to_delimited(data: dict[str, list[Any]], delimiter: str) -> str:
    """Columns with a header; fields are quoted if necessary."""
    out = io.StringIO(newline="")
    carriage = any("\r" in "".join(column) for column in data.values() if column and isinstance(column[0], str))
    writer = csv.writer(
        out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if carriage else csv.QUOTE_MINIMAL
    )
    writer.writerow(data)
    writer.writerows(zip(*data.values(), strict=True))
    return out.getvalue()


def to_parquet(out: Outgoing, path: str) -> bytes:
    """The bytes of a Parquet file."""
    sink = io.BytesIO()
    need("pyarrow.parquet", f"{path}: Parquet").write_table(to_frame("pyarrow", out.named(), path), sink)
    return sink.getvalue()


def to_frame(library: str, data: dict[str, list[Any]], origin: str) -> Any:
    """Columns as a frame of pandas or polars, or as a table of pyarrow."""
    module = need(library, f"{origin}: a {library} {'table' if library == 'pyarrow' else 'frame'}")
    try:
        return module.table(data) if library == "pyarrow" else module.DataFrame(data)
    except UnicodeEncodeError as error:
        raise DataError(origin, None, f"the id {error.object!r} is not UTF-8 text, as {library} needs") from None
