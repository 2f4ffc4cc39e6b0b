"""`cranfield meta reproduce`: is this run a replication of that one, or a reproduction on another collection?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cranfield.cli.parser import RESULT, Argument, Digits, Format, Measures, Order, Output, Quiet, chosen, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, checked, emit_table, only_one_from_stdin
from cranfield.cli.scores_input import USUAL, Missing, ScoreFiles, scores_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.reproduction.reproduction import Reproduction
    from cranfield.report.figures import Figure

USAGE = """\
usage: cranfield meta reproduce QRELS ORIGINAL AGAIN [--advanced RUN --advanced-again RUN] [--other-qrels FILE]

  cranfield meta reproduce qrels.txt bm25.run bm25-again.run             the same collection: lists and scores
  cranfield meta reproduce qrels.txt bm25.run bm25-again.run \\
      --advanced rm3.run --advanced-again rm3-again.run                  and the effect of the advanced run
  cranfield meta reproduce old.qrels bm25.run bm25-new.run --other-qrels new.qrels \\
      --advanced rm3.run --advanced-again rm3-new.run                    another collection: effects only
  cranfield meta reproduce --scores all.csv bm25 bm25-again              from saved scores, by the names of runs

cranfield meta reproduce --help tells all options"""

EXAMPLES = """\
  $ cranfield meta reproduce qrels.txt bm25.run bm25-again.run -m AP,nDCG@10
  $ cranfield meta reproduce qrels.txt bm25.run again.run --advanced rm3.run --advanced-again rm3-2.run --plot er.pdf
  $ cranfield meta reproduce old.qrels bm25.run new.run --other-qrels new.qrels --format json
  $ cranfield meta reproduce qrels.txt bm25.run again.run --topics
"""


def reproduce_verb(
    words: Annotated[
        list[str] | None,
        Argument(metavar="QRELS ORIGINAL AGAIN", help="Judgments and two runs; with --scores the names of two runs."),
    ] = None,
    measures: Measures = None,
    advanced: Annotated[
        str | None, option("--advanced", metavar="RUN", help="The run that was to improve on the original one.")
    ] = None,
    advanced_again: Annotated[
        str | None, option("--advanced-again", metavar="RUN", help="The advanced run, made again.")
    ] = None,
    other_qrels: Annotated[
        str | None,
        option("--other-qrels", metavar="FILE", help="Judgments for the runs made again, on another collection."),
    ] = None,
    scores: ScoreFiles = None,
    other_scores: Annotated[
        list[str] | None,
        option("--other-scores", metavar="FILE", help="With --scores: the runs made again, on another collection."),
    ] = None,
    persistence: Annotated[
        float, option("--persistence", metavar="P", help="Of rank-biased overlap: how far down one looks.")
    ] = 0.95,
    union: Annotated[
        str,
        option(
            "--union", metavar="RULE", help="Number documents for Kendall's tau by rank, or by id as repro_eval does."
        ),
    ] = "rank",
    depth: Annotated[
        int | None, option("--depth", metavar="K", help="Compare the first K documents of each list; default: all.")
    ] = None,
    topics: Annotated[
        bool, option("--topics", "-q", help="How alike the lists are, topic by topic.", group=RESULT)
    ] = False,
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    order: Order = None,
) -> int:
    """How close runs come to those they repeat: lists, scores, effect, significance (Breuer et al., SIGIR 2020).

    On the same collection lists are compared by Kendall's tau union and rank-biased overlap, scores by RMSE and a
    paired t test; the effect of an advanced run by the effect ratio (ER) and the difference of relative improvements
    (dRI). On another collection only effects and an unpaired t test can tell. What ir_metadata in the head of both
    runs says of the changes is told below the table. --plot draws the effect, ER against dRI; without an advanced run
    how alike the lists are, topics in ascending order.
    """
    if not words and not scores:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(plot)
    if (advanced is None) != (advanced_again is None):
        raise UsageError("--advanced and --advanced-again go together: the original run and the same again")
    both = None if advanced is None or advanced_again is None else (advanced, advanced_again)
    if scores:
        found = _from_scores(words or [], both, scores, other_scores, measures, other_qrels)
    else:
        if other_scores:
            raise UsageError("--other-scores goes with --scores; for runs say --other-qrels")
        qrels, first, second = _three(words or [])
        only_one_from_stdin(qrels, first, second, advanced, advanced_again, other_qrels)
        from cranfield.meta.reproduction.reproduction import reproduce

        found = reproduce(
            qrels,
            (first, second),
            both,
            chosen(measures or [USUAL]),
            other_qrels=other_qrels,
            p=persistence,
            union=union,
            depth=depth,
            missing=missing,
            order=order,
        )
        found = replace(found, notes=(*found.notes, *_changes(first, second)))
    table = found.topics() if topics else found.table()
    figure = None if plot is None else _figure(found)
    emit_table(replace(table, digits=digits), format, output)
    if figure is not None:
        save_plot(figure, plot)
    return 0


def _figure(found: Reproduction) -> Figure:
    """The effect, if there is an advanced run; else the lists, topic by topic."""
    from cranfield.report.figures import describe_alike, describe_effects

    if "advanced" in found.runs:
        return describe_effects(found)
    if not found.orders:
        raise UsageError("--plot: scores of a baseline alone have no picture; give --advanced and --advanced-again too")
    one = found.orders[0]
    return describe_alike({"topic": one.topics, "tau": one.tau, "overlap": one.overlap}, one.role)


def _three(words: list[str]) -> tuple[str, str, str]:
    if len(words) != 3:
        raise UsageError(f"{len(words)} files, expected three: judgments, the original run, and the run made again")
    return words[0], words[1], words[2]


def _from_scores(
    words: list[str],
    advanced: tuple[str, str] | None,
    scores: list[str],
    other_scores: list[str] | None,
    measures: list[str] | None,
    other_qrels: str | None,
) -> Reproduction:
    from cranfield.meta.reproduction.reproduction import reproduce_scores

    if len(words) != 2:
        raise UsageError(f"{len(words)} names, --scores expects two: the original run, and the run made again")
    if other_qrels:
        raise UsageError("--other-qrels goes with runs; for scores say --other-scores")
    original = scores_from(None, None, measures, scores)
    again = scores_from(None, None, measures, other_scores) if other_scores else original
    return reproduce_scores(original, again, (words[0], words[1]), advanced, same_collection=not other_scores)


def _changes(first: str, second: str) -> list[str]:
    """What the metadata of two runs say of the changes from one to the other."""
    from cranfield.meta.reproduction.metadata import has_metadata, primad, read_metadata

    if "-" in (first, second) or not (has_metadata(first) and has_metadata(second)):
        return []
    return [f"ir_metadata: {primad(read_metadata(first) or {}, read_metadata(second) or {})}"]
