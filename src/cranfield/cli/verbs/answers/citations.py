"""`cranfield answers citations`: do citations support generated answers?"""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.options import Tables
from cranfield.cli.options.text_options import explain, measures, same_source
from cranfield.cli.score_printing import ScorePrinting, chosen_names
from cranfield.errors import UsageError


class CitationsVerb(Tables, ScorePrinting, of="answers.cited_answers:citation_scores"):
    """Score generated answers by their citations: are sentences supported, and do citations support them?

    Answers are JSON-lines with run_id, topic_id, references and answer, a list of sentences with text and citations, as
    in TREC's RAG track; or a table with the columns run, topic, sentence, citation and support. Support is judged as
    support (1), partial_support (0.5) or not_support (0), or by grades.

    With --against, a second file of judgments, such as that of a machine, is compared with the first.
    """

    repeats_warnings = True
    summary = "score answers by how well citations support them"
    examples = """
cranfield answers citations answers.jsonl --support support.tsv
cranfield answers citations citations.tsv -m citation-precision-strict,uncited -q
cranfield answers citations answers.jsonl --support support.tsv --explain 301
cranfield answers citations answers.jsonl --support people.tsv --against machine.tsv
"""

    answers: list[str] = argument(
        "ANSWERS", "Answers with citations, or a table of their citations.", required=True, reads=True
    )
    support: str | None = option(
        "--support FILE", "Judgments of citations: run, topic, sentence (from 1), citation, support.", reads=True
    )
    measures: list[str] | None = measures("answers.cited_answers:MEASURES")
    unknown: str = option(
        "--unknown RULE", "Support without meaning, such as failed: {names} (as if nobody had judged the citation).",
        default="error", solves="unknown=", names="answers.cited_answers:UNKNOWN",
    )  # fmt: skip
    against: str | None = option("--against FILE", "Other judgments of support, to measure agreement with.", reads=True)
    explain: str | None = explain()

    def check(self) -> None:
        super().check()
        if self.against and same_source([self.support] if self.support else self.answers, [self.against]):
            first = "--support" if self.support else "the answers"
            raise UsageError(f"--against {self.against} is the file of {first}, which agrees with itself")

    def run(self) -> None:
        from cranfield.answers.cited_answers import (
            DEFAULT,
            MEASURES,
            citation_scores,
            explain_citations,
            read_cited_answers,
            support_labels,
        )

        answers = read_cited_answers(self.answers, self.support, unknown=self.unknown)
        if self.against:
            from cranfield.building.agreement import agreement

            other = read_cited_answers(self.answers, self.against, unknown=self.unknown)
            labels = support_labels({self.support or self.answers[0]: answers, self.against: other})
            with self.progress("resampling") as progress:
                self.show_record(agreement(labels, progress=progress))
        elif self.explain is not None:
            self.show_record(explain_citations(answers, self.explain))
        else:
            names = chosen_names(self.measures, MEASURES, DEFAULT)
            scores = citation_scores(answers, names, **self.settings())
            self.show_scores(scores, {"uncited": "lower"})
