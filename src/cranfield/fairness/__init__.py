"""Fairness of rankings: how attention is shared out among documents and groups of documents.

A policy is judged by what it shows over many rankings, so wherever `rankings` are asked for, there may be one ranking a
topic (anything `Run.of` takes), a list of runs (each one a draw), or {topic: [ranking, ranking, ...]} with the
documents of each ranking from the top. Numbers by topic come as `Scores`.
"""

from cranfield.fairness.attention import GEOMETRIC, TREC, Attention
from cranfield.fairness.audit import MEASURES, Audit, audit
from cranfield.fairness.equity import EquityOfAttention, equity_of_attention
from cranfield.fairness.expected import Exposure, GroupExposure, expected_exposure, exposure
from cranfield.fairness.representation import awrf, jensen_shannon, pairwise_parity, prefix_fairness

__all__ = [
    "GEOMETRIC",
    "MEASURES",
    "TREC",
    "Attention",
    "Audit",
    "EquityOfAttention",
    "Exposure",
    "GroupExposure",
    "audit",
    "awrf",
    "equity_of_attention",
    "expected_exposure",
    "exposure",
    "jensen_shannon",
    "pairwise_parity",
    "prefix_fairness",
]
