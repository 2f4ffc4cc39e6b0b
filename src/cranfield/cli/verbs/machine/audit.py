"""`cranfield machine audit`: compare machine judgments with human ones, and what follows from them for runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, argument, option
from cranfield.cli.file_kind import kind_of_file
from cranfield.cli.options import report_options
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import DataError, UsageError
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.building.machine.machine_audit import Audit
    from cranfield.report.figures import Figure
    from cranfield.table import Table

FIGURES = ("confusion", "ranks", "topics")
MOST_CHANGES = 10
SAY = "--machine FILE or --run FILE"


class AuditVerb(options.Lists, Plotting, report_options.Reporting, of="building.machine.machine_audit:audit"):
    """Compare machine judgments with human judgments of the same documents, and the rankings of runs under both.

    FILE is any number of machine judgments (qrels, or the log of cranfield machine label) and of runs, told apart by
    their content. Several machine files, such as of several models or paraphrases of a prompt, are shown
    side by side.

    Printed are the agreement (κ, and κ with quadratic weights), the leniency (mean machine minus human grade), the
    confusion of grades and the topics with the lowest agreement. With runs: Kendall's τ, τ_ap and rank-biased overlap
    of the rankings, and the pairs of runs whose difference is significant under one of the judgments only. These are
    computed twice: on the documents that both judged, and on all judgments of each file, on the topics of both.

    csv and tsv hold one part: that of --show, by default the agreement. json has all parts, or those of --show.
    """

    summary = "compare machine judgments with human ones"
    examples = """
cranfield machine audit human.qrels machine.qrels runs/*.run
cranfield machine audit human.qrels model-a.qrels model-b.qrels runs/*.run -m nDCG@10 --plot ranks.svg
cranfield machine audit human.qrels labels.jsonl --lengths lengths.tsv  # the log of cranfield machine label
cranfield machine audit human.qrels machine.qrels runs/*.run --families families.tsv --show families
cranfield machine audit human.qrels machine.qrels runs/*.run --report audit.html
"""

    qrels: str = argument("HUMAN", "The human judgments.", required=True, reads=True)
    files: list[str] | None = argument("FILE", "Machine judgments and runs.", reads=True)
    machines: list[str] | None = option(
        "--machine FILE", "Machine judgments, if the content does not tell, or NAME=FILE. May be repeated.", reads=True
    )
    runs: list[str] | None = option("--run FILE", "A run, if the content does not tell. May be repeated.", reads=True)
    measures: list[str] | None = options.measures()
    missing: str = options.missing()
    families: str | None = option(
        "--families FILE",
        "Families of systems: lines of run, family. Shows whether the machine favours one.",
        reads=True,
        solves="families=",
    )
    what: list[str] | None = option(
        "--show PART",
        "Print only this part, or several separated by commas: {names}. May be repeated.",
        names="building.machine.machine_audit:PARTS",
    )
    figure: str | None = option(
        "--figure NAME",
        "What --plot draws: {names} (of the first machine file; ranks of runs under each; leniency over topics); "
        "default: ranks if there are runs, else confusion.",
        choices=FIGURES,
        group=MORE,
    )

    sections: str | None = report_options.sections("report.reports.audit_report:SECTIONS")

    def check(self) -> None:
        super().check()
        if self.report is not None:
            from cranfield.report.reports.audit_report import SECTIONS

            self._outline = self.read_outline(SECTIONS)
        self._shown = shown_parts(self.what)
        if len(self._shown) > 1 and self.format in ("csv", "tsv"):
            named = f"--show {','.join(self._shown)} is {len(self._shown)} tables"
            raise UsageError(f"{named}, but {self.format} holds one; choose one, or --format json")
        if self.figure and not self.plot:
            raise UsageError("--figure needs a file to draw to; add --plot FILE")

    def run(self) -> None:
        from cranfield.building.machine.machine_audit import audit, read_judges

        machines, runs = self.sorted_files()
        settings, measures = self.join_options(), chosen(self.measures or [options.USUAL])
        lengths = settings["lengths"]
        if not any("lengths" in measure.looks_at() for measure in measures):
            settings["lengths"] = None  # which need not have all retrieved documents then
        for name in ("format", "split_tags"):  # runs are read here
            settings.pop(name)
        judges = read_judges(machines, format=self.qrels_format, on_duplicate=self.on_duplicate)
        with self.progress("scoring") as progress:
            result = audit(
                self.read_qrels(self.qrels),
                judges,
                self.read_runs(runs) if runs else None,
                measures,
                lengths=lengths,
                options={**settings, "missing": self.missing},
                progress=progress,
                families=self.families,
                **self.settings(),
            )
        self.print_parts(result)
        if self.plot:
            self.save_figure(self.drawn(result))
        if self.report is not None:
            from cranfield.report.reports.audit_report import audit_report

            side = [(what, path) for what, path in self.values("families").items() if path]
            named = [("human judgments", self.qrels), *(("machine judgments", path) for path in machines.values())]
            self.write_report(audit_report(result, self._outline, files=[*named, *(("run", p) for p in runs), *side]))

    def sorted_files(self) -> tuple[dict[str, str], list[str]]:
        """The machine files by name, and the runs."""
        from cranfield.building.machine.machine_audit import is_label_table
        from cranfield.collection.source import expand, stem

        machines, runs = list(self.machines or []), list(self.runs or [])
        for path in expand(self.files or []):
            if os.path.isfile(path) and not os.path.getsize(path):
                raise DataError(path, None, "is empty, expected machine judgments or a run")
            kind = "qrels" if is_label_table(path) else kind_of_file(path, SAY)
            if kind == "topics":
                raise UsageError(f"{path}: looks like topics, expected machine judgments or runs; say {SAY}")
            (runs if kind == "run" else machines).append(path)
        if not machines:
            there = (
                counted(len(runs), "file looks like a run", "files look like runs")
                if runs
                else "only the file of human judgments is given"
            )
            raise UsageError(
                f"no machine judgments: {there}; add a file of machine judgments, or name it: --machine FILE"
            )
        named: dict[str, str] = {}
        for path in machines:
            name, sign, file = path.partition("=")
            if not sign or os.path.exists(path):
                name, file = stem(path), path
            named[name if name not in named else file] = file
        return named, runs

    def print_parts(self, result: Audit) -> None:
        parts = dict(result.parts())
        for name in self._shown:
            if name not in parts:
                raise UsageError(f"--show {name}: this audit has no such part; {NEEDS[name]}")
        if len(self._shown) == 1:
            self.show_record(parts[self._shown[0]])
        elif self._shown and self.format == "json":
            self.emit_json({name: parts[name].to_dict() for name in self._shown})
        elif self._shown:
            self.show(*(parts[name].table() for name in self._shown))
        elif self.format == "json":
            self.emit(result.to_json())
        elif self.for_programs:
            self.show_record(result.agreement)
        else:
            self.show(*tables(result))

    def drawn(self, result: Audit) -> Figure:
        from cranfield.report.figures import describe_judge_confusion, describe_judge_ranks, describe_topic_leniency

        name = self.figure or ("confusion" if result.ranks is None else "ranks")
        if name == "ranks":
            if result.ranks is None:
                raise UsageError(f"--figure ranks: this audit has no ranks; {NEEDS['ranks']}")
            if len(measures := dict.fromkeys(result.ranks.measure.tolist())) > 1:
                raise UsageError(f"--plot draws one measure, but there are {len(measures)}; choose one with -m")
            return describe_judge_ranks(result.ranks)
        return (
            describe_judge_confusion(result.confusion)
            if name == "confusion"
            else describe_topic_leniency(result.topics)
        )


def shown_parts(texts: list[str] | None) -> tuple[str, ...]:
    """The parts that `--show` names, each once, in the order given."""
    from cranfield.building.machine.machine_audit import PARTS

    names = tuple(dict.fromkeys(name.strip() for text in texts or () for name in text.split(",")))
    for name in names:
        if name not in PARTS:
            raise UsageError(f"--show {name}: expected one or several of {', '.join(PARTS)}, separated by commas")
    return names


TWO = "give two runs or more, and judgments of two topics or more that both judged"
NEEDS = {
    "lengths": "give the lengths of documents: --lengths FILE",
    "judges": "give two machine files or more",
    "rankings": TWO,
    "changes": TWO,
    "ranks": TWO,
    "families": "give runs and their families: --families FILE",
}
"""What a part needs."""


def tables(result: Audit) -> list[Table]:
    """The tables for people: everything but long lists."""
    from dataclasses import replace

    shown: list[Any] = [result.agreement.table(), result.confusion.table(), result.topics.worst()]
    shown += [part.table() for part in (result.lengths, result.judges) if part is not None]
    if result.rankings is not None:
        shown.append(result.rankings.table())
    if result.changes is not None and len(result.changes.run):
        table = result.changes.table()
        count, rows = len(table.rows), table.rows[:MOST_CHANGES]
        more = (f"{count - MOST_CHANGES} more: --show changes",) if count > MOST_CHANGES else ()
        shown.append(replace(table, rows=rows, notes=more))
    if result.families is not None:
        shown.append(result.families.table())
    if result.notes:
        shown[0] = replace(shown[0], notes=(*shown[0].notes, *result.notes))
    return shown
