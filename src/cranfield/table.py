"""Tables: one record, many renderings. Plain text needs nothing but this file, so the command line starts at once."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield import check
from cranfield.errors import UsageError


@dataclass(frozen=True)
class Estimate:
    """One number for one run, with its interval and what it rests on."""

    measure: str
    run: str
    value: float
    low: float
    """Lower end of the interval; NaN when there is none."""
    high: float
    topics: int
    """How many topics it was computed over."""
    undefined: int
    """How many topics were left out because the measure has no value there."""
    missing: int
    """How many topics the run lacks."""


Cell = str | int | float | Estimate | None
"""Text, a count, a number, a number with its interval, or nothing."""

KINDS = ("text", "number", "count", "probability")
BETTER = ("higher", "lower", "neither")
FORMATS = ("text", "json", "csv", "tsv", "latex", "markdown", "html")
DIGITS = 4
"""Digits after the point where people read; data formats give them all."""
UNDEFINED = "-"


@dataclass(frozen=True)
class Column:
    """A heading, what is below it, and which end of it is best.

    A `probability` too small for the digits shown is `<0.0001`, never 0; otherwise it is a number.
    """

    header: str
    kind: str = "text"
    better: str = "neither"

    def __post_init__(self) -> None:
        check.one_of(f"column {self.header!r}", KINDS, kind=self.kind)
        check.one_of(f"column {self.header!r}", BETTER, better=self.better)


def number_kind(header: str) -> str:
    """The kind of a column of numbers, by its heading: p-values are probabilities."""
    return "probability" if header in ("p", "p adjusted") else "number"


@dataclass(frozen=True)
class Table:
    """Rows under columns, with a caption and notes. `digits` None: four for people, all of them in data formats.

    The best cells of a column are those that look best, so two runs shown as 0.2512 are both marked.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        plain = (tuple(x.item() if isinstance(x, np.generic) else x for x in row) for row in self.rows)
        object.__setattr__(self, "rows", tuple(plain))
        object.__setattr__(self, "notes", tuple(self.notes))
        if self.digits is not None:
            check.not_negative("table", digits=self.digits)
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise UsageError(f"table: row {i} has {len(row)} cells, there are {len(self.columns)} columns")

    @cached_property
    def best(self) -> frozenset[tuple[int, int]]:
        """(row, column) of the cells that are best in their column; none where there is nothing to compare."""
        found: set[tuple[int, int]] = set()
        for c, column in enumerate(self.columns):
            if column.better == "neither":
                continue
            shown = {
                r: round(x, self._shown_digits) for r, row in enumerate(self.rows) if (x := number(row[c])) is not None
            }
            if len(shown) > 1:
                top = (max if column.better == "higher" else min)(shown.values())
                found.update((r, c) for r, x in shown.items() if x == top)
        return frozenset(found)

    @property
    def _shown_digits(self) -> int:
        return DIGITS if self.digits is None else self.digits

    def render(self, format: str = "text", *, color: bool = False, width: int | None = None) -> str:
        """The table as `text`, `json`, `csv`, `tsv`, `latex`, `markdown` or `html`."""
        check.one_of("table", FORMATS, format=format)
        if format == "text":
            return self.text(color=color, width=width)
        made: str = getattr(self, format)()
        return made

    # -- for people

    def _show(self, cell: Cell, column: Column) -> tuple[str, ...]:
        """The parts of a cell: one, or three for a number with its interval."""
        if isinstance(cell, Estimate):
            parts = (
                [cell.value] if math.isnan(cell.low) and math.isnan(cell.high) else [cell.value, cell.low, cell.high]
            )
            return tuple(part for x in parts for part in self._show(x, column))
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return ("" if column.kind == "text" else UNDEFINED,)
        if isinstance(cell, str):
            return (printable(cell),)
        if column.kind == "probability" and 0 < cell < (least := 10.0**-self._shown_digits):
            return (f"<{least:.{self._shown_digits}f}",)
        if column.kind in ("number", "probability"):
            return (f"{cell:.{self._shown_digits}f}",)
        return (f"{cell:g}" if isinstance(cell, float) and column.kind == "text" else f"{cell:.0f}",)

    def _shown(self) -> list[list[str]]:
        """Every cell as text, column after column; the parts of an interval aligned below one another."""
        out = []
        for c, column in enumerate(self.columns):
            cells = [self._show(row[c], column) for row in self.rows]
            wide = [max((visible_width(parts[i]) for parts in cells if len(parts) > i), default=0) for i in range(3)]

            def together(parts: tuple[str, ...], wide: list[int] = wide) -> str:
                if len(parts) < 3:
                    # Without an interval where others have one: keep the number below the other numbers.
                    return parts[0] + " " * (wide[1] + wide[2] + 5 if wide[1] else 0)
                return f"{parts[0]} [{pad(parts[1], wide[1], 'right')}, {pad(parts[2], wide[2], 'right')}]"

            out.append([together(parts) for parts in cells])
        return out

    def text(self, *, color: bool = False, width: int | None = None) -> str:
        """Aligned plain text. `color` marks the best in bold; `width` stacks columns that do not fit."""
        shown = self._shown()
        headers = [printable(column.header) for column in self.columns]
        wide = [max(map(visible_width, [head, *cells])) for head, cells in zip(headers, shown, strict=True)]
        blocks = ["\n".join(self._lines(block, headers, shown, wide, color)) for block in self._blocks(wide, width)]
        caption = [printable(self.caption)] if self.caption else []
        return "\n".join([*caption, "\n\n".join(blocks), *map(printable, self.notes)])

    def _lines(
        self, block: Sequence[int], headers: list[str], shown: list[list[str]], wide: list[int], color: bool
    ) -> Iterator[str]:
        sides = ["left" if self.columns[c].kind == "text" else "right" for c in block]
        yield "  ".join(pad(headers[c], wide[c], side) for c, side in zip(block, sides, strict=True)).rstrip()
        for r in range(len(self.rows)):
            cells = [pad(shown[c][r], wide[c], side) for c, side in zip(block, sides, strict=True)]
            if color:
                cells = [bold(cell) if (r, c) in self.best else cell for c, cell in zip(block, cells, strict=True)]
            yield "  ".join(cells).rstrip()

    def _blocks(self, wide: Sequence[int], width: int | None) -> list[list[int]]:
        """Which columns stand beside one another; those of text at the left begin every block."""
        keys = next((c for c, column in enumerate(self.columns) if column.kind != "text"), len(wide))
        every = list(range(len(wide)))
        if width is None or sum(wide) + 2 * (len(wide) - 1) <= width:
            return [every]
        blocks: list[list[int]] = []
        room = -1
        for c in every[keys:]:
            if not blocks or wide[c] + 2 > room:
                blocks.append(every[:keys])
                room = width - sum(wide[:keys]) - 2 * (keys - 1)
            blocks[-1] = [*blocks[-1], c]
            room -= wide[c] + 2
        return blocks or [every]

    def latex(self) -> str:
        r"""A `tabular` with booktabs rules, in a `table` if captioned; the best in \textbf, notes as comments."""
        align = "".join("l" if column.kind == "text" else "r" for column in self.columns)
        lines = [f"% {one_line(note)}" for note in self.notes]
        if self.caption:
            lines += [r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(self.caption)}}}"]
        lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
        lines.append(" & ".join(escape_latex(column.header) for column in self.columns) + r" \\")
        lines.append(r"\midrule")
        lines += [" & ".join(cells) + r" \\" for cells in self._marked(escape_latex, r"\textbf{", "}")]
        lines += [r"\bottomrule", r"\end{tabular}"]
        if self.caption:
            lines.append(r"\end{table}")
        return "\n".join(lines)

    def markdown(self) -> str:
        """A pipe table; the best in bold."""
        rule = [":--" if column.kind == "text" else "--:" for column in self.columns]
        rows = [[escape_markdown(column.header) for column in self.columns], rule]
        rows += self._marked(escape_markdown, "**", "**")
        lines = [f"| {' | '.join(cells)} |" for cells in rows]
        above = [escape_markdown(self.caption), ""] if self.caption else []
        below = [line for note in self.notes for line in ("", escape_markdown(note))]
        return "\n".join(above + lines + below)

    def html(self) -> str:
        """A `<table>`; the best in `<strong>`, notes below it."""
        from html import escape

        ends = ["left" if column.kind == "text" else "right" for column in self.columns]
        styles = [f' style="text-align:{end}"' for end in ends]
        head = "".join(f"<th{s}>{escape(c.header)}</th>" for c, s in zip(self.columns, styles, strict=True))
        lines = ["<table>"]
        if self.caption:
            lines.append(f"<caption>{escape(self.caption)}</caption>")
        lines += [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
        for cells in self._marked(escape, "<strong>", "</strong>"):
            lines.append("<tr>" + "".join(f"<td{s}>{c}</td>" for c, s in zip(cells, styles, strict=True)) + "</tr>")
        lines += ["</tbody>", "</table>"]
        return "\n".join(lines + [f"<p>{escape(note)}</p>" for note in self.notes])

    def _repr_html_(self) -> str:
        return self.html()

    def _marked(self, escape: Callable[[str], str], begin: str, end: str) -> list[list[str]]:
        """Rows of escaped cells, the best between `begin` and `end`."""
        out = []
        for r, row in enumerate(self.rows):
            cells = []
            for c, (cell, column) in enumerate(zip(row, self.columns, strict=True)):
                first, *span = map(escape, self._show(cell, column))
                mark = f"{begin}{first}{end}" if (r, c) in self.best else first
                cells.append(mark + (f" [{span[0]}, {span[1]}]" if span else ""))
            out.append(cells)
        return out

    # -- for programs

    def _data(self) -> tuple[list[str], list[list[str | float | None]]]:
        """Names and rows with nothing rounded (unless digits were asked for); an interval takes two further columns."""
        with_interval = [any(isinstance(row[c], Estimate) for row in self.rows) for c in range(len(self.columns))]
        names = []
        for column, spans in zip(self.columns, with_interval, strict=True):
            names += [column.header, f"{column.header} low", f"{column.header} high"] if spans else [column.header]
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
        """{"caption", "rows": [{heading: value}], "notes"}; undefined is null, infinity the text "inf"."""
        import json

        names, rows = self._data()
        told = [[str(x) if isinstance(x, float) and math.isinf(x) else x for x in row] for row in rows]
        whole = {
            "caption": self.caption,
            "rows": [dict(zip(names, row, strict=True)) for row in told],
            "notes": self.notes,
        }
        return json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1)

    def csv(self, sep: str = ",") -> str:
        """A line of headings and a line per row; undefined is empty. Caption and notes are left out."""
        names, rows = self._data()
        lines: list[list[str | float | None]] = [[*names], *rows]
        return "\n".join(sep.join(_quoted("" if x is None else str(x), sep) for x in line) for line in lines)

    def tsv(self) -> str:
        """As `csv`, with tabs."""
        return self.csv(sep="\t")


# -- cells


def number(cell: Cell) -> float | None:
    """What a cell is worth when cells are compared; None for text and for what is undefined."""
    value = cell.value if isinstance(cell, Estimate) else cell
    return None if value is None or isinstance(value, str) or math.isnan(value) else value


def visible_width(text: str) -> int:
    """How many places a terminal gives this text: two for a wide East Asian character, none for a combining one.

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
    """Blanks to fill `width`, on the right of text that keeps `left`."""
    blanks = " " * (width - visible_width(text))
    return text + blanks if side == "left" else blanks + text


def bold(text: str) -> str:
    """Bold in a terminal; blanks around the text stay as they are."""
    bare = text.strip()
    return text.replace(bare, f"\x1b[1m{bare}\x1b[0m", 1) if bare else text


def printable(text: str) -> str:
    """Control characters spelled out, and those that are not seen: a run's name must not move the cursor.

    >>> printable("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _is_control(c) else c for c in text)


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in _CONTROL or character in _UNSEEN


_CONTROL = ("Cc", "Cs", "Zl", "Zp")
_UNSEEN = "\ufeff\u200b\u2060\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""The byte order mark, blanks of no width, and marks that turn the direction of what follows."""

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        **{c: "\\" + c for c in "&%$#_{}"},
        # Letters and signs of statistics, which pdflatex has in mathematics only.
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "δ": r"$\delta$",
        "Δ": r"$\Delta$",
        "ε": r"$\varepsilon$",
        "τ": r"$\tau$",
        "χ": r"$\chi$",
        "ω": r"$\omega$",
        "²": "$^2$",
        "−": "$-$",
        "×": r"$\times$",
    }
)


def one_line(text: str) -> str:
    return " ".join(text.split())


def escape_latex(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    >>> print(escape_latex("D#-nDCG & 5%, α"))
    D\#-nDCG \& 5\%, $\alpha$
    """
    return printable(one_line(text)).translate(_LATEX)


def escape_markdown(text: str) -> str:
    """Text that Markdown prints as it is.

    >>> print(escape_markdown("a|b_c"))
    a\\|b\\_c
    """
    return "".join("\\" + c if c in "\\`*_[]<>|#~" else c for c in printable(one_line(text)))


def _quoted(cell: str, sep: str) -> str:
    """A cell of a separated file, in quotes if it must be."""
    if sep in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell
