"""Where names can stand beside points without covering one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cranfield.report.figures.theme import SIZE, text_width

Box = tuple[float, float, float, float]
GAP = 6.0
HIGH = SIZE + 2.0


@dataclass(frozen=True)
class Place:
    """A name beside its point: how it is aligned there, and how far off it stands."""

    align: str
    dx: float
    dy: float


PLACES = (Place("left", GAP, 0.0), Place("right", -GAP, 0.0), Place("center", 0.0, -11.0), Place("center", 0.0, 12.0))
"""Right of the point, left of it, above, below."""


def placed(
    points: Sequence[tuple[float, float]], labels: Sequence[str], width: float, height: float
) -> list[Place | None]:
    """A place for each name, or None where there is none that is free; the first names have the first choice.

    `points` are in pixels from the top left corner of a picture so wide and high.

    >>> [one and one.align for one in placed([(10, 50), (90, 50)], ["a", "b"], 100, 100)]
    ['left', 'right']
    """
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    out: list[Place | None] = []
    for number, ((x, y), label) in enumerate(zip(points, labels, strict=True)):
        others = [box for i, box in enumerate(taken) if i != number]
        for place in PLACES:
            box = _covered(x + place.dx, y + place.dy, text_width(label), place.align)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
            if inside and not any(_meet(box, other) for other in others):
                taken.append(box)
                out.append(place)
                break
        else:
            out.append(None)
    return out


def _covered(x: float, y: float, wide: float, align: str) -> Box:
    begin = {"left": x, "right": x - wide, "center": x - wide / 2}[align]
    return begin, y - HIGH / 2, begin + wide, y + HIGH / 2


def _meet(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]
