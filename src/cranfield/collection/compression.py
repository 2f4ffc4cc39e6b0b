"""Compressed data: what it is recognised by, unpacking up to a limit of size, and packing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from typing import Any

from cranfield.errors import DataError

MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}
"""How compressed data begins; long enough to distinguish it from text, since a topic may be called BZh."""
MAGIC_LENGTH = 10
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""Files with these suffixes are compressed when they are written."""
FIRST = 1 << 16
"""How many bytes, unpacked, are checked before the rest is unpacked."""
BLOCK = 1 << 22
Check = Callable[[bytes], None]
MOST_BYTES = 4 << 30
"""The largest size of what is read from a pipe or unpacked, in bytes, unless `size_limit` changes it."""
_limit: ContextVar[int] = ContextVar("size_limit", default=MOST_BYTES)


def compression(head: bytes) -> str | None:
    """Return the compression that the first bytes show, or None.

    >>> compression(b"BZh91AY&SY")
    'bzip2'
    """
    return next((kind for kind, magic in MAGIC.items() if magic.match(head)), None)


@contextmanager
def size_limit(size: int) -> Iterator[None]:
    """Within this context, up to `size` bytes are read from a pipe or unpacked from a compressed file.

    >>> import gzip
    >>> with size_limit(1000):
    ...     unpacked(gzip.compress(bytes(10**6)), "zeros.gz")
    Traceback (most recent call last):
    cranfield.errors.DataError: zeros.gz: more than 1,000 bytes; to read more: size_limit=
    """
    token = _limit.set(size)
    try:
        yield
    finally:
        _limit.reset(token)


def set_size_limit(size: int) -> None:
    """As `size_limit`, until it is changed again."""
    _limit.set(size)


def check_size(size: int, name: str) -> None:
    """Raise an error if this is more than `size_limit` allows."""
    if size > _limit.get():
        raise DataError(name, None, f"more than {_limit.get():,} bytes; to read more: size_limit=")


def unpacked(data: bytes, name: str, check: Check | None = None) -> bytes:
    """Decompress if compressed; damaged data, or more than `size_limit` allows, is an error that names the file.

    `check` gets the first block and may raise an error before the rest is unpacked.
    """
    kind = compression(data[:MAGIC_LENGTH])
    if kind is None:
        return data
    if check:
        check(first_unpacked(data, name))
    content = unpacked_up_to(data, kind, name, _limit.get() + 1)
    check_size(len(content), name)
    return content


def first_unpacked(data: bytes, name: str) -> bytes:
    """The first block of compressed data; empty if there is none, or if it is damaged, which unpacking will report."""
    kind = compression(data[:MAGIC_LENGTH])
    assert kind is not None
    try:
        return bytes(decompressor(kind)().decompress(data[:BLOCK], FIRST))
    except Exception:
        return b""


def unpacked_up_to(data: bytes, kind: str, name: str, most: int) -> bytes:
    with unpack_errors(kind, name):
        return unpack(data, kind, most)


@contextmanager
def unpack_errors(kind: str, name: str) -> Iterator[None]:
    """Errors of the libraries that unpack become errors that name the file."""
    try:
        yield
    except DataError:
        raise
    except MemoryError:
        raise DataError(name, None, f"the {kind} data is too large for this machine's memory once unpacked") from None
    except Exception as error:  # each library has its own errors; only gzip's error for a missing end has a type
        if isinstance(error, EOFError) or "end-of-stream" in str(error):
            raise DataError(name, None, f"the {kind} data ends too early: the file is truncated") from None
        raise DataError(name, None, f"the {kind} data is damaged: {error}") from None


def unpack(data: bytes, kind: str, most: int) -> bytes:
    """Decompress all streams of a file, up to `most` bytes; errors are those of the libraries.

    The libraries' own functions ignore a damaged second stream.
    """
    new_stream = decompressor(kind)
    pieces: list[bytes] = []
    while data and most > 0:
        stream = new_stream()
        pieces.append(stream.decompress(data, most))
        most -= len(pieces[-1])
        if not stream.eof and most > 0:
            raise EOFError
        data = stream.unused_data.lstrip(b"\0")  # xz pads with zeros
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def decompressor(kind: str) -> Callable[[], Any]:
    """The library's decompressor of one stream; they have the same methods."""
    if kind == "zstd":
        return _zstd().ZstdDecompressor  # type: ignore[no-any-return]
    if kind == "gzip":
        return partial(import_module("zlib").decompressobj, GZIP)
    library = import_module({"bzip2": "bz2", "xz": "lzma"}[kind])
    return library.BZ2Decompressor if kind == "bzip2" else library.LZMADecompressor  # type: ignore[no-any-return]


GZIP = 31
"""What zlib calls a gzip header."""


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def packed(parts: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Compress as the suffix of the path says: .gz, .bz2, .xz or .zst; with any other suffix, the parts as they are."""
    suffix = os.path.splitext(path)[1]
    if suffix not in (".gz", ".bz2", ".xz", ".zst"):
        yield from parts
        return
    if suffix == ".zst":
        zstd = _zstd()
        # Like the zstd command, write a checksum: without one, damage would go unnoticed.
        compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    elif suffix == ".gz":
        compressor = import_module("zlib").compressobj(9, wbits=GZIP)
    else:
        library = import_module({".bz2": "bz2", ".xz": "lzma"}[suffix])
        compressor = library.BZ2Compressor() if suffix == ".bz2" else library.LZMACompressor()
    for part in parts:
        yield bytes(compressor.compress(part))
    yield bytes(compressor.flush())
