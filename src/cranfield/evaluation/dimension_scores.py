"""Relevance in several dimensions, each with judgments of its own: the measures of it as functions of all of them.

`evaluate(relevance, runs, ["uRBP", "CAM(AP)"], dimensions={"understandability": qrels})` scores the same by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.dimensions import RELEVANCE
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, evaluate
from cranfield.measures import CAM, MM, Measure, cRBP, uRBP
from cranfield.measures.base import Properties
from cranfield.measures.multidimensional import BiasedRBP
from cranfield.scores.scores import Scores

ALONE = "the-same"
"""One dimension alone has no other beside it: it stands beside itself, where it does not count."""


class _Product(BiasedRBP):
    """Rank-biased precision over any number of dimensions."""

    by_dimension: tuple[tuple[str, str], ...] = ()

    name = "RBP"
    properties = Properties(graded=True, recall_free=True, additive=True)

    def factors(self) -> tuple[tuple[str, str], ...]:
        return self.by_dimension


def biased_rbp(
    dimensions: Mapping[str, Any],
    runs: Any,
    *,
    p: float = 0.8,
    rel: float = 1,
    gains: Mapping[str, str] | None = None,
    **join: Any,
) -> Scores:
    r"""Rank-biased precision where a document counts as much as all its dimensions allow.

    .. math:: (1 - p) \sum_r p^{r-1} \prod_i g_i(r)

    `gains` says for each dimension whether its gain is `binary` (1 from grade `rel` on; also where nothing is said) or
    `linear` (the grade divided by the largest of that dimension, none below 0). A document that a dimension does not
    judge has no gain. Topics are those judged in every dimension. `join` are the other arguments of `evaluate`.

    Reference: Zuccon, Understandability Biased Evaluation for Information Retrieval, ECIR 2016

    >>> topical, clear = {"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 0, "d2": 2}}
    >>> run = {"q": {"d1": 2.0, "d2": 1.0}}
    >>> biased_rbp({"topical": topical, "clear": clear}, run, p=0.5).mean()["run"]
    {'RBP(p=0.5)': 0.25}
    """
    main, others = _parted(dimensions)
    given = dict(gains or {})
    for dimension, kind in given.items():
        check.one_of("biased_rbp", ("binary", "linear"), **{f"gains[{dimension!r}]": kind})
        if dimension not in dimensions:
            raise UsageError(f"gains: no dimension {dimension!r}; there are {', '.join(map(repr, dimensions))}")
    kinds = tuple((RELEVANCE if name == main else name, given.get(name, "binary")) for name in (main, *others))
    measure = _Product(p=p, rel=rel, by_dimension=kinds)
    return _scores(dimensions, runs, {f"RBP(p={p:g})": measure}, join)


def urbp(relevance: Any, understandability: Any, runs: Any, *, graded: bool = False, **more: Any) -> Scores:
    """uRBP: rank-biased precision that counts a relevant document as far as it can be understood.

    With `graded` (uRBPgr) understandability is its grade divided by the largest; without, it is binary. `more` are `p`,
    `rel`, and the other arguments of `evaluate`. See `cranfield measures uRBP`.

    >>> run = {"q": {"d1": 2.0, "d2": 1.0}}
    >>> urbp({"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 1, "d2": 2}}, run, p=0.5, graded=True).mean()["run"]
    {'uRBPgr(p=0.5)': 0.5}
    """
    return _biased(uRBP, {RELEVANCE: relevance, "understandability": understandability}, runs, graded, more)


def crbp(relevance: Any, credibility: Any, runs: Any, *, graded: bool = False, **more: Any) -> Scores:
    """cRBP: rank-biased precision that counts a relevant document as far as it can be believed.

    With `graded` credibility is its grade divided by the largest; without, it is binary. `more` are `p`, `rel`, and the
    other arguments of `evaluate`. See `cranfield measures cRBP`.

    >>> run = {"q": {"d1": 2.0, "d2": 1.0}}
    >>> crbp({"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 1, "d2": 0}}, run, p=0.5).mean()["run"]
    {'cRBP(p=0.5)': 0.5}
    """
    return _biased(cRBP, {RELEVANCE: relevance, "credibility": credibility}, runs, graded, more)


def cam(
    dimensions: Mapping[str, Any],
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    **join: Any,
) -> Scores:
    """CAM, the convex aggregating measure: the weighted mean of a measure over the dimensions.

    `weights` are divided by their sum; left out, all are the same. Topics are those judged in every dimension. Where
    the measure is undefined in a dimension that has weight, so is its mean. `join` are the other arguments of
    `evaluate`. See `cranfield measures CAM`.

    >>> dimensions = {"relevant": {"q": {"d1": 1, "d2": 0}}, "credible": {"q": {"d1": 0, "d2": 1}}}
    >>> cam(dimensions, {"q": {"d1": 2.0, "d2": 1.0}}, "RR", weights={"relevant": 3, "credible": 1}).mean()["run"]
    {'CAM(RR)': 0.875}
    """
    return _over(CAM, dimensions, runs, measures, weights, join)


def mm(
    dimensions: Mapping[str, Any],
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    **join: Any,
) -> Scores:
    """MM, the multidimensional measure: the weighted harmonic mean of a measure over the dimensions.

    0 where one of the dimensions scores 0: no dimension makes up for another. `weights` are divided by their sum; left
    out, all are the same. Topics are those judged in every dimension. `join` are the other arguments of `evaluate`. See
    `cranfield measures MM`.

    >>> dimensions = {"relevant": {"q": {"d1": 1, "d2": 0}}, "credible": {"q": {"d1": 0, "d2": 1}}}
    >>> scores = mm(dimensions, {"q": {"d1": 2.0, "d2": 1.0}}, "RR")
    >>> round(scores.mean()["run"]["MM(RR)"], 4)
    0.6667
    """
    return _over(MM, dimensions, runs, measures, weights, join)


def _biased(
    kind: type[uRBP] | type[cRBP], dimensions: Mapping[str, Any], runs: Any, graded: bool, more: dict[str, Any]
) -> Scores:
    measure = kind(p=more.pop("p", 0.8), rel=more.pop("rel", 1), graded=graded)
    return _scores(dimensions, runs, {f"{kind.name}{'gr' if graded else ''}(p={measure.p:g})": measure}, more)


def _over(
    kind: type[CAM] | type[MM],
    dimensions: Mapping[str, Any],
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None,
    weights: Mapping[str, float] | None,
    join: dict[str, Any],
) -> Scores:
    _parted(dimensions)
    given = dict.fromkeys(dimensions, 1.0) if weights is None else dict(weights)
    if set(given) != set(dimensions):
        raise UsageError(f"{kind.name}: weights of {sorted(given)}, must be of the dimensions: {sorted(dimensions)}")
    kind(weights=given)  # complains about weights below 0, and where none is above
    counted = {name: qrels for name, qrels in dimensions.items() if given[name]}
    main, others = _parted(counted)
    shares = {RELEVANCE: given[main], **({name: given[name] for name in others} or {ALONE: 0.0})}
    made = {f"{kind.name}({one})": kind(inner=one, weights=shares) for one in as_measures(measures)}
    return _scores(counted, runs, made, join)


def _parted(dimensions: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Which of the dimensions is taken for the judgments themselves, and the others."""
    if not isinstance(dimensions, Mapping) or not dimensions:
        raise UsageError(f"dimensions == {dimensions!r}, must be {{name: qrels}} with one dimension or more")
    main = RELEVANCE if RELEVANCE in dimensions else next(iter(dimensions))
    return main, [name for name in dimensions if name != main]


def _scores(dimensions: Mapping[str, Any], runs: Any, measures: Mapping[str, Measure], join: dict[str, Any]) -> Scores:
    """The measures by the names they are given here, on the topics judged in every dimension."""
    main, others = _parted(dimensions)
    judgments = {name: Qrels.of(qrels) for name, qrels in dimensions.items()}
    beside = {name: judgments[name] for name in others} or {ALONE: judgments[main]}
    found = evaluate(judgments[main], runs, list(measures.values()), dimensions=beside, **join)
    shared = set.intersection(*(set(one.topics) for one in judgments.values()))
    found = found.select(topics=[topic for topic in found.topics if topic in shared])
    values = np.asarray(found.values)
    return Scores(list(measures), found.runs, found.topics, values, found.missing, found.missing_rule, found.notes)
