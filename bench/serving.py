"""Judging in the browser: judgments per second, the next document, the first document, and the status.

`python -m bench.serving NAME` runs one contestant in its own process, and prints seconds and bytes as JSON. Databases
are made in a temporary folder beside this file, because in a file system in memory a commit would cost nothing.
"""

from __future__ import annotations

import http.client
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
from urllib.parse import urlencode

from bench import postgres
from bench.assessors import PASSWORD, Assessor, judge_together
from bench.peers import peak_bytes

HERE = Path(__file__).parent
CLIENTS, JUDGMENTS = 8, 2_000
ADAPTIVE_TOPICS, ADAPTIVE_DOCS = 10, 10_000
"""Topics, and documents in the pool of each: 100,000 in all."""
MANY, MANY_TOPICS, MANY_PEOPLE = 1_000_000, 50, 20
CHROMIUM = "/usr/bin/chromium"

BARE = f"bare loop of SQLite commits, {JUDGMENTS:,}"
SERVED = f"judgments by HTTP from {CLIENTS} clients, {JUDGMENTS:,}"
POSTGRES = f"{SERVED}, into PostgreSQL"
NEXT = "judge and get the next document, adaptive pool of 100,000 (95th percentile)"
FIRST = "open the page, first document shown, key accepted (median of 10)"
STATUS = f"status of {MANY:,} judgments"
START = f"start with {MANY:,} judgments, until an assessor has a document"
ADAPTIVE_START = f"start with {MANY:,} judgments whose documents a policy chooses"
ORGANISE = f"page Organise with {MANY:,} judgments"
IMPORT = f"import of a log of {MANY:,} judgments"
LOG = f"download of a log of {MANY:,} judgments"


def folder() -> tempfile.TemporaryDirectory[str]:
    place = HERE / ".data"
    place.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir=place, prefix="serving-")


def bare() -> float:
    """Rows like ours into a table like ours, one commit each."""
    from cranfield.building.serve.project.store import Store

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
    from cranfield.building.serve.project.accounts import add_account
    from cranfield.building.serve.project.judging_modes import Document, PoolEntry
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
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        Server.peak = max(Server.peak, 1024 * int(found[1]))
        self.process.terminate()
        self.process.wait(20)

    peak = 0
    """The most bytes that a server had."""


def served() -> float:
    with folder() as place:
        return judged(f"{place}/judgments.db")


def served_by_postgres() -> float:
    with postgres.server(HERE / ".data") as url:
        return judged(url)


def judged(where: str) -> float:
    """Seconds for all judgments by HTTP, with the database at a path or URL."""
    from cranfield.building.serve.project.store import Store

    with Store(where) as store:
        fill(store, JUDGMENTS + 100 * CLIENTS, CLIENTS)
    with Server(where) as server:
        assessors = [Assessor(server.port, f"w{number}") for number in range(CLIENTS)]
        seconds = judge_together(assessors, JUDGMENTS)
    with Store(where) as store:
        assert store.database.read("SELECT COUNT(*) FROM judgment") == [(JUDGMENTS,)]
    return seconds


def next_document() -> float:
    from cranfield.building.serve.project.accounts import add_account
    from cranfield.building.serve.project.judging_modes import Document
    from cranfield.building.serve.project.store import Store
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

    from cranfield.building.serve.project.accounts import add_account
    from cranfield.building.serve.project.store import Store

    with folder() as place:
        path = f"{place}/judgments.db"
        with Store(path) as store:
            fill(store, 1_000, 0)
            add_account(store, "me", "organiser")
        times = []
        with Server(path) as server, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page()
            judged: list[bool] = []
            page.on("response", lambda answer: judged.append(answer.ok) if "/api/judge" in answer.url else None)
            page.goto(server.address)
            for _ in range(10):
                began = time.perf_counter()
                page.goto(server.address, wait_until="commit")
                page.wait_for_selector("#document h1")
                before = len(judged)
                while len(judged) == before:  # keys count when the document has been shown for a moment
                    page.keyboard.press("1")
                    page.wait_for_timeout(10)
                assert all(judged)
                times.append(time.perf_counter() - began)
            browser.close()
        return sorted(times)[5]


def make_many(path: str) -> None:
    """A project with a million judgments of 20 assessors, some of them changed later, and 1 % of the pool to judge."""
    from cranfield.building.serve.project.accounts import add_account
    from cranfield.building.serve.project.store import Store
    from cranfield.collection.topics import Topic, Topics

    each, open_each = MANY // MANY_TOPICS, MANY // MANY_TOPICS // 100
    with Store(path) as store:
        store.add_topics(Topics([Topic(str(topic), f"topic {topic}") for topic in range(MANY_TOPICS)]))
        for number in range(MANY_PEOPLE):
            add_account(store, f"w{number}", password=PASSWORD)
        add_account(store, "olga", "organiser", PASSWORD)
    connection = sqlite3.connect(path)
    docs = [(str(topic), f"clueweb-{topic:02d}-{doc:07d}") for topic in range(MANY_TOPICS) for doc in range(each)]
    more = [(str(topic), f"open-{topic:02d}-{doc:07d}") for topic in range(MANY_TOPICS) for doc in range(open_each)]
    connection.executemany(
        "INSERT INTO document (id, title, text, kind, extra) VALUES (?, '', 'Text on wing flutter.', 'text', '{}')",
        ((doc,) for _, doc in docs + more),
    )
    connection.executemany(
        "INSERT INTO pool (topic, doc, position, source, added_at, audit) VALUES (?, ?, ?, 'pool', 0, '{}')",
        ((*item, at) for at, item in enumerate(docs + more, 1)),
    )
    connection.executemany(
        """INSERT INTO offer (topic, doc, assessor, purpose, offered_at, expires_at, state)
        VALUES (?, ?, ?, 'pool', 0, 900, 'judged')""",
        ((*item, f"w{at % MANY_PEOPLE}") for at, item in enumerate(docs)),
    )
    statement = """INSERT INTO judgment (request, topic, doc, assessor, action, state, grade, reason, milliseconds,
        position, judged_at, purpose, counted, supersedes, offer)
        VALUES (?, ?, ?, ?, 'judge', 'graded', ?, '', 900, ?, ?, 'pool', 1, ?, ?)"""
    connection.executemany(
        statement,
        (
            (f"{at:032x}", *item, f"w{at % MANY_PEOPLE}", at % 3, at // MANY_PEOPLE, float(at), None, at + 1)
            for at, item in enumerate(docs)
        ),
    )
    connection.executemany(
        statement,
        (
            (f"again-{at:032x}", *docs[at], f"w{at % MANY_PEOPLE}", 1, MANY + at, float(MANY), at + 1, at + 1)
            for at in range(0, MANY, 200)
        ),
    )
    connection.commit()
    connection.close()


def of_many(measure: Callable[[str], float]) -> Callable[[], float]:
    """What a project with a million judgments takes; `measure` gets the path of its database."""

    def timed() -> float:
        with folder() as place:
            make_many(f"{place}/judgments.db")
            return measure(f"{place}/judgments.db")

    return timed


def started(path: str) -> float:
    began = time.perf_counter()
    with Server(path) as server:
        Assessor(server.port, "w0")
        return time.perf_counter() - began


def started_by_policy(path: str) -> float:
    """As `started`; 20 runs retrieved the documents, and a policy chooses the next one from them."""
    from cranfield.building.serve.project.store import Store

    each, runs = MANY // MANY_TOPICS, 20
    docs = [f"clueweb-{{topic:02d}}-{doc:07d}" for doc in range(each)]
    docs += [f"open-{{topic:02d}}-{doc:07d}" for doc in range(each // 100)]
    paths = [f"{path}.{run}.run" for run in range(runs)]
    for run, file in enumerate(paths):
        with open(file, "w") as out:
            for topic in range(MANY_TOPICS):
                for rank, doc in enumerate(docs[run::runs], 1):
                    out.write(f"{topic} Q0 {doc.format(topic=topic)} {rank} {-rank} run{run}\n")
    with Store(path) as store:
        store.keep_fact("adaptive", json.dumps({"runs": paths, "method": "max-mean", "depth": 2 * each // runs}))
    return started(path)


def organised(path: str) -> float:
    return fetched(path, "/organise", b"</html>")


def log_downloaded(path: str) -> float:
    return fetched(path, "/organise/export/log", b"\n")


def fetched(path: str, page: str, words: bytes) -> float:
    """Seconds until a page is there for the first time."""
    with Server(path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
        form = urlencode({"name": "olga", "password": PASSWORD})
        connection.request("POST", "/login", form, {"content-type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        answer.read()
        began, found, size = time.perf_counter(), False, 0
        connection.request("GET", page, headers={"cookie": answer.headers["set-cookie"].partition(";")[0]})
        answer = connection.getresponse()
        while data := answer.read(1 << 20):
            found, size = found or words in data, size + len(data)
        assert (answer.status, found) == (200, True), (answer.status, size)
        return time.perf_counter() - began


def imported(path: str) -> float:
    """Seconds to import its log into a project that has only topics."""
    log, other = f"{path}.jsonl", f"{path}.other.db"
    command = [sys.executable, "-m", "cranfield", "judge"]
    subprocess.run([*command, "export", path, "log", "-o", log], check=True)
    from cranfield.building.serve.project.store import Store

    with Store(path) as store, Store(other) as empty:
        empty.add_topics(store.topics())
    began = time.perf_counter()
    subprocess.run([*command, "import", other, log], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def status_of_many(path: str) -> float:
    from cranfield.building.serve.project.judging_status import status
    from cranfield.building.serve.project.store import Store

    with Store(path) as store:
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
    STATUS: of_many(status_of_many),
    START: of_many(started),
    ADAPTIVE_START: of_many(started_by_policy),
    ORGANISE: of_many(organised),
    IMPORT: of_many(imported),
    LOG: of_many(log_downloaded),
}
LIMITS = {NEXT: 0.02, FIRST: 0.55, STATUS: 1.0, START: 3.0, ADAPTIVE_START: 3.0, ORGANISE: 1.0, IMPORT: MANY / 50_000}
"""Time limits in seconds; in the first quarter of a second after a document is shown, no key counts."""
MEGABYTES = {START: 300, ADAPTIVE_START: 350, ORGANISE: 300, LOG: 300}
"""Limits of the memory of the server, in megabytes; a policy also holds the lists of the runs."""


def main(name: str) -> None:
    began = time.perf_counter()
    seconds = CONTESTANTS[name]()
    spent = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "with_imports": spent, "spent": spent, "peak": Server.peak or peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1])
