"""Packages that are imported on first use."""

from __future__ import annotations

from typing import Any


def pandas() -> Any:
    """The package pandas."""
    import pandas

    return pandas
