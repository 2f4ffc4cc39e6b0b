"""The options that the verbs of `cranfield ab` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cranfield.cli.declare import option
from cranfield.errors import UsageError

TABLE = "The table: CSV, JSON-lines or Parquet files, a directory or pattern of them, or database::table."


def metrics() -> Any:
    return option(
        "--metric METRIC",
        "A column (its mean), 'share(c)' of a column of 0 and 1, a/b (sum over sum), 'median(c)' or 'p95(c)'. May be "
        "repeated; the first one decides.",
    )


def unit(help: str = "The column of user ids; rows of a user are added up. Default: each row is a user.") -> Any:
    return option("--unit COLUMN", help, solves="unit=")


def covariates() -> Any:
    return option(
        "--covariate [METRIC=]C",
        "A column or ratio from before the experiment that reduces the variance of a metric, or of all (CUPED). May be "
        "repeated.",
    )


def by_name(label: str, texts: Iterable[str] | None) -> dict[str, str]:
    """{name: value} of texts such as `A=0.5`; commas separate several.

    >>> by_name("--share", ["A=0.9,B=0.1"])
    {'A': '0.9', 'B': '0.1'}
    """
    pairs: dict[str, str] = {}
    for text in texts or ():
        for part in text.split(","):
            name, sign, value = part.rpartition("=")
            if not (name and sign and value):
                raise UsageError(f"{label} {text}: expected NAME=VALUE")
            if name in pairs:
                raise UsageError(f"{label} {name}: given twice, as {pairs[name]} and {value}")
            pairs[name] = value
    return pairs


def shares(label: str, texts: Iterable[str] | None) -> dict[str, float] | None:
    """{arm: share} of texts such as `A=0.5`; None if the option was not given."""
    pairs = by_name(label, texts)
    try:
        return {name: float(value) for name, value in pairs.items()} or None
    except ValueError:
        raise UsageError(f"{label} {','.join(texts or ())}: expected ARM=SHARE, with numbers as shares") from None


def split_metrics(texts: Sequence[str] | None) -> list[str]:
    """The metrics, at least one; commas separate several."""
    names = [name.strip() for text in texts or () for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError("no metric; name one with --metric, such as --metric revenue or --metric clicks/impressions")
    return names
