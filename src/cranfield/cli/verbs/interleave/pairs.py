"""`cranfield interleave pairs`: preferences between neighbours of a list, without the bias of positions."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError

OPERATIONS = "online.interleaving.fair_pairs:fair_lists online.interleaving.fair_pairs:fair_preferences"


class PairsVerb(options.Ranked, Printing, of=OPERATIONS):
    """Show the list of a run with neighbours swapped at random, and learn from clicks which one users prefer.

    With RUN, print a list for each topic as a line of JSON: with equal chance the pairs begin at rank 1 or 2, and each
    is swapped with probability 1/2 (FairPairs). Show it, and add the positions or documents that were clicked to the
    line, as in "clicks": [2].

    With --log, count the clicks of such lines: a click on the lower document of a pair is a preference for it. As both
    orders are equally likely, a document is not preferred because it is shown higher.
    """

    summary = "preferences between neighbours, without bias by position"
    examples = """
cranfield interleave pairs bm25.run --copies 100 -o lists.jsonl
cranfield interleave pairs --log clicked.jsonl
"""

    runs: list[str] | None = argument("RUN", "The run whose lists are shown.", reads=True)
    log: str | None = option("--log LOG", "Lists that were shown, with their clicks.", reads=True)

    def given(self) -> bool:
        return bool(self.runs) or self.log is not None

    def check(self) -> None:
        super().check()
        if bool(self.runs) == (self.log is not None):
            raise UsageError("give a run, to make lists, or --log LOG, to read their clicks")

    def run(self) -> None:
        import json

        from cranfield.assessed.join_options import JoinOptions
        from cranfield.online.interleaving.fair_pairs import fair_lists, fair_preferences

        if self.log is not None:
            self.show_record(fair_preferences(self.log, **self.settings("fair_preferences")))
            return
        reading = JoinOptions(format=self.run_format, **self.ranking_rules())
        with self.progress("reading") as progress:
            made = fair_lists(self.runs, options=reading, progress=progress, **self.settings("fair_lists"))
        self.emit("\n".join(json.dumps(own.to_dict(), ensure_ascii=False) for own in made))
