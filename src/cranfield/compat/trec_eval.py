"""The command line of trec_eval: the same options, the same lines on standard output, byte for byte.

`main(["-q", "-m", "map", "qrels", "run"])` prints the output of `trec_eval -q -m map qrels run`, version 9.0.8, or
version 10.0 with `--dialect 10`.

docs/coming_from/trec_eval.md lists the differences.
"""

from __future__ import annotations

import getopt
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from cranfield import __version__, _core
from cranfield.collection.doors import load_lines
from cranfield.collection.file_formats.formats import Layout
from cranfield.collection.source import HEAD, Buffer, check_complete
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.compat.output import run_program
from cranfield.compat.trec_lists import TrecGroups, TrecLists, TrecQrels
from cranfield.compat.trec_measures import LEAST, NICKNAMES, Setting, explained
from cranfield.compat.trec_prefs import EXPECTED, CNumbers, TrecPreferences, read_preferences
from cranfield.compat.trec_request import Column, Request, atol
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed

VERSIONS = {9: "9.0.8", 10: "10.0"}

FORMATS = {"qrels": "qrels", "qrels_jg": "groups", "prefs": "preferences", "qrels_prefs": "preferences"}
"""The formats of judgments (-R) and what they hold."""

USAGE = "usage: trec_eval [-h] [-q] [-m measure]... [options] qrels run"
HELP = """
  -q            also print every topic            -n            do not print the summary
  -m measure    print this measure; repeat it. Parameters follow a dot: -m P.5,10 -m ndcg.1=3,2=9
  -c            average over all judged topics, also those that the run lacks
  -l level      documents of this grade or above are relevant (1)
  -M depth      look at this many documents of a topic
  -J            leave out documents that are not judged
  -N number     documents in the collection, for utility
  -D 0.topic    only this topic
  -R format     of the judgments: qrels; qrels_jg (column 2 is the judge); prefs (topic group subgroup doc level);
                qrels_prefs (topic group doc level)
  -Z file       print z-scores; the file has lines: topic measure mean deviation
  -v            print the version of trec_eval      -h            print this; -h -m map: also what map is
  --dialect 9   the output of trec_eval 9.0.8, or 10 (only in cranfield)
  -T trec_results, -o and the long names of all these are accepted."""

SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG = {
    "help": "h", "version": "v", "query_eval_wanted": "q", "measure=": "m", "complete_rel_info_wanted": "c",
    "level_for_rel=": "l", "nosummary": "n", "Debug_level=": "D", "Judged_docs_only": "J", "Number_docs_in_coll=": "N",
    "Max_retrieved_per_topic=": "M", "Rel_info_format=": "R", "Results_format=": "T", "Output_old_results_format=": "o",
    "Zscore=": "Z", "dialect=": "dialect",
}  # fmt: skip


@dataclass
class Options:
    """The options and files of the command line."""

    show_help: bool = False
    show_version: bool = False
    topics: bool = False
    summary: bool = True
    complete: bool = False
    judged_only: bool = False
    level: int = 1
    depth: int | None = None
    documents: int = 0
    only_topic: str | None = None
    dialect: int = 9
    judgments: str = "qrels"
    z_scores: str | None = None
    measures: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def main(argv: Sequence[str], stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> int:
    """Run trec_eval with these arguments (without the name of the program) and return the exit code.

    >>> main(["-v"], stderr=sys.stdout)
    trec_eval version 9.0.8, reimplemented by cranfield
    0
    """

    def output() -> str:
        options = read_options(argv)
        if options.show_version:
            version = f"trec_eval version {VERSIONS[options.dialect]}, reimplemented by cranfield"
            print(version, file=stderr or sys.stderr)
            return ""
        request = Request(options.measures or ["official"], options.dialect)
        if options.show_help:
            return _help(options.dialect, request if options.measures else None)
        if len(options.files) != 2:
            raise UsageError(f"{counted(len(options.files), 'file')}, must be 2: qrels run\n{USAGE}")
        return evaluated(options, request)

    return run_program("trec_eval", output, stdout, stderr)


def read_options(argv: Sequence[str]) -> Options:
    """Parse the command line as the C program does: a later option overrides an earlier one."""
    try:
        pairs, files = getopt.gnu_getopt(list(argv), SHORT, list(LONG))
    except getopt.GetoptError as error:
        raise UsageError(f"{error.msg}\n{USAGE}") from None
    options = Options(files=files)
    names = {f"--{name.rstrip('=')}": letter for name, letter in LONG.items()}
    for name, value in pairs:
        _set(options, names.get(name, name.lstrip("-")), value)
    return options


def _set(options: Options, letter: str, value: str) -> None:
    flags = {"h": "show_help", "v": "show_version", "q": "topics", "c": "complete", "J": "judged_only"}
    numbers = {"l": "level", "N": "documents", "M": "depth"}
    if letter in flags:
        setattr(options, flags[letter], True)
    elif letter == "n":
        options.summary = False
    elif letter == "m":
        options.measures.append(value)
    elif letter in numbers:
        setattr(options, numbers[letter], atol(value))
        if letter == "M" and atol(value) < 0:
            raise UsageError(f"-M {value}: must be 0 or more")
    elif letter == "D":
        _, dot, topic = value.partition(".")
        options.only_topic = topic if dot else None
    elif letter == "dialect":
        if value not in ("9", "10"):
            raise UsageError(f"--dialect {value}: must be 9 or 10")
        options.dialect = int(value)
    elif letter == "Z":
        options.z_scores = value
    elif letter == "R":
        if value not in FORMATS:
            raise UsageError(f"-R {value}: must be one of {', '.join(FORMATS)}")
        options.judgments = value
    elif letter == "T" and value != "trec_results":
        raise UsageError(f"-T {value}: must be trec_results")


def _help(dialect: int, request: Request | None) -> str:
    """The options and the names of measures; what each requested measure is, if some are."""
    explanations = ""
    if request is not None:
        wanted = [name for name in request.known if name in request.wanted]
        explanations = "\n" + "".join(f"{name}: {explained(name)}\n" for name in wanted)
    names = [name for name in Request([], dialect).known if name not in ("dcg", "ideal_dcg", "yaap")]
    return (
        f"{USAGE}\n{HELP}\n\nEvaluates a run as trec_eval {VERSIONS[dialect]} does (cranfield {__version__}).\n"
        f"Measures: {', '.join(names)}\nSeveral at once: {', '.join(NICKNAMES)} (without -m: official)\n{explanations}"
    )


# -- from files to lines


def evaluated(options: Options, request: Request) -> str:
    """The text for standard output."""
    setting = Setting(options.level, options.documents, options.dialect)
    request.check_judgments(options.judgments, FORMATS)
    lists, run = _lists(options)
    columns = request.columns(lists, setting)
    rows = _rows(lists, options)
    if options.dialect == 10:
        columns = [_without_missing(column, lists) for column in columns]
    if options.z_scores is not None:
        reference = read_z_scores(options.z_scores)
        columns = [_as_z_scores(column, lists, reference) for column in columns]
    text = _each_topic(columns, lists, rows, options) if options.topics else ""
    if options.summary:
        text += _summary(columns, lists, rows, options, run)
    return text


def _lists(options: Options) -> tuple[TrecLists, Buffer]:
    """The lists of the run, joined with judgments of any format; and the run."""
    path, run_path = options.files
    kind = FORMATS[options.judgments]
    judgments: TrecQrels | TrecGroups | TrecPreferences
    if kind == "preferences":

        def preferences(data: Buffer) -> _core.Table:
            return read_preferences(path, data, options.judgments)

        table = preferences(_load(path, EXPECTED[options.judgments], preferences))
        judgments = TrecPreferences(path, table, options.dialect)
    else:
        judgments = read_qrels(path) if kind == "qrels" else TrecGroups(_qrels_table(path, "label"))
    depth = 0 if isinstance(judgments, TrecPreferences) else options.depth or 0

    def join(data: Buffer) -> _core.Joined:
        return join_run(judgments.core, run_path, data, dialect=options.dialect, depth=depth)

    run = _load(run_path, RUN, join)
    joined = join(run)
    if isinstance(judgments, TrecPreferences):
        return judgments.lists(joined, options.depth), run
    lists = judgments.lists(
        joined,
        judged_only=options.judged_only,
        nothing=options.depth == 0,
        unjudged_for_missing=options.dialect == 10 and options.complete,
    )
    return lists, run


def _load(path: str, expected: str, read: Callable[[bytes], object]) -> Buffer:
    """The bytes of a file, of which `read` raises an error if there is a fault in the first block."""
    buffer = load_lines(path, expected, read)
    if not len(buffer):
        raise DataError(path, None, "is empty")
    return buffer


def read_qrels(path: str) -> TrecQrels:
    return TrecQrels(_core.judged(_qrels_table(path, "skip"), "error"), whole_grades=True)


def _qrels_table(path: str, second: str) -> _core.Table:
    """The lines of qrels, with this role of the second column."""
    layout = Layout("trec_eval", ("topic", second, "doc", "value"), "topic iteration doc grade")

    def read(data: Buffer) -> _core.Table:
        table, faults = layout.read(data, "qrels")
        for _, line, message in faults:
            raise DataError(path, line, message)
        return table

    table = read(_load(path, layout.expected, read))
    if not len(table):
        raise DataError(path, None, f"is empty, expected lines of {layout.expected}")
    return table


Z_SCORES = Schema(
    "topic measure mean deviation", key=("topic", "measure"), separators=" ", comments=True, header=False,
    topic=Words(), measure=Words(), mean=CNumbers(), deviation=CNumbers(),
)  # fmt: skip


def read_z_scores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and standard deviation by topic and measure."""
    return {(topic, measure): (mean, deviation) for topic, measure, mean, deviation in Z_SCORES.read(path)}


NO_Z_SCORE = -1000000.0
"""The z-score without mean and deviation, and of a value that differs from the mean if the deviation is 0."""


def _as_z_scores(column: Column, lists: TrecLists, reference: dict[tuple[str, str], tuple[float, float]]) -> Column:
    if column.summary in ("runid", "num_q", "text"):
        return column
    nothing = (np.inf, 0.0)  # no value equals this mean
    mean, deviation = np.array([reference.get((topic, column.name), nothing) for topic in lists.topics]).T
    values = np.asarray(column.values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(deviation == 0, np.where(values == mean, 0.0, NO_Z_SCORE), (values - mean) / deviation)
    return Column(column.name, scores, column.summary)


RUN = "topic Q0 doc rank score tag"
"""The columns of a run."""
SIX_FIELDS = re.compile(rb"^([ \t]*(?:\S+[ \t]+){5}\S+)[ \t][^\n]*", re.MULTILINE)


def join_run(judged: _core.Judged, path: str, buffer: Buffer, *, dialect: int, depth: int) -> _core.Joined:
    """Join the run with the judgments; anything after the sixth field of a line is ignored."""

    def join(data: Buffer) -> tuple[_core.Joined | None, list[tuple[int, int, str]]]:
        columns = ["topic", "label", "doc", "rank", "value", "skip"]  # not the tag: a file is one run for trec_eval
        return _core.join_files(
            judged, [data], columns, " ", False, RUN, "score", dialect == 9, "error", depth,
            os.cpu_count() or 1, None,
        )  # fmt: skip

    joined, faults = join(buffer)
    check_complete(buffer)
    if joined is None and re.match(r"([7-9]|\d\d+) columns, expected 6", faults[0][2]):
        joined, faults = join(SIX_FIELDS.sub(rb"\1", bytes(buffer)))
    if joined is None:
        raise DataError(path, faults[0][1], faults[0][2])
    if not joined["names"]:
        raise DataError(path, None, f"is empty, expected lines of {RUN}")
    return joined


def _rows(lists: TrecLists, options: Options) -> list[int]:
    """The topics to evaluate, in the order of their bytes."""
    absent = np.flatnonzero(lists.missing).tolist()
    everything = options.dialect == 10 and options.complete
    wanted = range(lists.rows) if everything else np.flatnonzero(~lists.missing).tolist()
    if options.only_topic is not None:
        wanted = [row for row in wanted if lists.topics[row] == options.only_topic]
        absent = [row for row in absent if lists.topics[row] == options.only_topic]
    if options.dialect == 10 and absent and not options.complete:
        topics = listed(lists.topics[row] for row in absent)
        message = f"lacks {counted(len(absent), 'judged topic')} ({topics}); add -c to count them as not answered"
        raise DataError(options.files[1], None, message)
    if not wanted:
        raise DataError(options.files[1], None, f"has no topic in common with {options.files[0]}")
    return sorted(wanted, key=lambda row: lists.topics[row].encode("utf-8", "surrogateescape"))


def _without_missing(column: Column, lists: TrecLists) -> Column:
    """trec_eval 10 treats a missing topic as a list of one unjudged document, then resets these measures."""
    if column.name in ("num_ret", "utility", "rbp_resid") or column.name.startswith("unj"):
        return Column(column.name, np.where(lists.missing, 0.0, column.values), column.summary)
    if column.name == "relstring":
        blank = zip(column.values, lists.missing.tolist(), strict=True)
        return Column(column.name, ["" if missing else str(signs) for signs, missing in blank], column.summary)
    return column


def shown(value: float) -> str:
    """A value with four decimals; NaN with its sign, as C prints it."""
    if math.isnan(value):
        return "  -nan" if math.copysign(1.0, value) < 0 else "   nan"
    return f"{value:6.4f}"


TOPIC = "\0"
"""A placeholder for the topic in the lines of a topic; no topic contains it."""


def _named(column: Column, options: Options) -> str:
    """The name of a measure as printed; with -Z after the letter Z."""
    mark = "Z" if options.z_scores is not None and column.summary not in ("runid", "text") else ""
    return f"{mark}{column.name:<22}"


def _each_topic(columns: list[Column], lists: TrecLists, rows: list[int], options: Options) -> str:
    template, cells = "", []
    for column in columns:
        if column.summary in ("runid", "num_q", "log"):
            continue
        values = np.asarray(column.values)[rows]
        form = {"text": "'%s'", "sum": "%d"}.get(column.summary, "%6.4f")
        if form == "%d" and options.z_scores is not None:
            form = "%6.4f"
        if form == "%6.4f" and np.isnan(values).any():
            form, values = "%s", np.array([shown(value) for value in values.tolist()])
        name = _named(column, options).replace("%", "%%")
        template += f"{name}\t{TOPIC}\t{form}\n"
        cells.append(values.tolist())
    if not cells:
        return ""
    lines = zip(rows, zip(*cells, strict=True), strict=True)
    return "".join((template % values).replace(TOPIC, lists.topics[row]) for row, values in lines)


def _summary(columns: list[Column], lists: TrecLists, rows: list[int], options: Options, run: Buffer) -> str:
    number = lists.rows if options.complete else len(rows)
    whole = (lambda value: str(int(value))) if options.z_scores is None else shown
    lines = []
    for column in columns:
        if column.summary == "text":
            continue
        if column.summary == "runid":
            value = run_name(run)
        elif column.summary == "num_q":
            value = whole(number)
        elif column.name == "num_rel" and options.complete:  # of all judged topics, ignoring -l
            value = whole((lists.judged.grade > 0).sum())
        elif column.summary == "sum":
            value = whole(float(np.cumsum(np.asarray(column.values)[rows])[-1]))
        else:
            total = 0.0 + float(np.cumsum(np.asarray(column.values)[rows])[-1])  # term by term from 0, like C
            if column.summary == "log":
                total += (number - len(rows)) * math.log(LEAST)
                value = shown(math.exp(total / number))
            else:
                value = shown(total / number)
        lines.append(f"{_named(column, options)}\tall\t{value}\n")
    return "".join(lines)


def run_name(run: Buffer) -> str:
    """The tag on the last line of a run."""
    size = HEAD
    while True:  # look at more and more of the end
        begin = max(0, len(run) - size)
        lines = bytes(run[begin:]).split(b"\n")
        for line in reversed(lines[1:] if begin else lines):
            fields = line.split()
            if len(fields) >= 6 and not fields[0].startswith(b"#"):
                return fields[5].decode("utf-8", "surrogateescape")
        if not begin:
            return ""
        size *= 16
