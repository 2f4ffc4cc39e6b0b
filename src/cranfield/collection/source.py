"""Where bytes come from: files (mapped into memory), compressed files, standard input, bytes."""

from __future__ import annotations

import glob
import mmap
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable
from typing import IO, Any, Protocol, runtime_checkable

from cranfield.errors import DataError, UsageError

Buffer = bytes | bytearray | memoryview | mmap.mmap
PathLike = str | os.PathLike[str]

MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}
"""How compressed data begins, as far as it can be told from a text: a topic may well be called BZh."""
HEAD = 10

STDIN, STDOUT = "standard input", "standard output"
FIRST_BYTES = 1 << 16
BINARY = (b"PAR1", b"\xff\xfe", b"\xfe\xff")
"""How data begins that is read although there are NUL bytes in it: Parquet, and topics in UTF-16."""


@runtime_checkable
class Readable(Protocol):
    """An open file or anything like it."""

    def read(self) -> bytes | str: ...


def load(path: PathLike) -> Buffer:
    """The bytes of a file: mapped if plain, unpacked if compressed, read to the end if it is a pipe or `-`.

    What compression a file has is told by its first bytes, not by its name.
    """
    name = os.fspath(path)
    if name == "-":
        return unpacked(_drained(_standard_input(), STDIN), STDIN)
    try:
        with open(name, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return unpacked(_drained(file, name), name)
            head = file.read(HEAD)
            if compression(head):
                file.seek(0)
                return unpacked(file.read(), name)
            if not head:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except DataError:
        raise
    except IsADirectoryError:
        raise DataError(name, None, "is a directory, expected a file") from None
    except FileNotFoundError:
        raise DataError(name, None, "no such file") from None
    except PermissionError:
        raise DataError(name, None, "cannot be read: permission denied") from None
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in the name
        raise DataError(repr(name), None, f"cannot be read: {error}") from None


def shown_path(path: str) -> str:
    """A path as messages call it."""
    return STDIN if path == "-" else path


def _standard_input() -> IO[bytes]:
    if sys.stdin is None or not hasattr(sys.stdin, "buffer"):
        raise DataError(STDIN, None, "is closed")
    return sys.stdin.buffer


def _drained(stream: IO[bytes], name: str) -> bytes:
    """A pipe or a device read to its end; one that is binary is not, as /dev/zero has none."""
    try:
        head = stream.read(FIRST_BYTES)
        if b"\0" in head and compression(head) is None and not head.startswith(BINARY):
            line = head[: head.index(b"\0")].count(b"\n") + 1
            raise DataError(name, line, "a NUL byte: this is binary, expected text, JSON, CSV or Parquet")
        return head + stream.read()
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {error.strerror or error}") from None


def read_bytes(path: PathLike) -> bytes:
    """The whole content of a file, unpacked, as bytes of our own."""
    buffer = load(path)
    return buffer if isinstance(buffer, bytes) else bytes(buffer)


def unmarked(data: bytes) -> bytes:
    """Without the byte order marks that it begins with: two, where a tool that adds one was fed by another.

    >>> unmarked(b"\\xef\\xbb\\xbf\\xef\\xbb\\xbf301 0 d1 1")
    b'301 0 d1 1'
    """
    while data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    return data


def compression(head: bytes) -> str | None:
    """What a file is compressed with, by its first bytes.

    >>> compression(b"BZh91AY&SY")
    'bzip2'
    """
    return next((kind for kind, magic in MAGIC.items() if magic.match(head)), None)


def unpacked(data: bytes, name: str) -> bytes:
    """The same bytes, or what they are compressed of; damaged data is an error that names the file."""
    kind = compression(data[:HEAD])
    if kind is None:
        return data
    try:
        return unpack(data, kind)
    except MemoryError:
        raise DataError(name, None, f"the {kind} data is too large for this machine's memory once unpacked") from None
    except Exception as error:  # each library raises errors of its own; only gzip's for a missing end has a type
        if isinstance(error, EOFError) or "end-of-stream" in str(error):
            raise DataError(name, None, f"the {kind} data ends too early: the file is truncated") from None
        raise DataError(name, None, f"the {kind} data is damaged: {error}") from None


def unpack(data: bytes, kind: str) -> bytes:
    """Decompressed bytes; raises whatever the standard library raises."""
    if kind == "gzip":
        import gzip

        return gzip.decompress(data)
    if kind == "bzip2":
        import bz2

        return _streams(data, bz2.BZ2Decompressor)
    if kind == "xz":
        import lzma

        return _streams(data, lzma.LZMADecompressor)
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return bytes(zstd.decompress(data))


def _streams(data: bytes, decompressor: Callable[[], Any]) -> bytes:
    """All streams of a file. The library's own function takes what follows the first for nothing if it is damaged."""
    pieces = []
    while data:
        one = decompressor()
        pieces.append(one.decompress(data))
        if not one.eof:
            raise EOFError
        data = one.unused_data.lstrip(b"\0")  # xz pads with zeros
    return b"".join(pieces)


def pack(data: bytes, path: str) -> bytes:
    """Compressed as the path's suffix says: .gz, .bz2, .xz, .zst; anything else is left as it is."""
    suffix = os.path.splitext(path)[1]
    if suffix == ".gz":
        import gzip

        return gzip.compress(data, mtime=0)
    if suffix == ".bz2":
        import bz2

        return bz2.compress(data)
    if suffix == ".xz":
        import lzma

        return lzma.compress(data)
    if suffix == ".zst":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        # The zstd command writes a checksum too; without one damage would go unnoticed.
        return bytes(zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}))
    return data


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a whole file or nothing: into a temporary neighbour, then renamed. `-` is standard output.

    A link stays a link and what it points to is written; a file that is replaced keeps its mode; a device or a pipe
    is written into.
    """
    name = os.fspath(path)
    if name == "-":
        write_stdout(data)
        return
    target = os.path.realpath(name)
    # Not tempfile.mkstemp: its files are private, and opening up a new one takes the umask, which can only be learnt by
    # changing it for every thread.
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.part")
    try:
        packed = pack(data, name)
        if _is_special(name):
            with open(name, "wb") as device:
                device.write(packed)
            return
        with open(temporary, "xb") as file:
            file.write(packed)
        if os.path.isfile(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except OSError as error:
        raise DataError(name, None, f"cannot be written: {error.strerror or error}") from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def write_stdout(data: bytes) -> None:
    """Bytes to standard output; where that is not a stream of bytes, as text."""
    if sys.stdout is None:
        raise DataError(STDOUT, None, "is closed")
    if not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(data.decode("utf-8", "backslashreplace"))
        return
    try:
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:  # unbuffered output (python -u) may take less than it is given
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except OSError as error:
        error.filename = STDOUT
        raise


def _is_special(name: str) -> bool:
    return os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)


def expand(paths: Iterable[PathLike]) -> list[str]:
    """Paths with their globs expanded, sorted; a pattern that matches nothing is an error.

    A name that exists as it is written is never read as a pattern.
    """
    found: list[str] = []
    for path in paths:
        name = os.fspath(path)
        if name == "-" or os.path.exists(name) or not glob.has_magic(name):
            found.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise UsageError(f"{name}: no file matches this pattern")
        found.extend(matches)
    return found


def stem(path: str) -> str:
    """A file's name without folder, compression suffix and format suffix.

    >>> stem("runs/bm25.run.gz")
    'bm25'
    """
    name = os.path.basename(path)
    root, suffix = os.path.splitext(name)
    if suffix in (".gz", ".bz2", ".xz", ".zst"):
        name = root
    root, suffix = os.path.splitext(name)
    known = (".run", ".txt", ".trec", ".res", ".tsv", ".csv", ".json", ".jsonl", ".parquet", ".qrels", ".input")
    return root if suffix in known and root else name


def read_stream(stream: IO[bytes] | Readable) -> bytes:
    """All of an open file."""
    name = str(getattr(stream, "name", "")) or "stream"
    try:
        data = stream.read()
    except (OSError, ValueError) as error:  # closed, not open for reading, or text of another encoding
        raise DataError(name, None, f"cannot be read: {error}") from None
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else unpacked(bytes(data), "stream")
