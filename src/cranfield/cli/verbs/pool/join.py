"""`cranfield pool join`: judgments of a sample, with strata and probabilities."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.printing import Quiet
from cranfield.errors import CranfieldWarning


class JoinVerb(options.Files, Quiet, of="building.pools.pool_samples:join_pool"):
    """Combine a sampled pool with the judgments of its drawn documents, for xinfAP, infNDCG and statAP.

    The result has a header and the columns topic, stratum, doc, grade and probability; grade -1 means that a document
    was not drawn. Measures read strata and probabilities from it without further options.
    """

    summary = "add strata and probabilities to the judgments of a sample"
    examples = """
cranfield pool join sample.tsv judged.qrels -o sampled.qrels
cranfield pool join sample.tsv half.qrels --partial -o sampled.qrels
"""

    pool: str = argument("POOL", "The sampled pool that cranfield pool wrote.", required=True, reads=True)
    qrels: str = argument("QRELS", "The judgments of the drawn documents.", required=True, reads=True)
    output: str = option("--output, -o FILE", "Write to this file.", default="-", group=RESULT, endings=(".tsv",))

    def run(self) -> None:
        import warnings

        from cranfield.building.pools.pool_file import Pool
        from cranfield.building.pools.pool_samples import join_pool

        sampled = join_pool(Pool.read(self.pool), self.read_qrels(self.qrels), **self.settings())
        for note in sampled.notes:
            warnings.warn(note, CranfieldWarning, stacklevel=2)
        sampled.write(self.output)
