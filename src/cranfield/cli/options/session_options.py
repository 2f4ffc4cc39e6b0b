"""The options of verbs that find sessions in a log."""

from __future__ import annotations

from cranfield.cli.declare import Verb, option


class SessionOptions(Verb):
    """How sessions are found."""

    sessions: str = option(
        "--sessions HOW",
        "How sessions are found: {names}. auto: as the log names them if it does so for every query, or by silence.",
        default="auto",
        choices=("auto", "silence", "continuity", "given"),
    )
    silence: float = option("--silence MINUTES", "The silence that ends a session.", default=30.0)
