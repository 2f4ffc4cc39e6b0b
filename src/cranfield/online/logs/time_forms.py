"""The forms in which the times of a table are written: dates, and numbers of a unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from cranfield.online.engines.dialect import TIME_KINDS
from cranfield.online.logs.raw_log import RawLog, RawTable
from cranfield.text import counted, listed

FORMS = {
    **{unit: f"in {unit} since 1970" for unit in TIME_KINDS[:4]},
    "zone": "as a date",
    "no zone": "as a date",
}
"""How a time of each kind is written."""


def time_kinds(raw: RawLog, table: RawTable) -> dict[str, int]:
    """How many rows of a table have a time of each of `TIME_KINDS`."""
    import narwhals as nw

    rows = table.frame.filter(~nw.col("_unreadable")).group_by("time_kind").agg(nw.len().alias("rows"))
    return {row["time_kind"]: int(row["rows"]) for row in raw.engine.fetch(rows).to_pylist()}


def time_forms(kinds: Mapping[str, int]) -> list[tuple[int, str]]:
    """The rows of each form, most rows first.

    >>> time_forms({"milliseconds": 2, "zone": 5, "missing": 1})
    [(5, 'as a date'), (2, 'in milliseconds since 1970')]
    """
    counts = Counter[str]()
    for kind, form in FORMS.items():
        counts[form] += kinds.get(kind, 0)
    found = [(rows, form) for form, rows in counts.items() if rows]
    return sorted(found, key=lambda form: (-form[0], form[1]))


def forms_text(forms: Sequence[tuple[int, str]]) -> str:
    """Forms in words.

    >>> forms_text([(5, "as a date"), (1, "in seconds since 1970")])
    '5 times as a date, 1 time in seconds since 1970'
    """
    return listed([f"{counted(rows, 'time')} {form}" for rows, form in forms])
