"""`--as TEXT` sets what a text has where ours differs, and leaves alone what was given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.measures import parse
from cranfield.papers.as_text import MEASURES, TEXTS, measure_as, options_as

DEFAULTS = (Path(__file__).parent.parent.parent / "docs" / "defaults.md").read_text("utf-8")


def test_what_is_given_stays() -> None:
    known = {"test", "correction", "asl", "resamples", "continuity", "coefficients"}
    given = {"test": "t", "resamples": 7}
    assert options_as("sakai2007", given, known) == {**given, "coefficients": "tau-a"}
    assert options_as("sakai2007", {"correction": "holm"}, known)["correction"] == "holm"
    assert measure_as("course2015", "nDCG(gain=linear)@10") == "nDCG@10"


def test_only_options_of_the_verb_are_set() -> None:
    assert options_as("sakai2007", {}, {"measures", "coefficients"}) == {"coefficients": "tau-a"}
    assert options_as("sakai2007", {}, {"test"}) == {}  # a test, but not one of significance between runs
    with pytest.raises(UsageError, match="text == 'sakai2008', must be one of 'sakai2007'"):
        options_as("sakai2008", {}, set())


@pytest.mark.parametrize(
    ("text", "name", "grades", "missed", "expected"),
    [
        # Sakai 2014 (10): relevant at ranks 1 and 3 of 2 read, R = 5: (1/1) / min(2, 5)
        ("sakai2014", "AP@2", [1, 0, 1], [1, 1, 1], 1 / 2),
        ("sakai2007", "AP@2", [1, 0, 1], [1, 1, 1], 1 / 5),
        # course notes 2015 §3.2: 3 + 2 + 3/log2(3) + 1/log2(5) + 2/log2(6) = 8.0972
        ("course2015", "DCG", [3, 2, 3, 0, 1, 2], [], 8.0972),
        # Ferro & Maistro 2024 Fig. 11
        ("ferro2024", "nDCG", [3, 0, 1, 2, 0, 0, 0, 2, 0, 0], [3, 2, 1, 1], 0.5194),
        # Sakai 2013 §2.1: gains 7, 3, 1; the ideal has 7 at rank 1: 3 / 7
        ("sakai2013", "nDCG@1", [2], [3], 3 / 7),
    ],
)
def test_measures_are_those_of_the_text(
    text: str, name: str, grades: list[float], missed: list[float], expected: float
) -> None:
    assert parse(measure_as(text, name)).of(grades, missed) == pytest.approx(expected, abs=5e-5)


def test_every_option_of_the_page_is_read() -> None:
    """The measures on the page parse, and those that `--as` gives are on the page."""
    names = [
        name
        for name in re.findall(r"`(\w+\([^`]*\)(?:@l|@10)?)`", DEFAULTS)
        if not name.startswith(("sU", "measure_as"))
    ]
    assert len(names) >= 6
    for name in names:
        if not name.startswith("options_as"):
            parse(name.replace("@l", "@5"))
    for changes in MEASURES.values():
        for parameters in changes.values():
            assert all(f'{key}="{value}"' in DEFAULTS for key, value in parameters.items())
    assert all(f"--as {text}" in DEFAULTS for text in TEXTS)


def test_the_verbs_do_as_a_text() -> None:
    # the witness is the same call with the options written out
    sample = cf.sample()
    with pytest.warns(cf.CranfieldWarning):
        scores = cf.evaluate(sample.qrels, sample.runs, ["AP"])
    values = options_as("sakai2007", {"resamples": 50}, {"test", "correction", "resamples", "asl"})
    assert (
        cf.compare(scores, "AP", **values).table().rows
        == cf.compare(scores, "AP", test="bootstrap", correction="none", resamples=50, asl="share").table().rows
    )
