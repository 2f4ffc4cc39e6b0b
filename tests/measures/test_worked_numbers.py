"""Worked examples from the papers that the package follows, and by hand."""

from __future__ import annotations

import math
from math import log2

import numpy as np
import pytest

from cranfield.assessed.lists import Assessed
from cranfield.measures import (
    AP,
    AP11,
    CG,
    DCG,
    ERR,
    RBP,
    RR,
    Accuracy,
    E,
    F,
    Fallout,
    G,
    IPrec,
    Judged,
    NumNonrelRet,
    P,
    Q,
    R,
    RBPres,
    RelativeP,
    Rmeasure,
    Rndcg,
    Rprec,
    SetAP,
    SetF,
    Specificity,
    Success,
    Unjudged,
    Utility,
    binG,
    bpref,
    bpref_N,
    bpref_R,
    confusion,
    gP,
    gR,
    infAP,
    nCG,
    nDCG,
    nDCGrel,
    nERR,
    unj,
    yaap,
)

close = pytest.approx

# Ferro & Maistro 2024, Fig. 7: relevant at ranks 1, 3, 4 and 8 of 10, recall base 8.
FIG_7 = [1, 0, 1, 1, 0, 0, 0, 1, 0, 0]
FIG_7_MISSED = [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [(P(), 0.40), (R(), 0.50), (P() @ 5, 0.600), (R() @ 5, 0.375), (Rprec(), 0.50), (AP(), 35 / 96)],
    ids=str,
)
def test_seed_004_figure_7(measure: P, expected: float) -> None:
    assert measure.of(FIG_7, FIG_7_MISSED) == close(expected, abs=1e-12)


# Seed 004, Fig. 11: the same ranks with grades 3, 1, 2, 2; its iDCG is that of the list 3 3 2 2 2 1 1 1 with base 2.
FIG_11 = [3, 0, 1, 2, 0, 0, 0, 2, 0, 0]
FIG_11_MISSED = [3, 2, 1, 1]


def test_seed_004_figure_11() -> None:
    assert DCG(discount="jk").of(FIG_11, FIG_11_MISSED) == close(5.2976, abs=5e-5)
    assert DCG(discount="jk").of([3, 3, 2, 2, 2, 1, 1, 1]) == close(10.1996, abs=5e-5)
    assert nDCG(discount="jk").of(FIG_11, FIG_11_MISSED) == close(0.5194, abs=5e-5)


def test_seed_003_dcg_of_six_documents() -> None:
    # IR Evaluation, course notes 2015 §3.2: 3 + 2 + 1.892 + 0 + .431 + .774
    lists = Assessed.one([3, 2, 3, 0, 1, 2])
    terms = DCG(discount="jk").terms(lists)
    assert terms.adds == close(np.array([3, 2, 1.892, 0.431, 0.774]), abs=1e-3)


def test_seed_003_mean_reciprocal_rank() -> None:
    # IR Evaluation, course notes 2015 (9): first right answers at ranks 3, 2, 1
    assert np.mean([RR().of([0, 0, 1]), RR().of([0, 1, 0]), RR().of([1, 0, 0])]) == close(11 / 18)


def test_seed_000_a_highly_relevant_document_at_rank_7_adds_1() -> None:
    assert DCG().of([0] * 6 + [3]) == 1.0


def test_seed_000_err_stops() -> None:
    # 000 after (15): 7/8 after a non-relevant document, (1 - 7/8) 7/8 after a highly relevant one
    after_nothing = ERR(max_grade=3).terms(Assessed.one([0, 3])).columns["stops here"]
    after_another = ERR(max_grade=3).terms(Assessed.one([3, 3])).columns["stops here"]
    assert after_nothing.tolist() == [0.8750]
    assert after_another[1] == close(0.1094, abs=5e-5)


def test_seed_000_bpref_is_not_top_heavy() -> None:
    # 000 after (23): R = N = 500; relevant at condensed rank 2 adds .9980, at 99 adds .8040, at 100 adds .8020
    for measure in (bpref(), bpref_R(), bpref_N()):
        for rank, expected in ((1, 1.0), (2, 0.9980), (99, 0.8040), (100, 0.8020)):
            lists = Assessed.one([0] * (rank - 1) + [1], [1] * 499 + [0] * (500 - rank + 1))
            assert measure.terms(lists).adds.tolist() == close([expected])


# Sakai 2006: gains 3, 2, 1 for S, A, B; a topic with one document of each.
def test_seed_001_blended_ratios() -> None:
    # list B, S: BR(2) = (1 + 3 + 2) / (3 + 2 + 2) = 6/7; list B, A, S: 2/4, 5/7, 1
    assert Q().terms(Assessed.one([1, 3], [2])).columns["blended ratio"][1] == close(6 / 7)
    assert Q().of([1, 2, 3]) == close((2 / 4 + 5 / 7 + 1) / 3)


def test_seed_001_one_highly_relevant_document_at_rank_3() -> None:
    # O-measure examples: one S document gives 2/3, three S documents 1/3
    assert Q().of([0, 0, 3]) == close(2 / 3)
    assert Q().of([0, 0, 3], [3, 3]) == close(1 / 3 / 3)


def test_seed_001_appendix_topic_020_corrected() -> None:
    # the appendix prints cg_I = 48; 3·10 + 2·6 + 36 = 78, so BR(913) = 4/991
    lists = Assessed.one([None] * 912 + [3], [3] * 9 + [2] * 6 + [1] * 36)
    assert Q().terms(lists).columns["blended ratio"].tolist() == close([4 / 991])


def test_seed_000_blended_ratio_of_the_first_relevant_document_when_binary() -> None:
    # 000 after (11): 1/r1 up to rank R, (1 + β)/(r1 + βR) beyond; R = 5
    for beta in (0.1, 1, 10):
        for first in range(1, 12):
            ratio = Q(beta=beta).terms(Assessed.one([0] * (first - 1) + [1], [1] * 4)).columns["blended ratio"]
            assert ratio.tolist() == close([1 / first if first <= 5 else (1 + beta) / (first + 5 * beta)])


def test_normalised_sliding_ratio_of_a_cranfield_request() -> None:
    # Keen, in Salton's report ISR-13 (1967), Fig. 6: relevant at ranks 1, 2, 4, 6, 13
    grades = [1 if rank in (1, 2, 4, 6, 13) else 0 for rank in range(1, 15)]
    expected = {1: 1.00, 2: 1.00, 3: 0.67, 4: 0.75, 5: 0.60, 6: 0.80, 7: 0.80, 13: 1.00, 14: 1.00}
    for rank, ratio in expected.items():
        assert (nCG() @ rank).of(grades) == close(ratio, abs=5e-3)


def test_interpolated_precision_as_in_seed_000_figure_2() -> None:
    # five relevant documents, four found at ranks 1, 3, 6, 10: precisions 1, 2/3, 1/2, 2/5 at recall .2 .4 .6 .8
    grades = [1, 0, 1, 0, 0, 1, 0, 0, 0, 1]
    best = {0: 1, 0.1: 1, 0.2: 1, 0.3: 2 / 3, 0.4: 2 / 3, 0.5: 1 / 2, 0.6: 1 / 2, 0.7: 2 / 5, 0.8: 2 / 5, 0.9: 0, 1: 0}
    for point, precision in best.items():
        assert (IPrec() @ point).of(grades, [1]) == close(precision)
    assert AP11().of(grades, [1]) == close(sum(best.values()) / 11)


def test_interpolated_precision_may_rise_with_recall() -> None:
    # by hand: relevant at 2, 3, 4: precisions 1/2, 2/3, 3/4, so 3/4 is the best at every recall
    assert (IPrec() @ 0).of([0, 1, 1, 1]) == 0.75
    assert AP11().of([0, 1, 1, 1]) == close(0.75)


def test_recall_points_between_documents() -> None:
    # six relevant documents; recall .2 needs 1.2 of them: two, but trec_eval 10 rounds to one
    grades, missed = [1, 0, 0, 1], [1, 1, 1, 1]
    assert (IPrec() @ 0.2).of(grades, missed) == 0.5
    assert (IPrec(dialect="trec9") @ 0.2).of(grades, missed) == 0.5
    assert (IPrec(dialect="trec10") @ 0.2).of(grades, missed) == 1.0
    # 20 relevant documents; recall .55 needs 11, and 0.55 * 20 is a little more than 11 in floating point
    assert (IPrec() @ 0.55).of([1] * 11, [1] * 9) == 1.0


def test_sets_by_hand() -> None:
    # 3 of 5 retrieved are relevant, 4 relevant in all: P = 3/5, R = 3/4
    grades, missed = [1, 0, 1, None, 1], [1, 0]
    assert P().of(grades, missed) == close(3 / 5)
    assert R().of(grades, missed) == close(3 / 4)
    assert F().of(grades, missed) == close(2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4))
    assert F(beta=2).of(grades, missed) == close(5 * (3 / 5) * (3 / 4) / (4 * (3 / 5) + 3 / 4))
    assert F(alpha=0.2).of(grades, missed) == close(F(beta=2).of(grades, missed))
    assert E(beta=2).of(grades, missed) == close(1 - F(beta=2).of(grades, missed))
    assert SetF(beta=4).of(grades, missed) == close(F(beta=2).of(grades, missed))
    assert SetAP().of(grades, missed) == close(3 / 5 * 3 / 4)
    assert (P() @ 10).of(grades, missed) == close(3 / 10)
    assert (RelativeP() @ 3).of(grades, missed) == close(2 / 3)
    assert (RelativeP() @ 10).of(grades, missed) == close(3 / 4)
    assert RelativeP().of(grades, missed) == close(3 / 4)
    assert (Success() @ 1).of(grades, missed) == 1
    assert Judged().of(grades, missed) == close(4 / 5)
    assert Unjudged().of(grades, missed) == close(1 / 5)
    assert (unj() @ 10).of(grades, missed) == close(1 / 10)
    assert NumNonrelRet().of(grades, missed) == 1


def test_contingency_table_by_hand() -> None:
    # 20 documents: 3 relevant and 2 others retrieved, 1 relevant one missed, 14 true negatives
    grades, missed = [1, 0, 1, None, 1], [1, 0]
    cells = confusion(Assessed.one(grades, missed), N=20)
    assert cells.true_positive.tolist() == [3]
    assert cells.false_positive.tolist() == [2]
    assert cells.false_negative.tolist() == [1]
    assert cells.true_negative is not None
    assert cells.true_negative.tolist() == [14]
    assert Accuracy(N=20).of(grades, missed) == close(17 / 20)
    assert Fallout(N=20).of(grades, missed) == close(2 / 16)
    assert Specificity(N=20).of(grades, missed) == close(14 / 16)
    assert Utility(a=3, b=-2, c=-1, d=0.5, N=20).of(grades, missed) == close(3 * 3 - 2 * 2 - 1 * 1 + 0.5 * 14)
    # with a cutoff of 3: 2 relevant and 1 other retrieved, 2 missed, 15 true negatives
    assert (Accuracy(N=20) @ 3).of(grades, missed) == close(17 / 20)
    assert (Fallout(N=20) @ 3).of(grades, missed) == close(1 / 16)
    assert confusion(Assessed.one(grades, missed)).true_negative is None


def test_rprec_at_multiples_of_R() -> None:
    # four relevant: 0.2 · 4 = 0.8, so rank 1; 1.4 · 4 = 5.6, so rank 6, although 5 were retrieved
    grades, missed = [1, 0, 1, None, 1], [1, 0]
    assert Rprec(mult=0.2).of(grades, missed) == 1
    assert Rprec(mult=1.4).of(grades, missed) == close(3 / 6)


def test_gains_by_hand() -> None:
    grades, missed = [2, 0, 3, 1], [3, 2]
    assert CG().of(grades, missed) == 6
    assert (nCG() @ 3).of(grades, missed) == close(5 / 8)
    assert gP().of(grades, missed) == close(6 / 3 / 4)
    assert gR().of(grades, missed) == close(6 / 11)
    assert DCG(gain="exp").of(grades, missed) == close(3 + 7 / 2 + 1 / log2(5))
    assert DCG(gain={1: 1, 2: 5, 3: 10}).of(grades, missed) == close(5 + 10 / 2 + 1 / log2(5))
    assert DCG(discount="jk", base=10).of(grades, missed) == close(6)
    assert DCG(discount="jk08").of(grades, missed) == close(2 + 3 / (1 + log2(3)) + 1 / 3)
    assert (nDCG() @ 2).of(grades, missed) == close(2 / (3 + 3 / log2(3)))


def test_average_precision_at_a_cutoff() -> None:
    # 5 relevant documents, cutoff 2: divides by 5, or by 2
    assert (AP() @ 2).of([1, 0, 1], [1, 1, 1]) == close(1 / 5)
    assert (AP(norm="min") @ 2).of([1, 0, 1], [1, 1, 1]) == close(1 / 2)
    assert (Q(norm="min", beta=0) @ 2).of([1, 0, 1], [1, 1, 1]) == close(1 / 2)
    assert (AP(norm="min") @ 9).of([1, 0, 1], [1, 1, 1]) == AP().of([1, 0, 1], [1, 1, 1])


def test_a_note_says_that_Q_at_a_cutoff_divides_by_less_than_AP() -> None:
    many, few = Assessed.one([1, 0], [1, 1]), Assessed.one([1, 0], [1])
    note = 'Q@2 divides by min(2, R), AP@2 by R; to divide by R: Q(norm="R")@2'
    assert (Q() @ 2).note(many) == note
    # R is 3, so BR(1) = 1 counts 1/2 or 1/3
    assert ((Q() @ 2).of([1, 0], [1, 1]), (Q(norm="R") @ 2).of([1, 0], [1, 1])) == close((1 / 2, 1 / 3))
    assert (Q() @ 2).note(few) is None
    assert (Q(norm="R") @ 2).note(many) is None
    assert Q().note(many) is None


def test_r_measure_by_hand() -> None:
    # R = 3; the first 3 hold grades 1 and 3: (2 + 4) / (3 + 3 + 2 + 1)
    assert Rmeasure().of([1, 0, 3, 2]) == close(6 / 9)


def test_rank_biased_precision_and_its_residual() -> None:
    # p = .5: weights 1/2 1/4 1/8 1/16; the second is unjudged, and what follows the fourth weighs 1/16
    grades = [2, None, 1, 0]
    assert RBP(p=0.5).of(grades) == close(1 / 2 + 1 / 8)
    assert RBP(p=0.5, gain="linear").of(grades) == close(1 / 2 + 1 / 16)
    assert RBP(p=0.5, rel=2).of(grades) == close(1 / 2)
    # Sakai 2014 (16) with gains between 0 and 1: .6 and .2, whatever the largest grade
    assert RBP(p=0.5, gain={1: 0.2, 2: 0.6}).of(grades) == close(0.6 / 2 + 0.2 / 8)
    assert RBP(p=0.5, gain="linear").of([0.5, None, 0.25]) == close(0.5 / 2 + 0.25 / 8)
    assert RBP(p=0.5, gain={1: 1, 2: 5}).of(grades) == close(1 / 2 + 0.2 / 8)
    assert RBPres(p=0.5).of(grades) == close(1 / 4 + 1 / 16)
    assert (RBPres(p=0.5) @ 2).of(grades) == close(1 / 4 + 1 / 4)
    assert RBPres().of([]) == 1


def test_expected_reciprocal_rank_by_hand() -> None:
    # grades 1, 2 of at most 2: p = 1/4, 3/4; 1/4 + (3/4)(3/4)/2, against 3/4 + (1/4)(1/4)/2
    assert ERR().of([1, 2]) == close(1 / 4 + 9 / 32)
    assert nERR().of([1, 2]) == close((1 / 4 + 9 / 32) / (3 / 4 + 1 / 32))
    assert (nERR() @ 1).of([1, 2]) == close(1 / 3)
    assert ERR(max_grade=4).of([4]) == close(15 / 16)


def test_inferred_average_precision_by_hand() -> None:
    # relevant at 1 and 4 of a sampled pool: rank 3 is pooled, not judged; rank 2 judged non-relevant
    e = 0.00001
    at_4 = 1 / 4 + 3 / 4 * (3 / 3) * ((1 + e) / (2 + 2 * e))
    assert infAP().of([1, 0, -1, 1]) == close((1 + at_4) / 2)


def test_measures_of_trec_eval_by_hand() -> None:
    # relevant at 2 and 4, grades 1 and 2, one of grade 3 missed
    grades, missed = [0, 1, None, 2], [3]
    assert binG().of(grades, missed) == close((1 / log2(3) + 1 / log2(4)) / 3)
    # ideal 3 2 1, so the cost is 5 at rank 2 and 6 + 1 at rank 4; gained 1 and 3
    assert G().of(grades, missed) == close((1 / log2(2 + 5 - 1) + 2 / log2(2 + 7 - 3)) / 6)
    d2, d4 = 1 / log2(3), 1 / log2(3) + 2 / log2(5)
    i1, i2 = 3, 3 + 2 / log2(3)
    i3 = i2 + 1 / 2
    assert nDCGrel().of(grades, missed) == close((d2 / i2 + d4 / i3 + d4 / i3) / 3)
    # levels end at ranks 1, 2, 3; the list ends one rank later, which trec_eval does not count
    assert Rndcg().of(grades, missed) == close((0 / i1 + d2 / i2 + d2 / i3) / 3)
    assert Rndcg().of([*grades, None], missed) == close((0 / i1 + d2 / i2 + d2 / i3 + d4 / i3) / 4)
    assert yaap().of(grades, missed) == close(math.log((1 + 1) / (1 + 3 - 1)))


def test_float_grades_are_read_as_they_are() -> None:
    assert CG().of([0.5, 1.5]) == 2
    assert AP().of([0.5, 1.5]) == 0.5
    assert AP(rel=0.5).of([0.5, 1.5]) == 1


def test_a_cutoff_just_above_the_lowest_hit_leaves_it_out() -> None:
    # relevant at 1 and 3 of 3: at cutoff 2 only the first counts, at 3 and beyond both do
    lists = Assessed.one([1, 0, 1])
    assert [len(lists.hits(k)) for k in (2, 3, 4)] == [2, 3, 3]
    assert [len(lists.relevant(1, k)) for k in (2, 3, 4)] == [1, 2, 2]
    assert [float((DCG() @ k).of([1, 0, 1])) for k in (2, 3, 4)] == [1.0, 1.5, 1.5]  # 1/log2(4) = 1/2
