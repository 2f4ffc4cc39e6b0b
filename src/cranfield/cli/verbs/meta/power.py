"""`cranfield meta power`: how many pairs of systems does each measure tell apart?"""

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
    from cranfield.meta.stability.discrimination import DiscriminativePower
    from cranfield.table import Table

USAGE = """\
usage: cranfield meta power QRELS RUN RUN RUN... [-m MEASURE] [--test TEST]

  cranfield meta power qrels.txt runs/*.run -m AP,Q,RR                          paired bootstrap, all pairs of runs
  cranfield meta power qrels.txt runs/*.run -m AP,Q,RR --test randomised-tukey  all pairs at once
  cranfield meta power qrels.txt runs/*.run -m AP,Q,RR --show overlap           which pairs do measures have in common?
  cranfield meta power --sample                                                 try it on a small collection

cranfield meta power --help tells all options"""

EXAMPLES = """\
  $ cranfield meta power --sample -m AP,nDCG,RR
  $ cranfield meta power qrels.txt runs/*.run -m AP,Q,P+,NWRR,RR --plot asl.pdf
  $ cranfield meta power qrels.txt runs/*.run -m AP,Q,RR --test randomised-tukey --show overlap -f latex
  $ cranfield meta power --scores scores.csv --test wilcoxon --show pairs -f csv -o pairs.csv
"""
SHOWN = ("power", "overlap", "asl", "pairs")
DATA_FORMATS = ("json", "csv", "tsv")


def power_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    test: Annotated[
        str,
        option(
            "--test",
            "-t",
            metavar="TEST",
            help="bootstrap, randomisation, t, wilcoxon, sign (pair by pair); randomised-tukey, tukey, friedman, ... "
            "(all systems at once). Described in docs/tests.md.",
        ),
    ] = "bootstrap",
    alpha: Annotated[float, option("--alpha", metavar="A", help="Significance level.")] = 0.05,
    resamples: Annotated[
        int, option("--resamples", "-B", metavar="N", help="How many resamples, for tests that draw them.")
    ] = 1_000,
    seed: Annotated[int, option("--seed", metavar="N", help="Same seed, same p, at any number of threads.")] = 0,
    asl: Annotated[
        str,
        option(
            "--asl",
            metavar="RULE",
            help="plus-one: p = (1 + hits) / (1 + B), significant if at most A; share: hits / B, significant if below "
            "A, as Sakai's papers have it.",
        ),
    ] = "plus-one",
    show: Annotated[
        str,
        option(
            "--show",
            metavar="WHAT",
            help="power (a row per measure), overlap (pairs that measures have in common), asl (p-values in ascending "
            "order) or pairs (a row per measure and pair).",
            group=RESULT,
        ),
    ] = "power",
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    threads: Annotated[
        int | None, option("--threads", metavar="N", help="Threads; the answer is the same at any number.")
    ] = None,
    joining: Joining = AS_USUAL,
) -> int:
    """Discriminative power: the share of pairs of runs that a measure finds significantly different.

    Also the difference between two means that a significant result needs. A measure of high discriminative power is
    consistent over topics, which does not make it the right one. --plot draws the p-values in ascending order (ASL
    curves): the closer to the origin, the more a measure discriminates.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check.one_of("--show", SHOWN, show=show)
    check_plot(plot)
    from cranfield.comparison.registry import find_test
    from cranfield.comparison.test_result import check_alpha

    check_alpha("--alpha", alpha)  # before any work is done, as is this
    find_test(test)
    found = scores_from(
        qrels,
        runs,
        measures,
        scores,
        sample=sample,
        missing=missing,
        quiet=quiet,
        qrels_format=joining.qrels_format,
        threads=threads,
        **joining.options(),
    )
    from cranfield.meta.stability.discrimination import discriminative_power

    with Progress("resampling", quiet=quiet) as progress:
        result = discriminative_power(
            found,
            test=test,
            alpha=alpha,
            resamples=resamples,
            seed=seed,
            asl=asl,
            threads=threads,
            progress=progress,
        )
    emit_table(replace(_table(result, show, format, digits), digits=digits), format, output)
    if plot is not None:
        _draw(result, plot)
    return 0


def _table(result: DiscriminativePower, show: str, format: str, digits: int | None) -> Table:
    if show == "power":
        return result.data() if format in DATA_FORMATS else result.table(digits)
    if show == "overlap":
        if len(result.measures) < 2:
            raise UsageError("--show overlap compares measures; give two or more with -m")
        return result.overlap_data() if format in DATA_FORMATS else result.overlap()
    return result.asl_table() if show == "asl" else result.pair_table()


def _draw(result: DiscriminativePower, path: str) -> None:
    from cranfield.report.figures import describe_asl

    told = {name: result.p_of(name) for name in result.measures}
    # That rule is p < α: a p-value that is α must not be counted as below it.
    limit = result.alpha if result.asl_rule == "plus-one" else float(np.nextafter(result.alpha, 0))
    save_plot(describe_asl(told, alpha=limit, test=f"{result.test} test"), path)
