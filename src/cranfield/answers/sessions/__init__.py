"""Sessions of several queries: reading them, and measures of their lists, clicks and time."""

from cranfield.answers.sessions.browsing_paths import (
    ExpectedOverPaths,
    esAP,
    esDCG,
    esNDCG,
    esP,
    esR,
    expected_over_paths,
)
from cranfield.answers.sessions.click_trails import Trail, sCG, sCost, sU, trail_of
from cranfield.answers.sessions.session_files import Click, Query, Session, Sessions, read_sessions, write_sessions
from cranfield.answers.sessions.session_lists import SessionLists
from cranfield.answers.sessions.session_measures import (
    SESSION_MEASURES,
    SessionMeasure,
    as_session_measure,
    nsDCG,
    sDCG,
    session_measure,
    sFreq,
    sMP,
    sRBP,
)
from cranfield.answers.sessions.session_scores import (
    ExplainedSession,
    explain_session,
    session_scores,
    session_trailtext,
)
from cranfield.answers.sessions.trec_sessions import read_session_topics, with_topics

__all__ = [
    "SESSION_MEASURES", "Click", "ExpectedOverPaths", "ExplainedSession", "Query", "Session", "SessionLists",
    "SessionMeasure", "Sessions", "Trail", "as_session_measure", "esAP", "esDCG", "esNDCG", "esP", "esR",
    "expected_over_paths", "explain_session", "nsDCG", "read_session_topics", "read_sessions",
    "sCG", "sCost", "sDCG", "sFreq", "sMP", "sRBP", "sU",
    "session_measure", "session_scores", "session_trailtext", "trail_of", "with_topics", "write_sessions",
]  # fmt: skip
