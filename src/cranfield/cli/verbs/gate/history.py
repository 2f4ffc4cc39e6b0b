"""`cranfield gate history`: the builds that a gate has seen."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument
from cranfield.cli.options.option_values import score_names
from cranfield.cli.printing import Plotting


class HistoryVerb(Plotting, of="comparison.gate.gate_history:gate_history"):
    """Show the mean scores of all builds in a history that `cranfield gate --history` wrote."""

    summary = "show mean scores build by build, in a table and a figure"
    examples = """
cranfield gate history builds.jsonl
cranfield gate history builds.jsonl -m nDCG@10 --plot builds.html
"""

    file: str = argument("FILE", "The history.", required=True, reads=True)
    measures: list[str] | None = options.measures()

    def run(self) -> None:
        from cranfield.comparison.gate.gate_history import gate_history

        history = gate_history(self.file, score_names(self.measures) or None)
        self.save_plot(history)
        if self.format == "json":
            self.emit(history.to_json())
        else:
            self.show(history.table())
