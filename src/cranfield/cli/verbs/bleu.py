"""`cranfield bleu`: texts against references by n-gram precision."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import MORE, flag, option
from cranfield.cli.options.text_options import ReferenceTexts
from cranfield.cli.score_printing import TopicPrinting


class BleuVerb(ReferenceTexts, TopicPrinting):
    """Compare texts with references by BLEU: n-gram precision, with a penalty for texts that are too short.

    BLEU is computed over all texts of a system together, as sacreBLEU does; "mean of texts" is the mean of the scores
    of single texts, which -q prints. Scores are between 0 and 1; sacreBLEU prints 100 times as much.
    """

    repeats_warnings = True
    summary = "texts against references: BLEU"
    examples = """
cranfield bleu systems/*.jsonl --reference references.jsonl
cranfield bleu mine.tsv -r a.tsv -r b.tsv --tokeniser none --smoothing floor --smoothing-value 0.1
cranfield bleu mine.jsonl -r references.jsonl -q --format csv -o bleu.csv
"""

    tokeniser: str = option(
        "--tokeniser NAME",
        "How texts become words: {names} (the rules of mteval-v13a, those of mteval-v14 for all scripts, every "
        "character, or blanks).",
        default="13a", names="answers.bleu_scores:TOKENISERS",
    )  # fmt: skip
    smoothing: str = option(
        "--smoothing NAME",
        "What a precision of 0 becomes: {names}.",
        default="exp",
        names="answers.bleu_scores:SMOOTHING",
    )
    smoothing_value: float | None = option(
        "--smoothing-value X", "The value of floor (default: 0.1) and of add-k (default: 1).", group=MORE
    )
    lower_case: bool = flag("--lower-case", "Ignore the difference between capital and small letters.")
    most: int = option("--most-n N", "The longest n-grams.", default=4, group=MORE)
    threads: int | None = options.threads()

    def run(self) -> None:
        from cranfield.answers.bleu_scores import bleu

        settings = self.values("tokeniser", "smoothing", "smoothing_value", "lower_case", "most", "threads")
        result = bleu(*self.read_texts(), **settings)
        self.show_with_topics(result.scores, result)
