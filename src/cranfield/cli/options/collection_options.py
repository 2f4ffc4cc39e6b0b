"""`--collection` and `--collections`: the same systems on several collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, READING, option
from cranfield.cli.options import Collection
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.evaluation.several_collections import CollectionScores

SCORE_FILES = "score-files"
"""The value of `--collections` without a file."""


class SeveralCollections(Collection):
    """Judgments and runs of one collection, or of several."""

    collection: list[str] | None = option(
        "--collection NAME=QRELS:RUNS",
        "A collection, instead of QRELS RUN...: name, judgments, and runs (a pattern or a folder). May be repeated.",
        group=MORE,
    )
    collections: str | None = option(
        "--collections FILE",
        "The collections, from a TOML file: for each a table [collections.NAME] with qrels and runs.",
        group=MORE,
    )
    missing_collections: str = option(
        "--missing-collections RULE",
        "Runs that lack a collection, {names}: no mean over collections, the mean over the others, or 0 there.",
        default="undefined",
        names="evaluation.several_collections:RULES",
        group=READING,
        solves="missing_collections",
    )

    @property
    def several(self) -> bool:
        """Are there several collections to read?"""
        return bool(self.collection) or self.collections not in (None, SCORE_FILES)

    def given(self) -> bool:
        return super().given() or bool(self.collection or self.collections)

    def check(self) -> None:
        super().check()
        if not self.several:
            if self.missing_collections != "undefined":
                raise UsageError("--missing-collections applies only to --collection and --collections")
            return
        if self.collection and self.collections:
            raise UsageError("--collection and --collections FILE do not go together; put all of them into the file")
        option = "--collection" if self.collection else "--collections"
        if self.qrels is not None or self.sample:
            what = "--sample" if self.sample else repr(self.qrels)
            raise UsageError(f"{option} names the judgments and runs; leave out {what}")

    def read_collections(self, measures: Any, **more: Any) -> CollectionScores:
        """The scores of the runs on all collections."""
        from cranfield.collection.collection_files import collections_of_words, read_collections
        from cranfield.evaluation.several_collections import evaluate_collections

        files = collections_of_words(self.collection) if self.collection else read_collections(self.collections or "")
        settings = self.join_options() | more
        with self.progress("reading") as progress:
            return evaluate_collections(
                files, measures, missing_collections=self.missing_collections, progress=progress, **settings
            )
