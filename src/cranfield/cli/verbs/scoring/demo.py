"""`cranfield demo`: the first command to try."""

from __future__ import annotations

import os
import shlex

from cranfield.cli.declare import Verb
from cranfield.cli.verbs.scoring.eval import EvalVerb


class DemoVerb(Verb):
    """Score the bundled sample collection, and print further commands to try on its files."""

    summary = "a first example, on a bundled sample collection"
    examples = "cranfield demo"

    def run(self) -> None:
        from cranfield.samples import sample

        verb = EvalVerb(sample=True)
        verb.check()
        verb.run()
        print(next_steps(sample().qrels, sample().runs[0]))


def next_steps(qrels: str, run: str) -> str:
    """Commands that work as they are."""
    folder = os.path.dirname(qrels)
    # If the folder needs quotes, the pattern is quoted with it, and cranfield expands it.
    runs = os.path.join(folder, "*.run")
    runs = runs if shlex.quote(folder) == folder else shlex.quote(runs)
    qrels, run = shlex.quote(qrels), shlex.quote(run)
    steps = [
        f"cranfield eval {qrels} {runs} -m nDCG@10 -m AP --ci",
        f"cranfield explain {qrels} {run} --topic 101 -m nDCG@10",
        f"cranfield stats {qrels} {runs}",
        f"cranfield validate {qrels} {runs}",
        "cranfield measures nDCG",
    ]
    where = f"The sample collection is in {folder}; the README.md there describes it."
    again = "You can print this table again with: cranfield eval --sample"
    return "\n".join(["", again, where, "", "Commands to try next:", *(f"  {step}" for step in steps)])
