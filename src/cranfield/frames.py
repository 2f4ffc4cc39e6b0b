"""Tables for pandas, polars and Arrow, and the import of optional packages."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError


def need(module: str, extra: str) -> Any:
    """Import an optional package, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UsageError(f"{extra} needs {package}, which is not installed: pip install {package}") from None


class Tidy:
    """Anything that can be told as a table of columns, for pandas, polars and Arrow."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """One array per column, all of one length."""
        raise NotImplementedError

    def _metadata(self) -> dict[str, Any]:
        return {}

    def to_pandas(self) -> Any:
        """A pandas frame, one row per entry; facts that are no column are in `attrs["cranfield"]`."""
        frame = need("pandas", "to_pandas").DataFrame(self.columns())
        facts = self._metadata()
        if facts:
            frame.attrs["cranfield"] = facts
        return frame

    def to_polars(self) -> Any:
        """A polars frame, one row per entry; undefined is null."""
        polars = need("polars", "to_polars")
        types = {"O": polars.String, "f": polars.Float64, "b": polars.Boolean, "i": polars.Int64}
        series = [
            polars.Series(name, column.tolist(), dtype=types[column.dtype.kind])
            for name, column in self.columns().items()
        ]
        return polars.DataFrame(series).with_columns(polars.selectors.float().fill_nan(None))

    def to_arrow(self) -> Any:
        """A pyarrow table, one row per entry; undefined is null; facts that are no column are metadata."""
        arrow = need("pyarrow", "to_arrow")
        types = {"O": arrow.string(), "f": arrow.float64(), "b": arrow.bool_(), "i": arrow.int64()}
        made = {}
        for name, column in self.columns().items():
            undefined = np.isnan(column) if column.dtype.kind == "f" else None
            made[name] = arrow.array(column, type=types[column.dtype.kind], mask=undefined)
        table = arrow.table(made)
        facts = self._metadata()
        if not facts:
            return table
        import json

        return table.replace_schema_metadata({"cranfield": json.dumps(facts)})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream interface: anything that reads it takes this object as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
