"""From a name to a measure and back."""

from __future__ import annotations

import string
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.fairness import MEASURES as FAIRNESS
from cranfield.measures import (
    AP,
    AP11,
    DEFAULT,
    ERR,
    MEASURES,
    RBP,
    REGISTRY,
    RR,
    Compat,
    CWLMeasure,
    EfP,
    F,
    G,
    IPrec,
    IRec,
    Measure,
    NumNonrelRet,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    Pplus,
    PplusQ,
    Q,
    R,
    RelativeP,
    Rmeasure,
    Rndcg,
    Rprec,
    SetAP,
    SetF,
    Success,
    Utility,
    binG,
    bpref,
    infAP,
    names,
    nCG,
    nDCG,
    nDCGrel,
    parse,
    parse_many,
    rbp_resid,
    unj,
)
from cranfield.measures.gain import LINEAR, Gain
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.ties import Ties
from cranfield.views.unjudged import Condensed, Unjudged
from cranfield.views.view import View

TREC = IPrec(dialect="trec9")

SPELLINGS: dict[str, Measure] = {
    # ours
    "nDCG@10": nDCG() @ 10,
    " nDCG @ 10 ": nDCG() @ 10,
    "AP'": AP().view("condensed"),
    "AP’@10": (AP() @ 10).view("condensed"),
    "nDCG'(gain='exp')@10": nDCG(gain="exp").view("condensed") @ 10,
    'Q(beta=10, norm="min")@1000': Q(beta=10, norm="min") @ 1000,
    "P(rel=2)@5": P(rel=2) @ 5,
    "RBP(p=.95)": RBP(p=0.95),
    "RBP(p=9.5e-1,)": RBP(p=0.95),
    "nDCG(gain={1:1,2:3,3:7})@20": nDCG(gain={1: 1, 2: 3, 3: 7}) @ 20,
    "AP[best]": AP().view(Unjudged("best")),
    "P@10[ties]": (P() @ 10).view(Ties("expected")),
    "AP'[ties=best,worst]": AP().view(Condensed(), Ties("best"), Unjudged("worst")),
    "AP11(points=[0.2,0.5,0.8])": AP11(points=(0.2, 0.5, 0.8)),
    "IPrec@0": IPrec() @ 0,
    "F(alpha=None)": F(),
    "NSR@10": nCG() @ 10,
    "nDCG@10'": nDCG().view("condensed") @ 10,
    "AP(rel=2)'@5": AP(rel=2).view("condensed") @ 5,
    "AP(norm='min')’@5": AP(norm="min").view("condensed") @ 5,
    "P[best]@3": (P() @ 3).view("best"),
    "P[best](rel=2)@3": (P(rel=2) @ 3).view("best"),
    "AP[best]'": AP().view(Unjudged("best"), Condensed()),  # views are read in the order in which they are written
    "AP'-IA": AP().view(ByIntent()).view("condensed"),
    "AP'-IA#@5": AP().view(ByIntent(), Sharp()).view("condensed") @ 5,
    'Q(norm="min")-IA@3': Q(norm="min").view(ByIntent()) @ 3,
    'D-Q(norm="min")\'@3': Q(norm="min").view(Condensed(), GlobalGain(LINEAR)) @ 3,
    "D-nDCG@10#": nDCG().view(Sharp(), GlobalGain(LINEAR)) @ 10,
    # as papers write them
    "Q-measure": Q(),
    "R-measure": Rmeasure(),
    "Compatibility": Compat(),
    "P⁺": Pplus(),
    "P⁺Q@10": PplusQ() @ 10,
    **dict.fromkeys(("subtopic-recall@5", "S-recall@5", "Intent-recall@5", "I-recall@5", "I-rec@5"), IRec() @ 5),
    "effective-precision@5": EfP() @ 5,
    # grades as NTCIR calls them (Sakai 2007 §3.1: gain(S) = 3, gain(A) = 2, gain(B) = 1)
    "P+(gain={S:3,A:2,B:1})": Pplus(gain={3: 3, 2: 2, 1: 1}),
    "nDCG(gain={L1:1,'L2':3,else:linear})": nDCG(gain={1: 1, 2: 3, "else": "linear"}),
    # trec_eval's
    "map": AP(),
    "P_10": P() @ 10,
    "P.10": P() @ 10,
    "recall_100": R() @ 100,
    "ndcg": nDCG(),
    "ndcg_cut_10": nDCG() @ 10,
    "ndcg_cut.10": nDCG() @ 10,
    "map_cut_10": AP() @ 10,
    "recip_rank": RR(),
    "Rprec": Rprec(),
    "Rprec_mult_0.20": Rprec(mult=0.2),
    "bpref": bpref(),
    "infAP": infAP(),
    "iprec_at_recall_0.10": TREC @ 0.1,
    "iprec_at_recall..25": TREC @ 0.25,
    "11pt_avg": AP11(dialect="trec9"),
    "11pt_avg_.25,.5,.75": AP11(points=(0.25, 0.5, 0.75), dialect="trec9"),
    "set_P": P(),
    "set_recall": R(),
    "set_map": SetAP(),
    "set_F": SetF(),
    "set_F.0.5": SetF(beta=0.5),
    "set_relative_P": RelativeP(),
    "relative_P_20": RelativeP() @ 20,
    "success_5": Success() @ 5,
    "num_ret": NumRet(),
    "num_rel": NumRel(),
    "num_rel_ret": NumRelRet(),
    "num_nonrel_judged_ret": NumNonrelRet(),
    "utility": Utility(),
    "utility_2,-1,0,0": Utility(a=2),
    "G": G(),
    "binG": binG(),
    "ndcg_rel": nDCGrel(),
    "Rndcg": Rndcg(),
    "ndcg_1=3,2=9,4=4.5": nDCG(gain={1: 3, 2: 9, 4: 4.5, "else": "linear"}),
    "Rndcg.1=3": Rndcg(gain={1: 3, "else": "linear"}),
    "rbp": RBP(p=0.9),
    "rbp_resid": rbp_resid(),
    "unj_5": unj() @ 5,
    # ir_measures'
    "MAP": AP(),
    "MRR@10": RR() @ 10,
    "NDCG@10": nDCG() @ 10,
    "AP(rel=2)@100": AP(rel=2) @ 100,
    "AP(judged_only=True)": AP().view("condensed"),
    "AP(judged_only=False)": AP(),
    "P(cutoff=5)": P() @ 5,
    "nDCG(dcg='exp-log2')@10": nDCG(gain="exp") @ 10,
    "nDCG(dcg='log2')@10": nDCG() @ 10,
    "nDCG(gains={0:0,1:3})": nDCG(gain={0: 0, 1: 3, "else": "linear"}),
    "Bpref": bpref(),
    "BPref(rel=2)": bpref(rel=2),
    "SetP(rel=2)": P(rel=2),
    "SetR": R(),
    "SetF(beta=0.5)": SetF(beta=0.5),
    "SetP(relative=True)": RelativeP(),
    "SetRelP": RelativeP(),
    "IPrec@0.1": IPrec() @ 0.1,
    "IPrec(recall=0.1)": IPrec() @ 0.1,
    "RBP(p=0.9,rel=1)": RBP(p=0.9),
    "NumRet(rel=1)": NumRelRet(),
    "NumRelRet": NumRelRet(),
    "Precision@5": P() @ 5,
    "Recall@5": R() @ 5,
    "ERR@20": ERR() @ 20,
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_spellings(text: str) -> None:
    assert parse(text) == SPELLINGS[text]


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_measure_prints_as_it_parses(text: str) -> None:
    made = parse(text)
    assert parse(str(made)) == made
    assert repr(made) == str(made)
    assert hash(parse(str(made))) == hash(made)


def test_what_differs_from_the_default_shows_in_the_name() -> None:
    assert str(Q(beta=2) @ 10) == "Q(beta=2)@10"
    assert str(nDCG(gain={1: 1, 2: 0.1})) == "nDCG(gain={1:1,2:0.1})"
    assert str(AP(rel=2.0).view("condensed") @ 5) == "AP'(rel=2)@5"
    assert str(AP().view("best", "condensed")) == "AP[best,condensed]"
    assert str(IPrec() @ 0.123456789) == "IPrec@0.123456789"
    assert str(AP11(points=(1, 0.5))) == "AP11(points=[0.5,1])"
    assert nDCG(discount="log2") == nDCG()
    assert P() != R()
    assert nDCG @ 10 == nDCG() @ 10


PARAMETERS: dict[str, st.SearchStrategy[object]] = {
    "rel": st.one_of(st.integers(-3, 5), st.floats(-3, 5)),
    "beta": st.floats(0, 100),
    "alpha": st.floats(0.001, 1),
    **dict.fromkeys(("F.alpha", "E.alpha"), st.none()),  # there one of alpha and beta is given
    "mult": st.floats(0.001, 100),
    "graded": st.booleans(),
    "inner": st.sampled_from(["AP", "nDCG(gain='exp')@10", "P(rel=2)@5", "RBP'(p=0.5)", "D#-nDCG@5", "AP[best]"]),
    "weights": st.dictionaries(st.sampled_from(["relevance", "credibility", "my-own.2"]), st.floats(0.001, 9)),
    "norm": st.sampled_from(["R", "min"]),
    "dialect": st.sampled_from(["exact", "trec9", "trec10"]),
    "alpha-DCG.dialect": st.sampled_from(["plain", "ndeval"]),
    **dict.fromkeys(("ERR-IA.dialect", "nERR-IA.dialect"), st.sampled_from(["graded", "ndeval"])),
    **dict.fromkeys(("WSS.dialect", "LastRel.dialect"), st.sampled_from(["exact", "clef"])),
    **dict.fromkeys(("alpha-DCG.alpha", "alpha-nDCG.alpha", "NRBP.alpha"), st.just("topic") | st.floats(0, 1)),
    "probabilities": st.booleans(),
    "alpha-DCG.probabilities": st.just(False),  # not in the dialect of ndeval
    "probability": st.sampled_from(["exp", "linear", {1: 0.25, 2: 1}]),
    "largest": st.sampled_from(["judgments", "topic"]),
    "RBP.largest": st.just("judgments"),  # "topic" needs a gain
    "cost_below": st.none() | st.sampled_from(["mean", "none"]) | st.floats(0.1, 9),
    "decay": st.sampled_from(["linear", "exp"]),
    "U.h": st.none(),  # only with decay="exp"
    "U.norm": st.none() | st.just("total") | st.floats(0.1, 100),
    "ideal": st.sampled_from(["greedy", "exact"]),
    "effort": st.floats(0, 1),
    "distance": st.sampled_from(["euclidean", "manhattan", "chebyshev"]),
    "grades": st.sampled_from(["order", "distance"]),
    **dict.fromkeys(("NRBP.beta", "nNRBP.beta", "alpha#-nNRBP-IA.beta"), st.floats(0, 0.999)),
    "intents": st.sampled_from(["rare", "equal"]),
    "topics": st.sampled_from(["difficult", "equal"]),
    "discount": st.sampled_from(["log2", "jk", "jk08"]),
    "base": st.floats(1.01, 100),
    "p": st.floats(0, 0.999),
    "N": st.one_of(st.none(), st.integers(1, 10**12)),
    "max_grade": st.one_of(st.none(), st.floats(0.1, 10)),
    "penalty": st.none() | st.floats(1.01, 9).map(lambda least: {1: least + 2, 2: least + 0.5, 3: least}),
    "stop": st.sampled_from(["uniform", "rank-biased", "cascade", "first", "preferred", "to-preferred"]),
    "utility": st.sampled_from(["P", "BR", "nCG", "RR"]),
    "gamma": st.floats(0, 1),
    "weight": st.none() | st.dictionaries(st.floats(-3, 5), st.floats(0, 10), min_size=1, max_size=4),
    "points": st.lists(st.floats(0, 1), min_size=1, max_size=5).map(tuple),
    **dict.fromkeys("abcd", st.floats(-100, 100)),
    **dict.fromkeys(("SBTO.c", "RBTO.c"), st.none() | st.integers(1, 9)),
    "g": st.none() | st.integers(1, 5).map(lambda grades: (1 / grades,) * grades),
    "normalize": st.booleans(),
    **dict.fromkeys(("h", "L"), st.floats(0.001, 10**6)),
    **dict.fromkeys(("click_rel", "save_rel", "click_non", "F"), st.floats(0, 1)),
    **dict.fromkeys(("summary", "per_word", "overhead", "snippet"), st.floats(0, 10**4)),
    **dict.fromkeys(("N_max", "wanted"), st.integers(1, 10**6)),
    "cost": st.none() | st.dictionaries(st.integers(1, 5), st.floats(0.1, 9)).map(lambda costs: {0: 1, **costs}),
    "depth": st.integers(1, 10**6),
    "report": st.sampled_from(["EU", "ETU", "EC", "ETC", "ED", "residual"]),
    "estimate": st.sampled_from(["raw", "minmax", "rank"]),
    "over": st.sampled_from(["judged", "all"]),
    "pairs": st.sampled_from(["joint", "independent", "product"]),
    "unseen": st.sampled_from(["weighed", "half"]),
    "continuation": st.sampled_from(["RBP", "P", "RR", "AP", "DCG", "INST", "INSQ", "BPM"]),
    "CWL.C": st.just(()),  # only with continuation="listed", which has a test of its own
    "rule": st.sampled_from(["C1-C2", "C1", "C2"]),
    **dict.fromkeys(("K", "T", "A", "b1", "b2", "R1", "R2"), st.floats(0.5, 100)),
    **dict.fromkeys(("hb", "hc"), st.floats(-10, 10)),
    "median": st.floats(0, 1),
    **dict.fromkeys(
        [f"{name}.gain" for name, kind in REGISTRY.items() if issubclass(kind, CWLMeasure)],
        st.sampled_from([None, "linear", "exp", {1: 0.5, 2: 3}]),
    ),
    **dict.fromkeys(
        ("attractive", "satisfied"),
        st.sampled_from(["linear", "exp"]) | st.dictionaries(st.integers(0, 5), st.floats(0, 1), min_size=1),
    ),
    "examined": st.sampled_from([(), (1,), (0.9, 0.5, 0.1)]),
    **dict.fromkeys(("go_on", "t1", "t2", "t3"), st.floats(0, 1)),
    **dict.fromkeys(("uDCM.go_on", "rrDCM.go_on"), st.lists(st.floats(0, 1), min_size=1)),
    "states": st.sampled_from(["all", "relevant"]),
    "moves": st.sampled_from(["global", "adjacent"]),
    "MP.distance": st.sampled_from(["inverse", "log", "none"]),
    "loops": st.booleans(),
    "transitions": st.none(),  # only without the parameters above; tests/measures/test_markov.py has these two
    "visits": st.just(()),
    "seconds": st.none() | st.lists(st.floats(0.1, 100), min_size=1) | st.just({1: 20, 2: 60}),
    "recall": st.booleans(),
    **dict.fromkeys(("nDIN-nDCG.recall", "nP+Q.recall"), st.floats(0, 1)),
    "gain": st.one_of(
        st.sampled_from(["linear", "exp"]),
        st.dictionaries(st.floats(-3, 5), st.floats(0, 10), min_size=1, max_size=4),
        st.dictionaries(st.integers(0, 5), st.integers(0, 9), min_size=1).map(lambda t: {**t, "else": "linear"}),
    ),
}
VIEWS = st.lists(
    st.sampled_from([Condensed(), Unjudged("best"), Unjudged("worst"), Ties("expected"), Ties("best"), Ties("worst")]),
    max_size=3,
).filter(lambda views: sum(isinstance(view, Ties) for view in views) <= 1)


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    kind = REGISTRY[draw(st.sampled_from(MEASURES))]
    chosen = draw(st.sets(st.sampled_from(sorted(kind.parameters())))) if kind.parameters() else set()
    own = {name: f"{kind.name}.{name}" for name in chosen}  # where a name means another thing elsewhere
    for name in chosen:
        assert {name, own[name]} & set(PARAMETERS), f"add {name!r} to PARAMETERS in {__file__}: which values it takes"
    made = kind(**{name: draw(PARAMETERS[own[name] if own[name] in PARAMETERS else name]) for name in chosen})  # type: ignore[arg-type]
    cutoffs = {"rank": st.integers(1, 10**6), "recall": st.floats(0, 1)}
    if kind.cutoff_kind in cutoffs and draw(st.booleans()):
        made = made @ draw(cutoffs[kind.cutoff_kind])
    return made.view(*draw(VIEWS))


@pytest.mark.parametrize(
    ("name", "view", "mark"),
    [("D#-nDCG", Sharp(0.25), "#"), ("D-nDCG", GlobalGain(LINEAR), "D- or DIN-"), ("AP-IA", ByIntent(), "-IA")],
)
def test_a_view_by_intent_can_be_given_once(name: str, view: View, mark: str) -> None:
    with pytest.raises(UsageError, match=f"{mark} twice"):
        parse(name).view(view)


@settings(max_examples=400, deadline=None)
@given(measures())
def test_parse_of_str_is_the_measure(measure: Measure) -> None:
    assert parse(str(measure)) == measure
    within = getattr(measure, "inner", measure)  # CAM(D#-nDCG) has it already
    if "gamma" not in measure.parameters() and not any(isinstance(view, Sharp) for view in within.views):
        assert parse(str(measure.view(Sharp(0.25)))) == measure.view(Sharp(0.25))
    if measure.needs == "intents":
        return  # such a measure looks at intents itself
    assert parse(str(measure.view(ByIntent()))) == measure.view(ByIntent())
    if getattr(measure, "gain", None) == LINEAR:
        din = measure.view(GlobalGain(Gain.of("exp"), din=True))
        assert parse(str(din)) == din


@pytest.mark.parametrize("name", sorted(names()))
def test_every_alias_is_read(name: str) -> None:
    assert isinstance(parse(name), Measure)


WRONG = {
    "nDGC@10": r"no measure 'nDGC'; did you mean .*nDCG",
    "ncdg": r"did you mean .*",
    "": r"expected a measure's name, found nothing",
    "@10": r"expected a measure's name, found '@10'",
    "nDCG@": r"expected a number, found nothing",
    "nDCG@x": r"expected a number, found 'x'",
    "nDCG@10@20": r"expected the end, found '@20'",
    "nDCG@0": r"cutoff must be a whole number, 1 or more",
    "nDCG@2.5": r"cutoff must be a whole number",
    "nDCG@1e400": r"nDCG@inf: the cutoff is too large",
    "IPrec@2": r"cutoff == 2.0, must be between 0 and 1",
    "Rprec@5": r"Rprec takes no cutoff",
    "AP(rel": r"expected = after 'rel', found nothing",
    "AP(rel=": r"expected a value, found nothing",
    "AP(rel=2": r"expected '\)', found nothing",
    "AP(rel=2,rel=3)": r"rel is given twice",
    "AP(2)": r"expected a parameter's name or \), found '2\)'",
    "AP(depth=3)": r"AP: no parameter 'depth'; the parameters are: rel, norm",
    "NumRet(x=1)": r"NumRet: no parameter 'x'; the parameters are: none",
    "AP(rel=high)": r"AP: rel == 'high', must be a number",
    "AP(rel='high')": r"AP: rel == 'high', must be a number",
    "AP(rel=True)": r"AP: rel == True, must be a number",
    "AP(norm=2)": r"AP: norm == 2, must be a string such as 'R'",
    "AP(norm='N')": r"AP: norm == 'N', must be one of 'R', 'min'",
    "RBP(p=1.2)": r"RBP: p == 1.2, must be between 0 and 1",
    "RBP(p=1)": r"RBP: p == 1, must be below 1",
    "RBP(gain='cubic')": r"gain == 'cubic', must be \"linear\", \"exp\" or a table",
    "nDCG(gain={})": r"gain == \{\}, must be a table",
    "nDCG(gain={1:'x'})": r"must be a table of numbers",
    "nDCG(gain={1:1,1:2})": r"1 is in the table twice",
    "nDCG(gain={1:{2:3}})": r"expected a number",
    "nDCG(gain={1:1,else:exp})": r"else\" == 'exp', must be \"linear\"",
    "nDCG(gain=[1])": r"gain == \(1,\)",
    "nDCG(discount='ln')": r"discount == 'ln', must be",
    "nDCG(base=1)": r"base == 1, must be above 1",
    "nDCG(dcg='jk')": r"dcg == 'jk', must be 'log2' or 'exp-log2'",
    "nDCG(gains=3)": r"gains == 3, must be a table",
    "F(beta=2,alpha=0.5)": r"give one of them",
    "F(alpha=2)": r"alpha == 2, must be between 0 and 1",
    "F(beta=-1)": r"beta == -1, must be 0 or above",
    "Accuracy(N=0)": r"N == 0, must be a whole number, 1 or more",
    "ERR(max_grade=0)": r"max_grade == 0, must be above 0",
    "AP11(points=[])": r"points == \(\), must be recall points",
    "AP11(points=0.5)": r"points == 0.5, must be recall points",
    "AP11(points=[2])": r"points == 2.0, must be between 0 and 1",
    "IPrec(dialect='trec8')@0.1": r"dialect == 'trec8', must be one of",
    "AP[condensd]": r"view 'condensd' is not known",
    "AP[": r"expected a view",
    "AP[best": r"expected '\]'",
    "AP[ties=some]": r"ties == 'some'",
    "AP{": r"expected the end",
    "AP(rel=$)": r"expected a number, a name",
    "P_0": r"cutoff must be a whole number",
    "P_5,10": r"names 2 measures: write P@5, P@10",
    "utility_1,2": r"no measure 'utility_1'|expected the end",
    "gm_map": r"geometric mean of AP: compute AP and take the statistic \"gmean\"",
    "GMAP": r"geometric mean of AP: compute AP and take the statistic \"gmean\"",
    "G_AveP": r"geometric mean of AP",
    "S♯": r"answers to be read at once: see `cranfield answers one-click`",
    "URisk": r"take the statistic \"URisk\" against a baseline run",
    "TRisk": r"take the statistic \"TRisk\" against a baseline run",
    "GeoRisk": r"for several runs and take the statistic \"GeoRisk\"",
    "nDCG@10(gain='exp')": r"expected the end, found .*; all parameters go in one pair of brackets before",
    "AP(rel=2)(norm='R')": r"all parameters go in one pair of brackets",
    "AP 5": r"a measure is written name\(parameter=value\)@cutoff\[view\], such as nDCG",
    "os:getcwd-IA": r"expected the end, found '-IA'; here, by intent is written \[IA\]",
    "AP-IA(rel=2)-IA": r"there is no measure 'AP-IA-IA'",
    "nDCG(gain={S:3,3:1})": r"3 is in the table twice",
    "nDCG(gain={D:3})": r"expected a number, found 'D:3",
    "num_q": r"number of topics",
    "relstring": r"cranfield explain",
    **dict.fromkeys(FAIRNESS, r"is a measure of fairness: see `cranfield fairness`"),
    "CAM(AP,weights={relevance})": r"expected a dimension and its weight, such as relevance:2, found 'relevance'",
    "CAM(AP,weights={a:1,a:2})": r"dimension 'a' is weighted twice",
    "CAM(AP,weights={a:-1})": r"CAM: weights\['a'\] == -1.0, must be 0 or above",
    "MM(AP,weights={a:0})": r"MM: all weights are 0, at least one must be above 0",
    "CAM(uRBP)": r"CAM\(uRBP\): uRBP uses several dimensions itself",
    "MM(" * 200 + "AP" + ")" * 200: r"MM is a measure over all dimensions; the measure inside must be of one",
    "MM(nothing)": r"there is no measure 'nothing'",
    "CAM(AP@5)@10": r"expected the end, found '@10'",
    "D#-AP@10": r"D- and DIN- add up gains over all intents, but AP counts no gains",
    "alpha#-nDCG@10": r"there is no measure 'alpha#-nDCG'; did you mean alpha#-nDCG-IA\?",
    "α#": r"there is no measure 'α#'; did you mean alpha#-nDCG-IA\?",
    "alpha#-nRBP-IA": r"there is no measure 'alpha#-nRBP-IA'; did you mean alpha#-nNRBP-IA",
    "D#-nDGC@10": r"there is no measure 'D#-nDGC'; did you mean",
    "P@1e20": r"P@1e\+20: the cutoff is too large; leave it out, or make it smaller",
    "AP[ties,ties=best]": r"AP: views ties and ties=best; give only one of them",
    "AP" * 600: r"1200 characters long",
    "AP(rel=" + "[" * 50: r"expected a number",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:30])
def test_an_error_says_what_is_wrong_with_a_name(text: str) -> None:
    with pytest.raises(UsageError, match=WRONG[text]):
        parse(text)


def test_gains_by_NTCIRs_letters_in_python() -> None:
    assert nDCG(gain={"S": 3, "A": 2, "B": 1}) == nDCG(gain={3: 3, 2: 2, 1: 1})
    with pytest.raises(UsageError, match="one grade is in the table twice"):
        nDCG(gain={"S": 3, 3: 1})


def test_not_a_string() -> None:
    with pytest.raises(UsageError, match="given by its name, not by 10"):
        parse(10)  # type: ignore[arg-type]


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet=string.printable + "'’α{}[]()@=:,", max_size=60))
def test_any_text_is_a_measure_or_a_usage_error(text: str) -> None:
    try:
        made = parse(text)
    except UsageError:
        return
    assert parse(str(made)) == made


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([*"=(){}[]@1:,'-_.", "AP", "nDCG", "gain", "rel", "'exp'", "best", "None"]), max_size=14)
)
def test_any_jumble_of_tokens_is_a_measure_or_a_usage_error(tokens: list[str]) -> None:
    try:
        made = parse_many("".join(tokens))
    except UsageError:
        return
    assert all(parse(str(measure)) == measure for measure in made)


# -- measures of the user

MODULE = '''
import numpy as np
from cranfield.measures import Measure, measure

def TopHit(lists):
    "1 if the first document is relevant."
    return lists.relevant(1, 1).count

@measure
class Hits(Measure):
    """Relevant documents times a factor."""
    factor: float = 2
    def score(self, lists):
        return self.factor * lists.relevant(1, self.k).count

class Plain(Measure):
    """Not registered by hand."""
    def score(self, lists):
        return np.zeros(lists.rows)

triple = Hits(factor=3)
number = 7
'''


@pytest.fixture
def user_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "my_measures_for_tests.py").write_text(MODULE)
    (tmp_path / "broken_for_tests.py").write_text("1 / 0")
    (tmp_path / "exits_for_tests.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    before = dict(REGISTRY)
    yield "my_measures_for_tests"
    sys.modules.pop("my_measures_for_tests", None)
    REGISTRY.clear()
    REGISTRY.update(before)


def test_a_users_function(user_module: str) -> None:
    made = parse(f"{user_module}:TopHit", modules=True)
    assert made.of([1, 0]) == 1
    assert str(made) == "TopHit"
    assert parse("TopHit") == made


def test_a_users_class_takes_parameters_cutoffs_and_views(user_module: str) -> None:
    made = parse(f"{user_module}:Hits'(factor=5)@2", modules=True)
    assert made.of([None, 1, 1, 1]) == 10
    assert str(made) == "Hits'(factor=5)@2"
    assert parse(str(made)) == made


def test_a_users_instance_and_an_unregistered_class(user_module: str) -> None:
    assert parse(f"{user_module}:triple", modules=True).of([1]) == 3
    assert parse(f"{user_module}:triple(factor=4)", modules=True).of([1]) == 4
    assert parse(f"{user_module}:Plain", modules=True).of([1]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no_such_module_at_all:x", "cannot import 'no_such_module_at_all': ModuleNotFoundError"),
        ("broken_for_tests:x", "cannot import 'broken_for_tests': ZeroDivisionError: division by zero"),
        ("exits_for_tests:x", "cannot import 'exits_for_tests': SystemExit: 3"),
        ("my_measures_for_tests:nothing", "has no 'nothing'; it has .*TopHit"),
        ("my_measures_for_tests:number", "is 7, must be a measure or a function"),
        ("my_measures_for_tests:Hits(weight=1)", "Hits: no parameter 'weight'; the parameters are: factor"),
    ],
)
def test_a_failed_import_is_a_usage_error(user_module: str, text: str, message: str) -> None:
    path = list(sys.path)
    with pytest.raises(UsageError, match=message):
        parse(text, modules=True)
    assert sys.path == path


@pytest.mark.parametrize("text", ["{}:TopHit", "CAM({}:TopHit)", "MM(inner={}:TopHit)", "{}:Hits'(factor=5)@2"])
def test_a_name_imports_a_module_only_if_the_caller_allows_it(user_module: str, text: str) -> None:
    name = text.format(user_module)
    for read in (parse, parse_many, as_measures, partial(parse, modules=["another"])):
        with pytest.raises(UsageError, match=f"would run the code of module '{user_module}'"):
            read(name)
    assert user_module not in sys.modules
    assert str(parse(name, modules=[user_module])) == str(parse(name, modules=True))


def test_default_measures_are_measures() -> None:
    assert all(parse(str(measure)) == measure for measure in DEFAULT)


def test_names_of_sakai_2014() -> None:
    # Sakai 2014 §2.1 and after (21)
    assert parse("E-measure") == parse("E")
    assert parse("InducedAP") == parse("AP'")
