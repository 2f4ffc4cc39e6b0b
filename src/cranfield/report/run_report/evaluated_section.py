"""What was evaluated: files with their digests, versions, rules and warnings."""

from __future__ import annotations

import hashlib
import platform

import numpy as np

from cranfield import __version__
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import is_pipe
from cranfield.report.pages.report_parts import Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.scores.score_text import all_notes
from cranfield.table import Cell, Column, Table
from cranfield.text import counted

RULES = {"zero": "scored as an empty list", "skip": "left out of the mean of the run"}

SHOWN_DIGITS = 16


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
        facts.append(("scores compared as", f"{options.precision}-bit numbers"))
        facts.append(("a document twice in a list", options.on_duplicate))
    facts.append(("a judged topic that a run lacks", RULES.get(scores.missing_rule, scores.missing_rule)))
    facts.append(("made with", f"cranfield {__version__}, numpy {np.__version__}, Python {platform.python_version()}"))
    blocks = [TableBlock("evaluated", Table((Column("fact"), Column("value")), tuple(facts)), "Data and rules")]
    if experiment.files:
        data = files_table(experiment.files)
        shown = tuple((*row[:-1], str(row[-1])[:SHOWN_DIGITS]) for row in data.rows)
        note = (f"the first {SHOWN_DIGITS} hexadecimal digits of digests; the CSV file has all 64",)
        table = Table(data.columns, shown, notes=note)
        blocks.append(TableBlock("files", table, "Files", data=data, tools=len(shown) > 20))
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


def files_table(files: tuple[tuple[str, str], ...]) -> Table:
    """A row per file: what it holds, its path, its size and the SHA-256 digest of its bytes."""
    rows: list[tuple[Cell, ...]] = []
    for what, path in files:
        size, digest = _digest(path)
        rows.append((path, what, size, digest))
    columns = (Column("file"), Column("holds"), Column("bytes", "count"), Column("SHA-256"))
    return Table(columns, tuple(rows))


def _digest(path: str) -> tuple[int | None, str]:
    """The size and digest of a file; nothing for standard input, which cannot be read again."""
    if path == "-" or is_pipe(path):
        return None, ""
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest
    except OSError:
        return None, ""
