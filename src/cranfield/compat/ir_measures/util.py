"""Records, readers, converters and names, under the module name of ir_measures."""

from cranfield.compat.ir_measures.named_tuples import (
    TYPE_QREL,
    TYPE_RUN,
    CalcResults,
    GenericQrel,
    GenericScoredDoc,
    Metric,
    Qrel,
    QrelsConverter,
    RunConverter,
    ScoredDoc,
    parse_trec_qrels,
    parse_trec_run,
    read_trec_qrels,
    read_trec_run,
)
from cranfield.compat.ir_measures.names import convert_trec_name, parse_measure, parse_trec_measure

__all__ = [
    "TYPE_QREL", "TYPE_RUN", "CalcResults", "GenericQrel", "GenericScoredDoc", "Metric", "Qrel", "QrelsConverter",
    "RunConverter", "ScoredDoc", "convert_trec_name", "parse_measure", "parse_trec_measure", "parse_trec_qrels",
    "parse_trec_run", "read_trec_qrels", "read_trec_run",
]  # fmt: skip
