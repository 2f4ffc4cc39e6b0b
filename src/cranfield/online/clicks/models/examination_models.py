"""Click models without cascades: click rates; examination times attractiveness (PBM and UBM)."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield import _core
from cranfield.online.clicks.click_estimates import ClickSettings, Expected, Layout, beta_estimates, weighted_log
from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    BROWSING,
    EXAMINATION,
    PAIR,
    RANK,
    SINGLE,
    BrowsingWalk,
    ClickKind,
    Fit,
    IndependentWalk,
    Placed,
    Walk,
    click_kind,
    fit_by_steps,
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


class ExaminationProblem:
    r"""Attractiveness of pairs, and examination of places (such as ranks), from impressions and clicks of both.

    .. math:: P(C = 1) = a_{qd}\, \gamma_{place}

    Only the products are seen, so one place, the `anchor`, has the examination 1; the others are relative to it.
    """

    def __init__(
        self,
        pair: Index64,
        place: Index64,
        shown: Array,
        clicked: Array,
        sizes: tuple[int, int],
        settings: ClickSettings,
    ) -> None:
        pairs, places = sizes
        self.threads = os.cpu_count() or 1
        self.pair, self.place, self.pairs = pair.astype(np.int32), place.astype(np.int32), pairs
        self.skipped = shown - clicked
        self.impressions = int(shown.sum())
        self._shown = np.concatenate([sums(pair, shown, pairs), sums(place, shown, places)])
        self._clicked = np.concatenate([sums(pair, clicked, pairs), sums(place, clicked, places)])
        anchored = np.zeros(pairs + places, dtype=bool)
        anchored[pairs] = True
        block = np.concatenate([np.arange(pairs), np.full(places, -1)])
        self.layout = Layout.of([(pairs, settings.prior), (places, settings.rank_prior)], anchored, block)

    def start(self) -> Array:
        rate = (self._clicked + 1) / (self._shown + 2)
        rate[self.pairs :] = np.clip(rate[self.pairs :] / rate[self.pairs], 0.01, 0.99)
        rate[self.pairs] = 1.0
        return np.asarray(rate)

    def expected(self, theta: Array) -> Expected:
        """A click means that the document was examined and attractive; without one, either may have been."""
        unclicked, silence = _core.examination_step(
            self.pair, self.place, self.skipped, theta, self.pairs, self.threads
        )
        success = self._clicked + unclicked
        # Sums over pairs and over places are the same clicks; each click counts once, as log(attractive · examined).
        likelihood = weighted_log(self._clicked, theta) + silence
        return Expected(success, self._shown - success, likelihood)


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
