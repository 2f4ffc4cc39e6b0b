"""`cranfield meta loo`: what runs and teams lose that were not pooled."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cranfield import check
from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import READING, RESULT, Argument, Digits, Format, Measures, Output, Quiet, chosen, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit, rendered
from cranfield.cli.scores_input import Missing, RunWords, SampleFlag, collection_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.judgments.leave_out import LeftOut
    from cranfield.table import Table

USAGE = """\
usage: cranfield meta loo QRELS RUN RUN RUN... [-m MEASURE] [--teams FILE] [--pool-depth N]

  cranfield meta loo qrels.txt runs/*.run -m AP --condensed                leave one run out, by AP and AP'
  cranfield meta loo qrels.txt runs/*.run --teams teams.txt --pool-depth 100   leave one team out
  cranfield meta loo --sample                                              try it: a small collection that comes along

cranfield meta loo --help tells all options"""

EXAMPLES = """\
  $ cranfield meta loo --sample --pool-depth 10
  $ cranfield meta loo qrels.txt runs/*.run -m AP -m nDCG@10 --condensed --pool-depth 100
  $ cranfield meta loo qrels.txt runs/*.run --teams teams.txt --show contributions
  $ cranfield meta loo qrels.txt runs/*.run --teams teams.txt --show runs -f csv -o runs.csv
  $ cranfield meta loo qrels.txt runs/*.run --teams teams.txt --write without/
"""
SHOWN = ("measures", "runs", "contributions", "all")


def loo_verb(
    qrels: Annotated[str | None, Argument("QRELS", "Judgments; - is standard input. Left out with --sample.")] = None,
    runs: RunWords = None,
    measures: Measures = None,
    sample: SampleFlag = False,
    teams: Annotated[
        str | None,
        option(
            "--teams",
            metavar="FILE",
            help="Lines of run, team: leave out one team at a time; default: one run at a time.",
            group=READING,
        ),
    ] = None,
    pool_depth: Annotated[
        int | None,
        option(
            "--pool-depth",
            metavar="N",
            help="How many documents of each run went into the pool; default: whole lists.",
        ),
    ] = None,
    condensed: Annotated[
        bool, option("--condensed", help="Each measure also on lists without unjudged documents: AP and AP'.")
    ] = False,
    write: Annotated[
        str | None,
        option(
            "--write",
            metavar="FOLDER",
            help="Write the judgments without each one's unique contributions there, a file each.",
            group=RESULT,
        ),
    ] = None,
    show: Annotated[
        str,
        option(
            "--show",
            metavar="WHAT",
            help="measures (what becomes of the ranking), runs (a row for each run and measure), contributions (what "
            "each found, and found alone) or all.",
            group=RESULT,
        ),
    ] = "measures",
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """Leave one run, or one team, out of the pool: the documents that nobody else found become unjudged.

    Tells how scores, ranks and the ranking of all runs (Kendall's tau) change. If they hardly do, systems that did not
    contribute to the pool can be trusted to get their due by that measure. `tau of own` compares the ranking by all
    judgments with the one in which every run has the score that it is left with. --plot draws the ranks by the first
    measure. (Zobel, SIGIR 1998, by run; to leave out whole teams is stricter.)
    """
    if qrels is None and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check.one_of("--show", SHOWN, show=show)
    if show == "all" and format in ("csv", "tsv"):
        raise UsageError(f"--show all is three tables, which {format} cannot hold; say which, or use --format json")
    check.whole("--pool-depth", pool_depth=pool_depth)
    check_plot(plot)
    path, files = collection_from(qrels, runs, sample=sample)
    joining.only_one_from_stdin(path, *files, teams)
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.meta.judgments.leave_out import leave_one_out

    with Progress("leaving out", quiet=quiet) as progress:
        left = leave_one_out(
            joining.judgments(path),
            files,
            chosen(measures or ["AP"]),
            teams=teams,
            pool_depth=pool_depth,
            condensed=condensed,
            missing=missing,
            options=JoinOptions(**joining.options()),
            progress=progress,
        )
    if write is not None:
        paths = left.write(write)
        if not quiet:
            print(f"{len(paths)} files written to {write}", file=sys.stderr)
    made = {"contributions": left.contribution_table, "runs": left.run_table, "measures": left.table}
    tables = {name: replace(make(), digits=digits) for name, make in made.items() if show in (name, "all")}
    emit(_text(tables, format, output), output, format=format)
    if plot is not None:
        _draw(left, plot)
    return 0


def _text(tables: dict[str, Table], format: str, output: str | None) -> str:
    """One table, or several below one another; in JSON several are one object."""
    texts = {name: rendered(table, format, output) for name, table in tables.items()}
    if format == "json" and len(texts) > 1:
        return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in texts.items()) + "\n}"
    return "\n\n".join(texts.values())


def _draw(left: LeftOut, path: str) -> None:
    from cranfield.report.figures import describe_rank_changes

    columns = left.columns()
    first = columns["measure"] == left.measures[0]
    told = {name: columns[name][first] for name in ("run", "rank", "rank_without")}
    what = "left out of the pool" if left.by == "run" else "its team left out of the pool"
    figure = describe_rank_changes(
        told, system="run", before="rank", after="rank_without", measure=left.measures[0], after_label=what
    )
    save_plot(figure, path)
