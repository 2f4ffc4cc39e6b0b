"""`cranfield validate`: everything that is wrong with files, at once."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cranfield import check
from cranfield.cli.file_kind import kind_of_file
from cranfield.cli.parser import RESULT, Argument, Output, option
from cranfield.cli.printing import checked, emit, only_one_from_stdin
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.collection.lint_findings import Finding

EXAMPLES = """\
  $ cranfield validate qrels.txt runs/*.run
  $ cranfield validate --qrels 2024.txt --runs bm25.txt --topics topics.xml
  $ cranfield validate runs/*.run --show error --format json
"""


def validate_verb(
    files: Annotated[list[str] | None, Argument("FILE", "Files of any kind; what they are is told by content.")] = None,
    qrels: Annotated[list[str] | None, option("--qrels", metavar="FILE", help="Judgments; may be repeated.")] = None,
    runs: Annotated[list[str] | None, option("--runs", "--run", metavar="FILE", help="A run; may be repeated.")] = None,
    topics: Annotated[list[str] | None, option("--topics", metavar="FILE", help="Topics; may be repeated.")] = None,
    strict: Annotated[bool, option("--strict", help="Warnings too make the exit code 1.")] = False,
    show: Annotated[
        str,
        option(
            "--show",
            metavar="SEVERITY",
            help="info (everything), warning or error: the least that is shown; all are counted.",
            group=RESULT,
        ),
    ] = "info",
    format: Annotated[str, option("--format", "-f", metavar="FORMAT", help="text or json.", group=RESULT)] = "text",
    output: Output = None,
) -> int:
    """Tell everything that is wrong with files: each on its own, and together (topics that only one has, shared tags).

    A finding is a line path:line: severity: message (code). The exit code is 1 if there are errors.
    """
    checked(format, ("text", "json"))
    check.one_of("--show", ("info", "warning", "error"), show=show)

    from cranfield.collection.lint import check_files
    from cranfield.collection.lint_findings import SEVERITIES
    from cranfield.collection.source import expand

    kinds = {"qrels": expand(qrels or []), "run": expand(runs or []), "topics": expand(topics or [])}
    for path in expand(files or []):
        kinds[kind_of_file(path, "--qrels FILE, --runs FILE or --topics FILE")].append(path)
    paths = [path for several in kinds.values() for path in several]
    if not paths:
        raise UsageError("no files given; try: cranfield validate qrels.txt runs/*.run")
    only_one_from_stdin(*paths)

    findings = check_files(kinds["qrels"], kinds["run"], kinds["topics"])
    counts = Counter(finding.severity for finding in findings)
    shown = [f for f in findings if SEVERITIES.index(f.severity) <= SEVERITIES.index(show)]
    emit(_text(shown, counts, len(paths)) if format == "text" else _json(shown, counts, kinds), output, format=format)
    return 1 if counts["error"] or (strict and counts["warning"]) else 0


def _text(findings: list[Finding], counts: Counter[str], files: int) -> str:
    from cranfield.table import printable
    from cranfield.text import counted

    told = ", ".join(counted(counts[severity], severity) for severity in ("error", "warning"))
    notes = f", {counted(counts['info'], 'note')}" if counts["info"] else ""
    summary = f"{counted(files, 'file')}: {told}{notes}"
    return "\n".join([*(printable(str(finding)) for finding in findings), summary])


def _json(findings: list[Finding], counts: Counter[str], kinds: dict[str, list[str]]) -> str:
    whole = {
        "files": {kind: [os.fspath(path) for path in paths] for kind, paths in kinds.items()},
        "counts": {severity: counts[severity] for severity in ("error", "warning", "info")},
        "findings": [asdict(finding) for finding in findings],
    }
    return json.dumps(whole, ensure_ascii=False, indent=1)
