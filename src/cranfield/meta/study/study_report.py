"""The report of a study: all tables on one page, in Markdown or HTML."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape

from cranfield.meta.study.study_file import Study
from cranfield.table import Column, Table, escape_markdown

MOST_ROWS = 50
"""Longer tables are cut in the report; their files have all rows."""
STYLE = (
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{padding:.2em .6em;border-bottom:1px solid #ccc}caption{text-align:left;padding:.3em 0}p{color:#333}"
)


def section(study: Study, label: str, collection: str, tables: Mapping[str, Table], error: str) -> str:
    """The tables of one method on one collection, or its error."""
    html = study.report.endswith(".html")
    blocks = [_heading(f"{label} on {collection}" if collection else label, 2, html)]
    if error:
        blocks.append(f"<p>failed: {escape(error)}</p>" if html else escape_markdown(f"failed: {error}"))
    for suffix, table in tables.items():
        name = f"{label}-{suffix}" if suffix else label
        blocks.append(_rendered(shortened(table, os.path.join(collection, f"{name}.csv")), html))
    return "\n\n".join(blocks)


def page(study: Study, sections: Iterable[str]) -> str:
    html = study.report.endswith(".html")
    body = "\n\n".join([_heading(study.title, 1, html), _rendered(_collections(study), html), *sections])
    if not html:
        return body + "\n"
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(study.title)}</title>'
    return f"{head}\n<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"


def _collections(study: Study) -> Table:
    heads = (Column("collection"), Column("judgments"), Column("runs"))
    rows = tuple(
        (collection.name, collection.qrels or "saved scores", ", ".join(collection.runs or collection.scores))
        for collection in study.collections
    )
    return Table(heads, rows, notes=(f"measures: {', '.join(study.measures)}",) if study.measures else ())


def shortened(table: Table, file: str) -> Table:
    """The first rows of a long table, with a note that names the file with all rows."""
    if len(table.rows) <= MOST_ROWS:
        return table
    note = f"the first {MOST_ROWS} of {len(table.rows)} rows; all are in {file}"
    return replace(table, rows=table.rows[:MOST_ROWS], notes=(note, *table.notes))


def _rendered(table: Table, html: bool) -> str:
    return table.html() if html else table.markdown()


def _heading(text: str, level: int, html: bool) -> str:
    return f"<h{level}>{escape(text)}</h{level}>" if html else f"{'#' * level} {escape_markdown(text)}"
