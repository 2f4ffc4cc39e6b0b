"""`cranfield power`: how many topics an experiment needs, and what it can detect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, RESULT, flag, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.options.option_values import measure_names
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.comparison.power.designs import Variance
    from cranfield.comparison.power.topic_set_size import PowerAnswer
    from cranfield.table import Table


class PowerVerb(ByClass, options.Source, Plotting, of="comparison.power.topic_set_size:topic_set_size"):
    """Compute how many topics you need to detect a difference, or what a number of topics can detect.

    Give --difference, --size or both; the quantity left out is the answer. The variance comes from the scores of runs
    on a collection, or from --variance. Below the answer are the power and difference for other numbers of topics.
    """

    repeats_warnings = True
    summary = "how many topics are needed, and what they can detect"
    examples = """
cranfield power qrels.txt runs/*.run -m AP -d 0.05  # how many topics to detect this difference?
cranfield power qrels.txt runs/*.run -m AP  # which difference can these topics detect?
cranfield power --sample --difference 0.05  # try it on the bundled sample collection
cranfield power --scores ap.csv --difference 0.05 --size 100
cranfield power --variance 0.045 --test anova --number-of-systems 20 --size 50
cranfield power --scores old.csv --scores new.csv --pooled --width 0.1
"""

    variance: float | None = option(
        "--variance X",
        "Instead of scores: the variance of differences between two systems (t, interval) or of one system's "
        "scores (other tests).",
    )
    not_options = ("alternative",)
    difference: float | None
    width: float | None
    alpha: float
    test: str | None
    systems: int | None
    size: int | None = option(
        "--size, -n N", "The number of topics, to compute the power or the detectable difference."
    )
    power: float | None = option("--power P", "The probability of detecting the difference; default: 0.8.")
    one_sided: bool = flag("--one-sided", "Test only for an improvement (t and unpaired).")
    pooled: bool = flag("--pooled", "Each file of scores is a collection; pool their variances.", group=MORE)
    no_curve: bool = flag("--no-curve", "Print only the answer, in a sentence.", group=RESULT)

    def given(self) -> bool:
        return super().given() or self.variance is not None

    def check(self) -> None:
        super().check()
        from cranfield.comparison.power.designs import DESIGNS

        self.design = design = DESIGNS.find(self.test or ("interval" if self.width is not None else "t"))
        if not design.tests and self.difference is not None:
            raise UsageError("an interval has a --width; --difference goes with tests")
        if not design.tests and self.power is not None:
            raise UsageError("an interval has no power; leave out --power")
        if design.tests and self.width is not None:
            raise UsageError("--width goes with --test interval or unpaired-interval; a test detects a --difference")
        if self.width is not None and self.size is not None:
            raise UsageError("--width asks for the number of topics; give only --size to ask for the width")
        if None not in (self.difference, self.size, self.power):
            raise UsageError("--difference and --size together ask for the power; leave out --power, or one of them")
        if self.systems is not None and not design.all_systems:
            raise UsageError(f"--number-of-systems goes with --test anova, two-way or tukey, not {design.name}")
        sources = [*([self.qrels] if self.qrels else []), *(self.scores or []), *(["--sample"] if self.sample else [])]
        if self.variance is not None and sources:
            raise UsageError(f"--variance replaces scores; leave out {sources[0]!r}, or --variance")

    def run(self) -> None:
        if self.variance is not None:
            self._check_question()
            if self.design.all_systems and self.systems is None:
                raise UsageError(f"--test {self.design.name} needs the number of systems: --number-of-systems N")
            names = measure_names(self.measures) if self.measures else [None]
            answers = [answer for name in names for answer in self._answers(None, name, self.variance)]
        elif self.pooled:
            answers = self._pooled()
        else:
            scores = self.read_scores()
            answers = [answer for name in scores.measures for answer in self._answers(scores, name, None)]
        self.emit(self._text(answers))
        if self.plot:
            from cranfield.report.figures.result_figures import power_answer_figure

            self.save_figure(power_answer_figure(answers))

    def _check_question(self) -> None:
        if self.difference is None and self.width is None and self.size is None:
            raise UsageError("give --difference (how many topics?), --size (which difference?) or both (the power?)")

    def _pooled(self) -> list[PowerAnswer]:
        from cranfield.comparison.power.designs import pooled_variance

        parts = self.read_scores_by_file("--pooled pools the variances of several collections")
        self._check_question()
        return [
            answer
            for name in options.shared_measures(parts)
            for variance in [pooled_variance([part[name] for part in parts.values()], model=self.design.model)]
            for answer in self._answers(None, name, variance)
        ]

    def _answers(self, data: Any, measure: str | None, variance: float | Variance | None) -> list[PowerAnswer]:
        """The answer; if it is a number of topics and there are scores, also the answer for their topics."""
        from cranfield.comparison.power.topic_set_size import achieved_power, detectable_difference, topic_set_size

        common: dict[str, Any] = {
            "data": data,
            "measure": measure,
            "variance": variance,
            "alpha": self.alpha,
            "test": self.design.name,
            "systems": self.systems,
            "alternative": "greater" if self.one_sided else "two-sided",
        }
        wanted: dict[str, Any] = {"power": self.power} if self.power is not None else {}
        if self.width is not None:
            needed = topic_set_size(width=self.width, **common)
            return [needed, *([detectable_difference(**common)] if data is not None else [])]
        if self.difference is None:
            return [detectable_difference(size=self.size, **wanted, **common)]
        if self.size is not None:
            return [achieved_power(difference=self.difference, size=self.size, **common)]
        needed = topic_set_size(difference=self.difference, **wanted, **common)
        return [needed, *([achieved_power(difference=self.difference, **common)] if data is not None else [])]

    def _text(self, answers: Sequence[PowerAnswer]) -> str:
        curves = not self.no_curve
        if self.format == "json":
            facts = [{k: v for k, v in answer.to_dict().items() if curves or k != "curve"} for answer in answers]
            return json.dumps({"answers": facts}, ensure_ascii=False, allow_nan=False, indent=1)
        if self.format in ("csv", "tsv") or not curves:
            table = self._one_table(answers, curves)
            if self.format == "table":
                return "\n".join([*map(str, answers), *table.notes])
            return self.rendered(table)
        groups: dict[str, list[PowerAnswer]] = {}
        for answer in answers:
            groups.setdefault(answer.measure, []).append(answer)
        return "\n\n".join(map(self._with_curve, groups.values()))

    def _with_curve(self, answers: Sequence[PowerAnswer]) -> str:
        """The answers, and below them the curve of the first, drawn in plain text."""
        table = replace(answers[0].table(bars=self.format == "table"), digits=self.digits)
        sentences = [f"{answer}." for answer in answers]
        if self.format == "table":
            return "\n".join([*sentences, self.rendered(replace(table, caption=""))])
        return self.rendered(replace(table, caption=" ".join(sentences)))

    def _one_table(self, answers: Sequence[PowerAnswer], curves: bool) -> Table:
        """One table for programs: the rows of all curves, or a row per answer."""
        from cranfield.report.figures.result_figures import first_answers
        from cranfield.table import Column, Table

        parts = (
            [answer.curve().columns() for answer in first_answers(answers)]
            if curves
            else [a.columns() for a in answers]
        )
        names = list(dict.fromkeys(name for part in parts for name in part))
        kinds = {"measure": "text", "test": "text", "topics": "count"}
        rows = []
        for part in parts:
            size = len(part["topics"])
            rows += list(zip(*(part[name].tolist() if name in part else [None] * size for name in names), strict=True))
        notes = tuple(dict.fromkeys(note for answer in answers for note in answer.notes))
        heads = tuple(Column(name, kinds.get(name, "number")) for name in names)
        return Table(heads, tuple(rows), "", notes, self.digits)
