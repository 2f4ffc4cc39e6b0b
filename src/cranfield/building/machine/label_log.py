"""The log of a machine judge: a line of JSON for each answer, appended and never changed, so that work can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import IO, Any

from cranfield.building.machine.prompts import Prompt
from cranfield.collection.source import PathLike, write_bytes
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

LABELLED, UNPARSED = "labelled", "unparsed"
"""The states of an answer: it has a grade, or no grade could be read from it."""
PROMPTS_SUFFIX = ".prompts"
"""The templates are in a file beside the log, whose name ends in this."""
OTHER_FILE = "move this file away, or name another log"

Key = tuple[str, str, str]
"""Topic, document and worker."""


@dataclass(frozen=True)
class Entry:
    """One answer. `topic`, `doc`, `worker` and `label` are the columns that `Labels` reads."""

    topic: str
    doc: str
    worker: str
    """The model and the name of the prompt."""
    label: str | None
    """The grade; None if there is none, never 0."""
    state: str
    problem: str
    """Why there is no grade."""
    prompt: str
    """The digest of the prompt that was sent."""
    template: str
    """The digest of the template, which is in the file of prompts."""
    model: str
    parameters: Mapping[str, Any]
    answer: str
    """The answer as the model gave it."""
    finish: str
    usage: Mapping[str, int]
    cut: bool
    """Was the document cut to its first characters?"""
    attempts: int
    seconds: float
    time: str
    """When the answer came, in UTC."""

    @property
    def key(self) -> Key:
        return self.topic, self.doc, self.worker


_NAMES = tuple(Entry.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class LogContent:
    """What a log holds: the last answer for each item and worker."""

    entries: Mapping[Key, Entry] = field(default_factory=dict)
    size: int = 0
    """The bytes of complete lines."""
    torn: int = 0
    """The bytes of a last line that is not complete, because the program was killed while it wrote."""


def read_log(path: PathLike) -> LogContent:
    """The answers in a log; an empty log if there is no file."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return LogContent()
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {error.strerror}") from None
    size = data.rfind(b"\n") + 1
    entries: dict[Key, Entry] = {}
    for number, line in enumerate(data[:size].split(b"\n")[:-1], 1):
        entry = _entry(line, name, number)
        if entry.key not in entries or entry.state == LABELLED:
            entries[entry.key] = entry
    return LogContent(entries, size, len(data) - size)


def _entry(line: bytes, path: str, number: int) -> Entry:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(path, number, f"not valid JSON: {error}; the log of answers has been changed") from None
    if not isinstance(record, dict) or set(record) != set(_NAMES):
        raise DataError(
            path, number, f"is {shown(record)}, expected an answer that this program wrote; not a log of it"
        )
    return Entry(**record)


class LabelLog:
    """A log that is open for appending; no second program can open it at the same time.

    A line counts when `append` has returned: it is on the disk then.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        try:
            self._file: IO[bytes] = open(self.path, "ab")  # noqa: SIM115 it stays open
        except OSError as error:
            raise DataError(self.path, None, f"cannot be written: {error.strerror}") from None
        try:
            _lock(self._file, self.path)
            self.content = read_log(self.path)
            if self.content.torn:
                os.truncate(self.path, self.content.size)
        except BaseException:
            self._file.close()
            raise

    def append(self, entries: Iterable[Entry]) -> None:
        """Write answers, and wait until they are on the disk."""
        lines = [json.dumps(asdict(entry), ensure_ascii=True) + "\n" for entry in entries]
        if lines:
            self._file.write("".join(lines).encode("ascii"))
            self._file.flush()
            os.fsync(self._file.fileno())

    def __enter__(self) -> LabelLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _lock(file: IO[bytes], path: str) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(
            f"{path} is in use by another program that asks for labels; wait for it, or name another file"
        ) from None


def keep_templates(path: PathLike, prompts: Sequence[Prompt], scale: Mapping[str, str]) -> None:
    """Write the templates that are not yet in the file of prompts beside the log, each once, with its digest."""
    name = os.fspath(path) + PROMPTS_SUFFIX
    known: list[dict[str, Any]] = []
    if os.path.exists(name):
        with open(name, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise DataError(name, number, f"not valid JSON: {error}; {OTHER_FILE}") from None
                if not isinstance(record, dict):
                    raise DataError(
                        name, number, f"is {shown(record)}, expected the template of a prompt; {OTHER_FILE}"
                    )
                known.append(record)
    records = [
        {"name": prompt.name, "digest": prompt.digest, "scale": dict(scale), "template": prompt.template}
        for prompt in prompts
    ]
    added = [record for record in records if record not in known]
    if added:
        write_bytes(name, "".join(json.dumps(record) + "\n" for record in [*known, *added]).encode())
