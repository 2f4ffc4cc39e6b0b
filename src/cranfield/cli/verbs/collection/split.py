"""`cranfield collection split`: train, validation and test parts of a collection."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import READING, argument, option
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class SplitVerb(options.Detected, Printing, of="building.topic_sets.topic_split:split_files"):
    """Split the topics of a collection into parts, and write the part of each file to a folder of its own.

    The files are topics, qrels and runs. FOLDER/train/qrels.txt has the judgments of the topics of the part train, and
    so on; FOLDER/split.tsv has lines of topic, part, which --by of other verbs and --assigned read. The topics are
    those of the files of topics; without any, those of the qrels; else those of the runs.

    The split depends on the seed and the ids of the topics, not on the order of the input. Parts have exact sizes, in
    each class of topics too if --classes is given. With --by-id, the part of a topic depends on its id and the seed
    alone, so that topics added later do not move others, and sizes are only near to the shares.
    """

    summary = "split topics into training, validation and test parts"
    examples = """
cranfield collection split topics.tsv qrels.txt runs/*.run --folder parts
cranfield collection split qrels.txt runs/*.run --folder parts --parts train=3,test=1 --classes classes.tsv --seed 7
cranfield collection split new.run --folder parts --assigned parts/split.tsv
"""

    files: list[str] | None = argument("FILE", "Topics, qrels and runs; the kind is detected.", reads=True)
    folder: str = option("--folder DIR", "Where to write the parts.", required=True)
    parts: str = option(
        "--parts PARTS",
        "Names and shares of the parts; shares are divided by their sum.",
        default="train=0.6,validation=0.2,test=0.2",
    )
    classes: str | None = option(
        "--classes FILE", "Split each class of topics alike: lines of topic, class.", reads=True
    )
    assigned: str | None = option(
        "--assigned FILE", "Use a split made earlier: lines of topic, part, such as split.tsv.", reads=True
    )
    topics: list[str] | None = option(
        "--topics FILE", "A file of topics, if its kind is not detected. May be repeated.", group=READING, reads=True,
        solves="kinds=",
    )  # fmt: skip

    def given(self) -> bool:
        return bool(self.files or self.topics or self.qrels or self.runs)

    def run(self) -> None:
        from cranfield.building.topic_sets.topic_split import split_files
        from cranfield.collection.source import expand

        kinds = self.kinds(topics=self.topics)
        split = split_files(
            list(dict.fromkeys([*kinds, *expand(self.files or [])])),
            self.folder,
            shares_of(self.parts),
            kinds=kinds,
            **self.values("assigned", "classes"),
            **self.settings(),
        )
        self.show(split.table())


def shares_of(text: str) -> dict[str, float]:
    """The value of `--parts`.

    >>> shares_of("train=3,test=1")
    {'train': 3.0, 'test': 1.0}
    """
    shares: dict[str, float] = {}
    for word in text.split(","):
        name, sign, share = word.partition("=")
        try:
            number = float(share)
        except ValueError:
            number = -1.0
        if not (name.strip() and sign) or number <= 0:
            raise UsageError(f"--parts {text}: expected names and shares above 0, such as train=3,test=1")
        if name.strip() in shares:
            raise UsageError(f"--parts {text}: {name.strip()!r} is given twice")
        shares[name.strip()] = number
    return shares
