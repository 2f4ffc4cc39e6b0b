"""`cranfield report`: one page with everything about an evaluation."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import MORE, RESULT, flag, option
from cranfield.cli.options import ab_options, report_options
from cranfield.cli.options.source_options import read_score_files
from cranfield.cli.printing import check_page, emit
from cranfield.errors import CranfieldWarning, UsageError, warn_caller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.online.experiments.ab_record import Analysis
    from cranfield.online.log_measures.measured_log import LogMeasures
    from cranfield.report.reports.experiment import Experiment
    from cranfield.scores.scores import Scores

MEASURES = "nDCG@10,AP,RR,P@10"


class ReportVerb(options.Source, report_options.Outlined):
    """Write a report of an evaluation: one HTML file that makes no request, with tables that sort and figures.

    It begins with the verdict, ranks the runs with intervals and groups, compares all pairs (with --baseline each run
    with that one), shows topics and what decides between the two best runs, how measures agree, what is not judged, the
    methods as a paragraph for a paper with BibTeX, and at the end what was evaluated: rules, warnings, files with their
    digests. Every table can be saved as CSV, every figure as SVG. The first measure ranks the runs.

    --docs shows titles and texts beside ranks. --answers, --log and --ab add sections about generated answers, live
    traffic and an experiment with users. --methods-text prints the methods alone.

    --sections chooses parts of it; --outline reads them, a title and texts from a TOML file with the entries title,
    introduction, sections and a table notes with text for each section. Sections that need runs are left out with
    --scores. Figures need the extra `plot` (pip install '.[plot]' in a clone) and 64 GB of addresses (ulimit -v), but
    little memory; summary, evaluated, pairs, explain, judgments and methods have no figures.
    """

    summary = "write one page: leaderboard, pairs, topics, methods"
    examples = """
cranfield report qrels.txt runs/*.run -o report.html
cranfield report --sample -o report.html  # try it on the bundled sample collection
cranfield report qrels.txt runs/*.run -m nDCG@10,AP --teams teams.csv --pool-depth 20 -o report.html
cranfield report qrels.txt runs/*.run --times times.tsv --topics topics.xml -o report.html
cranfield report qrels.txt runs/*.run --sections summary,leaderboard,methods -o short.html
cranfield report --scores scores.csv --outline report.toml -o report.html
cranfield report qrels.txt runs/*.run --baseline bm25 --docs documents.jsonl -o report.html
cranfield report qrels.txt runs/*.run --answers answers.csv --log log/ --ab users.csv --metric revenue -o report.html
cranfield report qrels.txt runs/*.run --methods-text  # the paragraph for a paper, and its references in BibTeX
"""

    output: str | None = option(
        "--output, -o FILE",
        "The HTML file to write; - is standard output.",
        group=RESULT,
        endings=(".html", ".htm", ".tex"),
    )
    methods: bool = flag(
        "--methods-text",
        "Print only the methods: a paragraph in LaTeX and its references in BibTeX; with -o paper.tex, write paper.tex "
        "and paper.bib.",
        group=RESULT,
    )
    baseline: str | None = option("--baseline, -b RUN", "Compare every other run with this one, not all pairs.")
    sections: str | None = report_options.sections("report.reports.run_report:SECTIONS", RESULT)
    teams: str | None = option("--teams FILE", "The teams: lines of run, team.", reads=True)
    times: str | None = option("--times FILE", "The times: lines of run, topic, seconds.", reads=True)
    topics: str | None = options.topic_texts()
    docs: str | None = option(
        "--docs FILE", "Documents with titles and texts: JSON-lines, a table or a folder.", reads=True
    )
    answers: list[str] | None = option(
        "--answers FILE",
        "Scores of answers, as the verbs of cranfield answers write them with --per-topic. May be repeated.",
        reads=True,
        group=MORE,
    )
    log: str | None = option(
        "--log LOG", "A log of queries and clicks: online measures by day.", reads=True, group=MORE
    )
    ab: str | None = option(
        "--ab TABLE", "An A/B test: a table of users with their arms; needs --metric.", reads=True, group=MORE
    )
    metric: list[str] | None = option(
        "--metric METRIC", "A metric of the A/B test, as in cranfield ab analyse. May be repeated.", group=MORE
    )
    pool_depth: int | None = options.pool_depth(
        "The number of first documents of each run that were judged, for the bias of the pool."
    )
    cutoff: int = option(
        "--cutoff, -k N", "Count unjudged documents in the first N of each list.", default=10, group=MORE
    )
    explained: int = option("--explained N", "Number of topics to explain rank by rank.", default=3, group=MORE)
    test: str = options.significance_test("t", "The test of pairs: {names}.")
    correction: str | None = option(
        "--correction NAME",
        "Correction of p-values: {names}; default: holm, or none for tests of all systems at once.",
        names="comparison.corrections:CORRECTIONS",
        group=MORE,
    )
    alpha: float = options.alpha()
    level: float = options.level()
    resamples: int = options.resamples(10_000, "Number of resamples, for tests that resample.")
    seed: int = options.seed()

    def check(self) -> None:
        super().check()
        from cranfield.comparison.compare import default_correction
        from cranfield.comparison.pair_tests import TESTS
        from cranfield.comparison.resampling import check_resampling
        from cranfield.comparison.test_result import check_alpha

        check_alpha("", self.alpha, "--alpha")
        check_resampling("report", self.resamples, self.seed, None)
        default_correction(self.correction, TESTS.find(self.test))
        if not 0 < self.level < 1:
            raise UsageError(f"--level == {self.level!r}, must be above 0 and below 1, such as 0.95")
        if self.ab is not None:
            ab_options.split_metrics(self.metric)
        elif self.metric is not None:
            raise UsageError(f"--metric {self.metric[0]} is for an A/B test; add --ab TABLE")
        check.whole("", **{"--cutoff": self.cutoff, "--pool-depth": self.pool_depth})
        check.not_negative("", **{"--explained": self.explained})
        from cranfield.report.reports.run_report import SECTIONS

        self._outline = self.read_outline(SECTIONS)
        if self.methods:
            return
        if self.output is None:
            raise UsageError("--output is missing; name the file to write, such as -o report.html")
        figures = any(name not in WITHOUT_FIGURES for name in self._outline.sections or ("topics",))
        check_page(self.output, figures=figures)

    def run(self) -> None:
        from cranfield.report.pages.figure_worker import DrawnBeside
        from cranfield.report.reports.run_report import make_report

        if self.methods:
            self._write_methods()
            return
        assert self.output is not None
        with DrawnBeside() as drawing:
            report = make_report(self._experiment(), self._outline, drawing)
            report_options.write_page(report, self.output, drawing)

    def _write_methods(self) -> None:
        """Print the paragraph and its references, or write them to two files."""
        from cranfield.report.reports.citations import methods_texts

        paragraph, *references = methods_texts(self._experiment())
        if self.output in (None, "-"):
            emit("\n\n".join([paragraph, *references]))
            return
        assert self.output is not None
        emit(paragraph, self.output)
        for text in references:
            emit(text, f"{os.path.splitext(self.output)[0]}.bib")

    def _experiment(self) -> Experiment:
        """What was read; its warnings are printed, and are in the report."""
        import warnings

        from cranfield.collection.topics import Topics
        from cranfield.errors import NotedWarning, SameRunWarning
        from cranfield.report.pages.report_parts import without_folders
        from cranfield.report.reports.experiment import Experiment, ReportSettings
        from cranfield.scores.efficiency import read_times

        names = ("test", "correction", "alpha", "level", "resamples", "seed", "cutoff", "pool_depth", "explained")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", SameRunWarning)  # the leaderboard names these runs
            parts = self._read()
        for warning in caught:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        # The notes of scores repeat a `NotedWarning`.
        texts = [str(warning.message) for warning in caught if not issubclass(warning.category, NotedWarning)]
        paths = [path for _, path in parts["files"]]
        texts = [without_folders(text, paths) for text in texts]
        notes = tuple(without_folders(note, paths) for note in parts["scores"].notes)
        parts["scores"] = replace(parts["scores"], notes=notes)
        return Experiment(
            **parts,
            teams=self._teams(parts["scores"].runs, parts["files"]),
            topics=None if self.topics is None else Topics.read(self.topics),
            settings=ReportSettings(**self.values(*names), baseline=self._baseline(parts["scores"])),
            documents=self._documents(),
            answers=read_score_files(self.answers, None) if self.answers else None,
            log=self._measured_log(),
            ab=self._experiment_with_users(),
            times=None if self.times is None else read_times(self.times),
            warnings=tuple(dict.fromkeys(texts)),
        )

    def _documents(self) -> str | None:
        """The documents, whose texts are read later; an error if there are none."""
        if self.docs is not None:
            from cranfield.building.serve.project.judging_project import read_documents

            next(read_documents(self.docs), None)
        return self.docs

    def _baseline(self, scores: Scores) -> str | None:
        return None if self.baseline is None else self.run_named(self.baseline, scores)

    def _measured_log(self) -> LogMeasures | None:
        """The usual online measures of the log, by day."""
        if self.log is None:
            return None
        from cranfield.online.log_measures import measure_log
        from cranfield.online.logs import read_log

        log = read_log(self.log)
        with log.engine:
            measured = measure_log(log, by="day", level=self.level)
        inside = f"{self.log.rstrip('/')}/"  # the page names files, not folders
        return replace(measured, notes=tuple(note.replace(inside, "") for note in measured.notes))

    def _experiment_with_users(self) -> Analysis | None:
        if self.ab is None:
            return None
        from cranfield.online.experiments.ab_analysis import analyse

        return analyse(self.ab, ab_options.split_metrics(self.metric), alpha=self.alpha)

    def _teams(self, runs: Sequence[str], files: Sequence[tuple[str, str]]) -> dict[str, str] | None:
        """{run: team} of the runs that have one; a table of other runs only is an error."""
        if self.teams is None:
            return None
        from cranfield.comparison.leaderboard import teams_of_runs

        paths = [path for what, path in files if what == "run"]
        by_run = dict(zip(runs, paths, strict=True)) if len(paths) == len(runs) else {}
        teams, notes = teams_of_runs(self.teams, runs, by_run)
        for note in notes:
            warn_caller(note, CranfieldWarning)
        return {run: team for run, team in teams.items() if team}

    def _read(self) -> dict[str, Any]:
        """The scores and their files; from runs also the judgments and the runs, read once for all sections."""
        from cranfield.cli.options.option_values import chosen
        from cranfield.collection.source import named_paths
        from cranfield.evaluation.evaluator import evaluate

        named = self.values("topics", "teams", "times", "docs", "log", "ab", *SIDE_FILES)
        side = [
            (HOLDS.get(what, what.replace("_", " ")), path)
            for what, path in named.items()
            if path and os.path.isfile(path)
        ]
        side += [("scores of answers", path) for path in self.answers or ()]
        if self.scores:
            return {"scores": self.read_scores(), "files": (*(("scores", path) for path in self.scores), *side)}
        qrels_path, run_paths = self.files()
        qrels, runs = self.read_qrels(qrels_path), self.read_runs(run_paths)
        with self.progress("scoring") as progress:
            wanted = chosen(self.measures or [MEASURES])
            scores = evaluate(qrels, runs, wanted, missing=self.missing, progress=progress, **self.join_options())
        files = (("judgments", qrels_path), *(("run", path) for _, path in named_paths(run_paths)), *side)
        by_name = dict(zip(scores.runs, runs.values(), strict=True))
        return {"scores": scores, "qrels": qrels, "runs": by_name, "options": self.joining(), "files": files}


WITHOUT_FIGURES = ("summary", "evaluated", "pairs", "explain", "judgments", "methods")
HOLDS = {"docs": "documents", "ab": "A/B test"}
"""What the files of some options hold; of the others, it is the name of the option."""
SIDE_FILES = ("intent_probabilities", "intent_types", "topic_numbers", "lengths", "inclusion", "together")
"""Options that may name a file, whose digest is then in the report."""
