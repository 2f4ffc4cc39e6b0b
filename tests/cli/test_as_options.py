"""`--as TEXT` on the command line."""

import json

import pytest

from tests.cli.conftest import Cranfield

WRITTEN_OUT = {
    "sakai2007": ("-t", "bootstrap", "--correction", "none", "-B", "1000", "--asl", "share"),
    "course2015": ("-t", "t", "--correction", "none"),
    "ferro2024": ("-t", "tukey"),
}


@pytest.mark.parametrize("text", WRITTEN_OUT)
def test_compare_as_a_text_is_compare_with_its_options(cranfield: Cranfield, text: str) -> None:
    words = ("compare", "--sample", "-m", "AP", "-f", "json", "--quiet")
    assert cranfield(*words, "--as", text).out == cranfield(*words, *WRITTEN_OUT[text]).out


def test_measures_are_named_with_their_parameters(cranfield: Cranfield) -> None:
    done = cranfield("eval", "--sample", "-m", "nDCG@10,AP@5", "--as", "ferro2024", "-f", "json", "--quiet")
    assert {'nDCG(discount="jk")@10', "AP@5"} <= json.loads(done.out)["rows"][0].keys()
    done = cranfield("compare", "--sample", "--as", "course2015", "--quiet")  # the measure that is not given, too
    assert 'nDCG(gain="exp")@10' in done.out


def test_an_unknown_text_is_refused(cranfield: Cranfield) -> None:
    done = cranfield("eval", "--sample", "--as", "sakai2008")
    assert done.code == 2
    assert "'sakai2008', must be one of 'sakai2007'" in done.err
