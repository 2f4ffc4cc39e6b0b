"""Tables for pandas, polars and Arrow, and the import of optional packages."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError


def need(module: str, what: str, extra: str = "") -> Any:
    """Import an optional package; the error says what needs it, and the extra that installs it, if several have it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if "failed to map segment" in str(error) or "Cannot allocate memory" in str(error):
            raise MemoryError(f"{what}: {error}") from None  # it is installed, and does not fit into memory
        package = module.partition(".")[0]
        extra = extra or _extra_with(package)
        command = install_command(extra) if extra else f"pip install {package}"
        raise UsageError(f"{what} needs {package}, which is not installed: {command}") from None


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra, for the cranfield that is installed.

    >>> install_command("yaml")
    "pip install 'cranfield[yaml]'"
    """
    return f"pip install 'cranfield[{extra}]'"


def _extra_with(package: str) -> str:
    """The first extra that installs a package; empty if none does."""
    from importlib.metadata import requires

    name = re.escape(package).replace("_", "[-_]")
    named = re.compile(rf"""{name}\b[^;]*;.*\bextra\s*==\s*['"](\w+)['"]""", re.IGNORECASE)
    extras = [match[1] for match in map(named.match, requires("cranfield") or ()) if match]
    return next((extra for extra in extras if extra not in ("all", "dev", "site")), "")


class Tidy:
    """A result with columns, which can be converted to pandas, polars and Arrow."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return one array per column, all of the same length."""
        raise NotImplementedError

    def _metadata(self) -> dict[str, Any]:
        return {}

    def to_pandas(self) -> Any:
        """Return a pandas frame. Facts that are not in a column are in `attrs["cranfield"]`."""
        frame = need("pandas", "to_pandas").DataFrame(self.columns())
        facts = self._metadata()
        if facts:
            frame.attrs["cranfield"] = facts
        return frame

    def to_polars(self) -> Any:
        """Return a polars frame; undefined is null."""
        polars = need("polars", "to_polars")
        types = {"O": polars.String, "f": polars.Float64, "b": polars.Boolean, "i": polars.Int64}
        series = [
            polars.Series(name, column.tolist(), dtype=types[column.dtype.kind])
            for name, column in self.columns().items()
        ]
        return polars.DataFrame(series).with_columns(polars.selectors.float().fill_nan(None))

    def to_arrow(self) -> Any:
        """Return a pyarrow table; undefined is null. Facts that are not in a column are in the metadata."""
        arrow = need("pyarrow", "to_arrow")
        types = {"O": arrow.string(), "f": arrow.float64(), "b": arrow.bool_(), "i": arrow.int64()}
        arrays = {}
        for name, column in self.columns().items():
            undefined = np.isnan(column) if column.dtype.kind == "f" else None
            arrays[name] = arrow.array(column, type=types[column.dtype.kind], mask=undefined)
        table = arrow.table(arrays)
        facts = self._metadata()
        if not facts:
            return table
        import json

        return table.replace_schema_metadata({"cranfield": json.dumps(facts)})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Implement the Arrow C stream interface, so that other libraries can read this object."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
