"""Measures that equal another measure under some condition."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.measures import (
    AP,
    CG,
    DCG,
    RBP,
    RR,
    E,
    F,
    Fallout,
    Gain,
    IPrec,
    Judged,
    Measure,
    P,
    Q,
    R,
    RBPmax,
    RBPres,
    RelativeP,
    Rmeasure,
    Rprec,
    SetF,
    Specificity,
    Success,
    Unjudged,
    bpref,
    bpref_N,
    bpref_R,
    gP,
    gR,
    ideal_dcg,
    nCG,
    nDCG,
    nERR,
    parse,
    precision_recall,
    roc,
)
from tests.laws.instances import ALL
from tests.oracles.joined import graded_lists

Graded = tuple[list[float | None], list[float]]

# Both sides agree on every list.
ALWAYS: dict[str, tuple[Measure, Measure]] = {
    "Q with β = 0 is AP": (Q(beta=0), AP()),
    "Q with β = 0 is AP, cut": (Q(beta=0, norm="min") @ 4, AP(norm="min") @ 4),
    "F is 1 - E": (F(beta=2), E(beta=2)),
    "F with α = 1 is P": (F(alpha=1) @ 5, P() @ 5),
    "F with α = 0 is R": (F(alpha=0), R()),
    "F by β is F by α": (F(beta=2), F(alpha=0.2)),
    "SetF is F with β²": (SetF(beta=4), F(beta=2)),
    "Specificity is 1 - Fallout": (Specificity(N=50), Fallout(N=50)),
    "Judged is 1 - Unjudged": (Judged() @ 4, Unjudged() @ 4),
    "RBP with p = 0 is P@1": (RBP(p=0), P() @ 1),
    "RR@1 is P@1": (RR() @ 1, P() @ 1),
    "Success@1 is P@1": (Success() @ 1, P() @ 1),
    "WRR with infinite penalties is RR": (parse("WRR(penalty=inf)"), RR()),  # Sakai 2007 §3.2
    "NWRR with infinite penalties is RR": (parse("NWRR(penalty={1:inf,2:inf,3:inf})"), RR()),
    "interpolated precision at recall 1 does not depend on the dialect": (IPrec() @ 1, IPrec(dialect="trec10") @ 1),
    "nCG over the whole list is gR": (nCG(), gR()),
    "DCG without discount is CG": (DCG(discount="jk", base=1000), CG()),
    "a gain table of the grades is linear": (nDCG(gain={1: 1, 2: 2, 3: 3}), nDCG()),
    "an exponential gain is a table": (nDCG(gain="exp"), nDCG(gain={1: 1, 2: 3, 3: 7})),
}
COMPLEMENTS = {"F is 1 - E", "Specificity is 1 - Fallout", "Judged is 1 - Unjudged"}

# Both sides agree if all grades are 0 or 1.
BINARY: dict[str, tuple[Measure, Measure]] = {
    "gP is P": (gP(), P()),
    "gR is R": (gR(), R()),
    "CG@4 is 4 P@4": (CG() @ 4, P() @ 4),
    "the exponential gain is the linear one": (nDCG(gain="exp") @ 5, nDCG() @ 5),
    "R-measure is R-precision": (Rmeasure(), Rprec()),
    "nCG@4 is relative precision": (nCG() @ 4, RelativeP() @ 4),
    "graded RBP is RBP": (RBP(gain="linear"), RBP()),
}


@pytest.mark.parametrize("name", ALWAYS)
@settings(max_examples=30, deadline=None)
@given(graded=graded_lists())
def test_reductions(name: str, graded: Graded) -> None:
    one, other = (measure.of(*graded) for measure in ALWAYS[name])
    if name == "F with α = 1 is P" and math.isnan(one):
        return  # without relevant documents, P is 0 and F is undefined
    assert one == pytest.approx(1 - other if name in COMPLEMENTS else other, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=30, deadline=None)
@given(graded=graded_lists(highest=1))
def test_reductions_when_relevance_is_binary(name: str, graded: Graded) -> None:
    one, other = (measure.of(*graded) for measure in BINARY[name])
    assert one == pytest.approx(other * (4 if name.startswith("CG@4") else 1), abs=1e-12, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(highest=1), beta=st.floats(0, 50))
def test_the_blended_ratio_is_precision_down_to_rank_R(graded: Graded, beta: float) -> None:
    # 000 after (11): with binary relevance, BR(r) = Prec(r) iff r ≤ R, and larger otherwise
    lists = Assessed.one(*graded)
    terms = Q(beta=beta).terms(lists)
    ratio, precision = terms.columns["blended ratio"], terms.hits.nth / terms.hits.rank
    inside = terms.hits.rank <= lists.num_rel(1)[0]
    assert ratio[inside] == pytest.approx(precision[inside], abs=1e-12)
    assert (ratio[~inside] >= precision[~inside] - 1e-12).all()


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(lowest=-1))
def test_bpref_is_one_of_its_two_forms(graded: Graded) -> None:
    grades, missed = graded
    judged = [grade for grade in grades if grade is not None] + missed
    relevant, others = sum(grade >= 1 for grade in judged), sum(grade == 0 for grade in judged)
    form = bpref_R() if relevant <= others else bpref_N()
    assert bpref().of(grades, missed) == pytest.approx(form.of(grades, missed), abs=1e-12, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_RankEff_is_bpref_N_the_share_of_pairs_in_the_right_order(graded: Graded) -> None:
    # 000 after (23): the two are the same. A pair is a relevant and a judged non-relevant document; a relevant document
    # that is not retrieved is above no other
    grades, missed = graded
    judged = [grade for grade in grades if grade is not None]
    relevant = sum(grade >= 1 for grade in [*judged, *missed])
    others = len(judged) + len(missed) - relevant
    pairs = sum(others - sum(above < 1 for above in judged[:at]) for at, grade in enumerate(judged) if grade >= 1)
    if relevant and others:
        assert bpref_N().of(grades, missed) == pytest.approx(pairs / (relevant * others))
        assert parse("RankEff") == bpref_N()


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(unjudged=False))
def test_bpref_N_is_the_area_under_the_roc_curve_when_everything_is_retrieved(graded: Graded) -> None:
    grades, missed = graded
    everything = grades + missed
    area = roc(Assessed.one(everything)).area
    assert area is not None
    if 0 < sum(worth >= 1 for worth in everything if worth is not None) < len(everything):
        assert area.tolist() == pytest.approx([bpref_N().of(everything)])


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_the_best_and_worst_views_of_RBP_are_its_bounds(graded: Graded) -> None:
    low, residual = RBP().of(*graded), RBPres().of(*graded)
    tail = 0.8 ** len(graded[0])
    assert RBP().view("worst").of(*graded) == pytest.approx(low)
    assert RBP().view("best").of(*graded) == pytest.approx(low + residual - tail)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(), p=st.sampled_from([0.5, 0.8, 0.95]))
def test_RBPmax_is_RBP_of_the_ideal_list_and_no_list_exceeds_it(graded: Graded, p: float) -> None:
    grades, missed = graded
    ideal = sorted([grade for grade in grades if grade is not None] + missed, reverse=True)
    most = RBPmax(p=p).of(grades, missed)
    assert most == pytest.approx(RBP(p=p).of(ideal))
    assert RBP(p=p).of(grades, missed) <= most + 1e-12
    assert (RBPmax(p=p) @ 2).of(grades, missed) == pytest.approx((RBP(p=p) @ 2).of(ideal))


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_nDCG_is_DCG_over_that_of_the_ideal_list(graded: Graded) -> None:
    grades, missed = graded
    judged = sorted([grade for grade in grades if grade is not None] + missed, reverse=True)
    best = DCG().of(judged)
    assert ideal_dcg().of(grades, missed) == pytest.approx(best)
    if best:
        assert nDCG().of(grades, missed) == pytest.approx(DCG().of(grades, missed) / best)
        assert nERR().of(judged) == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_average_precision_is_the_area_of_steps_under_precision_and_recall(graded: Graded) -> None:
    curve = precision_recall(Assessed.one(*graded), "run", "topic")
    if len(curve.x):
        steps = [x - before for x, before in zip(curve.x, [0, *curve.x[:-1]], strict=True)]
        assert AP().of(*graded) == pytest.approx(sum(s * y for s, y in zip(steps, curve.y, strict=True)))


@settings(max_examples=25, deadline=None)
@given(graded=graded_lists(unjudged=False))
def test_views_of_a_fully_judged_list_are_the_list_itself(graded: Graded) -> None:
    lists = Assessed.one(*graded)
    for measure in ALL:
        plain = measure.evaluate(lists).tolist()
        for view in ("condensed", "best", "worst"):
            actual = measure.view(view).evaluate(lists).tolist()
            assert actual == pytest.approx(plain, nan_ok=True, rel=1e-12, abs=1e-15), measure


def test_every_gain_of_a_table_counts() -> None:
    assert Gain.of({0: 1, 1: 2}).most(1) == 2
    assert parse("CG(gain={0:0.5,1:1})").of([0, 1, None]) == 1.5
