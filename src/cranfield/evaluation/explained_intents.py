"""What `explain` tells of intents: which of them each document serves, and how their scores make the whole."""

from __future__ import annotations

import numpy as np

from cranfield.assessed.hits_by_intent import documents_of, intent_recall, intents_of, relevant_to_intents
from cranfield.assessed.lists import Assessed
from cranfield.measures import Measure, Terms
from cranfield.measures.diversity import PplusQ, averaged
from cranfield.measures.first import ERR, Pplus
from cranfield.measures.novelty import ERRIA
from cranfield.measures.ranked import Q
from cranfield.types import Array
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.view import View


def rank_cutoff(measure: Measure) -> int | None:
    """Down to which rank the measure looks; None where `@` is no rank."""
    return measure.k if measure.cutoff_kind == "rank" else None


def looks_at_intents(measure: Measure) -> bool:
    """Whether it reads documents intent by intent, or by what they are worth to all intents."""
    by_intent = any(isinstance(view, Sharp | GlobalGain | ByIntent) for view in measure.views)
    return by_intent or measure.needs == "intents"


def served(read: Assessed) -> dict[int, dict[str, float]]:
    """Of one list, by rank: the intents that a document serves, with its grade for each."""
    intents = intents_of(read)
    found: dict[int, dict[str, float]] = {}
    for rank, document in zip(read.rank.tolist(), documents_of(read).tolist(), strict=True):
        entries = range(*intents.document_start[document : document + 2].tolist())
        found[rank] = {
            intents.names[intents.intent[entry]]: float(intents.grade[entry])
            for entry in entries
            if intents.grade[entry] > 0
        }
    return found


def terms_by_intent(measure: Measure, by_intent: tuple[View, ...], read: Assessed) -> Terms | None:
    """What the measure counts at each rank, documents read by their global gain or intent by intent as it asks.

    How many intents a document serves is left to `served`.
    """
    plain = measure.replace(views=())
    for view in by_intent:
        if isinstance(view, GlobalGain):
            read = view.apply(read)
        if isinstance(view, ByIntent):
            made = averaged(plain, read)
            return made and Terms(made.hits, made.adds, made.over, _ways(plain, view, read), made.besides)
    found = plain.terms(read)
    if found is None or "intents" not in found.columns:
        return found
    columns = {name: column for name, column in found.columns.items() if name != "intents"}
    return Terms(found.hits, found.adds, found.over, columns, found.besides)


def _ways(plain: Measure, view: ByIntent, read: Assessed) -> dict[str, Array]:
    """Where readers of each intent have got to at each rank, of a measure that follows them: they open other documents.

    A column for each intent; empty where the measure follows no reader.
    """
    apart = view.apply(read, rank_cutoff(plain))
    terms = plain.terms(apart) if plain.needs == "lengths" else None
    if terms is None:
        return {}
    names, row = intents_of(read).names, terms.hits.row
    return {
        f"{way} for {names[intent]}": np.asarray(terms.columns[way])[row == at]
        for at, intent in enumerate(apart.set_of_row.tolist())
        for way in ("time", "offset")
        if way in terms.columns
    }


def told_by_intent(measure: Measure, by_intent: tuple[View, ...], read: Assessed) -> list[str]:
    """How intent recall, and the scores of all intents, make the score."""
    told = []
    plain = measure.replace(views=())
    if measure.needs == "intents" or any(isinstance(view, Sharp) for view in by_intent):
        told.append(_first_seen(measure, read))
    for view in by_intent:
        if isinstance(view, Sharp):
            recall = float(intent_recall(read, rank_cutoff(measure))[0])
            told.append(f"{view.gamma:g} of the score is intent recall {recall:.4f}, the rest as above")
        if isinstance(view, ByIntent):
            told += _each_intent(read, view.apply(read), plain)
    if isinstance(plain, ERRIA) and plain.dialect == "graded":
        told += _each_intent(read, ByIntent().apply(read), ERR(max_grade=plain.max_grade, cutoff=plain.cutoff))
    if isinstance(plain, PplusQ):
        told += _by_type(read, plain)
    return told


def _each_intent(read: Assessed, apart: Assessed, plain: Measure) -> list[str]:
    """The score of the list for every intent."""
    return [
        _line(read, intent, f"{plain} {_number(value)}")
        for intent, value in zip(apart.set_of_row.tolist(), plain.score(apart).tolist(), strict=True)
    ]


def _by_type(read: Assessed, measure: PplusQ) -> list[str]:
    """Of P+Q: Q for every informational intent, P+ and its preferred rank for every navigational one."""
    apart = ByIntent(lowest=measure.rel).apply(read, measure.k)
    q = Q(beta=measure.beta, rel=measure.rel, gain=measure.gain, norm=measure.norm, cutoff=measure.cutoff)
    plus = Pplus(beta=measure.beta, rel=measure.rel, gain=measure.gain, cutoff=measure.cutoff)
    counted = plus.terms(apart).hits
    scores = zip(apart.set_of_row.tolist(), q.score(apart).tolist(), plus.score(apart).tolist(), strict=True)
    told = []
    for row, (intent, q_score, plus_score) in enumerate(scores):
        if intents_of(read).navigational[intent]:
            ranks = counted.rank[counted.row == row]
            preferred = f"preferred rank {ranks[-1]}" if len(ranks) else "no preferred rank"
            told.append(_line(read, intent, f"{plus} {_number(plus_score)}, {preferred}", "navigational"))
        else:
            told.append(_line(read, intent, f"{q} {_number(q_score)}", "informational"))
    return told


def _line(read: Assessed, intent: int, score: str, kind: str = "") -> str:
    intents = intents_of(read)
    kind = f" ({kind})" if kind else ""
    return f"intent {intents.names[intent]}{kind}: {score}, probability {intents.probability[intent]:.4f}"


def _number(value: float) -> str:
    return "undefined" if np.isnan(value) else f"{value:.4f}"


def _first_seen(measure: Measure, read: Assessed) -> str:
    """Where each intent is served first, from the top, and which are not."""
    rel = getattr(measure, "rel", 1)
    intents, found = intents_of(read).above(rel), relevant_to_intents(read, rel, rank_cutoff(measure))
    first = np.flatnonzero(found.before == 0)
    rank_of = dict(zip(found.intent[first].tolist(), found.hits.rank[found.hit[first]].tolist(), strict=True))
    seen = [f"intent {intents.names[intent]} at rank {rank}" for intent, rank in rank_of.items()]
    of_topic = np.unique(intents.intent[intents.topic[intents.intent] == read.topic[0]]).tolist()
    unseen = [f"intent {intents.names[intent]}" for intent in of_topic if intent not in rank_of]
    return f"first seen: {', '.join(seen) or 'none'}" + (f"; not seen: {', '.join(unseen)}" if unseen else "")
