"""Names as people write them are understood, and never change what an exact name means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.errors import UsageError
from cranfield.measures import REGISTRY, names, parse
from cranfield.measures.naming.parse import EVERYDAY, folded, meanings
from cranfield.measures.naming.spelling import not_a_measure

WRITTEN = {
    "mrr": "RR",
    "mrr@10": "RR@10",
    "mrr10": "RR@10",
    "precision@5": "P@5",
    "precision_at_5": "P@5",
    "p@10": "P@10",
    "p10": "P@10",
    "p_5": "P@5",
    "recall@100": "R@100",
    "recall100": "R@100",
    "f1": "F",
    "F1@10": "F@10",
    "hit_rate@10": "Success@10",
    "HR@10": "Success@10",
    "hits@3": "Success@3",
    "r_precision": "Rprec",
    "R-precision": "Rprec",
    "err@10": "ERR@10",
    "nDCG_10": "nDCG@10",
    "nDCG-10": "nDCG@10",
    "ndcg10": "nDCG@10",
    "NDCG_CUT_10": "nDCG@10",
    "ndcg10(gain='exp')": 'nDCG(gain="exp")@10',
    "ndcg10'": "nDCG'@10",
    "average_precision": "AP",
    "compat10": "Compat@10",  # "comp" and "at" are no parts of it
    "d#-ndcg@10": "D#-nDCG@10",
    "din-ndcg10": "DIN-nDCG@10",
    "ndcg-ia@10": "nDCG-IA@10",
    "err_ia@20": "ERR-IA@20",
    "alpha_ndcg@10": "alpha-nDCG@10",
    "BPREF": "bpref",
}
TWO_MEANINGS = {
    "ap11": "AP11 or AP@11",
    "nerr10": "NERR10 or nERR@10",
    "gap": "gAP or GAP",
    "f2": r"F@2 or F\(beta=2\)",
    "Rbp": r"RBP or RBP\(p=0.9\)",  # rbp is trec_eval's name, with its own default
    "set_f_2": "SetF@2 or set_F.2",
}
STILL_WRONG = {
    "ndcg10@5": "'ndcg10@5' has two cutoffs, 10 and 5; write one of them",
    "rprec_10": "there is no measure 'rprec_10'; did you mean Rprec",
    "Gmap": "Gmap is the geometric mean of AP",
    "ndcg_0": "cutoff must be a whole number, 1 or more",
    "n" * 500: "there is no measure 'nnnn",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_name_as_people_write_it(name: str) -> None:
    assert str(parse(name)) == WRITTEN[name]


@pytest.mark.parametrize("name", TWO_MEANINGS)
def test_a_name_with_two_meanings_is_an_error_that_lists_both(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name!r} can mean {TWO_MEANINGS[name]}; write one of these"):
        parse(name)


@pytest.mark.parametrize("name", STILL_WRONG)
def test_what_is_not_understood_has_a_clear_message(name: str) -> None:
    with pytest.raises(UsageError, match=STILL_WRONG[name]):
        parse(name)


@pytest.mark.parametrize("name", sorted(names()))
def test_law_every_exact_name_keeps_its_meaning(name: str) -> None:
    assert parse(name).name == names()[name].name
    if name in REGISTRY:
        assert parse(name) == REGISTRY[name]()
    if REGISTRY[names()[name].name].cutoff_kind == "rank":
        assert str(parse(f"{name}@7")).rstrip(")").endswith("@7")  # CAM and others hand it to the measure inside


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(names())), st.data())
def test_law_case_and_marks_never_lead_to_another_measure(name: str, data: st.DataObject) -> None:
    written = "".join(data.draw(st.sampled_from([c.lower(), c.upper(), c])) for c in name)
    written = written.replace(data.draw(st.sampled_from("-_")), data.draw(st.sampled_from(["-", "_", ""])))
    possible = meanings(written)
    if written in names() or not possible or not_a_measure(written):
        return
    assert folded(names()[name].name) in map(folded, possible)
    if len(possible) == 1:
        assert parse(written).name == names()[name].name


def test_an_everyday_name_is_needed_and_leads_to_a_measure() -> None:
    known = {folded(name) for name in names()}
    for name, measure in EVERYDAY.items():
        assert measure in REGISTRY
        assert name not in known
        assert meanings(name) == [measure]
