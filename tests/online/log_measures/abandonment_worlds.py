"""Simulated logs in which it is known whether an abandoned query was answered by its result page.

Worlds differ in what decides how well a rule finds good abandonment: how many needs the page answers, how often users
click and are satisfied, rephrase a query that failed, give up, go on to another need, use other words, and hover. Each
world is an arm of one log, so that one pass measures all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.online.log_measures.small_logs import MINUTE, START, Row, Rows

LONGEST = 8
"""The most queries of a session."""


def world(rng: np.random.Generator) -> dict[str, float]:
    """The probabilities of a world, each drawn from the range that seems possible."""
    u = rng.uniform
    rephrases = u(0.3, 0.8)
    after_click = min(1.0, rephrases * u(0.7, 1.2))
    hover = u(0.05, 0.5)
    return {
        "answered": u(0, 0.5),  # the result page can answer the need
        "leaves": u(0.3, 0.9),  # and then does, so that no click is needed
        "clicks": u(0.4, 0.8),
        "satisfied": u(0.4, 0.8),  # after a click
        "rephrases": rephrases,  # after no click, without an answer
        "rephrases after click": after_click,
        "rephrases after answer": u(0, 0.15),
        "changes": min(u(0, 0.15), 1 - max(rephrases, after_click)),  # gives this need up for another one
        "goes on": u(0.1, 0.5),  # to another need, after success
        "other words": u(0, 0.3),  # in which a query is rephrased
        "hovers": hover,
        "hovers over answer": min(1.0, hover * u(1, 3)),
    }


def worlds_log(worlds: int, sessions: int, seed: int = 0) -> tuple[Rows, np.ndarray]:
    """A log with a world per arm, and the true share of good abandonment in each arm, in the order of their names."""
    rows = Rows([], [], [])
    truth = []
    for number in range(worlds):
        rng = np.random.default_rng([seed, number])
        truth.append(_add_world(rows, rng, world(rng), f"w{number:03}", sessions))
    return rows, np.array(truth)


def _add_world(rows: Rows, rng: np.random.Generator, of: dict[str, float], arm: str, sessions: int) -> float:
    good = queries = 0
    for session in range(sessions):
        user, time = f"{arm}-u{session}", START
        need, variant, words = 0, 0, 0
        answered = rng.random() < of["answered"]
        for _ in range(LONGEST):
            queries += 1
            query = f"{user}-{queries}"
            text = f"a{words} b{words}" + (f" c{variant}" if variant else "")
            rows.queries.append(_query(query, user, time, text, arm))
            left = answered and rng.random() < of["leaves"]
            clicked = not left and rng.random() < of["clicks"]
            satisfied = left or (clicked and rng.random() < of["satisfied"])
            good += left
            if clicked:
                rows.events.append(_event(query, user, time + 5_000_000, "click"))
            if rng.random() < of["hovers over answer" if left else "hovers"]:
                rows.events.append(_event(query, user, time + 4_000_000, "hover"))
            draw, again, other = rng.random(), *_next(of, left, clicked, satisfied)
            if draw >= again + other:
                break
            time += 2 * MINUTE
            if draw < again:
                variant += 1
                words = words + 1000 if rng.random() < of["other words"] else words
            else:
                need, variant = need + 1, 0
                words = need
                answered = rng.random() < of["answered"]
    return good / queries


def _next(of: dict[str, float], left: bool, clicked: bool, satisfied: bool) -> tuple[float, float]:
    """The probabilities to rephrase the query, and to ask about another need."""
    if satisfied:
        return of["rephrases after answer"] if left else 0.0, of["goes on"]
    return of["rephrases after click" if clicked else "rephrases"], of["changes"]


def _query(query: str, user: str, time: int, text: str, arm: str) -> Row:
    about: dict[str, Any] = {"query_id": query, "user": user, "session": user, "time": time, "text": text, "arm": arm}
    return about | {"device": None}


def _event(query: str, user: str, time: int, action: str) -> Row:
    event = {"query_id": query, "user": user, "session": user, "time": time, "action": action, "doc": "d"}
    return event | {"position": 1, "value": None, "dwell": None}
