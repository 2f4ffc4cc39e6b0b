"""`cranfield demo`: the first command to try."""

from __future__ import annotations

import os
import shlex

from cranfield.cli.verbs.eval import eval_verb
from cranfield.samples import sample

EXAMPLES = """\
  $ cranfield demo
"""


def demo_verb() -> int:
    """Score the runs of the small collection that comes along, and tell what could be done next with its files."""
    collection = sample()
    code = eval_verb(sample=True)
    if code == 0:
        print(next_steps(collection.qrels, collection.runs[0]))
    return code


def next_steps(qrels: str, run: str) -> str:
    """Commands that work as they are."""
    folder = os.path.dirname(qrels)
    runs = os.path.join(folder, "*.run")
    steps = [
        f"cranfield eval {shlex.quote(qrels)} {_pattern(runs)} -m nDCG@10 -m AP --ci",
        f"cranfield explain {shlex.quote(qrels)} {shlex.quote(run)} --topic 101 -m nDCG@10",
        f"cranfield stats {shlex.quote(qrels)} {_pattern(runs)}",
        f"cranfield validate {shlex.quote(qrels)} {_pattern(runs)}",
        "cranfield measures nDCG",
    ]
    told = f"That was: cranfield eval --sample\nThe files are in {folder}; its README.md tells what is special in them."
    return "\n".join(["", told, "", "Next:", *(f"  {step}" for step in steps)])


def _pattern(path: str) -> str:
    """A pattern for the shell; quoted as a whole where the folder needs it, for then cranfield expands it."""
    folder, name = os.path.split(path)
    return path if shlex.quote(folder) == folder else shlex.quote(os.path.join(folder, name))
