"""What a measure is in full: its name with every parameter, and the code of measures from outside this package."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

from cranfield.measures.base import Measure


def definition(measure: Measure) -> str:
    """The measure with all its parameters, those of default value too; with a digest of its file if it is not ours.

    >>> from cranfield.measures import RBP
    >>> definition(RBP(p=0.5))
    "RBP(p=0.5, rel=1, gain=None, largest='judgments', cutoff=None, views=())"
    """
    return " ".join([_in_full(measure), *map(_digest_of_file, files_outside(measure))])


def _in_full(value: Any) -> str:
    if isinstance(value, Measure):
        return f"{type(value).__name__}({', '.join(f'{name}={_in_full(x)}' for name, x in vars(value).items())})"
    return repr(value)


def files_outside(measure: Measure) -> list[str]:
    """The files of the measure, and of the measures in its parameters, that are not part of this package."""
    modules = sorted(name for name in _modules(measure) if name.partition(".")[0] != "cranfield")
    files = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    return [file for file in files if file]


def _modules(measure: Measure) -> set[str]:
    """The modules of a measure and of the measures in its parameters."""
    inner = (value for value in vars(measure).values() if isinstance(value, Measure))
    return {type(measure).__module__}.union(*map(_modules, inner))


def _digest_of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:16]
    except OSError:
        return "of an unknown file"
