"""The core's reader in slow and obvious Python: line by line, with dicts and lists only."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

LONGEST_ID = 65535

DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
HEXADECIMAL = re.compile(rb"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][+-]?\d+)?")
WORD = re.compile(rb"[+-]?(inf|infinity|nan|nan\([A-Za-z0-9_]*\))", re.IGNORECASE)


def parse_number(text: bytes) -> float | None:
    """The number, if C's strtod accepts the whole text."""
    if WORD.fullmatch(text):
        if b"n" in text.lower()[:2] and b"nan" in text.lower():
            return math.nan
        return -math.inf if text.startswith(b"-") else math.inf
    if DECIMAL.fullmatch(text):
        return float(text)
    if HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.decode())
        except OverflowError:
            return -math.inf if text.startswith(b"-") else math.inf
    return None


@dataclass
class Row:
    """One valid line."""

    topic: str
    doc: str
    value: float
    rank: float
    label: str
    line: int


@dataclass
class Read:
    """The lists, in the order in which they begin, and the numbers of the faulty lines, ascending."""

    lists: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    fault_lines: list[int] = field(default_factory=list)
    dropped: int = 0


def read(
    data: bytes, columns: list[str], delimiter: str = " ", header: bool = False, *, qrels: bool, on_duplicate: str,
    split_tags: bool = False, labels_count: bool = True,
) -> Read:  # fmt: skip
    """Read every line of one file: as one run under its first tag, or as a run for each tag."""
    out = Read()
    first_name = None
    places: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    skip_header = header
    while data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    for number, raw in enumerate(data.split(b"\n"), 1):
        if b"\0" in raw:
            out.fault_lines.append(number)
            continue
        line = raw.rstrip(b"\r \t").lstrip(b" \t") if delimiter == " " else raw.rstrip(b"\r")
        if not line.strip(b"\r \t") or line.startswith(b"#"):
            continue
        if skip_header:
            skip_header = False
            continue
        row = _row(line, columns, delimiter, number)
        if row is None:
            out.fault_lines.append(number)
            continue
        name, entry = row
        first_name = name if first_name is None else first_name
        which = ("" if qrels else name if split_tags else first_name, entry.topic)
        rows = out.lists.setdefault(which, [])
        seen = places.setdefault(which, {})
        key = (entry.doc, entry.label if qrels and labels_count else "")
        if key not in seen:
            seen[key] = entry
            rows.append(entry)
            continue
        out.dropped += 1
        if on_duplicate == "error":
            out.fault_lines.append(number)
        elif on_duplicate == "max" and entry.value > seen[key].value:
            seen[key].value, seen[key].rank = entry.value, entry.rank
    return out


def _row(line: bytes, columns: list[str], delimiter: str, number: int) -> tuple[str, Row] | None:
    if delimiter == " ":
        cells = re.split(rb"[ \t]+", line)
    else:
        cells = [cell.rstrip(b"\r \t").lstrip(b" \t") for cell in line.split(delimiter.encode())]
    if len(cells) != len(columns):
        return None
    by_role = dict(zip(columns, cells, strict=True))
    ids = [by_role["topic"], by_role["doc"], by_role.get("name", b"")]
    if not ids[0] or not ids[1] or max(map(len, ids)) > LONGEST_ID:
        return None
    rank = parse_number(by_role["rank"]) if "rank" in by_role else math.nan
    if "value" in by_role:
        value = parse_number(by_role["value"])
        if value is None or math.isnan(value):
            return None
        rank = math.nan if rank is None else rank
    else:
        if rank is None or math.isnan(rank):
            return None
        value = 1.0 / rank if rank else math.copysign(math.inf, rank)
    topic, doc, name = (text.decode("utf-8", "surrogateescape") for text in ids)
    label = by_role.get("label", b"").decode("utf-8", "surrogateescape")
    return name, Row(topic, doc, value, rank, label, number)
