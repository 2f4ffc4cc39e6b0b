"""Spärck Jones's rule of thumb: differences below 5 % are discarded, to 10 % noticeable, above material."""

from __future__ import annotations

import numpy as np

from cranfield.comparison import compare
from cranfield.comparison.effects import size_in_words


def test_the_limits_are_those_of_the_chapter() -> None:
    # Ferro & Maistro 2024 §4: below 5 % discarded, from 5 % to 10 % noticeable, above 10 % material.
    # 0.3 - 0.25 and 0.4 - 0.3 are not exactly 0.05 and 0.1 in binary.
    difference = np.array([0.0499, 0.3 - 0.25, -0.07, 0.4 - 0.3, -0.1001, 0.0])
    assert size_in_words(difference).tolist() == [
        "small",
        "noticeable",
        "noticeable",
        "noticeable",
        "material",
        "small",
    ]


SCORES = {"a": [0.30, 0.40, 0.50, 0.41], "b": [0.32, 0.42, 0.52, 0.4], "c": [0.9, 0.1, 0.8, 0.3]}
"""Means 0.4025, 0.415 and 0.525: differences of 0.0125, 0.1225 and 0.11."""


def test_pairs_have_their_size_and_a_note_counts_what_the_test_says() -> None:
    result = compare(SCORES, "AP", rule_of_thumb=True)
    by_pair = {(row["system"], row["other"]): row["size"] for row in result.rows()}
    assert by_pair == {("b", "a"): "small", ("c", "a"): "material", ("c", "b"): "material"}
    assert not any(row["significant"] for row in result.rows())
    assert any(
        "2 of 3 differences are material" in note and "2 material ones are not significant, 0 smaller ones are" in note
        for note in result.notes
    )


def test_the_table_with_a_baseline_has_the_size_beside_the_difference() -> None:
    table = compare(SCORES, "AP", baseline="a", rule_of_thumb=True).wide()
    place = [column.header for column in table.columns].index("size")
    assert {row[0]: row[place] for row in table.rows} == {"a": "", "b": "small", "c": "material"}


def test_without_the_setting_nothing_changes() -> None:
    assert "size" not in compare(SCORES, "AP").columns()


def test_scores_beyond_1_have_no_size() -> None:
    result = compare({"a": [3.0, 2.0, 4.0], "b": [1.0, 2.5, 3.0]}, "DCG", rule_of_thumb=True)
    assert set(result.columns()["size"].tolist()) == {""}
    assert any("says nothing about DCG" in note for note in result.notes)


def test_it_prints() -> None:
    result = compare(SCORES, "AP", baseline="a", rule_of_thumb=True)
    assert "material" in str(result)
    assert r"\begin{tabular}" in result.to_latex()
