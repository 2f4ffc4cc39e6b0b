"""Print the walk of a command line through the package: the files it visits, and how often it changes file.

    python tools/walk.py eval qrels.txt bm25.run -m nDCG@10

The command runs in this process under `sys.setprofile`. Calls of Python functions that are written in the package
count. Whatever runs while a module is imported does not count, nor do functions that Python generates, such as the
`__init__` of a dataclass. A change of file is a call into another file of the package than the previous call.
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import cranfield
from cranfield.cli import main

PACKAGE = Path(cranfield.__file__).parent


class Walk:
    """The calls into each file, in the order in which files are first visited; a function for `sys.setprofile`."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.changes = 0
        self.last = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(f"{PACKAGE}/") or _importing(frame):
            return
        self.calls[path] = self.calls.get(path, 0) + 1
        self.changes += path != self.last
        self.last = path


def _importing(frame: FrameType | None) -> bool:
    """Whether the body of a module, other than this one, is among the callers."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False


def walk_of(arguments: list[str]) -> Walk:
    """The walk of the command `cranfield` with these arguments; what it prints is thrown away."""
    walk = Walk()
    sys.argv = ["cranfield", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.setprofile(walk)
        try:
            main()
        finally:
            sys.setprofile(None)
    return walk


if __name__ == "__main__":
    walk = walk_of(sys.argv[1:])
    for path, calls in walk.calls.items():
        print(f"{calls:6}  {Path(path).relative_to(PACKAGE)}")
    print(f"{len(walk.calls)} files, {walk.changes} changes of file")
