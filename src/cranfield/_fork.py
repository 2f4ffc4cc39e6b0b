"""Let a process fork while its threads evaluate.

In Python 3.11, every `cached_property` has a lock, which is held while the value is computed. A forked child has a copy
of the lock, but not the thread that would release it: the child would wait for ever. Later versions have no lock.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from functools import cached_property


def install() -> None:
    """Give the child of every fork new locks."""
    if sys.version_info < (3, 12) and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew_locks)


def renew_locks() -> None:
    """Replace the locks of all cached properties of this package."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cranfield."):
            for thing in list(vars(module).values()):
                if isinstance(thing, type):
                    for attribute in vars(thing).values():
                        if isinstance(attribute, cached_property):
                            attribute.__dict__["lock"] = RLock()
