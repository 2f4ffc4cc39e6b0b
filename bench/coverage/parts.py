"""The parts of the harness. Each is a module with `cases()`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from bench.coverage.case import Case

PARTS = {
    "evaluation": "intervals of mean scores (`eval --ci`)",
    "comparisons": "tests of two and of all pairs of systems",
    "gate": "the gate, and tests of equivalence",
    "leaderboard": "ranks",
    "power": "power",
    "assessors": "agreement, assessors, merged labels",
    "machine": "machine judges with some human labels",
    "sampling": "sampled and incomplete judgments",
    "meta": "evaluating measures",
    "answers": "texts and answers",
    "experiments": "A/B tests",
    "interleaving": "interleaving",
    "logs": "measures of a log",
    "clicks": "click models",
    "policies": "off-policy estimates and calibration",
}
"""The parts in the order of the page, and what they hold."""


@cache
def cases_of(part: str) -> list[Case]:
    """Return the cases of a part; names are unique."""
    cases: list[Case] = import_module(f"bench.coverage.{part}").cases()
    names = [case.name for case in cases]
    repeated = {name for name in names if names.count(name) > 1}
    assert not repeated, f"{part}: cases with the same name: {repeated}"
    return cases
