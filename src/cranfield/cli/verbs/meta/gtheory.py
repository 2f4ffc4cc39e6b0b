"""`cranfield meta gtheory`: how far do scores generalise to other topics?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import READING, RESULT, Digits, Format, Measures, Output, Quiet, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, rendered
from cranfield.cli.scores_input import Missing, QrelsWord, RunWords, SampleFlag, ScoreFiles, scores_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.meta.stability.generalisability import GStudies
    from cranfield.table import Table

USAGE = """\
usage: cranfield meta gtheory QRELS RUN RUN RUN... [-m MEASURE] [--target T] [--topics N,N,...]

  cranfield meta gtheory qrels.txt runs/*.run -m AP,P@10       which measure ranks systems more reliably?
  cranfield meta gtheory qrels.txt runs/*.run --topics 50,100  how reliable would more topics be?
  cranfield meta gtheory --sample                              try it: a small collection that comes along

cranfield meta gtheory --help tells all options"""

EXAMPLES = """\
  $ cranfield meta gtheory --sample -m AP,nDCG@10
  $ cranfield meta gtheory qrels.txt runs/*.run -m AP --topics 25,50,100,200
  $ cranfield meta gtheory --scores ap.csv --drop 0.25 --target 0.9
  $ cranfield meta gtheory --scores shard1.csv --scores shard2.csv --facet shard
"""


def gtheory_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    topics: Annotated[
        str | None,
        option("--topics", "-n", metavar="N,N,...", help="Both coefficients for these numbers of topics."),
    ] = None,
    target: Annotated[
        float, option("--target", metavar="T", help="The coefficient for which topics are counted.")
    ] = 0.95,
    drop: Annotated[
        float,
        option(
            "--drop",
            metavar="SHARE",
            help="Leave out this share of the runs, the worst ones: nobody would compare them.",
        ),
    ] = 0.0,
    level: Annotated[float, option("--level", metavar="L", help="The level of intervals.")] = 0.95,
    facet: Annotated[
        str | None,
        option(
            "--facet",
            metavar="NAME",
            help="Each file of scores is a level of a further facet, such as shard or assessor.",
            group=READING,
        ),
    ] = None,
    components: Annotated[
        bool,
        option("--components", help="The variance components with degrees of freedom and mean squares.", group=RESULT),
    ] = False,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    plot: Plot = None,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """Tell what systems, topics and both together add to the variance of scores, and how reliable an evaluation is.

    Eρ² is how well differences between systems generalise to other topics, Φ how well scores do; both are 1 at best.
    The picture (--plot) shows the shares of variance.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(plot)
    numbers = _numbers(topics)
    from cranfield.meta.stability.generalisability import GStudies, g_studies, g_study

    if facet is not None:
        levels = _levels(qrels, scores, measures, missing, sample)
        names = [name for name in next(iter(levels.values())).measures if all(name in one for one in levels.values())]
        if not names:
            raise UsageError(f"no measure is in all {len(levels)} files of scores; name the one to read: -m")
        made = GStudies(tuple(g_study(levels, name, facet=facet, drop=drop, level=level) for name in names), target)
    else:
        joining.only_one_from_stdin(qrels, *(runs or []))
        found = scores_from(
            qrels, runs, measures, scores,
            sample=sample, missing=missing, quiet=quiet, qrels_format=joining.qrels_format, **joining.options(),
        )  # fmt: skip
        made = g_studies(found, drop=drop, level=level, target=target)
    texts = [rendered(replace(table, digits=digits), format, output) for table in _tables(made, numbers, components)]
    emit("\n\n".join(texts), output, format=format)
    if plot:
        from cranfield.report.figures import describe_components

        save_plot(describe_components(made.columns(), component="source"), plot)
    return 0


def _levels(
    qrels: str | None, scores: Sequence[str] | None, measures: Sequence[str] | None, missing: str, sample: bool
) -> dict[str, Any]:
    if qrels is not None or sample or not scores or len(scores) < 2:
        raise UsageError("--facet takes a file of scores for each level: --scores FILE two times or more")
    return {path: scores_from(None, None, measures, [path], missing=missing) for path in scores}


def _tables(made: GStudies, numbers: list[int], components: bool) -> list[Table]:
    from cranfield.table import Column, Table

    if not numbers and not components:
        return [made.table()]
    if components:
        columns = made.columns()
        kinds = {"measure": "text", "source": "text", "df": "count"}
        heads = tuple(Column(name.replace("_", " "), kinds.get(name, "number")) for name in columns)
        rows = tuple(zip(*(column.tolist() for column in columns.values()), strict=True))
        return [Table(heads, rows, notes=made.table().notes)]
    first = made.studies[0].d_study(numbers)
    rows = tuple((study.measure, *row) for study in made for row in study.d_study(numbers).rows)
    return [Table((Column("measure"), *first.columns), rows, notes=first.notes)]


def _numbers(text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = [0]
    if min(found) < 1:
        raise UsageError(f"--topics {text}: expected whole numbers from 1 on, separated by commas")
    return found
