"""One function says on which scale a measure is, and every verb gives its answer (Ferro & Maistro 2024 §7.4-7.7)."""

import warnings

import numpy as np
import pytest

import cranfield as cf
from cranfield.comparison.anova.anova import anova
from cranfield.comparison.apply_test import apply_test
from cranfield.errors import CranfieldError
from cranfield.measures.base import REGISTRY
from cranfield.measures.property_tables import scale_of
from cranfield.meta.scale.scale import PROVED, proved_scales, scale
from cranfield.meta.stability.discrimination import discriminative_power
from cranfield.report.tables import summary_table
from cranfield.scores.scores import Scores

RNG = np.random.default_rng(3)
VALUES = RNG.beta(2, 3, (30, 4)) + np.linspace(0, 0.4, 4)


def scores(measure: str) -> Scores:
    return Scores.from_matrix(VALUES, measure=measure)


def cautions(notes: tuple[str, ...]) -> list[str]:
    return [note for note in notes if note.startswith("caution") and "scale" in note]


@pytest.mark.parametrize(
    ("measure", "conditions"),
    [
        ("P@10", ()),
        ("P", ("length",)),
        ("R@10", ("relevant",)),
        ("F", ("length", "relevant")),
        ("F@10", ("relevant",)),
        ("gP@10", ("ratio",)),
        ("gR", ("ratio", "relevant")),
        ("RBP(p=0.5)", ()),
        ('RBP(p=0.5, gain="linear")', ("highest grade is 1", "ratio")),
        ("RBP(p=0.5, gain={1: 0.5, 2: 1})", None),  # G = 1/2, so p = 1/3
        ("RBP(p=0.25, gain={1: 1, 2: 2, 3: 3})", ("ratio",)),  # G = 1/3, so p = 1/4
        ("RBP(p=0.25, gain={1: 1, 2: 3})", None),  # the gaps are not equal
        ("RBP", None),
        ("AP", None),
        ("DCG@10", None),
        ("ERR", None),
    ],
)
def test_the_scales_of_the_survey(measure: str, conditions: tuple[str, ...] | None) -> None:
    """§7.7: P, R and F for a single topic; gP and gR with grades on a ratio scale; RBP with p = G/(G + 1)."""
    answer = scale_of(measure)
    if conditions is None:
        assert answer.kind == "not interval"
        return
    assert answer.kind == "interval"
    assert len(answer.conditions) == len(conditions)
    for word, condition in zip(conditions, answer.conditions, strict=True):
        assert word in condition


@pytest.mark.parametrize("measure", ["R", "AP", 'RBP(p=0.5, gain="linear")', "gP@10", "P"])
def test_compare_tukey_and_anova_give_the_same_caution(measure: str) -> None:
    """They differ in nothing but what the test needs the scale for."""
    answer = scale_of(measure)
    said = f"on one only if {' and '.join(answer.conditions)}" if answer.conditions else "not on one"
    expected = f"means need an interval scale; {measure} is {said}"
    data = scores(measure)
    for notes in (cf.compare(data, test="tukey").notes, cf.compare(data).notes, anova(data).notes):
        (caution,) = cautions(notes)
        assert expected in caution


@pytest.mark.parametrize("measure", ["P@10", "RBP(p=0.5)", "my own"])
def test_no_caution_for_an_interval_scale_or_a_name_that_is_not_a_measure(measure: str) -> None:
    data = scores(measure)
    assert not cautions(cf.compare(data).notes)
    assert not cautions(anova(data).notes)


def test_a_geometric_mean_is_cautioned_unless_the_scale_is_a_ratio_scale() -> None:
    for measure, warned in (("AP", True), ("P@10", True), ("NumRelRet@10", False), ("my own", False)):
        data = scores(measure)
        tested = apply_test(data, test="unpaired-bootstrap", statistic="gmean", resamples=50)
        power = discriminative_power(data, statistic="gmean", resamples=50)
        for notes in (summary_table(data, statistic="gmean").notes, tested.notes, power.notes):
            assert any("not on a ratio scale; a geometric mean needs one" in note for note in notes) == warned
        assert not any("ratio scale" in note for note in summary_table(data).notes)


def test_the_table_of_theory_says_what_compare_says() -> None:
    rows = {row[0]: row[2] for row in proved_scales().rows}
    assert rows["AP"] == "not interval"
    assert rows["P"] == "interval if all lists have the same length"
    assert proved_scales().notes[-1] == "RBP is shown with its default, p = 0.8; RBP(p=0.5) is interval"


def test_the_table_of_theory_has_the_measures_that_were_asked_for() -> None:
    rows = proved_scales(["RBP(p=0.5)", "RBP(p=0.8)", "P@10", "bpref"]).rows
    assert [(row[0], row[2]) for row in rows] == [
        ("RBP(p=0.5)", "interval"), ("RBP", "not interval"), ("P@10", "interval"), ("bpref", "not interval"),
    ]  # fmt: skip
    assert rows[0][1] == PROVED["RBP"]
    assert rows[3][1] == "not studied"


def test_enumeration_of_more_grades_says_which_measures_are_interval_for_binary_relevance() -> None:
    note = "makes relevance binary, and is interval for lists of two grades"
    for name, binary in {
        "P@3": True,
        "R": True,
        "RBP(p=0.5)": True,
        'RBP(p=0.5,gain="linear")': False,
        "AP": False,
    }.items():
        assert any(note in line for line in scale(name, 3, 3).notes) == binary, name
        assert not any(note in line for line in scale(name, 3).notes)


ONLY_WITH_THIS_RECALL_BASE = {"Rprec", "Rmeasure"}
"""They read the list down to R, which is its length here, where they are P and gP."""


def test_the_answer_is_that_of_the_enumeration_for_every_measure() -> None:
    """All lists of three documents, of one topic with binary grades: then all conditions hold."""
    compared = set()
    for name, kind in REGISTRY.items():
        if kind.properties.better == "neither" or name in ONLY_WITH_THIS_RECALL_BASE:
            continue
        written = f"{name}@3" if kind.cutoff_kind == "rank" else name
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                enumerated = scale(written, length=3).kind
        except CranfieldError:  # it needs more than grades
            continue
        assert (enumerated == "interval") == (scale_of(written).kind in ("interval", "ratio")), written
        compared.add(name)
    assert len(compared) > 60


@pytest.mark.parametrize("measure", ["gP@4", "gR@4", "CG@4"])
def test_graded_sets_are_interval_by_the_sum_of_grades_and_the_page_says_why(measure: str) -> None:
    found = scale(measure, length=4, grades=3)
    assert (found.kind, found.order) == ("interval", "sum of grades")
    assert "the grades are on a ratio scale" in str(found)
    squared = scale(f'{measure.split("@")[0]}(gain="exp")@4', length=4, grades=3)
    assert squared.kind == "neither"
    assert "SBTO puts" in squared.why
    assert "RBTO" not in squared.why


@pytest.mark.parametrize(("grades", "p"), [(2, 1 / 2), (3, 1 / 3), (4, 1 / 4)])
def test_graded_rbp_is_interval_for_the_p_of_the_survey_only(grades: int, p: float) -> None:
    """Equal gaps of 1/c with c = grades − 1: G/(G + 1) = 1/(c + 1)."""
    assert scale(f'RBP(p={p}, gain="linear")', length=4, grades=grades).kind == "interval"
    assert f"the highest grade is {grades - 1}" in scale_of(f'RBP(p={p}, gain="linear")').conditions
    if grades > 2:
        assert scale('RBP(p=0.5, gain="linear")', length=4, grades=grades).kind == "neither"
