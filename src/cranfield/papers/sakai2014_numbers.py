"""Sakai, Metrics, statistics, tests (2014)."""

from __future__ import annotations

from math import log

from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.measures import AP, DCG, ERR, TBG, E, Pplus, Q, bpref_R, parse
from cranfield.measures.ranked_lists.first import preferred
from cranfield.papers.worked import Erratum, Example, Text

MARGINAL_FIRST = [0, 1, 0, 3, 0, 3]
"""Marginally relevant at rank 2, highly at 4 and 6."""
READING = 500
"""Characters of Japanese text that a person reads in a minute."""


def _precision(rank: int) -> float:
    """What the only relevant document of a topic adds to AP."""
    return AP().of([0] * (rank - 1) + [1])


def _bpref(rank: int) -> float:
    """What a relevant document at this rank of the condensed list adds to bpref, times R, with R = N = 500."""
    lists = Assessed.one([0] * (rank - 1) + [1], [1] * 499 + [0] * (500 - rank + 1))
    return float(bpref_R().terms(lists).adds[-1])


def _stops(grades: list[float]) -> float:
    """The probability to stop at the last of these documents."""
    return float(ERR(max_grade=3).terms(Assessed.one(grades)).columns["stops here"][-1])


def _time(grade: float, words: int) -> float:
    """The time to reach rank 2, less that of one summary."""
    lists = Assessed.one([grade, 1]).replace(lengths=Lengths.one([words, 1], 2))
    return float(TBG().terms(lists).columns["time"][1]) - TBG().summary


def _blended_ratio(first: int, beta: float) -> float:
    lists = Assessed.one([0] * (first - 1) + [1], [1] * 4)
    return float(Q(beta=beta).terms(lists).columns["blended ratio"][0])


def _preferred_rank() -> float:
    hits = Assessed.one(MARGINAL_FIRST).relevant()
    return float(hits.rank[preferred(hits)][0])


def _novelty(number: int) -> float:
    terms = parse("alpha-DCG").terms(with_intents([{"a": 1}] * number))
    assert terms is not None
    return float(terms.columns["novelty-biased gain"][-1])


def _e_of_sets() -> float:
    """(1) for 3 of 5 retrieved and 4 relevant documents, less (3)."""
    return (6 - 3) / (4 + 5) - E().of([1, 0, 1, 0, 1], [1])


TEXT = Text(
    "Tetsuya Sakai, Metrics, Statistics, Tests, PROMISE Winter School 2013, Springer LNCS 8173, 2014",
    (
        Example("§2.1, (1)-(3)", "E by sets less E by precision and recall, for 3 of 5, R = 4", "0", _e_of_sets),
        Example("§2.2, (6)", "gain 3 at rank 1, discounted", "3", lambda: DCG().of([3])),
        Example("§2.2, (6)", "gain 3 at rank 7, discounted", "1", lambda: DCG().of([0] * 6 + [3])),
        Example("§2.2, AP", "precision added at rank 2", "0.5", lambda: _precision(2)),
        Example("§2.2, AP", "precision added at rank 1", "1", lambda: _precision(1)),
        Example("§2.2, AP", "precision added at rank 100", "0.0100", lambda: _precision(100)),
        Example("§2.2, AP", "precision added at rank 99", "0.0101", lambda: _precision(99)),
        Example("§2.2, Fig. 3", "BR(5), R = 5, β = 10", "1/5", lambda: _blended_ratio(5, 10), "by hand: 1/r1"),
        Example(
            "§2.2, Fig. 3", "BR(10), R = 5, β = 1", "2/15", lambda: _blended_ratio(10, 1), "by hand: (1 + β)/(r1 + βR)"
        ),
        Example("§2.2, P+", "preferred rank of 0 1 0 3 0 3", "4", _preferred_rank),
        Example(
            "§2.2, P+",
            "P+ of this list",
            "35/88",
            lambda: Pplus().of(MARGINAL_FIRST),
            "by hand: (2/8 + 6/11)/2",
        ),
        Example("§2.2, ERR", "stops at a marginally relevant document", "1/8", lambda: _stops([1])),
        Example("§2.2, ERR", "stops at a partially relevant document", "3/8", lambda: _stops([2])),
        Example("§2.2, ERR", "stops at a highly relevant document", "7/8", lambda: _stops([3])),
        Example("§2.2, ERR", "stops at rank 2 after a nonrelevant document", "0.8750", lambda: _stops([0, 3])),
        Example("§2.2, ERR", "stops at rank 2 after a highly relevant one", "0.1094", lambda: _stops([3, 3])),
        Example("§2.2, TBG", "T(2) − T_S after a nonrelevant document of 1000 words", "10.062", lambda: _time(0, 1000)),
        Example("§2.2, TBG", "T(2) − T_S after a relevant document of 10 words", "5.107", lambda: _time(1, 10)),
        Example("§2.2, bpref", "added at condensed rank 2, R = N = 500", "0.9980", lambda: _bpref(2)),
        Example("§2.2, bpref", "added at condensed rank 1", "1", lambda: _bpref(1)),
        Example("§2.2, bpref", "added at condensed rank 100", "0.8020", lambda: _bpref(100)),
        Example("§2.2, bpref", "added at condensed rank 99", "0.8040", lambda: _bpref(99)),
        Example("§3.1, (25)", "novelty-biased gain of the first document of an intent", "1", lambda: _novelty(1)),
        Example("§3.1, (25)", "of the second", "0.5", lambda: _novelty(2)),
        Example("§3.1, (25)", "of the third", "0.25", lambda: _novelty(3)),
        Example("§3.2, (35)", "sDCG's discount of the first query, log4(1 + 3)", "1", lambda: log(1 + 3, 4)),
        Example("§3.2, Fig. 9", "gain of a click", "0.5", lambda: (2**1 - 1) / 2**1),
        Example("§3.3, S-measure", "minutes for L = 1000 characters", "2", lambda: 1000 / READING),
    ),
    (
        Erratum(
            "§2.2, (19)",
            "the normalisation factor N is set to zero if normalisation is not required",
            "set to one",
            "U is a sum divided by N, so that N = 0 has no value, and N = 1 leaves the sum alone.",
        ),
        Erratum(
            "§2.2, S-measure and §3.3, (43)-(45)",
            "lengths are measured in characters",
            "with or without white space, it does not say",
            "§3.3 counts the characters of an answer for (41) without white space. For vital strings, offsets and "
            "outputs of (43)-(45) nothing is said; our option covers both.",
        ),
        Erratum(
            "§3.1, (h)",
            "D#-nDCG ≫ D#-nDCG ≫ P+Q# ≫ α-nDCG",
            "DIN#-nDCG ≫ D#-nDCG ≫ P+Q# ≫ α-nDCG",
            "A measure cannot outperform itself; the text that it cites (Sakai 2013, §5.4) has DIN#-nDCG first. The "
            "copy that we read may have lost the letters.",
        ),
    ),
    {
        "Figs. 1, 4, 5, 8 and 10": "drawings of ideas",
        "Fig. 2": "the recall-precision curve: `cranfield plot curves QRELS RUNS`",
        "Fig. 9": "U from clicks: `cranfield answers sessions`",
        "Figs. 13 and 14, unpaired bootstrap": (
            "runs on the same topics are paired; `cranfield compare --test unpaired-bootstrap` takes two samples"
        ),
        "§5.3, predictive power": 'needs preferences of people: a step with `method = "predict"`',
    },
)
