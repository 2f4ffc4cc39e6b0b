"""`cranfield interleave make`: interleave the lists of runs."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.printing import Quiet, emit
from cranfield.errors import CranfieldWarning


class MakeVerb(options.Ranked, Quiet, of="online.interleaving.interleaved_batch:interleave_runs"):
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
cranfield interleave make bm25.run dense.run --method optimised --topic 301,302
"""

    runs: list[str] = argument("RUN", options.RUNS, required=True, reads=True)
    topics: str | None = option(
        "--topic TOPIC,...", "Only these topics: separated by commas, or a file with a topic at the start of each line."
    )
    output: str | None = option(
        "--output, -o FILE", "Write the records to this file, as JSON-lines.", group=RESULT, endings=()
    )

    def run(self) -> None:
        import json
        import warnings

        from cranfield.assessed.join_options import JoinOptions
        from cranfield.cli.verbs.pool.build import chosen_topics
        from cranfield.online.interleaving.attribution_log import write_records
        from cranfield.online.interleaving.interleaved_batch import interleave_runs
        from cranfield.text import counted

        reading = JoinOptions(format=self.run_format, **self.ranking_rules())
        settings = self.settings() | {"topics": chosen_topics(self.topics)}
        with self.progress("reading") as progress:
            made = interleave_runs(self.runs, options=reading, progress=progress, **settings)
        for note in made.notes:
            warnings.warn(note, CranfieldWarning, stacklevel=2)
        if self.output is None or self.output == "-":
            emit("\n".join(json.dumps(logged.to_dict(), ensure_ascii=False) for logged in made.lists), format="json")
            return
        written = write_records(self.output, made.lists)
        emit(f"{counted(written, 'list')} of {counted(made.topics, 'topic')} written to {self.output}")
