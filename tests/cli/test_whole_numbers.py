"""Every whole number of every verb has a limit: a wrong key does not start work that takes for ever."""

from __future__ import annotations

import pytest

from cranfield.cli import find
from cranfield.cli.declare import MOST_PARTS, MOST_RESAMPLES, declared
from tests.cli.conftest import Cranfield
from tests.cli.every_verb import EVERY, PLAIN, with_file

HUGE = 99_999_999_999_999


@pytest.mark.parametrize("verb", [verb for verb in EVERY if verb not in PLAIN])
def test_a_huge_whole_number_is_refused_before_any_work(cranfield: Cranfield, verb: str) -> None:
    for one in declared(find(verb)):
        if one.kind == "int" and one.name != "seed":
            for number in (HUGE, 10**400):
                done = cranfield(*with_file(verb, one, str(number)))
                assert done.code == 2
                assert f"{one.label} == {str(number)[:14]}" in done.err
                assert "must be" in done.err
                assert len(done.err) < 300


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("collection", "shard", "qrels.txt", "--shards", "99999999"), MOST_PARTS),
        (("collection", "shard", "qrels.txt", "--repeats", "99999999"), MOST_PARTS),
        (("anova", "--sample", "--shards", "99999999"), MOST_PARTS),
        (("compare", "--sample", "-B", "99999999999999"), MOST_RESAMPLES),
        (("gate", "--sample", "-B", "99999999999999"), MOST_RESAMPLES),
    ],
)
def test_parts_and_resamples_have_limits_of_their_own(cranfield: Cranfield, words: tuple[str, ...], most: int) -> None:
    done = cranfield(*words)
    assert (done.code, done.out) == (2, "")
    assert f"must be at most {most:,}" in done.err
