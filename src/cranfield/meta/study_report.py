"""The report of a study: every table in one page, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

from cranfield.collection.source import expand
from cranfield.meta.study_file import Study
from cranfield.table import Column, Table, escape_markdown

MOST_ROWS = 50
"""Longer tables are cut in the report; their files hold all rows."""
STYLE = (
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{padding:.2em .6em;border-bottom:1px solid #ccc}caption{text-align:left;padding:.3em 0}p{color:#333}"
)


def report(study: Study, steps: Sequence[tuple[Any, dict[str, Table]]]) -> str:
    """The whole page; `steps` are the steps of the study with their tables."""
    html = study.report.endswith(".html")
    blocks = [_heading(study.title, 1, html), _shown(_collections(study), html)]
    for step, tables in steps:
        where = f" on {step.collection}" if step.collection else ""
        blocks.append(_heading(f"{step.label}{where}", 2, html))
        if step.error:
            blocks.append(_sentence(f"not done: {step.error}", html))
        for part, table in tables.items():
            name = f"{step.label}-{part}" if part else step.label
            folder = f"{step.collection}/" if step.collection else ""
            blocks.append(_shown(_cut(table, f"{folder}{name}.csv"), html))
    body = "\n\n".join(blocks)
    if not html:
        return body + "\n"
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(study.title)}</title>'
    return f"{head}\n<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"


def _collections(study: Study) -> Table:
    rows = []
    for one in study.collections:
        files = expand(one.runs or one.scores)
        rows.append((one.name, one.qrels or "saved scores", len(files)))
    heads = (Column("collection"), Column("judgments"), Column("files", "count"))
    measures = f"measures: {', '.join(study.measures)}" if study.measures else ""
    return Table(heads, tuple(rows), notes=(measures,) if measures else ())


def _cut(table: Table, file: str) -> Table:
    if len(table.rows) <= MOST_ROWS:
        return table
    note = f"the first {MOST_ROWS} of {len(table.rows)} rows; all are in {file}"
    return replace(table, rows=table.rows[:MOST_ROWS], notes=(note, *table.notes))


def _shown(table: Table, html: bool) -> str:
    return table.html() if html else table.markdown()


def _heading(text: str, level: int, html: bool) -> str:
    return f"<h{level}>{escape(text)}</h{level}>" if html else f"{'#' * level} {escape_markdown(text)}"


def _sentence(text: str, html: bool) -> str:
    return f"<p>{escape(text)}</p>" if html else escape_markdown(text)
