"""Every measure in the forms that people use: plain, with a cutoff, and with parameters that matter."""

from __future__ import annotations

from cranfield.measures import MEASURES, REGISTRY, Measure, parse

NEEDS = {"Accuracy": "(N=100)", "Fallout": "(N=100)", "Specificity": "(N=100)", "IPrec": "@0.5", "WSS": "@0.95"}
"""The parameters without which a measure cannot be computed."""

PLAIN: tuple[Measure, ...] = tuple(parse(name + NEEDS.get(name, "")) for name in MEASURES if not REGISTRY[name].needs)
"""One of each measure in the registry that needs only grades; the laws of the others are in their own test files."""

VARIANTS: tuple[Measure, ...] = tuple(
    map(
        parse,
        [
            "AP(rel=2)", "AP(norm='min')@3", "AP11(dialect='trec10')", "AP11(points=[0.3])", "DCG(gain='exp')@4",
            "E(beta=2)", "ERR(max_grade=5)", "F(alpha=0.3)@4", "G(gain='exp')", "IPrec@0", "IPrec(dialect='trec9')@0.3",
            "Q(beta=0.1)", "Q(norm='min',gain='exp')@3", "RBP(p=0.5,gain='linear')", "RBP(rel=2)@3", "Rmeasure(beta=5)",
            "Rprec(mult=0.6)", "SetF(beta=3)", "Utility(a=2,b=-1,c=-3,d=0.1,N=100)", "bpref(rel=2)", "gP(gain='exp')",
            "nDCG(discount='jk',base=4)", "nDCG(discount='jk08')@5", "nDCG(gain={1:1,2:10,3:11})",
            "nERR(max_grade=3)@4",
            "INST(T=3)", "INST(T=2,gain=None)@4", "INST(report='ED')", "INSQ(report='ETU')", "SDCG(max_grade=5)@4",
            "BPM(T=0.8,cost={0:1,1:2,2:2,3:4})", "BPM(report='ETC')", "IFT(rule='C1')", "IFT(rule='C2')",
            "NERR10(rel=2)@4", "CWL(continuation='AP')", "CWL(continuation='RR',gain=None)@4",
            "CWL(continuation='listed',C=[0.9,0.5])",
            "O(beta=5,gain='exp')@4", "P+(gain='exp',beta=0.1)", "Pmeasure(rel=2)@4", "NWRR(penalty={1:9,2:3,3:1.5})",
            "WRR(rel=2)", "NCU(stop='rank-biased',utility='nCG',gamma=0.5)", "NCU(utility='P',norm='min')@3",
            "gAP(norm='min',gain='exp')@3", "GAP(g=[0.2,0.5,0.3])", "GAP(norm='min')@3", "PRES(N_max=12)",
            "ESL(wanted=2)", "ESL(wanted=3,N=100)", "WSS(N=100)@0.5", "LastRel(N=100)", "SBTO(normalize=True)@4",
            "RBTO(normalize=True,c=5)", "Compat(p=0.5,normalize=False)@4", "Compat(p=0.8)", "rpref_N(gain='exp')",
            "rpref_relative2(gain='exp')", "ERR(probability='linear')", "nERR(probability={1:0.2,2:0.5,3:0.6})",
            "RBP(p=0.5,gain='linear',largest='topic')", "EBR(gain='exp',beta=3)@4", "iRBU(p=0.5,gain='exp')@4",
            "WSS(N=100,dialect='clef')@0.5", "CWL(continuation='AP',report='EC',cost_below=3)",
            "MP(states='relevant')", "MP(moves='adjacent',loops=True,recall=True)", "MP(visits=[0.5,0.3,0.2],rel=2)",
            "MP(states='relevant',moves='adjacent',distance='log',seconds={1:5,2:20,3:60})@4",
            "uPBM(attractive={0:0.1,1:0.3,2:0.5,3:0.9},examined=[1,0.6,0.5,0.4])", "uUBM(gain='exp')@4",
            "uDCM(attractive={0:0.1,1:0.3,2:0.5,3:0.9},go_on=[0.8,0.4])", "uCCM(max_grade=5)",
            "uDBN(satisfied='linear',go_on=0.5)", "EBU(attractive={0:0.1,1:0.3,2:0.5,3:0.9},go_on=0.5)",
            "rrDCM(attractive={0:0.1,1:0.3,2:0.5,3:0.9},go_on=[0.8,0.4])@4", "rrDBN(max_grade=5,go_on=0.5)",
        ],
    )
)  # fmt: skip

ENDS_AT_THE_BEST = {"Pmeasure", "P+"}
"""These measures read the list down to the first of its best documents. When that document moves up past a lesser one,
the lesser one no longer counts: (unjudged, 1, 2) has P-measure 5/6 and P+ (2/5 + 5/6)/2, (unjudged, 2, 1) has 3/5."""

STOPS_WHEN_SATISFIED = {"BPM", "IFT", "EBR"}
"""Satisfied users stop, or are more likely to stop. When the better document moves up past a lesser one, they may stop
before the lesser one: after three documents without gain, (1, 3) has BPM (1/3 + 1)/5, and (3, 1) has 1/4.
(unjudged, 1, 2) has EBR 2/5 · 1/3 + 5/6 · 4/9, (unjudged, 2, 1) has 3/5 · 2/3 + 5/6 · 1/9."""

STOPS_AFTER_CLICKS = {"EBU", "uCCM", "uDBN", "uDCM", "uSDBN", "uUBM", "rrDCM"}
"""Readers of click models may stop after a good document, or look at another place. When the better document moves up
past a lesser one, fewer reach the lesser: (1, 3) has uSDBN 1/8 + 63/64 · 21/8, (3, 1) has 21/8 + 15/64 · 1/8. In rrDCM,
readers may be more likely to stop at one rank than at another."""

MOVES_ABOUT = {"MP"}
"""The reader is not more often at the top: when a document moves up, its precision may count less."""

CUT: tuple[Measure, ...] = tuple(measure @ 3 for measure in PLAIN if measure.cutoff_kind == "rank")

ALL: tuple[Measure, ...] = PLAIN + VARIANTS + CUT

assert {type(measure) for measure in PLAIN} == {REGISTRY[name] for name in MEASURES if not REGISTRY[name].needs}
