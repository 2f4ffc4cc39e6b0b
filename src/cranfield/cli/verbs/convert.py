"""`cranfield convert`: from one file format to another."""

from __future__ import annotations

import warnings
from typing import Annotated

from cranfield import check
from cranfield.cli.file_kind import kind_of_file
from cranfield.cli.parser import READING, RESULT, Argument, Quiet, option

KINDS = ("run", "qrels", "topics")
SAY = "--kind run, --kind qrels or --kind topics"
ENTRIES = {"run": "documents", "qrels": "judgments", "topics": "topics"}

EXAMPLES = """\
  $ cranfield convert qrels.txt qrels.parquet
  $ cranfield convert bm25.run.gz bm25.json
  $ cranfield convert topics.xml topics.tsv
  $ zcat bm25.run.gz | cranfield convert - - --kind run --to jsonl | head
"""


def convert_verb(
    source: Annotated[str, Argument("SRC", "The file to read; - is standard input.")],
    target: Annotated[str, Argument("DST", "The file to write; its name tells the format. - is standard output.")],
    kind: Annotated[
        str | None,
        option("--kind", metavar="KIND", help="run, qrels or topics; default: told by content.", group=READING),
    ] = None,
    read_as: Annotated[
        str | None, option("--from", metavar="FORMAT", help="Format of SRC; default: detected.", group=READING)
    ] = None,
    write_as: Annotated[
        str | None,
        option(
            "--to",
            metavar="FORMAT",
            help="Format of DST: trec, msmarco, msmarco-scored, beir, diversity, json, jsonl, csv, tsv, parquet; of "
            "topics: sgml, xml, tsv, json, jsonl. Default: told by its name.",
            group=RESULT,
        ),
    ] = None,
    allow_loss: Annotated[
        bool, option("--allow-loss", help="Leave out what the format cannot hold, instead of refusing.", group=RESULT)
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Write a run, qrels or topics in another format. Nothing is lost: what DST's format cannot hold is an error.

    Endings .gz, .bz2, .xz and .zst pack what is written; what is read is unpacked by its content.
    """
    if quiet:
        warnings.simplefilter("ignore")
    if kind is not None:
        check.one_of("--kind", KINDS, kind=kind)

    from cranfield.collection.convert import convert

    made = convert(
        source, target, kind=kind or kind_of_file(source, SAY), from_=read_as, to=write_as, allow_loss=allow_loss
    )
    if target != "-" and not quiet:
        print(f"{made.path}: {made.entries:,} {ENTRIES[made.kind]} as {made.format}")
    return 0
