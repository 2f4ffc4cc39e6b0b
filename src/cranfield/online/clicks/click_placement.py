"""The parameters of a fitted click model, looked up for pages that may show what the model has not seen."""

from __future__ import annotations

import numpy as np

from cranfield.online.clicks.click_estimates import Estimates
from cranfield.online.clicks.click_pages import PairNames
from cranfield.online.clicks.click_settings import Prior
from cranfield.types import Array, Index64


class Placement:
    """The parameters of a model at the places of pages.

    A pair that the model has not seen gets the mean of the prior, which is that of the pairs that the model has seen if
    it came from the log; without a prior, the mean of the impressions that it has seen. A rank below the deepest rank
    of the model gets the parameters of the deepest rank.
    """

    def __init__(
        self,
        values: dict[str, Estimates],
        names: PairNames,
        shown: Array,
        prior: Prior,
        ranks: int,
        pages: tuple[PairNames, Index64],
    ) -> None:
        page_names, pair = pages
        self.present = pair >= 0
        known = names.numbers_in(page_names)
        self._at = np.where(self.present, known[pair] if len(known) else -1, -1)
        self.unseen = self.present & (self._at < 0)
        self._values, self._shown, self._prior = values, shown, prior
        self._ranks, self._wanted = ranks, pair.shape[1]

    def unseen_value(self, name: str) -> float:
        """The value of a parameter for a pair that the model has not seen."""
        value = self._values[name].value
        if self._prior is None:
            return float(value.mean()) if len(value) else 0.5
        total = sum(self._prior)
        if total > 0:
            return self._prior[0] / total
        return float(np.average(value, weights=self._shown)) if self._shown.sum() > 0 else 0.5

    def pair(self, name: str) -> Array:
        value = self._values[name].value
        found = value[self._at] if len(value) else np.zeros(self._at.shape)
        return np.where(self.present, np.where(self.unseen, self.unseen_value(name), found), 0.0)

    def rank(self, name: str) -> Array:
        return np.asarray(self._values[name].value[np.minimum(np.arange(self._wanted), self._ranks - 1)])

    def browsing(self, name: str) -> Array:
        """A rank below the deepest has the place of the deepest rank with its click as far above."""
        rank = np.arange(1, self._wanted + 1)[:, None]
        above = np.arange(self._wanted + 1)[None, :]
        near = np.minimum(rank, self._ranks)
        moved = np.where(above == 0, 0, np.clip(near - (rank - above), 1, np.maximum(near - 1, 1)))
        moved = np.where((near == 1) | (above >= rank), 0, moved)  # places that do not occur
        return np.asarray(self._values[name].value[near * (near - 1) // 2 + moved])

    def single(self, name: str) -> float:
        return float(self._values[name].value[0])
