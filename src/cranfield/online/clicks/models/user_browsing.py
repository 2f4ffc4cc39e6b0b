"""The user browsing model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.online.clicks.click_estimates import ClickSettings
from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    BROWSING,
    EXAMINATION,
    PAIR,
    BrowsingWalk,
    ClickKind,
    Fit,
    Placed,
    Walk,
    click_kind,
    fit_by_steps,
)
from cranfield.online.clicks.click_pages import Cells, Pages
from cranfield.online.clicks.models.position_based import ExaminationProblem
from cranfield.types import Array, Index64


@click_kind
class UserBrowsing(ClickKind):
    r"""As PBM, but examination depends on the rank and on the rank r' of the nearest click above it (0: none).

    .. math:: P(C_r = 1 \mid C_{<r}) = a_{qd}\, \gamma_{r r'}, \qquad \gamma_{10} = 1
    """

    name, title = "UBM", "user browsing model"
    reference = "Dupret & Piwowarski, SIGIR 2008, 331-338, doi:10.1145/1390334.1390392"
    parameters: ClassVar[Mapping[str, str]] = {ATTRACTIVENESS: PAIR, EXAMINATION: BROWSING}
    takes_steps = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        assert isinstance(data, Pages)
        pair, place, shown, clicked = browsing_cells(data)
        sizes = len(data.names), data.ranks * (data.ranks + 1) // 2
        problem = ExaminationProblem(pair, place, shown, clicked, sizes, settings)
        parts = {ATTRACTIVENESS: slice(0, sizes[0]), EXAMINATION: slice(sizes[0], None)}
        return fit_by_steps(problem, parts, settings)

    def walk(self, values: Placed) -> Walk:
        return BrowsingWalk(values.pair(ATTRACTIVENESS), values.browsing(EXAMINATION))


def browsing_cells(pages: Pages) -> tuple[Index64, Index64, Array, Array]:
    """How often each pair was shown and clicked at each place: pair, place, shown, clicked.

    A place is a rank with the rank of the click above: (1, 0), (2, 0), (2, 1), (3, 0), ...
    """
    previous = np.zeros(pages.pair.shape, dtype=np.int64)
    if pages.ranks:
        above = np.where(pages.clicked, np.arange(1, pages.ranks + 1), 0)
        previous[:, 1:] = np.maximum.accumulate(above, axis=1)[:, :-1]
    column = np.arange(pages.ranks)
    return pages.counts_by(column * (column + 1) // 2 + previous, pages.ranks * (pages.ranks + 1) // 2)
