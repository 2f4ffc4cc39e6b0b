"""How scores are printed that are not from ranked lists: means with intervals, and the scores of each topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.options.option_values import interval_level
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.record import Record
    from cranfield.scores.scores import Scores
    from cranfield.table import Table


class TopicPrinting(Printing):
    """`--per-topic`: the scores of each topic, as all verbs that read `--scores` want them."""

    per_topic: bool = options.per_topic("Also print the scores of each topic; in json, csv and tsv only these.")

    def show_with_topics(self, scores: Scores, summary: Record | Table) -> None:
        """Print a summary, and the scores of each topic if asked for."""
        from cranfield.record import Record
        from cranfield.report.tables import topic_table

        if not self.per_topic:
            if isinstance(summary, Record):
                self.show_record(summary)
            else:
                self.show(summary)
            return
        if self.for_programs:
            self.emit(self._scores_text(scores))
            return
        table = summary.table() if isinstance(summary, Record) else summary
        self.show(replace(topic_table(scores), notes=()), table)

    def show_explained(self, records: Sequence[Record], captions: Sequence[str] = ()) -> None:
        """Print how scores come about: the tables of records, with captions if they have none of their own."""
        if self.format == "json":
            self.emit_json([record.to_dict() for record in records])
            return
        tables = [record.table() for record in records]
        if captions:
            tables = [replace(table, caption=caption) for table, caption in zip(tables, captions, strict=True)]
        self.show(*tables)

    def _scores_text(self, scores: Scores) -> str:
        from cranfield.table import safe_cell

        kept = scores if self.digits is None else replace(scores, values=scores.values.round(self.digits))
        if self.format == "json":
            return kept.to_json()
        safe = partial(safe_cell, guard_formulas=self.guard_formulas)
        return kept.to_csv(sep="\t" if self.format == "tsv" else ",", change=safe)


class ScorePrinting(TopicPrinting):
    """Means over topics, with intervals if asked for."""

    ci: bool = options.ci()
    level: float | None = options.level_of_ci()

    def check(self) -> None:
        super().check()
        self.level = interval_level(self.ci, self.level)
        if getattr(self, "explain", None) is not None and (self.per_topic or self.level):
            raise UsageError("--explain shows one topic; leave out -q and --ci")
        if getattr(self, "against", None) is not None:
            given = [label for label, value in (
                ("-m", getattr(self, "measures", None)), ("-q", self.per_topic), ("--ci", self.level),
                ("--explain", getattr(self, "explain", None)),
            ) if value]  # fmt: skip
            if given:
                raise UsageError(f"--against prints agreement, not scores; leave out {', '.join(given)}")

    def show_scores(self, scores: Scores, better: dict[str, str] | None = None) -> None:
        """Print a row per run: means, and the scores of each topic if asked for."""
        from cranfield.report.tables import summary_table

        self.show_with_topics(scores, summary_table(scores, level=self.level, better=better))


def chosen_names(texts: list[str] | None, known: tuple[str, ...], default: tuple[str, ...]) -> list[str]:
    """The names that `-m` gives, separated by commas, each once."""
    names = [name.strip() for text in texts or () for name in text.split(",") if name.strip()]
    if texts and not names:
        raise UsageError(f"-m names no measure; there are {', '.join(known)}")
    return list(dict.fromkeys(names)) or list(default)
