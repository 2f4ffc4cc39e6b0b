"""Open the database of a project that exists."""

from __future__ import annotations

import os

from cranfield.building.serve.store import Store
from cranfield.errors import DataError


def existing(where: str) -> Store:
    """The store at a path or URL. A file that does not exist or is empty is an error: nothing is made in its place."""
    if "://" not in where:
        if not os.path.exists(where):
            raise DataError(where, None, "there is no such database")
        if os.path.isfile(where) and not os.path.getsize(where):
            raise DataError(where, None, "is empty, expected the database of a judging project")
    return Store(where)
