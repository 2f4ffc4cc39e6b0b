"""Results in Parquet files and spreadsheets, from the text that csv would have."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from cranfield.errors import UsageError

Value = str | float | None
Columns = dict[str, list[Value]]
MOST_ROWS, MOST_CHARACTERS = 1_048_576, 32_767
"""What a sheet, and a cell of it, can hold (specification of Excel)."""


def columns_of_csv(text: str, texts: Collection[str]) -> list[Columns]:
    """The tables of a text in csv, which empty lines separate, with numbers as numbers.

    texts: the headings of columns whose cells stay texts, such as ids of topics.

    >>> columns_of_csv("topic,AP\\n301,0.5\\n302,\\n", ["topic"])
    [{'topic': ['301', '302'], 'AP': [0.5, None]}]
    """
    tables: list[Columns] = []
    rows = iter(csv.reader(io.StringIO(text, newline="")))
    for header in rows:
        if not header:
            continue
        body: list[list[str]] = []
        for row in rows:
            if not row:
                break
            body.append(row)
        cells = zip(*body, strict=True) if body else ([] for _ in header)
        tables.append({name: _typed(column, name in texts) for name, column in zip(header, cells, strict=True)})
    return tables


def _typed(cells: Sequence[str], as_text: bool) -> list[Value]:
    """Whole numbers, numbers, or texts as they are; an empty cell of a column of numbers is None."""
    if as_text:
        return list(cells)
    try:
        values = [_number(cell) for cell in cells]
    except ValueError:
        return list(cells)
    return list(map(_float, values)) if any(isinstance(value, float) for value in values) else list(values)


def _number(cell: str) -> int | float | None:
    """A number that is written as Python writes it, so that 007 is none."""
    for kind in (int, float):
        try:
            value = kind(cell) if cell else None
        except ValueError:
            continue
        if value is None or str(value) == cell:
            return value
    raise ValueError(cell)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def parquet(tables: Sequence[Columns]) -> bytes:
    """The bytes of a Parquet file, which holds one table."""
    import pyarrow
    from pyarrow.parquet import write_table

    if len(tables) != 1:
        raise UsageError(
            f"a .parquet file holds one table, but this result has {len(tables)}; .xlsx has a sheet for each"
        )
    sink = io.BytesIO()
    write_table(pyarrow.table(tables[0]), sink)
    return sink.getvalue()


def xlsx(tables: Sequence[Columns]) -> bytes:
    """The bytes of a spreadsheet with a sheet for each table, whose first row is the headings.

    Texts are stored as texts, so that none of them is run as a formula.
    """
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    for table in tables:
        rows = max(map(len, table.values()), default=0)
        if rows >= MOST_ROWS:
            raise UsageError(f"{rows:,} rows, a sheet holds {MOST_ROWS - 1:,}: write .csv or .parquet")
    numbers = range(1, len(tables) + 1)
    parts = {
        "[Content_Types].xml": _element("Types", _TYPES, [
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>',
            f'<Override PartName="/xl/workbook.xml" ContentType="{_CONTENT}.sheet.main+xml"/>',
            *(f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_CONTENT}.worksheet+xml"/>'
              for n in numbers),
        ]),
        "_rels/.rels": _element("Relationships", _RELATIONS, [
            f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>',
        ]),
        "xl/_rels/workbook.xml.rels": _element("Relationships", _RELATIONS, [
            f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
        ]),
        "xl/workbook.xml": _element("workbook", _SHEETS, [
            f'<sheets xmlns:r="{_OFFICE}">',
            *(f'<sheet name="Table {n}" sheetId="{n}" r:id="r{n}"/>' for n in numbers),
            "</sheets>",
        ]),
        **{f"xl/worksheets/sheet{n}.xml": _element("worksheet", _SHEETS, _sheet(table))
           for n, table in zip(numbers, tables, strict=True)},
    }  # fmt: skip
    sink = io.BytesIO()
    with ZipFile(sink, "w", ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(ZipInfo(name), content, ZIP_DEFLATED)  # without a time: the same result, the same bytes
    return sink.getvalue()


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _element(name: str, space: str, content: Iterator[str] | Sequence[str]) -> str:
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    return f"{head}<{name} xmlns={quoteattr(space)}>{''.join(content)}</{name}>"


def _sheet(table: Columns) -> Iterator[str]:
    yield "<sheetData>"
    yield _row(list(table))
    for values in zip(*table.values(), strict=True):
        yield _row(values)
    yield "</sheetData>"


def _row(values: Sequence[Value]) -> str:
    return f"<row>{''.join(map(_cell, values))}</row>"


def _cell(value: Value) -> str:
    """A number, or a text in the cell itself; a spreadsheet has no infinity."""
    if value is None or value == "":
        return "<c/>"
    if isinstance(value, str) or math.isinf(value):
        text = escape(_NOT_XML.sub("\ufffd", str(value)[:MOST_CHARACTERS]))
        return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"
