"""Why a run is rejected: the first reasons, and how many more kinds there are."""

from __future__ import annotations

import pytest

from cranfield.collection.linting.file_findings import Finding
from cranfield.collection.linting.run_rules import verdicts


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        (2, "fault 0; fault 1"),
        (3, "fault 0; fault 1; fault 2"),
        (4, "fault 0; fault 1; fault 2; 1 more kind"),
        (5, "fault 0; fault 1; fault 2; 2 more kinds"),
    ],
)
def test_three_kinds_are_named_and_only_further_ones_are_counted(kinds: int, why: str) -> None:
    findings = [Finding("a.run", None, "error", f"code-{kind}", f"fault {kind}") for kind in range(kinds)]
    assert verdicts(["a.run"], findings)[0].why == why
