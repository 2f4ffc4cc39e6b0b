"""`cranfield answers trailtext`: any text that users have read."""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.options.option_values import measure_names
from cranfield.cli.printing import Plotting
from cranfield.cli.score_printing import ScorePrinting
from cranfield.errors import UsageError


class TrailtextVerb(Plotting, ScorePrinting, of="answers.trailtexts:trailtext_scores"):
    """Score any text that users have read, string by string, by U-measure.

    A row is a string: topic, gain, and length in characters (or text, whose characters are counted), in the order of
    reading; and perhaps string (its name) and run. Summaries, result pages with advertisements, ranked lists and
    sessions are all scored alike. With --explain, a table says what each string adds, and --plot draws it.
    """

    repeats_warnings = True
    summary = "score any text that users have read: U-measure"
    examples = """
cranfield answers trailtext mine.tsv other.tsv
cranfield answers trailtext mine.tsv -m 'U(L=1000)' --ideal minimal.tsv
cranfield answers trailtext mine.tsv --explain 1 --plot read.svg
"""

    files: list[str] = argument("TRAILTEXTS", "topic, gain, length or text.", required=True, reads=True)
    ideal: str | None = option(
        "--ideal FILE", "Divide by the score of these trailtexts, one for each topic.", reads=True
    )
    measures: list[str] | None = option("--measure, -m MEASURE", "U with its parameters; default: U. May be repeated.")
    explain: str | None = option("--explain TOPIC", "Print what each string of a topic adds.")

    def check(self) -> None:
        super().check()
        if self.explain is None and self.plot is not None:
            raise UsageError("--plot draws the text of one topic; give --explain TOPIC")
        if self.explain is not None and self.ideal is not None:
            raise UsageError("--explain shows what strings add before the division; leave out --ideal")

    def run(self) -> None:
        from cranfield.answers.trailtexts import (
            as_trail_measures,
            explain_trailtext,
            ideal_texts,
            named_topic,
            read_trailtexts,
            trailtext_scores,
        )

        trailtexts = read_trailtexts(self.files)
        chosen = as_trail_measures(measure_names(self.measures) if self.measures else ["U"])
        if self.explain is None:
            ideal = None if self.ideal is None else ideal_texts(self.ideal)
            self.show_scores(trailtext_scores(trailtexts, chosen, ideal=ideal))
            return
        texts = named_topic(trailtexts, self.explain)
        explained = [
            explain_trailtext(read, measure, run=run, topic=self.explain) for run, read in texts for measure in chosen
        ]
        self.show_explained(explained, [f"{e.measure}: {e.run}, topic {e.topic}" for e in explained])
        if self.plot is not None:
            from cranfield.report.figures import describe_trailtext

            if len(texts) > 1 or chosen[0].decay != "linear" or len(chosen) > 1:
                raise UsageError("--plot draws one run and U with linear decay; give one file and one measure")
            run, read = texts[0]
            title = f"Text read on topic {self.explain} of {run}"
            self.save_figure(describe_trailtext(read, chosen[0].L, title=title))
