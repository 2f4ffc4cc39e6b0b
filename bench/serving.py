"""Judging in the browser: judgments per second, the next document, the first document, and the status.

`python -m bench.serving NAME` runs one contestant in its own process, and prints seconds and bytes as JSON. Databases
are made in a temporary folder beside this file, because in a file system in memory a commit would cost nothing.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import postgres
from bench.assessors import PASSWORD, Assessor, judge_together
from bench.peers import peak_bytes

HERE = Path(__file__).parent
CLIENTS, JUDGMENTS = 8, 2_000
ADAPTIVE_TOPICS, ADAPTIVE_DOCS = 10, 10_000
"""Topics, and documents in the pool of each: 100,000 in all."""
MANY = 1_000_000
CHROMIUM = "/usr/bin/chromium"

BARE = f"bare loop of SQLite commits, {JUDGMENTS:,}"
SERVED = f"judgments by HTTP from {CLIENTS} clients, {JUDGMENTS:,}"
POSTGRES = f"{SERVED}, into PostgreSQL"
NEXT = "judge and get the next document, adaptive pool of 100,000 (95th percentile)"
FIRST = "open the page, first document shown, key accepted (median of 10)"
STATUS = f"status of {MANY:,} judgments"


def folder() -> tempfile.TemporaryDirectory[str]:
    place = HERE / ".data"
    place.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir=place, prefix="serving-")


def bare() -> float:
    """Rows like ours into a table like ours, one commit each."""
    from cranfield.building.serve.store import Store

    with folder() as place:
        path = f"{place}/judgments.db"
        with Store(path) as store:
            fill(store, JUDGMENTS, 1)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        statement = """INSERT INTO judgment (request, topic, doc, assessor, action, state, grade, reason, milliseconds,
            position, judged_at, purpose, counted)
            VALUES (?, '1', ?, 'w0', 'judge', 'graded', 1, '', 5, ?, 0, 'pool', 1)"""
        began = time.perf_counter()
        for number in range(JUDGMENTS):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(statement, (f"request-{number}", f"d{number}", number))
            connection.execute("COMMIT")
        return time.perf_counter() - began


def fill(store: Any, docs: int, people: int) -> None:
    from cranfield.building.serve.accounts import add_account
    from cranfield.building.serve.project_parts import Document, PoolEntry
    from cranfield.collection.topics import Topic, Topics

    store.add_topics(Topics([Topic("1", "wing flutter")]))
    store.add_pool(PoolEntry("1", f"d{i}", {}) for i in range(docs))
    store.add_documents(Document(f"d{i}", f"Title {i}", "Text on wing flutter. " * 40) for i in range(docs))
    for number in range(people):
        add_account(store, f"w{number}", password=PASSWORD)


class Server:
    """`cranfield judge serve` in its own process."""

    def __init__(self, path: str, *more: str) -> None:
        command = [sys.executable, "-m", "cranfield", "judge", "serve", path, "--no-browser", "--port", "0", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.address = line.split()[-1]
        found = re.search(r":(\d+)/", line)
        assert found, line
        self.port = int(found[1])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait(20)


def served() -> float:
    with folder() as place:
        return judged(f"{place}/judgments.db")


def served_by_postgres() -> float:
    with postgres.server(HERE / ".data") as url:
        return judged(url)


def judged(where: str) -> float:
    """Seconds for all judgments by HTTP, with the database at a path or URL."""
    from cranfield.building.serve.store import Store

    with Store(where) as store:
        fill(store, JUDGMENTS + 100 * CLIENTS, CLIENTS)
    with Server(where) as server:
        assessors = [Assessor(server.port, f"w{number}") for number in range(CLIENTS)]
        seconds = judge_together(assessors, JUDGMENTS)
    with Store(where) as store:
        assert store.database.read("SELECT COUNT(*) FROM judgment") == [(JUDGMENTS,)]
    return seconds


def next_document() -> float:
    from cranfield.building.serve.accounts import add_account
    from cranfield.building.serve.project_parts import Document
    from cranfield.building.serve.store import Store
    from cranfield.collection.topics import Topic, Topics

    with folder() as place:
        path = f"{place}/judgments.db"
        for run in range(20):  # each run has a tenth of the documents in common with others
            with open(f"{place}/run{run}.run", "w") as file:
                for topic in range(ADAPTIVE_TOPICS):
                    for rank in range(1, 1001):
                        number = (run * 500 + (rank * 7919) % 1000) % ADAPTIVE_DOCS
                        file.write(f"{topic} Q0 t{topic}d{number} {rank} {1001 - rank} run{run}\n")
        topics = Topics([Topic(str(topic), f"topic {topic}") for topic in range(ADAPTIVE_TOPICS)])
        topics.write(f"{place}/topics.jsonl")
        with Store(path) as store:
            store.add_documents(
                Document(f"t{topic}d{number}", "", "Text on wing flutter. " * 20)
                for topic in range(ADAPTIVE_TOPICS)
                for number in range(ADAPTIVE_DOCS)
            )
            add_account(store, "w0", password=PASSWORD)
        more = [word for run in range(20) for word in ("--runs", f"{place}/run{run}.run")]

        options = ["--topics", f"{place}/topics.jsonl", "--depth", "1000", "--method", "max-mean"]
        with Server(path, *options, *more) as server:
            assessor, times = Assessor(server.port, "w0"), []
            for _ in range(300):
                began = time.perf_counter()
                assessor.judge()
                times.append(time.perf_counter() - began)
        with Store(path) as store:
            assert store.pool_size() == ADAPTIVE_TOPICS * ADAPTIVE_DOCS, store.pool_size()
        return sorted(times)[int(0.95 * len(times))]


def first_document() -> float:
    from playwright.sync_api import sync_playwright

    from cranfield.building.serve.accounts import add_account
    from cranfield.building.serve.store import Store

    with folder() as place:
        path = f"{place}/judgments.db"
        with Store(path) as store:
            fill(store, 1_000, 0)
            add_account(store, "me", "organiser")
        times = []
        with Server(path) as server, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(server.address)
            for _ in range(10):
                began = time.perf_counter()
                page.goto(server.address, wait_until="commit")
                page.wait_for_selector("#document h1")
                with page.expect_response("**/api/judge") as answer:
                    page.keyboard.press("1")
                assert answer.value.ok
                times.append(time.perf_counter() - began)
            browser.close()
        return sorted(times)[5]


def status_of_many() -> float:
    from cranfield.building.serve.judging_status import status
    from cranfield.building.serve.store import Store

    with folder() as place:
        with Store(f"{place}/judgments.db") as store:
            fill(store, 10, 20)
        connection = sqlite3.connect(f"{place}/judgments.db")
        connection.executemany(
            "INSERT INTO pool (topic, doc, position, source, added_at, audit) VALUES ('1', ?, ?, 'pool', 0, '{}')",
            ((f"e{number}", number + 10) for number in range(MANY)),
        )
        connection.executemany(
            """INSERT INTO judgment (request, topic, doc, assessor, action, state, grade, reason, milliseconds,
            position, judged_at, purpose, counted)
            VALUES (?, '1', ?, ?, 'judge', 'graded', ?, '', 900, ?, ?, 'pool', 1)""",
            (
                (f"request-{number}", f"e{number}", f"w{number % 20}", number % 3, number // 20, float(number))
                for number in range(MANY)
            ),
        )
        connection.commit()
        connection.close()
        with Store(f"{place}/judgments.db") as store:
            began = time.perf_counter()
            state = status(store)
            seconds = time.perf_counter() - began
            assert state.counted == MANY
        return seconds


CONTESTANTS: dict[str, Callable[[], float]] = {
    BARE: bare,
    SERVED: served,
    **({POSTGRES: served_by_postgres} if postgres.programs() else {}),
    NEXT: next_document,
    FIRST: first_document,
    STATUS: status_of_many,
}
LIMITS = {NEXT: 0.02, FIRST: 0.3, STATUS: 1.0}
"""Time limits in seconds."""


def main(name: str) -> None:
    began = time.perf_counter()
    seconds = CONTESTANTS[name]()
    spent = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "with_imports": spent, "spent": spent, "peak": peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1])
