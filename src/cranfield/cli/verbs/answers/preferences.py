"""`cranfield answers preferences`: ranked lists, by preferences between documents."""

from __future__ import annotations

from cranfield.cli.declare import argument
from cranfield.cli.options import Ranked
from cranfield.cli.options.text_options import measures
from cranfield.cli.score_printing import ScorePrinting, chosen_names


class PreferencesVerb(Ranked, ScorePrinting, of="answers.document_preferences:document_preferences"):
    """Score runs by preferences between documents: which of two did an assessor find better?

    Preferences are lines of topic, first, second, preferred (one of the two, or tie) and perhaps assessor, as cranfield
    judge export preferences writes them. ppref is the share of the preferences with a document in the list that the
    list orders correctly, rpref the share of all, wpref weighs them by rank, and appref averages ppref over the ranks
    where rpref grows. Each may have a depth: ppref@10.
    """

    repeats_warnings = True
    summary = "score runs by preferences between documents"
    examples = """
cranfield judge export judgments.db preferences -o preferences.tsv
cranfield answers preferences preferences.tsv runs/*.run
cranfield answers preferences preferences.tsv runs/*.run -m ppref@10,wpref@10 --transitive -q
"""

    preferences: str = argument("PREFERENCES", "topic, first, second, preferred, assessor.", required=True, reads=True)
    runs: list[str] = argument("RUN", "A run.", required=True, reads=True)
    measures: list[str] | None = measures("answers.document_preferences:MEASURES")
    not_options = ("order", "ties")

    def run(self) -> None:
        from cranfield.answers.document_preferences import MEASURES, document_preferences

        runs = self.read_runs(self.runs)
        names = chosen_names(self.measures, MEASURES, MEASURES)
        order = self.order or "score"
        scores = document_preferences(self.preferences, runs, names, **self.settings(), order=order, ties=self.ties)
        self.show_scores(scores)
