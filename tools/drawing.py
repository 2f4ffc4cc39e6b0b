"""Small SVG pictures for the documentation: shapes, ranked lists, axes. The same calls always give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

INK, GREY, PALE = "#222222", "#8a8a8a", "#e4e4e4"
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#aa5599"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY)
"""Colours that people with any kind of colour vision can tell apart (after Okabe & Ito)."""
GRADES = ("#ffffff", "#cfe3f2", "#6baed6", BLUE)
"""The fill of a document of grade 0, 1, 2 and 3."""


def number(value: float) -> str:
    """A coordinate, with one digit after the point at most."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0" if round(value, 1) == 0 else "-0")


def ticks(*values: float, form: str = "g") -> list[tuple[float, str]]:
    """Values with their labels, for axes."""
    return [(value, f"{value:{form}}") for value in values]


class Picture:
    """An SVG picture on white ground, so that it also reads on a dark page."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size, self.title = (width, height), title
        self.parts: list[str] = []

    def add(self, name: str, inner: str | None = None, /, **attributes: float | str) -> None:
        values = "".join(
            f' {key.strip("_").replace("_", "-")}="{value if isinstance(value, str) else number(value)}"'
            for key, value in attributes.items()
        )
        self.parts.append(f"<{name}{values}/>" if inner is None else f"<{name}{values}>{inner}</{name}>")

    def text(
        self, x: float, y: float, words: str, *, size: float = 14, anchor: str = "start", fill: str = INK,
        bold: bool = False, turn: float = 0,
    ) -> None:  # fmt: skip
        extra: dict[str, float | str] = {"font_weight": "bold"} if bold else {}
        if turn:
            extra["transform"] = f"rotate({number(turn)} {number(x)} {number(y)})"
        self.add("text", escape(words), x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **extra)

    def line(self, x1: float, y1: float, x2: float, y2: float, *, stroke: str = INK, width: float = 1.5) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=width)

    def rectangle(
        self, x: float, y: float, width: float, height: float, *, fill: str = "none", stroke: str = "none",
        round_by: float = 0, opacity: float = 1,
    ) -> None:  # fmt: skip
        extra = {} if opacity == 1 else {"fill_opacity": f"{opacity:.2f}"}
        self.add("rect", x=x, y=y, width=width, height=height, fill=fill, stroke=stroke, rx=round_by, **extra)

    def circle(self, x: float, y: float, radius: float, *, fill: str = INK, stroke: str = INK) -> None:
        self.add("circle", cx=x, cy=y, r=radius, fill=fill, stroke=stroke)

    def curve(self, points: Sequence[tuple[float, float]], *, stroke: str = INK, width: float = 2.2) -> None:
        joined = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.add("polyline", points=joined, fill="none", stroke=stroke, stroke_width=width)

    def arrow(self, x1: float, y1: float, x2: float, y2: float, *, stroke: str = GREY) -> None:
        """A line with a head; horizontal, vertical or oblique."""
        self.line(x1, y1, x2, y2, stroke=stroke)
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        along, across = (
            ((x2 - x1) / length * 8, (y2 - y1) / length * 8),
            (-(y2 - y1) / length * 4, (x2 - x1) / length * 4),
        )
        corners = [(x2, y2), (x2 - along[0] + across[0], y2 - along[1] + across[1])]
        corners.append((x2 - along[0] - across[0], y2 - along[1] - across[1]))
        self.add("polygon", points=" ".join(f"{number(x)},{number(y)}" for x, y in corners), fill=stroke)

    def box(self, x: float, y: float, words: str, *, width: float = 120, fill: str = "#f3f6f9") -> None:
        """A named box with its centre at x, y."""
        self.rectangle(x - width / 2, y - 19, width, 38, fill=fill, stroke=GREY, round_by=6)
        self.text(x, y + 5, words, anchor="middle")

    def ranked(self, x: float, y: float, grades: Sequence[int | None], *, step: float = 34) -> None:
        """A ranked list from the left: white is not relevant, darker is better, a question mark is not judged."""
        for rank, grade in enumerate(grades):
            left = x + rank * step
            self.rectangle(left, y, step - 6, 28, fill=GRADES[grade or 0], stroke=GREY, round_by=4)
            words = "?" if grade is None else str(grade) if grade else ""
            dark = grade is not None and grade > 2
            self.text(left + step / 2 - 3, y + 19, words, anchor="middle", fill="#ffffff" if dark else INK)

    def axes(
        self, left: float, top: float, width: float, height: float, x: tuple[float, float], y: tuple[float, float], *,
        x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], x_label: str, y_label: str,
    ) -> Callable[[float, float], tuple[float, float]]:  # fmt: skip
        """Draw axes; the result turns values into places."""

        def place(value_x: float, value_y: float) -> tuple[float, float]:
            across, up = (value_x - x[0]) / (x[1] - x[0]), (value_y - y[0]) / (y[1] - y[0])
            return left + across * width, top + height - up * height

        for value, words in y_ticks:
            _, at = place(x[0], value)
            self.line(left, at, left + width, at, stroke=PALE, width=1)
            self.text(left - 8, at + 4, words, size=12, anchor="end")
        for value, words in x_ticks:
            at, _ = place(value, y[0])
            self.text(at, top + height + 18, words, size=12, anchor="middle")
        self.line(left, top + height, left + width, top + height, width=1)
        self.text(left + width / 2, top + height + 40, x_label, size=13, anchor="middle")
        self.text(left - 46, top + height / 2, y_label, size=13, anchor="middle", turn=-90)
        return place

    def key(self, x: float, y: float, words: Sequence[str], colours: Sequence[str] = COLOURS) -> None:
        """The names of curves, below each other."""
        for row, (name, colour) in enumerate(zip(words, colours, strict=False)):
            self.line(x, y + row * 20 - 4, x + 22, y + row * 20 - 4, stroke=colour, width=3)
            self.text(x + 28, y + row * 20, name, size=13)

    def svg(self) -> str:
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'font-family="Helvetica, Arial, sans-serif" role="img">'
        )
        ground = f'<rect width="{width}" height="{height}" fill="#ffffff" rx="8"/>'
        return "\n".join([head, f"<title>{escape(self.title)}</title>", ground, *self.parts, "</svg>\n"])
