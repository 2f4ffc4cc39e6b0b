"""Old interleavings for a new comparison: lists that were shown for other systems, weighted by importance."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated

import numpy as np

from cranfield.collection.run import Run
from cranfield.collection.source import PathLike, shown_path
from cranfield.declared.operation import Level, about, operation
from cranfield.errors import DataError, UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.interleaving.attribution_log import LoggedList, clicks_of, read_clicks, read_records
from cranfield.online.interleaving.interleaved import check_repeated, digest
from cranfield.online.interleaving.mixing_methods import MixingMethod
from cranfield.record import OneRow
from cranfield.text import counted
from cranfield.types import Array

ENOUGH = 30
"""With fewer effective impressions, a note warns."""


@dataclass(frozen=True, eq=False, repr=False)
class ReusedHistory(OneRow):
    """An estimate of how two systems would compare, from lists that were shown for others."""

    first: str
    second: str
    difference: float
    """The expected credit of the first system minus that of the second, for each impression."""
    low: float
    high: float
    impressions: int
    effective: float
    """The number of impressions of an experiment of its own that tells as much: (Σ w)² / Σ w²."""
    impossible: int
    """Lists that the new systems could not have made; their weight is 0."""
    notes: tuple[str, ...]


def list_probability(
    rankings: Sequence[Sequence[str]], documents: Sequence[str], tau: float = 3.0
) -> tuple[float, Array]:
    r"""The logarithm of a list's probability in probabilistic interleaving, and places × systems: the credit of clicks.

    .. math:: P(l) = \prod_r \frac{1}{m} \sum_s P_s(l_r \mid l_1 \dots l_{r-1})

    −∞ if a document is in none of the rankings. Once a ranking has ended, documents come from the others, and their
    places count for nobody.

    >>> log, worth = list_probability([["a", "b"], ["b", "a"]], ["a", "b"], tau=1)
    >>> round(float(np.exp(log)), 4), worth.round(4).tolist()
    (0.5, [[0.6667, 0.3333], [0.5, 0.5]])
    """
    weights = [{doc: rank**-tau for rank, doc in enumerate(ranking, 1)} for ranking in rankings]
    worth = np.zeros((len(documents), len(rankings)))
    log = 0.0
    for place, document in enumerate(documents):
        totals = [sum(weight.values()) for weight in weights]
        active = [system for system, weight in enumerate(weights) if weight]
        chance = np.array(
            [weights[s].get(document, 0.0) / totals[s] if weights[s] else 0.0 for s in range(len(weights))]
        )
        if not active or chance.sum() == 0:
            return -np.inf, np.zeros_like(worth)
        log += float(np.log(chance.sum() / len(active)))
        if len(active) == len(rankings):
            worth[place] = chance / chance.sum()
        for weight in weights:
            weight.pop(document, None)
    return log, worth


def reuse_history(
    history: Iterable[tuple[Mapping[str, Sequence[str]], Sequence[str], Iterable[str], Mapping[str, Sequence[str]]]],
    *,
    tau: float = 3.0,
    most_weight: float | None = None,
    level: float = 0.95,
) -> ReusedHistory:
    r"""Compare two new systems on lists that probabilistic interleaving showed for other systems.

    .. math:: \hat o = \frac{1}{n} \sum_i \frac{P_T(l_i)}{P_S(l_i)}\, E[c_A - c_B \mid l_i, \text{clicks}_i]

    P_S and P_T are the probabilities of the list for the systems that were compared then, and for the new ones. The
    estimate is unbiased if the old systems could have made every list that the new ones can.

    history: for each impression, {old system: documents}, the documents shown, the clicked documents, and
        {new system: documents} for the same query, always of the same two systems.
    most_weight: larger weights are cut to this; the estimate is then biased, and varies less.

    Reference: Hofmann, Whiteson & de Rijke, CIKM 2012, doi:10.1145/2396761.2398516

    >>> old, new = {"a": ["x", "y"], "b": ["y", "x"]}, {"c": ["x", "y"], "d": ["x", "y"]}
    >>> reuse_history([(old, ["x", "y"], ["x"], new)] * 3).difference
    0.0
    """
    from scipy.special import ndtri

    weights, differences = [], []
    names: tuple[str, ...] = ()
    for number, (old, documents, clicks, new) in enumerate(history, 1):
        for rankings in (old, new):
            check_repeated(tuple(rankings), list(rankings.values()))
        names = names or tuple(new)
        if tuple(new) != names or len(names) != 2:
            raise UsageError(f"reuse_history: impression {number} compares {tuple(new)}, expected the same two systems")
        log_old, _ = list_probability(list(old.values()), documents, tau)
        if log_old == -np.inf:
            raise UsageError(f"reuse_history: the old systems could not have made the list of impression {number}")
        log_new, worth = list_probability(list(new.values()), documents, tau)
        place = {document: rank for rank, document in enumerate(documents)}
        clicked = set(clicks)
        if strange := clicked - set(place):
            raise UsageError(f"reuse_history: impression {number} has a click on {min(strange)!r}, which was not shown")
        weights.append(float(np.exp(log_new - log_old)))
        differences.append(float(sum(worth[place[doc], 0] - worth[place[doc], 1] for doc in clicked)))
    if not weights:
        raise UsageError("reuse_history: no impressions")
    weight, difference = np.array(weights), np.array(differences)
    cut = 0 if most_weight is None else int((weight > most_weight).sum())
    weight = weight if most_weight is None else np.minimum(weight, most_weight)
    values = weight * difference
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(n)) * float(ndtri((1 + level) / 2)) if n > 1 else np.nan
    effective = float(weight.sum() ** 2 / (weight**2).sum()) if weight.any() else 0.0
    notes = [
        method_note(
            f"effective impressions: {effective:.1f} of {n:,}, taken as independent; if users click alike, it "
            "is too narrow"
        )
    ]
    if effective < ENOUGH:
        notes.append(
            caution_note("caution: the old lists say little about the new systems; the interval is not to be trusted")
        )
    if cut:
        notes.append(caution_note(f"{counted(cut, 'weight')} cut to {most_weight:g}, so the estimate is biased"))
    impossible = int((np.array(weights) == 0).sum())
    return ReusedHistory(names[0], names[1], mean, mean - error, mean + error, n, effective, impossible, tuple(notes))


@operation
def reuse_logged(
    records: PathLike,
    old: Sequence[Run],
    new: Sequence[Run],
    clicks: PathLike | None = None,
    *,
    depth: Annotated[
        int | None,
        about("Documents of each run that were mixed; default: the length of the lists.", least=1, solves="depth="),
    ] = None,
    order: str = "score",
    precision: int = 64,
    ties: str = "z-a",
    most_weight: Annotated[
        float | None,
        about(
            "Cut larger weights to W; the estimate is then biased, and varies less.",
            above=0,
            spelled="--most-weight W",
            rare=True,
        ),
    ] = None,
    level: Level = 0.95,
) -> ReusedHistory:
    """`reuse_history` for a file of attribution records and runs; the query of a record is the topic of the runs.

    old: the runs that were mixed; their lists must have the digests of the records. new: two runs. clicks: a file, if
    the records do not hold their clicks. depth: how many documents of each run were mixed; default: the length of the
    lists. Clicks on documents that were not shown, and queries for which a new run has no list, are left out and
    counted in the notes.
    """
    origin = shown_path(os.fspath(records))
    known = None if clicks is None else read_clicks(clicks)
    runs = {**{run.name: run for run in new}, **{run.name: run for run in old}}
    topics = {name: frozenset(run.topics) for name, run in runs.items()}

    @cache
    def first(name: str, query: str | None, depth: int) -> list[str]:
        if query not in topics[name]:
            return []
        return [place.doc for place in runs[name].ranking(query, order, precision, ties)[:depth]]

    seen: dict[str, int] = {}
    history, taus, without, strange = [], set(), 0, 0
    for logged in read_records(records):
        record = logged.record
        method = MixingMethod.of(record.method)
        values = dict(method.values)
        if method.name != "probabilistic" or not values["replacement"]:
            raise DataError(origin, logged.line, f"a list of {method}; only lists of probabilistic can be used again")
        taus.add(float(values["tau"]))
        clicked = [*clicks_of(logged, known, origin, seen)]
        documents = [click if isinstance(click, str) else _at(record.documents, click) for click in clicked]
        kept = {doc for doc in documents if doc in record.documents}
        strange += sum(doc not in kept for doc in documents)
        mixed = {name: first(name, logged.query, depth or record.length) for name in _mixed(logged, old, origin)}
        _check_lists(logged, mixed, origin)
        wanted = {run.name: first(run.name, logged.query, depth or record.length) for run in new}
        if not all(wanted.values()):
            without += 1
            continue
        history.append((mixed, record.documents, kept, wanted))
    if len(taus) > 1:
        raise DataError(origin, None, f"lists with different tau: {', '.join(f'{tau:g}' for tau in sorted(taus))}")
    if not history:
        raise DataError(origin, None, "the new runs have no list for any query of the records; are these the topics?")
    result = reuse_history(history, tau=taus.pop(), most_weight=most_weight, level=level)
    notes = list(result.notes)
    if without:
        notes.append(f"{counted(without, 'impression')} left out, for whose query a new run has no list")
    if strange:
        notes.append(f"{counted(strange, 'click')} on documents that were not shown left out")
    return replace(result, notes=tuple(notes))


def _mixed(logged: LoggedList, old: Sequence[Run], origin: str) -> tuple[str, ...]:
    """The names of the runs that were mixed, which must all be given."""
    names = [run.name for run in old]
    for name in logged.record.systems:
        if name not in names:
            raise DataError(origin, logged.line, f"the list mixes {name!r}, which is not among {', '.join(names)}")
    return logged.record.systems


def _check_lists(logged: LoggedList, mixed: Mapping[str, Sequence[str]], origin: str) -> None:
    """Raise an error if a run does not have the list that was mixed."""
    if not logged.record.digests:
        raise DataError(origin, logged.line, "an attribution record without 'digests', by which the runs are checked")
    for (name, documents), recorded in zip(mixed.items(), logged.record.digests, strict=True):
        if digest(documents) != recorded:
            raise DataError(
                origin, logged.line,
                f"the first {len(documents)} documents of {name!r} for {logged.query!r} are not those that were mixed; "
                "if more or fewer were, give depth=",
            )  # fmt: skip


def _at(documents: Sequence[str], position: int) -> str | None:
    return documents[position - 1] if 1 <= position <= len(documents) else None
