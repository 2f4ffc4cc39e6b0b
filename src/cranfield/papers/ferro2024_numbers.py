"""Ferro and Maistro, evaluation of information retrieval systems (2024)."""

from __future__ import annotations

from itertools import pairwise, product
from math import sqrt

from cranfield.comparison.corrections import family_wise_error
from cranfield.comparison.distributions import range_quantile
from cranfield.comparison.effects import omega_squared
from cranfield.measures import AP, DCG, RBP, RBTO, RR, IPrec, Measure, P, R, Rprec, nDCG
from cranfield.papers.worked import Erratum, Example, Text

FIG_7, FIG_7_MISSED = [1, 0, 1, 1, 0, 0, 0, 1, 0, 0], [1, 1, 1, 1]
"""Relevant at ranks 1, 3, 4 and 8 of 10; recall base 8."""
FIG_11, FIG_11_MISSED = [3, 0, 1, 2, 0, 0, 0, 2, 0, 0], [3, 2, 1, 1]
"""The same ranks with grades; the missed grades are those whose ideal DCG is the printed one."""
TOPICS, SYSTEMS = 50, 129
SCORES = TOPICS * SYSTEMS
PAIRS = SYSTEMS * (SYSTEMS - 1) // 2
SS = {"topic": 167.9974, "system": 60.0299, "error": 85.3502}
DF = {"topic": 49, "system": 128, "error": 6272}
"""Table 1."""
TABLE_3 = (
    ("P, Kruskal-Wallis", 1566, "18.97%"), ("P, ANOVA", 2785, "33.73%"),
    ("R, Kruskal-Wallis", 1748, "21.17%"), ("R, ANOVA", 3259, "39.47%"),
    ("F, Kruskal-Wallis", 1721, "20.85%"), ("F, ANOVA", 3081, "37.32%"),
    ("RBP(p=0.5), Kruskal-Wallis", 1677, "20.31%"), ("RBP(p=0.5), ANOVA", 2861, "34.65%"),
    ("RBP(p=0.2), Kruskal-Wallis", 1675, "20.29%"), ("RBP(p=0.2), ANOVA", 2198, "26.62%"),
    ("RBP(p=0.8), Kruskal-Wallis", 1783, "21.60%"), ("RBP(p=0.8), ANOVA", 3476, "42.10%"),
    ("AP, Kruskal-Wallis", 1824, "22.09%"), ("AP, ANOVA", 3320, "40.21%"),
)  # fmt: skip


def _ms(source: str) -> float:
    return SS[source] / DF[source]


def _f(source: str) -> float:
    return _ms(source) / _ms("error")


def _omega(source: str, f: float) -> float:
    return omega_squared(f, DF[source], SCORES).value


def _gaps(measure: Measure) -> list[float]:
    """The gaps between the different scores of all runs of length 4 with a recall base of 4 (Fig. 19), upwards."""
    values = {round(measure.of(run, [1] * (4 - sum(run))), 12) for run in product((0, 1), repeat=4)}
    ascending = sorted(values)
    return [high - low for low, high in pairwise(ascending)]


def _even(measure: Measure) -> float:
    """The largest gap over the smallest."""
    gaps = _gaps(measure)
    return max(gaps) / min(gaps)


TEXT = Text(
    "Nicola Ferro and Maria Maistro, a survey of the evaluation of information retrieval systems, 2024",
    (
        Example("§3.1, Fig. 7", "P", "0.40", lambda: P().of(FIG_7, FIG_7_MISSED)),
        Example("§3.1, Fig. 7", "R", "0.50", lambda: R().of(FIG_7, FIG_7_MISSED)),
        Example("§3.1, Fig. 7", "P@5", "0.600", lambda: (P() @ 5).of(FIG_7, FIG_7_MISSED)),
        Example("§3.1, Fig. 7", "R@5", "0.375", lambda: (R() @ 5).of(FIG_7, FIG_7_MISSED)),
        Example("§3.1, Fig. 7", "Rprec", "0.50", lambda: Rprec().of(FIG_7, FIG_7_MISSED)),
        Example(
            "§3.2, Fig. 8",
            "interpolated precision at recall .3 of Run1",
            "0.66",
            lambda: (IPrec() @ 0.3).of([0, 1, 1, 0, 1], [1, 1]),
            "2/3, cut off",
        ),
        Example("§3.3, (4)", "AP of Fig. 7", "35/96", lambda: AP().of(FIG_7, FIG_7_MISSED)),
        Example("§3.3, (4)", "the same, rounded", "0.36", lambda: AP().of(FIG_7, FIG_7_MISSED)),
        Example("§3.4, Fig. 11", "DCG", "5.2976", lambda: DCG(discount="jk").of(FIG_11, FIG_11_MISSED)),
        Example(
            "§3.4, Fig. 11",
            "iDCG, of 3 3 2 2 2 1 1 1",
            "10.1996",
            lambda: DCG(discount="jk").of([3, 3, 2, 2, 2, 1, 1, 1]),
        ),
        Example("§3.4, Fig. 11", "nDCG", "0.5194", lambda: nDCG(discount="jk").of(FIG_11, FIG_11_MISSED)),
        Example(
            "§4.2.4",
            "family-wise error of 10 pairs at 0.05",
            "0.4013",
            lambda: family_wise_error(0.05, 10),
            "by hand: 1 − 0.95^10",
        ),
        Example("§4.2.6, Table 1", "degrees of freedom of the total", "6449", lambda: sum(DF.values())),
        Example(
            "§4.2.6, Table 1",
            "SS of the total, the sum of the three",
            "313.3375",
            lambda: sum(SS.values()),
            "erratum: 313.3775",
        ),
        Example("§4.2.6, Table 1", "MS of topics", "3.4285", lambda: _ms("topic")),
        Example("§4.2.6, Table 1", "MS of systems", "0.4690", lambda: _ms("system")),
        Example("§4.2.6, Table 1", "MS of the error", "0.0136", lambda: _ms("error")),
        Example("§4.2.6, Table 1", "F of topics, from the printed SS", "251.9463", lambda: _f("topic")),
        Example("§4.2.6, Table 1", "F of systems, from the printed SS", "34.4635", lambda: _f("system")),
        Example("§4.2.6, Table 1", "ω² of topics, (8)", "0.6559", lambda: _omega("topic", 251.9463)),
        Example("§4.2.6, Table 1", "ω² of systems, (8)", "0.3991", lambda: _omega("system", 34.4635)),
        Example("§4.2.6", "pairs of 129 systems", "8,256", lambda: PAIRS),
        Example(
            "§4.2.6",
            "half-width of Tukey's intervals, (11)",
            "0.0515",
            lambda: range_quantile(0.05, SYSTEMS, DF["error"]) * sqrt(_ms("error") / TOPICS) / 2,
        ),
        Example("§7.7.2, Fig. 19", "P: largest gap over smallest", "1", lambda: _even(P())),
        Example("§7.7.2, Fig. 19", "RBP(p=0.5): largest gap over smallest", "1", lambda: _even(RBP(p=0.5))),
        Example("§7.7.2, Fig. 19", "RBTO: largest gap over smallest", "1", lambda: _even(RBTO())),
        Example("§7.7.2, Fig. 19", "AP: share of its range unused at the top", "1/4", lambda: _gaps(AP())[-1]),
        Example("§7.7.2, Fig. 19", "RR: share of its range unused at the top", "1/2", lambda: _gaps(RR())[-1]),
        Example(
            "§7.7.2, Fig. 19",
            "RBP(p=0.3): share of its range unused in the middle",
            "1/2",
            lambda: max(_gaps(RBP(p=0.3))),
            "0.7 − 0.2919; the text says half of the range, roughly",
        ),
        *(
            Example("§7.8, Table 3", f"share of pairs that differ: {name}", printed, lambda n=n: n / PAIRS)  # type: ignore[misc]
            for name, n, printed in TABLE_3
        ),
    ),
    (
        Erratum(
            "§3.4, (5), first row",
            "Σ_{i=1..k} r[i] if i < b",
            "if k < b",
            "i is the variable of the sum; the second case is k ≥ b.",
        ),
        Erratum(
            "§3.4, (5), second row",
            "Σ_{i=1..k} r[i] / max(1, log_b(k))",
            "Σ_{i=1..k} r[i] / max(1, log_b(i))",
            "With log_b(k) all documents would have the discount of the last one. The example of Fig. 11 divides each "
            "document by the logarithm of its own rank: 3 + 1/log2(3) + 2/log2(4) + 2/log2(8).",
        ),
        Erratum(
            "§4.2.6, Table 1",
            "the total of the sums of squares is 313.3375",
            "313.3775",
            "167.9974 + 60.0299 + 85.3502 = 313.3775. The three terms are right: their mean squares, F and ω² follow "
            "from them in all printed digits.",
        ),
        Erratum(
            "§6.4, Algorithm 1",
            "k_a ← k_a + 1 and k_b ← k_b + 1 stand inside the tests a[k_a] ∉ I and b[k_b] ∉ I",
            "behind these tests",
            "If A and B both begin with document d, and A is first, d is taken from A, and k_a = 2. Then k_a > k_b, "
            "and b[1] = d is in I, so that nothing changes, k_b included, and the loop does not end. The text says "
            "that the pointers are at documents that are not yet in I.",
        ),
        Erratum(
            "§7.1",
            "where a Papaya tree is taller than a Banana one, a measure of height assigns a higher number to the "
            "Banana tree",
            "to the Papaya tree",
            "The representation condition of Fig. 18: the taller tree has the higher number.",
        ),
        Erratum(
            "§7.7.2, RBTO",
            "Σ r[i] (c + 1)^(N−i), c is the total number of relevance degrees",
            "c is the number of degrees of relevant documents; all degrees with 0 are c + 1",
            "For binary relevance the base must be 2, so that the runs are the binary numbers 0 to 2^N − 1, equally "
            "spaced. With base 3 they are not. Table 3 has the same counts for RBTO as for RBP with p = 1/2, as only "
            "base 2 explains.",
        ),
    ),
    {
        "Figs. 1 to 6, 12 to 15, 17 and 18": "drawings of ideas",
        "Figs. 8 to 10": "precision-recall curves: `cranfield plot curves QRELS RUNS`",
        "Table 2": "formulas of measures; `cranfield measures RBP ERR TBG MP` prints ours",
        "Algorithm 1": "balanced interleaving: `cranfield interleave make`",
    },
)
