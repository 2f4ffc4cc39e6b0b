"""Groups of systems that do not differ, as letters: two systems differ exactly if they have no letter in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_GROUPS = 2_000
"""With more groups than this, the letters would be unreadable."""


def letters(differ: NDArray[np.bool_]) -> list[str] | None:
    """The letters of each system, from a symmetric matrix that says which pairs differ.

    Every group is a maximal set of systems of which no two differ. None if there are too many groups to show.

    Reference: Piepho, An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons, JCGS 13(2), 2004

    >>> letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    groups = _groups(differ)
    if groups is None:
        return None
    ordered = sorted(groups, key=lambda group: [i for i in range(len(differ)) if group >> i & 1])
    names = [_letter(i) for i in range(len(ordered))]
    own = [[name for name, group in zip(names, ordered, strict=True) if group >> i & 1] for i in range(len(differ))]
    return [("," if any(len(name) > 1 for name in shown) else "").join(shown) for shown in own]


def _groups(differ: NDArray[np.bool_]) -> list[int] | None:
    """Sets of systems as bits: start with all, split for each pair that differs, drop sets contained in others."""
    groups = [(1 << len(differ)) - 1]
    for i, j in zip(*np.nonzero(np.triu(differ, 1)), strict=True):
        first, second = 1 << int(i), 1 << int(j)
        both = first | second
        split = [group for group in groups if group & both == both]
        if not split:
            continue
        kept = [group for group in groups if group & both != both]
        for half in (group & ~bit for group in split for bit in (first, second)):
            if not any(half & group == half for group in kept):
                kept = [group for group in kept if group & half != group]
                kept.append(half)
        groups = kept
        if len(groups) > MOST_GROUPS:
            return None
    return groups


def _letter(number: int) -> str:
    """a, b, ..., z, aa, ab, ...

    >>> [_letter(i) for i in (0, 25, 26, 52)]
    ['a', 'z', 'aa', 'ba']
    """
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("a") + digit) + name
    return name
