"""Axioms: they agree with the laws of tests/laws, and counter-examples can be checked by hand."""

from __future__ import annotations

import re

import pytest

from cranfield.errors import UsageError
from cranfield.measures import Measure, parse
from cranfield.meta.axioms.axiom_experiments import Scored
from cranfield.meta.axioms.axioms import MEANS, axioms, improving_step, top_heavy
from tests.laws.instances import ALL, ENDS_AT_THE_BEST, MOVES_ABOUT, PLAIN, STOPS_AFTER_CLICKS, STOPS_WHEN_SATISFIED
from tests.laws.test_laws import READS_ITS_OWN_LAG


def test_swaps_lower_only_measures_that_the_laws_except() -> None:
    rated = [measure for measure in ALL if measure.properties.better != "neither"]
    broken = {measure.name for measure in rated if not improving_step("swap", measure).holds}
    others = STOPS_WHEN_SATISFIED | STOPS_AFTER_CLICKS | MOVES_ABOUT
    assert broken <= READS_ITS_OWN_LAG | ENDS_AT_THE_BEST | others
    assert broken >= READS_ITS_OWN_LAG | ENDS_AT_THE_BEST | {"BPM"}  # IFT is only broken by longer lists


def of(measure: Measure, shown: Scored) -> float:
    """The score of a list as it is shown; other documents of the topic are not relevant."""
    listed, _, missed = shown.listed.partition("| missed")
    grades = [None if word == "-" else float(word) for word in listed.split()]
    return measure.of(grades, [*map(float, missed.split()), *[0.0] * len(grades)])


@pytest.mark.parametrize("name", ["P+", "Pmeasure", "O", "nDCGrel"])
def test_counter_examples_have_their_scores(name: str) -> None:
    measure = parse(name)
    for result in (improving_step("swap", measure), improving_step("replacement", measure)):
        if not result.holds:
            before, after = result.example
            assert after.score < before.score
            assert [of(measure, scored) for scored in result.example] == pytest.approx([before.score, after.score])
    assert not improving_step("replacement", measure).holds


def test_a_swap_that_lowers_P_plus_by_hand() -> None:
    # judged 3, 2, 1: blended ratios (C(r) + cg(r)) / (r + cg*(r)), cg* = 3, 5, 6, 6
    before = ((1 + 1) / (2 + 5) + (2 + 3) / (3 + 6) + (3 + 6) / (4 + 6)) / 3  # 0 1 2 3: down to the 3
    after = ((1 + 1) / (2 + 5) + (2 + 4) / (3 + 6)) / 2  # 0 1 3 2: likewise
    result = axioms("P+", only="swap")["P+", "swap"]
    assert [scored.listed for scored in result.example] == ["0 1 2 3 0", "0 1 3 2 0"]
    assert [scored.score for scored in result.example] == pytest.approx([before, after])


def test_top_heavy_measures() -> None:
    for name in ("nDCG", "DCG", "AP", "RR", "ERR", "RBP", "Q", "RBTO"):
        assert top_heavy(parse(name)).holds, name
    for name in ("P@10", "R", "Rprec", "Success@5", "SBTO", "bpref", "PRES", "U", "CG"):
        assert not top_heavy(parse(name)).holds, name


def test_a_document_above_another_one_shows_that_interpolated_precision_is_not_top_heavy() -> None:
    """Alone, AP11 is 3 levels of 1/rank. Above another at rank 8, which has precision 2/8, ranks 4 and 5 are the same.

    The topic has 8 relevant documents: two of them reach the recall levels 0, 0.1 and 0.2.
    """
    result = top_heavy(parse("AP11"))
    assert not result.holds
    assert [scored.listed for scored in result.example] == ["0 0 0 0 1 0 0 1", "0 0 0 1 0 0 0 1"]
    assert [scored.score for scored in result.example] == pytest.approx([3 * 2 / 8 / 11] * 2)


def test_a_measure_is_graded_if_its_gain_can_be() -> None:
    """As declared, and as in Sakai 2014 Fig. 6: RBP had "yes" there and "no" here."""
    result = axioms("RBP,AP", only="graded")
    assert result["RBP", "graded"].holds == parse("RBP").properties.graded
    assert "not by default" in result["RBP", "graded"].says
    assert not result["AP", "graded"].holds


def test_top_heaviness_by_hand() -> None:
    result = top_heavy(parse("bpref"))  # 8 relevant: (1 - (r - 1)/8)/8 at rank r, a straight line
    assert result.says == "it gains no more from rank 2 to 1 than from 3 to 2"
    assert [scored.score for scored in result.example] == pytest.approx([6 / 64, 7 / 64, 8 / 64])
    assert not top_heavy(parse("P(rel=2)@5")).holds
    assert top_heavy(parse("AP(rel=2)")).holds


def test_scores_are_shown_unchanged_if_lower_is_better() -> None:
    result = top_heavy(parse("ESL(wanted=1,N=100)"))
    assert not result.holds
    assert all(scored.score >= 0 for scored in result.example)


def test_the_table_of_figure_6() -> None:
    actual = axioms(["nDCG", "AP", "ERR"], ["graded", "normalised", "recall_free", "diminishing"])
    assert [row[0] for row in actual.table().rows] == ["graded", "normalised", "recall-free", "diminishing"]
    # Sakai 2014 Fig. 6
    assert [row[1:] for row in actual.table().rows] == [
        ("yes", "no", "yes"), ("yes", "yes", "no"), ("no", "no", "yes"), ("no", "no", "yes"),
    ]  # fmt: skip
    assert len(actual.columns()["measure"]) == len(actual) == 12
    assert all(
        finding.example for finding in actual if not finding.holds and finding.axiom in ("normalised", "recall_free")
    )


def test_diversity_measures_are_tested_by_intent() -> None:
    actual = axioms("ERR-IA")
    assert {finding.axiom for finding in actual} == {
        "graded", "intent_probabilities", "normalised", "recall_free", "diminishing", "lengths",
    }  # fmt: skip
    assert re.match(r"\(a?\d", actual["ERR-IA", "intent_probabilities"].shown())


def test_descriptive_measures_have_no_rating_axioms() -> None:
    actual = axioms("NumRet")
    assert not {finding.axiom for finding in actual} & {"swap", "replacement", "normalised"}
    assert "describes a list" in actual.notes[0]


def test_every_finding_has_a_meaning() -> None:
    for measure in (PLAIN[0], parse("D#-nDCG")):
        assert {finding.axiom for finding in axioms(measure)} <= set(MEANS)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="no axiom 'swop'; did you mean 'swap'"):
        axioms("AP", "swop")
    with pytest.raises(UsageError, match="needs inclusion probabilities"):
        axioms("statAP")
    with pytest.raises(UsageError, match="none of swap can be tried with alpha-nDCG"):
        axioms("alpha-nDCG", "swap")
    with pytest.raises(UsageError, match="'swap' was not tried with AP"):
        axioms("AP", "graded")["AP", "swap"]
