"""Content that arrives in blocks: compressed files and slow readers, for tests."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cranfield.collection import compression

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: b"".join(compression.packed([data], "a.zst")),
}


class Slowly:
    """Bytes that arrive in blocks, as those of a pipe do."""

    def __init__(self, data: bytes, block: int) -> None:
        self.data, self.block, self.position, self.length = data, block, 0, len(data)

    def read(self) -> bytes:
        block = self.data[self.position : self.position + self.block]
        self.position += len(block)
        return block

    def rewind(self) -> None:
        self.position = 0


@contextmanager
def named_pipe(path: Path, content: bytes) -> Iterator[Path]:
    """A named pipe that another thread writes to; needs a system that has them."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    try:
        yield path
    finally:
        writer.join()
