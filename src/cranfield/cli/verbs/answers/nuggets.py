"""`cranfield answers nuggets`: answers by the nuggets that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli.declare import MORE, declared, option
from cranfield.cli.options import Tables
from cranfield.cli.options.text_options import WordOptions, explain, same_source, systems
from cranfield.cli.score_printing import ScorePrinting, chosen_names
from cranfield.errors import UsageError, warn_caller

if TYPE_CHECKING:
    from cranfield.answers.nugget_files import Assignments, Nugget
    from cranfield.scores.scores import Scores

PYRAMIDS = ("pyramid", "pyramid-modified")
EVERY = (
    "all", "all-strict", "vital", "vital-strict", "weighted", "weighted-strict", "W-Rec", "Prec", "F", *PYRAMIDS,
    "POURPRE",
)  # fmt: skip


class NuggetsVerb(WordOptions, Tables, ScorePrinting, of="answers.nugget_scores:nugget_scores"):
    """Score answers by the nuggets of information that were found in them, by people, by a machine, or by words.

    all, vital and weighted are the nugget scores of TREC's RAG track; W-Rec, Prec and F those of question answering;
    pyramid scores need the weight of each nugget; POURPRE finds nuggets by their words, without assignments. Prec, F
    and POURPRE need the texts of answers. Files are those that judge export writes, or tables and JSON-lines with the
    same columns: nuggets have topic, nugget, type (vital or okay), weight and text; assignments have topic, nugget, run
    (or answer) and support.

    With --against, a second file of assignments, such as that of a machine, is compared with the first, nugget by
    nugget; cranfield labels agree explains the coefficients.
    """

    repeats_warnings = True
    summary = "score answers by the nuggets they contain"
    examples = """
cranfield answers nuggets --assignments assignments.tsv --nuggets nuggets.tsv
cranfield answers nuggets answers/*.jsonl --assignments assignments.tsv --nuggets nuggets.tsv -m W-Rec,Prec,F --beta 3
cranfield answers nuggets answers/*.jsonl --nuggets nuggets.tsv -m POURPRE --stemmer porter
cranfield answers nuggets --assignments people.tsv --against machine.tsv
cranfield answers nuggets --assignments assignments.jsonl --explain 301
"""

    systems: list[str] | None = systems(required=False)
    nuggets: str | None = option(
        "--nuggets FILE", "The nuggets of each topic; default: those in the assignments.", reads=True
    )
    assignments: str | None = option("--assignments FILE", "Which answer has which nugget.", reads=True)
    measures: list[str] | None = option(
        "--measure, -m MEASURE", "A measure, or several separated by commas: {names}. May be repeated.", choices=(),
        names=" ".join(EVERY),
    )  # fmt: skip
    votes: str | None = option(
        "--votes FILE", "Votes of several assessors: topic, nugget, assessor, type (vital or okay).", reads=True
    )
    models: int | None = option("--model-summaries N", "The number of model summaries behind a pyramid.", group=MORE)
    units: str | None = option(
        "--units FILE", "The number of content units of each summary, for pyramids: run, topic, number.", group=MORE,
        reads=True,
    )  # fmt: skip
    average: str = option(
        "--average KIND", "The average over nuggets in POURPRE: {names}.", default="macro",
        names="answers.pourpre_scores:AVERAGES", group=MORE,
    )  # fmt: skip
    idf: str | None = option("--idf FILE", "Weights of words for POURPRE: term, idf.", reads=True, group=MORE)
    full_grade: float | None = option(
        "--full-grade G",
        "In assignments by grades, the lowest that is full support; lower ones above 0 are partial; default: 2 if "
        "there are grades above 1, else 1.",
        group=MORE,
    )
    unknown: str = option(
        "--unknown RULE",
        "Support and importance without meaning, such as failed: {names} (such support is 0, and nuggets of such "
        "importance count only in all and all-strict).",
        default="error", solves="unknown=", names="answers.nugget_files:UNKNOWN", group=MORE,
    )  # fmt: skip
    against: str | None = option("--against FILE", "Other assignments, to measure agreement with.", reads=True)
    explain: str | None = explain()
    weighting: str

    def given(self) -> bool:
        return bool(self.systems or self.assignments or self.nuggets)

    def check(self) -> None:
        super().check()
        self.names = chosen_names(self.measures, EVERY, ())
        for name in self.names:
            if name not in EVERY:
                from cranfield.check import nearest

                raise nearest(name, EVERY, "measure")
        if self.assignments is None and (self.nuggets is None or not self.systems):
            raise UsageError(
                "nothing to score; give --assignments FILE, or texts of systems and --nuggets FILE for POURPRE"
            )
        if self.assignments is None and set(self.names) - {"POURPRE"}:
            raise UsageError(
                f"{', '.join(set(self.names) - {'POURPRE'})}: which answer has which nugget? Give --assignments FILE"
            )
        if self.votes and not self.nuggets:
            raise UsageError("--votes are about nuggets; give them: --nuggets FILE")
        if "POURPRE" in self.names and not (self.systems and self.nuggets):
            raise UsageError("POURPRE compares texts with nuggets; give texts of systems and --nuggets FILE")
        self._check_purpose()
        if self.against and not self.assignments:
            raise UsageError("--against compares two files of assignments; give --assignments FILE")
        if self.against and same_source([self.assignments or ""], [self.against]):
            raise UsageError(f"--against {self.against} is the file of --assignments, which agrees with itself")

    def _check_purpose(self) -> None:
        """Options that would do nothing are errors."""
        finds_words = "POURPRE" in self.names or self.assignments is None
        for purpose, applies, names in (
            ("POURPRE", finds_words, ("tokens", "stemmer", "stop_words", "exceptions", "sentences", "average", "idf")),
            (" and ".join(PYRAMIDS), bool(set(self.names) & set(PYRAMIDS)), ("models", "units")),
        ):
            for parameter in declared(type(self)):
                if parameter.name in names and not applies and getattr(self, parameter.name) != parameter.default:
                    raise UsageError(f"{parameter.label} applies only to {purpose}")

    def run(self) -> None:
        from cranfield.answers.answer_texts import read_answers, texts_of_runs
        from cranfield.answers.nugget_files import UnknownValues, read_assignments, read_nuggets

        answers = read_answers(self.systems) if self.systems else []
        unknown = UnknownValues(self.unknown) if self.assignments else self.unknown
        nuggets = read_nuggets(self.nuggets, self.votes, unknown=unknown) if self.nuggets else None
        more = self.values("full_grade")
        assigned = (
            read_assignments(self.assignments, nuggets, answers, unknown=unknown, **more) if self.assignments else None
        )
        if self.against and assigned:
            other = read_assignments(self.against, nuggets, answers, unknown=self.unknown, **more)
            self._agreement(assigned, other)
        elif self.explain is not None:
            self._explain(assigned, nuggets or {}, texts_of_runs(answers))
        else:
            self.show_scores(self._scores(assigned, nuggets or {}, texts_of_runs(answers) or None))

    def _scores(
        self,
        assigned: Assignments | None,
        nuggets: dict[str, dict[str, Nugget]],
        texts: dict[str, dict[str, str]] | None,
    ) -> Scores:
        from cranfield.answers.nugget_scores import nugget_scores, pyramid_scores, read_units
        from cranfield.answers.pourpre_scores import pourpre, read_idf
        from cranfield.scores.scores import Scores

        parts: list[Scores] = []
        plain = [name for name in self.names if name not in (*PYRAMIDS, "POURPRE")]
        settings = self.settings()
        if assigned and (plain or not self.names):
            parts.append(nugget_scores(assigned, plain, texts=texts, **settings))
        partial_matches = settings.pop("partial_matches")
        if assigned and (wanted := [name for name in self.names if name in PYRAMIDS]):
            units = read_units(self.units) if self.units else None
            parts.append(
                pyramid_scores(
                    assigned, measures=wanted, units=units, models=self.models, partial_matches=partial_matches
                )
            )
        if "POURPRE" in self.names or not assigned:
            idf = read_idf(self.idf) if self.idf else None
            rules = self.word_rules()
            parts.append(pourpre(texts or {}, nuggets, rules=rules, average=self.average, idf=idf, **settings))
        scores = parts[0] if len(parts) == 1 else Scores.combine(*parts)
        return scores.select(measures=self.names) if self.names else scores

    def _explain(
        self, assigned: Assignments | None, nuggets: dict[str, dict[str, Nugget]], texts: dict[str, dict[str, str]]
    ) -> None:
        from cranfield.answers.nugget_scores import explain_nuggets
        from cranfield.answers.pourpre_scores import explain_pourpre, read_idf

        topic = self.explain or ""
        if assigned and "POURPRE" not in self.names:
            self.show_record(explain_nuggets(assigned, topic, weighting=self.weighting))
            return
        idf = read_idf(self.idf) if self.idf else None
        rules = self.word_rules()
        explained = [
            explain_pourpre(of_run[topic], nuggets, topic, rules=rules, idf=idf, run=run)
            for run, of_run in texts.items()
            if topic in of_run
        ]
        if not explained:
            raise UsageError(f"--explain {topic}: there is no text for this topic")
        self.show_explained(explained, [f"POURPRE of {entry.run} on topic {topic}" for entry in explained])

    def _agreement(self, first: Assignments, second: Assignments) -> None:
        from cranfield.answers.nugget_scores import assignment_labels
        from cranfield.building.agreement import agreement
        from cranfield.collection.source import stem

        names = [stem(self.assignments or ""), stem(self.against or "")]
        if names[0] == names[1]:
            names = [self.assignments or "", self.against or ""]
        for name, notes in zip(names, (first.notes, second.notes), strict=True):
            for note in notes:
                warn_caller(f"{name}: {note}")
        labels = assignment_labels(dict(zip(names, (first, second), strict=True)))
        with self.progress("resampling") as progress:
            self.show_record(agreement(labels, progress=progress))
