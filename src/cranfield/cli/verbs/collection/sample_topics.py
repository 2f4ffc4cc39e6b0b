"""`cranfield collection sample-topics`: draw topics from a query log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, READING, RESULT, argument, option
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.building.topic_sets.topic_sample import TopicSample

NEAR = ("words", "stems", "edits")


class SampleTopicsVerb(options.Sized, Printing, of="building.topic_sets.topic_sample:sample_topics"):
    """Draw topics from a query log: frequent, less frequent and rare queries, without near-duplicates.

    The log is a text file with a query per line, or with query, tab and count; or a table (CSV, TSV, JSON-lines) with
    the column query, and perhaps count, user and time. Queries that differ in case, white space or Unicode form count
    as one. With queries in order, the most frequent first, those up to a third of the volume are the head, those up to
    two thirds the torso, the others the tail.

    A query is a near-duplicate if it has the words of a more frequent one (words, by --jaccard), also in the plural
    (stems), or differs from it by one typing error (edits: one character inserted, deleted, replaced or swapped with
    its neighbour; at least 8 characters, and the same digits).

    The probability of a topic to be drawn, and its weight 1 / probability, are printed and written beside it.
    """

    summary = "draw topics from a query log"
    examples = """
cranfield collection sample-topics queries.txt -n 50 --write-topics topics.tsv --write-classes classes.tsv
cranfield collection sample-topics log.tsv -n 20,20,10 --strata-names head,torso,tail --strata-ends 1/4,3/4
cranfield collection sample-topics log.tsv -n 100 --least-asked 5 --least-users 3 --show dropped
cranfield collection sample-topics log.csv -n 50 --strata-names all --sampling volume --since 2026-01-01
"""

    log: str = argument("LOG", "The query log. - is standard input.", required=True, reads=True)
    n: str = option("--size, -n N,N,...", "How many topics, in all or for each stratum, as 20,20,10.", default="50")
    strata: str = option(
        "--strata-names NAMES",
        "Names of the strata, the most frequent first; one name: no strata.",
        default="head,torso,tail",
    )
    shares: str | None = option(
        "--strata-ends SHARES",
        "Where strata end, as shares of the volume: numbers or fractions such as 1/3,2/3; default: equal shares.",
    )
    normalise: str = option(
        "--normalise STEPS",
        "What spellings of one query may differ in: unicode, case, punctuation, separated by commas; or none.",
        default="unicode,case",
        group=MORE,
    )
    near: str = option(
        "--near RULES",
        f"How near-duplicates are found: {', '.join(NEAR)}, separated by commas; or none, to keep them.",
        default=",".join(NEAR),
    )
    jaccard: float = option(
        "--jaccard SHARE",
        "Queries are near if they share at least this part of their words: the size of the intersection divided by "
        "that of the union of their sets of words; 1: only if the sets are equal.",
        default=0.8,
        group=MORE,
    )
    since: str | None = option("--since DATE", "Only queries from this time on, such as 2026-01-31.", group=READING)
    until: str | None = option("--until DATE", "Only queries before this time.", group=READING)
    encoding: str = option(
        "--encoding NAME", "The encoding of the log.", default="utf-8", group=READING, solves="(?:encoding=|iconv )"
    )
    first: int = option("--first N", "The number of the first topic.", default=1, group=RESULT)
    prefix: str = option("--prefix TEXT", "Text before the number of a topic.", default="", group=RESULT)
    topics: str | None = option(
        "--write-topics FILE",
        "Write the topics to a file that ends in .tsv, .xml, .sgml, .json or .jsonl, with class and probability.",
        group=RESULT,
    )
    classes: str | None = option(
        "--write-classes FILE", "Write lines of topic, class to a file, for --by of other verbs.", group=RESULT
    )
    shown: str = options.show(
        "topics", "strata", "dropped", help="What to print: {names} (near-duplicates that were dropped)."
    )

    def run(self) -> None:
        sample = self.sample()
        tables = {"strata": sample.strata_table, "dropped": sample.dropped_table, "topics": sample.table}
        if self.topics is not None:
            sample.to_topics().write(self.topics)
        if self.classes is not None:
            from cranfield.building.topic_sets.topic_split import write_classes

            write_classes(self.classes, sample.to_classes())
        self.show(tables[self.shown]())

    def sample(self) -> TopicSample:
        """The topics that are drawn."""
        from cranfield.building.topic_sets.topic_sample import sample_topics

        numbers = options.whole_numbers("--size", self.n) or [50]
        near = named("--near", self.near, NEAR)
        return sample_topics(
            self.log,
            numbers[0] if len(numbers) == 1 else numbers,
            strata=self.strata.split(","),
            shares=None if self.shares is None else fractions("--strata-ends", self.shares),
            normalise=named("--normalise", self.normalise, ("unicode", "case", "punctuation")),
            jaccard=self.jaccard if {"words", "stems"} & set(near) else None,
            stem="stems" in near,
            edits="edits" in near,
            **self.values("first", "prefix", "encoding", "since", "until"),
            **self.settings(),
        )


def named(label: str, text: str, choices: tuple[str, ...]) -> list[str]:
    """Some of the choices, separated by commas; `none` is none of them.

    >>> named("--near", "words,edits", NEAR), named("--near", "none", NEAR)
    (['words', 'edits'], [])
    """
    words = [] if text == "none" else [word.strip() for word in text.split(",")]
    for word in words:
        if word not in choices:
            raise UsageError(f"{label} {text}: {word!r} is not one of {', '.join(choices)}, none")
    return words


def fractions(label: str, text: str) -> list[float]:
    """Numbers or fractions, separated by commas.

    >>> fractions("--shares", "1/4,0.75")
    [0.25, 0.75]
    """
    from fractions import Fraction

    try:
        return [float(Fraction(word.strip())) for word in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"{label} {text}: expected numbers or fractions separated by commas") from None
