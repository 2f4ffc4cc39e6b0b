"""`--top N` and `--gains`: which runs measures are compared on, and measures with other gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.options.option_values import chosen
from cranfield.cli.options.source_options import USUAL, Source
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.collection.qrels import Qrels
    from cranfield.scores.scores import Scores


class TopRuns(ByClass):
    """Only the best runs: those near zero say little about measures."""

    top: int | None = option("--top N", "Use only the N runs with the best mean AP, or --top-by MEASURE.")
    top_by: str = option("--top-by MEASURE", "--top: the measure that chooses the runs.", default="AP", group=MORE)

    def check(self) -> None:
        super().check()
        if self.top is not None and self.top < 2:
            raise UsageError(f"--top {self.top}: must be 2 or more")
        if self.top is not None and getattr(self, "scores", None) and not isinstance(self, Compared):
            raise UsageError("--top chooses among runs, and --scores has none here; leave out one of them")
        if self.top is None and self.top_by != "AP":
            raise UsageError(f"--top-by {self.top_by} chooses the runs of --top; add --top N")
        if self.top is not None and len(chosen([self.top_by])) != 1:
            raise UsageError(f"--top-by {self.top_by}: give one measure")

    def read_whole(self) -> tuple[Qrels, Any]:
        """The judgments, and the runs: files, or with `--top` the best of them by name."""
        qrels, files = super().read_whole()
        if self.top is None:
            return qrels, files
        from cranfield.evaluation.evaluator import evaluate
        from cranfield.scores.best_runs import best_runs

        runs = self.read_runs(files)
        scores = evaluate(qrels, runs, chosen([self.top_by]), **self.join_options())
        return qrels, {name: runs[name] for name in best_runs(scores, self.top)}


class Compared(TopRuns, Source):
    """What is read, the best runs of it, and measures with other gains."""

    other_gains: str | None = option(
        "--gains W:W:...,...",
        "Also use each measure with other gains, highest grade first: 30:20:10,1:1:1.",
    )

    def check(self) -> None:
        super().check()
        if self.other_gains is not None and self.scores:
            raise UsageError("--gains needs judgments and runs; leave out --scores")

    def read_scores(self, usual: str = USUAL, wanted: Sequence[str] | None = None, **more: Any) -> Scores:
        """The scores, also by the measures with other gains, of the best runs."""
        if self.other_gains is not None:
            wanted = self._with_gains(chosen(wanted or self.measures or [usual]))
        scores = super().read_scores(usual, wanted, **more)
        if self.top is None or not self.scores:
            return scores
        from cranfield.scores.best_runs import best_runs

        by = str(chosen([self.top_by])[0])
        among = scores if by in scores.measures else super().read_scores(usual, [by], **more)
        return scores.select(runs=best_runs(among, self.top, by))

    def _with_gains(self, measures: Sequence[Any]) -> list[str]:
        """The names of measures, and of those that use gains with each of the others."""
        import numpy as np

        from cranfield.meta.agreement.gain_change import named_gains

        qrels, _ = self.files()
        grades = np.array(sorted({judgment.grade for judgment in self.read_qrels(qrels)}))
        gains = named_gains((self.other_gains or "").split(","), grades)
        names = [str(measure) for measure in measures]
        changed = [measure for measure in measures if "gain" in measure.parameters()]
        if not changed:
            raise UsageError(f"--gains: no measure of {', '.join(names)} has gains; choose one such as nDCG or Q")
        return list(dict.fromkeys([*names, *(str(each.replace(gain=g)) for each in changed for g in gains.values())]))
