"""The engines that scan logs: DuckDB on one machine, Spark on a cluster, behind one interface."""

from __future__ import annotations

from cranfield.online.engines.engine import Engine as Engine
from cranfield.online.engines.engine import open_engine as open_engine

__all__ = ["Engine", "open_engine"]
