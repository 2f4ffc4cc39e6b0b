"""Let a process fork while its threads evaluate.

A forked child has a copy of every lock, but not the thread that would release it: the child would wait for ever. Two
kinds of locks matter here. A module has a lock while it is imported, and this package imports modules on first use; so
a fork waits until such an import is done. In Python 3.11, every `cached_property` has a lock, which is held while the
value is computed; later versions have no lock.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from functools import cached_property

IMPORTING = RLock()
"""Held while a module is imported on first use, and during a fork."""
PATIENCE = 30.0
"""Seconds that a fork waits for an import at most: a module may itself fork while it is imported."""
_held: list[bool] = []


def install() -> None:
    """Let forks wait for imports, and give the child of every fork new locks."""
    if not hasattr(os, "register_at_fork"):
        return
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=renew_locks)


def _wait() -> None:
    _held.append(IMPORTING.acquire(timeout=PATIENCE))


def _go_on() -> None:
    if _held.pop():
        IMPORTING.release()


def renew_locks() -> None:
    """Replace the locks of all cached properties of this package."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cranfield."):
            for thing in list(vars(module).values()):
                if isinstance(thing, type):
                    for attribute in vars(thing).values():
                        if isinstance(attribute, cached_property):
                            attribute.__dict__["lock"] = RLock()
