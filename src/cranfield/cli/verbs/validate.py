"""`cranfield validate`: everything that is wrong with files, at once."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, flag, option
from cranfield.cli.file_kind import kind_of_file
from cranfield.cli.printing import Output
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.collection.lint_findings import Finding


class ValidateVerb(options.Sized, Output):
    """Check judgments, runs and topics for mistakes, within files and between them (such as missing topics).

    Each finding is printed as path:line: severity: message [code]. The exit code is 1 if there are errors.
    """

    summary = "find all mistakes in files at once"
    examples = """
cranfield validate qrels.txt runs/*.run
cranfield validate --qrels 2024.txt --runs bm25.txt --topics topics.xml
cranfield validate runs/*.run --show error --format json
"""

    files: list[str] | None = argument("FILE", "Judgments, runs or topics, detected from the content.", reads=True)
    qrels: list[str] | None = option("--qrels FILE", "A file of judgments. May be repeated.", reads=True)
    runs: list[str] | None = option("--runs, --run FILE", "A file of runs. May be repeated.", reads=True)
    topics: list[str] | None = option("--topics FILE", "A file of topics. May be repeated.", reads=True)
    split_tags: bool = options.split_tags()
    strict: bool = flag("--strict", "Also exit with code 1 if there are only warnings.")
    severity: str = options.show(
        "info", "warning", "error", help="The lowest severity to show: {names}. All findings are counted."
    )
    format: str = option("--format, -f FORMAT", "{names}.", default="text", choices=("text", "json"), group=RESULT)

    def given(self) -> bool:
        return bool(self.files or self.qrels or self.runs or self.topics)

    def run(self) -> int:
        from cranfield.collection.lint import check_files
        from cranfield.collection.lint_findings import SEVERITIES, Finding
        from cranfield.collection.source import expand

        kinds = {"qrels": expand(self.qrels or []), "run": expand(self.runs or []), "topics": expand(self.topics or [])}
        unknown: list[Finding] = []
        for path in expand(self.files or []):
            try:
                kinds[kind_of_file(path, "--qrels FILE, --runs FILE or --topics FILE")].append(path)
            except UsageError as error:
                if path == "-":
                    raise
                what = str(error).removeprefix(f"{path}: ")
                unknown.append(Finding(path, None, "error", "unknown-kind", what))
        paths = [path for several in kinds.values() for path in several] + [finding.path for finding in unknown]
        found = check_files(kinds["qrels"], kinds["run"], kinds["topics"], split_tags=self.split_tags)
        findings = unknown + [self._with_option(finding) for finding in found]
        counts = Counter(finding.severity for finding in findings)
        shown = [f for f in findings if SEVERITIES.index(f.severity) <= SEVERITIES.index(self.severity)]
        if self.format == "json":
            self.emit_json(data(shown, counts, kinds))
        else:
            self.emit(text(shown, counts, len(paths)))
        return 1 if counts["error"] or (self.strict and counts["warning"]) else 0

    def _with_option(self, finding: Finding) -> Finding:
        """A finding whose message also names the option that helps."""
        from cranfield.cli import way_out

        hint = way_out(finding.message, type(self), self)
        return replace(finding, message=f"{finding.message}; {hint}") if hint else finding


def text(findings: list[Finding], counts: Counter[str], files: int) -> str:
    """A line per finding, and how many there are."""
    from cranfield.table import printable
    from cranfield.text import counted

    worst = ", ".join(counted(counts[severity], severity) for severity in ("error", "warning"))
    notes = f", {counted(counts['info'], 'note')}" if counts["info"] else ""
    summary = f"{counted(files, 'file')}: {worst}{notes}"
    return "\n".join([*(printable(str(finding)) for finding in findings), summary])


def data(findings: list[Finding], counts: Counter[str], kinds: dict[str, list[str]]) -> dict[str, Any]:
    """The findings as plain data."""
    return {
        "files": {kind: [os.fspath(path) for path in paths] for kind, paths in kinds.items()},
        "counts": {severity: counts[severity] for severity in ("error", "warning", "info")},
        "findings": [asdict(finding) for finding in findings],
    }
