"""`cranfield meta robust`: how scores and rankings stand fewer judgments, other grades, fewer topics."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cranfield import check
from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import READING, RESULT, Digits, Format, Measures, Output, Quiet, chosen, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit, rendered
from cranfield.cli.scores_input import (
    Missing,
    QrelsWord,
    RunWords,
    SampleFlag,
    ScoreFiles,
    collection_from,
    scores_from,
)
from cranfield.errors import DataError, UsageError

if TYPE_CHECKING:
    from cranfield.meta.judgments.robustness import Robustness

USAGE = """\
usage: cranfield meta robust QRELS RUN RUN RUN... [-m MEASURE] [--how METHOD]

  cranfield meta robust qrels.txt runs/*.run -m AP,bpref --condensed       all methods, by AP, AP', bpref and bpref'
  cranfield meta robust qrels.txt runs/*.run --how random --repeats 20     judgments dropped at random
  cranfield meta robust --scores scores.csv --how topics                   fewer topics, from scores
  cranfield meta robust --sample                                           try it: a small collection that comes along

cranfield meta robust --help tells all options"""

EXAMPLES = """\
  $ cranfield meta robust --sample
  $ cranfield meta robust qrels.txt runs/*.run -m AP -m nDCG@10 --condensed --how random --rates 0.5,0.2,0.1
  $ cranfield meta robust qrels.txt runs/*.run --how depth --depths 10,20,50,100 --show rmse
  $ cranfield meta robust qrels.txt runs/*.run --how confusion --confusion assessors.txt
  $ cranfield meta robust --scores scores.csv --how topics --sizes 10,25,40 -f csv
"""
OPTION = {
    "random": "--rates",
    "depth": "--depths",
    "flips": "--flips",
    "confusion": "--confusion",
    "topics": "--sizes",
}
SHOWN = ("tau", "change", "rmse", "all", "repeats")


def robust_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    how: Annotated[
        list[str] | None,
        option(
            "--how",
            metavar="METHOD",
            help="random (judgments dropped at random), depth (judgments of a shallower pool), flips (grades moved to "
            "the next one), confusion (grades drawn again), topics (fewer topics); repeat it, or separate by commas; "
            "default: random, depth, flips and topics.",
        ),
    ] = None,
    rates: Annotated[
        str | None,
        option("--rates", metavar="P,P,...", help="random: the share of judgments kept; default: 0.9 to 0.1."),
    ] = None,
    depths: Annotated[
        str | None, option("--depths", metavar="N,N,...", help="depth: how deep lists were pooled; default: 5 to 100.")
    ] = None,
    flips: Annotated[
        str | None,
        option("--flips", metavar="P,P,...", help="flips: the share of judgments changed; default: 0.05 to 0.3."),
    ] = None,
    confusion: Annotated[
        str | None,
        option(
            "--confusion",
            metavar="FILE",
            help="confusion: lines of grade, grade it becomes, probability.",
            group=READING,
        ),
    ] = None,
    sizes: Annotated[
        str | None, option("--sizes", metavar="N,N,...", help="topics: how many; default: 5, 10, 15, ...")
    ] = None,
    repeats: Annotated[int, option("--repeats", "-B", metavar="N", help="How often each is done.")] = 5,
    seed: Annotated[int, option("--seed", metavar="N", help="Same seed, same answer.")] = 0,
    condensed: Annotated[
        bool, option("--condensed", help="Each measure also on lists without unjudged documents: AP and AP'.")
    ] = False,
    show: Annotated[
        str,
        option(
            "--show",
            metavar="WHAT",
            help="tau (with the ranking by everything), change (of the mean score), rmse, or all three in one table, "
            "as json, csv and tsv have them; repeats: a row for every repeat.",
            group=RESULT,
        ),
    ] = "tau",
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """Take judgments or topics away, or change grades, and see what becomes of scores and of the ranking of runs.

    A good measure keeps its ranking (Kendall's tau with the one by everything) and its scores. --plot draws the first
    method.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check.one_of("--show", SHOWN, show=show)
    check_plot(plot)
    methods = [name for word in how for name in word.replace(",", " ").split()] if how else None
    many = _whole("--sizes", sizes)
    given = {"random": rates, "depth": depths, "flips": flips, "confusion": confusion, "topics": sizes}
    for method, value in given.items():
        if value is not None and method not in (methods or (["topics"] if scores else given)):
            raise UsageError(f"{OPTION[method]} {value} is for --how {method}, which is not asked for")
    if scores and condensed:
        raise UsageError("--condensed needs judgments and runs; from --scores: the measures that are there")
    from cranfield.meta.judgments.robustness import FLIPS, RATES, VALUES, robustness, topic_subsets

    if scores:
        if methods not in (None, ["topics"]):
            raise UsageError(f"--how {','.join(methods or [])} needs judgments and runs; from --scores: --how topics")
        found = topic_subsets(
            scores_from(qrels, runs, measures, scores, sample=sample, missing=missing),
            sizes=many,
            repeats=repeats,
            seed=seed,
        )
    else:
        path, files = collection_from(qrels, runs, sample=sample)
        joining.only_one_from_stdin(path, *files, confusion)
        from cranfield.assessed.join_options import JoinOptions

        with Progress("scoring", quiet=quiet) as progress:
            found = robustness(
                joining.judgments(path),
                files,
                chosen(measures or ["AP"]),
                how=methods,
                rates=_numbers("--rates", rates) or RATES,
                depths=_whole("--depths", depths),
                flips=_numbers("--flips", flips) or FLIPS,
                confusion=None if confusion is None else _confusion(confusion),
                sizes=many,
                repeats=repeats,
                seed=seed,
                condensed=condensed,
                missing=missing,
                options=JoinOptions(**joining.options()),
                progress=progress,
            )
    emit(_text(found, show, format, digits, output), output, format=format)
    if plot is not None:
        _draw(found, show if show in VALUES else "tau", plot)
    return 0


def _text(found: Robustness, show: str, format: str, digits: int | None, output: str | None) -> str:
    if show == "repeats":
        from cranfield.table import Column, Table

        kinds = {"O": "text", "f": "number", "i": "count"}
        columns = found.columns()
        headings = tuple(Column(name, kinds[values.dtype.kind]) for name, values in columns.items())
        rows = tuple(zip(*(values.tolist() for values in columns.values()), strict=True))
        return rendered(Table(headings, rows, notes=found.notes, digits=digits), format, output)
    if show == "all" or format in ("json", "csv", "tsv"):
        return rendered(replace(found.table(), digits=digits), format, output)
    tables = [replace(table, digits=digits) for table in found.tables(show)]
    return "\n\n".join(rendered(table, format, output) for table in tables)


DRAWN = {
    "random": ("judgments kept", True),
    "depth": ("ranks pooled", False),
    "flips": ("judgments unchanged", True),
    "confusion": ("judgments unchanged", True),
    "topics": ("topics", False),
}
"""What is on the axis, and whether it is a share."""


def _draw(found: Robustness, value: str, path: str) -> None:
    from cranfield.report.figures import describe_robustness

    method = found.methods[0]
    columns = found.curve(method, value)
    if method in ("flips", "confusion"):
        columns["level"] = 1 - columns["level"]
    label, share = DRAWN[method]
    repeats = max(map(len, found.levels(method).values()))
    told = f"{len(found.runs)} runs" + (f"; bars: least and greatest of {repeats} repeats" if repeats > 1 else "")
    figure = describe_robustness(columns, kept="level", value=value, kept_label=label, as_share=share, subtitle=told)
    save_plot(figure, path)


def _numbers(name: str, text: str | None) -> list[float] | None:
    """Numbers separated by commas or blanks.

    >>> _numbers("--rates", "0.5,0.1")
    [0.5, 0.1]
    """
    if text is None:
        return None
    try:
        found = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise UsageError(f"{name} {text}: expected numbers separated by commas") from None
    if not found:
        raise UsageError(f"{name} {text!r}: expected numbers separated by commas")
    return found


def _whole(name: str, text: str | None) -> list[int] | None:
    numbers: Sequence[float] | None = _numbers(name, text)
    if numbers is None:
        return None
    for one in numbers:
        check.whole(name, n=one)
    return [int(one) for one in numbers]


def _confusion(path: str) -> dict[float, dict[float, float]]:
    """Lines of grade, new grade and probability, separated by blanks, tabs, commas or semicolons."""
    from cranfield.collection.side_files import read_side_file

    rows: dict[float, dict[float, float]] = {}
    file = read_side_file(path, "grade, new grade, probability", [3], separators=",; ", mixed=True)
    for line, cells in file:
        try:
            old, new, share = (float(cell.strip(",")) for cell in cells)
        except ValueError:
            message = f"{' '.join(cells)!r}, expected 3 numbers: grade, new grade, probability"
            raise DataError(file.origin, line, message) from None
        if new in rows.setdefault(old, {}):
            raise DataError(file.origin, line, f"grade {old:g} becomes {new:g} twice")
        rows[old][new] = share
    return rows
