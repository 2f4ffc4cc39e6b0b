"""How the stand-ins for other programs print."""

from __future__ import annotations

from typing import IO

from cranfield.errors import DataError


def write(stream: IO[str] | None, text: str) -> None:
    """Topic and run names may be any bytes, which a text stream may refuse."""
    if stream is None:
        raise DataError("standard output", None, "is closed")
    binary = getattr(stream, "buffer", None)
    if binary is None:
        stream.write(text)
        return
    stream.flush()
    binary.write(text.encode("utf-8", "surrogateescape"))
    binary.flush()
