"""`cranfield answers one-click`: outputs of one click access, by what they tell and how early."""

from __future__ import annotations

from cranfield.cli.declare import option
from cranfield.cli.options import Tables
from cranfield.cli.options.text_options import explain, measures, systems
from cranfield.cli.score_printing import ScorePrinting, chosen_names
from cranfield.errors import UsageError


class OneClickVerb(Tables, ScorePrinting, of="answers.one_click:one_click_scores"):
    """Score outputs of one click access: do they tell the important things early and briefly?

    S rewards iUnits that come early, T those told in few words; S-flat and T-flat are cut off at 1, and S# combines
    them. iUnits have topic, iunit, weight and vital_string; spans have topic, iunit, run (or doc), start and end, as
    judge export writes them.
    """

    repeats_warnings = True
    summary = "score outputs of one click access: S, T, S#"
    examples = """
cranfield answers one-click outputs/*.jsonl --iunits iunits.tsv --spans spans.tsv
cranfield answers one-click mine.jsonl --iunits iunits.tsv --spans spans.tsv --patience 500 --beta 10 -q
cranfield answers one-click mine.jsonl --iunits iunits.tsv --spans spans.tsv --explain 1C2-E-0001
"""

    systems: list[str] = systems()
    iunits: str | None = option("--iunits FILE", "iUnits: topic, iunit, weight, vital_string.", reads=True)
    spans: str | None = option(
        "--spans FILE", "Where iUnits are in outputs: topic, iunit, run or doc, start, end.", reads=True
    )
    measures: list[str] | None = measures("answers.one_click:MEASURES")
    offsets: str = option(
        "--offsets UNIT", "What start and end count, from 0: {names}.", default="characters",
        names="answers.passages:OFFSETS", solves="offsets='",
    )  # fmt: skip
    explain: str | None = explain()

    def check(self) -> None:
        super().check()
        if self.iunits is None or self.spans is None:
            raise UsageError("iUnits and their places in outputs are needed; give --iunits FILE and --spans FILE")

    def run(self) -> None:
        from cranfield.answers.answer_texts import read_answers, texts_of_runs
        from cranfield.answers.one_click import MEASURES, explain_one_click, one_click_scores, read_ends, read_iunits

        answers = read_answers(self.systems)
        texts = texts_of_runs(answers)
        units = read_iunits(self.iunits or "")
        ends, notes = read_ends(self.spans or "", units, answers, offsets=self.offsets)
        settings = self.settings()
        if self.explain is None:
            names = chosen_names(self.measures, MEASURES, MEASURES)
            self.show_scores(one_click_scores(texts, units, ends, names, notes=notes, **settings))
            return
        topic = self.explain
        explained = [
            explain_one_click(
                of_run[topic], units, ends.get(run, {}).get(topic, {}), topic, patience=settings["patience"],
                white_space=settings["white_space"], run=run,
            )
            for run, of_run in texts.items()
            if topic in of_run
        ]  # fmt: skip
        if not explained:
            raise UsageError(f"--explain {topic}: there is no output for this topic")
        self.show_explained(explained, [f"{entry.run} on topic {topic}" for entry in explained])
