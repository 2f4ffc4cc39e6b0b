"""Every result can be shown, written and converted."""

from __future__ import annotations

import json

import pytest

from cranfield.answers import (
    Assignments,
    IUnit,
    Nugget,
    Sentence,
    bleu,
    explain_citations,
    explain_nuggets,
    explain_one_click,
    explain_pourpre,
    explain_rouge,
    rouge,
)
from cranfield.answers.sessions import Query, Session, expected_over_paths, explain_session

NUGGETS = {"1": {"a": Nugget("a", "x y", "vital")}}
SESSION = Session("s", "1", (Query(("a", "b")),))
RECORDS = {
    "rouge": lambda: rouge({"x": {"1": "a b"}}, {"1": "a c"}, ["ROUGE-1", "ROUGE-2-R"], resamples=20),
    "bleu": lambda: bleu({"x": {"1": "a b"}}, {"1": "a c"}),
    "explained rouge": lambda: explain_rouge("a b", ["a c"], "ROUGE-SU4"),
    "explained sentences": lambda: explain_rouge("a b", ["a c\nb"], "ROUGE-W"),
    "explained nuggets": lambda: explain_nuggets(Assignments({"x": {"1": {}}}, NUGGETS), "1"),
    "explained POURPRE": lambda: explain_pourpre("x z", NUGGETS, "1"),
    "explained citations": lambda: explain_citations({"x": {"1": [Sentence("A.", ("d",), (None,))]}}, "1"),
    "explained session": lambda: explain_session(SESSION, {"1": {"a": 1}}, "sDCG"),
    "paths of sessions": lambda: expected_over_paths([SESSION], {"1": {"a": 1}}, "AP"),
    "explained one click": lambda: explain_one_click("bass", {"1": {"a": IUnit("a", 1, "bass")}}, {"a": 4}, "1"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records_have_tables_json_latex_and_frames(name: str) -> None:
    record = RECORDS[name]()
    rows = json.loads(record.to_json())["rows"]
    assert len(rows) == len(record.to_pandas()) == record.to_polars().height
    assert record.table().rows
    assert "tabular" in record.to_latex()
    assert str(record) == repr(record)
    assert record._repr_html_().startswith("<table")
