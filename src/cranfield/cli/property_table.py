"""`cranfield measures --table`: which measure has which property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cranfield.measures import Measure
from cranfield.measures.property_tables import (
    DIVERSE,
    MEANINGS,
    RANKED,
    diverse,
    footnotes,
    property_values,
    ranked,
)
from cranfield.table import Column, Table

Properties = Mapping[str, Mapping[str, Any]]
"""{measure: {property: True, False, or None if it is not known}}."""
CELLS = {True: "yes", False: "-", None: "?"}


def property_tables(measures: Sequence[Measure], *, one: bool) -> list[Table]:
    """The properties of these measures, or of all: one table for programs, or two for people."""
    if measures:
        lists = {str(measure): property_values(measure) for measure in measures if not measure.uses_intents()}
        intents = {str(measure): property_values(measure) for measure in measures if measure.uses_intents()}
    else:
        lists, intents = ({name: asdict(entry) for name, entry in every.items()} for every in (ranked(), diverse()))
    return [for_programs(lists, intents)] if one else for_people(lists, intents)


def for_people(lists: Properties, intents: Properties) -> list[Table]:
    """A table of measures of ranked lists and one of measures of diversity, if there are any."""
    tables: list[Table] = []
    explained: set[str] = set()
    for caption, properties, headings in (
        ("Measures of ranked lists", lists, RANKED),
        ("Measures of diversity", intents, DIVERSE),
    ):
        if properties:
            rows = [(name, *(CELLS[values[key]] for key in headings)) for name, values in properties.items()]
            notes = tuple(f"{text}: {MEANINGS[text]}" for text in headings.values() if text not in explained)
            explained.update(headings.values())
            if any("?" in row[1:] for row in rows):
                notes += ("?: not known of this variant of the measure",)
            notes += footnotes(properties)
            tables.append(Table((Column("measure"), *map(Column, headings.values())), tuple(rows), caption, notes))
    return tables


def for_programs(lists: Properties, intents: Properties) -> Table:
    """A row per measure and a column per property: 1, 0, or empty if the property does not apply."""
    keys = tuple(dict.fromkeys((*RANKED, *DIVERSE)))
    rows = [
        (kind, name, *(_flag(values[key]) if key in applies else None for key in keys))
        for kind, properties, applies in (("ranked", lists, RANKED), ("diversity", intents, DIVERSE))
        for name, values in properties.items()
    ]
    return Table((Column("kind"), Column("measure"), *(Column(key, "count") for key in keys)), tuple(rows))


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)
