"""IR Evaluation, course notes of 28 April 2015."""

from __future__ import annotations

from math import log2, sqrt

from cranfield.assessed.lists import Assessed
from cranfield.measures import DCG, RR, F, P, Rprec
from cranfield.papers.worked import Erratum, Example, Text

GRADES = [3, 2, 3, 0, 1, 2]
"""Relevance of D1 to D6 (§3.2)."""


def _term(rank: int) -> float:
    """What the document at this rank adds to DCG as (11) defines it."""
    terms = DCG(discount="jk").terms(Assessed.one(GRADES))
    return float(terms.adds[terms.hits.rank == rank].sum())


def _mrr() -> float:
    """First right answers at ranks 3, 2 and 1."""
    return sum(RR().of([0] * (rank - 1) + [1] + [0] * (3 - rank)) for rank in (3, 2, 1)) / 3


TEXT = Text(
    "IR Evaluation, course notes, 28 April 2015",
    (
        Example(
            "§2, (7)", "F of P = 3/5 and R = 3/4", "2/3", lambda: F().of([1, 0, 1, 0, 1], [1]), "by hand: 2PR/(P + R)"
        ),
        Example(
            "§3", "best precision at 20 with 8 relevant documents", "0.4", lambda: (P() @ 20).of([1] * 8 + [0] * 12)
        ),
        Example("§3", "R-precision of a perfect list", "1", lambda: Rprec().of([1] * 8 + [0] * 12)),
        Example("§3, (9)", "mean reciprocal rank of ranks 3, 2, 1", "11/18", _mrr),
        Example("§3, (9)", "the same, rounded", "0.61", _mrr),
        Example("§3.2, (11)", "document 2 adds", "2", lambda: _term(2)),
        Example("§3.2, (11)", "document 3 adds", "1.892", lambda: _term(3), "1.8928, cut off"),
        Example("§3.2, (11)", "document 4 adds", "0", lambda: _term(4)),
        Example("§3.2, (11)", "document 5 adds", "0.431", lambda: _term(5)),
        Example("§3.2, (11)", "document 6 adds", "0.774", lambda: _term(6)),
        Example("§3.2, (11)", "log2 6", "2.584", lambda: log2(6), "2.58496, cut off"),
        Example(
            "§5.2, (16)",
            "σ_W of 10 topics",
            "19.62",
            lambda: sqrt(10 * 11 * 21 / 6),
            "by hand: √385",
        ),
    ),
    (
        Erratum(
            "§1.1",
            "precision is the number of relevant retrieved documents divided by the number of relevant documents",
            "divided by the number of retrieved documents",
            "That is what (1) says; as printed, precision would be recall.",
        ),
        Erratum(
            "§3.2, (10) and (11)",
            "two formulas under the name (N)DCG",
            "two measures",
            "(10) has gains 2^rel − 1 and the discount log2(1 + m), (11) has gains rel and the discount log2(i) from "
            "rank 2 on. For 3, 2, 3, 0, 1, 2 the sums are 13.85 and 8.10. Ours are nDCG(gain=exp) and "
            "DCG(discount=jk).",
        ),
        Erratum(
            "§3.2, (11)",
            "Σ_{i=2..|p|}",
            "Σ_{i=2..p}",
            "p is a rank, and has no size.",
        ),
        Erratum(
            "§5.2, (17)",
            "z = (W ± 0.5)/σ_W = (W − 0.5)/σ_W",
            "(|W| − 1)/σ_W with the sign of W",
            "W is a sum of signed ranks. If one rank changes its sign, W moves by twice that rank, so that "
            "neighbouring values of W are 2 apart. A continuity correction is half of this step, 1. And it has to "
            "lower |z|: for W < 0, W − 0.5 raises it. 0.5 belongs to the sum of the positive ranks, whose step is 1.",
        ),
    ),
    {
        "Figs. 1 and 2": "precision-recall and ROC curves: `cranfield plot curves QRELS RUNS`",
        "§5.2, (12), the one-sample t test": (
            "needs a target mean: `cranfield compare --test one-sample-t --value 0.75`"
        ),
    },
)
