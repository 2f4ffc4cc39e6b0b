"""Ask many questions at once, with a limit, retries, and an answer written to the log as soon as it is there.

The log has a line of JSON for each answer, appended and never changed, so that work can resume.
"""

from __future__ import annotations

import json
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import IO, Annotated, Any, TypedDict

from cranfield.building.machine.endpoint import LONGEST, Answer, AskError, Endpoint, EndpointError
from cranfield.building.machine.questions import Key, Prompt, Question, Reading, read_grade
from cranfield.collection.source import PathLike, write_bytes
from cranfield.declared.operation import about
from cranfield.errors import DataError, UsageError
from cranfield.text import shown
from cranfield.types import Progress

LABELLED, UNPARSED = "labelled", "unparsed"
"""The states of an answer: it has a grade, or no grade could be read from it."""
PROMPTS_SUFFIX = ".prompts"
"""The templates are in a file beside the log, whose name ends in this."""
OTHER_FILE = "move this file away, or name another log"


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


POLL = 0.05
"""Seconds between two looks at how far the work is."""
FAILURES_IN_A_ROW = 10
"""After this many questions that failed, with no answer between them, no further question is asked."""


class Patience(TypedDict, total=False):
    """How often and how long to try."""

    concurrency: Annotated[int, about("Questions that are open at a time.", 4, least=1, rare=True)]
    attempts: Annotated[
        int, about("How often to ask if the endpoint is busy (429), fails (5xx) or hangs up.", 6, least=1, rare=True)
    ]
    first_wait: Annotated[
        float,
        about(
            "Seconds before the second attempt; they double each time.",
            1.0,
            least=0,
            most=LONGEST,
            rare=True,
            spelled="--first-wait S",
        ),
    ]
    longest_wait: Annotated[
        float,
        about(
            "The most seconds between attempts.", 120.0, least=0, most=LONGEST, rare=True, spelled="--longest-wait S"
        ),
    ]


def waiting_time(patience: Patience, attempt: int, jitter: float) -> float:
    """Seconds to wait after this number of attempts, less up to half of them at random; jitter is between 0 and 1.

    >>> patience = Patience(first_wait=1, longest_wait=5)
    >>> [waiting_time(patience, attempt, 0.0) for attempt in (1, 2, 3, 4)]
    [1.0, 2.0, 4.0, 5.0]
    """
    doubled = patience["first_wait"] * 2.0 ** min(attempt - 1, 60)
    return float(min(patience["longest_wait"], doubled) * (1 - jitter / 2))


@dataclass
class Asked:
    """What came of the questions. Answers are in the log."""

    answered: int = 0
    failed: list[tuple[Question, str]] = field(default_factory=list)
    """Questions without an answer, and why."""
    stopped: str = ""
    """Why no further question was asked."""
    interrupted: bool = False


class _Stopped(Exception):
    """A question was given up because the work was stopped."""


class _Worker(threading.Thread):
    """A thread that says itself when it has finished.

    `Thread.join` and `Thread.is_alive` do not: if Ctrl-C interrupts `join`, Python 3.11 takes a running thread for a
    finished one, and its answer would be lost.
    """

    def __init__(self, work: Callable[[Iterator[Question]], None], waiting: Iterator[Question]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._waiting = waiting
        self._finished = threading.Event()

    @property
    def active(self) -> bool:
        return self.ident is not None and not self._finished.is_set()

    def run(self) -> None:
        try:
            self._work(self._waiting)
        finally:
            self._finished.set()


class Asker:
    """Threads that ask, one that writes, and the caller that waits."""

    def __init__(
        self,
        endpoint: Endpoint,
        log: LabelLog,
        scale: Mapping[str, str],
        patience: Patience,
        *,
        on_interrupt: Callable[[int], None] = lambda open_questions: None,
    ) -> None:
        self.endpoint = endpoint
        self.log = log
        self.scale = tuple(scale)
        self.patience = patience
        self.on_interrupt = on_interrupt
        self.asked = Asked()
        self._results: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._in_a_row = 0
        self._open = 0
        self._written = threading.Event()
        self._error: BaseException | None = None

    def run(self, questions: Iterable[Question], total: int, progress: Progress | None = None) -> Asked:
        """Ask all questions. Ctrl-C stops asking and waits for open questions; a second one drops these."""
        waiting = iter(questions)
        count = max(1, min(self.patience["concurrency"], total))
        workers = [_Worker(self._work, waiting) for _ in range(count)]
        writer = threading.Thread(target=self._write, daemon=True)
        writer.start()
        try:
            for worker in workers:
                worker.start()
            self._wait(workers, total, progress)
        except KeyboardInterrupt:
            self.asked.interrupted = True
            self._stop.set()
            self.on_interrupt(self._open)
            with suppress(KeyboardInterrupt):  # then open questions are dropped: they will be asked again
                self._wait(workers, total, progress)
        finally:
            self._stop.set()
            self._results.put(None)
            while not self._written.is_set():
                time.sleep(POLL)
        if self._error is not None:
            raise self._error
        return self.asked

    def _wait(self, workers: list[_Worker], total: int, progress: Progress | None) -> None:
        while any(worker.active for worker in workers):
            time.sleep(POLL)
            if progress is not None:
                progress(self.asked.answered + len(self.asked.failed), total)

    def _work(self, waiting: Iterator[Question]) -> None:
        try:
            while not self._stop.is_set():
                with self._lock:
                    question = next(waiting, None)
                    self._open += question is not None
                if question is None:
                    return
                try:
                    self._settle(question)
                finally:
                    with self._lock:
                        self._open -= 1
        except _Stopped:
            pass
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
            self._stop.set()

    def _settle(self, question: Question) -> None:
        """Ask until there is an answer, or no hope."""
        began = time.monotonic()
        try:
            answer, attempts = self._ask(question)
        except EndpointError as error:
            self._give_up(str(error))
            return
        except AskError as error:
            with self._lock:
                self.asked.failed.append((question, str(error)))
                self._in_a_row += 1
                hopeless = self._in_a_row >= FAILURES_IN_A_ROW
            if hopeless:
                self._give_up(f"{FAILURES_IN_A_ROW} questions in a row failed, the last one because: {error}")
            return
        with self._lock:
            self._in_a_row = 0
        self._results.put(self._entry(question, answer, attempts, time.monotonic() - began))

    def _ask(self, question: Question) -> tuple[Answer, int]:
        for attempt in range(1, self.patience["attempts"] + 1):
            self._pause_until(self._not_before)
            try:
                return self.endpoint.ask(question.text), attempt
            except AskError as error:
                if not error.again or attempt == self.patience["attempts"]:
                    raise
                if error.wait > self.patience["longest_wait"]:
                    message = f"{error}; the endpoint asks to wait {error.wait:.0f} seconds, which is too long"
                    raise EndpointError(message) from None
                wait = max(error.wait, waiting_time(self.patience, attempt, random.random()))
                until = time.monotonic() + wait
                if error.too_many:  # all threads slow down
                    with self._lock:
                        self._not_before = max(self._not_before, time.monotonic() + max(error.wait, 0.0))
                self._pause_until(until)
        raise AssertionError("unreachable")

    def _pause_until(self, moment: float) -> None:
        """Wait; a stop ends the question."""
        while (left := max(moment, self._not_before) - time.monotonic()) > 0 or self._stop.is_set():
            if self._stop.wait(max(left, 0.0)):
                raise _Stopped

    def _give_up(self, why: str) -> None:
        with self._lock:
            self.asked.stopped = self.asked.stopped or why
        self._stop.set()

    def _entry(self, question: Question, answer: Answer, attempts: int, seconds: float) -> Entry:
        reading = Reading(None, "the model refused") if answer.refused else read_grade(answer.text, self.scale)
        return Entry(
            topic=question.topic,
            doc=question.doc,
            worker=question.worker,
            label=reading.grade,
            state=UNPARSED if reading.grade is None else LABELLED,
            problem=reading.problem,
            prompt=question.digest,
            template=question.template,
            model=self.endpoint.model,
            parameters=dict(self.endpoint.parameters),
            answer=answer.text,
            finish=answer.finish,
            usage=dict(answer.usage),
            cut=question.cut,
            attempts=attempts,
            seconds=round(seconds, 3),
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )

    def _write(self) -> None:
        """Write answers as they come; those that wait together are written together."""
        try:
            ended = False
            while not ended:
                batch = [self._results.get()]
                with suppress(queue.Empty):
                    while batch[-1] is not None:
                        batch.append(self._results.get_nowait())
                ended = batch[-1] is None
                entries = [entry for entry in batch if entry is not None]
                self.log.append(entries)
                self.asked.answered += len(entries)
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
            self._stop.set()
        finally:
            self._written.set()
