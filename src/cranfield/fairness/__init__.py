"""Fairness of rankings: how attention is shared among documents and groups of documents.

A system may answer the same topic with different rankings, and is judged by all of them. So `rankings` can be a run
(anything that `Run.of` takes), a list of runs (several answers of one system), or {topic: [ranking, ranking, ...]},
where a ranking is a list of documents from the top. Functions that give a number per topic return `Scores`.
"""

from cranfield.fairness.attention import GEOMETRIC, TREC, Attention
from cranfield.fairness.audit import MEASURES, Audit, audit
from cranfield.fairness.expected import (
    EquityOfAttention,
    Exposure,
    GroupExposure,
    equity_of_attention,
    expected_exposure,
    exposure,
)
from cranfield.fairness.ranked_group import RankedGroupFairness, fair_ranking, ranked_group_fairness
from cranfield.fairness.representation import awrf, dissatisfaction, jensen_shannon, pairwise_parity, prefix_fairness

__all__ = [
    "GEOMETRIC", "MEASURES", "TREC", "Attention", "Audit", "EquityOfAttention", "Exposure", "GroupExposure",
    "RankedGroupFairness", "audit", "awrf", "dissatisfaction", "equity_of_attention", "expected_exposure",
    "exposure", "fair_ranking", "jensen_shannon", "pairwise_parity", "prefix_fairness", "ranked_group_fairness",
]  # fmt: skip
