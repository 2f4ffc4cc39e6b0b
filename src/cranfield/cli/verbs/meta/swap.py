"""`cranfield meta swap`: how often would another topic set turn a difference round?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from cranfield import check
from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit_table
from cranfield.cli.scores_input import Missing, QrelsWord, RunWords, SampleFlag, ScoreFiles, scores_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.stability.swap import SwapRates

USAGE = """\
usage: cranfield meta swap QRELS RUN RUN RUN... [-m MEASURE] [--rate R]

  cranfield meta swap qrels.txt runs/*.run -m AP,Q,RR                     topic sets drawn with replacement
  cranfield meta swap qrels.txt runs/*.run -m AP,Q,RR --disjoint          the original: two halves of the topics
  cranfield meta swap --sample                                            try it: a small collection that comes along

cranfield meta swap --help tells all options"""

EXAMPLES = """\
  $ cranfield meta swap --sample -m AP,nDCG,RR
  $ cranfield meta swap qrels.txt runs/*.run -m AP,Q,P+,NWRR,RR --plot swap.pdf
  $ cranfield meta swap qrels.txt runs/*.run -m AP --disjoint --sizes 5,10,15,20,25
  $ cranfield meta swap --scores scores.csv --show curves -f csv -o curves.csv
"""
SHOWN = ("measures", "curves")
DATA_FORMATS = ("json", "csv", "tsv")


def swap_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    rate: Annotated[float, option("--rate", metavar="R", help="The swap rate that must not be exceeded.")] = 0.05,
    disjoint: Annotated[
        bool,
        option(
            "--disjoint",
            help="Two sets without a topic in common, at most half of the topics each (Voorhees and Buckley's method); "
            "default: both drawn from all topics, with replacement.",
        ),
    ] = False,
    sizes: Annotated[
        str | None,
        option("--sizes", metavar="N,N,...", help="How many topics each set has; default: as many as there can be."),
    ] = None,
    bins: Annotated[int, option("--bins", metavar="N", help="How many bins of differences.")] = 21,
    width: Annotated[float, option("--width", metavar="W", help="How wide a bin is.")] = 0.01,
    resamples: Annotated[int, option("--resamples", "-B", metavar="N", help="How many pairs of topic sets.")] = 1_000,
    seed: Annotated[int, option("--seed", metavar="N", help="Same seed, same topic sets.")] = 0,
    show: Annotated[
        str,
        option(
            "--show",
            metavar="WHAT",
            help="measures (the difference required, and how many comparisons reach it) or curves (a row per bin).",
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
    """The swap method: do two sets of topics agree on which of two runs is better?

    Tells for each measure the difference between two runs from which on at most 5% of the comparisons are turned round
    by a second set of topics, and the share of comparisons that reach it, which is the measure's discriminative power.
    --plot draws swap rates against differences.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check.one_of("--show", SHOWN, show=show)
    check_plot(plot)
    wanted = _sizes(sizes)
    found = scores_from(
        qrels,
        runs,
        measures,
        scores,
        sample=sample,
        missing=missing,
        quiet=quiet,
        qrels_format=joining.qrels_format,
        **joining.options(),
    )
    from cranfield.meta.stability.swap import swap_rates

    with Progress("drawing topics", quiet=quiet) as progress:
        result = swap_rates(
            found,
            replacement=not disjoint,
            sizes=wanted,
            resamples=resamples,
            seed=seed,
            bins=bins,
            width=width,
            rate=rate,
            progress=progress,
        )
    if show == "curves":
        table = result.curves()
    else:
        table = result.data() if format in DATA_FORMATS else result.table(digits)
    emit_table(replace(table, digits=digits), format, output)
    if plot is not None:
        _draw(result, plot)
    return 0


def _sizes(text: str | None) -> list[int] | None:
    """Numbers of topics, separated by commas."""
    if text is None:
        return None
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise UsageError(f"--sizes == {text!r}, must be whole numbers separated by commas, such as 10,25") from None


def _draw(result: SwapRates, path: str) -> None:
    """A line per measure; with several sizes, a line per measure and size."""
    from cranfield.report.figures import describe_swap_rates

    columns = result.columns()
    if len(result.sizes) > 1:
        pairs = zip(columns["measure"].tolist(), columns["size"].tolist(), strict=True)
        columns["measure"] = np.array([f"{measure}, {size} topics" for measure, size in pairs], dtype=object)
    save_plot(describe_swap_rates(columns, wanted=result.rate, subtitle=result.told()[0]), path)
