"""`cranfield answers rouge`: summaries against reference summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, option
from cranfield.cli.options.text_options import ReferenceTexts, WordOptions, explain, measures
from cranfield.cli.score_printing import TopicPrinting, chosen_names
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.answers.tokenisation import WordRules


class RougeVerb(WordOptions, ReferenceTexts, TopicPrinting, of="answers.rouge_scores:rouge"):
    """Compare summaries with reference summaries: recall, precision and F of n-grams, skip-bigrams and subsequences.

    ROUGE-1.5.5 is followed word for word by default, except that its ROUGE-L is ROUGE-Lsum here, and ROUGE-L compares
    whole texts, as in rouge-score. ROUGE-W and ROUGE-SU of ROUGE-1.5.5 differ a little from the paper; --dialect paper
    follows that. A name with -R, -P or -F at the end gives one value.

    With -q and --format csv, the scores of each topic are what compare, meta, plot and other verbs read with --scores.
    """

    repeats_warnings = True
    summary = "score summaries against references: ROUGE"
    examples = """
cranfield answers rouge systems/*.jsonl --reference references.jsonl
cranfield answers rouge mine/ other/ -r models/ -m ROUGE-1,ROUGE-SU4 --stemmer rouge --resamples 1000
cranfield answers rouge mine.jsonl -r references.jsonl -m ROUGE-2 --explain 301
cranfield answers rouge mine.tsv -r references.tsv -m ROUGE-L-F --tokens unicode -q --format csv -o rouge.csv
"""

    measures: list[str] | None = measures("answers.rouge_scores:KNOWN", "; other numbers are possible")
    most_words: int | None = option(
        "--most-words N", "Use the first N words of each text, as ROUGE-1.5.5 -l.", group=MORE
    )
    most_bytes: int | None = option(
        "--most-bytes N", "Use the first N bytes of each text, as ROUGE-1.5.5 -b.", group=MORE
    )
    explain: str | None = explain()
    several: str
    beta: float
    alpha: float | None
    dialect: str
    ci: bool
    resamples: int
    level: float
    seed: int
    threads: int | None = options.threads()

    def check(self) -> None:
        super().check()
        from cranfield.answers.rouge_scores import DEFAULT, KNOWN, parse_rouge

        self.names = chosen_names(self.measures, KNOWN, DEFAULT)
        for name in self.names:
            parse_rouge(name)
        if self.alpha is not None and self.beta != 1:
            raise UsageError("--alpha and --beta both say how F is weighed; give one of them")
        if self.ci and (self.resamples or self.seed):
            raise UsageError("--ci needs no resamples and no seed; leave out --resamples and --seed")
        if not self.resamples and (self.seed or (self.level != 0.95 and not self.ci)):
            raise UsageError("--seed and --level are for intervals; give --ci, or --resamples N, such as 1000")
        if self.explain is not None and (self.per_topic or self.resamples or self.ci):
            raise UsageError("--explain shows one topic; leave out -q, --ci and --resamples")

    def run(self) -> None:
        from cranfield.answers.rouge_scores import rouge

        runs, references = self.read_texts()
        rules = self.word_rules(most_words=self.most_words, most_bytes=self.most_bytes)
        if self.explain is not None:
            self._explain(runs, references, rules)
            return
        with self.progress("counting") as progress:
            result = rouge(
                runs, references, self.names, rules=rules, progress=progress, threads=self.threads, **self.settings()
            )
        self.show_with_topics(result.scores, result)

    def _explain(self, runs: dict[str, dict[str, str]], references: dict[str, list[str]], rules: WordRules) -> None:
        from cranfield.answers.rouge_matches import explain_rouge

        topic = self.explain or ""
        with_topic = {run: texts[topic] for run, texts in runs.items() if topic in texts}
        if topic not in references or not with_topic:
            lacks = "no reference" if topic not in references else "no text"
            raise UsageError(f"--explain {topic}: there is {lacks} for this topic")
        explained = [
            explain_rouge(text, references[topic], name, rules=rules, dialect=self.dialect, run=run, topic=topic)
            for run, text in with_topic.items()
            for name in self.names
        ]
        self.show_explained(explained)
