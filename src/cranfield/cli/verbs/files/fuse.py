"""`cranfield fuse`: one run from several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import DATA_ENDINGS, RESULT, argument, option
from cranfield.cli.printing import Quiet

if TYPE_CHECKING:
    from cranfield.collection.run import Run


class FuseVerb(options.Ranked, Quiet, of="fusion.fuse:fuse"):
    """Fuse runs into one: each document is scored by its ranks or scores in all runs.

    rrf, isr, logisr, lognisr, borda, condorcet and rbc use ranks. combsum, combmnz, combgmnz, combanz, combmax, combmin
    and combmed use scores, which are first normalised list by list. A document that a run lacks adds nothing (with
    borda: its share of the points that are left; with condorcet it is below the others). A topic that some runs lack is
    fused from the others, with a warning. The scores of a single run are normalised.

    A parameter follows the method: rrf(k=60), lognisr(sigma=0.01), rbc(phi=0.8), combgmnz(gamma=2).
    """

    summary = "fuse runs: rrf, combsum, combmnz, borda and others"
    examples = """
cranfield fuse bm25.run dense.run -o fused.run
cranfield fuse bm25.run dense.run --method combsum --norm z --weights 0.7,0.3 -o fused.run
cranfield fuse runs/*.run --method 'rrf(k=20)' --depth 100 --top 1000 --name rrf20 -o fused.run.gz
cranfield fuse bm25.run --norm z -o scaled.run
cranfield fuse bm25.run dense.run | cranfield eval qrels.txt - -m nDCG@10
"""

    runs: list[str] = argument("RUN", options.RUNS, required=True, reads=True)
    weights: str | None = option(
        "--weights W,W,...", "The weight of each run, in the order of the runs; default: 1 each."
    )
    output: str = option(
        "--output, -o FILE", "Write to this file; its ending determines the format, as for convert; default: print.",
        default="-", group=RESULT, endings=(*DATA_ENDINGS, ".run"),
    )  # fmt: skip

    def run(self) -> None:
        from cranfield.assessed.join_options import JoinOptions
        from cranfield.fusion.fuse import fuse

        reading = JoinOptions(format=self.run_format, **self.ranking_rules())
        with self.progress("reading") as progress:
            weights = options.numbers("--weights", self.weights)
            fused = fuse(self.runs, **self.settings(), weights=weights, options=reading, progress=progress)
        fused.write(self.output)
        if self.output != "-" and not self.quiet:
            print(described(fused, self.output))


def described(run: Run, path: str) -> str:
    """What was written, in a line."""
    from cranfield.text import counted

    return f"{path}: {run.name}, {counted(len(run.topics), 'topic')}, {counted(len(run), 'document')}"
