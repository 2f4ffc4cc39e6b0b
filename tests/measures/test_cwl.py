"""C/W/L measures: compared with their definition, cwl-eval, ir_measures and measures that have a C/W/L form."""

from __future__ import annotations

import logging
import math
import warnings
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import (
    AP,
    BPM,
    CWL,
    IFT,
    INSQ,
    INST,
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    RBP,
    RR,
    SDCG,
    CWLMeasure,
    Measure,
    P,
    as_cwl,
    cwl_vectors,
    nDCG,
    parse,
)
from tests.oracles.joined import collections, graded_lists, joined, side_by_side

with warnings.catch_warnings():  # invalid escapes in its source
    warnings.simplefilter("ignore")
    from cwl.ruler import cwl_ruler as theirs
    from cwl.ruler.ranking import Ranking

logging.getLogger("cwl").disabled = True  # it would write every vector to a file

close = pytest.approx
REPORTS = ("EU", "ETU", "EC", "ETC", "ED")
Graded = tuple[list[float | None], list[float]]
Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


# -- by hand


def test_INST_by_hand() -> None:
    # T = 1, [1, 0], two ranks: T_1 = 0, C(1) = ((1+1+0-1)/(1+1+0))² = 1/4, so W = (4/5, 1/5)
    read = cwl_vectors(INST(T=1, depth=2), [1, 0])
    assert read.C.tolist() == close([1 / 4, 4 / 9])  # C(2) = ((2+1+0-1)/(2+1+0))²
    assert read.W.tolist() == close([4 / 5, 1 / 5])
    assert read.L.tolist() == close([3 / 4, 1 / 4 * 5 / 9])
    assert (close(4 / 5), close(5 / 4)) == (read.EU, read.ED)


def test_INST_reads_deeper_if_nothing_is_relevant() -> None:
    # T = 1, [0]: T_1 = 1, C(1) = ((1+1+1-1)/(1+1+1))² = 4/9
    assert cwl_vectors(INST(T=1), [0]).C[0] == close(4 / 9)


def test_INST_with_a_huge_T_weights_all_ranks_alike() -> None:
    # C(i) = 1, so W is 1 over the depth, a thousand by default
    assert INST(T=10**30).of([1]) == pytest.approx(1 / 1000)


def test_INSQ_by_hand() -> None:
    # T = 1: C(i) = ((i+1)/(i+2))², so the chance to reach rank i is (2/(i+1))²; the sum over 1,000 ranks
    reach = [(2 / (rank + 1)) ** 2 for rank in range(1, 1001)]
    assert INSQ(T=1).of([0, 1]) == close(reach[1] / sum(reach))


def test_BPM_by_hand() -> None:
    assert BPM(T=2, K=10).of([1, 0, 1, 1]) == close(2 / 3)  # satisfied at rank 3
    assert BPM(T=9, K=4).of([1, 0, 1, 1, 1]) == close(3 / 4)  # the cost limit of 4 is reached at rank 4
    assert BPM(T=2).of([1, 0, 0]) == close(1 / 10)  # K is 10 by default
    assert (BPM(T=2) @ 5).of([1, 0, 0]) == close(1 / 5)  # or the cutoff


def test_dynamic_BPM_by_hand() -> None:
    # no gain at ranks 1 and 2 lowers K = 4 by 2 · 0.5: at rank 3 the limit is 3, and 3 is spent
    assert cwl_vectors(BPM(T=9, K=4, hc=1), [0, 0, 0, 1]).C[:4].tolist() == [1, 1, 0, 0]
    # it lowers T = 2 in the same way: at rank 3 a gain of 1 is enough
    assert BPM(T=2, K=10, hb=1).of([0, 0, 1]) == close(1 / 3)
    # a gain at rank 1 adds 0.5 to K = 2, so the reader goes on after rank 2
    assert cwl_vectors(BPM(T=9, K=2, hc=1), [1, 1, 1]).C[:3].tolist() == [1, 1, 0]


def test_thirds_add_up_to_the_wanted_gain_in_any_order() -> None:
    # 1/3 + 1/3 + 1 + 1/3 = 2 is reached at rank 4: a gain of 1/2 per document
    for grades in ([1, 1, 3, 1], [1, 1, 1, 3]):
        assert BPM(T=2, max_grade=3).of([*grades, 0]) == close(1 / 2), grades


def test_IFT_by_hand() -> None:
    # C1 = 1 − 1/(1 + 0.9 e^{2−1}), C2 = 1/(1 + 0.9 e^{0.2−1}) after one relevant document
    goal, rate = 1 - 1 / (1 + 0.9 * math.e), 1 / (1 + 0.9 * math.exp(-0.8))
    assert cwl_vectors(IFT(), [1]).C[0] == close(goal * rate)
    assert cwl_vectors(IFT(rule="C1"), [1]).C[0] == close(goal)
    assert cwl_vectors(IFT(rule="C2"), [1]).C[0] == close(rate)


def test_IFT_with_R_0_is_RBP() -> None:
    # R1 = 0, b1 = 4: C = 1 − 1/5
    assert IFT(rule="C1", b1=4, R1=0).of([1, 0, 1]) == close(RBP(p=0.8).of([1, 0, 1]))


def test_IFT_with_a_large_R_does_not_overflow() -> None:
    assert cwl_vectors(IFT(R1=1e6, rule="C1", T=1), [0, 1]).C[:2].tolist() == close([1, 1 - 1 / 1.9])
    assert cwl_vectors(IFT(R2=1e6, rule="C2"), [0]).C[0] == 0


def test_SDCG_by_hand() -> None:
    # 1/log2(4) of 1/log2(2) + 1/log2(3) + 1/log2(4)
    assert (SDCG @ 3).of([0, 0, 1]) == close(0.5 / (1 + 1 / math.log2(3) + 0.5))


def test_a_list_is_followed_by_documents_that_gain_nothing() -> None:
    assert CWL(continuation="P", depth=4).of([1, 1]) == close(2 / 4)


def test_costs_by_grade() -> None:
    # four documents: unjudged and non-relevant ones cost 1, relevant ones 3
    reading = CWL(continuation="P", cost={0: 1, 1: 3}) @ 4
    assert reading.replace(report="EC").of([1, None, 0, 1]) == close(8 / 4)
    assert reading.replace(report="ETC").of([1, None, 0, 1]) == close(8)
    # K = 4 is spent at rank 2, where the cost is 4
    assert BPM(T=9, K=4, cost={0: 1, 1: 3}).of([1, 0, 1]) == close(1 / 2)


# -- the definition as a loop


def chance(measure: Any, rank: int, gains: list[float], costs: list[float]) -> float:
    """C at a rank, from the gains and costs down to it."""
    gain, cost, gain_here = sum(gains[:rank]), sum(costs[:rank]), gains[rank - 1]
    if isinstance(measure, INST):
        below = rank + measure.T + measure.T - gain
        return ((below - 1) / below) ** 2
    if isinstance(measure, (INSQ, NERR11)):
        patience = ((rank + 2 * measure.T - 1) / (rank + 2 * measure.T)) ** 2
        return patience * (1 - gain_here) if isinstance(measure, NERR11) else patience
    if isinstance(measure, SDCG):
        return math.log2(rank + 1) / math.log2(rank + 2)
    if isinstance(measure, NERR8):
        return 1 - gain_here
    if isinstance(measure, NERR9):
        return rank / (rank + 1) * (1 - gain_here)
    if isinstance(measure, NERR10):
        return measure.p * (1 - gain_here)
    if isinstance(measure, IFT):
        goal = 1 - 1 / (1 + measure.b1 * math.exp((measure.T - gain) * measure.R1))
        rate = 1 / (1 + measure.b2 * math.exp((measure.A - gain / cost) * measure.R2))
        return {"C1": goal, "C2": rate, "C1-C2": goal * rate}[measure.rule]
    assert isinstance(measure, BPM)
    T, K = measure.T, 10.0 if measure.K is None else measure.K
    for at in range(1, rank + 1):
        if sum(gains[:at]) >= T - 1e-9 or sum(costs[:at]) >= K - 1e-9:
            return 0.0
        T += measure.hb * (gains[at - 1] - measure.median)
        K += measure.hc * (gains[at - 1] - measure.median)
    return 1.0


def written_out(measure: CWLMeasure, grades: list[float | None], costs_of: dict[float, float]) -> dict[str, float]:
    deep = measure.reading_depth
    known = (grades + [None] * deep)[:deep]
    gains = [max(grade or 0, 0) / 3 for grade in known]
    costs = [costs_of[max(grade or 0, 0)] for grade in known]
    C = [chance(measure, rank, gains, costs) for rank in range(1, deep + 1)]
    if measure.cutoff is not None:
        C[-1] = 0.0
    reach = [math.prod(C[:rank]) for rank in range(deep)]
    depth = sum(reach)
    last = [reach[i] * (1 - C[i]) for i in range(deep)]
    return {
        "EU": sum(reach[i] * gains[i] for i in range(deep)) / depth,
        "ETU": sum(last[i] * sum(gains[: i + 1]) for i in range(deep)),
        "EC": sum(reach[i] * costs[i] for i in range(deep)) / depth,
        "ETC": sum(last[i] * sum(costs[: i + 1]) for i in range(deep)),
        "ED": depth,
    }


WRITTEN: list[CWLMeasure] = [
    INST(), INST(T=3), INSQ(T=2), SDCG(), NERR8(), NERR9(), NERR10(p=0.7), NERR11(T=2), IFT(), IFT(rule="C1", R1=3),
    IFT(rule="C2", A=0.5), BPM(T=1.5), BPM(T=2, K=4, hb=0.5, hc=2), BPM(K=6, hb=-1, hc=-0.5, median=0.25),
]  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(graded=graded_lists(lowest=-1))
def test_every_report_agrees_with_its_definition(graded: Graded) -> None:
    grades, missed = graded
    costs = {0: 1.0, 1: 2.0, 2: 2.5, 3: 4.0}
    for plain in WRITTEN:
        for measure in (plain.replace(max_grade=3, cost=costs, depth=15), plain.replace(max_grade=3, cost=costs) @ 5):
            if isinstance(measure, BPM) and measure.K is None:
                measure = measure.replace(K=10)
            expected = written_out(measure, grades, costs)
            for report in REPORTS:
                assert measure.replace(report=report).of(grades, missed) == close(expected[report], abs=1e-12), measure


# -- cwl-eval and ir_measures

PEERS: list[tuple[Any, CWLMeasure]] = [
    (theirs.INSTCWLMetric(1.0), INST(T=1)),
    (theirs.INSTCWLMetric(3.0), INST(T=3)),
    (theirs.INSQCWLMetric(2.0), INSQ(T=2)),
    (theirs.BPMCWLMetric(2, 10), BPM(T=2)),
    (theirs.BPMCWLMetric(2, 5), BPM(T=2) @ 5),
    (theirs.BPMDCWLMetric(2, 10, 0.5, 0.0, 0.25), BPM(T=2, hb=0.5, median=0.25)),  # cwl-eval only moves T
    (theirs.IFTGoalCWLMetric(2.0, 0.9, 1), IFT(rule="C1")),
    (theirs.IFTRateCWLMetric(0.2, 0.9, 1), IFT(rule="C2")),
    (theirs.IFTGoalRateCWLMetric(2.0, 0.9, 1, 0.2, 0.9, 1), IFT()),
    (theirs.NDCGCWLMetric(7), SDCG() @ 7),
    (theirs.NERReq8CWLMetric(5), NERR8() @ 5),
    (theirs.NERReq9CWLMetric(5), NERR9() @ 5),
    (theirs.NERReq10CWLMetric(0.8), NERR10(p=0.8)),
    (theirs.NERReq11CWLMetric(2.0), NERR11(T=2)),
    (theirs.RBPCWLMetric(0.9), CWL(continuation="RBP", p=0.9)),
    (theirs.PrecisionCWLMetric(5), CWL(continuation="P") @ 5),
    (theirs.RRCWLMetric(), CWL(continuation="RR")),
    (theirs.APCWLMetric(), CWL(continuation="AP")),
]


@pytest.mark.peers
@pytest.mark.parametrize(("peer", "measure"), PEERS, ids=lambda one: str(one) if isinstance(one, Measure) else "")
def test_every_report_agrees_with_cwl_eval(peer: Any, measure: CWLMeasure) -> None:
    rng = np.random.default_rng(7)
    for _ in range(6):
        gains = [*rng.choice([0.0, 0.0, 0.0, 0.25, 0.5, 1.0], rng.integers(0, 25)).tolist(), 0.5]  # nothing missed
        ranking = Ranking("1", np.array(gains), np.ones(len(gains)))
        peer.measure(ranking)
        read = cwl_vectors(measure.replace(max_grade=1), gains)
        deep = len(read.C)
        for report, value in zip(REPORTS, peer.get_scores(), strict=True):
            assert getattr(read, report) == close(value, abs=1e-9), report
        assert close(peer.c_vector(ranking)[:deep], abs=1e-9) == read.C
        assert close(peer.w_vector(ranking)[:deep], abs=1e-9) == read.W
        assert close(peer.l_vector(ranking)[:deep], abs=1e-9) == read.L


NAMES = [
    "INST(T=2.0,max_rel=3)", "INST(max_rel=4)", "INSQ(T=2.0,max_rel=3)", "BPM(T=2.0,max_rel=4)@5", "SDCG(max_rel=3)@4",
    "SDCG(min_rel=1,max_rel=3)@4", "NERR8(max_rel=3)@4", "NERR9(max_rel=3)@4", "NERR10(p=0.7,max_rel=3)",
    "NERR11(T=2.0,max_rel=3)",
]  # fmt: skip


@pytest.mark.peers
@settings(max_examples=15, deadline=None)
@given(collections(ties=False))
def test_names_and_values_agree_with_ir_measures(collection: Collection) -> None:
    judgments, run = collection
    lists = joined(judgments, {"run": run})
    for name in NAMES:
        measure = ir_measures.parse_measure(name)
        values = dict(zip(lists.topics, parse(name).evaluate(lists).tolist(), strict=True))
        for metric in ir_measures.iter_calc([measure], judgments, run):
            assert values[metric.query_id] == close(metric.value, abs=1e-9), name


# -- members


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_measures_with_a_cwl_form_equal_it(graded: Graded) -> None:
    lists = Assessed.one(*graded)
    for measure in (RBP(p=0.7), RBP(gain="exp"), RR(), RR(rel=2) @ 3, AP(), AP(rel=2), AP() @ 4, P() @ 1, P(rel=2) @ 5):
        assert as_cwl(measure).evaluate(lists) == close(measure.evaluate(lists), abs=1e-12, nan_ok=True), measure


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_nDCG_is_SDCG_divided_by_that_of_the_ideal_list(graded: Graded) -> None:
    grades, missed = graded
    judged = [grade for grade in grades if grade is not None] + missed
    ideal = sorted(judged, reverse=True)
    scaled, best = ((SDCG() @ 5).evaluate(side_by_side([grades, ideal], judged))).tolist()
    if best:
        assert scaled / best == close((nDCG @ 5).of(grades, missed), abs=1e-12)


def test_CWL_with_a_named_continuation_is_the_measure_of_that_name() -> None:
    grades = [1, 0, 2, None, 3, 0, 1]
    for name, measure in {"INST": INST(T=2), "INSQ": INSQ(T=2), "DCG": SDCG(), "BPM": BPM(T=2, K=1000)}.items():
        assert CWL(continuation=name, T=2).of(grades) == measure.of(grades), name
    assert CWL(continuation="listed", C=[0.8]).of(grades) == close(CWL(continuation="RBP", p=0.8).of(grades), rel=1e-12)


def test_other_measures_have_no_cwl_form() -> None:
    for measure in (nDCG(), RBP() @ 5, P(), AP(norm="min") @ 3):
        with pytest.raises(UsageError, match="is not a C/W/L measure"):
            cwl_vectors(measure, [1])


# -- laws for all C/W/L measures


@settings(max_examples=30, deadline=None)
@given(graded=graded_lists())
def test_at_a_cutoff_the_vectors_are_distributions_and_the_numbers_fit(graded: Graded) -> None:
    for measure in WRITTEN:
        read = cwl_vectors(measure @ 6, *graded)
        assert (read.W.sum(), read.L.sum()) == (close(1), close(1))
        assert close(read.EU * read.ED, abs=1e-12) == read.ETU
        assert close(read.EC * read.ED, abs=1e-12) == read.ETC
        assert close((read.L * read.rank).sum()) == read.ED


def test_missed_documents_take_a_share_of_the_weights_of_AP() -> None:
    # two of four relevant documents are found: half of W is left for those that were missed
    read = cwl_vectors(AP(), [1, 0, 1], missed=[1, 1])
    assert read.W.sum() == close(2 / 4)
    assert close((1 + 2 / 3) / 4) == read.EU


def test_AP_is_undefined_without_relevant_documents() -> None:
    assert math.isnan(CWL(continuation="AP").of([0]))
    assert CWL(continuation="AP").of([0], missed=[1]) == 0


def test_scoring_in_blocks_gives_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = side_by_side([[1, 0, 3], [], [None, 2], [3, 3, 0, 1], [0]], [3, 3, 2, 1, 1, 0])
    costly = [measure.replace(cost={0: 1, 1: 2, 2: 2, 3: 3}, report="ETC") for measure in WRITTEN]
    whole = [measure.evaluate(lists).tolist() for measure in WRITTEN + costly]
    monkeypatch.setattr("cranfield.measures.readers.cwl.CELLS", 2000)
    assert [measure.evaluate(lists).tolist() for measure in WRITTEN + costly] == whole


def test_vectors_are_those_of_the_list_as_views_read_it() -> None:
    assert cwl_vectors(INST().view("condensed"), [None, 1]).gain[:2].tolist() == [1, 0]
    with pytest.raises(UsageError, match="a mean over many orders has no C, W and L"):
        cwl_vectors(INST().view("ties"), [1])


def test_vectors_of_assessed_lists() -> None:
    assert INST().of([1, 0]) == close(cwl_vectors(INST(), Assessed.one([1, 0])).EU, rel=1e-12)
    with pytest.raises(UsageError, match="takes one list, not 2"):
        cwl_vectors(INST(), side_by_side([[1], [0]], [1, 0]))


def test_vectors_as_plain_data() -> None:
    plain = cwl_vectors(RBP(p=0.5), [1, 0]).to_dict()
    assert list(plain) == ["rank", "gain", "cost", "C", "W", "L", "EU", "ETU", "EC", "ETC", "ED"]
    assert (plain["rank"][:2], plain["gain"][:2], plain["EU"]) == ([1, 2], [1.0, 0.0], 0.5)


def test_a_user_defined_continuation() -> None:
    class Alternating(CWLMeasure):
        """Goes on at odd ranks only."""

        name = "Alternating"

        def continues(self, seen: Any) -> Any:
            return seen.rank % 2

    assert Alternating().of([1, 0, 1]) == close(1 / 2)

    class Wrong(Alternating):
        def continues(self, seen: Any) -> Any:
            return seen.rank / 2

    with pytest.raises(UsageError, match=r"the chance to go on is 1\.5 at some rank, must be between 0 and 1"):
        Wrong(depth=3).of([1])


def test_which_reports_are_better_high() -> None:
    assert [INST(report=report).properties.better for report in REPORTS] == ["higher", "higher"] + ["neither"] * 3
    assert INSQ.properties.additive
    assert not INSQ(report="ETC").properties.additive
    assert not BPM(T=2).properties.normalised


@pytest.mark.parametrize("name", ["INST(T=2,report=\"ETU\")@10", "CWL(gain=None)", "BPM(T=2,cost={0:1,1:3})",
                                  'CWL(continuation="listed",C=[0.9,0.5])'])  # fmt: skip
def test_names_parse_back(name: str) -> None:
    assert str(parse(name)) == name


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("INST(T=0.2)", "T == 0.2, must be 0.5 or more"),
        ("INST(T=-1)", "T == -1, must be 0.5 or more"),
        ("INSQ(T=0)", "T == 0, must be above 0"),
        ("INST(report='utility')", "report == 'utility', must be one of 'EU', 'ETU'"),
        ("INST(depth=0)", "depth == 0, must be a whole number from 1"),
        ("INST@99999999", "cutoff == 99999999, must be a whole number from 1 to 1,000,000"),
        ("INST(max_grade=0)", "max_grade == 0, must be above 0"),
        ("INST(gain={1:-1})", "must be 0 or more"),
        ("INST(cost={1:1})", "must be a table of what documents of each grade cost"),
        ("INST(cost={0:0})", "must be a table of what documents of each grade cost"),
        ("IFT(rule='C3')", "rule == 'C3', must be one of"),
        ("IFT(b1=0)", "b1 == 0, must be above 0"),
        ("BPM(median=2)", "median == 2, must be between 0 and 1"),
        ("CWL(continuation='ERR')", "continuation == 'ERR', must be one of"),
        ("CWL(C=[0.5])", 'give C with continuation="listed"'),
        ("CWL(continuation='listed')", 'give C with continuation="listed"'),
        ("CWL(continuation='listed',C=[2])", "C == 2.0, must be between 0 and 1"),
        ("CWL(p=2)", "p == 2, must be between 0 and 1"),
        ("INST(max_rel=0)", "max_rel == 0, must be whole numbers"),
    ],
)
def test_wrong_parameters_are_refused(name: str, complaint: str) -> None:
    with pytest.raises(UsageError) as wrong:
        parse(name)
    assert complaint in str(wrong.value)


def test_a_grade_above_max_grade_is_refused() -> None:
    with pytest.raises(UsageError, match="max_grade == 1, but the judgments go up to 2"):
        INST(max_grade=1).of([2])
