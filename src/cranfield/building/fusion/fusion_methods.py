"""Fusion methods: the score of a document from its ranks or scores in several runs. To add one, add a function here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cranfield.building.fusion.condorcet import condorcet_scores
from cranfield.building.fusion.retrieved_lists import RetrievedLists
from cranfield.declared.registry import Named, Registry, registers
from cranfield.declared.settings import Setting
from cranfield.types import Array

FOX = "Fox & Shaw 1993"
MOURAO = "Mourão et al. 2015"


Fused = Callable[[RetrievedLists, Array, float], Array]
"""From the lists, the weight of each entry and the value of the parameter: the score of each document."""


@dataclass(frozen=True)
class FusionMethod:
    """How documents are scored from several lists."""

    name: str
    fused: Fused
    uses: str
    """`ranks`, or `scores`, which are normalised first."""
    source: str
    parameters: Mapping[str, Setting] = field(default_factory=dict)
    """At most one."""

    @property
    def formula(self) -> str:
        """What the method computes, in a line."""
        return (self.fused.__doc__ or "").strip()


FUSION_METHODS: Registry[FusionMethod] = Registry("fusion method")


def _method(name: str, uses: str, source: str, **parameters: Setting) -> Callable[[Fused], Fused]:
    return registers(FUSION_METHODS, FusionMethod, name, uses=uses, source=source, parameters=parameters)


class Fusion(Named):
    """A fusion method with the value of its parameter.

    >>> str(Fusion.of("RRF(k=20)")), Fusion.of("rrf(k=60)") == Fusion.of("rrf")
    ('rrf(k=20)', True)
    """

    registry = FUSION_METHODS

    @property
    def method(self) -> FusionMethod:
        """What the method computes."""
        return FUSION_METHODS[self.name]

    @property
    def value(self) -> float:
        """The value of the parameter; 0 for a method without one."""
        return float(next(iter(self.values.values()), 0.0))


def _total(lists: RetrievedLists, adds: Array) -> Array:
    """The sum of a number over all lists that retrieve a document."""
    return np.bincount(lists.document, weights=adds, minlength=lists.size).astype(np.float64)


def _count(lists: RetrievedLists, weights: Array) -> Array:
    """The number of lists of weight above 0 that retrieve a document."""
    return _total(lists, (weights > 0).astype(np.float64))


# -- by ranks


@_method("rrf", "ranks", "Cormack et al. 2009", k=Setting(60.0, least=0))
def rrf(lists: RetrievedLists, weights: Array, k: float) -> Array:
    """Σ w / (k + rank)"""
    return _total(lists, weights / (k + lists.rank))


@_method("isr", "ranks", MOURAO)
def isr(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """n · Σ w / rank², n the number of lists with the document"""
    return _count(lists, weights) * _total(lists, weights / np.square(lists.rank.astype(np.float64)))


@_method("logisr", "ranks", MOURAO)
def logisr(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """ln(n) · Σ w / rank²; a document of one list gets 0"""
    return _log_isr(lists, weights, 0.0)


@_method("lognisr", "ranks", MOURAO, sigma=Setting(0.01, above=0))
def lognisr(lists: RetrievedLists, weights: Array, sigma: float) -> Array:
    """ln(n + sigma) · Σ w / rank²"""
    return _log_isr(lists, weights, sigma)


def _log_isr(lists: RetrievedLists, weights: Array, sigma: float) -> Array:
    factor = np.log(np.maximum(_count(lists, weights), 1) + sigma)
    return np.asarray(factor * _total(lists, weights / np.square(lists.rank.astype(np.float64))))


@_method("borda", "ranks", "Aslam & Montague 2001")
def borda(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """Σ w · (c − rank + 1), c the documents of the topic; the documents that a list lacks share its other points"""
    documents = np.diff(lists.start)[lists.list_topic]
    shared = (documents - lists.length + 1) / 2
    points = lists.per_entry(documents) - lists.rank + 1 - lists.per_entry(shared)
    list_weight = np.zeros(len(shared))
    filled = lists.length > 0
    list_weight[filled] = weights[lists.list_start[:-1][filled]]
    base = np.bincount(lists.list_topic, weights=list_weight * shared, minlength=len(lists.topics))
    return _total(lists, weights * points) + np.repeat(base, np.diff(lists.start))


@_method("condorcet", "ranks", "Montague & Aslam 2002")
def condorcet(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """c − place + 1 in an order in which no document is beaten, by the weights of the lists, by the one after it"""
    return condorcet_scores(lists, weights)


@_method("rbc", "ranks", "Bailey et al. 2017", phi=Setting(0.8, above=0, below=1))
def rbc(lists: RetrievedLists, weights: Array, phi: float) -> Array:
    """Σ w · (1 − phi) · phi^(rank − 1)"""
    return _total(lists, weights * (1 - phi) * phi ** (lists.rank - 1.0))


# -- by scores


@_method("combsum", "scores", FOX)
def combsum(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """Σ w · s"""
    return _total(lists, weights * lists.score)


@_method("combmnz", "scores", FOX)
def combmnz(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """n · Σ w · s, n the number of lists with the document"""
    return _count(lists, weights) * _total(lists, weights * lists.score)


@_method("combgmnz", "scores", "Lee 1997", gamma=Setting(2.0))
def combgmnz(lists: RetrievedLists, weights: Array, gamma: float) -> Array:
    """n^gamma · Σ w · s"""
    count = _count(lists, weights)
    power = np.where(count > 0, np.power(np.maximum(count, 1), gamma), 0.0)
    return np.asarray(power * _total(lists, weights * lists.score))


@_method("combanz", "scores", FOX)
def combanz(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """Σ w · s / Σ w over the lists with the document"""
    total = _total(lists, weights)
    return np.divide(_total(lists, weights * lists.score), total, out=np.zeros(lists.size), where=total > 0)


@_method("combmax", "scores", FOX)
def combmax(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """the highest w · s"""
    return _extreme(lists, weights, np.maximum, -np.inf)


@_method("combmin", "scores", FOX)
def combmin(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """the lowest w · s of the lists with the document"""
    return _extreme(lists, weights, np.minimum, np.inf)


@_method("combmed", "scores", FOX)
def combmed(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """the median w · s of the lists with the document"""
    used = np.flatnonzero(weights > 0)
    value, document = (weights * lists.score)[used], lists.document[used]
    order = np.lexsort((value, document))
    value, count = value[order], np.bincount(document, minlength=lists.size)
    begin = np.cumsum(count) - count
    some = np.flatnonzero(count)
    median = np.zeros(lists.size)
    low, high = begin[some] + (count[some] - 1) // 2, begin[some] + count[some] // 2
    median[some] = (value[low] + value[high]) / 2
    return median


def _extreme(lists: RetrievedLists, weights: Array, choose: np.ufunc, start: float) -> Array:
    best = np.full(lists.size, start)
    for run in lists.by_run():  # a run has a document of a topic at most once
        used = np.flatnonzero(weights[run] > 0)
        document, value = lists.document[run][used], (weights[run] * lists.score[run])[used]
        best[document] = choose(best[document], value)
    return np.where(np.isfinite(best), best, 0.0)
