"""One click access: the pseudo minimal output, S, T and their kin, and spans that are wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import DataError
from cranfield.answers.answer_texts import Answer
from cranfield.answers.one_click import (
    IUnit,
    explain_one_click,
    minimal_output,
    one_click_scores,
    read_ends,
    read_iunits,
)

UNITS = {"1": {"a": IUnit("a", 3, "x" * 40), "b": IUnit("b", 3, "y" * 10), "c": IUnit("c", 1, "born 6/18/1942")}}


def scored(text: str, ends: dict[str, int], name: str, **options: object) -> float:
    return one_click_scores({"x": {"1": text}}, UNITS, {"x": {"1": ends}}, [name], **options).values.item()


def test_the_minimal_output_puts_heavy_and_then_short_units_first() -> None:
    assert [(unit.id, end) for unit, end in minimal_output(UNITS["1"].values())] == [("b", 10), ("a", 50), ("c", 64)]
    assert minimal_output(UNITS["1"].values(), white_space=False)[-1][1] == 63  # "born 6/18/1942" has one blank


def test_s_and_t_by_hand() -> None:
    """L = 1,000. Ideal: 3 × 990 + 3 × 950 + 936 = 6,756. Found: b at 100 and c at 500: 3 × 900 + 500 = 3,200."""
    text = "z" * 600
    ends = {"b": 100, "c": 500}
    assert scored(text, ends, "S") == pytest.approx(3200 / 6756)
    assert scored(text, ends, "T") == pytest.approx((10 + 14) / 600)
    s, t = 3200 / 6756, 24 / 600
    assert scored(text, ends, "S#", beta=2) == pytest.approx(5 * t * s / (4 * t + s))
    assert scored(text, {"b": 1000}, "S") == 0  # patience is at its end


def test_a_shorter_patience() -> None:
    """L = 50: ideal 3 × 40 + 0 + 0; c at 30 adds 20."""
    assert scored("z" * 60, {"c": 30}, "S", patience=50) == pytest.approx(20 / 120)


def test_flat_values_are_cut_off_at_1() -> None:
    """An output shorter than its vital strings: T = 10/5."""
    assert scored("z" * 5, {"b": 5}, "T") == 2
    assert scored("z" * 5, {"b": 5}, "T-flat") == 1
    ends = {"a": 1, "b": 1, "c": 1}  # earlier than in the minimal output
    assert scored("z" * 80, ends, "S") > 1
    assert scored("z" * 80, ends, "S-flat") == 1
    assert scored("z" * 80, ends, "S♭") == 1


def test_white_space_counts_or_not() -> None:
    """The iUnit ends at 6 with white space, at 4 without; the output has 8 or 5 characters."""
    text = "ab c d e"
    units = {"1": {"c": IUnit("c", 1, "c d")}}
    for white_space, end, ideal, length in ((True, 6, 3, 8), (False, 4, 2, 5)):
        scores = one_click_scores(
            {"x": {"1": text}}, units, {"x": {"1": {"c": 6}}}, ["S", "T"], white_space=white_space
        )
        assert scores.values.ravel().tolist() == pytest.approx([(1000 - end) / (1000 - ideal), ideal / length])


def test_empty_outputs_and_topics_without_weight() -> None:
    assert scored("", {}, "S") == 0
    assert scored("", {}, "T") == 0
    units = {"1": {"a": IUnit("a", 0, "x")}}
    scores = one_click_scores({"x": {"1": "x"}}, units, {}, ["S", "S#"])
    assert all(map(math.isnan, scores.values.ravel().tolist()))


@given(st.lists(st.integers(0, 1200), min_size=3, max_size=3), st.integers(0, 2), st.integers(0, 500))
def test_an_iunit_that_comes_later_never_raises_s(ends: list[int], which: int, delay: int) -> None:
    text = "z" * 2000
    later = [end + delay if place == which else end for place, end in enumerate(ends)]
    before, after = (scored(text, dict(zip("abc", places, strict=True)), "S") for places in (ends, later))
    assert after <= before


@given(st.integers(1, 500), st.integers(1, 500))
def test_more_text_with_the_same_iunits_lowers_t_and_leaves_s(length: int, more: int) -> None:
    short, long = "z" * length, "z" * (length + more)
    ends = {"b": min(length, 10)}
    assert scored(long, ends, "T") < scored(short, ends, "T")
    assert scored(long, ends, "S") == scored(short, ends, "S")
    assert scored(long, ends, "T") * (length + more) == pytest.approx(scored(short, ends, "T") * length)


def test_explain_adds_up_to_s() -> None:
    explained = explain_one_click("z" * 600, UNITS, {"b": 100, "c": 500}, "1")
    assert explained.gain.sum() / explained.ideal_gain.sum() == pytest.approx(3200 / 6756)
    assert explained.notes[0] == "S = 3200/6756 = 0.4737"


# ---- files


def spans(tmp_path: Path, rows: str, text: str = "Ein schöner Tag in Rom", **options: object):
    (tmp_path / "s.tsv").write_text(f"topic\tnugget\tdoc\tstart\tend\tassessor\ttext\n{rows}\n", encoding="utf-8")
    units = {"1": {"a": IUnit("a", 1, "Rom"), "b": IUnit("b", 1, "Tag")}}
    return read_ends(tmp_path / "s.tsv", units, [Answer("x", "1", text, "out1")], **options)


def test_spans_of_the_judging_server_are_read(tmp_path: Path) -> None:
    ends, notes = spans(tmp_path, "1\ta\tout1\t19\t22\tanna\tRom\n1\tb\tout1\t12\t15\tanna\tTag")
    assert ends == {"x": {"1": {"a": 22, "b": 15}}}
    assert notes == []


def test_spans_without_text_name_the_output(tmp_path: Path) -> None:
    (tmp_path / "s.tsv").write_text("topic\tiunit\tanswer\tstart\tend\n1\ta\tout1\t0\t3\n")
    units = {"1": {"a": IUnit("a", 1, "Rom")}}
    ends, _ = read_ends(tmp_path / "s.tsv", units, [Answer("x", "1", "Rom ist alt", "out1")])
    assert ends == {"x": {"1": {"a": 3}}}


def test_the_first_span_counts_and_overlaps_are_noted(tmp_path: Path) -> None:
    ends, notes = spans(tmp_path, "1\ta\tout1\t12\t22\tanna\t\n1\ta\tout1\t4\t15\tben\t")
    assert ends == {"x": {"1": {"a": 15}}}
    assert notes == [
        "1 further span of an iUnit that was found before; the first end counts",
        "1 span overlapping with another; all count",
    ]


def test_offsets_in_bytes(tmp_path: Path) -> None:
    """ö has two bytes, so that everything after it is one further."""
    ends, _ = spans(tmp_path, "1\ta\tout1\t20\t23\tanna\tRom", offsets="bytes")
    assert ends == {"x": {"1": {"a": 22}}}
    with pytest.raises(DataError, match=r"s.tsv:2: .* are the offsets in bytes\? \(offsets='bytes'\)"):
        spans(tmp_path, "1\ta\tout1\t13\t16\tanna\tTag")
    with pytest.raises(DataError, match="byte 8 is within a character of the text"):
        spans(tmp_path, "1\ta\tout1\t8\t16\tanna\t", offsets="bytes")


def test_emoji_combining_marks_and_right_to_left_text(tmp_path: Path) -> None:
    """Offsets count code points, as the judging server does: an emoji is one, a letter with a mark on it two."""
    text = "e\u0301té 😀 שלום"
    ends, _ = spans(tmp_path, f"1\ta\tout1\t7\t11\tanna\t{text[7:11]}", text)
    assert text[7:11] == "שלום"
    assert ends == {"x": {"1": {"a": 11}}}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\ta\tout1\t19\t99\tanna\t", "s.tsv:2: the span ends at 99, but the text has 22 characters"),
        ("1\ta\tout1\t9\t3\tanna\t", "s.tsv:2: the span ends at 3, before its start at 9"),
        ("1\ta\tout1\t-1\t3\tanna\t", "s.tsv:2: the start is '-1', expected a whole number, 0 or above"),
        ("1\tz\tout1\t1\t3\tanna\t", "s.tsv:2: no iUnit 'z' in topic '1'; it has a, b"),
        ("2\ta\tout1\t1\t3\tanna\t", "s.tsv:2: topic '2' has no iUnits; the topics are 1"),
        ("1\ta\tout9\t1\t3\tanna\t", "s.tsv:2: there is no output of 'out9' for topic '1'; there are out1"),
    ],
)
def test_wrong_spans_are_errors(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        spans(tmp_path, rows)


def test_iunits_are_read(tmp_path: Path) -> None:
    (tmp_path / "u.tsv").write_text("topic\tiunit\tweight\tvital_string\n1\ta\t2\tborn 1942\n")
    assert read_iunits(tmp_path / "u.tsv") == {"1": {"a": IUnit("a", 2.0, "born 1942")}}
