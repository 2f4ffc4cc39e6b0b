"""Groups of systems that do not differ, as letters or numbers: two systems differ exactly if they share none."""

from __future__ import annotations

from collections.abc import Iterator
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
    """The maximal sets of systems of which no two differ, as bits; None if they would not fit in a table.

    These are the maximal cliques of the graph of systems that do not differ. A system that is in more than `WIDEST` of
    them needs more characters than that, so the search can stop. Reference: Bron & Kerbosch, CACM 16(9), 1973, with
    pivots that have the most neighbours
    """
    m = len(differ)
    alike = [sum(1 << j for j in range(m) if j != i and not differ[i, j]) for i in range(m)]
    groups: list[int] = []
    of_system = [0] * m

    def extend(group: int, more: int, done: int) -> bool:
        """Add the maximal sets with `group` and some of `more`, none of `done`; False to stop the search."""
        if not more and not done:
            groups.append(group)
            for i in _bits(group):
                of_system[i] += 1
                if of_system[i] > WIDEST:
                    return False
            return len(groups) <= MOST_GROUPS
        pivot = max(_bits(more | done), key=lambda i: (more & alike[i]).bit_count())
        for i in _bits(more & ~alike[pivot]):
            if not extend(group | 1 << i, more & alike[i], done & alike[i]):
                return False
            more &= ~(1 << i)
            done |= 1 << i
        return True

    return groups if extend(0, (1 << m) - 1, 0) else None


def _bits(mask: int) -> Iterator[int]:
    """The places of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
