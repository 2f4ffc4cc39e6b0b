"""`cranfield explain`: where a score comes from, rank by rank."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Output, Quiet
from cranfield.errors import UsageError
from cranfield.text import listed

if TYPE_CHECKING:
    from cranfield.evaluation.explanation import Explanation
    from cranfield.evaluation.side_by_side import SideBySide
    from cranfield.table import Table


class ExplainVerb(options.Lists, Quiet, Output):
    """Show how the score of a run on one topic comes about: what each document adds, and which relevant ones it missed.

    With two runs, show both lists beside each other: which documents moved up or down from the first to the second, and
    what each adds to both scores. csv and tsv have a row per document, also for missed documents; json has everything.
    """

    summary = "show how a score comes about, rank by rank"
    examples = """
cranfield explain qrels.txt bm25.run --topic 301 -m AP
cranfield explain qrels.txt bm25.run --topic 301 -m nDCG@10 --topics topics.xml
cranfield explain qrels.txt bm25.run dense.run --topic 301  # what moved up, what fell
cranfield explain qrels.txt bm25.run --topic 301 --topic 302 -m nDCG@10 -m ERR --depth 20
cranfield explain qrels.txt bm25.run --topic 301 -m "AP'" --format json
"""

    qrels: str = argument("QRELS", options.QRELS, required=True, reads=True)
    runs: list[str] = argument("RUN", "One run, or two to compare; - is standard input.", required=True, reads=True)
    topic: list[str] = option("--topic TOPIC", "The topic whose list is explained. May be repeated.", default=())
    measures: list[str] | None = options.measures()
    depth: int | None = option("--depth N", "Number of ranks to show; default: down to the measure's cutoff, or all.")
    topics: str | None = options.topic_texts()
    missed: int = option(
        "--missed N",
        "Number of missed relevant documents to list; json, csv and tsv have all.",
        default=10,
        group=RESULT,
    )

    def check(self) -> None:
        super().check()
        from cranfield import check

        check.not_negative("", **{"--missed": self.missed})

    def run(self) -> None:
        from cranfield.evaluation.explanation import explain

        measures = chosen(self.measures) if self.measures else chosen(None)[:1]
        joining = self.joining()
        judgments = self.read_qrels(self.qrels)
        if not self.topic:
            has = f"{self.qrels} has {listed(judgments.topics)}"
            raise UsageError(
                f"name a topic to explain with --topic; {has}, and cranfield topics lists the hardest first"
            )
        topics = None
        if self.topics is not None:
            from cranfield.collection.topics import Topics, topic_of

            topics = Topics([topic_of(self.topics, topic) for topic in dict.fromkeys(self.topic)])
        runs = self.read_runs(self.runs)
        if len(runs) > 2:
            raise UsageError(f"explain shows one run or two, but there are {len(runs)}: {listed(list(runs))}")
        results: list[Explanation | SideBySide] = []
        for topic, measure in product(dict.fromkeys(self.topic), measures):
            explained = [
                explain(judgments, run, topic, measure, options=joining, depth=self.depth, topics=topics, name=name)
                for name, run in runs.items()
            ]
            results.append(explained[0] if len(explained) == 1 else explained[0].beside(explained[1]))
        if self.format == "json":
            data = [result.to_dict() for result in results]
            self.emit_json(data[0] if len(data) == 1 else data)
        else:
            self.emit("\n\n".join(map(self._text, results)))

    def _text(self, result: Explanation | SideBySide) -> str:
        from cranfield.table import printable

        if self.format == "table":
            hint = f"--missed {len(result.missed)} lists all"
            return "\n".join(map(printable, result.as_text(self.missed, hint).split("\n")))
        return self.rendered(*self._tables(result))

    def _tables(self, result: Explanation | SideBySide) -> list[Table]:
        """The list, and for people a second table of missed documents."""
        from dataclasses import replace

        if self.for_programs:
            return [result.all_rows()]
        table = result.table()
        table = replace(table, notes=(*result.about_topic(), *table.notes))
        if not result.missed:
            return [table]
        missed = result.missed_table(self.missed)
        left_out = len(result.missed) - self.missed
        more = (f"and {left_out:,} more: --missed {len(result.missed)} lists all",) if left_out > 0 else ()
        return [table, replace(missed, notes=more)]
