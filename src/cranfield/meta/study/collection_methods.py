"""Methods for studies that take judgments and all runs of a collection, where the function itself takes other input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.check import nearest
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.meta.reproduction.reproduction import Reproduction, reproduce
from cranfield.meta.stability.informativeness import Informativeness, informativeness
from cranfield.types import Progress


def inform_of_collection(
    qrels: Any,
    runs: Mapping[str, Run],
    measures: Any = None,
    *,
    depth: int = 1000,
    rel: float = 1.0,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> Informativeness:
    """How much scores say about the lists of a collection, see `informativeness`.

    Reference: Aslam, Yilmaz & Pavlu, SIGIR 2005, 27-34
    """
    return informativeness(join(qrels, runs, options), measures, depth=depth, rel=rel, progress=progress)


def reproduce_in_collection(
    qrels: Any,
    runs: Mapping[str, Run],
    measures: Any = None,
    *,
    baseline: Sequence[str],
    advanced: Sequence[str] | None = None,
    other_qrels: Any = None,
    p: float = 0.95,
    union: str = "rank",
    depth: int | None = None,
    missing: str = "zero",
    options: JoinOptions | None = None,
) -> Reproduction:
    """Compare runs of a collection with their repetitions, see `reproduce`; pairs are given by the names of runs.

    Reference: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036
    """

    def pair(role: str, names: Any) -> tuple[Run, Run]:
        if isinstance(names, str) or len(names) != 2:
            raise UsageError(f"{role} == {names!r}, must be the names of two runs: the original and its repetition")
        for name in names:
            if name not in runs:
                raise nearest(str(name), list(runs), "run")
        return runs[names[0]], runs[names[1]]

    both = None if advanced is None else pair("advanced", advanced)
    order, ties = (None, "z-a") if options is None else (options.order, options.ties)
    return reproduce(
        qrels, pair("baseline", baseline), both, measures, other_qrels=other_qrels, p=p, union=union, depth=depth,
        missing=missing, order=order, ties=ties,
    )  # fmt: skip
