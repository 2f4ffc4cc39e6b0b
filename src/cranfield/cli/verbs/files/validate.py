"""`cranfield validate`: everything that is wrong with files, at once."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, flag, option
from cranfield.cli.file_kind import kind_of_file
from cranfield.cli.printing import Output, Quiet
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.collection.linting.file_findings import Finding
    from cranfield.collection.linting.run_rules import TrackRules, Verdict

MANY_RUNS = 8
"""With at least this number of runs, the table of runs comes first."""


class ValidateVerb(options.Graded, Quiet, Output, of="collection.linting.lint:check_files"):
    """Check judgments, runs and topics for mistakes, within files and between them (such as missing topics).

    Each finding is printed as path:line: severity: message [code]. The exit code is 1 if there are errors. With many
    runs, or with --rules, a table says first which runs are accepted and why others are not; --details adds the
    findings.

    --rules FILE is a TOML file with the rules of a track: a table [rules] with depth and least (documents of a topic),
    all_topics, tag (a regular expression) and documents ("any", or "collection"), and the entries topics (a file of
    topics) and document_ids (a file with an id on each line). Without topics there, those of --topics are used, or the
    judged ones.
    """

    summary = "find all mistakes in files at once"
    examples = """
cranfield validate qrels.txt runs/*.run
cranfield validate --qrels 2024.txt --runs bm25.txt --topics topics.xml
cranfield validate runs/*.run --show error --format json
cranfield validate runs/*.run --rules track.toml --topics topics.xml  # which runs are accepted?
cranfield validate runs/*.run --table --format csv -o runs.csv
"""

    files: list[str] | None = argument("FILE", "Judgments, runs or topics, detected from the content.", reads=True)
    qrels: list[str] | None = option("--qrels FILE", "A file of judgments. May be repeated.", reads=True)
    runs: list[str] | None = option("--runs, --run FILE", "A file of runs. May be repeated.", reads=True)
    topics: list[str] | None = option("--topics FILE", "A file of topics. May be repeated.", reads=True)
    rules: str | None = option("--rules FILE", "The rules of the track, a TOML file; see --help-all.", reads=True)
    table: bool = flag("--table", "Print the table of runs, however few there are.", group=RESULT)
    details: bool = flag("--details", "Print all findings below the table of runs.", group=RESULT)
    split_tags: bool = options.split_tags()
    strict: bool = flag("--strict", "Also exit with code 1 if there are only warnings.")
    severity: str = options.show(
        "info", "warning", "error", help="The lowest severity to show: {names}. All findings are counted."
    )
    format: str = option(
        "--format, -f FORMAT",
        "{names}; csv, tsv, markdown and html hold the table of runs.",
        default="text",
        choices=("text", "json", "csv", "tsv", "markdown", "html"),
        group=RESULT,
    )

    def given(self) -> bool:
        return bool(self.files or self.qrels or self.runs or self.topics)

    def run(self) -> int:
        from cranfield.collection.linting.file_findings import SEVERITIES, Finding
        from cranfield.collection.linting.lint import check_files
        from cranfield.collection.linting.run_rules import read_track_rules, verdicts
        from cranfield.collection.source import expand

        track = None if self.rules is None else read_track_rules(self.rules)  # before the runs, which may be large
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
        topics = None if track is None else self._topics(track, kinds)
        paths = [path for several in kinds.values() for path in several] + [finding.path for finding in unknown]
        with self.progress("checking") as progress:
            found = check_files(kinds["qrels"], kinds["run"], kinds["topics"], **self.settings(), progress=progress)
        findings = unknown + [self._with_option(finding) for finding in found]
        if track is not None:
            findings += self._broken_rules(track, topics, kinds, findings)
        counts = Counter(finding.severity for finding in findings)
        shown = [f for f in findings if SEVERITIES.index(f.severity) <= SEVERITIES.index(self.severity)]
        every_run = kinds["run"] + [finding.path for finding in unknown]
        runs = verdicts(every_run, findings, strict=self.strict, lowest=self.severity)
        tabular = self.format not in ("text", "json") or self.table or self.rules or len(runs) >= MANY_RUNS
        if self.format == "json":
            self.emit_json(data(shown, counts, kinds, runs))
        elif not tabular:
            self.emit(text(shown, counts, len(paths)))
        else:
            self._emit_table(runs, shown, text([], counts, len(paths)))
        return 1 if counts["error"] or (self.strict and counts["warning"]) else 0

    def _emit_table(self, runs: list[Verdict], findings: list[Finding], summary: str) -> None:
        """The table of runs, then the findings of other files, and with `--details` all findings."""
        from cranfield.collection.linting.run_rules import verdict_table
        from cranfield.table import printable
        from cranfield.text import counted

        table = verdict_table(runs)
        if self.format != "text":
            self.emit(replace(table, guard_formulas=self.guard_formulas).render(self.format))
            return
        of_runs = {verdict.path for verdict in runs}
        below = [finding for finding in findings if self.details or finding.path not in of_runs]
        hidden = len(findings) - len(below)
        hint = f"; --details prints {counted(hidden, 'finding')} of runs" if hidden else ""
        lines = [
            table.text(),
            *([""] if below else []),
            *(printable(str(finding)) for finding in below),
            f"{summary}{hint}",
        ]
        self.emit("\n".join(lines))

    def _topics(self, track: TrackRules, kinds: dict[str, list[str]]) -> tuple[str, ...] | None:
        """The topics of the track; None if nothing says which they are."""
        from cranfield.collection.qrels import Qrels
        from cranfield.collection.topics import Topics

        if "-" in kinds["run"]:
            raise UsageError("--rules reads runs a second time, which standard input does not allow; give a file")
        topics = track.topics
        if topics is None and kinds["topics"]:
            topics = tuple(dict.fromkeys(topic for path in kinds["topics"] for topic in Topics.read(path)))
        elif topics is None and kinds["qrels"]:
            topics = tuple(dict.fromkeys(topic for path in kinds["qrels"] for topic in Qrels.read(path).topics))
        if topics is None and track.rules.all_topics:
            raise UsageError(
                f"{self.rules}: all topics must be there, but which are they? Add topics = FILE to it, or give "
                "--topics FILE or the judgments; or write all_topics = false under [rules]"
            )
        return topics

    def _broken_rules(
        self, track: TrackRules, topics: tuple[str, ...] | None, kinds: dict[str, list[str]], findings: list[Finding]
    ) -> list[Finding]:
        """What the rules of the track say of each run that can be read."""
        from cranfield.collection.linting.run_rules import rule_findings

        unreadable = {finding.path for finding in findings if finding.severity == "error"}
        return [
            finding
            for path in kinds["run"]
            if path not in unreadable
            for finding in rule_findings(path, track.rules, topics, track.unknown_docs).findings
        ]

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


def data(
    findings: list[Finding], counts: Counter[str], kinds: dict[str, list[str]], runs: list[Verdict]
) -> dict[str, Any]:
    """The findings as plain data."""
    return {
        "files": {kind: [os.fspath(path) for path in paths] for kind, paths in kinds.items()},
        "counts": {severity: counts[severity] for severity in ("error", "warning", "info")},
        "runs": [asdict(verdict) for verdict in runs],
        "findings": [asdict(finding) for finding in findings],
    }
