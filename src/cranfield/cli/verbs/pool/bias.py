"""`cranfield pool bias`: the score a run loses if it was not pooled, and scores adjusted for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.options.by_class import Experiment, SplitByClass
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.collection.qrels import Qrels
    from cranfield.evaluation.missing_judgments import PoolBias
    from cranfield.scores.scores import Scores


class BiasVerb(options.Files, SplitByClass, Printing, of="evaluation.missing_judgments:pool_bias_of"):
    """Show how much the judgments favour the runs whose documents were judged (the pooled runs).

    Usually only the first documents of some runs, the pool, are judged. The loss of a pooled run is how much lower it
    would score without the documents that only it brought into the pool. A new run that was not pooled may score too
    low by as much: --adjust adds the mean loss of the pooled runs to its score, which assumes that the new run is like
    them; a caution says how far off that is for the pooled runs. It is better to judge the new run with the others on a
    few topics: give the judgments of these topics as QRELS and those of the other topics as --adjust-qrels; then its
    own loss is added. (Webber and Park, SIGIR 2009)

    Numbers that describe a list and do not rate it, such as Judged, are not adjusted, and no adjusted score leaves the
    range of its measure; notes say so.

    csv and tsv hold one table: the adjusted scores if there are any, else the losses.
    """

    summary = "how much judgments favour the runs they were made for"
    examples = """
cranfield pool bias qrels.txt pooled/*.run --pool-depth 100 --adjust new.run
cranfield pool bias qrels.txt pooled/*.run --pool-depth 100
cranfield pool bias qrels.txt pooled/*.run --pool-depth 100 --adjust new.run -m nDCG@10 -m AP
cranfield pool bias common.qrels pooled/*.run new.run --pool-depth 100 --adjust new.run --adjust-qrels qrels.txt
cranfield pool bias qrels.txt pooled/*.run --pool-depth 100 --by classes.txt  # for each class of topics
cranfield pool bias qrels.txt pooled/*.run --pool-depth 100 --groups teams.txt --format json
"""

    qrels: str = argument("QRELS", "The judgments of the pool; - is standard input.", required=True, reads=True)
    runs: list[str] = argument("RUN", "The pooled runs: files or patterns.", required=True, reads=True)
    measures: list[str] | None = options.measures()
    adjust: list[str] | None = option(
        "--adjust RUN",
        "A run that was not pooled: print its score and adjusted score. May be repeated.",
        reads=True,
    )
    adjust_qrels: str | None = option(
        "--adjust-qrels QRELS",
        "Score the runs of --adjust by these judgments, of topics on which they were not pooled; default: QRELS. A run "
        "that is also given as a pooled run is adjusted by its own loss.",
        reads=True,
    )
    groups: str | None = option(
        "--groups FILE",
        "Groups of runs, such as those of a team: lines of run, group. A run loses the documents that no other group "
        "found; default: each run is a group.",
        reads=True,
    )
    per_topic: bool = options.per_topic("Also print a row per pooled run and topic.")

    def check(self) -> None:
        super().check()
        if self.adjust_qrels is not None and not self.adjust:
            raise UsageError(f"--adjust-qrels {self.adjust_qrels} needs a run to score; add --adjust RUN")
        self._qrels: dict[str, Qrels] = {}

    def run(self) -> None:
        from cranfield.evaluation.evaluator import evaluate
        from cranfield.evaluation.missing_judgments import pool_bias_of
        from cranfield.record import table_of

        measures = chosen(self.measures)
        judgments, pooled = self.part(lambda: Experiment(self._judgments(self.qrels), self.read_runs(self.runs)))
        bias = pool_bias_of(judgments, pooled, measures, groups=self.groups, **self.settings())
        scores = None
        if self.adjust:
            files = self.adjust
            other = self.adjust_qrels or self.qrels
            judgments, new = self.part(lambda: Experiment(self._judgments(other), self.read_runs(files)))
            both = [name for name in new if name in pooled]
            if both and self.adjust_qrels is None:
                raise UsageError(
                    f"run {both[0]!r} is pooled, so there is nothing to adjust on the same topics; leave it out of one "
                    "of the two, or give judgments of other topics: --adjust-qrels"
                )
            scores = evaluate(judgments, new, measures, on_duplicate=self.on_duplicate)
        if self.format == "json":
            self.emit_json(data(bias, scores, self.per_topic, self.digits))
            return
        tables = [table_of(bias.columns())] if self.per_topic else []
        tables.append(bias.table())
        if scores is not None:
            tables.append(bias.adjusted_table(scores))
        if self.format in ("csv", "tsv"):
            tables = tables[:1] if self.per_topic and scores is None else tables[-1:]
        self.show(*tables)

    def _judgments(self, file: str) -> Qrels:
        """The judgments of a file; they are read once, because standard input cannot be read again."""
        if file not in self._qrels:
            self._qrels[file] = self.read_qrels(file)
        return self._qrels[file]


def data(bias: PoolBias, scores: Scores | None, per_topic: bool, digits: int | None) -> dict[str, Any]:
    """Everything as plain data; an undefined number is null."""

    def plain(values: dict[str, float]) -> dict[str, float | None]:
        shown = values if digits is None else {name: round(value, digits) for name, value in values.items()}
        return {name: None if math.isnan(value) else value for name, value in shown.items()}

    facts: dict[str, Any] = {
        "pool_depth": bias.depth,
        "loss": plain(bias.mean()),
        "runs": {run: plain(bias.mean(run)) for run in bias.runs},
    }
    if per_topic:
        facts["per_topic"] = [
            {"run": run, "topic": topic, **plain(dict(zip(bias.measures, bias.values[:, r, t].tolist(), strict=True)))}
            for r, run in enumerate(bias.runs)
            for t, topic in enumerate(bias.topics)
        ]
    if scores is not None:
        means, adjusted = scores.mean(), bias.adjusted(scores)
        facts["adjusted"] = {
            run: {name: plain({"score": means[run][name], "adjusted": adjusted[run][name]}) for name in scores.measures}
            for run in scores.runs
        }
        if notes := bias.limits(scores):
            facts["notes"] = list(notes)
    return facts
