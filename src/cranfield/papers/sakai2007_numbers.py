"""Sakai, On the properties of evaluation metrics for finding one highly relevant document (2007)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cranfield.measures import NWRR, WRR, Measure, O, Pmeasure, Pplus
from cranfield.papers.worked import Erratum, Example, Text

S, A, B = 3, 2, 1
"""Highly, fairly and partially relevant; the gains are the grades."""
PENALTY: Mapping[float, float] = {S: 2, A: 3, B: 4}
FLAT: Mapping[float, float] = {S: 2, A: 1.5, B: 1}
PAIRS = 30 * 29 // 2
NTCIR_3_CHINESE = {"Q": 242, "AP": 240, "P": 170, "P+": 167, "O": 165, "NWRR": 136, "RR": 126}
"""Table 4 (a): pairs that differ significantly."""


def _ideal_020() -> float:
    return 3 * 10 + 2 * 6 + 1 * 36


def _at_913() -> float:
    return Pplus().of([None] * 912 + [S], [S] * 9 + [A] * 6 + [B] * 36)


def _topic_034(measure: Measure) -> float:
    """S at rank 424; above it 137 A and 29 B, the first of them B at rank 2; of 5 S, 288 A and 61 B."""
    grades: list[float | None] = [None] * 424
    grades[423], grades[1] = S, B
    grades[2:30] = [B] * 28
    grades[30:167] = [A] * 137
    return measure.of(grades, [S] * 4 + [A] * (288 - 137) + [B] * (61 - 29))


def _significant_tau() -> float:
    """The smallest τ of 30 runs that is significant at 0.01, by (9)."""
    from scipy.special import ndtri

    return float(-ndtri(0.005)) * math.sqrt((4 * 30 + 10) / (9 * 30 * 29))


TEXT = Text(
    "Tetsuya Sakai, On the Properties of Evaluation Metrics for Finding One Highly Relevant Document, IPSJ "
    "Transactions on Databases, 2007",
    (
        Example("§3.2, Fig. 2", "NWRR, S at rank 3", "1/5", lambda: NWRR(penalty=PENALTY).of([0, 0, S])),
        Example("§3.2, Fig. 2", "O, S at rank 3, the only relevant document", "2/3", lambda: O().of([0, 0, S])),
        Example("§3.2, Fig. 2", "O, S at rank 3, of three S", "1/3", lambda: O().of([0, 0, S], [S, S])),
        Example("§3.2, (5)", "largest WRR, 1 / (1 − 1/β(S))", "2", lambda: WRR(penalty=PENALTY).of([S], [A, B])),
        Example(
            "§3.2, Fig. 3",
            "O prefers Y (S at rank 2) to X (B at rank 1): 1",
            "1",
            lambda: float(O().of([0, S], [A, B]) > O().of([B], [S, A])),
        ),
        Example(
            "§3.2, Fig. 3",
            "O with gains 2, 1.5, 1 prefers X: 1",
            "1",
            lambda: float(O(gain=FLAT).of([B], [S, A]) > O(gain=FLAT).of([0, S], [A, B])),
        ),
        Example(
            "§3.2, Fig. 3",
            "NWRR prefers X whatever the penalties, here 2, 3, 4: 1",
            "1",
            lambda: float(NWRR(penalty=PENALTY).of([B], [S, A]) > NWRR(penalty=PENALTY).of([0, S], [A, B])),
        ),
        Example("§3.3, Fig. 3", "P-measure of Z (B, S)", "0.86", lambda: Pmeasure().of([B, S], [A])),
        Example("§3.3, Fig. 3", "P-measure of X (B)", "0.50", lambda: Pmeasure().of([B], [S, A])),
        Example("§3.3, Fig. 3", "P-measure of Y (S at rank 2)", "0.57", lambda: Pmeasure().of([0, S], [A, B])),
        Example("§3.3, Fig. 3", "O of Y", "0.57", lambda: O().of([0, S], [A, B])),
        Example("§3.3, (6)", "P-measure of the perfect inverse B, A, S", "1", lambda: Pmeasure().of([B, A, S])),
        Example("§3.3, (7)", "P+ of the perfect inverse", "0.74", lambda: Pplus().of([B, A, S])),
        Example(
            "§4.1, (9)",
            "τ of 30 runs that is significant at 0.01",
            "0.34",
            _significant_tau,
            "erratum: 0.33",
        ),
        Example("§5.1", "pairs of 30 runs", "435", lambda: PAIRS),
        *(
            Example("§5.4, Table 4 (a)", f"share of significant pairs by {name}", printed, lambda n=n: n / PAIRS)  # type: ignore[misc]
            for (name, n), printed in zip(
                NTCIR_3_CHINESE.items(), ("56%", "55%", "39%", "38%", "38%", "31%", "29%"), strict=True
            )
        ),
        Example("Appendix", "cg_I of NTCIR-3 Chinese topic 020", "48", _ideal_020, "erratum: 78"),
        Example("Appendix", "P+ = P-measure = O of topic 020, S at rank 913", "0.004", _at_913),
        Example("Appendix", "cg_I of NTCIR-5 Japanese topic 034", "652", lambda: 3 * 5 + 2 * 288 + 1 * 61),
        Example("Appendix", "P-measure of topic 034", "0.440", lambda: _topic_034(Pmeasure())),
        Example("Appendix", "O of topic 034", "0.250", lambda: _topic_034(O())),
    ),
    (
        Erratum(
            "§3.2, Fig. 2",
            "Topic 3 has at least three S-relevant documents",
            "Topic 2",
            "The caption of Fig. 2 says Topics 1 and 2, and §3.2 says of Topic 3 (Fig. 3) that it has one S-relevant "
            "document.",
        ),
        Erratum(
            "§4.1",
            "significant at α = 0.01 if τ is over 0.34",
            "over 0.33",
            "(9) with n = 30 and z = 2.576 gives τ = 2.576 √(130 / 7830) = 0.332. With 435 pairs and no ties the next "
            "possible values are 143/435 = 0.329 (not significant) and 145/435 = 0.333 (significant).",
        ),
        Erratum(
            "§5.3, Table 3",
            "max. is the maximum overall absolute difference",
            "max. is the largest mean score of a run",
            "RR on NTCIR-5 Japanese has 1.0000 there. As a difference of means this would need a run with RR = 1 on "
            "all topics of a sample and a run with RR = 0 on all of them, among the 30 best runs. As a mean score it "
            "needs only a sample in which the best run is right at rank 1. So (ii)/(iii) is a share of the best mean "
            "score.",
        ),
        Erratum(
            "§5.5, Table 5",
            "τ = .9899 for P-measure with gains 30:20:10 on NTCIR-3 Chinese",
            ".9862 or .9908",
            "τ is (pos − neg)/435. All other 131 values of Tables 2 and 5 are odd multiples of 1/435, rounded, as they "
            "must be without ties; .9899 is 430.6/435. Its neighbours are 429/435 = .9862 and 431/435 = .9908.",
        ),
        Erratum(
            "Appendix, topic 020",
            "3 · 10 + 2 · 6 + 1 · 36 = 48",
            "78",
            "30 + 12 + 36 = 78; 48 is 12 + 36. BR(913) is then 4/991 instead of 4/961, and 0.004 both ways.",
        ),
    ),
    {
        "Fig. 1": "sorts the measures by what they assume",
        "Table 1": "statistics of the NTCIR data: `cranfield collection stats QRELS`",
        "Fig. 8": "the mean AP of all runs: `cranfield plot boxes QRELS RUNS -m AP`",
        "Figs. 9 and 10, four collections in one": "each collection is a study of its own",
        "P+ of topic 034, .454": (
            "depends on the ranks of all 166 documents above rank 424, which the text does not print"
        ),
    },
)
