"""The server or its PostgreSQL is killed at random moments under load: what was acknowledged is there, once.

Two or three rounds by default. For fifty: CRANFIELD_KILLS=50 python -m pytest tests/building/serve/test_kill.py
"""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from cranfield.building.serve.project.store import Store
from tests.building.serve.conftest import PostgresServer
from tests.building.serve.live import Server, Worker, make_project
from tests.building.serve.working import new_request

ROUNDS = int(os.environ.get("CRANFIELD_KILLS", "0"))
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
    work_and_kill(str(tmp_path / "judgments.db"), ROUNDS or 3)


@pytest.mark.xdist_group("postgres")
def test_a_kill_of_the_server_or_of_postgresql_loses_no_acknowledged_judgment(postgres: PostgresServer) -> None:
    work_and_kill(postgres.database(), ROUNDS or 2, postgres)


def work_and_kill(path: str, rounds: int, postgres: PostgresServer | None = None) -> None:
    """Kill the server, or PostgreSQL in every second round; then the same server goes on."""
    make_project(path, docs=min(10_000 * rounds, 40_000), people=PEOPLE)
    rng = random.Random(0)
    cookies: dict[str, str] = {}
    acknowledged: dict[str, float] = {}
    retried = 0
    for number in range(rounds):
        with ExitStack() as running:
            server = running.enter_context(Server(path))
            for name in (f"w{person}" for person in range(PEOPLE)):
                cookies[name] = cookies.get(name) or Worker(server.port, name).cookie
            loads = [Load(server, name, cookie) for name, cookie in cookies.items()]
            time.sleep(rng.uniform(0.05, 0.8))
            if postgres is not None and number % 2:
                postgres.kill()
                postgres.start()
            else:
                server.kill()
            for load in loads:
                load.thread.join(30)
                acknowledged |= dict(load.acknowledged)
            check(path, acknowledged)
            if server.process.poll() is not None:
                server = running.enter_context(Server(path))
            for load in loads:  # those that were cut off are sent again, whether they had arrived or not
                if load.unsure is not None:
                    request, offer, grade = load.unsure
                    Worker(server.port, load.worker.name, load.worker.cookie).judge(grade, request, offer)
                    acknowledged[request] = grade
                    retried += 1
            server.kill()
        check(path, acknowledged)
    assert len(acknowledged) > 10 * rounds
    assert retried
    print(f"{rounds} kills, {len(acknowledged)} acknowledged judgments, {retried} sent again: none lost, none twice")


def check(path: str, acknowledged: dict[str, float]) -> None:
    """Every acknowledged judgment is there once with its grade, and no document has more than one that counts."""
    with Store(path) as store:
        if "://" not in path:
            assert store.database.read("PRAGMA integrity_check") == [("ok",)]
        rows = store.database.read("SELECT request, grade FROM judgment")
        kept = dict(rows)
        assert len(kept) == len(rows)
        assert {request: kept.get(request) for request in acknowledged} == acknowledged
        current = Counter(store.database.read("SELECT topic, doc FROM current_qrels"))
        assert max(current.values()) == 1
        assert len(current) == len(rows)  # the load never judges a document twice
