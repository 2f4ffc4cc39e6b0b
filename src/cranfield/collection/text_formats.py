"""Which column of a text file means what: TREC, MS MARCO, BEIR and ndeval layouts, and how one is recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cranfield.collection.source import Buffer, unmarked
from cranfield.errors import DataError, UsageError


@dataclass(frozen=True)
class Layout:
    """Columns of a text file by role: topic, label (Q0, iteration or intent), doc, rank, value, name."""

    format: str
    columns: tuple[str, ...]
    expected: str
    delimiter: str = " "
    """One blank stands for any mix of spaces and tabs."""
    header: bool = False

    @property
    def ranked_by(self) -> str:
        """The order rule when none is asked for: a file without scores is in the order of its ranks."""
        return "score" if "value" in self.columns else "rank"


RUNS = {
    "trec": Layout("trec", ("topic", "label", "doc", "rank", "value", "name"), "topic Q0 doc rank score tag"),
    "msmarco": Layout("msmarco", ("topic", "doc", "rank"), "topic doc rank"),
    "msmarco-scored": Layout("msmarco-scored", ("topic", "doc", "rank", "value"), "topic doc rank score"),
    "beir": Layout("beir", ("topic", "doc", "value"), "query-id corpus-id score", "\t", header=True),
}
QRELS = {
    "trec": Layout("trec", ("topic", "label", "doc", "value"), "topic iteration doc grade"),
    "diversity": Layout("diversity", ("topic", "label", "doc", "value"), "topic intent doc grade"),
    "msmarco": Layout("msmarco", ("topic", "doc", "value"), "topic doc grade"),
    "beir": Layout("beir", ("topic", "doc", "value"), "query-id corpus-id score", "\t", header=True),
}
STRUCTURED = ("json", "jsonl", "csv", "tsv", "parquet")
"""Formats that are not lines of blank-separated columns; they are read by `cranfield.collection.structured`."""

COLUMNS = {
    "topic": ("topic_id", "query_id", "qid", "q_id", "topic", "query"),
    "doc": ("doc_id", "docno", "docid", "document_id", "corpus_id", "pid", "did", "doc", "document"),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "score"),
    "score": ("score", "sim", "similarity"),
    "rank": ("rank",),
    "name": ("run", "run_id", "runid", "tag", "name", "system"),
    "label": ("intent", "subtopic", "subtopic_id", "iteration", "iter"),
}
"""What people call the columns, the surer name first: in a frame with both `qid` and `query` the latter is a text."""

HEADER_WORDS = frozenset(word for words in COLUMNS.values() for word in words)


def column_key(name: str) -> str:
    """A column's name as `COLUMNS` spells it.

    >>> column_key(" Query-ID")
    'query_id'
    """
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def find_columns(names: Sequence[str], kind: str) -> dict[str, int]:
    """Which column has which role (topic, doc, value, rank, name, label), for run or qrels.

    >>> find_columns(["qid", "query", "docno", "score"], "run")
    {'topic': 0, 'doc': 2, 'value': 3}
    """
    roles = {"topic": "topic", "doc": "doc", "value": "score" if kind == "run" else "grade"}
    roles |= {"rank": "rank", "name": "name"} if kind == "run" else {"label": "label"}
    keys = [column_key(name) for name in names]
    found = {}
    for role, words in roles.items():
        places = [keys.index(word) for word in COLUMNS[words] if word in keys]
        if places:
            found[role] = places[0]
    return found


def namesakes(names: Sequence[str], used: Iterable[int]) -> str | None:
    """What is wrong where a column that is used is not the only one of its name; None if nothing is.

    >>> namesakes(["qid", "docno", "score", "Score"], [0, 1, 2])
    '2 columns are called score (3 and 4), must be one: rename or drop the others'
    """
    keys = [column_key(name) for name in names]
    for at in used:
        places = [str(place) for place, key in enumerate(keys, 1) if key == keys[at]]
        if len(places) > 1:
            where = " and ".join([", ".join(places[:-1]), places[-1]])
            return f"{len(places)} columns are called {names[at]} ({where}), must be one: rename or drop the others"
    return None


def detect(buffer: Buffer, kind: str, path: str = "<bytes>") -> Layout | str:
    """The layout of run or qrels bytes, or the name of a structured format.

    >>> detect(b"301 0 FBIS3-1 1\\n", "qrels").format
    'trec'
    >>> detect(b"query-id\\tcorpus-id\\tscore\\nq1\\td1\\t1\\n", "qrels").format
    'beir'
    """
    begin = _begin(buffer)
    head = head_of(buffer)
    passed = bytes(buffer[:begin]).count(b"\n")
    if head[:4] == b"PAR1":
        return "parquet"
    if b"\0" in head:
        line = passed + head[: head.index(b"\0")].count(b"\n") + 1
        raise DataError(path, line, f"a NUL byte: this is a binary file, expected {kind} as text, JSON, CSV or Parquet")
    text = unmarked(head).decode("utf-8", "replace")
    every = text.split("\n")
    lines = (line for line in every if line.strip() and not line.lstrip().startswith("#"))
    found_first = next(lines, None)
    if found_first is None:
        raise DataError(path, None, f"is empty, expected {kind} ({_expected(kind)})")
    first = found_first.strip("\r")
    if _JSON.match(first):
        return _json_kind(first, [found_first, *lines])
    found = _delimited(first, kind) or _columns(first, kind)
    if kind == "run" and found in (RUNS["msmarco"], RUNS["msmarco-scored"]):
        _check_rank(first.split(), path, passed + every.index(found_first) + 1)
    return found


_LEVEL = re.compile(rb"(?m)(?<=[ \t])L(\d{1,9})(?=[ \t\r]*$)")
"""A last column such as `L2`."""
_LETTER = re.compile(rb"(?m)(?<=[ \t])([SABC])(?=[ \t\r]*$)")
"""A last column such as `S`."""
LETTERS = {"S": 3, "A": 2, "B": 1, "C": 0}
"""NTCIR's grades: highly relevant, relevant, partially relevant (Sakai, On the Properties of Evaluation Metrics for
Finding One Highly Relevant Document, 2007, §3.1), and not relevant."""


def grade_called(label: str) -> float | None:
    """The grade that NTCIR writes as S, A, B, C or L0, L1, ...; None if it is no such label.

    >>> grade_called("S"), grade_called("L2"), grade_called("D")
    (3.0, 2.0, None)
    """
    if label in LETTERS:
        return float(LETTERS[label])
    return float(label[1:]) if re.fullmatch(r"L\d{1,9}", label) else None


def levels_as_numbers(buffer: Buffer) -> tuple[Buffer, str]:
    """Judgments with the grades L0, L1, ... or S, A, B, C of NTCIR written as numbers; and a note, if there were any.

    The first line decides; where its grade is a number, the bytes stay as they are. So do they where only some lines
    have one of the letters: there is no telling what those mean.

    >>> levels_as_numbers(b"0001 2 doc7 L3\\n0001 2 L8 L0\\n")
    (b'0001 2 doc7 3\\n0001 2 L8 0\\n', 'grades L0, L1, ... are read as 0, 1, ...')
    >>> levels_as_numbers(b"001 0 doc7 S\\n001 0 A C\\n")
    (b'001 0 doc7 3\\n001 0 A 0\\n', 'grades S, A, B, C are read as 3, 2, 1, 0')
    >>> levels_as_numbers(b"301 0 L8 3\\n")
    (b'301 0 L8 3\\n', '')
    """
    head = unmarked(head_of(buffer))
    first = next((line for line in head.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")), b"")
    if _LEVEL.search(first):
        return _LEVEL.sub(rb"\1", bytes(buffer)), "grades L0, L1, ... are read as 0, 1, ..."
    if _LETTER.search(first):
        whole = unmarked(bytes(buffer))
        text, many = _LETTER.subn(lambda found: b"%d" % LETTERS[found[1].decode()], whole)
        if many == len(_DATA.findall(whole)):
            return text, "grades S, A, B, C are read as 3, 2, 1, 0"
    return buffer, ""


def _check_rank(words: list[str], path: str, line: int) -> None:
    """Scores read as ranks would turn every list upside down; judgments are no run, even if they have four columns."""
    third = words[2]
    try:
        whole = float(third).is_integer()
    except ValueError:
        if len(words) == 3:
            return  # the reader says what is wrong
        raise DataError(
            path, line, f"4 columns, the third is {third!r}, expected a rank (topic doc rank score); is this a run?"
        ) from None
    if len(words) == 4:
        return  # the score tells the order
    if not whole:
        raise DataError(
            path, line,
            f"3 columns, the third is {third!r}, expected a rank (topic doc rank); a file of scores needs a first line "
            "query-id corpus-id score, with tabs",
        )  # fmt: skip


_JSON = re.compile(r'\s*(\{\s*("|\}|$)|\[\s*([\[{\]]|$))')
"""How JSON begins; a topic called `[1]` or `{x}` does not."""


_DATA = re.compile(rb"^[ \t\r]*[^\s#]", re.MULTILINE)
"""How a line begins that is neither blank nor a comment."""
HEAD = 1 << 16


def head_of(buffer: Buffer) -> bytes:
    """The first lines that are not blank; more of them where the first is very long, since its columns are counted."""
    begin = _begin(buffer)
    head = bytes(buffer[begin : begin + HEAD])
    return head if b"\n" in head else bytes(buffer[begin : begin + (1 << 25)])


def _begin(buffer: Buffer) -> int:
    """Where to look: at the top, or where the data begins if blank lines and comments go on for long."""
    if _DATA.search(bytes(buffer[:HEAD])) or len(buffer) <= HEAD:
        return 0
    found = _DATA.search(buffer)
    return found.start() if found else 0


def _expected(kind: str) -> str:
    return "lines of " + (RUNS if kind == "run" else QRELS)["trec"].expected


def _json_kind(first: str, lines: list[str]) -> str:
    """Lines of JSON if the first line is a whole object and either a record or not the only one."""
    complete = first.rstrip().endswith("}") and first.lstrip().startswith("{")
    several = len(lines) > 1 and lines[1].lstrip().startswith("{")
    record = first.count("{") == 1 and ":" in first
    return "jsonl" if complete and (several or record) else "json"


DELIMITERS = {"\t": "tsv", ",": "csv", ";": "csv", "|": "csv"}


def header_delimiter(first: str) -> str | None:
    """What stands between the words of a header line; None if the line is no header.

    >>> header_delimiter("query_id;doc_id;relevance")
    ';'
    """
    for delimiter in DELIMITERS:
        words = [column_key(word.strip().strip('"')) for word in first.split(delimiter)]
        if len(HEADER_WORDS.intersection(words)) >= 2:
            return delimiter
    return None


def _delimited(first: str, kind: str) -> Layout | str | None:
    """A header line of known words makes it BEIR, TSV or CSV."""
    delimiter = header_delimiter(first)
    if delimiter is None:
        return None
    if first.rstrip("\r").lower() == "query-id\tcorpus-id\tscore":
        return (RUNS if kind == "run" else QRELS)["beir"]
    return DELIMITERS[delimiter]


def _columns(first: str, kind: str) -> Layout:
    """By the number of columns; anything unknown is read as TREC, whose reader says what is wrong."""
    count = len(first.split())
    layouts = RUNS if kind == "run" else QRELS
    by_count = {3: "msmarco", 4: "msmarco-scored"} if kind == "run" else {3: "msmarco"}
    return layouts[by_count.get(count, "trec")]


def named(format: str, kind: str) -> Layout | str:
    """The layout a user asked for by name."""
    layouts = RUNS if kind == "run" else QRELS
    if format in layouts:
        return layouts[format]
    if format in STRUCTURED:
        return format
    raise UsageError(f"format == {format!r}, must be one of {', '.join([*layouts, *STRUCTURED])} for {kind}")
