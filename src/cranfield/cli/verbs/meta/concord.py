"""`cranfield meta concord`: which of two measures agrees with a simpler one, or with people?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Annotated

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import READING, RESULT, Digits, Format, Measures, Output, Quiet, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit, emit_table, rendered
from cranfield.cli.scores_input import (
    Missing,
    QrelsWord,
    RunWords,
    SampleFlag,
    ScoreFiles,
    scores_from,
    wanted_names,
)
from cranfield.errors import UsageError

USAGE = """\
usage: cranfield meta concord QRELS RUN RUN... -m MEASURES --gold MEASURES

  cranfield meta concord qrels.txt runs/*.run -m Q,nDCG@10,RR --gold P@10      which one goes with P@10?
  cranfield meta concord div.qrels runs/*.run -m D#-nDCG@10,alpha-nDCG@10 --gold I-rec@10,P@10
  cranfield meta concord qrels.txt runs/*.run -m Q,RR --preferences judged.csv which one goes with people?
  cranfield meta concord --sample --gold P@5                                   a small collection that comes along

cranfield meta concord --help tells all options"""

EXAMPLES = """\
  $ cranfield meta concord --sample --gold P@5
  $ cranfield meta concord qrels.txt runs/*.run -m Q,nDCG@10,RR --gold P@10 --pairs --plot concordance.pdf
  $ cranfield meta concord div.qrels runs/*.run -m D#-nDCG@10,ERR-IA@10 --gold I-rec@10,P@10 --format latex
  $ cranfield meta concord --scores scores.csv --preferences judged.csv --measure-ties wrong
"""
MEASURES = "AP,Q,nDCG@10,RR"


def concord_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    gold: Annotated[
        list[str] | None,
        option(
            "--gold",
            "-g",
            metavar="MEASURE,...",
            help="The gold standard: a simple measure that says what is wanted. Several: each alone, and all at once.",
        ),
    ] = None,
    preferences: Annotated[
        str | None,
        option(
            "--preferences",
            metavar="FILE",
            help="Instead of --gold, what people preferred: lines of topic, run A, run B, preferred (A, B, tie or the "
            "run's name), and maybe assessor.",
            group=READING,
        ),
    ] = None,
    measure_ties: Annotated[
        str,
        option(
            "--measure-ties",
            metavar="RULE",
            help="With --preferences, a measure that finds both lists equally good is half right (half), not counted "
            "(leave-out) or wrong.",
        ),
    ] = "half",
    level: Annotated[float, option("--level", metavar="L", help="Level of the intervals (--preferences).")] = 0.95,
    resamples: Annotated[
        int, option("--resamples", "-B", metavar="N", help="Resamples of topics (--preferences); 0: no intervals.")
    ] = 1_000,
    seed: Annotated[int, option("--seed", metavar="N", help="Same seed, same intervals.")] = 0,
    pairs: Annotated[
        bool, option("--pairs", help="A row per pair, with wins and p; json, csv and tsv always are.", group=RESULT)
    ] = False,
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """Of two measures that disagree on which of two lists is better, which one goes with the gold standard?

    Or, with --preferences, how often does each measure prefer the list that people preferred? --plot draws either; of
    several gold standards, all at once.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(plot)
    if (gold is None) == (preferences is None):
        raise UsageError("say what to agree with: either --gold MEASURE, such as P@10, or --preferences FILE")
    asked = measures if measures or scores else [MEASURES]
    found = scores_from(
        qrels, runs, [*asked, *(gold or [])] if asked else None, scores, sample=sample, missing=missing, quiet=quiet,
        qrels_format=joining.qrels_format, **joining.options(),
    )  # fmt: skip
    if preferences is not None:
        from cranfield.meta.agreement.preferences import predictive_power

        power = predictive_power(found, preferences, ties=measure_ties, level=level, resamples=resamples, seed=seed)
        emit_table(replace(power.table(), digits=digits), format, output)
        if plot is not None:
            from cranfield.report.figures import describe_agreement

            save_plot(describe_agreement(power, level=level), plot)
        return 0
    from cranfield.meta.agreement.concordance import concord

    with Progress("counting", quiet=quiet) as progress:
        made = concord(found, wanted_names(gold), wanted_names(measures) if measures else None, progress=progress)
    if pairs or format in ("json", "csv", "tsv"):
        emit_table(replace(made.pairs(), digits=digits), format, output)
    else:
        tables = [replace(made.table(one), digits=digits) for one in made.golds]
        tables[:-1] = [replace(one, notes=()) for one in tables[:-1]]
        emit("\n\n".join(rendered(one, format, output) for one in tables), output, format=format)
    if plot is not None:
        from cranfield.report.figures import describe_concordance

        save_plot(describe_concordance(made), plot)
    return 0
