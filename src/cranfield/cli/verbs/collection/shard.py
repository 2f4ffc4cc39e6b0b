"""`cranfield collection shard`: random parts of a collection of documents."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import READING, argument, option
from cranfield.cli.printing import Printing


class ShardVerb(options.Detected, Printing, of="collection.shards:shard_files"):
    """Cut a collection of documents into random parts (shards), and write the part of each file to a folder.

    The files are qrels, runs and lists of document ids, one in each line; the kind is detected. FOLDER/shard1/bm25.run
    has the documents of the first shard, in the order of the run. A document is in the same shard in all files, because
    its shard depends on its id and the seed alone. With --repeats, FOLDER/split1, FOLDER/split2, ... are different
    splits, with seeds N, N + 1, and so on. For ids, shards.tsv has lines of document, shard.

    Topics without a relevant document in a shard are left out of its qrels, and notes count them. Each shard is a small
    collection: scores on shards are replicates, which let anova tell topics from the interaction of topics and systems
    (cranfield anova --shards K does both at once).
    """

    summary = "split documents into random parts"
    examples = """
cranfield collection shard qrels.txt runs/*.run --shards 5 --folder shards
cranfield collection shard docids.txt qrels.txt runs/*.run --shards 5 --repeats 10 --seed 1 --folder shards
"""

    files: list[str] | None = argument(
        "FILE", "Qrels, runs and lists of document ids; the kind is detected.", reads=True
    )
    ids: list[str] | None = option(
        "--ids FILE", "A list of document ids, if its kind is not detected. May be repeated.", group=READING, reads=True
    )

    def given(self) -> bool:
        return bool(self.files or self.ids or self.qrels or self.runs)

    def run(self) -> None:
        from cranfield.collection.shards import is_id_list, shard_files
        from cranfield.collection.source import expand

        kinds = self.kinds()
        named = expand(self.files or [])
        ids = [*expand(self.ids or []), *(path for path in named if path not in kinds and is_id_list(path))]
        rest = [path for path in dict.fromkeys([*kinds, *named]) if path not in ids]
        with self.progress("writing") as progress:
            done = shard_files(rest, **self.settings(), ids=dict.fromkeys(ids), kinds=kinds, progress=progress)
        self.show(done.table())
