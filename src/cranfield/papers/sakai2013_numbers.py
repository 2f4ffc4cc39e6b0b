"""Sakai, Web search evaluation with informational and navigational intents (2013)."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.assessed.hits_by_intent import with_intents
from cranfield.comparison.corrections import family_wise_error
from cranfield.measures import parse
from cranfield.measures.ranked_lists.first import preferred
from cranfield.papers.worked import Erratum, Example, Text
from cranfield.views.by_intent import ByIntent

PAIRS = 20 * 19 // 2
TYPES = {"i": "informational", "j": "navigational"}
FIG_1: Sequence[dict[str, int] | None] = [{"i": 1}, {"i": 3, "j": 1}, None, {"j": 3}, {"i": 2}]
"""Fig. 1; the text does not say the level of the document at rank 5, and no number here depends on it."""
FIG_1_CHANGED: Sequence[dict[str, int] | None] = [{"i": 1}, {"i": 3, "j": 3}, None, {"j": 3}, {"i": 2}]
"""Fig. 1 with L3 for j at rank 2 (§3.2)."""


def _of(measure: str, documents: Sequence[dict[str, int] | None]) -> float:
    return parse(measure).of(documents, intent_types=TYPES)


def _preferred_rank_of_j() -> float:
    lists = ByIntent().apply(with_intents(FIG_1, navigational=["j"]))
    hits = lists.relevant()
    return float(hits.rank[preferred(hits)][1])


def _above_q(documents: Sequence[dict[str, int] | None]) -> float:
    """P+Q less Q-IA, with the min(l, R) of the text."""
    return _of("P+Q@5", documents) - _of("Q-IA(norm='min')@5", documents)


def _nonuniform(j: int, n: int) -> float:
    return float(2 ** (n - j + 1) / sum(2**k for k in range(1, n + 1)))


TEXT = Text(
    "Tetsuya Sakai, Web Search Evaluation with Informational and Navigational Intents, Journal of Information "
    "Processing 21(1), 2013",
    (
        Example("§3.1, Fig. 1", "intents covered (I-rec at 5)", "1", lambda: _of("I-rec@5", FIG_1)),
        Example("§3.2, Fig. 1", "preferred rank of the navigational intent j", "4", _preferred_rank_of_j),
        Example("§3.2, Fig. 1", "P+Q less Q-IA", "0", lambda: _above_q(FIG_1)),
        Example(
            "§3.2, Fig. 1",
            "P+Q is below Q-IA if the document at rank 2 is L3 for j: 1 for yes",
            "1",
            lambda: float(_above_q(FIG_1_CHANGED) < 0),
        ),
        Example("§4.2, Fig. 1", "Ef-P at 5", "0.6", lambda: _of("Ef-P@5", FIG_1)),
        Example("§4.2", "pairs of lists: 24 topics, 190 pairs of runs", "4,560", lambda: 24 * PAIRS),
        Example("§5.1, Table 1", "relevant documents, by level", "2,635", lambda: 1465 + 663 + 507),
        Example("§5.1, Table 1", "relevant for informational intents", "2,437", lambda: 1328 + 620 + 489),
        Example("§5.1, Table 1", "relevant for navigational intents", "198", lambda: 137 + 43 + 18),
        Example("§5.1, Table 1", "intents per topic", "4.1", lambda: 99 / 24),
        Example("§5.1, Table 1", "intents per document", "1.19", lambda: 2635 / 2223),
        Example(
            "§5.1, Table 1", "sum of nonuniform probabilities", "1", lambda: sum(_nonuniform(j, 4) for j in range(1, 5))
        ),
        Example(
            "§5.1",
            "relevant for informational intents, in the sentence",
            "2,635",
            lambda: 2635 - 198,
            "erratum: 2,437",
        ),
        Example("§5.1", "family-wise error of 190 pairs at 0.05", "0.9999", lambda: family_wise_error(0.05, PAIRS)),
        Example("§5.3, Table 2 (a)", "discriminative power of I-rec: 100 pairs", "52.6%", lambda: 100 / PAIRS),
        Example("§5.3, Table 4", "pairs that I-rec finds, 3 + 48", "26.8%", lambda: (3 + 48) / PAIRS),
        Example("§5.3, Table 4", "pairs that P+Q# finds, 48 + 2", "26.3%", lambda: (48 + 2) / PAIRS),
        Example("§5.3, Table 4", "pairs that α-nDCG finds, 38 + 5", "22.6%", lambda: (38 + 5) / PAIRS),
        Example("§5.4, Table 6 (a)", "α-nDCG against D#-nDCG: 141 of 236", ".597", lambda: 141 / 236),
        Example(
            "§5.4, Table 6 (a)",
            "D#-nDCG against α-nDCG: 235 of 236",
            ".995",
            lambda: 235 / 236,
            "erratum: .996",
        ),
    ),
    (
        Erratum(
            "§2.2, α-nDCG",
            "C_n(r) = Σ_{k=1..r} J_n(r)",
            "C_n(r) = Σ_{k=1..r} J_n(k)",
            "The summand must depend on k: the text calls C_n(r) the number of documents within the top r that contain "
            "the n-th nugget.",
        ),
        Erratum(
            "§5.1",
            "a total of 2,635 relevant documents for the informational intents and 198 for the navigational intents",
            "2,437 for the informational intents",
            "Table 1: 1,328 + 620 + 489 = 2,437, and 2,437 + 198 = 2,635, which is the total.",
        ),
        Erratum(
            "§5.3, footnote 11",
            "DIN#-nDCG cannot outperform D#-nDCG in discriminative power",
            "does not follow",
            "Fewer data points lower the differences of means, but may lower their variance more. Table 4 says that "
            "DIN#-nDCG finds no pair that D#-nDCG does not find in these data; it says nothing about other data.",
        ),
        Erratum(
            "§5.3, Table 5",
            "1/1 for DIN#-nDCG and P+Q#",
            "not both this and the other columns",
            "If τ = 1, both measures rank the runs alike, so that their correlations with a third measure are the "
            "same. But I-rec has .92/.94 with one and .94/.93 with the other, α-nDCG .80/.94 and .78/.84, and D#-nDCG "
            ".99/.99 and .95/.95.",
        ),
        Erratum(
            "§5.4, Table 6 (a)",
            ".995 of 236 disagreements, D#-nDCG against α-nDCG",
            ".996 (235), or .992 (234)",
            "235/236 = .9958 and 234/236 = .9915. The other cells are shares of their counts, rounded to three digits.",
        ),
    ),
    {
        "Table 1": (
            "statistics of judgments by intent: `cranfield collection stats QRELS`; the study checks the printed sums"
        ),
    },
)
