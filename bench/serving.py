"""Judging in the browser: judgments per second, the next document, the first document, and the status.

`python -m bench.serving NAME` runs one contestant in its own process, and prints seconds and bytes as JSON. Databases
are made in a temporary folder beside this file, because in a file system in memory a commit would cost nothing.
"""

from __future__ import annotations

import asyncio
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

from bench.peers import peak_bytes

HERE = Path(__file__).parent
CLIENTS, JUDGMENTS = 8, 2_000
ADAPTIVE_TOPICS, ADAPTIVE_DOCS = 10, 10_000
"""Topics, and documents in the pool of each: 100,000 in all."""
MANY = 1_000_000
PASSWORD = "a long password"
CHROMIUM = "/usr/bin/chromium"

BARE = f"bare loop of SQLite commits, {JUDGMENTS:,}"
SERVED = f"judgments by HTTP from {CLIENTS} clients, {JUDGMENTS:,}"
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
    from cranfield.building.serve.store import Document, PoolEntry
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


class Client:
    """An assessor who speaks HTTP over one connection."""

    async def start(self, port: int, name: str) -> Client:
        for _ in range(100):
            try:
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
                break
            except OSError:
                await asyncio.sleep(0.05)
        form = f"name={name}&password={PASSWORD.replace(' ', '+')}".encode()
        head, _ = await self.call("POST", "/login", form, "content-type: application/x-www-form-urlencoded\r\n")
        found = re.search(r"set-cookie: ([^;]+)", head)
        assert found, head
        self.cookie = f"cookie: {found[1]}\r\n"
        _, page = await self.call("GET", "/judge", b"", self.cookie)
        state = json.loads(page.split('id="state">')[1].split("</script>")[0])
        self.headers = f"{self.cookie}content-type: application/json\r\nx-csrf-token: {state['csrf']}\r\n"
        self.open = state["open"]
        self.name, self.number = name, 0
        return self

    async def call(self, method: str, path: str, body: bytes, headers: str) -> tuple[str, str]:
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        self.writer.write(head.encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", answer)
        text = await self.reader.readexactly(int(length[1])) if length else b""
        return answer, text.decode()

    async def judge(self) -> None:
        self.number += 1
        body = {
            "request": f"{self.name}-request-{self.number}", "offer": self.open[0], "grade": self.number % 2,
            "milliseconds": 5, "have": self.open,
        }  # fmt: skip
        head, text = await self.call("POST", "/api/judge", json.dumps(body).encode(), self.headers)
        assert " 200 " in head.partition("\r\n")[0], text
        self.open = json.loads(text)["open"]


def served() -> float:
    from cranfield.building.serve.store import Store

    with folder() as place:
        path = f"{place}/judgments.db"
        with Store(path) as store:
            fill(store, JUDGMENTS + 100 * CLIENTS, CLIENTS)

        async def work(client: Client, left: list[int]) -> None:
            while left:
                left.pop()
                await client.judge()

        async def run(port: int) -> float:
            clients = [await Client().start(port, f"w{number}") for number in range(CLIENTS)]
            left = list(range(JUDGMENTS))
            began = time.perf_counter()
            await asyncio.gather(*(work(client, left) for client in clients))
            return time.perf_counter() - began

        with Server(path) as server:
            seconds = asyncio.run(run(server.port))
        with Store(path) as store:
            assert store.database.read("SELECT COUNT(*) FROM judgment") == [(JUDGMENTS,)]
        return seconds


def next_document() -> float:
    from cranfield.building.serve.accounts import add_account
    from cranfield.building.serve.store import Document, Store
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

        async def run_client(port: int) -> list[float]:
            client = await Client().start(port, "w0")
            times = []
            for _ in range(300):
                began = time.perf_counter()
                await client.judge()
                times.append(time.perf_counter() - began)
            return times

        options = ["--topics", f"{place}/topics.jsonl", "--depth", "1000", "--method", "max-mean"]
        with Server(path, *options, *more) as server:
            times = asyncio.run(run_client(server.port))
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
