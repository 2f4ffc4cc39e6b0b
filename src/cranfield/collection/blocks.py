"""Compressed files and pipes, read block by block: they are never in memory as a whole."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import IO

from cranfield.collection import source
from cranfield.collection.source import DATA_LINE, HEAD, MAGIC_LENGTH, STDIN, Buffer, Check, PathLike
from cranfield.errors import DataError

WHOLE = 32 << 20
"""Up to this many bytes, unpacked, are read as a whole."""
BLOCK = 1 << 20
"""Bytes that are read or unpacked at a time."""


def load_or_open(path: PathLike, check: Check | None = None, whole: int = WHOLE) -> Buffer | Blocks:
    """The bytes of a file as `source.load` returns them; or `Blocks`, if more than `whole` have to be read or unpacked.

    `check` gets the first block, unpacked, and may raise an error before the rest is read.
    """
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None or not hasattr(sys.stdin, "buffer"):
            raise DataError(STDIN, None, "is closed")
        return Blocks(Copied(sys.stdin.buffer, STDIN), STDIN, 0, check).short(whole)
    with source.open_errors(name):
        file = open(name, "rb")  # noqa: SIM115 - Blocks closes it
        try:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return Blocks(Copied(file, name), name, 0, check).short(whole)
            if source.compression(file.read(MAGIC_LENGTH)) is not None:
                file.seek(0)
                return Blocks(file, name, status.st_size, check).short(whole)
            content = source.plain(file, name)
        except BaseException:
            file.close()
            raise
        file.close()
    return content


class Copied:
    """A pipe whose bytes go to a temporary file as they are read, since they cannot be read twice."""

    def __init__(self, pipe: IO[bytes], name: str) -> None:
        self.pipe = pipe
        self.name = name
        self.copy: IO[bytes] | None = None
        self.begun = b""
        self.replaying = False

    def read(self, size: int) -> bytes:
        if self.replaying and self.copy is not None and (block := self.copy.read(size)):
            return block
        self.replaying = False
        block = self.pipe.read(size)
        if self.copy is not None:
            self._write(block)
        else:
            self.begun += block
        return block

    def keep(self) -> None:
        """Begin to write the copy; until then, what was read is in memory."""
        try:
            from tempfile import TemporaryFile

            self.copy = TemporaryFile(prefix="cranfield-")  # noqa: SIM115
        except OSError as error:
            raise self._failed(error) from None
        self._write(self.begun)
        self.begun = b""

    def _write(self, block: bytes) -> None:
        assert self.copy is not None
        try:
            self.copy.write(block)
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> DataError:
        return DataError(
            self.name, None,
            f"a copy on disk is needed, because a pipe can be read only once, and cannot be written: "
            f"{error.strerror or error}; TMPDIR names another folder",
        )  # fmt: skip

    def seek(self, place: int) -> None:
        assert self.copy is not None
        self.copy.flush()
        self.copy.seek(place)
        self.replaying = True

    def tell(self) -> int:
        return 0  # how much there will be is unknown, so there is no progress to show

    def close(self) -> None:
        if self.copy is not None:
            self.copy.close()


class Blocks:
    """The content of a compressed file or a pipe: `read` returns the next block, and nothing at the end."""

    def __init__(self, file: IO[bytes] | Copied, name: str, length: int, check: Check | None = None) -> None:
        self.file = file
        self.name = name
        self.length = length
        """The size of the file, 0 if it is unknown."""
        self.check = check
        self.head: bytes = b""
        """The first bytes, unpacked; whole lines of data are among them."""
        self.blocks = self._all()
        self.waiting: list[bytes] = []

    def read(self) -> bytes:
        if self.waiting:
            return self.waiting.pop(0)
        return next(self.blocks, b"")

    def rewind(self) -> None:
        self.file.seek(0)
        self.waiting = []
        self.blocks = self._all()

    @property
    def position(self) -> int:
        return self.file.tell()

    def close(self) -> None:
        self.file.close()

    def short(self, whole: int) -> Buffer | Blocks:
        """All bytes if there are no more than `whole`, else this object."""
        blocks: list[bytes] = []
        size, has_line = 0, False
        while size <= whole or not has_line:
            block = self.read()
            if not block:
                self.close()
                return blocks[0] if len(blocks) == 1 else b"".join(blocks)
            blocks.append(block)
            size += len(block)
            has_line = has_line or (b"\n" in block and DATA_LINE.search(block) is not None)
        self.head = b"".join(blocks)
        self.waiting = blocks
        if isinstance(self.file, Copied):
            self.file.keep()
        return self

    def whole(self) -> bytes:
        """All bytes from the beginning."""
        return b"".join(iter(self.read, b""))

    def drain(self) -> None:
        """Read to the end, so that a file that is damaged or cut short is an error."""
        self.rewind()
        while self.read():
            pass

    def _all(self) -> Iterator[bytes]:
        """The blocks from the beginning; the first one is checked."""
        begin = self._read(HEAD)
        kind = source.compression(begin)
        size, head = 0, b""
        for block in self._plain(begin) if kind is None else self._unpacked(begin, kind):
            size += len(block)
            source.check_size(size, self.name)
            if self.check:
                head += block[:HEAD]
                if len(head) >= HEAD:
                    self._check(head[:HEAD])
            yield block
        self._check(head)

    def _check(self, head: bytes) -> None:
        check, self.check = self.check, None
        if check:
            check(head)

    def _read(self, size: int) -> bytes:
        try:
            return self.file.read(size)
        except OSError as error:
            raise DataError(self.name, None, f"cannot be read: {error.strerror or error}") from None

    def _plain(self, head: bytes) -> Iterator[bytes]:
        source.check_text(head, self.name)
        if head:
            yield head
        while block := self._read(BLOCK):
            yield block

    def _unpacked(self, data: bytes, kind: str) -> Iterator[bytes]:
        """Unpack all streams of the file, one after the other."""
        new_stream = source.decompressor(kind)
        with source.unpack_errors(kind, self.name):
            while data:
                stream = new_stream()
                while not stream.eof:
                    if block := stream.decompress(data, BLOCK):
                        yield block
                    # zlib gives back what it did not need; the others keep it
                    data = getattr(stream, "unconsumed_tail", b"")
                    if stream.eof or data or len(block) == BLOCK or not getattr(stream, "needs_input", True):
                        continue
                    data = self._read(BLOCK)
                    if not data:
                        raise EOFError
                data = stream.unused_data.lstrip(b"\0")  # xz pads with zeros
                while not data and (more := self._read(BLOCK)):
                    data = more.lstrip(b"\0")
