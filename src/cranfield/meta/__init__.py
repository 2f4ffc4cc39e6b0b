"""Which measure should I trust? Methods that evaluate measures, on scores and on collections.

Each takes `Scores` (or runs and judgments) and gives a record: `table()`, `columns()` for frames, and notes that say
how it was done.
"""

from cranfield.meta.axioms import axioms
from cranfield.meta.concordance import concord
from cranfield.meta.correlation import correlate, rank_correlation
from cranfield.meta.discrimination import discriminative_power
from cranfield.meta.distance import rank_distances
from cranfield.meta.gain_change import change_gains
from cranfield.meta.generalisability import g_studies, g_study
from cranfield.meta.informativeness import informativeness
from cranfield.meta.leave_out import leave_one_out
from cranfield.meta.metadata import read_metadata, write_metadata
from cranfield.meta.overlap import rbo
from cranfield.meta.preferences import predictive_power, read_preferences
from cranfield.meta.preferred_rank import preferred_ranks
from cranfield.meta.reproduction import reproduce, reproduce_scores
from cranfield.meta.robustness import robustness, topic_subsets
from cranfield.meta.scale import scale, scales
from cranfield.meta.scale_tests import scale_tests
from cranfield.meta.study import run_study
from cranfield.meta.swap import swap_rates

__all__ = [
    "axioms",
    "change_gains",
    "concord",
    "correlate",
    "discriminative_power",
    "g_studies",
    "g_study",
    "informativeness",
    "leave_one_out",
    "predictive_power",
    "preferred_ranks",
    "rank_correlation",
    "rank_distances",
    "rbo",
    "read_metadata",
    "read_preferences",
    "reproduce",
    "reproduce_scores",
    "robustness",
    "run_study",
    "scale",
    "scale_tests",
    "scales",
    "swap_rates",
    "topic_subsets",
    "write_metadata",
]
