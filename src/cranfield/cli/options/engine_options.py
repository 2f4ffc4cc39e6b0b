"""The options of verbs that scan a table or a log on an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, Verb, option

if TYPE_CHECKING:
    from cranfield.online.engines import Engine


def wait() -> Any:
    return option(
        "--wait SECONDS",
        "The seconds to wait for a free worker of a Spark cluster.",
        default=120.0,
        group=MORE,
        solves="wait=",
    )


class OnEngine(Verb):
    """`--engine` and its memory."""

    engine: str = option(
        "--engine NAME",
        "The engine that scans the rows: duckdb, spark, or a Spark master such as local[2] or spark://host:7077.",
        default="duckdb",
        group=MORE,
    )
    memory: str | None = option(
        "--memory SIZE", "The most memory that the engine may use, such as 2GB.", group=MORE, solves="memory="
    )
    wait: float = wait()

    def open_engine(self) -> Engine:
        """The engine that the options name."""
        from cranfield.online.engines import open_engine

        return open_engine(self.engine, memory=self.memory, wait=self.wait)
