"""What was evaluated: files with their digests, versions, rules and warnings."""

from __future__ import annotations

import platform

import numpy as np

from cranfield import __version__
from cranfield.collection.qrels import Qrels
from cranfield.report.pages.file_digests import files_block
from cranfield.report.pages.report_parts import Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.scores.score_text import all_notes
from cranfield.table import Cell, Column, Table
from cranfield.text import counted

TIE_RULES = {
    "z-a": "by document id, descending (as in trec_eval)",
    "a-z": "by document id, ascending",
    "file": "in the order of the file",
}
RULES = {"zero": "scored as an empty list", "skip": "left out of the mean of the run"}


def evaluated_section(experiment: Experiment) -> Section:
    """Counts, rules, warnings, and the digest of each file."""
    scores, options = experiment.scores, experiment.options
    facts: list[tuple[Cell, ...]] = [
        ("runs", f"{len(scores.runs):,}"),
        ("topics", f"{len(scores.topics):,}"),
        ("measures", ", ".join(scores.measures)),
    ]
    if experiment.qrels is not None:
        facts += _judgments(experiment.qrels)
    if experiment.runs:
        rule = options.order or "score if there are scores, else rank"
        facts.append(("order of documents", rule))
        facts.append(("documents with equal scores", TIE_RULES[options.ties]))
        facts.append(("scores compared as", f"{options.precision}-bit numbers"))
        facts.append(("a document twice in a list", options.on_duplicate))
    facts.append(("a judged topic that a run lacks", RULES.get(scores.missing_rule, scores.missing_rule)))
    facts.append(("made with", f"cranfield {__version__}, numpy {np.__version__}, Python {platform.python_version()}"))
    blocks = [TableBlock("evaluated", Table((Column("fact"), Column("value")), tuple(facts)), "Data and rules")]
    if experiment.files:
        blocks.append(files_block(experiment.files))
    notes = tuple(dict.fromkeys([*all_notes(scores), *experiment.warnings]))
    text = ("Warnings and notes of the evaluation:",) if notes else ("The evaluation gave no warnings.",)
    return Section("evaluated", "What was evaluated", text, notes, tuple(blocks))


def _judgments(qrels: Qrels) -> list[tuple[Cell, ...]]:
    values = qrels.values
    levels, counts = np.unique(values, return_counts=True)
    shown = ", ".join(f"{grade:g}: {count:,}" for grade, count in zip(levels[:12], counts[:12], strict=True))
    more = f" and {len(levels) - 12} more" if len(levels) > 12 else ""
    return [
        ("judgments", f"{len(values):,} of {counted(len(qrels.topics), 'topic')}"),
        ("judgments by grade", shown + more),
    ]
