"""`cranfield answers bleu`: texts against references by n-gram precision."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.options.text_options import ReferenceTexts
from cranfield.cli.score_printing import TopicPrinting


class BleuVerb(ReferenceTexts, TopicPrinting, of="answers.bleu_scores:bleu"):
    """Compare texts with references by BLEU: n-gram precision, with a penalty for texts that are too short.

    BLEU is computed over all texts of a system together, as sacreBLEU does; "mean of texts" is the mean of the scores
    of single texts, which -q prints. Scores are between 0 and 1; sacreBLEU prints 100 times as much.
    """

    repeats_warnings = True
    summary = "score texts against references: BLEU"
    examples = """
cranfield answers bleu systems/*.jsonl --reference references.jsonl
cranfield answers bleu mine.tsv -r a.tsv -r b.tsv --tokeniser none --smoothing floor --smoothing-value 0.1
cranfield answers bleu mine.jsonl -r references.jsonl -q --format csv -o bleu.csv
"""

    threads: int | None = options.threads()

    def run(self) -> None:
        from cranfield.answers.bleu_scores import bleu

        result = bleu(*self.read_texts(), **self.settings(), threads=self.threads)
        self.show_with_topics(result.scores, result)
