"""Condensed lists: unjudged documents removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.tied_orders import tied_groups
from cranfield.views.view import View


@dataclass(frozen=True)
class Condensed(View):
    """Unjudged documents removed, ranks closed up: `AP'`, `nDCG'`, ... (Sakai, SIGIR 2007; Sakai 2014 (21)).

    >>> Condensed().apply(Assessed.one([None, 0, 1])).rank.tolist()
    [1, 2]
    """

    mark: ClassVar[str] = "'"

    def apply(self, lists: Assessed) -> Assessed:
        hits = lists.hits()
        first = last = None
        if lists.tie_first is not None:  # tied documents stay tied
            _, starts, sizes = tied_groups(lists.row, lists.tie_first)
            first = np.repeat(hits.nth[starts], sizes)
            last = np.repeat(hits.nth[starts + sizes - 1], sizes)
        attachments = {name: attachment.condensed(lists) for name, attachment in lists.attachments.items()}
        retrieved = np.diff(hits.start)
        return lists.replace(rank=hits.nth, retrieved=retrieved, tie_first=first, tie_last=last, **attachments)

    def __str__(self) -> str:
        return "condensed"
