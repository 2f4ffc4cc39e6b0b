"""The position-based model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    EXAMINATION,
    PAIR,
    RANK,
    ClickKind,
    Fit,
    Placed,
    click_kind,
    fit_by_steps,
)
from cranfield.online.clicks.click_pages import Cells, Pages
from cranfield.online.clicks.click_settings import ClickSettings
from cranfield.online.clicks.click_walks import IndependentWalk, Walk
from cranfield.online.clicks.examination_em import ExaminationProblem


@click_kind
class PositionBased(ClickKind):
    r"""A document is clicked if its rank is examined and if it is attractive.

    .. math:: P(C_r = 1) = a_{qd}\, \gamma_r, \qquad \gamma_1 = 1
    """

    name, title = "PBM", "position-based model"
    reference = "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008, 87-94, doi:10.1145/1341531.1341545"
    from_pages = False
    parameters: ClassVar[Mapping[str, str]] = {ATTRACTIVENESS: PAIR, EXAMINATION: RANK}
    takes_steps = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        cells = data if isinstance(data, Cells) else data.cells()
        sizes = len(cells.names), cells.ranks
        problem = ExaminationProblem(cells.pair, cells.rank - 1, cells.shown, cells.clicked, sizes, settings)
        parts = {ATTRACTIVENESS: slice(0, sizes[0]), EXAMINATION: slice(sizes[0], None)}
        return fit_by_steps(problem, parts, settings)

    def walk(self, values: Placed) -> Walk:
        return IndependentWalk(np.asarray(values.pair(ATTRACTIVENESS) * values.rank(EXAMINATION)[None, :]))
