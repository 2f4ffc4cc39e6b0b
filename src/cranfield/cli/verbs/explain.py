"""`cranfield explain`: where a score comes from, rank by rank."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Annotated

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Argument, Format, Measures, Output, Quiet, chosen, option
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, rendered

if TYPE_CHECKING:
    from cranfield.evaluation.explanation import Explanation

EXAMPLES = """\
  $ cranfield explain qrels.txt bm25.run --topic 301 -m AP
  $ cranfield explain qrels.txt bm25.run --topic 301 -m nDCG@10 -m ERR --depth 20
  $ cranfield explain qrels.txt bm25.run --topic 301 -m "AP'" --format json
"""


def explain_verb(
    qrels: Annotated[str, Argument(metavar="QRELS", help="Judgments; - is standard input.")],
    run: Annotated[str, Argument(metavar="RUN", help="One run; - is standard input.")],
    topic: Annotated[str, option("--topic", "-t", metavar="TOPIC", help="The topic whose list is explained.")],
    measures: Measures = None,
    depth: Annotated[
        int | None,
        option(
            "--depth",
            metavar="N",
            help="Show this many ranks; default: down to the measure's cutoff, or all.",
            group=RESULT,
        ),
    ] = None,
    format: Format = "table",
    output: Output = None,
    quiet: Quiet = False,
    joining: Joining = AS_USUAL,
) -> int:
    """Show a list rank by rank: document, grade, what the measure counts there, its value if the list ended there."""
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    joining.only_one_from_stdin(qrels, run)
    measured = chosen(measures) if measures else chosen(None)[:1]

    from cranfield.assessed.join_options import JoinOptions
    from cranfield.collection.run import Run
    from cranfield.evaluation.explanation import explain

    options = JoinOptions(**joining.options())
    judgments = joining.judgments(qrels)
    documents = Run.read(run, format=options.format, on_duplicate=options.on_duplicate)
    found = [explain(judgments, documents, topic, measure, options=options, depth=depth) for measure in measured]
    if format == "json":
        told = [one.to_dict() for one in found]
        emit(json.dumps(told[0] if len(told) == 1 else told, ensure_ascii=False, indent=1), output, format=format)
    else:
        emit("\n\n".join(_text(one, format, output) for one in found), output, format=format)
    return 0


def _text(explanation: Explanation, format: str, output: str | None) -> str:
    from cranfield.table import Column, Table, printable

    if format == "table":
        return "\n".join(map(printable, str(explanation).split("\n")))
    kinds = {"rank": "count", "doc": "text", "grade": "text", "intents": "text"}
    columns = tuple(Column(name, kinds.get(name, "number")) for name in explanation.header)
    title = f"{explanation.measure} of {explanation.run} on topic {explanation.topic} = {explanation.score:.4f}"
    table = Table(columns, tuple(map(tuple, explanation.records())), caption=title, notes=explanation.notes)
    return rendered(table, format, output)
