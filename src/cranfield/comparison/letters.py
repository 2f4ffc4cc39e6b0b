"""Groups of systems that do not differ, as letters or numbers: two systems differ exactly if they share none."""

from __future__ import annotations

from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

MOST_GROUPS = 2_000
"""With more groups than this, the search for them stops."""
WIDEST = 40
"""If the groups of a system take more characters than this, they do not fit in a table."""


def letters(differ: NDArray[np.bool_]) -> list[str] | None:
    """The letters of each system, from a symmetric matrix that says which pairs differ.

    Every group is a maximal set of systems of which no two differ. Its name is a letter: a to z, then A to Z. If there
    are more than 52 groups, all have numbers instead, separated by commas. None if the groups do not fit in a table.

    Reference: Piepho, An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons, JCGS 13(2), 2004

    >>> letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    groups = _groups(differ)
    if groups is None:
        return None
    ordered = sorted(groups, key=lambda group: [i for i in range(len(differ)) if group >> i & 1])
    few = len(ordered) <= len(ascii_letters)
    names = ascii_letters if few else [str(number) for number in range(1, len(ordered) + 1)]
    shown = [
        ("" if few else ",").join(name for name, group in zip(names, ordered, strict=False) if group >> i & 1)
        for i in range(len(differ))
    ]
    return shown if max(map(len, shown), default=0) <= WIDEST else None


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
