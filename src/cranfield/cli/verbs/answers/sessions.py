"""`cranfield answers sessions`: sessions of several queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import READING, SIDE, argument, declared, option
from cranfield.cli.options import Graded
from cranfield.cli.options.option_values import measure_names
from cranfield.cli.printing import Plotting
from cranfield.cli.score_printing import ScorePrinting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.answers.sessions import Sessions


OPERATIONS = "answers.sessions.session_scores:session_scores answers.sessions.browsing_paths:expected_over_paths"
OF_PATHS = ("down", "reform", "samples", "seed")
"""The options that apply only to --paths."""


class SessionsVerb(Graded, Plotting, ScorePrinting, of=OPERATIONS):
    """Score sessions of several queries by their lists, clicks and time.

    Each file has the sessions of one system: XML of the TREC Session tracks, or JSON-lines with an object for each
    query: session, topic, query (its number), text, time, list (documents from the top) and clicks, each with doc or
    rank, time and end. The session takes the place of the topic: other verbs read the scores that -q --format json
    prints. Write none in place of the judgments if gains come from clicks alone. With --explain and -m sU, --plot draws
    the text that the user reads.
    """

    repeats_warnings = True
    summary = "score sessions of several queries: sDCG, sRBP, session U"
    examples = """
cranfield answers sessions qrels.txt sessions.xml
cranfield answers sessions qrels.txt mine.jsonl other.jsonl -m 'nsDCG@10,esAP' -q
cranfield answers sessions none mine.jsonl --gains-from clicks -m sU --lengths lengths.tsv
cranfield answers sessions qrels.txt mine.jsonl -m sDCG --explain s1
cranfield answers sessions qrels.txt sessions.xml --write sessions.jsonl
"""

    qrels: str = argument("QRELS", "The judgments; the word none if gains come from clicks.", required=True, reads=True)
    files: list[str] = argument("SESSIONS", "Files of sessions, one for each system.", required=True, reads=True)
    measures: list[str] | None = option(
        "--measure, -m MEASURE", "A measure, such as sRBP(p=0.9), or several: {names}. May be repeated.",
        names="answers.sessions:SESSION_MEASURES",
    )  # fmt: skip
    lengths: str | None = option(
        "--lengths FILE", "Document lengths in characters, for sU: lines of doc and length.", group=SIDE, reads=True,
        solves="give lengths=",
    )  # fmt: skip
    missing_length: str | None = option(
        "--missing-length N",
        "Length of documents that are not in the file of lengths: a number, or mean; default: stop with an error.",
        group=SIDE, solves="missing_length=",
    )  # fmt: skip
    session_topics: str | None = option(
        "--session-topics FILE",
        "The topic of each session, for files that do not name it, as those of TREC 2011: lines of session and topic.",
        group=READING, reads=True, solves="read_session_topics",
    )  # fmt: skip
    explain: str | None = option("--explain SESSION", "Show how the score of this session comes about.")
    paths: str | None = option(
        "--paths MEASURE",
        "The expectation of any measure of ranked lists over browsing paths, such as ERR@10, by session: exact if "
        "there are few paths, sampled with an interval if there are many.",
    )
    write: str | None = option("--write FILE", "Write the sessions as JSON-lines instead of scoring them.", writes=True)

    gains: str
    click_gain: float
    duplicates: str

    def check(self) -> None:
        super().check()
        self.names = measure_names(self.measures) if self.measures else []
        if self.write is not None:
            if len(self.files) != 1:
                raise UsageError(f"--write writes the sessions of one file, but {len(self.files)} are given")
            if self.measures or self.explain:
                raise UsageError("--write does not score; leave out -m and --explain")
        if self.paths is not None and (self.measures or self.explain or self.write or self.per_topic or self.level):
            raise UsageError("--paths prints one measure; leave out -m, -q, --ci, --explain and --write")
        if self.paths is not None and len(self.files) != 1:
            raise UsageError(f"--paths reads the sessions of one file, but {len(self.files)} are given")
        for parameter in declared(type(self)):
            if self.paths is None and parameter.name in OF_PATHS and getattr(self, parameter.name) != parameter.default:
                raise UsageError(f"{parameter.label} applies only to --paths")
        if self.gains != "clicks" and self.click_gain != 0.5:
            raise UsageError("--click-gain applies only to --gains-from clicks")
        if self.plot is not None and (self.explain is None or [n.partition("(")[0] for n in self.names] != ["sU"]):
            raise UsageError("--plot draws the text of one session; give --explain SESSION and -m sU")

    def run(self) -> None:
        from cranfield.answers.sessions import as_session_measure, session_scores
        from cranfield.answers.sessions.session_scores import DEFAULT

        runs = self._read()
        if self.write is not None:
            self._write(next(iter(runs.values())))
            return
        if self.paths is not None:
            self._paths(next(iter(runs.values())))
            return
        measures = [as_session_measure(name) for name in self.names or DEFAULT]
        if self.explain is not None:
            self._explain(runs, measures)
            return
        scores = session_scores(runs, self._grades(), measures, **self._list_settings())
        self.show_scores(scores, better={str(measure): measure.better for measure in measures})

    def _read(self) -> dict[str, Sessions]:
        from cranfield.answers.sessions import read_session_topics, read_sessions, with_topics
        from cranfield.collection.source import expand, stem

        paths = expand(self.files)
        names = [stem(path) for path in paths]
        names = names if len(set(names)) == len(names) else paths
        runs = {name: read_sessions(path) for name, path in zip(names, paths, strict=True)}
        if self.session_topics is None:
            return runs
        topics = read_session_topics(self.session_topics)
        return {name: with_topics(sessions, topics) for name, sessions in runs.items()}

    def _grades(self) -> dict[str, dict[str, Any]] | None:
        from cranfield.collection.qrels import Qrels

        return None if self.qrels == "none" else Qrels.read(self.qrels).to_dict()

    def _list_settings(self) -> dict[str, Any]:
        length: float | str | None = self.missing_length
        if length is not None and length != "mean":
            try:
                length = float(length)
            except ValueError:
                raise UsageError(f"--missing-length {length}: expected a number or mean") from None
        return {**self.settings(), "lengths": self.lengths, "missing_length": length}

    def _paths(self, sessions: Sessions) -> None:
        from cranfield.answers.sessions import expected_over_paths

        grades = self._grades()
        if grades is None or self.gains != "judgments" or self.duplicates != "first":
            raise UsageError("--paths needs judgments, and takes neither --gains-from nor --duplicates")
        with self.progress("paths") as progress:
            settings = self.settings("expected_over_paths")
            result = expected_over_paths(sessions.sessions, grades, self.paths or "", progress=progress, **settings)
        self.show_record(replace(result, notes=(*sessions.notes, *result.notes)))

    def _write(self, sessions: Sessions) -> None:
        import warnings

        from cranfield.answers.sessions import write_sessions
        from cranfield.answers.sessions.session_files import summary_note
        from cranfield.cli.printing import Note

        write_sessions(self.write or "-", sessions)
        for note in (*sessions.notes, f"wrote {summary_note(sessions)} to {self.write}"):
            warnings.warn(note, Note, stacklevel=2)

    def _explain(self, runs: dict[str, Sessions], measures: list[Any]) -> None:
        from cranfield.answers.sessions import SessionLists, explain_session, session_trailtext

        grades, settings = self._grades(), self._list_settings()
        name = self.explain or ""
        holders = {run: sessions for run, sessions in runs.items() if any(s.name == name for s in sessions.sessions)}
        for run, sessions in (holders or runs).items():
            session = sessions.named(name)
            if self.plot is not None:
                from cranfield.report.figures import describe_trailtext

                lists = SessionLists.of([session], grades, **settings)
                title = f"Text read in session {name} of {run}"
                read = session_trailtext(measures[0], lists)
                self.save_figure(describe_trailtext(read, measures[0].L, title=title))
        explained = [
            explain_session(sessions.named(name), grades, measure, run=run, **settings)
            for run, sessions in holders.items()
            for measure in measures
        ]
        self.show_explained(explained, [f"{entry.measure}: {entry.run}, session {name}" for entry in explained])
