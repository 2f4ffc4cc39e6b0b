"""The command line of trec_eval: the same options, the same lines on standard output, byte for byte.

`main(["-q", "-m", "map", "qrels", "run"])` prints the output of `trec_eval -q -m map qrels run`, version 9.0.8, or
version 10.0 with `--dialect 10`.

Differences:

- Error messages name file and line. A wrong call exits with 2, wrong data with 1 (trec_eval: mostly 1 for a wrong call,
  2 for wrong data, 4 for duplicates, 7 if there is no common topic). With wrong data nothing is printed.
- A grade or score that is not a number, or NaN, is an error; trec_eval reads text as 0. A document that appears twice
  in a list is always an error; trec_eval does not check topics it leaves out, nor documents below -M.
- Blank lines in qrels, comments (`#`), a byte order mark, compressed files and `-` for standard input are accepted in
  both dialects.
- Not supported: measures and formats of preferences and of groups of judges (`prefs…`, `…_avgjg`, -R other than qrels),
  z-scores (-Z), a negative -l or -M.
- `rbp` of graded judgments is undefined behaviour in 10.0; here the gains are divided by the highest of the topic.
"""

from __future__ import annotations

import getopt
import math
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from cranfield import __version__, _core
from cranfield.collection.formats import Layout
from cranfield.collection.source import HEAD, Buffer, check_complete, load
from cranfield.compat.output import run_program
from cranfield.compat.trec_lists import TrecLists, TrecQrels
from cranfield.compat.trec_measures import LEAST, NICKNAMES, Setting
from cranfield.compat.trec_request import Column, Request, atol
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed

VERSIONS = {9: "9.0.8", 10: "10.0"}

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
  -v            print the version of trec_eval
  --dialect 9   the output of trec_eval 9.0.8, or 10 (only in cranfield)
  -R qrels, -T trec_results, -o and the long names of all these are accepted."""

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
            return _help(options.dialect)
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
    if letter in flags:
        setattr(options, flags[letter], True)
    elif letter == "n":
        options.summary = False
    elif letter == "m":
        options.measures.append(value)
    elif letter == "l":
        options.level = atol(value)
    elif letter == "N":
        options.documents = atol(value)
    elif letter == "M":
        options.depth = atol(value)
        if options.depth < 0:
            raise UsageError(f"-M {value}: must be 0 or more")
    elif letter == "D":
        _, dot, topic = value.partition(".")
        options.only_topic = topic if dot else None
    elif letter == "dialect":
        if value not in ("9", "10"):
            raise UsageError(f"--dialect {value}: must be 9 or 10")
        options.dialect = int(value)
    elif letter == "Z":
        raise UsageError(f"-Z {value}: z-scores are not supported")
    elif letter == "R" and value != "qrels":
        raise UsageError(f"-R {value}: only qrels are supported, not preferences or groups of judges")
    elif letter == "T" and value != "trec_results":
        raise UsageError(f"-T {value}: must be trec_results")


def _help(dialect: int) -> str:
    names = [name for name in NICKNAMES["all_trec"] if name in Request([], dialect).known]
    return (
        f"{USAGE}\n{HELP}\n\nEvaluates a run as trec_eval {VERSIONS[dialect]} does (cranfield {__version__}).\n"
        f"Measures: {', '.join(names)}\nSeveral at once: {', '.join(NICKNAMES)} (without -m: official)\n"
    )


# -- from files to lines


def evaluated(options: Options, request: Request) -> str:
    """The text for standard output."""
    setting = Setting(options.level, options.documents, options.dialect)
    qrels = read_qrels(options.files[0])
    run = _load(options.files[1])
    joined = join_run(qrels, options.files[1], run, options)
    lists = qrels.lists(
        joined,
        judged_only=options.judged_only,
        nothing=options.depth == 0,
        unjudged_for_missing=options.dialect == 10 and options.complete,
    )
    columns = request.columns(lists, setting)
    rows = _rows(lists, options)
    if options.dialect == 10:
        columns = [_without_missing(column, lists) for column in columns]
    text = _each_topic(columns, lists, rows) if options.topics else ""
    if options.summary:
        text += _summary(columns, lists, rows, options, run)
    return text


def _load(path: str) -> Buffer:
    buffer = load(path)
    if not len(buffer):
        raise DataError(path, None, "is empty")
    return buffer


def read_qrels(path: str) -> TrecQrels:
    layout = Layout("trec_eval", ("topic", "skip", "doc", "value"), "topic iteration doc grade")
    table, faults = layout.read(_load(path), "qrels")
    for _, line, message in faults:
        raise DataError(path, line, message)
    if not len(table):
        raise DataError(path, None, f"is empty, expected lines of {layout.expected}")
    return TrecQrels(_core.judged(table, "error"), whole_grades=True)


SIX_FIELDS = re.compile(rb"^([ \t]*(?:\S+[ \t]+){5}\S+)[ \t][^\n]*", re.MULTILINE)


def join_run(qrels: TrecQrels, path: str, buffer: Buffer, options: Options) -> _core.Joined:
    """Join the run with the judgments; anything after the sixth field of a line is ignored."""
    expected = "topic Q0 doc rank score tag"

    def join(data: Buffer) -> tuple[_core.Joined | None, list[tuple[int, int, str]]]:
        columns = ["topic", "label", "doc", "rank", "value", "skip"]  # not the tag: a file is one run for trec_eval
        return _core.join_files(
            qrels.core, [data], columns, " ", False, expected, "score", options.dialect == 9, "error",
            options.depth or 0, os.cpu_count() or 1, None,
        )  # fmt: skip

    joined, faults = join(buffer)
    check_complete(buffer)
    if joined is None and re.match(r"([7-9]|\d\d+) columns, expected 6", faults[0][2]):
        joined, faults = join(SIX_FIELDS.sub(rb"\1", bytes(buffer)))
    if joined is None:
        raise DataError(path, faults[0][1], faults[0][2])
    if not joined["names"]:
        raise DataError(path, None, f"is empty, expected lines of {expected}")
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


def _each_topic(columns: list[Column], lists: TrecLists, rows: list[int]) -> str:
    template, cells = "", []
    for column in columns:
        if column.summary in ("runid", "num_q", "log"):
            continue
        values = np.asarray(column.values)[rows]
        form = {"text": "'%s'", "sum": "%d"}.get(column.summary, "%6.4f")
        if form == "%6.4f" and np.isnan(values).any():
            form, values = "%s", np.array([shown(value) for value in values.tolist()])
        name = column.name.replace("%", "%%")
        template += f"{name:<22}\t{TOPIC}\t{form}\n"
        cells.append(values.tolist())
    if not cells:
        return ""
    lines = zip(rows, zip(*cells, strict=True), strict=True)
    return "".join((template % values).replace(TOPIC, lists.topics[row]) for row, values in lines)


def _summary(columns: list[Column], lists: TrecLists, rows: list[int], options: Options, run: Buffer) -> str:
    number = lists.rows if options.complete else len(rows)
    lines = []
    for column in columns:
        if column.summary == "text":
            continue
        if column.summary == "runid":
            value = run_name(run)
        elif column.summary == "num_q":
            value = str(number)
        elif column.name == "num_rel" and options.complete:  # of all judged topics, ignoring -l
            value = str(int((lists.judged.grade > 0).sum()))
        elif column.summary == "sum":
            value = str(int(np.asarray(column.values)[rows].sum()))
        else:
            total = 0.0 + float(np.cumsum(np.asarray(column.values)[rows])[-1])  # term by term from 0, like C
            if column.summary == "log":
                total += (number - len(rows)) * math.log(LEAST)
                value = shown(math.exp(total / number))
            else:
                value = shown(total / number)
        lines.append(f"{column.name:<22}\tall\t{value}\n")
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
