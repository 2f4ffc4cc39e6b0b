"""`cranfield meta correlate`: do measures rank systems alike?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, chosen, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit_table
from cranfield.cli.scores_input import (
    Missing,
    QrelsWord,
    RunWords,
    SampleFlag,
    ScoreFiles,
    collection_from,
    scores_from,
)
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.table import Table
    from cranfield.types import Array

USAGE = """\
usage: cranfield meta correlate QRELS RUN RUN RUN... [-m MEASURES] [--coefficient NAME]

  cranfield meta correlate qrels.txt runs/*.run -m AP,Q,nDCG@10,RR             Kendall's tau of all pairs of measures
  cranfield meta correlate qrels.txt runs/*.run -c tau-b,tau-ap-symmetric      two coefficients in a table
  cranfield meta correlate qrels.txt runs/*.run -m Q,nDCG --gains 10:5:1       the measure against itself, other gains
  cranfield meta correlate --sample                                            a small collection that comes along

cranfield meta correlate --help tells all options"""

EXAMPLES = """\
  $ cranfield meta correlate --sample
  $ cranfield meta correlate qrels.txt runs/*.run -m AP,Q,nDCG@10 --pairs
  $ cranfield meta correlate qrels.txt runs/*.run -m AP,Q,nDCG@10 -c tau-b,tau-ap-symmetric --format latex
  $ cranfield meta correlate --scores scores.csv -c d-rank --plot distances.html
  $ cranfield meta correlate qrels.txt runs/*.run -m P+,O --gains 30:20:10,1:1:1,10:5:1
"""
D_RANK = "d-rank"
MEASURES = "AP,Q,nDCG@10,RR,P@10"


def correlate_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    coefficient: Annotated[
        str,
        option(
            "--coefficient",
            "-c",
            metavar="NAME,...",
            help="tau-a, tau-b, tau-ap (the row is the gold standard), tau-ap-symmetric, tau-ap-b, rbo; several "
            "separated by commas; or d-rank, a distance that knows how scores go together over topics.",
        ),
    ] = "tau-b",
    gains: Annotated[
        str | None,
        option(
            "--gains",
            metavar="W:W:...,...",
            help="Each measure against itself with other gains, the best grade's first: 30:20:10,1:1:1.",
        ),
    ] = None,
    p: Annotated[
        float, option("--persistence", "-p", metavar="P", help="rbo: how likely one looks a rank further.")
    ] = 0.9,
    ties: Annotated[
        str, option("--ties", metavar="RULE", help="rbo: w (ties share a rank), a (mean over orders) or b (corrected).")
    ] = "w",
    level: Annotated[float, option("--level", metavar="L", help="Level of the intervals.")] = 0.95,
    resamples: Annotated[
        int, option("--resamples", "-B", metavar="N", help="Resamples of topics for the intervals; 0: no intervals.")
    ] = 1_000,
    seed: Annotated[int, option("--seed", metavar="N", help="Same seed, same intervals.")] = 0,
    pairs: Annotated[
        bool, option("--pairs", help="A row per pair, with intervals; json, csv and tsv always are.", group=RESULT)
    ] = False,
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """How alike measures rank the runs: rank correlations of all pairs of measures, with intervals over topics.

    A new measure should correlate with those we trust, but not so much that it is not needed.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(plot)
    names = coefficient.replace(",", " ").split()
    from cranfield.check import nearest
    from cranfield.meta.agreement.coefficients import COEFFICIENTS

    for name in names:
        if name not in (*COEFFICIENTS, D_RANK):
            raise nearest(name, [*COEFFICIENTS, D_RANK], "coefficient")
    if D_RANK in names and len(names) > 1:
        raise UsageError(f"-c {coefficient}: d-rank is a distance and has a table of its own; ask for it alone")
    if gains is not None:
        if scores:
            raise UsageError("--gains needs judgments and runs; leave out --scores")
        if len(names) > 1 or D_RANK in names:
            raise UsageError(f"-c {coefficient}: with --gains, one rank correlation at a time")
        from cranfield.assessed.join_options import JoinOptions
        from cranfield.meta.judgments.gain_change import change_gains

        path, files = collection_from(qrels, runs, sample=sample)
        joining.only_one_from_stdin(path, *files)
        with Progress("resampling", quiet=quiet) as progress:
            changed = change_gains(
                joining.judgments(path), files, chosen(measures or ["nDCG,Q"]), gains=gains.replace(",", " ").split(),
                coefficient=names[0], level=level, resamples=resamples, seed=seed, missing=missing,
                options=JoinOptions(**joining.options()), progress=progress,
            )  # fmt: skip
        emit_table(replace(changed.table(), digits=digits), format, output)
        _draw(changed.values, changed.measures, changed.gains, names[0], plot)
        return 0
    found = scores_from(
        qrels, runs, measures, scores, sample=sample, missing=missing, quiet=quiet, usual=MEASURES,
        qrels_format=joining.qrels_format, **joining.options(),
    )  # fmt: skip
    long = pairs or format in ("json", "csv", "tsv")
    with Progress("resampling", quiet=quiet) as progress:
        table: Table
        if names == [D_RANK]:
            from cranfield.meta.agreement.rank_distance import rank_distances

            distances = rank_distances(found, progress=progress)
            table, drawn, labels = distances.table(), distances.values, distances.measures
        else:
            from cranfield.meta.agreement.correlation import correlate

            made = correlate(
                found, coefficients=names, level=level, resamples=resamples, seed=seed, p=p, ties=ties,
                progress=progress,
            )  # fmt: skip
            table = made.pairs() if long else made.table()
            drawn, labels = made.values[0], made.measures
    emit_table(replace(table, digits=digits), format, output)
    _draw(drawn, labels, labels, names[0], plot)
    return 0


def _draw(values: Array, rows: tuple[str, ...], columns: tuple[str, ...], what: str, path: str | None) -> None:
    if path is None:
        return
    from cranfield.report.figures import describe_heat

    save_plot(describe_heat(values, rows, columns, what=what), path)
