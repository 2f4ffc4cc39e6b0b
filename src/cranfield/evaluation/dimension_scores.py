"""Scores over judgments in several dimensions, none of which is the main one.

`evaluate(qrels, runs, ["uRBP", "CAM(AP)", "MM(AP)"], dimensions={"credibility": other})` scores measures by name.
`biased_rbp` is for products of any number of dimensions, which have no name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cranfield import check
from cranfield.assessed.dimensions import RELEVANCE
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, evaluate
from cranfield.measures import CAM, MM, Measure
from cranfield.measures.base import Properties
from cranfield.measures.several_needs.multidimensional import BiasedRBP
from cranfield.scores.scores import Scores

COPY = "copy"
"""A copy of a single dimension, because `evaluate` needs two; it does not count."""


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
    r"""Rank-biased precision where the gain of a document is the product of its gains in all dimensions.

    .. math:: (1 - p) \sum_r p^{r-1} \prod_i g_i(r)

    `gains` says for each dimension whether its gain is `binary` (1 from grade `rel` on; the default) or `linear` (the
    grade divided by the largest of the dimension, at least 0). A document that a dimension does not judge has gain 0.
    Topics are those judged in every dimension. `join` are the other arguments of `evaluate`.

    Reference: Zuccon, Understandability Biased Evaluation for Information Retrieval, ECIR 2016

    >>> topical, clear = {"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 0, "d2": 2}}
    >>> run = {"q": {"d1": 2.0, "d2": 1.0}}
    >>> biased_rbp({"topical": topical, "clear": clear}, run, p=0.5).mean()["run"]
    {'RBP(p=0.5)': 0.25}
    """
    kinds = dict.fromkeys(dimensions, "binary") | dict(gains or {})
    for name, kind in kinds.items():
        check.one_of("biased_rbp", ("binary", "linear"), **{f"gains[{name!r}]": kind})
        if name not in dimensions:
            raise UsageError(f"gains: no dimension {name!r}; there are {', '.join(map(repr, dimensions))}")
    main = _main(dimensions)
    factors = tuple((RELEVANCE if name == main else name, kind) for name, kind in kinds.items())
    return _scores(dimensions, runs, {f"RBP(p={p:g})": _Product(p=p, rel=rel, by_dimension=factors)}, join)


Measures = MeasureLike | Iterable[MeasureLike] | None


def cam(
    dimensions: Mapping[str, Any], runs: Any, measures: Measures = None, *, weights: Any = None, **join: Any
) -> Scores:
    """`CAM(M)` for each measure M, on the topics judged in every dimension with a weight above 0."""
    return _means(CAM, dimensions, runs, measures, weights, join)


def mm(
    dimensions: Mapping[str, Any], runs: Any, measures: Measures = None, *, weights: Any = None, **join: Any
) -> Scores:
    """`MM(M)` for each measure M, on the topics judged in every dimension with a weight above 0."""
    return _means(MM, dimensions, runs, measures, weights, join)


def _means(kind: Any, dimensions: Mapping[str, Any], runs: Any, measures: Measures, weights: Any, join: Any) -> Scores:
    weights = dict.fromkeys(dimensions, 1.0) if weights is None else dict(weights)
    if set(weights) != set(dimensions):
        raise UsageError(f"{kind.name}: weights of {sorted(weights)}, must be of the dimensions: {sorted(dimensions)}")
    kind(weights=weights)  # checks the weights
    used = {name: qrels for name, qrels in dimensions.items() if weights[name]}
    main = _main(used)
    shares = {RELEVANCE if name == main else name: weights[name] for name in used}
    if len(used) == 1:
        shares[COPY] = 0.0
    means = {f"{kind.name}({measure})": kind(inner=measure, weights=shares) for measure in as_measures(measures)}
    return _scores(used, runs, means, join)


def _main(dimensions: Mapping[str, Any]) -> str:
    """The name of the dimension that is used as the main judgments."""
    if not isinstance(dimensions, Mapping) or not dimensions:
        raise UsageError(f"dimensions == {dimensions!r}, must be {{name: qrels}} with at least one dimension")
    return RELEVANCE if RELEVANCE in dimensions else next(iter(dimensions))


def _scores(dimensions: Mapping[str, Any], runs: Any, measures: Mapping[str, Measure], join: dict[str, Any]) -> Scores:
    """The measures under these names, on the topics judged in every dimension."""
    judgments = {name: Qrels.of(qrels) for name, qrels in dimensions.items()}
    shared = set.intersection(*(set(qrels.topics) for qrels in judgments.values()))
    main = judgments.pop(_main(dimensions))
    scores = evaluate(main, runs, list(measures.values()), dimensions=judgments or {COPY: main}, **join)
    scores = scores.select(topics=[topic for topic in scores.topics if topic in shared])
    return Scores(
        list(measures), scores.runs, scores.topics, scores.values, scores.missing, scores.missing_rule, scores.notes
    )
