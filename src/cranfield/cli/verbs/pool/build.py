"""`cranfield pool`: choose the documents to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.printing import Quiet, emit
from cranfield.errors import CranfieldWarning, UsageError

if TYPE_CHECKING:
    from cranfield.building.pools.pool_file import Pool

METHODS = "building.pools.pooling:POLICIES"


class BuildVerb(options.Ranked, Quiet, of="building.pools.pool_building:make_pool"):
    """Choose the documents to judge from the first documents of runs, and write them as a table.

    depth takes the first documents of every run; rrf and rbp order them by a weight of their ranks. move-to-front,
    hedge and the bandits (random, epsilon-greedy, ucb, thompson, max-mean, mm-ns) choose each document by the judgments
    before it: judge a batch, then call again with --judged. stratified and sample draw documents with known
    probabilities: judge the drawn ones, then use cranfield pool join.

    The columns of the table are topic, doc, order (1: judge first), the run and rank that propose the document, and the
    estimate by which it was chosen; for samples also the stratum and the probability. A sample lists all documents of
    the pool; those that were not drawn have no order.

    A parameter follows the method: rbp(p=0.95), rrf(k=60), hedge(beta=0.1), epsilon-greedy(c=0.01,d=0.1),
    mm-ns(rate=0.5).
    """

    summary = "choose the documents to judge"
    examples = """
cranfield pool runs/*.run --depth 100 -o pool.tsv
cranfield pool runs/*.run --method rbp --budget 5000 -o pool.tsv
cranfield pool runs/*.run --method max-mean --most-per-topic 200 --judged so-far.qrels --batch 20 -o next.tsv
cranfield pool runs/*.run --method stratified --strata-ranks 10:1,50:0.2,100:0.05 --seed 7 -o sample.tsv
"""

    runs: list[str] = argument("RUN", options.RUNS, required=True, reads=True)
    method: str = option("--method METHOD", "{names}.", default="depth", names=METHODS)
    depth: int = option("--depth N", "Pool the first N documents of each list.", default=100)
    judged: str | None = option(
        "--judged QRELS",
        "Judgments so far: they use the budget, are not offered again, and adaptive methods learn from them.",
        reads=True,
    )
    strata: str | None = option(
        "--strata-ranks RANK[:SHARE],...",
        "stratified: the deepest rank of each stratum, and the share of its documents to draw; without shares, the "
        "strata divide the budget evenly. Default: 10,25,50,100,250,500,1000.",
    )
    topics: str | None = option(
        "--topic TOPIC,...", "Only these topics: separated by commas, or a file with a topic at the start of each line."
    )
    output: str | None = option(
        "--output, -o FILE", "Write the pool to this file, and print its size.", group=RESULT, endings=(".tsv",)
    )

    def check(self) -> None:
        super().check()
        check.whole("", **{"--depth": self.depth})

    def run(self) -> None:
        from cranfield.assessed.join_options import JoinOptions
        from cranfield.building.pools.pool_building import make_pool
        from cranfield.building.pools.pool_samples import read_strata
        from cranfield.building.pools.pooled_lists import PooledLists
        from cranfield.building.pools.pooling import Method

        method = Method.of(self.method)
        strata = () if self.strata is None else read_strata(self.strata)
        judged = None if self.judged is None else self.read_qrels(self.judged)
        reading = JoinOptions(format=self.run_format, **self.ranking_rules())
        with self.progress("reading") as progress:
            lists = PooledLists.of(
                self.runs, depth=self.depth, topics=chosen_topics(self.topics), options=reading, progress=progress
            )
        pool = make_pool(lists, method, judged=judged, strata=strata, **self.settings())
        show_pool(pool, self.output)


def chosen_topics(text: str | None) -> list[str] | None:
    """The value of `--topic`: names, or a file of them.

    >>> chosen_topics("401, 402")
    ['401', '402']
    """
    import os

    if text is None:
        return None
    if os.path.isfile(text):
        from cranfield.collection.source import load, text_of

        lines = text_of(load(text), text).splitlines()
        names = [(line.split("\t") if "\t" in line else line.split())[0].strip() for line in lines if line.strip()]
    else:
        names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError(f"--topic {text}: no topics")
    return names


def show_pool(pool: Pool, output: str | None) -> None:
    """Print a pool; or write it to a file, and print how many documents it has."""
    import warnings

    if output is not None and output != "-":
        pool.write(output)
        emit(pool.summary().text())
        return
    for note in pool.notes:
        warnings.warn(note, CranfieldWarning, stacklevel=2)
    emit(pool.to_tsv().removesuffix("\n"))
