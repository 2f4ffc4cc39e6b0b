"""Intents in `explain`: which intents each document serves, and how the scores of the intents make up the score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.assessed.hits_by_intent import documents_of, intents_of, relevant_to_intents
from cranfield.assessed.lists import Assessed
from cranfield.measures import Measure, Terms
from cranfield.measures.diversity import averaged
from cranfield.types import Array
from cranfield.views.by_intent import ByIntent
from cranfield.views.view import View


def intents_by_rank(lists: Assessed) -> dict[int, dict[str, float]]:
    """For one list, by rank: the intents that a document serves, with its grade for each."""
    intents = intents_of(lists)
    served: dict[int, dict[str, float]] = {}
    for rank, document in zip(lists.rank.tolist(), documents_of(lists).tolist(), strict=True):
        entries = range(*intents.document_start[document : document + 2].tolist())
        served[rank] = {
            intents.names[intents.intent[entry]]: float(intents.grade[entry])
            for entry in entries
            if intents.grade[entry] > 0
        }
    return served


def terms_by_intent(measure: Measure, by_intent: tuple[View, ...], lists: Assessed) -> Terms | None:
    """What the measure counts at each rank, as its views by intent read the documents.

    The column with the number of intents of a document is left out: `intents_by_rank` shows them.
    """
    plain = measure.replace(views=())
    for view in by_intent:
        if view.one_list_per_intent:
            terms = averaged(plain, lists)
            return terms and replace(terms, columns=_reader_columns(plain, lists))
        lists = view.apply(lists)
    terms = plain.terms(lists)
    if terms is None or "intents" not in terms.columns:
        return terms
    return replace(terms, columns={name: column for name, column in terms.columns.items() if name != "intents"})


def _reader_columns(plain: Measure, lists: Assessed) -> dict[str, Array]:
    """For a measure that follows a reader: where the readers of each intent are at each rank, one column per intent."""
    if plain.needs != "lengths":
        return {}
    lists_by_intent = ByIntent().apply(lists, plain.rank_cutoff)
    terms = plain.terms(lists_by_intent)
    if terms is None:
        return {}
    names, row = intents_of(lists).names, terms.hits.row
    return {
        f"{column} for {names[intent]}": np.asarray(terms.columns[column])[row == at]
        for at, intent in enumerate(lists_by_intent.set_of_row.tolist())
        for column in ("time", "offset")
        if column in terms.columns
    }


def notes_by_intent(measure: Measure, by_intent: tuple[View, ...], lists: Assessed) -> list[str]:
    """How intent recall and the scores of the intents make up the score."""
    plain = measure.replace(views=())
    counts_intents = measure.needs == "intents" or not all(view.grades_by_intent for view in by_intent)
    notes = [_first_seen(measure, lists)] if counts_intents else []
    notes += [note for view in by_intent for note in view.remarks(lists, plain)]
    return notes if any(view.grades_by_intent for view in by_intent) else notes + plain.remarks(lists)


def _first_seen(measure: Measure, lists: Assessed) -> str:
    """Where each intent is served first, from the top down, and which intents are not served."""
    rel = getattr(measure, "rel", 1)
    intents, relevant = intents_of(lists).above(rel), relevant_to_intents(lists, rel, measure.rank_cutoff)
    first = np.flatnonzero(relevant.before == 0)
    rank_of = dict(zip(relevant.intent[first].tolist(), relevant.hits.rank[relevant.hit[first]].tolist(), strict=True))
    seen = [f"intent {intents.names[intent]} at rank {rank}" for intent, rank in rank_of.items()]
    of_topic = np.unique(intents.intent[intents.topic[intents.intent] == lists.topic[0]]).tolist()
    unseen = [f"intent {intents.names[intent]}" for intent in of_topic if intent not in rank_of]
    return f"first seen: {', '.join(seen) or 'none'}" + (f"; not seen: {', '.join(unseen)}" if unseen else "")
