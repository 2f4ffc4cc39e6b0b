"""`cranfield plot`: pictures that belong to no other verb."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cranfield import check
from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Argument, Digits, Format, Measures, Quiet, option
from cranfield.cli.plotting import check_plot, save_plot
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
    from cranfield.assessed.lists import Assessed
    from cranfield.report.figures import Figure
    from cranfield.scores.scores import Scores

KINDS = ("boxes", "curves", "diversity", "differences")

USAGE = """\
usage: cranfield plot boxes|curves|diversity|differences QRELS RUN... [-m MEASURE] -o FILE

  cranfield plot boxes qrels.txt runs/*.run -m AP -o boxes.pdf          how scores spread over topics, system by system
  cranfield plot curves qrels.txt runs/*.run -o curves.html             interpolated precision against recall
  cranfield plot curves qrels.txt runs/*.run --topic 301 -o 301.svg     precision against recall on one topic
  cranfield plot curves qrels.txt runs/*.run --roc -o roc.svg           true against false positives
  cranfield plot diversity qrels.div.txt runs/*.run -o diversity.svg    D-nDCG against I-rec, with lines of equal D#
  cranfield plot differences qrels.txt a.run b.run -m AP -o topics.svg  one system against another, topic by topic

without -o the numbers are printed; cranfield plot --help tells all options"""

EXAMPLES = """\
  $ cranfield plot boxes --sample -m AP
  $ cranfield plot boxes qrels.txt runs/*.run -m AP -o boxes.pdf
  $ cranfield plot curves qrels.txt runs/*.run -o curves.html
  $ cranfield plot curves qrels.txt bm25.run dense.run --topic 301 -o topic301.svg
  $ cranfield plot diversity qrels.diversity.txt runs/*.run -m I-rec@10,D-nDCG@10 -o diversity.svg
  $ cranfield plot differences --scores ap.csv -o topics.png
"""


@dataclass(frozen=True)
class Source:
    """Where the scores or lists of a picture come from."""

    qrels: str | None
    runs: list[str] | None
    measures: list[str] | None
    scores: list[str] | None
    sample: bool
    missing: str
    quiet: bool
    joining: Joining

    def read(self, usual: list[str]) -> Scores:
        """Scores by the measures asked for; by the usual ones if none is, or all that a file holds."""
        self.joining.only_one_from_stdin(self.qrels, *(self.runs or []))
        measures = self.measures or (None if self.scores else usual)
        return scores_from(
            self.qrels, self.runs, measures, self.scores,
            sample=self.sample, missing=self.missing, quiet=self.quiet, qrels_format=self.joining.qrels_format,
            **self.joining.options(),
        )  # fmt: skip

    def lists(self) -> Assessed:
        """Every list with the judged documents in it."""
        from cranfield.assessed.join import join
        from cranfield.assessed.join_options import JoinOptions

        if self.scores:
            raise UsageError("curves are drawn from runs, not from scores; give QRELS RUN...")
        if self.measures:
            raise UsageError(f"curves are of precision and recall; leave out -m {self.measures[0]}")
        qrels, runs = collection_from(self.qrels, self.runs, sample=self.sample)
        self.joining.only_one_from_stdin(qrels, *runs)
        with Progress("reading", quiet=self.quiet) as progress:
            return join(self.joining.judgments(qrels), runs, JoinOptions(**self.joining.options()), progress)


def plot_verb(
    kind: Annotated[
        str | None, Argument(metavar="KIND", help="What to draw: boxes, curves, diversity or differences.")
    ] = None,
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    topic: Annotated[
        str | None,
        option("--topic", "-t", metavar="TOPIC", help="curves: of this topic, a point at each relevant document."),
    ] = None,
    roc: Annotated[bool, option("--roc", help="curves: true positive rate against false positive rate.")] = False,
    rel: Annotated[
        float, option("--rel", metavar="GRADE", help="curves: from this grade on a document is relevant.")
    ] = 1.0,
    gamma: Annotated[
        float, option("--gamma", metavar="G", help="diversity: the weight of I-rec in D#, from 0 to 1.")
    ] = 0.5,
    output: Annotated[
        str | None,
        option(
            "--output",
            "-o",
            metavar="FILE",
            help="The picture; its name says how: .html (a page that needs nothing else), .svg, .pdf, .png, .json "
            "(Vega-Lite) or .csv (the numbers). Without it the numbers are printed.",
            group=RESULT,
        ),
    ] = None,
    format: Format = "table",
    digits: Digits = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """Draw box plots of scores, precision-recall and ROC curves, D-nDCG against I-rec, or differences by topic.

    Pictures of comparisons, power and meta-evaluation are drawn by those verbs, with --plot. Needs the extra `plot`:
    pip install 'cranfield[plot]'
    """
    if kind is None:
        print(USAGE, file=sys.stderr)
        return 2
    check.one_of("plot", KINDS, kind=kind)
    check.between("--gamma", low=0, high=1, gamma=gamma)
    if (topic is not None or roc) and kind != "curves":
        raise UsageError(f"{'--roc' if roc else '--topic'} goes with curves, not with {kind}")
    if topic is not None and roc:
        raise UsageError("--topic draws precision against recall; leave it out, or --roc")
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(output)
    source = Source(qrels, runs, measures, scores, sample, missing, quiet, joining)
    figure = _curves(source, topic, roc, rel) if kind == "curves" else _of_scores(source, kind, gamma)
    if output is None:
        emit_table(figure.table(digits), format)
    else:
        save_plot(figure, output)
    return 0


def _curves(source: Source, topic: str | None, roc: bool, rel: float) -> Figure:
    from cranfield.measures import curves
    from cranfield.report.figures import describe_curves, describe_precision_recall

    lists = source.lists()
    if topic is not None:
        found = {run: curves.precision_recall(lists, run, topic, rel=rel) for run in lists.runs}
        return describe_precision_recall(found, topic=topic)
    return describe_curves(curves.roc(lists, rel=rel) if roc else curves.interpolated_precision(lists, rel=rel))


def _of_scores(source: Source, kind: str, gamma: float) -> Figure:
    from cranfield.report.figures import describe_boxes, describe_differences, describe_diversity

    if kind == "diversity":
        return describe_diversity(source.read(["I-rec@10", "D-nDCG@10"]), gamma=gamma)
    found = source.read(["nDCG@10"])
    if len(found.measures) > 1:
        shown = ", ".join(found.measures[:8])
        raise UsageError(f"{kind} are of one measure, there are {len(found.measures)}; say which with -m: {shown}")
    return describe_boxes(found) if kind == "boxes" else describe_differences(found)
