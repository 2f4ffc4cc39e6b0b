"""Labels on a coarser scale: several labels count as one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from cranfield.building.assessor_labels import Labels
from cranfield.errors import UsageError
from cranfield.text import listed

_CUTS = re.compile(r"(?:>=\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*)+")


def collapse(labels: Labels, scale: str) -> Labels:
    """The labels on a coarser scale, whose labels are 0, 1, 2 … in their order.

    scale: groups of labels, lowest first, with / between groups: `0/123` makes grades 1, 2 and 3 one grade, and `01/23`
        the two lowest and the two highest. Longer labels have + between them: `no+hardly/partly+fully`. Or limits, for
        magnitudes: `>=10` is 1 from 10 on and 0 below, `>=10>=50` has three grades.

    >>> labels = Labels.of([("t1", "anna", 0), ("t1", "ben", 1), ("t2", "anna", 3), ("t2", "ben", 2)])
    >>> collapse(labels, "01/23").label.tolist(), collapse(labels, ">=2>=3").label.tolist()
    ([0, 0, 1, 1], [0, 0, 2, 1])
    """
    new = _by_limits(labels, scale) if _CUTS.fullmatch(scale.strip()) else _by_groups(labels, scale)
    size = int(new.max()) + 1
    return replace(labels, scale=tuple(map(str, range(size))), label=new[labels.label], ordered=True)


def _by_limits(labels: Labels, scale: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    limits = [float(word) for word in scale.replace(">=", " ").split()]
    if limits != sorted(set(limits)):
        raise UsageError(f"scale {scale!r}: limits must rise, as in >=10>=50")
    new = np.searchsorted(np.array(limits), labels.values, side="right").astype(np.int64)
    if len(set(new.tolist())) < 2:
        low, high = labels.values.min(), labels.values.max()
        raise UsageError(f"scale {scale!r} gives all labels the same grade; labels are between {low:g} and {high:g}")
    return new


def _by_groups(labels: Labels, scale: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    short = all(len(word) == 1 for word in labels.scale) and "+" not in scale
    groups = [list(group.strip()) if short else [w.strip() for w in group.split("+")] for group in scale.split("/")]
    if len(groups) < 2 or not all(groups):
        example = "/".join([labels.scale[0], "+".join(labels.scale[1:]) if not short else "".join(labels.scale[1:])])
        raise UsageError(f"scale {scale!r}: expected two groups of labels or more, such as {example}, or limits: >=2")
    place: dict[str, int] = {}
    for number, group in enumerate(groups):
        for word in group:
            if word in place:
                raise UsageError(f"scale {scale!r}: label {word!r} is in two groups")
            place[word] = number
    if unknown := [word for word in place if word not in labels.scale]:
        known = listed(labels.scale)
        raise UsageError(f"scale {scale!r}: {listed(map(repr, unknown))} is not among the labels {known}")
    if lacking := [word for word in labels.scale if word not in place]:
        raise UsageError(f"scale {scale!r}: no group for {listed(map(repr, lacking))}; every label needs one")
    return np.array([place[word] for word in labels.scale], dtype=np.int64)
