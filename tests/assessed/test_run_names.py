"""Names of runs are short and all different."""

from __future__ import annotations

import pytest

from cranfield.assessed.given_runs import distinct_names

CASES = [
    (["x", "y"], ["/data/a.run", "/data/b.run"], ["x", "y"]),
    (["t", "t"], ["a/x.run", "b/x.run"], ["a/x", "b/x"]),
    (["t", "t"], ["/home/me/a/x.run", "/home/me/b/x.run"], ["a/x", "b/x"]),
    (["t", "t"], ["/home/a/run/x", "/home/b/run/x"], ["a/run/x", "b/run/x"]),
    (["t", "t"], ["x.run", "x.txt"], ["x.run", "x.txt"]),
    (["t", "t"], ["./x.run.gz", "other/x.run"], ["x.run.gz", "x.run"]),
    (["t", "t", "t"], ["x.run", "b/x.run", "/c/b/x.run"], ["x", "b/x", "c/b/x"]),
    (["t", "u", "t", "u"], ["f.txt", "f.txt", "g.txt", "g.txt"], ["f:t", "f:u", "g:t", "g:u"]),
    (["t", "u", "t", "u"], ["a/f.txt", "a/f.txt", "b/f.txt", "b/f.txt"], ["a/f:t", "a/f:u", "b/f:t", "b/f:u"]),
    (["t", "t"], ["x.run", "x.run"], ["x:t#1", "x:t#2"]),
    (["t", "t"], ["", "x.run"], ["t", "x"]),
]  # fmt: skip


@pytest.mark.parametrize(("tags", "paths", "names"), CASES)
def test_names_are_short_and_distinct(tags: list[str], paths: list[str], names: list[str]) -> None:
    assert distinct_names(tags, paths) == names
    assert len(set(names)) == len(names)
    assert not any(name.startswith("/") for name in names)
