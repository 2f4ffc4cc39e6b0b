"""How many impressions an interleaving experiment needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.online.interleaving.sign_statistics import impressions_needed, power_at
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class InterleavingPower(Record):
    """For each Δ: the impressions that are needed, and the power at a number of impressions."""

    figure = "interleaving_power_figure"
    facts = ("ties", "alpha", "power", "design_effect", "impressions")

    delta: Array
    needed: Array
    reached: Array
    """The power at `impressions`; NaN if that was not asked for."""
    ties: float
    alpha: float
    power: float
    design_effect: float
    impressions: int | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed."""
        effect = "" if self.design_effect == 1 else f", design effect {self.design_effect:g}"
        return (
            f"two-sided sign test at α = {self.alpha:g}, power {self.power:g}, {100 * self.ties:g}% of impressions are "
            f"ties{effect} (Connor 1987)",
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """delta, wins and losses (shares of all impressions), needed, and power if a number of impressions is given."""
        decided = 1 - self.ties
        columns = {
            "delta": self.delta, "wins": decided / 2 + self.delta, "losses": decided / 2 - self.delta,
            "needed": np.ceil(self.needed),
        }  # fmt: skip
        return columns if self.impressions is None else {**columns, "power": self.reached}

    def table(self) -> Table:
        """A row per Δ."""
        columns = {
            {"delta": "Δ", "needed": "impressions"}.get(name, name): column for name, column in self.columns().items()
        }
        columns["impressions"] = columns["impressions"].astype(np.int64)
        if self.impressions is not None:
            columns[f"power at {self.impressions:,}"] = columns.pop("power")
        return table_of(columns, notes=self.notes)

    def curve(self, points: int = 60) -> dict[str, NDArray[Any]]:
        """delta, impressions, power: how power grows."""
        sizes = np.unique(np.geomspace(10, max(float(self.needed.max()) * 1.5, 20), points).round())
        shares = [((1 - self.ties) / 2 + delta, (1 - self.ties) / 2 - delta) for delta in self.delta.tolist()]
        curves = [power_at(wins, losses, sizes / self.design_effect, self.alpha) for wins, losses in shares]
        return {
            "delta": np.repeat(self.delta, len(sizes)),
            "impressions": np.tile(sizes, len(shares)),
            "power": np.concatenate(curves),
        }


def interleaving_power(
    delta: float | Sequence[float] = (0.01, 0.02, 0.05, 0.1),
    *,
    ties: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
    design_effect: float = 1.0,
    impressions: int | None = None,
) -> InterleavingPower:
    """The impressions after which a sign test finds a difference Δ with this power.

    delta: Chapelle et al.'s Δ, one or several.
    ties: the share of impressions without a winner, most of all those without clicks.
    design_effect: how much larger the variance is than for independent impressions, as `analyse_interleaving` reports
        it; the impressions grow by this factor.
    impressions: also the power at this number.

    >>> interleaving_power([0.05], ties=0.5).needed.round(1).tolist()
    [390.1]
    """
    values = np.atleast_1d(np.asarray(delta, dtype=np.float64))
    for name, value in (("alpha", alpha), ("power", power)):
        check_alpha("interleaving_power", value, name)
    check.positive("interleaving_power", design_effect=design_effect)
    check.whole("interleaving_power", impressions=impressions)
    if not 0 <= ties < 1:
        raise check.wrong("interleaving_power", "ties", ties, "0 or above and below 1")
    for value in values.tolist():
        if not 0 < abs(value) <= (1 - ties) / 2:
            raise UsageError(
                f"interleaving_power: delta == {value:g}, must be above 0 and at most {(1 - ties) / 2:g}, half of the "
                "impressions that are not ties"
            )
    values = np.abs(values)
    shares = [((1 - ties) / 2 + value, (1 - ties) / 2 - value) for value in values.tolist()]
    needed = np.array([impressions_needed(wins, losses, alpha, power) for wins, losses in shares]) * design_effect
    reached = np.full(len(values), np.nan)
    if impressions is not None:
        size = impressions / design_effect
        reached = np.array([float(power_at(wins, losses, size, alpha)) for wins, losses in shares])
    return InterleavingPower(values, needed, reached, ties, alpha, power, design_effect, impressions)
