"""Placing names beside points so that they do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cranfield.report.figures.theme import SIZE, text_width

Box = tuple[float, float, float, float]
GAP = 6.0
LINE_HEIGHT = SIZE + 2.0


@dataclass(frozen=True)
class Place:
    """The position of a name relative to its point: alignment and offset in pixels."""

    align: str
    dx: float
    dy: float


PLACES = (Place("left", GAP, 0.0), Place("right", -GAP, 0.0), Place("center", 0.0, -11.0), Place("center", 0.0, 12.0))
"""To the right of the point, to the left, above, below."""


def placed(
    points: Sequence[tuple[float, float]], labels: Sequence[str], width: float, height: float
) -> list[Place | None]:
    """Return a place for each name, or None if there is no free place. Earlier names choose first.

    `points` are in pixels from the top left corner; `width` and `height` are those of the figure.

    >>> [place and place.align for place in placed([(10, 50), (90, 50)], ["a", "b"], 100, 100)]
    ['left', 'right']
    """
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    places: list[Place | None] = []
    for number, ((x, y), label) in enumerate(zip(points, labels, strict=True)):
        others = [box for i, box in enumerate(taken) if i != number]
        for place in PLACES:
            box = _covered(x + place.dx, y + place.dy, text_width(label), place.align)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
            if inside and not any(_overlap(box, other) for other in others):
                taken.append(box)
                places.append(place)
                break
        else:
            places.append(None)
    return places


def _covered(x: float, y: float, wide: float, align: str) -> Box:
    begin = {"left": x, "right": x - wide, "center": x - wide / 2}[align]
    return begin, y - LINE_HEIGHT / 2, begin + wide, y + LINE_HEIGHT / 2


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
