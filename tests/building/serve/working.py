"""Assessors without a browser or a server: they judge what `Judging` offers."""

from __future__ import annotations

import secrets
from collections import Counter

from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.exporting import export_lines
from cranfield.building.serve.project.judging import Given, Judging
from cranfield.building.serve.project.judgment_log import Entry
from cranfield.building.serve.project.offer_memory import Offer
from cranfield.building.serve.project.store import Store


def new_request() -> str:
    """An id for a judgment, which no other has."""
    return secrets.token_hex(16)


def export_text(store: Store, what: str, *, combine: str = "majority", dimension: str | None = None) -> str:
    return "".join(export_lines(store, what, combine=combine, dimension=dimension))


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def say(judging: Judging, name: str, offer: Offer, grade: float | None = 1.0, state: str = "graded") -> Given:
    entry = Entry(new_request(), offer.topic, offer.doc, name, state, grade, offer=offer.id)
    return judging.judge(entry).result(10)


def work(judging: Judging, name: str, most: int = 1_000, grade: float = 1.0) -> list[tuple[str, str]]:
    """Judge until nothing is left; returns what was judged, in order."""
    done: list[tuple[str, str]] = []
    given = judging.offers(name).result(10)
    while given.offers and len(done) < most:
        offer = given.offers[0]
        done.append((offer.topic, offer.doc))
        given = say(judging, name, offer, grade)
    return done


def wipe(connection: Connection) -> None:
    for table in ("judgment", "offer"):
        connection.run(f"DELETE FROM {table}")


def counts(store: Store) -> Counter[tuple[str, str]]:
    return Counter((topic, doc) for topic, doc in store.database.read("SELECT topic, doc FROM current_qrels"))
