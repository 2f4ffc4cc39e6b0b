"""A small collection of our own making, to try things on: graded judgments, four runs, ties, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """Where the files of the sample collection are."""

    qrels: str
    runs: tuple[str, ...]
    topics: str


def sample() -> Sample:
    """The sample collection that comes with the package.

    >>> import cranfield as cf
    >>> [Path(run).name for run in cf.sample().runs]
    ['bm25.run', 'coord.run', 'dense.run', 'fusion.run']
    """
    here = Path(__file__).parent
    return Sample(
        qrels=str(here / "qrels.txt"),
        runs=tuple(str(path) for path in sorted(here.glob("*.run"))),
        topics=str(here / "topics.xml"),
    )
