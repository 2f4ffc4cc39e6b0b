"""A real HTTP server on the loopback address that stands for the endpoint of a language model, well-behaved or not."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler, str, int], None]
"""Answers a request, given the document in its prompt and how often that was asked before."""


def completion(content: str | None, **more: Any) -> bytes:
    """The body of a chat completion."""
    message = {"role": "assistant", "content": content, **more}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def grade_of(doc: str) -> int:
    """The grade that the well-behaved server gives: the last digit of the document, modulo 4."""
    return int(doc[-1]) % 4


def well(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
    send(handler, 200, completion(json.dumps({"grade": grade_of(doc)})))


class ChatServer(ThreadingHTTPServer):
    """A server that counts requests by document and keeps their headers and bodies."""

    daemon_threads = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.open = self.most_open = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hung up."""


class Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        doc = re.findall(r"text of (\w+)", body["messages"][0]["content"])[-1]
        with server.lock:
            before = server.asked[doc]
            server.asked[doc] += 1
            server.headers.append(dict(self.headers))
            server.bodies.append({"path": self.path, **body})
            server.times.append(time.monotonic())
            server.open += 1
            server.most_open = max(server.most_open, server.open)
        try:
            server.reply(self, doc, before)
        finally:
            with server.lock:
                server.open -= 1

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(reply: Reply = well) -> Iterator[ChatServer]:
    server = ChatServer(reply)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
