"""Click rates: of everything, of a rank, of a document."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.online.clicks.click_estimates import ClickSettings, beta_estimates, weighted_log
from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    PAIR,
    RANK,
    SINGLE,
    ClickKind,
    Fit,
    IndependentWalk,
    Placed,
    Walk,
    click_kind,
)
from cranfield.online.clicks.click_pages import Cells, Pages, sums
from cranfield.types import Array, Index64

RATE = "click rate"


class _Rate(ClickKind):
    """A click rate per group of impressions: clicks over impressions."""

    from_pages = False
    reference = "Chuklin, Markov & de Rijke, Click Models for Web Search, Morgan & Claypool, 2015, section 3.1-3.2"

    @abstractmethod
    def groups(self, cells: Cells) -> tuple[Index64, int]:
        """The group of each cell, and the number of groups."""

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        cells = data if isinstance(data, Cells) else data.cells()
        group, size = self.groups(cells)
        clicked = sums(group, cells.clicked, size)
        skipped = sums(group, cells.shown, size) - clicked
        ((name, scope),) = self.parameters.items()
        prior = settings.prior if scope == PAIR else settings.rank_prior
        estimates = beta_estimates(clicked, skipped, prior, settings.level)
        likelihood = weighted_log(clicked, estimates.value) + weighted_log(skipped, 1 - estimates.value)
        return Fit({name: estimates}, likelihood)

    @abstractmethod
    def click(self, values: Placed) -> Array:
        """pages × ranks, or values for all pages."""

    def walk(self, values: Placed) -> Walk:
        return IndependentWalk(np.where(values.present, self.click(values), 0.0))


@click_kind
class RandomClicks(_Rate):
    r"""Every impression is clicked with the same probability.

    .. math:: P(C_r = 1) = \rho
    """

    name, title = "RCM", "random click model"
    parameters: ClassVar[Mapping[str, str]] = {RATE: SINGLE}

    def groups(self, cells: Cells) -> tuple[Index64, int]:
        return np.zeros(len(cells.pair), dtype=np.int64), 1

    def click(self, values: Placed) -> Array:
        return np.asarray(values.single(RATE))


@click_kind
class RankRate(_Rate):
    r"""The probability of a click depends on the rank alone.

    .. math:: P(C_r = 1) = \rho_r
    """

    name, title = "RCTR", "click rate of ranks"
    parameters: ClassVar[Mapping[str, str]] = {RATE: RANK}

    def groups(self, cells: Cells) -> tuple[Index64, int]:
        return cells.rank - 1, cells.ranks

    def click(self, values: Placed) -> Array:
        return values.rank(RATE)[None, :]


@click_kind
class DocumentRate(_Rate):
    r"""The probability of a click depends on the query and the document alone; it is their attractiveness.

    .. math:: P(C_r = 1) = a_{qd}
    """

    name, title = "DCTR", "click rate of documents"
    parameters: ClassVar[Mapping[str, str]] = {ATTRACTIVENESS: PAIR}

    def groups(self, cells: Cells) -> tuple[Index64, int]:
        return cells.pair, len(cells.names)

    def click(self, values: Placed) -> Array:
        return values.pair(ATTRACTIVENESS)
