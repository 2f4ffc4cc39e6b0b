"""The tables of names in docs/coming_from: both names of a row mean the same measure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cranfield as cf

PAGES = Path(__file__).parents[2] / "docs" / "coming_from"
OTHERWISE = {
    "iprec_at_recall_0.10": "rounds recall points as trec_eval 9 does",
    "11pt_avg": "rounds recall points as trec_eval 9 does",
    "gm_map": "is a statistic of AP",
    "hits@10": "means Success@10, as in other fields",
    "ndcg_burges@10": "is a name of ranx alone",
    "dcg_burges@10": "is a name of ranx alone",
    "rbp.95": "is a spelling of ranx alone",
    "precision@5-l2": "is a spelling of ranx alone",
}
"""Names that cranfield does not read as the name beside them, and why; the pages say so."""


def pairs(page: str) -> list[tuple[str, str]]:
    """Names of measures in a table of the page with ours."""
    text = (PAGES / page).read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]*) \| (`[^|]*?) \|(?: \| (`[^|]*) \| ([^|]*?) \|)?$", text, re.MULTILINE)
    both = [(row[at], row[at + 1]) for row in rows for at in (0, 2) if row[at]]
    codes = [(re.findall(r"`([^`]+)`", theirs), re.findall(r"`([^`]+)`", ours)) for theirs, ours in both]
    named = [pair for theirs, ours in codes for pair in zip(theirs, ours, strict=False)]
    return [
        (theirs, ours)
        for theirs, ours in named
        if re.fullmatch(r"[\w.@+-]+", theirs) and not theirs.startswith(("-", "run."))
    ]


def same(theirs: str, ours: str) -> bool:
    try:
        return cf.parse(theirs) == cf.parse(ours)
    except cf.CranfieldError:
        return False


@pytest.mark.parametrize(("page", "least"), [("trec_eval.md", 25), ("ranx.md", 15)])
def test_names_in_a_row_mean_the_same_measure(page: str, least: int) -> None:
    named = pairs(page)
    assert len(named) >= least
    assert [(theirs, ours) for theirs, ours in named if theirs not in OTHERWISE and not same(theirs, ours)] == []


def test_exceptions_are_in_the_tables_and_are_exceptions() -> None:
    named = dict(pairs("trec_eval.md") + pairs("ranx.md"))
    assert [theirs for theirs in OTHERWISE if same(theirs, named[theirs])] == []
