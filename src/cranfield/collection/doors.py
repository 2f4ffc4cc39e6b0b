"""The door of every reader: checks of the first block of a pipe, and errors that no check foresaw.

A pipe or a compressed file may have no end, so its first block is checked before the rest is read. What no check
foresaw in a file is an error that names the file.
"""

from __future__ import annotations

import csv
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from cranfield.collection.source import DATA_LINE, HEAD, Buffer, check_complete, load, release, shown_path, unmarked
from cranfield.errors import CranfieldError, DataError
from cranfield.text import cut, one_line

CUT = 16
"""How near to the end of the block an error of JSON may be because the block ends there: the longest word or number."""


def whole_lines(head: bytes, path: str, expected: str) -> bytes:
    """The whole lines of a first block; nothing if it is the whole file, or holds only comments and blank lines.

    A line that is longer than the block is an error.
    """
    if len(head) < HEAD:
        return b""
    end = head.rfind(b"\n") + 1
    if not end and DATA_LINE.search(head):
        raise DataError(path, 1, f"the line is longer than {HEAD:,} bytes, expected {expected}")
    lines = head[:end]
    return lines if DATA_LINE.search(lines) else b""


def check_lines(head: bytes, path: str, expected: str, read: Callable[[bytes], object]) -> None:
    """Read the whole lines of a first block, so that a fault in them is an error."""
    lines = whole_lines(head, path, expected)
    if lines and b'"' not in lines:  # a quoted cell may go on in the next block
        read(lines)


def load_lines(path: str, expected: str, read: Callable[[bytes], object]) -> Buffer:
    """The bytes of a file; of a pipe, the lines of the first block are read first, so that a fault is an error."""

    def check(head: bytes) -> None:
        if lines := whole_lines(head, path, f"lines of {expected}"):
            read(lines)

    return load(path, check)


def check_json(head: bytes, path: str, *, several: bool = True) -> None:
    """Raise an error if a first block of JSON has a fault before its end; `several`: values may follow each other."""
    if len(head) < HEAD:
        return
    text = unmarked(head).decode("utf-8", "replace")
    position = len(text) - len(text.lstrip())
    while position < len(text):
        try:
            _, position = json.JSONDecoder().raw_decode(text, position)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos >= len(text) - CUT
            if cut:
                return
            raise DataError(path, error.lineno, f"is not valid JSON: {error.msg}") from None
        except RecursionError:
            raise DataError(path, 1, "is not valid JSON: nested too deeply") from None
        position += len(text) - position - len(text[position:].lstrip())
        if not several and position < len(text):
            raise DataError(path, text.count("\n", 0, position) + 1, "is not valid JSON: text after the end")


P = ParamSpec("P")
R = TypeVar("R")

SOURCES = ("path", "source", "thing", "folder", "text")
"""The parameters that name the file which a function reads, the first that it has."""
UNFORESEEN = (
    TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, NotImplementedError, EOFError,
)  # fmt: skip
"""What Python and numpy raise for values of another type or size than the code expects."""
LIBRARIES = ("_csv", "zlib", "_struct", "re", "pyarrow", "pyexpat", "xml")
"""Modules whose own errors are about the content of a file."""


def reads(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that reads a file: an unclear error becomes a clear one, with the name of the file.

    Every function that loads a file has this mark (`tests/test_architecture.py`), so that a reader which forgets to
    check a value is still no bug to its users. The cause is kept. Objects that are not files keep their errors.

    >>> @reads
    ... def first(path):
    ...     return path["first"]
    >>> first("a.csv")
    Traceback (most recent call last):
    cranfield.errors.DataError: a.csv: is damaged, or is not the kind of file that is expected here (TypeError: \
string indices must be integers, not 'str')
    """
    place, name = _source(function)

    def translated(error: BaseException, arguments: tuple[Any, ...], named: dict[str, Any]) -> BaseException:
        source = named.get(name, arguments[place] if place < len(arguments) else None)
        source = getattr(source, "path", source)
        if isinstance(error, CranfieldError) or not isinstance(source, str | os.PathLike) or not _unforeseen(error):
            return error
        why = one_line(cut(f"{type(error).__name__}: {error}"))
        what = f"is damaged, or is not the kind of file that is expected here ({why})"
        return DataError(shown_path(os.fspath(source)), None, what)

    @wraps(function)
    def guarded(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            result = function(*arguments, **named)
        except Exception as error:
            clear = translated(error, arguments, named)
            if clear is error:
                raise
            raise clear from error
        return later(result, arguments, named) if inspect.isgenerator(result) else result

    def later(rows: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        def each() -> Iterator[Any]:
            try:
                yield from rows
            except Exception as error:
                clear = translated(error, arguments, named)
                if clear is error:
                    raise
                raise clear from error

        return each()

    return guarded


BLOCK = 1 << 20
"""Bytes of a file that are decoded together, up to the end of a line."""


def text_blocks(buffer: Buffer, origin: str) -> Iterator[str]:
    """The text of a file in blocks of whole lines, without byte order marks; bytes that are not UTF-8 are surrogates.

    A NUL byte anywhere in the file is an error.
    """
    size = len(buffer)
    for begin in range(0, size, BLOCK):
        if b"\0" in (block := bytes(buffer[begin : begin + BLOCK])):
            before = sum(bytes(buffer[at : at + BLOCK]).count(b"\n") for at in range(0, begin, BLOCK))
            line = before + block.count(b"\n", 0, block.index(b"\0")) + 1
            raise DataError(origin, line, "a NUL byte: binary data, expected text")
        release(buffer, begin)
    begin = 0
    while begin < size:
        end = begin + BLOCK
        while end < size and (more := bytes(buffer[end : end + BLOCK]).find(b"\n")) < 0:
            end += BLOCK
        end = end + more + 1 if end < size else size
        data = bytes(buffer[begin:end])
        yield (data if begin else unmarked(data)).decode("utf-8", "surrogateescape")
        begin = end
        release(buffer, begin)
    check_complete(buffer)


def csv_rows(lines: Iterable[str], delimiter: str, origin: str, before: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The number of the line and the cells of each row; `before`: lines of the file before these.

    >>> list(csv_rows(["a,b", '"c, d",e'], ",", "a.csv"))
    [(1, ['a', 'b']), (2, ['c, d', 'e'])]
    """
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in reader:
            yield before + reader.line_num, cells
    except csv.Error as error:
        raise DataError(origin, before + reader.line_num, csv_fault(error)) from None


def header_cells(line: str, delimiter: str, origin: str) -> list[str]:
    """The cells of a first line."""
    return next((cells for _, cells in csv_rows([line], delimiter, origin)), [])


def csv_fault(error: csv.Error) -> str:
    """What is wrong with a table, in our words."""
    if "new-line" in str(error):
        return "a carriage return (CR) in a cell, expected quotes around the cell, or LF at the end of lines"
    if "field limit" in str(error):
        return f"a cell of more than {csv.field_size_limit():,} characters; is a quote missing?"
    return f"cannot be read as a table: {error}"


def _source(function: Callable[..., Any]) -> tuple[int, str]:
    """The parameter that names the file: its position and name; the first one, `self`, if none does."""
    names = list(inspect.signature(function).parameters)
    return next(((names.index(name), name) for name in SOURCES if name in names), (0, names[0]))


def _unforeseen(error: BaseException) -> bool:
    return isinstance(error, UNFORESEEN) or type(error).__module__.partition(".")[0] in LIBRARIES
