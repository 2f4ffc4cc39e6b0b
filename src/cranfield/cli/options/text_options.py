"""Options of verbs that read texts: systems, references, and how texts become words."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, Verb, argument, option
from cranfield.cli.options import Sized

if TYPE_CHECKING:
    from cranfield.answers.tokenisation import WordRules

SYSTEMS = (
    "Texts of a system: a folder with a file for each topic, or JSON-lines, or a table of topic and text; one source "
    "for each system."
)


def systems(required: bool = True) -> Any:
    return argument("SYSTEM", SYSTEMS, required=required, reads=True)


def explain() -> Any:
    return option("--explain TOPIC", "Show how the scores of this topic come about.")


def measures(known: str, more: str = "") -> Any:
    """The option for measures; `known` is where the library lists them."""
    help = f"A measure, or several separated by commas: {{names}}{more}. May be repeated."
    return option("--measure, -m MEASURE", help, names=known)


def same_source(first: Iterable[str], second: Iterable[str]) -> str | None:
    """A file or folder that is among both, under whatever name."""
    from cranfield.collection.source import expand

    others = expand(second)
    for path in expand(first):
        for other in others:
            if path == other or (os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)):
                return path
    return None


class ReferenceTexts(Sized):
    """Texts of systems, and references to compare them with."""

    systems: list[str] = systems()
    references: list[str] | None = option(
        "--reference, -r SOURCE",
        "References, as texts of systems are given. May be repeated: a topic may have several references.",
        reads=True,
    )

    def read_texts(self) -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
        """{run: {topic: text}}, and {topic: references}."""
        from cranfield.answers.answer_texts import (
            read_answers,
            read_references,
            texts_of_runs,
            with_numbered_references,
        )
        from cranfield.errors import UsageError

        if not self.references:
            raise UsageError("no references; give a file or a folder of them: --reference SOURCE")
        if same := same_source(self.systems, self.references):
            raise UsageError(
                f"{same} is given as texts of a system and as references, and would be compared with itself; leave it "
                "out of the systems, or write the references to a file of their own, with the fields topic and text"
            )
        runs = texts_of_runs(read_answers(self.systems))
        topics = {topic for texts in runs.values() for topic in texts}
        return runs, with_numbered_references(read_references(self.references), topics)


class WordOptions(Verb):
    """How texts become words."""

    tokens: str = option(
        "--tokens KIND",
        "What words are: {names} (runs of ASCII letters and digits; letters, digits and marks of any script, where "
        "Chinese and Japanese count by character; or what is between blanks).",
        default="ascii",
        names="answers.tokenisation:TOKENISATIONS",
    )
    stemmer: str = option(
        "--stemmer NAME",
        "Stem words of four letters or more: {names} (rouge is that of ROUGE-1.5.5, nltk that of rouge-score).",
        default="none",
        names="answers.tokenisation:STEMMERS",
    )
    stop_words: str | None = option("--stop-words FILE", "Leave these words out.", reads=True, group=MORE)
    exceptions: list[str] | None = option(
        "--stem-exceptions FILE",
        "Words with their stems, such as the files *.exc of WordNet, that ROUGE-1.5.5 looks up before it stems. May be "
        "repeated.",
        reads=True,
        group=MORE,
    )
    sentences: str = option(
        "--sentences KIND",
        "What sentences are: {names} (marks: also up to . ! ? and their like).",
        default="lines",
        names="answers.tokenisation:SENTENCES",
        group=MORE,
    )

    def word_rules(self, **more: Any) -> WordRules:
        """The options as one record."""
        from cranfield.answers.tokenisation import WordRules, read_exceptions, read_word_list

        stop_words = frozenset[str]() if self.stop_words is None else read_word_list(self.stop_words)
        exceptions = read_exceptions(self.exceptions or [])
        return WordRules(
            self.tokens, self.stemmer, stop_words, exceptions, self.sentences, **more
        )  # fmt: skip
