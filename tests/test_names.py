"""The names of the package."""

from __future__ import annotations

import cranfield as cf


def test_dir_shows_operations_before_types_and_measures() -> None:
    names = dir(cf)
    assert names[:3] == ["evaluate", "explain", "topics"]  # as the overview of the command line begins
    assert names.index("meta") < names.index("Scores") < names.index("AP")
    assert len(names) == len(set(names))
