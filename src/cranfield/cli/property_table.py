"""`cranfield measures --table`: which measure has which property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cranfield.cli.printing import TABLE_FORMATS, checked, emit, rendered
from cranfield.measures import Measure
from cranfield.measures.property_tables import (
    DIVERSE,
    MEANINGS,
    RANKED,
    diverse,
    footnotes,
    is_diverse,
    property_values,
    ranked,
)
from cranfield.table import Column, Table

DATA_FORMATS = ("csv", "tsv", "json")

Told = Mapping[str, Mapping[str, Any]]
"""Each measure's properties by name; None is not known."""
YES = {True: "yes", False: "-", None: "?"}


def emit_figures(measures: Sequence[Measure], format: str, output: str | None) -> None:
    """What these measures are like, or all: two tables for people, a single one where programs read."""
    checked(format, TABLE_FORMATS)
    lists, intents = ({name: asdict(one) for name, one in figure.items()} for figure in (ranked(), diverse()))
    if measures:
        lists = {str(one): property_values(one) for one in measures if not is_diverse(one)}
        intents = {str(one): property_values(one) for one in measures if is_diverse(one)}
    tables = [everything(lists, intents)] if format in DATA_FORMATS else for_people(lists, intents)
    emit("\n\n".join(rendered(table, format, output) for table in tables), output, format=format)


def for_people(lists: Told, intents: Told) -> list[Table]:
    """A table for ranked lists and one for topics with intents, if there is anything to tell."""
    tables: list[Table] = []
    explained: set[str] = set()
    for caption, told, rows in (
        ("Measures of ranked lists", lists, RANKED),
        ("Measures of diversity", intents, DIVERSE),
    ):
        if told:
            cells = [(name, *(YES[told[name][row]] for row in rows)) for name in told]
            notes = tuple(f"{heading}: {MEANINGS[heading]}" for heading in rows.values() if heading not in explained)
            explained.update(rows.values())
            if any("?" in row[1:] for row in cells):
                notes += ("?: not known of a list that is read in this way",)
            notes += footnotes(told)
            tables.append(Table((Column("measure"), *map(Column, rows.values())), tuple(cells), caption, notes))
    return tables


def everything(lists: Told, intents: Told) -> Table:
    """A row per measure, a column per property: 1 or 0, empty where it is not asked of this kind of measure."""
    rows = tuple(dict.fromkeys((*RANKED, *DIVERSE)))
    cells = [
        (kind, name, *(_flag(told[name][row]) if row in asked else None for row in rows))
        for kind, told, asked in (("ranked", lists, RANKED), ("diversity", intents, DIVERSE))
        for name in told
    ]
    columns = (Column("kind"), Column("measure"), *(Column(row, "count") for row in rows))
    return Table(columns, tuple(cells))


def _flag(told: bool | None) -> int | None:
    return None if told is None else int(told)
