"""Read and write bytes: files (mapped into memory), compressed files, standard input and output."""

from __future__ import annotations

import glob
import mmap
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, Protocol, runtime_checkable

from cranfield import _core
from cranfield.collection.compression import (
    FIRST,
    MAGIC_LENGTH,
    SUFFIXES,
    Check,
    check_size,
    compression,
    first_unpacked,
    packed,
    unpacked,
    unpacked_up_to,
)
from cranfield.errors import DataError, UsageError

Buffer = bytes | bytearray | memoryview | mmap.mmap
PathLike = str | os.PathLike[str]

STDIN, STDOUT = "standard input", "standard output"
BINARY = (b"PAR1", b"\xff\xfe", b"\xfe\xff")
"""How data with NUL bytes may begin: Parquet, and topics in UTF-16."""


_OPEN_ERRORS: dict[type, str] = {
    IsADirectoryError: "is a directory, expected a file",
    FileNotFoundError: "no such file",
    PermissionError: "cannot be read: permission denied",
}


class FromStdin(bytes):
    """Bytes that were read from standard input, which messages name."""


def bytes_origin(data: object) -> str:
    """What messages call data in memory."""
    return STDIN if isinstance(data, FromStdin) else "<bytes>"


@runtime_checkable
class Readable(Protocol):
    """An open file or anything like it."""

    def read(self) -> bytes | str: ...


def load(path: PathLike, check: Check | None = None) -> Buffer:
    """Return the bytes of a file: mapped if plain, unpacked if compressed, read to the end for a pipe or `-`.

    Compression is detected from the first bytes, not the file name. Of a pipe or a compressed file, `check` gets the
    first block, unpacked, and may raise an error before the rest is read; more than `size_limit` allows is an error.
    """
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None or not hasattr(sys.stdin, "buffer"):
            raise DataError(STDIN, None, "is closed")
        return _drained(sys.stdin.buffer, STDIN, check)
    with open_errors(name), open(name, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return _drained(file, name, check)
        head = file.read(MAGIC_LENGTH)
        if compression(head):
            file.seek(0)
            return unpacked(file.read(), name, check)
        return plain(file, name)


ADDRESS = re.compile(r"(https?|ftp|s3|gs|abfss?|hdfs)://\S+")


def check_address(name: str) -> None:
    """Refuse an address in place of a file: nothing is read from the network."""
    match = ADDRESS.fullmatch(name)
    if match is None:
        return
    copy = {"s3": f"aws s3 cp {name} -", "gs": f"gcloud storage cat {name}", "hdfs": f"hdfs dfs -cat {name}"}
    fetch = copy.get(match[1], f"curl -sSfL '{name}'" if match[1] in ("http", "https", "ftp") else "")
    how = (
        f"; pipe it in, with - as the file: {fetch} | cranfield ... -; or copy it to a file first"
        if fetch
        else "; copy it first"
    )
    raise DataError(name, None, f"is an address, and files are not read from the network{how}")


@contextmanager
def open_errors(name: str) -> Iterator[None]:
    """Errors of the system that occur while a file is opened and read become errors that name the file."""
    try:
        yield
    except OSError as error:
        check_address(name)
        raise DataError(
            name, None, _OPEN_ERRORS.get(type(error)) or f"cannot be read: {error.strerror or error}"
        ) from None
    except DataError:
        raise
    except ValueError as error:  # a NUL in the name
        raise DataError(repr(name), None, f"cannot be read: {error}") from None


def plain(file: IO[bytes], name: str) -> Buffer:
    """The bytes of an open file that is not compressed, which are read when they are needed. No file stays open."""
    if not os.fstat(file.fileno()).st_size:  # empty, or a file of the system that does not say its size
        file.seek(0)
        return file.read()
    if sys.platform == "win32":
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapping: Any = _core.Mapping(file.fileno(), os.fsencode(name))
    return memoryview(mapping)


def check_complete(buffer: Buffer) -> None:
    """Raise an error if another program has cut the file short since it was loaded: its end is read as NUL bytes."""
    mapping = buffer.obj if isinstance(buffer, memoryview) else None
    if isinstance(mapping, _core.Mapping) and mapping.cut_short:
        raise DataError(os.fsdecode(mapping.path), None, "was cut short by another program while it was read")


def release(buffer: Buffer, end: int) -> None:
    """Let the bytes of a file up to `end` leave the memory; they are read again if they are needed again."""
    mapping = buffer.obj if isinstance(buffer, memoryview) else None
    if isinstance(mapping, _core.Mapping):
        mapping.release(end)


def shown_path(path: str) -> str:
    """The path for messages: `-` is standard input."""
    return STDIN if path == "-" else path


def _drained(stream: IO[bytes], name: str, check: Check | None) -> Buffer:
    """Read a pipe or a device to its end, but not if its first block is wrong: /dev/zero has no end."""
    try:
        data = bytearray(stream.read(HEAD))
        head = bytes(data)
        packed = compression(head) is not None
        if not packed:
            check_text(head, name)
        if check and not packed:
            check(head)
        while block := stream.read(BLOCK):
            data += block
            check_size(len(data), name)
            if packed and check:
                check(first_unpacked(bytes(data), name))
                check = None
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {error.strerror or error}") from None
    return unpacked(bytes(data), name, check) if packed else data


def check_text(head: bytes, name: str) -> None:
    """Raise an error if the first block of a pipe is binary data that no reader knows."""
    if b"\0" in head and not head.startswith(BINARY):
        check_content(head, name)
        line = head[: head.index(b"\0")].count(b"\n") + 1
        raise DataError(name, line, "contains a NUL byte, so it is binary; expected text, JSON, CSV or Parquet")


def read_bytes(path: PathLike, check: Check | None = None) -> bytes:
    """Return the whole content of a file, unpacked; `check` is as for `load`."""
    return _copied(load(path, check))


BEGINNING = 1 << 20


def beginning(path: PathLike) -> Buffer:
    """The content of a file, or the first `BEGINNING` bytes if it is compressed, to see what it is."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            kind = compression(file.read(MAGIC_LENGTH)) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
            if kind is not None:
                file.seek(0)
                return unpacked_up_to(file.read(), kind, name, BEGINNING)
    except (OSError, ValueError):
        pass  # which loading reports
    return load(path)


def is_pipe(path: PathLike) -> bool:
    """Whether it is standard input, a pipe or a device, which can be read only once."""
    name = os.fspath(path)
    return name == "-" or (os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name))


def _copied(buffer: Buffer) -> bytes:
    data = buffer if isinstance(buffer, bytes) else bytes(buffer)
    check_complete(buffer)
    return data


def unmarked(data: bytes) -> bytes:
    """Remove byte order marks from the start; there are two if two tools added one each.

    >>> unmarked(b"\\xef\\xbb\\xbf\\xef\\xbb\\xbf301 0 d1 1")
    b'301 0 d1 1'
    """
    while data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    return data


BLOCK = 1 << 22


_WRITTEN: ContextVar[list[str] | None] = ContextVar("written", default=None)


@contextmanager
def files_written() -> Iterator[list[str]]:
    """The paths of the files that are written in this block, in their order."""
    written: list[str] = []
    token = _WRITTEN.set(written)
    try:
        yield written
    finally:
        _WRITTEN.reset(token)


def was_written(path: PathLike) -> None:
    """Tell `files_written` of a file that was not written by `write_bytes`."""
    written = _WRITTEN.get()
    if written is not None:
        written.append(os.fspath(path))


def write_bytes(path: PathLike, data: bytes | Iterable[bytes], *, durable: bool = True) -> None:
    """Write a whole file or nothing: the data goes to a temporary file, which is then renamed. `-` is standard output.

    The data may be given part by part, so that it is never in memory as a whole. A link stays a link and its target is
    written; a replaced file keeps its mode; devices and pipes are written directly. With `durable`, the data is on the
    disk before the file is renamed.
    """
    name = os.fspath(path)
    parts = [data] if isinstance(data, bytes) else data
    if name == "-":
        for part in parts:
            write_stdout(part)
        return
    target = os.path.realpath(name)
    # Not tempfile.mkstemp: its files are private, and the umask can only be read by changing it for every thread.
    temporary = os.path.join(os.path.dirname(target), f".{os.urandom(8).hex()}.part")
    try:
        if os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name):  # a device or a pipe
            with open(name, "wb") as device:
                device.writelines(packed(parts, name))
            return
        with _ended_cleanly(temporary):
            with open(temporary, "xb") as file:
                file.writelines(packed(parts, name))
                file.flush()
                if durable:
                    os.fsync(file.fileno())  # else the new name may survive a power cut, and the content not
            if os.path.isfile(target):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(temporary, target)
        was_written(name)
    except OSError as error:
        raise DataError(name, None, f"cannot be written: {error.strerror or error}") from None


@contextmanager
def _ended_cleanly(temporary: str) -> Iterator[None]:
    """Remove the temporary file if writing fails, or if a signal ends the process in the meantime."""
    from cranfield.collection.whole_folder import ends_cleanly

    with ends_cleanly():
        try:
            yield
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)


def write_stdout(data: bytes) -> None:
    """Write bytes to standard output, or text if it is not a stream of bytes."""
    if sys.stdout is None:
        raise DataError(STDOUT, None, "is closed")
    if not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(data.decode("utf-8", "backslashreplace"))
        return
    try:
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:  # unbuffered output (python -u) may write only a part
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except OSError as error:
        error.filename = STDOUT
        raise


def expand(paths: Iterable[PathLike]) -> list[str]:
    """Expand globs, sorted; a pattern that matches nothing is an error. The name of an existing file is kept."""
    names: list[str] = []
    for path in paths:
        name = os.fspath(path)
        if name == "-" or os.path.exists(name) or not glob.has_magic(name):
            names.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            check_address(name)
            raise UsageError(f"{name}: no file matches this pattern")
        names.extend(matches)
    return names


def named_paths(paths: Iterable[PathLike]) -> list[tuple[str | None, str]]:
    """(name or None, path) for each path; globs are expanded, and `NAME=FILE` names the run in a file.

    A file whose own name contains `=` is read as it is.

    >>> named_paths(["prod=runs/2027-01-01.run", "dense.run"])
    [('prod', 'runs/2027-01-01.run'), (None, 'dense.run')]
    """
    pairs: list[tuple[str | None, str]] = []
    for path in [os.fspath(path) for path in paths]:
        match = re.fullmatch(r"([^=/\\]+)=(.+)", path, re.DOTALL)
        if match is None or os.path.exists(path):
            pairs += [(None, name) for name in expand([path])]
            continue
        files = expand([match[2]])
        if len(files) > 1:
            raise UsageError(f"{path}: {len(files)} files match, must be one to be called {match[1]!r}")
        pairs.append((match[1], files[0]))
    return pairs


def without_compression(path: str) -> str:
    """The path without the suffix of a compressed file.

    >>> without_compression("bm25.run.gz")
    'bm25.run'
    """
    root, suffix = os.path.splitext(path)
    return root if suffix in SUFFIXES else path


def stem(path: str) -> str:
    """The file name without folder, compression suffix and format suffix.

    >>> stem("runs/bm25.run.gz")
    'bm25'
    """
    name = without_compression(os.path.basename(path))
    root, suffix = os.path.splitext(name)
    known = (".run", ".txt", ".trec", ".res", ".tsv", ".csv", ".json", ".jsonl", ".parquet", ".qrels", ".input")
    return root if suffix in known and root else name


def read_stream(stream: IO[bytes] | Readable) -> bytes:
    """Return the content of an open file."""
    try:
        data = stream.read()
    except (OSError, ValueError) as error:  # closed, not open for reading, or text of another encoding
        name = str(getattr(stream, "name", "")) or "stream"
        raise DataError(name, None, f"cannot be read: {error}") from None
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else unpacked(bytes(data), "stream")


# ---- the first lines

HEAD = FIRST
"""How many bytes the first lines have."""
DATA_LINE = re.compile(rb"^[ \t\r\v\f]*[^\s#][^\n]*", re.MULTILINE)
"""A line that is neither blank nor a comment."""


_NOT_TEXT = {
    rb"(\xff\xfe)+[^\0]\0|(\xfe\xff)+\0[^\0]|([ -~\t\r\n]\0){4}|(\0[ -~\t\r\n]){4}":
        "is UTF-16 text, expected UTF-8; to convert it: iconv -f UTF-16 -t UTF-8",
    rb"version https://git-lfs": "is a pointer of git-lfs, not the file itself; to fetch that: git lfs pull",
    rb"(?s)PK\x03\x04.{26}(\[Content_Types\]|_rels/|docProps/|xl/)|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        "is an Excel workbook; save the sheet as 'CSV UTF-8'",
    rb"(?s)PK\x03\x04.{26}mimetypeapplication/vnd\.oasis": "is an OpenDocument file; save the sheet as CSV in UTF-8",
    rb"(?s)PK\x03\x04.\0..[\0\x08]\0": "is a ZIP archive; unpack it first",
    rb"\s*(<!doctype html|<html)": "is an HTML page, perhaps an error page of a web server; download the file again",
}  # fmt: skip
"""How files begin that are not what they seem, and what to say about them."""


def check_content(head: bytes, path: str, *, cr_ends: bool = False) -> None:
    """Raise an error for UTF-16, HTML, a pointer of git-lfs, or line ends that are CR alone, unless `cr_ends`."""
    for pattern, message in _NOT_TEXT.items():
        if re.match(pattern, head, re.IGNORECASE):
            raise DataError(path, None, message)
    if not cr_ends and b"\r" in head and b"\n" not in head and not head.startswith(BINARY):
        first, second, *_ = head.split(b"\r")
        if len(first.split()) == len(second.split()) >= 3:
            message = "has CR alone at the end of lines, expected LF; to convert it: tr '\\r' '\\n'"
            raise DataError(path, None, message)


def data_start(buffer: Buffer) -> int:
    """Where to look at a file: at its start, or at its first line of data after many blank lines and comments."""
    if len(buffer) <= HEAD or DATA_LINE.search(bytes(buffer[:HEAD])):
        return 0
    match = DATA_LINE.search(buffer)
    return match.start() if match else 0


def head_of(buffer: Buffer) -> bytes:
    """The first lines of a file; at least one whole line, since its columns are counted."""
    begin = data_start(buffer)
    head = bytes(buffer[begin : begin + HEAD])
    head = head if b"\n" in head else bytes(buffer[begin : begin + (1 << 25)])
    check_complete(buffer)
    return head


def first_line(buffer: Buffer) -> bytes:
    """The first line that is neither blank nor a comment; empty if there is none."""
    match = DATA_LINE.search(unmarked(head_of(buffer)))
    return match[0] if match else b""


def text_of(buffer: Buffer, origin: str = "") -> str:
    """The text of a file without byte order marks; bytes that are not UTF-8 become surrogates.

    With the name of the file as `origin`, a NUL byte is an error.
    """
    data = unmarked(_copied(buffer))
    if origin and b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DataError(origin, line, "a NUL byte: binary data, expected text")
    return data.decode("utf-8", "surrogateescape")


_WINDOWS = re.compile("[A-Za-z]{2}[\udcc0-\udcff]|[A-Za-z][\udcc0-\udcff][A-Za-z]|[\udcc0-\udcff][A-Za-z]{2}")
"""A word with a letter that is one byte outside ASCII, as spreadsheets on Windows write it."""


def check_encoding(text: str, skipped: int, origin: str) -> None:
    """Refuse text in Windows-1252: its ids would match no others."""
    match = None if text.isascii() else _WINDOWS.search(text)
    if match is None:
        return
    word = match[0].encode("utf-8", "surrogateescape").decode("cp1252", "replace")
    message = (
        f"is not UTF-8, and looks like Windows-1252 ({word!r}); save it as 'CSV UTF-8', or convert it: "
        "iconv -f WINDOWS-1252 -t UTF-8"
    )
    raise DataError(origin, skipped + text.count("\n", 0, match.start()) + 1, message)
