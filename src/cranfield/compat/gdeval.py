"""The command line of gdeval, the script of TREC's Web tracks: the same options, the same CSV, byte for byte.

`main(["-k", "10", "qrels", "run"])` prints the output of `gdeval.pl -k 10 qrels run`, version 1.3 (2013), of the copy
in trec-web/trec-web-2014; other copies of this version name a run with a baseline differently. It prints nDCG with the
gains 2^grade − 1, and ERR with the highest grade 4, of every topic with a relevant document, and their means. Sums are
computed term by term in the order of the script, since the fifth decimal can depend on the last bit.

Differences:

- Error messages name file and line. A wrong call exits with 2, wrong data with 1; then nothing is printed.
- A score that is not a number is an error, and so is a document that appears twice; gdeval counts it twice.
- Any text in the second column of a run is accepted; gdeval demands Q0.
- Blank lines, comments (`#`), a byte order mark, compressed files and `-` for standard input are accepted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield import __version__, _core
from cranfield.collection.doors import load_lines
from cranfield.collection.file_formats.formats import Layout
from cranfield.collection.source import Buffer
from cranfield.compat.output import run_program
from cranfield.compat.trec_eval import RUN, join_run, run_name
from cranfield.errors import DataError, UsageError
from cranfield.text import counted
from cranfield.types import Array, Index

USAGE = "usage: gdeval [options] qrels run"
HELP = f"""{USAGE}

  -c                average over all judged topics with a relevant document, also those that the run lacks
  -k depth          evaluate this many documents of a topic (20)
  -baseline run     print gains and losses against this run
  -riskAlpha a      losses count 1 + a times (0)
  -version, -help

Prints the output of gdeval 1.3, the copy of trec-web-2014 (cranfield {__version__}).
"""
VERSION = "gdeval: version 1.3, reimplemented by cranfield"
HIGHEST = 4
"""The highest grade."""


@dataclass
class Options:
    """The options and files of the command line."""

    files: tuple[str, str] = ("", "")
    depth: int = 20
    complete: bool = False
    baseline: str | None = None
    risk: float = 0.0
    risk_text: str = "0"
    """The text of the option: it becomes part of the name of the run."""


def main(argv: Sequence[str], stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> int:
    """Run gdeval with these arguments (without the name of the program) and return the exit code.

    >>> main(["-version"])
    gdeval: version 1.3, reimplemented by cranfield
    0
    """

    def output() -> str:
        words = list(argv)
        if words[:1] and words[0] in ("-v", "-version"):
            return f"{VERSION}\n"
        if len(words) != 2 and words[:1] and words[0] in ("-help", "--help", "-h"):
            return HELP
        return evaluated(read_options(words))

    return run_program("gdeval", output, stdout, stderr)


def read_options(words: list[str]) -> Options:
    """Parse the command line: the last two words are files, options come before them."""
    options, rest = Options(), list(words)
    while len(rest) != 2:
        word = rest.pop(0) if rest else ""
        if word == "-c" and len(rest) >= 2:
            options.complete = True
        elif word in ("-k", "-baseline", "-riskAlpha") and len(rest) >= 3:
            _set(options, word, rest.pop(0))
        elif len(rest) < 2:
            files = sum(word[:1] != "-" for word in words)
            raise UsageError(f"{counted(files, 'file')}, must be 2: qrels run\n{USAGE}")
        else:
            raise UsageError(f"no option {word}\n{USAGE}")
    options.files = (rest[0], rest[1])
    return options


def _set(options: Options, name: str, text: str) -> None:
    if name == "-baseline":
        options.baseline = text
        return
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if name == "-k":
        if not 1 <= value < math.inf:
            raise UsageError(f"-k {text}: must be 1 or more")
        options.depth = int(value)
    elif not 0 <= value < math.inf:
        raise UsageError(f"-riskAlpha {text}: must be a number, 0 or more")
    else:
        options.risk, options.risk_text = value, text


# -- reading

T = TypeVar("T")
PREFIX = re.compile(rb"(?m)^([ \t]*)\S*-(?=\S)")
"""What comes before the number of a topic, as in wt09-51."""


def _load(path: str, expected: str, read: Callable[[Buffer], T]) -> tuple[Buffer, T]:
    """The bytes of a file, with topics without the name of their task, and what is read from them.

    Of a pipe, the first block is read first, so that a fault in it is an error.
    """

    def without_prefix(buffer: Buffer) -> Buffer:
        text = bytes(buffer)
        return PREFIX.sub(rb"\1", text) if PREFIX.search(text) else buffer

    buffer = without_prefix(load_lines(path, expected, lambda lines: read(without_prefix(lines))))
    return buffer, read(buffer)


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judged documents, ready to be joined, and the best possible DCG of each topic, 0 without relevant ones."""

    core: _core.Judged
    ideal: Array


def read_judgments(path: str, depth: int) -> Judgments:
    """Judgments with grades up to 4 and topics that are numbers."""
    layout = Layout("gdeval", ("topic", "label", "doc", "value"), "topic 0 doc grade")

    def read(data: Buffer) -> _core.Table:
        table, faults = layout.read(data, "qrels", keep_lines=True)
        for _, line, message in faults:
            raise DataError(path, line, message)
        return table

    _, table = _load(path, layout.expected, read)
    if not len(table):
        raise DataError(path, None, f"is empty, expected lines of {layout.expected}")

    def refuse(rows: NDArray[np.bool_], message: str) -> None:
        if rows.any():
            row = int(np.flatnonzero(rows)[0])
            raise DataError(path, int(table.lines[row]), message.format(table.values[row]))

    grades = table.values
    refuse(
        (grades != np.trunc(grades)) | (grades > HIGHEST),
        f"the grade is {{:g}}, must be a whole number up to {HIGHEST}",
    )
    numbers = np.array([bool(re.fullmatch(r"[+-]?0*\.?0*|[^\d+.-].*", label)) for label in table.labels])
    if not numbers.all():
        label = table.label if len(table.label) else np.zeros(len(table), dtype=np.int64)
        what = "the second column is {!r}, must be 0: gdeval needs judgments without intents"
        refuse(~numbers[label], what.format(table.labels[int(np.flatnonzero(~numbers)[0])]))
    judged = _core.judged(table, "error")
    _check_topics(path, judged.topics)
    topic = np.repeat(np.arange(len(judged.topics)), np.diff(judged.start))
    relevant = judged.grade > 0
    topic, grade = topic[relevant], judged.grade[relevant]
    order = np.lexsort((-grade, topic))
    start = np.searchsorted(topic[order], np.arange(len(judged.topics)))
    rank = np.arange(len(order)) - start[topic[order]] + 1
    return Judgments(judged, _dcg(topic[order], rank, grade[order], len(judged.topics), depth))


def _check_topics(path: str, topics: list[str]) -> None:
    for topic in topics:
        if not (topic.isascii() and topic.isdigit()):
            raise DataError(path, None, f"topic {topic!r} is not a number; gdeval needs topics such as 51 or wt09-51")


# -- scores


def _dcg(row: Index, rank: Index, grade: Array, rows: int, depth: int) -> Array:
    inside = rank <= depth
    row, rank, grade = row[inside], rank[inside], grade[inside]
    logs = np.array([math.log(place + 1) / math.log(2.0) for place in range(1, int(rank.max(initial=0)) + 1)])
    return np.asarray(np.bincount(row, (2.0**grade - 1) / logs[rank - 1], rows), dtype=np.float64)


def _err(row: Index, rank: Index, grade: Array, rows: int) -> Array:
    """Expected reciprocal rank; hits are sorted by list and rank."""
    stops = (2.0**grade - 1) / 2.0**HIGHEST
    nth = np.arange(len(row)) - np.searchsorted(row, np.arange(rows))[row]
    score, looking = np.zeros(rows), np.ones(rows)
    for place in range(int(nth.max(initial=-1)) + 1):
        here = nth == place
        lists, stop = row[here], stops[here]
        score[lists] += stop * looking[lists] / rank[here]
        looking[lists] *= 1 - stop
    return score


@dataclass(frozen=True, eq=False)
class Evaluated:
    """nDCG and ERR of a run by topic (columns), for topics with a relevant document that the run has (`present`)."""

    name: str
    scores: Array
    present: NDArray[np.bool_]


def evaluate(path: str, judgments: Judgments, depth: int) -> Evaluated:
    """The scores of the run in a file."""

    def join(data: Buffer) -> _core.Joined:
        return join_run(judgments.core, path, data, dialect=10, depth=depth)

    buffer, joined = _load(path, RUN, join)
    _check_topics(path, joined["unjudged_topics"][0])
    rows = len(judgments.core.topics)
    row, rank, grade = joined["row"], joined["rank"], judgments.core.grade[joined["document"]]
    relevant = grade > 0
    row, rank, grade = row[relevant], rank[relevant], grade[relevant]
    some = judgments.ideal > 0
    ndcg = np.divide(_dcg(row, rank, grade, rows, depth), judgments.ideal, out=np.zeros(rows), where=some)
    return Evaluated(run_name(buffer), np.array([ndcg, _err(row, rank, grade, rows)]), some & (joined["missing"] == 0))


def evaluated(options: Options) -> str:
    """The text for standard output."""
    path, run_path = options.files
    judgments = read_judgments(path, options.depth)
    topics, some = judgments.core.topics, judgments.ideal > 0
    run = evaluate(run_path, judgments, options.depth)
    name, scores, shown = run.name, run.scores, run.present
    order = sorted(np.flatnonzero(shown).tolist(), key=lambda row: int(topics[row]))
    if options.baseline is not None:
        base = evaluate(options.baseline, judgments, options.depth)
        name = f"{name} (rel to. {base.name}, rs=1+a, a={options.risk_text})"
        against = np.where(base.present, base.scores, 0.0)
        if (
            options.complete
        ):  # topics that the run lacks come last; one that the baseline lacks, too, uses the one before
            missing = sorted(np.flatnonzero(some & ~shown).tolist(), key=lambda row: int(topics[row]))
            last = np.zeros(2)
            for row in missing:
                last = against[:, row] = base.scores[:, row] if base.present[row] else last
            order += missing
        difference = np.where(shown, scores, 0.0) - against
        scores = np.where(difference < 0, (1 + options.risk) * difference, difference)
    lines = [f"runid,topic,ndcg@{options.depth},err@{options.depth}\n"]
    lines += [f"{name},{topics[row]},{scores[0, row]:.5f},{scores[1, row]:.5f}\n" for row in order]
    number = int(some.sum()) if options.complete else len(order)
    totals = np.cumsum(np.column_stack((np.zeros(2), scores[:, order])), axis=1)[:, -1]  # term by term
    means = totals / number if number else totals
    return "".join([*lines, f"{name},amean,{means[0]:.5f},{means[1]:.5f}\n"])
