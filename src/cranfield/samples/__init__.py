"""The bundled sample collection: topics, graded judgments and four runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """The paths of the sample collection."""

    qrels: str
    runs: tuple[str, ...]
    topics: str


def sample() -> Sample:
    """The bundled sample collection.

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
