"""The command line as a user meets it: words in, exit code and two streams out."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from cranfield.cli import main
from cranfield.samples import Sample, sample


class Result(NamedTuple):
    code: int
    out: str
    err: str


Cranfield = Callable[..., Result]


def in_process(*words: str, stdin: bytes = b"") -> Result:
    """Run the console script's function here, with streams of its own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(sys, "stdin", given):
        code = main(list(words))
    texts = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        texts.append(stream.read())
    return Result(code, *texts)


def as_process(*words: str | bytes, stdin: bytes = b"", **environment: str) -> Result:
    """Run it as a program."""
    done = subprocess.run(
        [sys.executable, "-m", "cranfield", *words],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
    )
    return Result(done.returncode, *(text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr)))


@pytest.fixture
def cranfield() -> Cranfield:
    return in_process


@pytest.fixture
def program() -> Cranfield:
    return as_process


@pytest.fixture(scope="session")
def collection() -> Sample:
    return sample()


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One topic, in the current folder: `a` relevant at rank 1, `b` judged non-relevant, `c` unjudged, `d` relevant."""
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n1 0 d 2\n")
    (tmp_path / "mine.run").write_text("1 Q0 a 1 9 mine\n1 Q0 b 2 8 mine\n1 Q0 c 3 7 mine\n1 Q0 d 4 6 mine\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
