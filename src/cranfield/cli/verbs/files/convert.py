"""`cranfield convert`: convert files to another format."""

from __future__ import annotations

from cranfield.cli.declare import DATA_ENDINGS, argument, option
from cranfield.cli.file_kind import kind_of_file
from cranfield.cli.options import Graded
from cranfield.cli.printing import Quiet

ENTRY = {"run": "document", "qrels": "judgment", "topics": "topic"}


class ConvertVerb(Graded, Quiet, of="collection.convert:convert"):
    """Convert runs, judgments or topics to another format; data that this format cannot hold is an error.

    A DST that ends in .gz, .bz2, .xz or .zst is compressed; compressed input is recognised by its content.
    """

    summary = "convert files to another format"
    examples = """
cranfield convert qrels.txt qrels.parquet
cranfield convert bm25.run.gz bm25.json
cranfield convert topics.xml topics.tsv
zcat bm25.run.gz | cranfield convert - - --kind run --to jsonl | head
"""

    source: str = argument("SRC", "The file to read; - is standard input.", required=True, reads=True)
    target: str = argument(
        "DST", "The file to write; its ending determines the format. - is standard output.", required=True, writes=True,
        endings=(*DATA_ENDINGS, ".xml", ".run", ".txt"),
    )  # fmt: skip
    kind: str | None
    from_: str | None
    query_ids: str | None = option(
        "--queries FILE",
        "The topics of responses of a search engine that do not name theirs, in their order: topics, or lines of ids.",
        reads=True,
    )

    def run(self) -> None:
        from cranfield.collection.convert import convert, only_kind
        from cranfield.collection.file_formats.search_responses import queries_named_in
        from cranfield.text import counted

        kind = self.kind or only_kind(self.from_) or ("run" if self.query_ids else None)
        kind = kind or kind_of_file(self.source, "--kind run, --kind qrels or --kind topics")
        with queries_named_in(self.query_ids):
            result = convert(self.source, self.target, **{**self.settings(), "kind": kind})
        if self.target != "-" and not self.quiet:
            print(f"{result.path}: {counted(result.entries, ENTRY[result.kind])} as {result.format}")
