"""Open the database of a project that exists."""

from __future__ import annotations

import os

from cranfield.building.serve.store import Store
from cranfield.errors import DataError


def existing(where: str) -> Store:
    """The store at a path or URL; a file that does not exist is an error, it is not created."""
    if "://" not in where and not os.path.exists(where):
        raise DataError(where, None, "there is no such database")
    return Store(where)
