"""`cranfield meta loo`: what runs and teams lose if they were not pooled."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, option
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.judgments.leave_out import LeftOut


class LooVerb(TopRuns, Plotting, of="meta.judgments.leave_out:leave_one_out"):
    """Show how scores and ranks change if one run, or one team, had not contributed to the judgments.

    The documents that only this run or team found become unjudged. If scores, ranks and the ranking of all runs
    (Kendall's tau) hardly change, the measure is fair to systems that did not contribute. `tau of own` compares the
    ranking by all judgments with the one in which each run has its score without its own documents. --plot draws the
    ranks by the first measure. (Zobel, SIGIR 1998, by run; leaving out whole teams is stricter.)
    """

    summary = "how scores change without the judgments of a run or team"
    examples = """
cranfield meta loo qrels.txt runs/*.run --teams teams.txt
cranfield meta loo --sample --pool-depth 10  # try it on the bundled sample collection
cranfield meta loo qrels.txt runs/*.run -m AP -m nDCG@10 --condensed --pool-depth 100
cranfield meta loo qrels.txt runs/*.run --teams teams.txt --show contributions
cranfield meta loo qrels.txt runs/*.run --teams teams.txt --show runs -f csv -o runs.csv
cranfield meta loo qrels.txt runs/*.run --teams teams.txt --write without/
"""

    measures: list[str] | None = options.measures()
    teams: str | None = option(
        "--teams FILE", "Lines of run, team: leave out one team at a time; default: one run at a time.", reads=True
    )
    write: str | None = option(
        "--write DIR",
        "Write the judgments without the documents that only one run or team found to this folder, a file each.",
        group=MORE,
    )
    what: str = options.show(
        "measures",
        "runs",
        "contributions",
        "all",
        help="{names}: changes of the ranking, changes of each run, the documents each found (alone), or all three.",
    )
    missing: str = options.missing()

    def check(self) -> None:
        super().check()
        if self.what == "all" and self.format in ("csv", "tsv"):
            raise UsageError(f"--show all is three tables, but {self.format} holds one; choose one, or --format json")

    def run(self) -> None:
        from cranfield.meta.judgments.leave_out import leave_one_out

        with self.progress("leaving out") as progress:
            result = leave_one_out(
                *self.read(),
                chosen(self.measures or ["AP"]),
                **self.settings(),
                teams=self.teams,
                missing=self.missing,
                options=self.joining(),
                progress=progress,
            )
        if self.write is not None:
            paths = result.write(self.write)
            if not self.quiet:
                print(f"{len(paths)} files written to {self.write}", file=sys.stderr)
        self.emit(self._text(result))
        self.save_plot(result)

    def _text(self, result: LeftOut) -> str:
        """One table, or several below one another; in JSON several are one object."""
        makers = {"contributions": result.contribution_table, "runs": result.run_table, "measures": result.table}
        texts = {
            name: self.rendered(replace(make(), digits=self.digits))
            for name, make in makers.items()
            if self.what in (name, "all")
        }
        if self.format == "json" and len(texts) > 1:
            return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in texts.items()) + "\n}"
        return "\n\n".join(texts.values())
