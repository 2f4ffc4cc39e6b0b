"""Online measures of logs, weighted sums and sets of them, preferences from clicks, and satisfaction."""

from __future__ import annotations

from cranfield.online.log_measures import document_level, query_level, ranking_level, user_level
from cranfield.online.log_measures.document_clicks import DocumentClicks, document_clicks
from cranfield.online.log_measures.log_rows import LogRows, UserSums, per_user
from cranfield.online.log_measures.measured_log import SETS, LogMeasures, MetricSet, measure_log, metric_set
from cranfield.online.log_measures.oec import OEC, OECPart, read_oec
from cranfield.online.log_measures.online_measure import (
    ONLINE_MEASURES,
    OnlineMeasure,
    online_measure,
    parse_online,
    parse_online_many,
)

__all__ = [
    "OEC", "ONLINE_MEASURES", "SETS", "DocumentClicks", "LogMeasures", "LogRows", "MetricSet", "OECPart",
    "OnlineMeasure", "UserSums", "document_clicks", "measure_log", "metric_set", "online_measure", "parse_online",
    "parse_online_many", "per_user", "read_oec",
]  # fmt: skip

LEVEL_MODULES = (document_level, ranking_level, user_level, query_level)
"""The modules that define measures, in the order of levels."""
