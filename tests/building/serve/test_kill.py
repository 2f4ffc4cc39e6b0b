"""The server is killed at random moments under load: what it acknowledged is there, once.

Three rounds by default. For fifty: CRANFIELD_KILLS=50 python -m pytest tests/building/serve/test_kill.py
"""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

from cranfield.building.serve.judging import new_request
from cranfield.building.serve.store import Store
from tests.building.serve.live import Server, Worker, make_project

ROUNDS = int(os.environ.get("CRANFIELD_KILLS", "3"))
PEOPLE = 4


class Load:
    """An assessor who judges until the server is gone, and remembers what was acknowledged."""

    def __init__(self, server: Server, name: str, cookie: str) -> None:
        self.worker = Worker(server.port, name, cookie)
        self.acknowledged: list[tuple[str, float]] = []
        self.unsure: tuple[str, int, float] | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        number = 0
        while self.worker.open:
            number += 1
            request, offer, grade = new_request(), self.worker.open[0], float(number % 3)
            self.unsure = (request, offer, grade)
            try:
                self.worker.judge(grade, request, offer)
            except (OSError, http.client.HTTPException):
                return
            self.acknowledged.append((request, grade))
            self.unsure = None


def test_a_kill_at_any_moment_loses_no_acknowledged_judgment_and_doubles_none(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    make_project(path, docs=40_000, people=PEOPLE)
    rng = random.Random(0)
    cookies: dict[str, str] = {}
    acknowledged: dict[str, float] = {}
    retried = 0
    for _ in range(ROUNDS):
        with Server(path) as server:
            for number in range(PEOPLE):
                name = f"w{number}"
                cookies[name] = cookies.get(name) or Worker(server.port, name).cookie
            loads = [Load(server, name, cookie) for name, cookie in cookies.items()]
            time.sleep(rng.uniform(0.05, 0.8))
            server.kill()
        for load in loads:
            load.thread.join(30)
            acknowledged |= dict(load.acknowledged)
        check(path, acknowledged)
        with Server(path) as server:  # those that were cut off are sent again, whether they had arrived or not
            for load in loads:
                if load.unsure is not None:
                    request, offer, grade = load.unsure
                    Worker(server.port, load.worker.name, load.worker.cookie).judge(grade, request, offer)
                    acknowledged[request] = grade
                    retried += 1
            server.kill()
        check(path, acknowledged)
    assert len(acknowledged) > 10 * ROUNDS
    assert retried
    print(f"{ROUNDS} kills, {len(acknowledged)} acknowledged judgments, {retried} sent again: none lost, none twice")


def check(path: str, acknowledged: dict[str, float]) -> None:
    """Every acknowledged judgment is there once with its grade, and no document has more than one that counts."""
    with Store(path) as store:
        assert store.database.read("PRAGMA integrity_check") == [("ok",)]
        rows = store.database.read("SELECT request, grade FROM judgment")
        kept = dict(rows)
        assert len(kept) == len(rows)
        assert {request: kept.get(request) for request in acknowledged} == acknowledged
        current = Counter(store.database.read("SELECT topic, doc FROM current_qrels"))
        assert max(current.values()) == 1
        assert len(current) == len(rows)  # the load never judges a document twice
