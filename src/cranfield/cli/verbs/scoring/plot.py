"""`cranfield plot`: figures of scores, of curves and of diversity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, flag, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.options.option_values import measure_names
from cranfield.cli.printing import FIGURES, Printing, Sized, check_plot
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.report.figures import Figure

KINDS = ("boxes", "curves", "diversity", "differences", "first", "progress")


class PlotVerb(ByClass, options.Source, Sized, Printing):
    """Draw box plots of scores, precision-recall and ROC curves, D-nDCG against I-rec, or differences by topic.

    The figures of comparisons, power and meta-evaluation are drawn by those verbs with --plot. Figures need the extra
    `plot`: pip install '.[plot]' in a clone
    """

    figure_field = "output"
    output_is_result = False
    summary = "draw box plots, curves, diversity or differences by topic"
    examples = """
cranfield plot boxes qrels.txt runs/*.run -m AP -o boxes.pdf  # scores over topics, by system
cranfield plot curves qrels.txt runs/*.run -o curves.html  # interpolated precision against recall
cranfield plot curves qrels.txt bm25.run dense.run --topic 301 -o topic301.svg
cranfield plot curves qrels.txt bm25.run --topic 301 --saw-tooth -o topic301.svg
cranfield plot diversity qrels.diversity.txt runs/*.run -m I-rec@10,D-nDCG@10 -o diversity.svg
cranfield plot differences --scores ap.csv -o topics.png  # one system against another, by topic
cranfield plot first -m 'O(beta=0)' -m 'O(beta=1)' -m 'O(beta=10)' -o ratio.svg  # by the first relevant document
cranfield plot progress published.csv -o progress.svg  # lines of year, system, score: do improvements add up?
cranfield plot boxes --sample -m AP --figure-width 1 --no-title -o boxes.pdf  # for a column of a paper
"""

    kind: str | None = argument("KIND", "What to draw: {names}.", choices=KINDS)
    topic: str | None = option("--topic TOPIC", "curves: only this topic, with a point at each relevant document.")
    relevant: int | None = option(
        "--relevant R", "first: the number of relevant documents of the topic, of which a list has one; default: 5."
    )
    roc: bool = flag("--roc", "curves: true positive rate against false positive rate.")
    saw_tooth: bool = flag(
        "--saw-tooth", "curves, with --topic: a point at each rank, and the interpolated precision at 11 points."
    )
    rel: float = options.rel()
    gamma: float = option("--gamma G", "diversity: the weight of I-rec in D#, from 0 to 1.", default=0.5)
    output: str | None = option(
        "--output, -o FILE",
        "Draw the figure to a file that ends in {names}; default: print the numbers.",
        group=RESULT,
        names=FIGURES,
    )

    def given(self) -> bool:
        return self.kind is not None

    def check(self) -> None:
        super().check()
        check.between("", low=0, high=1, **{"--gamma": self.gamma})
        if (self.topic is not None or self.roc) and self.kind != "curves":
            raise UsageError(f"{'--roc' if self.roc else '--topic'} goes with curves, not with {self.kind}")
        if self.topic is not None and self.roc:
            raise UsageError("--topic draws precision against recall; leave it out, or --roc")
        if self.saw_tooth and self.topic is None:
            raise UsageError("--saw-tooth shows one list of each run; give --topic")
        if self.relevant is not None and self.kind != "first":
            raise UsageError(f"--relevant goes with first, not with {self.kind}")
        if self.kind == "first" and (self.qrels is not None or self.sample or self.scores):
            raise UsageError("first draws measures, not runs; give only -m, and leave out judgments, runs and scores")
        if self.kind == "curves" and self.scores:
            raise UsageError("curves are drawn from runs, not from scores; give QRELS RUN...")
        if self.kind == "curves" and self.measures:
            raise UsageError(f"curves show precision and recall; leave out -m {self.measures[0]}")
        check_plot(self.output)

    def _progress(self) -> Figure:
        from cranfield.comparison.yearly_best import yearly_best
        from cranfield.report.figures import describe_progress

        if self.qrels is None or self.runs or self.measures:
            raise UsageError("progress draws one table of published scores: lines of year, system, score")
        return describe_progress(yearly_best(self.qrels))

    def run(self) -> None:
        draw = {"curves": self._curves, "first": self._first, "progress": self._progress}.get(
            self.kind or "", self._scores
        )
        figure = draw()
        if self.output is not None:
            figure.styled(**self.style()).save(self.output)
        else:
            self.emit(self.rendered(figure.table(self.digits)))

    def _first(self) -> Figure:
        from cranfield.evaluation.evaluator import as_measures
        from cranfield.report.figures import describe_first_rank

        if not self.measures:
            raise UsageError("first draws measures; give one or more with -m, such as -m 'O(beta=1)'")
        return describe_first_rank(as_measures(measure_names(self.measures)), relevant=self.relevant or 5)

    def _curves(self) -> Figure:
        from cranfield.measures.ranked_lists import curves
        from cranfield.report.figures import describe_curves, describe_precision_recall, describe_saw_tooth

        lists = self.assessed()
        if self.topic is not None and self.saw_tooth:
            every = {run: curves.saw_tooth(lists, run, self.topic, rel=self.rel) for run in lists.runs}
            eleven = curves.interpolated_precision(lists, rel=self.rel)
            return describe_saw_tooth(every, eleven.of_topic(self.topic), topic=self.topic)
        if self.topic is not None:
            by_run = {run: curves.precision_recall(lists, run, self.topic, rel=self.rel) for run in lists.runs}
            return describe_precision_recall(by_run, topic=self.topic)
        draw = curves.roc if self.roc else curves.interpolated_precision
        return describe_curves(draw(lists, rel=self.rel))

    def _scores(self) -> Figure:
        from cranfield.report.figures import describe_boxes, describe_differences, describe_diversity

        if self.kind == "diversity":
            return describe_diversity(self.read_scores("I-rec@10,D-nDCG@10"), gamma=self.gamma)
        scores = self.read_scores()
        if len(scores.measures) > 1:
            shown = ", ".join(scores.measures[:8])
            raise UsageError(
                f"{self.kind} show one measure, but there are {len(scores.measures)}; choose one with -m: {shown}"
            )
        return describe_boxes(scores) if self.kind == "boxes" else describe_differences(scores)
