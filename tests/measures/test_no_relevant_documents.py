"""The score of each measure if a topic has no relevant documents, and if nothing was retrieved."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield.assessed.lists import Assessed
from cranfield.measures import MEASURES, REGISTRY, Measure, parse

UNDEFINED = math.nan

# Two judged non-relevant documents and an unjudged one are retrieved, a third judged one is missed.
GRADES = [0, None, 0]
MISSED = [0]

NO_RELEVANT = {
    "Accuracy(N=10)": 7 / 10,
    "AP": UNDEFINED,
    "AP11": UNDEFINED,
    "binG": UNDEFINED,
    "bpref": UNDEFINED,
    "bpref_N": UNDEFINED,
    "bpref_R": UNDEFINED,
    "bpref_relative": UNDEFINED,
    "BPM": 0,
    "CG": 0,
    "Compat": UNDEFINED,
    "CWL": 0,
    "DCG": 0,
    "E": UNDEFINED,
    "EBR": 0,
    "EBU": 0,
    "ERR": 0,
    "ESL": UNDEFINED,
    "F": UNDEFINED,
    "Fallout(N=10)": 3 / 10,
    "G": UNDEFINED,
    "GAP": UNDEFINED,
    "gAP": UNDEFINED,
    "gP": 0,
    "gR": UNDEFINED,
    "ideal_dcg": 0,
    "IFT": 0,
    "infAP": UNDEFINED,
    "infNDCG": UNDEFINED,
    "INSQ": 0,
    "INST": 0,
    "IPrec@0.5": UNDEFINED,
    "iRBU": 0,
    "Judged": 2 / 3,
    "LastRel": UNDEFINED,
    "MP": 0,
    "nCG": UNDEFINED,
    "nDCG": UNDEFINED,
    "nDCGrel": UNDEFINED,
    "nERR": UNDEFINED,
    "NERR8": 0,
    "NERR9": 0,
    "NERR10": 0,
    "NERR11": 0,
    "NCU": UNDEFINED,
    "NumNonrelRet": 2,
    "NumRel": 0,
    "NumRelRet": 0,
    "NumRet": 3,
    "NWRR": 0,
    "O": 0,
    "P": 0,
    "P+": 0,
    "Pmeasure": 0,
    "PRES": UNDEFINED,
    "Q": UNDEFINED,
    "R": UNDEFINED,
    "RBP": 0,
    "rbp_resid(p=0.5)": 0.5**3 + 0.5**2,
    "RBPmax": 0,
    "RBPres(p=0.5)": 1 - 0.5 - 0.5**3,
    "RBTO": 0,
    "RelativeP": UNDEFINED,
    "Rmeasure": UNDEFINED,
    "Rndcg": UNDEFINED,
    "Rprec": UNDEFINED,
    "rpref_N": UNDEFINED,
    "rpref_relative": UNDEFINED,
    "rpref_relative2": UNDEFINED,
    "RR": 0,
    "rrCCM": 0,
    "rrDBN": 0,
    "rrDCM": 0,
    "rrSDBN": 0,
    "SBTO": 0,
    "SDCG": 0,
    "SetAP": UNDEFINED,
    "SetF": UNDEFINED,
    "Specificity(N=10)": 7 / 10,
    "Success": 0,
    "uCCM": 0,
    "uDBN": 0,
    "uDCM": 0,
    "uPBM": 0,
    "uSDBN": 0,
    "uUBM": 0,
    "unj": 1 / 3,
    "Unjudged": 1 / 3,
    "Utility": -3,
    "WSS@0.95": UNDEFINED,
    "WRR": 0,
    "xinfAP": UNDEFINED,
    "yaap": 0,
}

# A topic with one relevant and one non-relevant document, and a run that has no list for it.
NOTHING_RETRIEVED = {
    **dict.fromkeys(NO_RELEVANT, 0.0),
    "Accuracy(N=10)": 9 / 10,
    "E": 1,
    "ESL": UNDEFINED,
    "ideal_dcg": 1,
    "LastRel": UNDEFINED,
    "Judged": UNDEFINED,
    "Unjudged": UNDEFINED,
    "NumRel": 1,
    "RBPmax": 1 - 0.8,
    "RBPres(p=0.5)": 1,
    "Specificity(N=10)": 1,
    "WSS@0.95": -0.05,
    "yaap": math.log(1 / 2),
}


@pytest.mark.parametrize("name", NO_RELEVANT)
def test_no_relevant_documents(name: str) -> None:
    assert parse(name).of(GRADES, MISSED) == pytest.approx(NO_RELEVANT[name], nan_ok=True)


@pytest.mark.parametrize("name", NOTHING_RETRIEVED)
def test_nothing_retrieved(name: str) -> None:
    assert parse(name).of([], [1, 0]) == pytest.approx(NOTHING_RETRIEVED[name], nan_ok=True)


@pytest.mark.parametrize("name", NO_RELEVANT)
def test_no_judgments_at_all(name: str) -> None:
    assert len(parse(name).evaluate(Assessed.one([None, None]))) == 1


@pytest.mark.parametrize("name", NO_RELEVANT)
def test_no_lists_at_all(name: str) -> None:
    none = np.zeros(0, dtype=np.int64)
    empty = Assessed.one([]).take(none)
    assert parse(name).evaluate(empty).tolist() == []


def test_every_measure_is_listed() -> None:
    assert {type(parse(name)).name for name in NO_RELEVANT} == {name for name in MEASURES if not REGISTRY[name].needs}


@pytest.mark.parametrize("name", NO_RELEVANT)
def test_docstrings_state_the_empty_case(name: str) -> None:
    kind: type[Measure] = REGISTRY[type(parse(name)).name]
    said = (kind.__doc__ or "").split("No relevant documents:")[1].split("\n")[0].strip()
    value = NO_RELEVANT[name]
    if math.isnan(value):
        assert said == "undefined."
    elif value == 0 and name != "ideal_dcg":
        assert said == "0."
    else:
        assert said not in ("undefined.",)
