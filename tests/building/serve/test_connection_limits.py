"""Others cannot keep the server waiting for long, nor keep everybody else out."""

from __future__ import annotations

import asyncio
import http.client
import resource
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from cranfield.building.serve.web.limits import LimitedConnection, LimitedServer, Limits, limits_here
from cranfield.building.serve.web.serving import bound, listening_at
from tests.building.serve.live import Server, make_project

SHORT = Limits(connections=20, header=0.3, body=0.6, idle=0.2, rest=0.2, rate=100_000)
LONG = Limits(connections=20, header=1000, body=1000, idle=1000, rest=1000)
HALF = {
    "nothing": b"",
    "half a header": b"GET /size HTTP/1.1\r\nHost: loc",
    "half a body": b"POST /size HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nname=",
    "half a piece": b"POST /size HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "the rest of a body": b"POST /early HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nname=",
}
"""What a request that does not go on begins with."""
MAY_READ = threading.Event()


async def size(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def early(request: Request) -> Response:
    return PlainTextResponse("an answer before the body")


async def later(request: Request) -> Response:
    """Begins to read its body when it may: until then uvicorn stops the connection."""
    await asyncio.to_thread(MAY_READ.wait)
    return await size(request)


async def large(request: Request) -> Response:
    return PlainTextResponse("x" * 50_000_000)


@contextmanager
def serving(limits: Limits) -> Iterator[int]:
    """A server with these limits; its port."""
    with running(limits) as (port, _):
        yield port


@contextmanager
def running(limits: Limits, **more: Any) -> Iterator[tuple[int, set[LimitedConnection]]]:
    """A server with these limits; its port, and its connections."""
    routes = [Route("/size", size, methods=["GET", "POST"]), Route("/early", early, methods=["POST"])]
    app: Any = Starlette(routes=[*routes, Route("/large", large), Route("/later", later, methods=["POST"])])
    server = LimitedServer(uvicorn.Config(app, log_level="error", lifespan="off", ws="none", **more), limits)
    listening = bound(listening_at(port=0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1], server.server_state.connections  # type: ignore[misc]
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        listening.close()


def connected(port: int, sent: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.sendall(sent)
    return made


def rest(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection; an error if it does not."""
    out = b""
    try:
        while data := connection.recv(65536):
            out += data
    except ConnectionResetError:
        pass
    return out


def sent_until_closed(connection: socket.socket, data: bytes, times: int, pause: float = 0.0) -> int:
    """How often something can be sent before the server closes the connection."""
    for done in range(times):
        try:
            connection.sendall(data)
        except OSError:
            return done
        time.sleep(pause)
    return times


def until(condition: Callable[[], object]) -> None:
    """Wait until something has happened."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen in 30 s")


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/size", b"x" * 100_000)
    answer = connection.getresponse().read() == b"100000"
    connection.close()
    return answer


@pytest.fixture(scope="module")
def impatient() -> Iterator[int]:
    with serving(SHORT) as port:
        yield port


@pytest.mark.parametrize("sent", HALF)
def test_a_request_that_does_not_go_on_is_ended(impatient: int, sent: str) -> None:
    with connected(impatient, HALF[sent]) as connection:
        said = rest(connection)
    assert said.startswith(b"HTTP/1.1 200" if sent == "the rest of a body" else b"HTTP/1.1 408"), said


@pytest.mark.parametrize("drop", [b"\r\n", b"a"])
def test_single_bytes_do_not_keep_a_connection_open(impatient: int, drop: bytes) -> None:
    """Empty lines before a request, or a header letter by letter."""
    with connected(impatient, b"GET /size HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
        assert connection.recv(65536)
        assert sent_until_closed(connection, drop, 600, pause=0.05) < 600


def test_an_answer_that_nobody_reads_is_ended() -> None:
    with running(SHORT) as (port, connections), socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", port))
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1)
        until(lambda: not connections)
        assert len(rest(connection)) < 50_000_000


def test_a_slow_body_has_a_second_for_every_rate_of_bytes() -> None:
    with running(LONG) as (port, connections), connected(port) as connection:
        connection.sendall(b"POST /size HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n" + b"x" * 40_000)
        until(lambda: connections and next(iter(connections)).body_bytes == 40_000)
        [one] = connections
        deadline = one.since + LONG.body + 10
        for now, closed in ((deadline - 1, False), (deadline + 1, True)):
            done = threading.Event()
            one.loop.call_soon_threadsafe(lambda now=now, done=done: (one.end_if_late(now), done.set()))
            assert done.wait(30)
            assert one.transport.is_closing() == closed
        assert rest(connection).startswith(b"HTTP/1.1 408")


def test_a_body_that_the_server_paused_goes_on() -> None:
    with running(LONG) as (port, connections), connected(port) as connection:
        connection.sendall(b"POST /later HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        until(lambda: any(one.in_body for one in connections))
        [one] = connections
        while not one.flow.read_paused:
            before = one.body_bytes
            connection.sendall(b"x" * 4000)
            until(lambda before=before: one.body_bytes == before + 4000)
        sent = one.body_bytes
        done = threading.Event()
        one.loop.call_soon_threadsafe(lambda: (one.end_if_late(one.loop.time() + 2000), done.set()))
        assert done.wait(30)
        MAY_READ.set()
        until(lambda: not one.flow.read_paused)
        connection.sendall(b"x" * 10)
        until(lambda: one.body_bytes == 10)
        connection.sendall(b"x" * (99_990 - sent))
        assert connection.recv(65536).endswith(b"100000")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /size HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"GET /",
        b"POST /size HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: ",
        b"POST /size HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
)
def test_endless_headers_addresses_and_trailers_are_ended(sent: bytes) -> None:
    with serving(LONG) as port, connected(port, sent) as connection:
        sent_bytes = 10_000 * sent_until_closed(connection, b"x" * 10_000, 10_000)
        assert sent_bytes < 50_000_000  # what the buffers of two sockets hold, not what a memory holds
        assert answers(port)


@pytest.mark.parametrize("sent", HALF)
def test_connections_that_send_nothing_make_room_for_new_ones(sent: str) -> None:
    """Before any limit of time ends them."""
    with serving(LONG) as port:
        held = [connected(port, HALF[sent]) for _ in range(3 * LONG.connections)]
        assert answers(port)
        open_ones = 0
        for one in held:
            one.settimeout(0.02)
            try:
                rest(one)
            except TimeoutError:
                open_ones += 1
            one.close()
        assert open_ones <= LONG.connections


def test_a_request_in_work_keeps_its_place() -> None:
    """A body that comes now is worth more than a connection without a request."""
    with serving(LONG) as port, connected(port) as busy:
        busy.sendall(b"POST /size HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabcde")
        held = [connected(port, HALF["half a header"]) for _ in range(3 * LONG.connections)]
        assert answers(port)
        busy.sendall(b"fghij")
        assert b"\r\n\r\n10" in busy.recv(65536)
        for one in held:
            one.close()


def test_300_half_open_connections_do_not_keep_others_out_at_256_descriptors(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    path = str(tmp_path / "judgments.db")
    make_project(path, docs=4, people=0)
    few = (256, 256)
    with Server(path, few_files=few) as server:
        for sent in ("nothing", "half a header", "half a body"):
            held = [connected(server.port, HALF[sent].replace(b"/size", b"/login")) for _ in range(300)]
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            connection.request("GET", "/login")
            assert connection.getresponse().status == 200
            connection.close()
            for one in held:
                one.close()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_there_are_fewer_connections_than_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: asked.append(limit))
    for now, most, connections in [
        (1024, 4096, 500), (256, 4096, 500), (256, 256, 96), (64, 64, 16), (256, resource.RLIM_INFINITY, 500),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 500),
    ]:  # fmt: skip
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=(now, most): limit)
        assert limits_here().connections == connections
    assert asked == [(660, 4096), (256, 256), (64, 64), (660, resource.RLIM_INFINITY)]


def test_connections_that_do_not_begin_to_speak_tls_make_room_too(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate can be made")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with running(LONG, ssl_certfile=certificate, ssl_keyfile=key) as (port, connections):
        held = [connected(port, sent) for sent in (b"", b"\x16\x03\x01\x02") for _ in range(2 * LONG.connections)]
        context = ssl.create_default_context(cafile=certificate)
        connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=context)
        connection.request("GET", "/size")
        assert connection.getresponse().read() == b"0"
        assert len(connections) <= LONG.connections
        connection.close()
        for one in held:
            one.close()
