"""Logs of live traffic: check them, find sessions, measure them, simulate them.

The functions have the names of the verbs of `cranfield log`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.online.log_measures.click_preferences import click_preferences as preferences
    from cranfield.online.log_measures.document_clicks import document_clicks as documents
    from cranfield.online.log_measures.measured_log import measure_log as measures
    from cranfield.online.log_measures.satisfaction.learned_satisfaction import learn_satisfaction as satisfaction
    from cranfield.online.logs.check_log import check_log as check
    from cranfield.online.logs.demo_log import write_demo as demo
    from cranfield.online.logs.sessions import summarise_sessions as sessions

__all__ = ["check", "demo", "documents", "measures", "preferences", "satisfaction", "sessions"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "check": "online.logs.check_log:check_log",
            "demo": "online.logs.demo_log:write_demo",
            "documents": "online.log_measures.document_clicks:document_clicks",
            "measures": "online.log_measures.measured_log:measure_log",
            "preferences": "online.log_measures.click_preferences:click_preferences",
            "satisfaction": "online.log_measures.satisfaction.learned_satisfaction:learn_satisfaction",
            "sessions": "online.logs.sessions:summarise_sessions",
        },
    )
