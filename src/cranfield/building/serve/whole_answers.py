"""HTTP by uvicorn, with the head and the body of an answer in one packet.

uvicorn writes them one after the other, so that every answer wakes the other side twice. On one machine that costs as
much time as everything else that a judgment needs.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = b"HTTP/1."


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


class WholeAnswers(HttpToolsProtocol):
    """The HTTP protocol of uvicorn, on such a connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedTransport(transport, self.loop))  # type: ignore[arg-type]
