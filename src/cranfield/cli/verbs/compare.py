"""`cranfield compare`: which systems differ, by how much, and how sure can one be?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit, rendered
from cranfield.cli.scores_input import Missing, QrelsWord, RunWords, SampleFlag, ScoreFiles, scores_by_file, scores_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.comparison.result import Comparison
    from cranfield.report.figures import Figure
    from cranfield.scores.scores import Scores
    from cranfield.table import Table

USAGE = """\
usage: cranfield compare QRELS RUN RUN... [-m MEASURE] [--test TEST] [--baseline RUN]

  cranfield compare qrels.txt runs/*.run -m nDCG@10                     all pairs: paired t tests, Holm's correction
  cranfield compare qrels.txt runs/*.run --baseline bm25                every run against one
  cranfield compare qrels.txt runs/*.run --test randomised-tukey        all pairs at once
  cranfield compare --sample                                            try it: a small collection that comes along

cranfield compare --help tells all options"""

EXAMPLES = """\
  $ cranfield compare --sample
  $ cranfield compare qrels.txt runs/*.run -m nDCG@10 --test randomised-tukey
  $ cranfield compare qrels.txt runs/*.run -m nDCG@10,AP --baseline bm25 --format latex
  $ cranfield compare --scores matrix.csv --test wilcoxon --correction bh
  $ cranfield compare qrels.txt bm25.run dense.run -m AP --topics
"""


def compare_verb(
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
            help="t, wilcoxon, sign, randomisation, bootstrap (pair by pair); tukey, randomised-tukey, scheffe, "
            "friedman, kruskal-wallis (all systems at once). Described in docs/tests.md.",
        ),
    ] = "t",
    baseline: Annotated[
        str | None,
        option("--baseline", "-b", metavar="RUN", help="Compare every other run with this one; default: all pairs."),
    ] = None,
    correction: Annotated[
        str | None,
        option(
            "--correction",
            metavar="NAME",
            help="holm, bonferroni, bh (Benjamini-Hochberg) or none; default: holm, and none for tests of all systems "
            "at once.",
        ),
    ] = None,
    alpha: Annotated[
        float, option("--alpha", metavar="A", help="Significance level; intervals are at level 1 - A.")
    ] = 0.05,
    alternative: Annotated[
        str,
        option(
            "--alternative", metavar="SIDE", help="two-sided, or greater or less than the baseline (or the second run)."
        ),
    ] = "two-sided",
    effect: Annotated[
        str, option("--effect", metavar="NAME", help="Effect size: d_z, d_av, hedges, glass or cliff.")
    ] = "d_z",
    systems: Annotated[
        str | None,
        option(
            "--systems",
            metavar="FILE",
            help="Runs that are one system, such as seeds of a model: lines of run and system. They are averaged topic "
            "by topic.",
        ),
    ] = None,
    collections: Annotated[
        bool,
        option(
            "--collections",
            help="Each file of --scores is a collection of its own: compared within each, corrected over all.",
        ),
    ] = False,
    nan: Annotated[
        str,
        option(
            "--nan",
            metavar="RULE",
            help="A topic on which some run has no value is left out: listwise (of everything) or pairwise (of the "
            "pairs that lack it).",
        ),
    ] = "listwise",
    resamples: Annotated[
        int, option("--resamples", "-B", metavar="N", help="How many resamples, for tests that draw them.")
    ] = 10_000,
    seed: Annotated[int, option("--seed", metavar="N", help="Same seed, same p, at any number of threads.")] = 0,
    pairs: Annotated[bool, option("--pairs", help="Show every pair, however many there are.", group=RESULT)] = False,
    topics: Annotated[
        bool,
        option(
            "--topics",
            "-q",
            help="Which topics decide: of two runs, or of the best run and the baseline (or the second).",
            group=RESULT,
        ),
    ] = False,
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
    threads: Annotated[
        int | None, option("--threads", metavar="N", help="Threads; the answer is the same at any number.")
    ] = None,
) -> int:
    """Compare runs: differences with intervals, p-values corrected for how many were made, effect sizes, groups.

    Test, correction, level, number of topics and whatever puts the result in doubt are told below the table. Data
    formats (csv, tsv) hold a row per pair; json holds everything; latex is a paper's table. Ctrl-C during long
    resampling gives the answer from the resamples that are done.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    from cranfield.comparison.corrections import find_correction
    from cranfield.comparison.registry import find_test
    from cranfield.comparison.resampling import check_resampling
    from cranfield.comparison.test_result import check_alpha

    check_alpha("--alpha", alpha)  # before any work is done, as are these
    check_resampling("compare", resamples, seed, threads)
    find_test(test)
    find_correction(correction or "none")
    check_plot(plot)
    joining.only_one_from_stdin(qrels, *(runs or []), *(scores or []), systems)
    from cranfield.collection.run_table import read_run_table
    from cranfield.comparison.compare import compare

    one_system = read_run_table(systems, "system") if systems else None
    found: Scores | dict[str, Scores]
    if collections:
        found = scores_by_file(
            "--collections: every file of --scores is one",
            scores or [],
            measures,
            qrels,
            sample=sample,
            missing=missing,
        )
    else:
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
    with Progress("resampling", quiet=quiet) as progress:
        result = compare(
            found,
            test=test,
            baseline=baseline,
            correction=correction,
            alpha=alpha,
            alternative=alternative,
            effect=effect,
            systems=one_system,
            nan=nan,
            resamples=resamples,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    if plot is not None and len(result.families) > 1:
        raise UsageError(f"--plot draws one measure, there are {len(result.families)}; say which with -m")
    emit(_text(result, format, pairs, topics, digits, output), output, format=format)
    if plot is not None:
        save_plot(_figure(result, topics), plot)
    return 0


def _text(result: Comparison, format: str, pairs: bool, topics: bool, digits: int | None, output: str | None) -> str:
    from cranfield.comparison.result import FEW_PAIRS

    if topics:
        return rendered(replace(_deciding(result), digits=digits), format, output)
    if format == "json":
        return result.to_json()
    if format == "latex":
        return result.to_latex()
    if format in ("csv", "tsv"):
        return _delimited(result, format, digits)
    ranking, table = replace(result.ranking(), digits=digits), replace(result.pairs(), digits=digits)
    if pairs or result.comparisons <= FEW_PAIRS:
        return rendered(replace(ranking, notes=()), format, output) + "\n\n" + rendered(table, format, output)
    return rendered(ranking, format, output)


def _deciding(result: Comparison) -> Table:
    """The topics of the pair that a reader most likely means."""
    if len(result.families) > 1:
        raise UsageError(f"--topics is for one measure, there are {len(result.families)}; say which with -m")
    return result.topics(*_likely(result))


def _likely(result: Comparison) -> tuple[str, str]:
    """The best system, and the baseline or the second."""
    family = result.families[0]
    names = [family.matrix.systems[column] for column in family.ranking.tolist()]
    best = next(name for name in names if name != result.baseline)
    return best, result.baseline or next(name for name in names if name != best)


def _figure(result: Comparison, topics: bool) -> Figure:
    """Means with intervals, or the differences topic by topic."""
    from cranfield.report.figures import describe_differences, describe_intervals

    if topics:
        return describe_differences(result.families[0].matrix, _likely(result))
    return describe_intervals(result)


def _delimited(result: Comparison, format: str, digits: int | None) -> str:
    """A row per pair with all its columns; undefined is empty."""
    from cranfield.collection.writing import to_delimited

    columns: dict[str, list[object]] = {}
    for name, column in result.columns().items():
        if column.dtype.kind == "f":
            values = column if digits is None else column.round(digits)
            columns[name] = [None if x != x else x for x in values.tolist()]
        else:
            columns[name] = column.tolist()
    return to_delimited(columns, "\t" if format == "tsv" else ",")
