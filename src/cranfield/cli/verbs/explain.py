"""`cranfield explain`: where a score comes from, rank by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.measure_names import chosen
from cranfield.cli.printing import Output, Quiet

if TYPE_CHECKING:
    from cranfield.evaluation.explanation import Explanation


class ExplainVerb(options.Lists, Quiet, Output):
    """Show how the score of a run on one topic comes about: rank by rank, what each document adds to it."""

    summary = "show how a score comes about, rank by rank"
    examples = """
cranfield explain qrels.txt bm25.run --topic 301 -m AP
cranfield explain qrels.txt bm25.run --topic 301 -m nDCG@10 -m ERR --depth 20
cranfield explain qrels.txt bm25.run --topic 301 -m "AP'" --format json
"""

    qrels: str = argument("QRELS", options.QRELS, required=True, reads=True)
    run_file: str = argument("RUN", "One run; - is standard input.", required=True, reads=True)
    topic: str = option("--topic, -t TOPIC", "The topic whose list is explained.", required=True)
    measures: list[str] | None = options.measures()
    depth: int | None = option("--depth N", "Number of ranks to show; default: down to the measure's cutoff, or all.")

    def run(self) -> None:
        from cranfield.collection.run import Run
        from cranfield.evaluation.explanation import explain

        measures = chosen(self.measures) if self.measures else chosen(None)[:1]
        joining = self.joining()
        judgments = self.read_qrels(self.qrels)
        documents = Run.read(self.run_file, format=self.run_format, on_duplicate=self.on_duplicate)
        explanations = [
            explain(judgments, documents, self.topic, measure, options=joining, depth=self.depth)
            for measure in measures
        ]
        if self.format == "json":
            data = [explanation.to_dict() for explanation in explanations]
            self.emit_json(data[0] if len(data) == 1 else data)
        else:
            self.emit("\n\n".join(map(self._text, explanations)))

    def _text(self, explanation: Explanation) -> str:
        from cranfield.table import Column, Table, printable

        if self.format == "table":
            return "\n".join(map(printable, str(explanation).split("\n")))
        kinds = {"rank": "count", "doc": "text", "grade": "text", "intents": "text"}
        columns = tuple(Column(name, kinds.get(name, "number")) for name in explanation.header)
        title = f"{explanation.measure} of {explanation.run} on topic {explanation.topic} = {explanation.score:.4f}"
        rows = tuple(map(tuple, explanation.records()))
        return self.rendered(Table(columns, rows, caption=title, notes=explanation.notes))
