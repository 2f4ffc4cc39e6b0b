"""Ctrl-C while the program `cranfield` starts: one line and the exit code 130, not a traceback.

The package imports this module first, and it imports nothing that takes time. It does nothing in other programs that
import the package, which have rules of their own for Ctrl-C.
"""

import _signal  # type: ignore[import-not-found]  # built into Python; `signal` takes milliseconds
import os
import sys

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 + SIGINT."""
PROGRAMS = ("cranfield", "cranfield.exe", "cranfield-script.py")


def quit_at_once(number: int, frame: object) -> None:
    """End the process, where there is nothing to tidy up."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def is_program() -> bool:
    """Is this the program `cranfield`, or `python -m cranfield`?"""
    name = getattr(sys, "argv", [""])[:1]
    if name == ["-m"]:  # while Python looks for the module
        return "cranfield" in sys.orig_argv or "-mcranfield" in sys.orig_argv
    return bool(name) and os.path.basename(name[0]) in PROGRAMS


def install() -> None:
    """Let Ctrl-C end the program at once, unless somebody has decided otherwise (`nohup` ignores it)."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, quit_at_once)


if is_program():
    install()
