"""`cranfield meta reproduce`: whether a run replicates another, or reproduces it on another collection."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.options.by_class import Experiment, SplitByClass
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.reproduction.reproduction import Reproduction
    from cranfield.report.figures import Figure


class ReproduceVerb(SplitByClass, Plotting, of="meta.reproduction.reproduction:reproduce"):
    """Show how well a repeated run reproduces the original: lists, scores, effects (Breuer et al., SIGIR 2020).

    On the same collection, lists are compared by Kendall's tau union and rank-biased overlap, scores by RMSE and a
    paired t test, the effect of an advanced run by the effect ratio (ER) and the difference of relative improvements
    (dRI). On another collection, only effects and an unpaired t test apply. If both runs begin with ir_metadata, the
    changes it records are printed below the table. --plot draws the effect, ER against dRI; without an advanced run,
    how alike the lists are, topics in ascending order.
    """

    summary = "whether a run reproduces another"
    examples = """
cranfield meta reproduce qrels.txt original.run again.run
cranfield meta reproduce qrels.txt bm25.run again.run --advanced rm3.run --advanced-again rm3-2.run --plot er.pdf
cranfield meta reproduce old.qrels bm25.run new.run --other-qrels new.qrels --format json
cranfield meta reproduce --scores all.csv bm25 bm25-again  # from saved scores, by the names of runs
cranfield meta reproduce qrels.txt bm25.run again.run --per-topic
cranfield meta reproduce qrels.txt bm25.run again.run --by classes.txt  # for each class of topics
"""

    words: list[str] | None = argument(
        "QRELS ORIGINAL AGAIN", "Judgments and two runs; with --scores the names of two runs.", reads=True
    )
    measures: list[str] | None = options.measures()
    advanced: str | None = option("--advanced RUN", "The run that was to improve on the original one.", reads=True)
    advanced_again: str | None = option("--advanced-again RUN", "The advanced run, repeated.", reads=True)
    other_qrels: str | None = option(
        "--other-qrels FILE", "Judgments for the repeated runs, on another collection.", reads=True
    )
    scores: list[str] | None = options.scores()
    other_scores: list[str] | None = option(
        "--other-scores FILE", "With --scores: the repeated runs, on another collection.", reads=True
    )
    per_topic: bool = options.per_topic("Print how alike the lists are for each topic.")
    missing: str = options.missing()
    order: str | None = options.order()
    ties: str = options.ties()

    def given(self) -> bool:
        return bool(self.words or self.scores)

    def check(self) -> None:
        super().check()
        if (self.advanced is None) != (self.advanced_again is None):
            raise UsageError("--advanced and --advanced-again go together: the advanced run and its repetition")
        if self.scores and self.other_qrels:
            raise UsageError("--other-qrels goes with runs; for scores use --other-scores")
        if self.other_scores and not self.scores:
            raise UsageError("--other-scores goes with --scores; for runs use --other-qrels")
        count = len(self.words or [])
        if self.scores and count != 2:
            raise UsageError(f"{count} names, but --scores needs two: the original run and its repetition")
        if not self.scores and count != 3:
            raise UsageError(f"{count} files, expected three: judgments, the original run and its repetition")

    def run(self) -> None:
        from cranfield.meta.reproduction.reproduction import reproduce, reproduce_scores

        both = None if self.advanced is None or self.advanced_again is None else (self.advanced, self.advanced_again)
        *qrels, first, second = self.words or []
        if self.scores:
            files, others = self.scores, self.other_scores
            original = self.part(lambda: options.read_score_files(files, self.measures))
            again = self.part(lambda: options.read_score_files(others, self.measures)) if others else original
            result = reproduce_scores(original, again, (first, second), both, same_collection=not self.other_scores)
        else:
            files_of = [(first, second), *([both] if both else [])]
            other = self.other_qrels
            if other is None:
                before = after = self.part(lambda: experiment(qrels[0], [*itertools.chain(*files_of)]))
            else:
                before = self.part(lambda: experiment(qrels[0], [original for original, _ in files_of]))
                after = self.part(lambda: experiment(other, [again for _, again in files_of]))
            pairs = [(before.runs[original], after.runs[again]) for original, again in files_of]
            result = reproduce(
                before.qrels,
                pairs[0],
                pairs[1] if both else None,
                chosen(self.measures or [options.USUAL]),
                **self.settings(),
                **self.values("missing", "order", "ties"),
                other_qrels=None if other is None else after.qrels,
            )
            result = replace(result, notes=(*result.notes, *changes(first, second)))
        drawn = figure(result) if self.plot else None
        self.show(result.topics() if self.per_topic else result.table())
        if drawn is not None:
            self.save_figure(drawn)


def experiment(qrels: str, runs: list[str]) -> Experiment:
    """Judgments, and runs by the names of their files."""
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import Run

    return Experiment(Qrels.of(qrels), {file: Run.of(file) for file in runs})


def figure(result: Reproduction) -> Figure:
    """The figure of the result; the error says which options are missing."""
    from cranfield.report.figures.result_figures import reproduction_figure

    if "advanced" not in result.runs and not result.orders:
        raise UsageError("--plot: scores of a baseline alone have no figure; give --advanced and --advanced-again too")
    return reproduction_figure(result)


def changes(first: str, second: str) -> list[str]:
    """The changes from one run to the other that their metadata record."""
    from cranfield.meta.reproduction.metadata import has_metadata, primad, read_metadata

    if "-" in (first, second) or not (has_metadata(first) and has_metadata(second)):
        return []
    return [f"ir_metadata: {primad(read_metadata(first) or {}, read_metadata(second) or {})}"]
