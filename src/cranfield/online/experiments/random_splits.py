"""A/A tests: split users at random many times; without an effect, p must be below α in a share α of the splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.declared.operation import Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.experiments.arm_effects import wilson
from cranfield.online.experiments.arm_estimates import arm_estimates, jackknifed, suspects
from cranfield.online.experiments.experiment_metrics import (
    Metric,
    MomentMetric,
    moment_metrics,
    needed_columns,
    parsed_covariates,
    parsed_metrics,
)
from cranfield.online.experiments.unit_table import ROWS, added_up, opened_table, with_units
from cranfield.online.experiments.user_buckets import BUCKETS, BucketSums, bucket_sums
from cranfield.online.expressions import nw
from cranfield.online.few_users import influences
from cranfield.record import Record, crossed, entries_of, labels
from cranfield.table import Table, headings
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

BINS = 20
FEWEST = 20
"""The fewest users that are split."""
_BLOCK = 500
"""Splits at a time, to bound memory."""


@dataclass(frozen=True, eq=False, repr=False)
class AASplits(Record):
    """The share of A/A splits that are significant, for each metric."""

    figure = "describe_aa_p_values"
    facts = ("alpha", "splits", "seed", "users", "rows_per_user")

    metrics: tuple[str, ...]
    p: Array
    """metrics × splits; NaN if a split cannot be tested."""
    alpha: float
    splits: int
    seed: int
    users: int
    rows_per_user: float
    by_row: bool
    remarks: tuple[str, ...] = ()

    @property
    def _counts(self) -> list[tuple[int, int]]:
        """For each metric, the splits with p below α, and those that can be tested."""
        return list(
            zip((self.p < self.alpha).sum(axis=1).tolist(), (~np.isnan(self.p)).sum(axis=1).tolist(), strict=True)
        )

    @property
    def rejected(self) -> Array:
        """The share of splits with p below α."""
        return np.array([below / max(1, tested) for below, tested in self._counts])

    @property
    def intervals(self) -> Array:
        """metrics × 2: Wilson's 95% interval of `rejected`."""
        return np.array([wilson(below, n, 1.96) if n else (np.nan, np.nan) for below, n in self._counts])

    @property
    def uniform(self) -> Array:
        """p of Kolmogorov and Smirnov's test that the p-values are uniform, as they must be."""
        from scipy.stats import kstest

        kept = [row[~np.isnan(row)] for row in self.p]
        return np.array([float(kstest(row, "uniform").pvalue) if len(row) else np.nan for row in kept])

    @property
    def chance(self) -> Array:
        """p of an exact binomial test that the rate of rejection is α."""
        from scipy.stats import binomtest

        return np.array([binomtest(below, n, self.alpha).pvalue if n else np.nan for below, n in self._counts])

    def histogram(self) -> dict[str, NDArray[Any]]:
        """metric, low, high, share: the share of splits with p in each of 20 bins."""
        edges = np.linspace(0, 1, BINS + 1)
        counts = np.stack([np.histogram(row[~np.isnan(row)], edges)[0] for row in self.p])
        totals = np.maximum(1, counts.sum(axis=1, keepdims=True))
        columns = crossed({"metric": self.metrics, "low": edges[:-1]}, {"high": edges[None, 1:]})
        return {**columns, "share": (counts / totals).ravel()}

    def columns(self) -> dict[str, NDArray[Any]]:
        """metric, rejected (the share of splits), low, high (its interval), p of the rate, p uniform."""
        low, high = self.intervals.T
        rates = {"rejected": self.rejected, "low": low, "high": high}
        return {"metric": labels(self.metrics), **rates, "p rate": self.chance, "p uniform": self.uniform}

    @property
    def verdict(self) -> str:
        """One sentence."""
        bad = [
            f"{name} {rate:.1%}"
            for name, rate, p in zip(self.metrics, self.rejected, self.chance, strict=True)
            if p < 0.001 / max(1, len(self.metrics))
        ]
        untested = [name for name, row in zip(self.metrics, self.p, strict=True) if np.isnan(row).all()]
        if untested:
            return f"{listed(untested)} cannot be tested: all users have the same value, or numbers are too large"
        if bad:
            return (
                f"A/A splits are significant too often or too seldom at α = {self.alpha:g}: {', '.join(bad)}; results "
                "of A/B tests on such data cannot be trusted"
            )
        return f"A/A splits are significant about as often as they should be, {self.alpha:.0%} of the time"

    @property
    def notes(self) -> tuple[str, ...]:
        """The verdict, and how the splits were made."""
        how = method_note(f"{self.splits:,} random splits of {self.users:,} users, half and half, seed {self.seed}")
        if self.by_row:
            how += f"; the analysis treats each row as a unit ({self.rows_per_user:.1f} rows per user)"
        return (caution_note(f"verdict: {self.verdict}"), how, *self.remarks)

    def table(self) -> Table:
        """A row per metric."""
        columns = headings("text", "metric", f"p < {self.alpha:g}", "95% interval")
        columns += headings("probability", "p of the rate", "p of uniformity")
        rows = tuple(
            (name, *(("-", "-") if np.isnan(low) else (f"{rate:.2%}", f"{low:.2%} to {high:.2%}")), *tests)
            for name, rate, low, high, *tests in entries_of(self.columns())
        )
        return Table(columns, rows, "A/A splits", self.notes)


@operation
def aa_splits(
    source: Any,
    metrics: Iterable[str | Metric] | str,
    *,
    unit: Annotated[
        str, about("The column of user ids, by which users are split.", spelled="--unit COLUMN", solves="unit=")
    ],
    covariates: Iterable[str] | dict[str, str | Sequence[str]] | None = None,
    by_row: Annotated[bool, about("Analyse rows instead of users.")] = False,
    splits: Annotated[int, about("Number of random splits.", least=1)] = 1_000,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    buckets: Annotated[int, about("Users are split in this many buckets.", least=50, rare=True)] = BUCKETS,
    engine: Any = "duckdb",
    progress: Progress | None = None,
) -> AASplits:
    """Split the users of a table into two random halves, many times, and test each split (Welch, or delta method).

    The users go into buckets by a hash, sums per bucket are computed once, and a split draws half of the buckets. So
    a thousand splits cost little more than one.

    by_row: if users have several rows, as with sessions or queries, rows are not
        independent, and the splits show how often such an analysis is wrong.

    Reference: Kohavi, Tang & Xu, Trustworthy Online Controlled Experiments, 2020, chapter 19

    >>> import pyarrow
    >>> rng = np.random.default_rng(0)
    >>> table = pyarrow.table({"user": range(4_000), "revenue": rng.exponential(5, 4_000)})
    >>> bool(0.03 < aa_splits(table, "revenue", unit="user", splits=500).rejected[0] < 0.07)
    True
    """
    with opened_table(engine, source, [unit]) as (opened, frame):
        names = frame.collect_schema().names()
        parsed = moment_metrics(parsed_metrics(metrics, names), "aa_splits", ", which sums per bucket cannot give")
        adjusting = parsed_covariates(covariates, parsed, names)
        sums, users, rows, remarks = _sums(opened, frame, parsed, adjusting, unit, by_row, buckets, seed)
    with np.errstate(over="ignore", invalid="ignore"):
        for metric in parsed:
            metric.check(sums[str(metric)].moments(np.ones((1, buckets))))
    rng = np.random.default_rng(seed)
    p = np.full((len(parsed), splits), np.nan)
    half = np.arange(buckets) < buckets // 2
    for begin in range(0, splits, _BLOCK):
        count = min(_BLOCK, splits - begin)
        weights = rng.permuted(np.broadcast_to(half, (count, buckets)), axis=1).astype(np.float64)
        for m, metric in enumerate(parsed):
            p[m, begin : begin + count] = _p_values(sums[str(metric)], metric, adjusting[metric], weights)
        if progress is not None:
            progress(begin + count, splits)
    return AASplits(
        tuple(map(str, parsed)), p, alpha, splits, seed, users, rows / max(1, users), by_row, tuple(remarks)
    )


def _sums(
    engine: Engine,
    frame: Any,
    metrics: Sequence[MomentMetric],
    covariates: Mapping[Metric, tuple[MomentMetric, ...]],
    unit: str,
    by_row: bool,
    buckets: int,
    seed: int,
) -> tuple[dict[str, BucketSums], int, int, list[str]]:
    """Sums per bucket, the number of users and of rows, and notes."""
    from cranfield.online.moments import fetched, moments_of_sets

    sets = {str(metric): needed_columns(metric, covariates[metric]) for metric in metrics}
    added = [name for metric in metrics for name in metric.columns]
    every = [name for names in sets.values() for name in names]
    named = with_units(frame, unit, every)
    per_user = engine.keep(added_up(named, added, every))
    facts = fetched(per_user.select(nw.len().alias("users"), nw.col(ROWS).sum().alias("rows"))).to_pylist()[0]
    users, rows = int(facts["users"]), int(facts["rows"] or 0)
    if users < FEWEST:
        raise UsageError(f"aa_splits: {counted(users, 'user')}, must be {FEWEST} or more")
    sums = bucket_sums(engine, named if by_row else per_user, sets, buckets=buckets, seed=seed)
    remarks = [
        f"{name}: {counted(missing, 'row' if by_row else 'user')} without a finite value left out"
        for name, own in sums.items()
        if (missing := (rows if by_row else users) - int(own.n.sum()))
    ]
    if not by_row:
        known = moments_of_sets(per_user, sets)
        plain = {str(metric): arm_estimates(known[str(metric)], metric, covariates[metric]) for metric in metrics}
        changes = influences(engine, per_user, suspects(metrics, covariates, known, plain), known)
        carried = [name for name, influence in changes.items() if jackknifed(plain[name], influence).df is not None]
        if carried:
            remarks.append(
                f"caution: few users carry {listed(carried)}: `ab analyse` uses the jackknife there, these splits the "
                "delta method, which is significant too often"
            )
    return sums, users, rows, remarks


def _p_values(sums: BucketSums, metric: MomentMetric, covariates: Sequence[MomentMetric], weights: Array) -> Array:
    """p of Welch's test between the chosen buckets and the others, for each row of weights."""
    from scipy.special import stdtr

    with np.errstate(over="ignore", invalid="ignore"):
        both = sums.moments(np.concatenate([weights, 1 - weights]))
        estimates = arm_estimates(both, metric, covariates)
    value, each, n = (np.split(column, 2) for column in (estimates.value, estimates.variance, estimates.n))
    variance = each[0] + each[1]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        t = (value[1] - value[0]) / np.sqrt(variance)
        df = variance**2 / (each[0] ** 2 / (n[0] - 1) + each[1] ** 2 / (n[1] - 1))
        p = 2 * stdtr(df, -np.abs(t))
    return np.where(variance > 0, p, np.nan)
