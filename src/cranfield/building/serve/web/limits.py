"""How long and how often others may keep the server waiting, and try a password.

uvicorn closes a connection that is quiet after an answer, and nothing else. So a few hundred connections that send half
a request, or do not read their answer, would use up the descriptors of the process. Here every connection has a limit
for each thing that it may wait for, looked at twice a second; and when all connections are in use, a new one takes the
place of one that lets the server wait, from the address that has most of them.

uvicorn also writes the head and the body of an answer one after the other, so that every answer wakes the other side
twice. On one machine that costs as much time as everything else that a judgment needs; here they are one packet.

A try of a password counts before it is checked, so that tries at the same time count too. Three numbers are kept of
wrong passwords. One name from one address waits twice as long with every further one; this stops a guesser, and nobody
else. One name from all addresses, and one address with all names, may have many more, and wait only for seconds,
because the right person may be behind the same address, or wait at home for a guesser elsewhere. A browser with which a
person has logged in before is counted by itself: no guesser can make it wait.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Key = tuple[str, ...]
"""What is counted: a kind, and whose tries these are."""
FORGET = 3600.0
"""Seconds without a wrong password after which the ones before are forgotten."""


@dataclass(frozen=True)
class Patience:
    """How many wrong passwords are free, and how many seconds the next tries wait: twice as long with each."""

    free: int
    first: float
    longest: float

    def wait(self, tries: int) -> float:
        """Seconds between a try and the next, after this number of tries.

        >>> [Patience(2, 1.0, 3.0).wait(tries) for tries in range(6)]
        [0.0, 0.0, 1.0, 2.0, 3.0, 3.0]
        """
        return min(self.first * 2.0 ** min(tries - self.free, 30), self.longest) if tries >= self.free else 0.0


ONE_GUESSER = Patience(5, 2.0, 900.0)
MANY_PEOPLE = Patience(100, 1.0, 30.0)
"""For numbers that many people share: a class that logs in at the same time is not an attack."""
KINDS = {"name at address": ONE_GUESSER, "browser": ONE_GUESSER, "own password": ONE_GUESSER, "name": MANY_PEOPLE,
         "address": MANY_PEOPLE, "join code": MANY_PEOPLE}  # fmt: skip
"""{kind: patience}."""


def login_keys(name: str, host: str, browser: str | None) -> tuple[Key, ...]:
    """What a try to log in counts for. `browser` is the number of one with which this person has logged in before."""
    if browser is not None:
        return (("browser", name, browser),)
    address = network(host)
    return (("name at address", name, address), ("name", name), ("address", address))


def network(host: str) -> str:
    """The network of an address, as far as one household or company has all of it.

    >>> network("192.0.2.7"), network("2001:db8::1:2:3"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))


class LoginLimit:
    """Counts tries, and says how long to wait.

    >>> limit = LoginLimit(lambda: 0.0)
    >>> [limit.take(("browser", "anna")) for _ in range(7)]
    [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0]
    """

    MOST = 10_000
    """Keys that are remembered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: dict[Key, tuple[int, float]] = {}
        """{key: how many tries, and when the last was}, the oldest first."""
        self._lock = threading.Lock()

    def take(self, *keys: Key) -> float:
        """Count a try: 0.0 if it may be made, else the seconds to wait, and then it does not count."""
        with self._lock:
            now = self._clock()
            wait = max(last + KINDS[key[0]].wait(tries) - now for key, (tries, last) in self._of(keys, now))
            if wait > 0:
                return wait
            for key, (tries, _) in self._of(keys, now):
                self._tries.pop(key, None)
                self._tries[key] = tries + 1, now
            while len(self._tries) > self.MOST:
                del self._tries[next(iter(self._tries))]
            return 0.0

    def right(self, *keys: Key) -> None:
        """The try was right: it no longer counts, and one guesser is none."""
        with self._lock:
            for key, (tries, last) in self._of(keys, self._clock()):
                if KINDS[key[0]] is ONE_GUESSER or tries <= 1:
                    self._tries.pop(key, None)
                else:
                    self._tries[key] = tries - 1, last

    def _of(self, keys: tuple[Key, ...], now: float) -> list[tuple[Key, tuple[int, float]]]:
        """The tries of each key."""
        known = [(key, self._tries.get(key, (0, now))) for key in keys]
        return [(key, (0, now) if now - last > FORGET else (tries, last)) for key, (tries, last) in known]


LOG = logging.getLogger("cranfield.serve")
HEAD = b"HTTP/1."
TICKS = 5
"""The time between two looks at all connections, in tenths of a second."""
RESERVED = 160
"""Descriptors that are not for connections: files, and the connections to the database of 40 threads."""
CHUNKED = 12
"""Bytes that may come with a byte of the body: one that comes in pieces has a line before and after each piece."""
OFTEN = 60.0
"""Seconds between two warnings that all connections are in use."""


@dataclass(frozen=True)
class Limits:
    """Limits of a connection, in seconds and bytes, and the most connections."""

    connections: int = 500
    header: float = 10.0
    """From the beginning of a connection, or the last answer, to the end of the next header."""
    header_bytes: int = 65_536
    idle: float = 5.0
    """Without a byte after an answer."""
    body: float = 30.0
    """Without the body, or without reading the answer; every `rate` bytes give a second more."""
    rate: float = 4_000.0
    rest: float = 5.0
    """For a body that nobody wants any more, because the request has been answered."""


def limits_here() -> Limits:
    """The limits, with as many connections as the process may have descriptors."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return Limits()
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = Limits.connections + RESERVED
    if now != resource.RLIM_INFINITY and now < wanted:
        now = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
        return Limits(connections=max(now - RESERVED, now // 4))
    return Limits()


class JoinedTransport:
    """A connection that keeps the head of an answer back until the body comes, or the event loop has nothing else."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""
        self.written = 0
        """Bytes that were given to the connection."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write bytes, after those that are kept back; nothing on a connection that is closed."""
        if self._transport.is_closing():
            return
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(HEAD):
            self._head = data
            self._loop.call_soon(self.flush)
            return
        self.written += len(data)
        self._transport.write(data)

    def flush(self) -> None:
        """Write what is kept back."""
        if self._head and not self._transport.is_closing():
            data, self._head = self._head, b""
            self.written += len(data)
            self._transport.write(data)

    def close(self) -> None:
        """Write what is kept back, and close the connection."""
        self.flush()
        self._transport.close()


class LimitedConnection(HttpToolsProtocol):
    """The HTTP protocol of uvicorn, with limits, and with the head and the body of an answer in one packet."""

    transport: JoinedTransport  # type: ignore[assignment]

    def __init__(self, *args: Any, limits: Limits, **more: Any) -> None:
        super().__init__(*args, **more)
        self.limits = limits
        self.since = 0.0
        """When it began to wait for what it waits for."""
        self.in_body = False
        """Has a header been read, and its body not yet?"""
        self.unanswered = 0
        """Requests that have no complete answer."""
        self.bytes = self.body_bytes = 0
        """Bytes since the header or the body began, and those of them that belong to the body."""
        self.sending: tuple[float, int] | None = None
        """Since when something is there to send, and the bytes that had been sent then."""

    @property
    def waits(self) -> bool:
        """Does the server wait for the other side?"""
        return (self.in_body or not self.unanswered) and not self.transport.is_closing()

    @property
    def address(self) -> str:
        """Who is at the other side."""
        return network(self.client[0]) if self.client else ""

    # ---- what happens on the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedTransport(transport, self.loop))  # type: ignore[arg-type]
        self.since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        super().data_received(data)
        if self.bytes > self.limits.header_bytes + CHUNKED * self.body_bytes:
            self._refuse("431 Request Header Fields Too Large", "The header of the request is too long.")

    def on_headers_complete(self) -> None:
        self.in_body, self.since, self.bytes, self.body_bytes = True, self.loop.time(), 0, 0
        self.unanswered += 1
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.in_body, self.bytes, self.body_bytes = False, 0, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.unanswered -= 1
        self.since = self.loop.time()
        super().on_response_complete()

    # ---- limits

    def end_if_late(self, now: float) -> None:
        """Close the connection if the other side has let the server wait for too long."""
        if self._reads_too_slowly(now):
            self.transport.abort()
        elif not self.waits:
            return
        elif self.in_body and not self.unanswered:
            if now > self.since + self.limits.rest:
                self.transport.abort()
        elif self.in_body and self.flow.read_paused:  # it is the server that does not read
            self.since, self.bytes, self.body_bytes = now, 0, 0
        elif now > self.since + (
            self.limits.body + self.body_bytes / self.limits.rate if self.in_body else self.limits.header
        ):
            self._refuse("408 Request Timeout", "The request did not come in time.")

    def _reads_too_slowly(self, now: float) -> bool:
        left: int = self.transport.get_write_buffer_size()
        if not left:
            self.sending = None
            return False
        sent = self.transport.written - left
        if self.sending is None:
            self.sending = now, sent
        began, before = self.sending
        if now - began <= self.limits.body:
            return False
        self.sending = now, sent
        return sent - before < (now - began) * self.limits.rate

    def end(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _refuse(self, status: str, message: str) -> None:
        """Say why, if no answer has begun, and close the connection."""
        if self.transport.is_closing():
            return
        if not self.unanswered or not self.cycle.response_started:
            lines = (f"HTTP/1.1 {status}", "content-type: text/plain; charset=utf-8",
                     f"content-length: {len(message)}", "connection: close", "", message)  # fmt: skip
            self.transport.write("\r\n".join(lines).encode())
        self.transport.close()


class Beginning:
    """A connection whose two sides have not yet agreed on keys, so that it has no request to answer."""

    in_body = False

    def __init__(self, accepted: socket.socket, address: str, since: float) -> None:
        self.accepted = accepted
        self.address = address
        self.since = since
        self.waits = True

    def end(self) -> None:
        """End the connection: the event loop, which has the socket now, sees that nothing can come any more."""
        self.waits = False
        with suppress(OSError):
            self.accepted.shutdown(socket.SHUT_RDWR)


class Door:
    """Takes in connections, so that none is open that is not counted. A part of a server, as uvicorn expects it."""

    def __init__(self, listening: socket.socket, server: LimitedServer) -> None:
        self.listening = listening
        self.server = server
        self.beginning: set[Beginning] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        listening.setblocking(False)
        self.loop = asyncio.get_running_loop()
        self.task = self.loop.create_task(self._take())

    async def _take(self) -> None:
        while True:
            try:
                accepted, peer = await self.loop.sock_accept(self.listening)
            except OSError:  # the other side has left, or there are no descriptors for the moment
                await asyncio.sleep(0.05)
                continue
            full = len(self.beginning) + len(self.server.server_state.connections) >= self.server.limits.connections
            if full and not self._make_room():
                accepted.close()
                continue
            beginning = Beginning(accepted, network(peer[0]), self.loop.time())
            self.beginning.add(beginning)
            task = self.loop.create_task(self._begin(beginning))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _begin(self, beginning: Beginning) -> None:
        context: ssl.SSLContext | None = self.server.config.ssl
        seconds = None if context is None else self.server.limits.header
        try:
            await self.loop.connect_accepted_socket(
                self.server.connection, beginning.accepted, ssl=context, ssl_handshake_timeout=seconds
            )
        except (OSError, TimeoutError):  # the other side left, waits, or does not speak TLS
            pass
        finally:
            self.beginning.discard(beginning)

    def _make_room(self) -> bool:
        """Close a connection that lets the server wait; False if there is none."""
        every: list[Beginning | LimitedConnection] = [*self.beginning, *self.server.open_ones()]
        waiting = [connection for connection in every if connection.waits]
        if not waiting:
            return False
        [(address, _)] = Counter(connection.address for connection in waiting).most_common(1)
        victim = min(
            (connection for connection in waiting if connection.address == address),
            key=lambda connection: (connection.in_body, connection.since),
        )
        victim.end()
        return True

    def close(self) -> None:
        """Take in no more."""
        self.task.cancel()

    async def wait_closed(self) -> None:
        """Wait until it is closed."""


class LimitedServer(uvicorn.Server):
    """The server of uvicorn, with limits."""

    def __init__(
        self, config: uvicorn.Config, limits: Limits | None = None, *, every_second: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(config)
        self.every_second = every_second
        self.limits = limits or limits_here()
        config.timeout_keep_alive = self.limits.idle  # type: ignore[assignment]
        self.connection = partial(
            LimitedConnection, config=config, server_state=self.server_state, app_state={}, limits=self.limits
        )
        self.doors: list[Door] = []
        self._warned = -OFTEN

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.doors = [Door(listening, self) for listening in sockets or ()]
        self.servers = list(self.doors)  # type: ignore[arg-type]
        self.started = True

    def open_ones(self) -> list[LimitedConnection]:
        """The connections on which there can be requests."""
        return [connection for connection in self.server_state.connections if isinstance(connection, LimitedConnection)]

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS == 0:
            self._look(asyncio.get_running_loop().time())
        if counter % 10 == 0:
            self.every_second()
        return await super().on_tick(counter)

    def _look(self, now: float) -> None:
        """Close connections that are late, and say if all are in use."""
        for connection in self.open_ones():
            connection.end_if_late(now)
        number = len(self.server_state.connections) + sum(len(door.beginning) for door in self.doors)
        if number >= self.limits.connections and now > self._warned + OFTEN:
            self._warned = now
            LOG.warning("all %d connections are in use: new ones take the place of those that send nothing", number)
