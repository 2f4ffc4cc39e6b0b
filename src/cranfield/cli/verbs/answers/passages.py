"""`cranfield answers passages`: ranked passages, by the characters that they show."""

from __future__ import annotations

from cranfield.cli.declare import argument
from cranfield.cli.options import Tables
from cranfield.cli.options.text_options import measures
from cranfield.cli.score_printing import ScorePrinting, chosen_names


class PassagesVerb(Tables, ScorePrinting, of="answers.passages:passage_scores"):
    """Score ranked lists of passages by their characters: precision, recall, F and bpref.

    Relevant passages have the columns topic, doc, start and end, as judge export writes spans; a judged document
    without relevant passages has a row with start and end 0. Runs have topic, doc, start, end, and rank or score.
    Offsets count characters from 0, and the end is not included.
    """

    repeats_warnings = True
    summary = "score ranked passages by their characters"
    examples = """
cranfield answers passages spans.tsv mine.tsv other.tsv
cranfield answers passages spans.tsv mine.tsv -m char-bpref --characters 12000 -q
"""

    relevant: str = argument("SPANS", "Relevant passages: topic, doc, start, end.", required=True, reads=True)
    runs: list[str] = argument(
        "RUN", "Runs of passages: topic, doc, start, end, rank or score.", required=True, reads=True
    )
    measures: list[str] | None = measures("answers.passages:MEASURES")

    def run(self) -> None:
        from cranfield.answers.passages import MEASURES, passage_scores, read_passage_runs, read_relevant_passages

        relevant, notes = read_relevant_passages(self.relevant)
        names = chosen_names(self.measures, MEASURES, MEASURES)
        self.show_scores(passage_scores(relevant, read_passage_runs(self.runs), names, notes=notes, **self.settings()))
