"""Every measure as it is used: plain, at a cutoff, with the parameters that change what it does."""

from __future__ import annotations

from cranfield.measures import MEASURES, REGISTRY, Measure, parse

NEEDS = {"Accuracy": "(N=100)", "Fallout": "(N=100)", "Specificity": "(N=100)", "IPrec": "@0.5"}
"""What a measure cannot do without."""

PLAIN: tuple[Measure, ...] = tuple(parse(name + NEEDS.get(name, "")) for name in MEASURES)
"""One of each in the registry."""

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
        ],
    )
)  # fmt: skip

CUT: tuple[Measure, ...] = tuple(measure @ 3 for measure in PLAIN if measure.cutoff_kind == "rank")

ALL: tuple[Measure, ...] = PLAIN + VARIANTS + CUT

assert {type(measure) for measure in PLAIN} == {REGISTRY[name] for name in MEASURES}
