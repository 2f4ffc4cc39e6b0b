"""`cranfield interleave make`: interleave the lists of runs."""

from __future__ import annotations

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.printing import Quiet, emit
from cranfield.errors import CranfieldWarning

METHODS = "online.interleaving.mixing_methods:MIXING_METHODS"


class MakeVerb(options.Ranked, Quiet):
    """Interleave the lists of two or more runs, topic by topic, and write an attribution record for each list.

    A record is a line of JSON: the method, its parameters and seed, a digest of every input list, and for each
    document shown the system that gave it and what a click adds to each system. Log it, log the clicks, and give both
    to cranfield interleave analyse. The same seed gives the same lists.

    Methods for two runs: balanced. For two or more: team-draft, probabilistic, optimised, roughly-optimised, pairwise,
    sosm (sample-only-scored). A parameter follows the method: probabilistic(tau=1,replacement=false),
    team-draft(skip_shared=true), optimised(credit=linear).
    """

    summary = "interleave the lists of runs, with attribution records"
    examples = """
cranfield interleave make bm25.run dense.run --length 10 -o lists.jsonl
cranfield interleave make bm25.run dense.run splade.run --method 'probabilistic(tau=1)' -o lists.jsonl
cranfield interleave make bm25.run dense.run --method optimised --topics 301,302
"""

    runs: list[str] = argument("RUN", options.RUNS, required=True, reads=True)
    method: str = option("--method METHOD", "{names}.", default="team-draft", names=METHODS)
    length: int = option("--length, -n N", "Documents in each interleaved list.", default=10)
    depth: int | None = option("--depth N", "Mix only the first N documents of each run; default: --length.")
    topics: str | None = option(
        "--topics TOPICS", "Only these topics: separated by commas, or a file with a topic at the start of each line."
    )
    copies: int = option("--copies N", "Lists of each topic, each with a seed of its own.", default=1)
    seed: int = options.seed()
    output: str | None = option("--output, -o FILE", "Write the records to this file.", group=RESULT)

    def check(self) -> None:
        super().check()
        check.whole("", **{"--length": self.length, "--depth": self.depth, "--copies": self.copies})

    def run(self) -> None:
        import json
        import warnings

        import numpy as np

        from cranfield.assessed.join_options import JoinOptions
        from cranfield.building.pools.pooled_lists import PooledLists
        from cranfield.cli.verbs.pool.build import chosen_topics
        from cranfield.online.interleaving.attribution_log import LoggedList, write_records
        from cranfield.online.interleaving.interleaved import Interleaver
        from cranfield.online.interleaving.interleaved_batch import QueryLists, interleave_many, list_seeds
        from cranfield.online.interleaving.mixing_methods import MixingMethod
        from cranfield.online.interleaving.simulated_impressions import biased_policies
        from cranfield.text import counted

        maker = Interleaver(MixingMethod.of(self.method), length=self.length)
        reading = JoinOptions(format=self.run_format, **self.ranking_rules())
        with self.progress("reading") as progress:
            pooled = PooledLists.of(
                self.runs, depth=self.depth or self.length, topics=chosen_topics(self.topics), options=reading,
                progress=progress,
            )  # fmt: skip
        lists = QueryLists.from_runs(pooled)
        query = np.repeat(np.arange(len(lists.queries)), self.copies)
        batch = interleave_many(lists, maker, query, list_seeds(self.seed, len(query)))
        for note in [*pooled.notes, *biased_policies(batch)]:
            warnings.warn(note, CranfieldWarning, stacklevel=2)
        records = [
            LoggedList(batch.record(number), f"i{number + 1}", query=lists.queries[topic])
            for number, topic in enumerate(query.tolist())
        ]
        if self.output is None or self.output == "-":
            emit("\n".join(json.dumps(record.to_dict(), ensure_ascii=False) for record in records), format="json")
            return
        written = write_records(self.output, records)
        emit(f"{counted(written, 'list')} of {counted(len(lists.queries), 'topic')} written to {self.output}")
