"""Frames of polars are joined as fast as those of pandas, with the same values."""

from __future__ import annotations

from typing import Any

import polars
import pytest

from cranfield.collection.qrels import Qrels
from cranfield.compat import ir_measures
from cranfield.compat.ir_measures.core_evaluators import TREC_EVAL, _joined_rows

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
COLUMNS: dict[str, Any] = {
    "query_id": ["q1", "q1", "q2", "q2"],
    "doc_id": ["b", "a", "x", "c"],
    "score": [3.0, 2.0, 2.0, 1.0],
}


@pytest.mark.parametrize("kind", [polars.Float64, polars.Float32, polars.Int32, polars.UInt8])
def test_a_polars_frame_is_joined_without_a_table_in_between(kind: Any) -> None:
    frame = polars.DataFrame(COLUMNS).with_columns(polars.col("score").cast(kind))
    assert _joined_rows(Qrels.of(QRELS).judged(), frame, TREC_EVAL, False) is not None
    values = ir_measures.calc_aggregate([ir_measures.RR, ir_measures.AP], QRELS, frame)
    assert values == {ir_measures.RR: 0.5, ir_measures.AP: 0.5}  # the relevant documents are second


@pytest.mark.parametrize("score", [["3", "2", "2", "1"], [None, 2.0, 2.0, 1.0], [float("nan"), 2.0, 2.0, 1.0]])
def test_unusual_scores_of_a_polars_frame_are_treated_as_those_of_pandas(score: list[Any]) -> None:
    frame = polars.DataFrame({**COLUMNS, "score": score}, strict=False)
    said = []
    for table in (frame, frame.to_pandas()):
        try:
            said.append(str(ir_measures.calc_aggregate([ir_measures.RR], QRELS, table)))
        except Exception as error:
            said.append(type(error).__name__)
    assert said[0] == said[1]
