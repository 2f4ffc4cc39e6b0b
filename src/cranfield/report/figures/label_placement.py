"""Placing names beside points so that they do not overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from cranfield.report.figures.theme import SIZE, text_width
from cranfield.types import Array

Box = tuple[float, float, float, float]
GAP = 6.0
LINE_HEIGHT = SIZE + 2.0


@dataclass(frozen=True)
class Place:
    """The position of a name relative to its point: alignment and offset in pixels."""

    align: str
    dx: float
    dy: float


PLACES = (
    Place("left", GAP, 0.0), Place("right", -GAP, 0.0), Place("center", 0.0, -11.0), Place("center", 0.0, 12.0),
    Place("left", GAP, -9.0), Place("right", -GAP, -9.0), Place("left", GAP, 9.0), Place("right", -GAP, 9.0),
)  # fmt: skip
"""To the right of the point, to the left, above, below, and at its corners."""
LONGEST = 18
"""Names beside points are shortened to this many characters."""


def short_names(names: Sequence[str]) -> list[str]:
    """Return names that fit beside points: long ones without the parts that all share, and without their middle.

    Names that would no longer differ stay as they are.

    >>> short_names(["university-of-x-bm25-run", "university-of-x-dense-run"]), short_names(["bm25", "bm25-rm3"])
    (['bm25', 'dense'], ['bm25', 'bm25-rm3'])
    >>> short_names(["a-name-that-is-much-too-long-1", "b"])
    ['a-name-t…oo-long-1', 'b']
    """
    short = list(names)
    if max(map(len, names), default=0) > LONGEST:
        parts = [re.split(r"[-_./: ]+", name) for name in names]
        if len(set(map(len, parts))) == 1:
            differ = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
            short = ["-".join(compress(part, differ)) or name for part, name in zip(parts, names, strict=True)]
        head, tail = (LONGEST - 1) // 2, LONGEST - 1 - (LONGEST - 1) // 2
        short = [name if len(name) <= LONGEST else f"{name[:head]}…{name[-tail:]}" for name in short]
    return short if len(set(short)) == len(set(names)) else list(names)


def placed(
    points: Sequence[tuple[float, float]], labels: Sequence[str], width: float, height: float
) -> list[Place | None]:
    """Return a place for each name, or None if there is no free place. Earlier names choose first.

    `points` are in pixels from the top left corner; `width` and `height` are those of the figure.

    >>> [place and place.align for place in placed([(10, 50), (90, 50)], ["a", "b"], 100, 100)]
    ['left', 'right']
    """
    boxes = np.empty((len(points) + len(labels), 4))  # what is taken: the points, then names
    boxes[: len(points)] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    taken = len(points)
    places: list[Place | None] = []
    for number, ((x, y), label) in enumerate(zip(points, labels, strict=True)):
        for place in PLACES:
            box = _covered(x + place.dx, y + place.dy, text_width(label), place.align)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
            if inside and not _overlaps(box, boxes[:taken], number):
                boxes[taken] = box
                taken += 1
                places.append(place)
                break
        else:
            places.append(None)
    return places


def _covered(x: float, y: float, wide: float, align: str) -> Box:
    begin = {"left": x, "right": x - wide, "center": x - wide / 2}[align]
    return begin, y - LINE_HEIGHT / 2, begin + wide, y + LINE_HEIGHT / 2


def _overlaps(box: Box, others: Array, but: int) -> bool:
    """Return whether a box overlaps one of the others, except the one with the number `but`."""
    hits = (others[:, 0] < box[2]) & (others[:, 2] > box[0]) & (others[:, 1] < box[3]) & (others[:, 3] > box[1])
    return int(np.count_nonzero(hits)) > int(hits[but])
