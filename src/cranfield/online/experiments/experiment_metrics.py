"""The metrics of an experiment: means, shares, ratios and quantiles of columns, written as `clicks/impressions`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cranfield import check
from cranfield.errors import UsageError

KINDS = {
    "mean": "mean over users",
    "share": "share of users",
    "ratio": "sum over sum",
    "quantile": "quantile over users",
    "sum": "weighted sum of ratios",
}
"""{kind: description} of the metrics."""
_CALL = re.compile(r"(mean|share|median|p\d+(?:\.\d+)?)\((.+)\)", re.DOTALL)


class Term(NamedTuple):
    """A part of a weighted sum: weight · (Σ column / Σ below − zero)."""

    column: str
    below: str
    weight: float
    zero: float


@dataclass(frozen=True)
class Metric:
    """What is compared between arms.

    >>> Metric.parse("clicks/impressions").columns, str(Metric.parse("p95( latency )"))
    (('clicks', 'impressions'), 'p95(latency)')
    """

    kind: str
    column: str
    below: str = ""
    """The denominator of a ratio."""
    q: float = 0.5
    """Which quantile."""
    name: str = ""
    """What it is called, if not by its columns."""
    terms: tuple[Term, ...] = ()
    """The parts of a weighted sum, which has no column of its own."""

    @classmethod
    def parse(cls, text: str, columns: Sequence[str] = ()) -> Metric:
        """A metric by its name: a column (its mean), `share(c)`, `a/b`, `median(c)` or `p90(c)`.

        A text that is the name of one of the `columns` is that column.
        """
        name = str(text).strip()
        if name in columns:
            return cls("mean", name)
        if called := _CALL.fullmatch(name):
            word, column = called[1], called[2].strip()
            if word in ("mean", "share"):
                return cls(word, column)
            q = 0.5 if word == "median" else float(word[1:]) / 100
            if not 0 < q < 1:
                raise check.wrong("metric", "quantile", word, "above p0 and below p100, such as p95(latency)")
            return cls("quantile", column, q=q)
        above, sign, below = (part.strip() for part in name.partition("/"))
        if sign and above and below:
            return cls("ratio", above, below)
        if not name or sign:
            raise UsageError(f"no metric {text!r}; write a column, share(c), a/b, median(c) or p90(c)")
        return cls("mean", name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs."""
        if self.terms:
            return tuple(dict.fromkeys(name for term in self.terms for name in (term.column, term.below)))
        return (self.column, self.below) if self.below else (self.column,)

    def __str__(self) -> str:
        if self.name:
            return self.name
        if self.kind == "ratio":
            return f"{self.column}/{self.below}"
        if self.kind == "share":
            return f"share({self.column})"
        if self.kind == "quantile":
            return f"median({self.column})" if self.q == 0.5 else f"p{100 * self.q:g}({self.column})"
        return self.column


def parsed_metrics(metrics: Iterable[str | Metric] | str | Metric, columns: Sequence[str] = ()) -> tuple[Metric, ...]:
    """Metrics from names; each may be there once."""
    entries = [metrics] if isinstance(metrics, (str, Metric)) else list(metrics)
    parsed = tuple(one if isinstance(one, Metric) else Metric.parse(one, columns) for one in entries)
    if not parsed:
        raise UsageError("no metric; name one or several columns")
    twice = [str(one) for i, one in enumerate(parsed) if one in parsed[:i]]
    if twice:
        raise UsageError(f"metric {twice[0]!r} appears twice; leave out one of them")
    return parsed


def parsed_covariates(
    covariates: Iterable[str] | dict[str, str | Sequence[str]] | None,
    metrics: Sequence[Metric],
    columns: Sequence[str] = (),
) -> dict[Metric, tuple[Metric, ...]]:
    """{metric: its covariates}. `METRIC=COVARIATE` is for one metric; a covariate alone is for all means and ratios.

    >>> metrics = parsed_metrics(["revenue", "clicks/shown"])
    >>> found = parsed_covariates(["revenue=revenue_before", "age"], metrics)
    >>> [[str(one) for one in found[metric]] for metric in metrics]
    [['revenue_before', 'age'], ['age']]
    """
    pairs: list[tuple[str, str]] = []
    if isinstance(covariates, dict):
        for metric, entry in covariates.items():
            pairs += [(metric, one) for one in ([entry] if isinstance(entry, str) else entry)]
    else:
        for text in covariates or ():
            metric, sign, one = text.rpartition("=")
            pairs.append((metric, one) if sign else ("", one))
    result: dict[Metric, list[Metric]] = {metric: [] for metric in metrics}
    by_name = {str(metric): metric for metric in metrics}
    for named, text in pairs:
        covariate = Metric.parse(text, columns)
        if covariate.kind not in ("mean", "ratio"):
            raise UsageError(f"covariate {text!r} is a {covariate.kind}, must be a column or a ratio of columns")
        if named:
            known = by_name.get(str(Metric.parse(named, columns)))
            if known is None:
                raise check.nearest(named, list(by_name), "metric")
            if known.kind == "quantile":
                raise UsageError(f"covariate {text!r} for {named}: covariates apply to means, shares and ratios")
            result[known].append(covariate)
        else:
            for metric in metrics:
                if metric.kind != "quantile":
                    result[metric].append(covariate)
    for metric, found in result.items():
        if any(covariate.columns == metric.columns for covariate in found):
            raise UsageError(
                f"covariate of {metric}: the metric itself; a covariate is a value from before the experiment"
            )
    return {metric: tuple(dict.fromkeys(found)) for metric, found in result.items()}
