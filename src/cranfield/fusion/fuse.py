"""`fuse`: one run from several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.collection.run import Run
from cranfield.declared.operation import about, operation
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.fusion.fusion_methods import INVERTED, NORMALISATIONS, Fusion, FusionMethod, RetrievedLists, normalised
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

USUAL = "min-max"
"""The normalisation of methods that use scores."""
NORMALISING = "combsum"
"""The method for one run: the sum of one score is the normalised score."""


@operation
def fuse(
    runs: RunsLike,
    method: Annotated[
        str | None,
        about(
            "{names}; default: rrf, for one run combsum.",
            names="fusion.fusion_methods:FUSION_METHODS",
            spelled="--method METHOD",
        ),
    ] = None,
    *,
    norm: Annotated[
        str | None,
        about(
            "How scores are normalised: {names}; default: min-max. min-max-inverted is for distances: the lowest is "
            "best. Methods that use ranks take none.",
            names="fusion.fusion_methods:NORMALISATIONS",
        ),
    ] = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    depth: Annotated[int | None, about("Use the first N documents of each list; default: all.", least=1)] = None,
    top: Annotated[int | None, about("Keep the first N documents of each fused list; default: all.", least=1)] = None,
    name: Annotated[
        str | None, about("The name of the fused run; default: the method, for one run its own name.")
    ] = None,
    order: str | None = None,
    ties: str | None = None,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
    **parameter: float,
) -> Run:
    r"""One run from several: documents are scored by their ranks or scores in all runs. One run is normalised.

    .. math:: \text{rrf}(d) = \sum_i \frac{w_i}{k + \text{rank}_i(d)}, \qquad
        \text{combsum}(d) = \sum_i w_i\, s_i(d), \qquad \text{combmnz}(d) = n(d) \sum_i w_i\, s_i(d)

    A document that a run lacks adds nothing (with borda: its share of the points left). A topic is fused from the runs
    that have it; a warning counts topics that some run lacks.

    runs: anything that `evaluate` takes: files, patterns, dicts, frames, `Run`s, or {name: run}. The scores of one run
        are normalised; it keeps its name.
    method: a name, which may have a parameter: "rrf(k=20)"; default: rrf, for one run combsum. rrf (`k=60`), isr,
        logisr, lognisr (`sigma=0.01`), borda, condorcet and rbc (`phi=0.8`) use ranks; combsum, combmnz, combgmnz
        (`gamma=2`), combanz, combmax, combmin and combmed use scores.
    norm: how scores are normalised list by list: min-max (the default), min-max-inverted (the lowest score is best),
        max, sum, z, rank or none. See `normalisation`.
    weights: a number for each run, in their order, or {name: number}; default: 1 each.
    depth: use the first `depth` documents of every list.
    top: keep the first `top` documents of every fused list.
    order, ties: how the lists are ranked: `score` (default), `rank` or `file`, and equal scores `z-a` (default), `a-z`
        or as in the `file`. Equal scores of the fused list are ordered `z-a`.

    Reference: Fox & Shaw, Combination of multiple searches, TREC-2, 1994; Cormack, Clarke & Büttcher, SIGIR 2009,
    doi:10.1145/1571941.1572114; Aslam & Montague, SIGIR 2001, doi:10.1145/383952.384007

    >>> bm25, dense = {"q": {"a": 9.0, "b": 5.0}}, {"q": {"b": 0.8, "c": 0.6}}
    >>> [(place.doc, round(place.score, 4)) for place in fuse({"bm25": bm25, "dense": dense}, k=60).ranking("q")]
    [('b', 0.0325), ('a', 0.0164), ('c', 0.0161)]
    >>> fuse([bm25, dense], "combsum", weights=[1, 0.5]).to_dict()
    {'q': {'a': 1.0, 'b': 0.5, 'c': 0.0}}
    """
    settings = options or JoinOptions()
    if order is not None or ties is not None:
        settings = replace(settings, order=order or settings.order, ties=ties or settings.ties)

    def choose(method: str) -> Fusion:
        fusion = Fusion.of(method, **parameter)
        _check_norm(fusion.method, norm, settings, depth)
        return fusion

    wanted = None if method is None else choose(method)  # before the runs are read, which may take a while
    lists = RetrievedLists.of(runs, depth=depth, options=settings, progress=progress)
    several = len(lists.runs) > 1
    fusion = wanted or choose("rrf" if several else NORMALISING)
    if not lists.size:
        raise UsageError(f"{counted(len(lists.runs), 'run')} without any document: {listed(lists.runs)}")
    _warn_of_missing_topics(lists)
    weight = _weights(weights, lists.runs)[lists.list_run]
    if fusion.method.uses == "scores":
        lists = normalised(lists, norm or USUAL)
    values = fusion.method.fused(lists, lists.per_entry(weight), fusion.value)
    title = name or (lists.runs[0] if method is None and not several else str(fusion))
    table = lists.pooled.documents(np.ascontiguousarray(values)).renamed(title)
    return Run(table, title).top(top or max(1, int(np.diff(lists.start).max())))


def _check_norm(method: FusionMethod, norm: str | None, options: JoinOptions, depth: int | None) -> None:
    """Refuse a normalisation that the method does not use, or that lists in this order cannot have."""
    if norm is not None and method.uses == "ranks":
        raise UsageError(f"norm == {norm!r}, but {method.name} uses ranks, not scores; leave it out")
    if options.order == "rank" and method.uses == "scores" and norm != "rank":
        raise UsageError(f"order == 'rank', but {method.name} uses scores; use norm='rank', or a method such as rrf")
    if (
        norm is not None
        and NORMALISATIONS.find(norm).name == INVERTED
        and depth is not None
        and options.order != "file"
    ):
        raise UsageError(
            f"depth == {depth} keeps the highest scores, but with {INVERTED} the lowest are best; if the best "
            "documents are first in the runs, use order='file'"
        )


def _weights(weights: Sequence[float] | Mapping[str, float] | None, runs: tuple[str, ...]) -> Array:
    """The weight of each run."""
    if weights is None:
        return np.ones(len(runs))
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in runs:
                raise check.nearest(name, runs, "run")
        if len(weights) < len(runs):
            raise UsageError(f"weights lacks {listed([name for name in runs if name not in weights])}")
        weights = [weights[name] for name in runs]
    if len(weights) != len(runs):
        raise UsageError(f"{counted(len(weights), 'weight')} for {len(runs)} runs ({listed(runs)}); give one for each")
    for name, weight in zip(runs, weights, strict=True):
        check.finite("fuse", **{f"weight of {name}": weight})
        check.not_negative("fuse", **{f"weight of {name}": weight})
    if not any(weights):
        raise UsageError("fuse: all weights are 0, at least one must be above 0")
    return np.asarray(weights, dtype=np.float64)


def _warn_of_missing_topics(lists: RetrievedLists) -> None:
    have = np.bincount(lists.list_run, minlength=len(lists.runs))
    short = [
        f"{name} ({len(lists.topics) - count} of {len(lists.topics)})"
        for name, count in zip(lists.runs, have.tolist(), strict=True)
        if count < len(lists.topics)
    ]
    if short:
        message = f"topics missing from runs, fused from the other runs: {listed(short)}"
        warn_caller(message, CranfieldWarning)
