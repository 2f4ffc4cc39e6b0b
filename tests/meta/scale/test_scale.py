"""Scales of measurement: all lists of a length, scored one by one, and the results of Ferro & Maistro 2024 §7."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cranfield.comparison.assumptions import interval_scale
from cranfield.comparison.compare import compare
from cranfield.comparison.methods.friedman_and_kruskal import kruskal_wallis
from cranfield.errors import UsageError
from cranfield.measures import parse
from cranfield.measures.base import REGISTRY
from cranfield.measures.property_tables import scale_of
from cranfield.meta.scale.conclusions import scale_tests
from cranfield.meta.scale.scale import ADMITS, PROVED, proved_scale, proved_scales, scale, scales
from cranfield.meta.synthetic_lists import MOST, SyntheticLists
from cranfield.scores.scores import Scores

FIGURE_19 = {
    "P@4": "interval",
    "R": "interval",
    "AP": "neither",
    "RR": "neither",
    "RBP(p=0.3)": "ordinal",
    "RBP(p=0.5)": "interval",
    "RBP(p=0.8)": "neither",
    "DCG": "neither",
}
"""Ferro & Maistro 2024 §7.7.2: of these only precision, recall and RBP(p=0.5) are equi-spaced for N = 4
and a recall base of 4."""


def test_kinds_of_scales_as_in_figure_19() -> None:
    actual = scales(list(FIGURE_19), 4, recall_base=4)
    assert [result.kind for result in actual] == list(FIGURE_19.values())
    assert [result.even for result in actual] == [kind == "interval" for kind in FIGURE_19.values()]


@pytest.mark.parametrize(("measure", "share"), [("AP", 1 / 4), ("RR", 1 / 2)])
def test_the_unused_share_of_the_range(measure: str, share: float) -> None:
    # Ferro & Maistro 2024 §7.7.2: AP leaves one quarter of its range unused, RR one half, both in the top part
    result = scale(measure)
    assert result.unused == pytest.approx(share)
    assert result.largest is not None
    assert result.largest.high == 1.0


def test_RBP_at_three_tenths_leaves_the_middle_empty() -> None:
    # from 0.7 (0.3 + 0.09 + 0.027) with all but the first, to 0.7 with the first only
    result = scale("RBP(p=0.3)").largest
    assert result is not None
    assert (result.low_list, result.high_list) == ("0 1 1 1", "1 0 0 0")
    assert (result.low, result.high) == pytest.approx((0.7 * 0.417, 0.7))


@pytest.mark.parametrize("name", ["AP", "nDCG@2", "Q", "ERR", "bpref", "RBTO", "RBP(p=0.7,gain='linear')"])
@pytest.mark.parametrize("base", [None, (1, 2)])
def test_scores_agree_with_single_lists(name: str, base: tuple[int, int] | None) -> None:
    measure, length = parse(name), 3
    there = base or (length, length)
    expected = {}
    for grades in product(range(3), repeat=length):
        missed = [n - grades.count(grade) for grade, n in enumerate(there, 1)]
        if min(missed) >= 0:
            rest = [1.0] * missed[0] + [2.0] * missed[1] + [0.0] * (length - grades.count(0))
            expected[" ".join(map(str, grades))] = measure.of(list(grades), rest)
    columns = scale(measure, length, 3, recall_base=base).columns()
    result = dict(zip(columns["list"].tolist(), columns["score"].tolist(), strict=True))
    assert result == pytest.approx(expected, abs=1e-13)
    assert (np.diff(columns["score"]) >= 0).all()


def test_orders_of_ferro_and_maistro_section_7_8() -> None:
    # set-based measures order as SBTO does; RBP with p = 0.2 keeps the order of RBTO, and p = 0.8 and AP do not
    actual = {
        result.measure: result.order for result in scales(["P@5", "R", "F", "RBP(p=0.2)", "RBP(p=0.5)", "RBP", "AP"], 5)
    }
    assert actual == {
        "P@5": "SBTO", "R": "SBTO", "F": "SBTO", "RBP(p=0.2)": "RBTO", "RBP(p=0.5)": "RBTO", "RBP": "", "AP": "",
    }  # fmt: skip


def test_the_verdict_is_that_of_the_seed_on_the_total_order() -> None:
    # Ferro & Maistro 2024 §7.8: RBTO and RBP with p = 1/2 are interval scales, RBP with p = 0.2 is an ordinal scale,
    # RBP with p = 0.8 and AP are neither ordinal nor interval scales.
    expected = {
        "RBTO": "interval",
        "RBP(p=0.5)": "interval",
        "RBP(p=0.2)": "ordinal",
        "RBP": "neither",
        "AP": "neither",
    }
    for length in (3, 4, 6):
        actual = scales(list(expected), length)
        assert {one.measure: one.kind for one in actual} == expected
        assert "on the total orders of lists" in actual.notes[0]
    # by hand: 1 0 0 0 has AP 1/4; 0 1 1 1, which RBTO puts below, has (1/2 + 2/3 + 3/4)/4 = 0.4792
    assert "RBTO puts (1 0 0 0) just above (0 1 1 1), but it scores 0.2500, less than 0.4792" in scale("AP").why


def test_on_the_partial_order_all_measures_of_section_7_8_are_ordinal() -> None:
    # §7.7.2: "when runs are comparable, all the measures agree on the same way of ordering them"
    actual = scales(["RBP(p=0.5)", "RBP(p=0.2)", "RBP", "AP"], relative_to="partial")
    assert [one.kind for one in actual] == ["interval", "ordinal", "ordinal", "ordinal"]
    assert "on the partial order" in actual.notes[0]
    assert "on the partial order" in str(actual["AP"])


def test_graded_RBP_is_interval_only_for_one_p() -> None:
    # §7.7.2: p = G/(G + 1), where G is the normalised smallest gap: for gains 0, 1/2, 1 it is 1/2, and p = 1/3.
    # With p = 1/2 the values are equally spaced too, but 1 0 ties with 0 2: not the order of RBTO.
    half, third = (scale(f"RBP(p={p!r},gain='linear')", 4, 3) for p in (1 / 2, 1 / 3))
    assert (half.even, half.kind) == (True, "neither")
    assert (third.even, third.kind) == (True, "interval")
    assert scale("RBP(p=0.5,gain='linear')", 4, 3, relative_to="partial").kind == "ordinal"


def test_the_order_of_a_measure_with_a_cutoff_is_that_of_the_documents_above_it() -> None:
    actual = scales(["P@2", "RBP(p=0.5)@2", "AP@3"], 4)
    assert [(one.kind, one.order) for one in actual] == [("interval", "SBTO"), ("interval", "RBTO"), ("neither", "")]


def test_a_measure_that_falls_for_a_better_list_is_not_ordinal() -> None:
    result = scale("P+", 3, 3, recall_base=(1, 1))
    assert (result.kind, result.monotone) == ("neither", False)
    assert scale("P+", 3, 3, recall_base=(1, 1), relative_to="partial").kind == "neither"
    # tests/laws: (none, 1, 2) has (2/5 + 5/6)/2, (none, 2, 1) has 3/5
    assert "(0 2 1) is better than (0 1 2) by a swap, but scores 0.6000, less than 0.6167" in result.why
    assert result.admits == ADMITS["neither"]


def test_the_reason_names_the_smallest_and_the_largest_gap() -> None:
    result = scale("AP")
    assert result.smallest is not None
    # 1/4 · 1/4 and 1/4 · 1/3, the smallest of several gaps of 1/48
    assert str(result.smallest) == "0.02083 from (0 0 0 1) at 0.0625 to (0 0 1 0) at 0.0833"
    assert "; its values are 0.02083 apart from (0 0 0 1)" in result.why
    assert "0.25 from (1 1 1 0) at 0.7500 to (1 1 1 1) at 1.0000" in result.why
    rows = result.spacing().rows
    assert rows[0] == (1.0, 0.25, 1, "1111")
    assert (rows[9][0], rows[9][2:]) == (0.25, (2, "1000  0101"))


def test_measures_with_one_or_two_values_say_so() -> None:
    assert scale("NumRel").kind == "neither"
    assert "same score" in scale("NumRel").why
    assert any("has only two values" in note for note in scale("Success@1").notes)


def test_measures_for_which_lower_is_better_are_negated() -> None:
    result = scale("E")  # E = 1 - F
    assert (result.kind, result.order) == ("interval", "SBTO")


def test_long_lists_are_sampled_and_only_refuted() -> None:
    actual = {
        name: scale(name, 40, draw=2000, seed=1) for name in ("P@40", "RBP(p=0.5)", "RBP(p=0.8)", "AP", "RR", "DCG")
    }
    assert {name: scale.even for name, scale in actual.items()} == {
        "P@40": None, "RBP(p=0.5)": None, "RBP(p=0.8)": False, "AP": False, "RR": False, "DCG": False,
    }  # fmt: skip
    assert actual["P@40"].table().rows[0][1] == "ordinal, interval not refuted"
    assert "does not refute an interval scale" in str(actual["P@40"])
    assert not actual["AP"].not_refuted
    assert np.array_equal(actual["AP"].lists, scale("AP", 40, draw=2000, seed=1).lists)


def test_a_sample_never_refutes_an_interval_scale() -> None:
    for name in ("P@10", "AP", "RR", "RBP(p=0.5)", "RBP(p=0.3)", "nDCG", "R", "F", "Success@3"):
        whole = scale(name, 10)
        for seed in range(3):
            part = scale(name, 10, draw=100, seed=seed)
            assert part.monotone == whole.monotone, name
            assert part.even is None or not whole.even, name


def test_a_note_warns_of_rounding_errors() -> None:
    assert any("floating point" in note for note in scale("RBP(p=0.5)", 60, draw=100).notes)


def test_the_error_about_too_many_lists_offers_a_sample() -> None:
    with pytest.raises(UsageError, match=r"3\^20 = 3,486,784,401 lists .* draw=100000"):
        scale("AP", 20, 3)
    assert len(SyntheticLists.of(8, 4)) == 4**8 < MOST


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"length": 0}, "length == 0"),
        ({"grades": 1}, "grades == 1, must be a whole number, 2 or more"),
        ({"recall_base": -1}, "recall_base == -1"),
        ({"recall_base": 0}, "without relevant documents"),
        ({"grades": 3, "recall_base": (1, 2, 3)}, "one number or 2"),
        ({"draw": 0}, "draw == 0"),
        ({"relative_to": "set"}, "relative_to == 'set'"),
        ({"measure": "alpha-nDCG"}, "needs judgments by intent"),
        ({"measure": "nDCG-IA"}, "needs judgments by intent"),
        ({"measure": "nonsense"}, "nonsense"),
    ],
)
def test_bad_input_is_refused(call: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        scale(**{"measure": "AP", **call})  # type: ignore[arg-type]


def test_theory_and_registry_agree() -> None:
    assert set(PROVED) <= set(REGISTRY)
    for name, actual in PROVED.items():
        registered = REGISTRY[name].properties.scale
        assert registered.startswith("interval") == actual.startswith("an interval"), name
        assert (" iff " in registered) == (" only " in actual), name
    assert len(proved_scales().rows) == len(PROVED)
    assert proved_scale("bpref") == ""
    assert proved_scale("a name of mine") == ""


@pytest.mark.parametrize("name", ["P@4", "R", "F", "SBTO", "RBTO", "AP", "DCG", "ERR", "RBP(p=0.5)", "RBP(p=0.4)"])
def test_proved_scales_are_confirmed(name: str) -> None:
    interval = name not in ("AP", "DCG", "ERR", "RBP(p=0.4)")
    assert (scale(name, 4).kind == "interval") == interval
    assert (scale_of(name).kind == "interval") == interval


def test_compare_notes_a_measure_that_is_not_on_an_interval_scale() -> None:
    rng = np.random.default_rng(0)
    scores = Scores.from_matrix(rng.random((30, 3)), measure="AP")
    assert any(interval_scale("AP").says in note for note in compare(scores).notes)


def test_table_3_counts_pairs_by_ranks_and_by_means() -> None:
    rng = np.random.default_rng(3)
    hard, good = rng.normal(0.4, 0.15, (40, 1)), np.linspace(0, 0.25, 8)
    values = np.stack([hard + good + rng.normal(0, 0.08, (40, 8)) for _ in range(2)])
    scores = Scores(["P@10", "AP"], [f"s{i}" for i in range(8)], [str(i) for i in range(40)], values.transpose(0, 2, 1))
    actual = scale_tests(scores)
    for number, name in enumerate(scores.measures):
        ranks = kruskal_wallis(scores, name).differ
        means = compare(scores, name, test="tukey").columns()["p"] <= 0.05
        assert (actual.by_ranks[number], actual.by_means[number]) == (ranks.sum(), means.sum())
    assert actual.by_means.min() > actual.by_ranks.max() > 0  # topics are left in the ranks' error: the weaker test
    assert actual.scales == ("interval", "not interval")
    assert actual.pairs.tolist() == [28, 28]
    row = actual.table().rows[0]
    assert row[4] == actual.by_ranks[0] / 28


def test_table_3_needs_three_systems() -> None:
    with pytest.raises(UsageError, match="2 systems, must be 3 or more"):
        scale_tests(Scores.from_matrix([[0.1, 0.2], [0.3, 0.4]]))
    with pytest.raises(UsageError, match="alpha == 0"):
        scale_tests(Scores.from_matrix([[0.1, 0.2, 0.3]]), alpha=0)


def test_no_pair_differs_if_all_scores_are_equal() -> None:
    actual = scale_tests(Scores.from_matrix(np.full((10, 4), 0.5)))
    assert (actual.by_ranks.tolist(), actual.by_means.tolist()) == ([0], [0])
