"""`cranfield meta axioms`: one measure with its lists, several side by side."""

from __future__ import annotations

import json

from tests.cli.conftest import Cranfield


def test_one_measure_with_the_lists_that_show_it(cranfield: Cranfield) -> None:
    result = cranfield("meta", "axioms", "-m", "P+", "--only", "swap")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[1].split("  ")[0] == "P+"
    assert "(0 1 2 3 0) 0.5804, (0 1 3 2 0) 0.4762" in result.out  # worked by hand in tests/meta/test_axioms.py


def test_several_side_by_side(cranfield: Cranfield) -> None:
    result = cranfield("meta", "axioms", "-m", "AP,P@10", "--only", "swap,top-heavy")
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[:3] == [["axiom", "AP", "P@10"], ["swap", "yes", "yes"], ["top-heavy", "yes", "no"]]
    more = cranfield("meta", "axioms", "-m", "AP,P@10", "--only", "swap,top-heavy", "--examples")
    assert more.out.startswith(result.out.rstrip("\n"))
    assert len(more.out) > len(result.out)


def test_data(cranfield: Cranfield) -> None:
    result = cranfield("meta", "axioms", "-m", "RR", "--only", "graded", "-f", "json")
    assert json.loads(result.out)["rows"][0]["holds"] == "no"


def test_bad_input_is_an_error_and_no_input_prints_a_usage(cranfield: Cranfield) -> None:
    assert "did you mean 'swap'" in cranfield("meta", "axioms", "-m", "AP", "--only", "swop").err
    assert "needs inclusion probabilities" in cranfield("meta", "axioms", "-m", "statAP").err
    result = cranfield("meta", "axioms")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("usage: cranfield meta axioms")
