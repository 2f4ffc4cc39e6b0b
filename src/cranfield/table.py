"""Tables and their output formats: text, JSON, CSV, TSV, LaTeX, Markdown and HTML. Nothing heavy is imported."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.notes import main_notes, shown_notes
from cranfield.text import control_free, counted, guarded
from cranfield.text import one_line as one_line
from cranfield.text import printable as printable


@dataclass(frozen=True)
class Estimate:
    """A statistic of one run, with its interval and the number of topics behind it."""

    measure: str
    run: str
    value: float
    low: float
    """Lower end of the interval; NaN without an interval."""
    high: float
    topics: int = 0
    """Number of topics that it was computed over."""
    undefined: int = 0
    """Number of topics that were left out because the measure is undefined there."""
    missing: int = 0
    """Number of topics that the run does not have."""


Cell = str | int | float | Estimate | None
"""Text, a count, a number, a number with its interval, or an empty cell."""

KINDS = ("text", "number", "count", "probability", "difference", "percent")
BETTER = ("higher", "lower", "neither")
FORMATS = ("text", "json", "csv", "tsv", "latex", "markdown", "html")
DIGITS = 4
"""Digits after the decimal point in formats for people; data formats give all digits."""
UNDEFINED = "-"


@dataclass(frozen=True)
class Column:
    """The heading of a column, the kind of its cells, and whether higher or lower values are better.

    A `probability` is a number; one that is too small for the digits shown is printed as `<0.0001`, never as 0. A
    `difference` has a sign, and so has a `percent`, with one digit. Neighbours of one `group` have a heading in common.
    """

    header: str
    kind: str = "text"
    better: str = "neither"
    group: str = ""

    @property
    def name(self) -> str:
        """The heading in formats without common headings."""
        return f"{self.group} {self.header}".strip()


def headings(kind: str, *names: str, better: str = "neither") -> tuple[Column, ...]:
    """Columns of one kind."""
    return tuple(Column(name, kind, better) for name in names)


@dataclass(frozen=True)
class Table:
    """Rows and columns, with a caption and notes. Without `digits`, people see four digits and data formats have all.

    The best cell of each column is marked. Values are compared as shown, so two runs with 0.2512 are both marked.

    >>> table = Table((Column("run"), Column("AP", "number", "higher")), (("bm25", 0.25117), ("dense", 0.3)))
    >>> print(table.text())
    run        AP
    bm25   0.2512
    dense  0.3000
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    digits: int | None = None
    guard_formulas: bool = False
    """In csv and tsv, put ' before text that begins with =, +, - or @: a spreadsheet would run it as a formula."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        rows = tuple(map(tuple, self.rows))
        if any(issubclass(kind, np.generic) for kind in {kind for row in rows for kind in map(type, row)}):
            rows = tuple(tuple(x.item() if isinstance(x, np.generic) else x for x in row) for row in rows)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "notes", tuple(self.notes))
        if self.digits is not None:
            check.not_negative("table", digits=self.digits)
        for column in self.columns:
            if column.kind not in KINDS or column.better not in BETTER:
                check.one_of(f"column {column.header!r}", KINDS, kind=column.kind)
                check.one_of(f"column {column.header!r}", BETTER, better=column.better)
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise UsageError(f"table: row {i} has {len(row)} cells, there are {len(self.columns)} columns")

    @cached_property
    def best(self) -> frozenset[tuple[int, int]]:
        """The (row, column) of cells that are best in their column; empty if there is nothing to compare."""
        cells: set[tuple[int, int]] = set()
        for c, column in enumerate(self.columns):
            if column.better == "neither":
                continue
            shown = {
                r: round(x, self._shown_digits) for r, row in enumerate(self.rows) if (x := number(row[c])) is not None
            }
            if len(shown) > 1:
                top = (max if column.better == "higher" else min)(shown.values())
                cells.update((r, c) for r, x in shown.items() if x == top)
        return frozenset(cells)

    @property
    def text_columns(self) -> set[str]:
        """The headings of columns that hold texts."""
        held = zip(self.columns, zip(*self.rows, strict=True), strict=True) if self.rows else ()
        return {column.name for column, cells in held if any(isinstance(cell, str) for cell in cells)}

    @property
    def _shown_digits(self) -> int:
        return DIGITS if self.digits is None else self.digits

    def render(self, format: str = "text", *, color: bool = False, width: int | None = None) -> str:
        """Return the table as `text`, `json`, `csv`, `tsv`, `latex`, `markdown` or `html`."""
        check.one_of("table", FORMATS, format=format)
        if format == "text":
            return self.text(color=color, width=width)
        rendered: str = getattr(self, format)()
        return rendered

    # -- formats for people

    def _show(self, cell: Cell, column: Column) -> tuple[str, ...]:
        """Return the parts of a cell: one, or three for a number with its interval."""
        if isinstance(cell, Estimate):
            parts = (
                [cell.value] if math.isnan(cell.low) and math.isnan(cell.high) else [cell.value, cell.low, cell.high]
            )
            return tuple(part for x in parts for part in self._show(x, column))
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return ("" if column.kind == "text" else UNDEFINED,)
        if isinstance(cell, str):
            return (cell if cell.isprintable() else printable(cell),)
        if column.kind == "probability" and 0 < cell < (least := 10.0**-self._shown_digits):
            return (f"<{least:.{self._shown_digits}f}",)
        if column.kind in ("number", "probability"):
            return (f"{cell:z.{self._shown_digits}f}",)  # z: no -0.0000
        if column.kind in ("difference", "percent"):
            return (f"{cell:+z.{1 if column.kind == 'percent' else self._shown_digits}f}",)
        return (f"{cell:g}" if isinstance(cell, float) and column.kind == "text" else f"{cell:.0f}",)

    def _shown(self) -> list[list[str]]:
        """Return every cell as text, column by column, with the parts of intervals aligned."""
        out = []
        for c, column in enumerate(self.columns):
            cells = [self._show(row[c], column) for row in self.rows]
            wide = [max((visible_width(parts[i]) for parts in cells if len(parts) > i), default=0) for i in range(3)]

            def joined(parts: tuple[str, ...], wide: list[int] = wide) -> str:
                if len(parts) < 3:
                    # Other cells may have an interval: pad, so that the numbers stay aligned.
                    return parts[0] + " " * (wide[1] + wide[2] + 5 if wide[1] else 0)
                return f"{parts[0]} [{pad(parts[1], wide[1], 'right')}, {pad(parts[2], wide[2], 'right')}]"

            out.append([joined(parts) for parts in cells])
        return out

    def text(self, *, color: bool = False, width: int | None = None) -> str:
        """Return aligned plain text. `color` marks the best in bold; columns beyond `width` go into further blocks."""
        shown = self._shown()
        notes = shown_notes(self.notes)
        headers = list(map(printable, [column.header for column in self.columns]))
        wide = [max(map(visible_width, [head, *cells])) for head, cells in zip(headers, shown, strict=True)]
        for span in self._spans(range(len(wide))):
            if self.columns[span[0]].group:  # a common heading may need more room than its columns
                room = sum(wide[c] for c in span) + 2 * (len(span) - 1)
                wide[span[-1]] += max(0, visible_width(printable(self.columns[span[0]].group)) - room)
        blocks = ["\n".join(self._lines(block, headers, shown, wide, color)) for block in self._blocks(wide, width)]
        caption = [printable(self.caption)] if self.caption else []
        return "\n".join([*caption, "\n\n".join(blocks), *map(printable, notes)])

    def _lines(
        self, block: Sequence[int], headers: list[str], shown: list[list[str]], wide: list[int], color: bool
    ) -> Iterator[str]:
        sides = ["left" if self.columns[c].kind == "text" else "right" for c in block]
        if any(self.columns[c].group for c in block):
            spans = [(span, sum(wide[c] for c in span) + 2 * (len(span) - 1)) for span in self._spans(block)]
            yield "  ".join(_centred(printable(self.columns[span[0]].group), room) for span, room in spans).rstrip()
        yield "  ".join(pad(headers[c], wide[c], side) for c, side in zip(block, sides, strict=True)).rstrip()
        for r in range(len(self.rows)):
            cells = [pad(shown[c][r], wide[c], side) for c, side in zip(block, sides, strict=True)]
            if color:
                cells = [bold(cell) if (r, c) in self.best else cell for c, cell in zip(block, cells, strict=True)]
            yield "  ".join(cells).rstrip()

    def _blocks(self, wide: Sequence[int], width: int | None) -> list[list[int]]:
        """Split the columns into blocks that fit the width; every block begins with the text columns on the left.

        Columns with a common heading stay together if a block can hold them.
        """
        keys = next((c for c, column in enumerate(self.columns) if column.kind != "text" or column.group), len(wide))
        every = list(range(len(wide)))
        if width is None or sum(wide) + 2 * (len(wide) - 1) <= width:
            return [every]
        blocks: list[list[int]] = []
        room = -1
        whole = width - sum(wide[:keys]) - 2 * (keys - 1)
        for span in self._spans(every[keys:]):
            needed = sum(wide[c] + 2 for c in span)
            for part in [span] if needed <= whole else [[c] for c in span]:
                needed = sum(wide[c] + 2 for c in part)
                if not blocks or needed > room:
                    blocks.append(every[:keys])
                    room = whole
                blocks[-1] = [*blocks[-1], *part]
                room -= needed
        return blocks or [every]

    def _spans(self, columns: Iterable[int]) -> list[list[int]]:
        """Columns with a common heading together, other columns alone."""
        spans: list[list[int]] = []
        for c in columns:
            if spans and self.columns[c].group and self.columns[spans[-1][0]].group == self.columns[c].group:
                spans[-1].append(c)
            else:
                spans.append([c])
        return spans

    def latex(self) -> str:
        r"""Return a `tabular` with booktabs rules, inside a `table` if there is a caption.

        The best cells are in \textbf, and notes are comments.
        """
        align = "".join("l" if column.kind == "text" else "r" for column in self.columns)
        lines = [f"% {one_line(note)}" for note in self.notes]
        if self.caption:
            lines += [r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(self.caption)}}}"]
        lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
        lines += self._latex_groups()
        lines.append(" & ".join(escape_latex(column.header) for column in self.columns) + r" \\")
        lines.append(r"\midrule")
        lines += [" & ".join(cells) + r" \\" for cells in self.marked(partial(map, escape_latex), r"\textbf{", "}")]
        lines += [r"\bottomrule", r"\end{tabular}"]
        if self.caption:
            lines.append(r"\end{table}")
        return "\n".join(lines)

    def _latex_groups(self) -> Iterator[str]:
        """The line of common headings, with rules below them."""
        spans = self._spans(range(len(self.columns)))
        named = [(span, escape_latex(self.columns[span[0]].group)) for span in spans]
        if any(group for _, group in named):
            cells = (rf"\multicolumn{{{len(span)}}}{{c}}{{{group}}}" if group else "" for span, group in named)
            yield " & ".join(cells) + r" \\"
            yield " ".join(rf"\cmidrule(lr){{{span[0] + 1}-{span[-1] + 1}}}" for span, group in named if group)

    def markdown(self) -> str:
        """Return a pipe table with the best cells in bold."""
        rule = [":--" if column.kind == "text" else "--:" for column in self.columns]
        rows = [[escape_markdown(column.name) for column in self.columns], rule]
        rows += self.marked(partial(map, escape_markdown), "**", "**")
        lines = [f"| {' | '.join(cells)} |" for cells in rows]
        above = [escape_markdown(self.caption), ""] if self.caption else []
        below = [line for note in shown_notes(self.notes) for line in ("", escape_markdown(note))]
        return "\n".join(above + lines + below)

    def html(self) -> str:
        """Return a `<table>` with the best cells in `<strong>` and the notes below; less important ones unfold."""
        from html import escape

        ends = ["left" if column.kind == "text" else "right" for column in self.columns]
        styles = [f' style="text-align:{end}"' for end in ends]
        head = "".join(f"<th{s}>{escape(c.header)}</th>" for c, s in zip(self.columns, styles, strict=True))
        lines = ["<table>"]
        if self.caption:
            lines.append(f"<caption>{escape(self.caption)}</caption>")
        spans = self._spans(range(len(self.columns)))
        above = "".join(f'<th colspan="{len(span)}">{escape(self.columns[span[0]].group)}</th>' for span in spans)
        above = f"<tr>{above}</tr>" if any(column.group for column in self.columns) else ""
        lines += [f"<thead>{above}<tr>{head}</tr></thead>", "<tbody>"]
        for cells in self.marked(partial(map, escape), "<strong>", "</strong>"):
            lines.append("<tr>" + "".join(f"<td{s}>{c}</td>" for c, s in zip(cells, styles, strict=True)) + "</tr>")
        lines += ["</tbody>", "</table>"]
        return "\n".join([*lines, *notes_in_html(self.notes)])

    def _repr_html_(self) -> str:
        return self.html()

    def marked(self, escaped: Callable[[Iterable[str]], Iterable[str]], begin: str, end: str) -> list[list[str]]:
        """Return rows of escaped cells; the best cells are put between `begin` and `end`.

        `escaped` gets the texts of all cells at once.
        """
        columns, best = self.columns, self.best
        shown = [[self._show(cell, column) for cell, column in zip(row, columns, strict=True)] for row in self.rows]
        texts = iter(escaped([part for row in shown for parts in row for part in parts]))
        out = []
        for r, row in enumerate(shown):
            cells = []
            for c, parts in enumerate(row):
                first, *span = islice(texts, len(parts))
                mark = f"{begin}{first}{end}" if (r, c) in best else first
                cells.append(mark + (f" [{span[0]}, {span[1]}]" if span else ""))
            out.append(cells)
        return out

    # -- formats for programs

    def _data(self) -> tuple[list[str], list[list[str | float | None]]]:
        """Return names and rows, rounded only if `digits` is set; an interval takes two further columns."""
        with_interval = [any(isinstance(row[c], Estimate) for row in self.rows) for c in range(len(self.columns))]
        names = []
        for column, spans in zip(self.columns, with_interval, strict=True):
            names += [column.name, f"{column.name} low", f"{column.name} high"] if spans else [column.name]
        rows = []
        for row in self.rows:
            out: list[str | float | None] = []
            for cell, spans in zip(row, with_interval, strict=True):
                if isinstance(cell, Estimate):
                    out += [self._datum(cell.value), self._datum(cell.low), self._datum(cell.high)]
                else:
                    out += [self._datum(cell), None, None] if spans else [self._datum(cell)]
            rows.append(out)
        return names, rows

    def _datum(self, cell: str | float | None) -> str | float | None:
        if not isinstance(cell, float):
            return cell
        if math.isnan(cell):
            return None
        return cell if self.digits is None else round(cell, self.digits)

    def json(self) -> str:
        """Return {"caption", "rows": [{heading: value}], "notes"}; undefined is null, infinity is the text "inf"."""
        import json

        names, rows = self._data()
        finite = [[str(x) if isinstance(x, float) and math.isinf(x) else x for x in row] for row in rows]
        records = [dict(zip(names, row, strict=True)) for row in finite]
        data = {"caption": self.caption, "rows": records, "notes": self.notes}
        return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)

    def csv(self, sep: str = ",") -> str:
        """Return a line of headings and a line per row; undefined is empty. Caption and notes are left out.

        Control characters are escaped.
        """
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.columns)
        names: list[str] = []
        texts: list[list[str]] = []
        for column, cells in zip(self.columns, columns, strict=True):
            if any(isinstance(cell, Estimate) for cell in cells):
                ends = zip(*map(_with_ends, cells), strict=True)
                names += [column.name, f"{column.name} low", f"{column.name} high"]
                texts += [self._csv_cells(end, sep) for end in ends]
            else:
                names.append(column.name)
                texts.append(self._csv_cells([one for one in cells if not isinstance(one, Estimate)], sep))
        header = sep.join(self._csv_cells(names, sep))
        return "\n".join([header, *map(sep.join, zip(*texts, strict=True))])

    def _csv_cells(self, cells: Sequence[str | float | None], sep: str) -> list[str]:
        """The cells of a column. The same text is escaped once, because the names of runs appear hundreds of times."""
        if set(map(type, cells)) <= {str}:
            safe = {text: self._csv_cell(text) for text in set(cells)}
            escaped = {text: _quoted(cell, sep) for text, cell in safe.items()}
            return [escaped[text] for text in cells]
        return [
            ("" if x != x else str(x if self.digits is None else round(x, self.digits)))
            if type(x) is float
            else _quoted(self._csv_cell(self._datum(x)), sep)
            for x in cells
        ]

    def _csv_cell(self, cell: str | float | None) -> str:
        if not isinstance(cell, str):
            return "" if cell is None else str(cell)
        return safe_cell(cell, guard_formulas=self.guard_formulas)

    def tsv(self) -> str:
        """Return the same as `csv`, with tabs instead of commas."""
        return self.csv(sep="\t")


def notes_in_html(notes: Sequence[str]) -> list[str]:
    """A paragraph for each of the most important notes; the others unfold.

    >>> notes_in_html(["a < b"])
    ['<p>a &lt; b</p>']
    """
    from html import escape

    shown, hidden = ([f"<p>{escape(note)}</p>" for note in part] for part in main_notes(notes))
    if hidden:
        title = f"<summary>{counted(len(hidden), 'more note')}</summary>"
        hidden = [f"<details>{title}{''.join(hidden)}</details>"]
    return [*shown, *hidden]


# -- cells


def _with_ends(cell: Cell) -> tuple[str | float | None, ...]:
    """The value of a cell and the ends of its interval."""
    return (cell.value, cell.low, cell.high) if isinstance(cell, Estimate) else (cell, None, None)


def number(cell: Cell) -> float | None:
    """Return the value by which a cell is compared; None for text and undefined values."""
    value = cell.value if isinstance(cell, Estimate) else cell
    return None if value is None or isinstance(value, str) or math.isnan(value) else value


def visible_width(text: str) -> int:
    """Return how many columns of a terminal the text takes: a wide East Asian character 2, a combining mark 0.

    >>> visible_width("検索"), visible_width("cafe\\u0301")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def pad(text: str, width: int, side: str) -> str:
    """Fill up to `width` with spaces, on the right of text that is aligned `left`."""
    blanks = " " * (width - visible_width(text))
    return text + blanks if side == "left" else blanks + text


def _centred(text: str, width: int) -> str:
    left = (width - visible_width(text)) // 2
    return pad(" " * left + text, width, "left")


def bold(text: str) -> str:
    """Make text bold in a terminal, but not the spaces around it."""
    bare = text.strip()
    return text.replace(bare, f"\x1b[1m{bare}\x1b[0m", 1) if bare else text


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\char34{}",  # \textquotedbl needs another font encoding than the usual one
        **{c: "\\" + c for c in "&%$#_{}"},
        # pdflatex has these signs only in mathematics.
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "δ": r"$\delta$",
        "Δ": r"$\Delta$",
        "ε": r"$\varepsilon$",
        "κ": r"$\kappa$",
        "τ": r"$\tau$",
        "χ": r"$\chi$",
        "ω": r"$\omega$",
        "²": "$^2$",
        "−": "$-$",
        "×": r"$\times$",
    }
)


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> print(escape_latex("D#-nDCG & 5%, α"))
    D\#-nDCG \& 5\%, $\alpha$
    """
    return printable(one_line(text)).translate(_LATEX)


def escape_markdown(text: str) -> str:
    """Escape text for Markdown.

    >>> print(escape_markdown("a|b_c"))
    a\\|b\\_c
    """
    return "".join("\\" + c if c in "\\`*_[]<>|#~" else c for c in printable(one_line(text)))


def safe_cell(cell: str, *, guard_formulas: bool = True) -> str:
    """Return text for a CSV file, with control characters escaped and ' before what a spreadsheet would run.

    >>> safe_cell("=HYPERLINK(0)"), safe_cell("bm25")
    ("'=HYPERLINK(0)", 'bm25')
    """
    text = guarded(cell) if guard_formulas else cell
    return text if text.isprintable() else control_free(text)


def _quoted(cell: str, sep: str) -> str:
    """Return a cell of a CSV or TSV file, in quotes if it needs them."""
    if sep in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell
