"""Assessors for the benchmarks of the judging server: one thread, raw sockets, bytes that are made before.

Each assessor has a connection of its own, and sends a judgment only after the one before was confirmed.
"""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Sequence

PASSWORD = "a long password"
_OPEN = re.compile(rb'"open":\[([0-9,]*)\]')


class Assessor:
    """An assessor who speaks HTTP over one connection."""

    def __init__(self, port: int, name: str) -> None:
        self.socket, self.port = _connected(port), port
        self.name, self.number, self.rest = name, 0, b""
        form = f"name={name}&password={PASSWORD.replace(' ', '+')}".encode()
        head, _ = self.call("POST", "/login", form, "content-type: application/x-www-form-urlencoded\r\n")
        cookie = re.search(r"set-cookie: ([^;]+)", head)
        assert cookie, head
        _, page = self.call("GET", "/judge", b"", f"cookie: {cookie[1]}\r\n")
        state = json.loads(page.split('id="state">')[1].split("</script>")[0])
        self.open = ",".join(map(str, state["open"])).encode()
        self.head = (
            f"POST /api/judge HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\norigin: http://127.0.0.1:{port}\r\n"
            f"sec-fetch-site: same-origin\r\naccept: */*\r\nuser-agent: bench\r\ncookie: {cookie[1]}\r\n"
            f"content-type: application/json\r\nx-csrf-token: {state['csrf']}\r\ncontent-length: "
        ).encode()

    def call(self, method: str, path: str, body: bytes, headers: str) -> tuple[str, str]:
        """Send a request, and wait for the head and body of its answer."""
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        )
        self.socket.sendall(head.encode() + body)
        while (answer := self.receive()) is None:
            pass
        return answer[0].decode(), answer[1].decode()

    def receive(self) -> tuple[bytes, bytes] | None:
        """The head and body of an answer, if it is complete."""
        data = self.socket.recv(1 << 18)
        assert data, "the server has closed the connection"
        self.rest += data
        end = self.rest.find(b"\r\n\r\n")
        if end < 0:
            return None
        at = self.rest.find(b"content-length: ", 0, end)
        length = int(self.rest[at + 16 : self.rest.find(b"\r", at)]) if at >= 0 else 0
        if len(self.rest) < end + 4 + length:
            return None
        head, body, self.rest = self.rest[:end], self.rest[end + 4 : end + 4 + length], self.rest[end + 4 + length :]
        return head, body

    def send_judgment(self) -> None:
        """Judge the first document that is open, and do not wait for the answer."""
        self.number += 1
        body = b'{"request":"%s-request-%d","offer":%s,"grade":%d,"milliseconds":5,"have":[%s]}' % (
            self.name.encode(), self.number, self.open.partition(b",")[0], self.number % 2, self.open,
        )  # fmt: skip
        self.socket.send(self.head + b"%d\r\n\r\n" % len(body) + body)

    def confirmed(self) -> bool:
        """Read what has come; is the judgment confirmed?"""
        answer = self.receive()
        if answer is None:
            return False
        assert answer[0].startswith(b"HTTP/1.1 200"), answer
        found = _OPEN.search(answer[1])
        assert found, answer
        self.open = found[1]
        return True

    def judge(self) -> None:
        """Judge a document, and wait until that is confirmed."""
        self.send_judgment()
        while not self.confirmed():
            pass


def judge_together(assessors: Sequence[Assessor], judgments: int) -> float:
    """Seconds that the assessors need for all of these judgments, at the same time."""
    poll = select.poll()
    by_socket = {assessor.socket.fileno(): assessor for assessor in assessors}
    for number in by_socket:
        poll.register(number, select.POLLIN)
    began = time.perf_counter()
    for assessor in assessors:
        assessor.send_judgment()
    left, busy = judgments - len(assessors), len(assessors)
    while busy:
        for number, _ in poll.poll():
            if by_socket[number].confirmed():
                if left:
                    left -= 1
                    by_socket[number].send_judgment()
                else:
                    busy -= 1
    return time.perf_counter() - began


def _connected(port: int) -> socket.socket:
    for _ in range(100):
        try:
            made = socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.05)
            continue
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    raise AssertionError("the server does not answer")
