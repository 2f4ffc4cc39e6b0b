"""Relevance in several dimensions: one set of judgments each for topicality, understandability, credibility, ..."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from cranfield import check
from cranfield.aggregate import Array
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation import MeasureLike, evaluate
from cranfield.measures.ranked import RBP
from cranfield.scores import Scores

GAINS = ("binary", "linear")


def biased_rbp(
    dimensions: Mapping[str, Any],
    runs: Any,
    *,
    p: float = 0.8,
    rel: float = 1,
    gains: Mapping[str, str] | None = None,
    name: str = "RBP",
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
    judgments = _judgments(dimensions)
    chosen = dict.fromkeys(judgments, "binary") | dict(gains or {})
    for dimension, kind in chosen.items():
        if dimension not in judgments:
            raise UsageError(f"gains: no dimension {dimension!r}; there are {', '.join(map(repr, judgments))}")
        check.one_of(name, GAINS, **{f"gains[{dimension!r}]": kind})
    worth = [_worth(judgments[dimension], kind, rel) for dimension, kind in chosen.items()]
    product: dict[str, dict[str, float]] = {}
    for topic in _common(judgments):
        shared = set.intersection(*(set(of[topic]) for of in worth))
        product[topic] = {
            doc: float(np.prod([of[topic][doc] for of in worth])) for doc in worth[0][topic] if doc in shared
        }
    measure = RBP(p=p, gain="linear")
    return _renamed(evaluate(Qrels.from_dict(product), runs, measure, **join), f"{name}(p={p:g})")


def urbp(relevance: Any, understandability: Any, runs: Any, *, graded: bool = False, **more: Any) -> Scores:
    r"""uRBP: rank-biased precision that counts a relevant document as far as it can be understood.

    .. math:: (1 - p) \sum_r p^{r-1}\, P(R \mid r)\, P(U \mid r)

    With `graded` (uRBPgr) understandability is its grade divided by the largest; without, it is binary.

    Reference: Zuccon, Understandability Biased Evaluation for Information Retrieval, ECIR 2016

    >>> run = {"q": {"d1": 2.0, "d2": 1.0}}
    >>> urbp({"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 1, "d2": 2}}, run, p=0.5, graded=True).mean()["run"]
    {'uRBPgr(p=0.5)': 0.5}
    """
    return _biased("uRBP", "understandability", relevance, understandability, runs, graded, more)


def crbp(relevance: Any, credibility: Any, runs: Any, *, graded: bool = False, **more: Any) -> Scores:
    r"""cRBP: rank-biased precision that counts a relevant document as far as it can be believed.

    .. math:: (1 - p) \sum_r p^{r-1}\, P(R \mid r)\, P(C \mid r)

    With `graded` credibility is its grade divided by the largest; without, it is binary.

    Reference: Goeuriot et al., Overview of the CLEF eHealth Evaluation Lab 2020, CLEF 2020

    >>> run = {"q": {"d1": 2.0, "d2": 1.0}}
    >>> crbp({"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 1, "d2": 0}}, run, p=0.5).mean()["run"]
    {'cRBP(p=0.5)': 0.5}
    """
    return _biased("cRBP", "credibility", relevance, credibility, runs, graded, more)


def cam(
    dimensions: Mapping[str, Any],
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    **join: Any,
) -> Scores:
    r"""CAM, the convex aggregating measure: the weighted mean of a measure over the dimensions.

    .. math:: \sum_i \lambda_i M_i, \quad \sum_i \lambda_i = 1

    `weights` are divided by their sum; left out, all are the same. Topics are those judged in every dimension. Where
    the measure is undefined in a dimension that has weight, so is its mean. `join` are the other arguments of
    `evaluate`.

    Reference: Lioma, Simonsen & Larsen, Evaluation Measures for Relevance and Credibility in Ranked Lists, ICTIR 2017

    >>> dimensions = {"relevant": {"q": {"d1": 1, "d2": 0}}, "credible": {"q": {"d1": 0, "d2": 1}}}
    >>> cam(dimensions, {"q": {"d1": 2.0, "d2": 1.0}}, "RR", weights={"relevant": 3, "credible": 1}).mean()["run"]
    {'CAM(RR)': 0.875}
    """

    def mean(values: Array, weight: Array) -> Array:
        return np.asarray((values * weight[:, None, None, None]).sum(axis=0))

    return _over("CAM", mean, dimensions, runs, measures, weights, join)


def mm(
    dimensions: Mapping[str, Any],
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    **join: Any,
) -> Scores:
    r"""MM, the multidimensional measure: the weighted harmonic mean of a measure over the dimensions.

    .. math:: \frac{1}{\sum_i w_i / M_i}, \quad \sum_i w_i = 1

    0 where one of the dimensions scores 0: no dimension makes up for another. `weights` are divided by their sum; left
    out, all are the same. Topics are those judged in every dimension. `join` are the other arguments of `evaluate`.

    Reference: Palotti, Zuccon & Hanbury, MM: A New Framework for Multidimensional Evaluation of Search Engines,
    CIKM 2018

    >>> dimensions = {"relevant": {"q": {"d1": 1, "d2": 0}}, "credible": {"q": {"d1": 0, "d2": 1}}}
    >>> scores = mm(dimensions, {"q": {"d1": 2.0, "d2": 1.0}}, "RR")
    >>> round(scores.mean()["run"]["MM(RR)"], 4)
    0.6667
    """

    def mean(values: Array, weight: Array) -> Array:
        if (values < 0).any():
            raise UsageError("MM: a score below 0; a harmonic mean needs scores of 0 or more")
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (weight[:, None, None, None] / values).sum(axis=0))

    return _over("MM", mean, dimensions, runs, measures, weights, join)


def _biased(
    name: str, dimension: str, relevance: Any, other: Any, runs: Any, graded: bool, more: dict[str, Any]
) -> Scores:
    gains = {dimension: "linear"} if graded else {}
    both = {"relevance": relevance, dimension: other}
    return biased_rbp(both, runs, gains=gains, name=f"{name}gr" if graded else name, **more)


def _over(
    name: str,
    mean: Callable[[Array, Array], Array],
    dimensions: Mapping[str, Any],
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None,
    weights: Mapping[str, float] | None,
    join: dict[str, Any],
) -> Scores:
    judgments = _judgments(dimensions)
    shares = _weights(name, judgments, weights)
    counted = {dimension: qrels for dimension, qrels in judgments.items() if shares[dimension] > 0}
    topics = _common(counted)
    each = [evaluate(qrels, runs, measures, **join).select(topics=topics) for qrels in counted.values()]
    first = each[0]
    values = mean(np.stack([one.values for one in each]), np.array([shares[dimension] for dimension in counted]))
    labels = [f"{name}({measure})" for measure in first.measures]
    notes = dict.fromkeys(note for one in each for note in one.notes)
    return Scores(labels, first.runs, first.topics, values, first.missing, first.missing_rule, tuple(notes))


def _judgments(dimensions: Mapping[str, Any]) -> dict[str, Qrels]:
    if not isinstance(dimensions, Mapping) or not dimensions:
        raise UsageError(f"dimensions == {dimensions!r}, must be {{name: qrels}} with one dimension or more")
    return {str(dimension): Qrels.of(qrels) for dimension, qrels in dimensions.items()}


def _weights(name: str, judgments: Mapping[str, Qrels], weights: Mapping[str, float] | None) -> dict[str, float]:
    given = dict.fromkeys(judgments, 1.0) if weights is None else dict(weights)
    if set(given) != set(judgments):
        raise UsageError(f"{name}: weights of {sorted(given)}, must be of the dimensions: {sorted(judgments)}")
    for dimension, weight in given.items():
        check.finite(name, **{f"weights[{dimension!r}]": weight})
        check.not_negative(name, **{f"weights[{dimension!r}]": weight})
    total = sum(given.values())
    if total == 0:
        raise UsageError(f"{name}: all weights are 0, one must be above")
    return {dimension: given[dimension] / total for dimension in judgments}


def _common(judgments: Mapping[str, Qrels]) -> list[str]:
    """The topics judged in every dimension."""
    first = next(iter(judgments.values()))
    judged = set.intersection(*(set(qrels.topics) for qrels in judgments.values()))
    topics = [topic for topic in first.topics if topic in judged]
    every = dict.fromkeys(topic for qrels in judgments.values() for topic in qrels.topics)
    left_out = [topic for topic in every if topic not in judged]
    if not topics:
        raise UsageError(f"no topic is judged in all dimensions: {', '.join(judgments)}")
    if left_out:
        told = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
        many = f"{len(left_out)} topic{'s' if len(left_out) > 1 else ''}"
        warnings.warn(f"{many} not judged in all dimensions, left out: {told}", CranfieldWarning, stacklevel=3)
    return topics


def _worth(qrels: Qrels, kind: str, rel: float) -> dict[str, dict[str, float]]:
    """{topic: {doc: gain from 0 to 1}}."""
    grades = qrels.to_dict()
    if kind == "binary":
        return {topic: {doc: float(grade >= rel) for doc, grade in docs.items()} for topic, docs in grades.items()}
    most = max((grade for docs in grades.values() for grade in docs.values()), default=0)
    return {
        topic: {doc: max(grade, 0) / most if most > 0 else 0.0 for doc, grade in docs.items()}
        for topic, docs in grades.items()
    }


def _renamed(scores: Scores, name: str) -> Scores:
    return Scores([name], scores.runs, scores.topics, scores.values, scores.missing, scores.missing_rule, scores.notes)
