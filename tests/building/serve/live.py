"""A real server in a process of its own, and clients that talk HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.judging_modes import Document, PoolEntry
from cranfield.building.serve.project.store import Store
from cranfield.collection.topics import Topic, Topics
from tests.building.serve.working import new_request

PASSWORD = "a long password"


def make_project(path: str, *, docs: int, people: int, **settings: Any) -> None:
    """A project with accounts `w0`, `w1`, ... and an organiser. Documents are offered in the order of the pool."""
    with Store(path) as store:
        store.add_topics(Topics([Topic("1", "wing flutter"), Topic("2", "boundary layer")]))
        store.add_pool(PoolEntry(topic, f"d{i}", {"run": "secret-run"}) for topic in "12" for i in range(docs // 2))
        store.add_documents(
            Document(f"d{i}", f"Title {i}", f"Text {i} on wing flutter.") for i in range(min(docs, 200))
        )
        store.set_settings(store.settings().changed(**{"order": "pool"} | settings))
        for number in range(people):
            add_account(store, f"w{number}", password=PASSWORD)
        add_account(store, "olga", "organiser", PASSWORD)


class Server:
    """`cranfield judge serve` in a process of its own, or `cranfield campaign serve`."""

    def __init__(
        self,
        path: str,
        *,
        port: int = 0,
        more: tuple[str, ...] = (),
        group: str = "judge",
        few_files: tuple[int, int] | None = None,
    ) -> None:
        self.path = path
        self.log = Path(os.devnull if "://" in path else f"{path}.log")
        command = [
            sys.executable,
            "-m",
            "cranfield",
            group,
            "serve",
            path,
            "--no-browser",
            "--port",
            str(port),
            *more,
        ]
        with self.log.open("w") as log:
            limit = None if few_files is None else partial(resource.setrlimit, resource.RLIMIT_NOFILE, few_files)
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=limit)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"(https?)://([^/]+):(\d+)/(\S*)", line)
        assert found, (line, self.log.read_text())
        self.address, self.port, self.base = found[0], int(found[3]), f"{found[1]}://{found[2]}:{found[3]}"
        for _ in range(200):
            try:
                http.client.HTTPConnection("127.0.0.1", self.port, timeout=5).connect()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """As a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Worker:
    """An assessor without a browser, as fast as the connection."""

    def __init__(self, port: int, name: str, cookie: str = "") -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.name = name
        token = (cookie or self.log_in()).partition("=")[2]
        self.cookie = f"cranfield_session_{port}={token}"  # the server may have been on another port before
        page = self.call("GET", "/judge")
        found = re.search(r'id="state">(.*?)</script>', page, re.DOTALL)
        assert found, page[:500]
        state = json.loads(found[1])
        self.csrf: str = state["csrf"]
        self.open: list[int] = state["open"]

    def log_in(self) -> str:
        body = urlencode({"name": self.name, "password": PASSWORD})
        headers = {"content-type": "application/x-www-form-urlencoded"}
        self.connection.request("POST", "/login", body, headers)
        answer = self.connection.getresponse()
        answer.read()
        assert answer.status == 303, answer.status
        return answer.headers["set-cookie"].partition(";")[0]

    def call(self, method: str, path: str, body: Any = None) -> str:
        headers = {"cookie": self.cookie}
        if body is not None:
            headers |= {"content-type": "application/json", "x-csrf-token": self.csrf}
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise ConnectionError(f"{answer.status}: {text[:200]}")
        return text

    def judge(self, grade: float = 1, request: str | None = None, offer: int | None = None) -> dict[str, Any]:
        body = {"request": request or new_request(), "offer": offer or self.open[0], "grade": grade, "milliseconds": 5}
        answer: dict[str, Any] = json.loads(self.call("POST", "/api/judge", {**body, "have": self.open}))
        self.open = answer["open"]
        return answer
