"""Learn from some labels which queries satisfied their users, and predict it for all queries of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError, UsageError
from cranfield.notes import method_note
from cranfield.online.engines.dialect import BUCKETS
from cranfield.online.expressions import col, indicator, lit, nw, where
from cranfield.online.log_measures.log_rows import LogRows
from cranfield.online.log_measures.log_signals import (
    ASKED,
    CLICKS,
    DWELL,
    FIRST_CLICK,
    FIRST_RANKED,
    HOVERS,
    LAST_RANKED,
    SECOND,
    Signal,
    rank_in,
    satisfied,
)
from cranfield.online.log_measures.online_measure import OnlineMeasure
from cranfield.online.log_measures.ranking_level import reformulated
from cranfield.online.log_measures.satisfaction.logistic_fit import (
    LogisticFit,
    Reliability,
    area_under_curve,
    fit_logistic,
    reliability_curve,
)
from cranfield.online.logs.log import Log
from cranfield.online.logs.sessions import AUTO, SILENCE, SessionRule, Silence
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.text import counted, listed, shown
from cranfield.types import Array

SATISFIED = satisfied(30)
COUNTED: tuple[Signal, ...] = (
    ASKED, CLICKS, DWELL, FIRST_CLICK, FIRST_RANKED, HOVERS, LAST_RANKED, SATISFIED,
)  # fmt: skip
"""What is counted in the log for the signals below."""
NEEDS = frozenset({"sessions", "similarity"})


def _known(value: nw.Expr, otherwise: float = 0.0) -> nw.Expr:
    return where(value.is_null(), lit(otherwise), value)


def _logarithm(value: nw.Expr) -> nw.Expr:
    """log(1 + x) of a number of seconds, for the few long times; a time below 0 counts as 0."""
    return (where(value > 0, value, lit(0.0)) + 1.0).log()


SIGNALS: dict[str, Callable[[], nw.Expr]] = {
    "clicks": lambda: col(CLICKS.name) * 1.0,
    "abandoned": lambda: indicator(col(CLICKS.name) == 0) * 1.0,
    "satisfied clicks": lambda: col(SATISFIED.name) * 1.0,
    "log dwell": lambda: _logarithm(_known(col(DWELL.name))),
    "first click RR": lambda: _known(1.0 / rank_in(FIRST_RANKED.name)),
    "last click RR": lambda: _known(1.0 / rank_in(LAST_RANKED.name)),
    "log seconds to click": lambda: _logarithm(_known((col(FIRST_CLICK.name) - col(ASKED.name)) / SECOND)),
    "hovers": lambda: _known(col(HOVERS.name) * 1.0),
    "reformulated": lambda: indicator(reformulated(0.3)) * 1.0,
    "last query": lambda: indicator(col("last query")) * 1.0,
}
"""{name: expression on the row of a query}. Dwell is the sum over clicks, in seconds; RR is 0 without a click."""


MOST_LABELS = 200_000
"""The most labelled queries that are fetched; of more, a sample is drawn."""
LEAST_LABELS = 30
TRUE, FALSE = ("1", "true", "yes", "1.0"), ("0", "false", "no", "0.0")


@dataclass(frozen=True, eq=False, repr=False)
class Satisfaction(Record):
    """A classifier of satisfied queries, and how good its predictions are for users that it has not seen."""

    figure = "satisfaction_figure"
    facts = ("queries", "users", "satisfied", "auc", "folds", "curve")

    names: tuple[str, ...]
    """The constant and the signals."""
    fit: LogisticFit
    queries: int
    """Labelled queries."""
    users: int
    satisfied: float
    """The share of labels that are 1."""
    auc: float
    """The area under the ROC curve, in cross-validation by user."""
    folds: int
    curve: Reliability
    """The calibration in cross-validation by user, and the Brier score."""
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """signal, coefficient, low, high, error, p: a row per signal, with 95% intervals and Wald tests."""
        from scipy.special import ndtr

        beta, error = self.fit.coefficients, self.fit.errors
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * ndtr(-np.abs(beta / error))
        return {
            "signal": np.array(self.names, dtype=object),
            "coefficient": beta,
            "low": beta - 1.959964 * error,
            "high": beta + 1.959964 * error,
            "error": error,
            "p": p,
        }

    def table(self) -> Table:
        """A row per signal; the quality of the predictions is in the notes."""
        return table_of(self.columns(), caption="Satisfaction", notes=(*self._quality(), *self.notes))

    def _quality(self) -> tuple[str, ...]:
        curve = self.curve
        return (
            f"{100 * self.satisfied:.1f}% of {counted(self.queries, 'labelled query', 'labelled queries')}"
            f" of {counted(self.users, 'user')} are satisfied",
            f"cross-validated over users in {self.folds} folds: AUC {self.auc:.4f}, Brier score {curve.brier:.4f}"
            f" = reliability {curve.reliability:.4f} - resolution {curve.resolution:.4f}"
            f" + uncertainty {curve.uncertainty:.4f} + within bins {curve.within:.4f}",
        )

    def measure(self) -> LearnedSatisfaction:
        """The mean predicted satisfaction, for `measure_log`."""
        chosen = zip(self.names, self.fit.coefficients.tolist(), strict=True)
        return LearnedSatisfaction(tuple(chosen))


@dataclass(frozen=True, repr=False)
class LearnedSatisfaction(OnlineMeasure):
    r"""Mean probability that a query satisfies its user, predicted from its signals.

    .. math:: \frac{1}{|Q|} \sum_q \frac{1}{1 + e^{-(\beta_0 + x_q \cdot \beta)}}

    The interval takes the coefficients as known.
    Reference: Ferro & Maistro 2024, §6.5, learned measures
    """

    name = "satisfaction"
    level = "session"
    unit = "predicted share of queries"
    better = "higher"
    needs = NEEDS

    coefficients: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        return self.name

    def signals(self) -> tuple[Signal, ...]:
        return COUNTED

    def numerator(self) -> nw.Expr:
        linear = lit(0.0)
        for name, coefficient in self.coefficients:
            linear = linear + (lit(coefficient) if name == CONSTANT else SIGNALS[name]() * coefficient)
        return lit(1.0) / (lit(1.0) + (-linear).exp())

    def denominator(self) -> nw.Expr:
        return lit(1)

    def note(self) -> str:
        return method_note("satisfaction: predicted from signals; the interval takes the coefficients as known")


CONSTANT = "constant"


@operation
def learn_satisfaction(
    log: Log,
    labels: Any,
    *,
    signals: Sequence[str] | None = None,
    ridge: Annotated[float, about("Draw the coefficients towards 0, for few labels.", least=0, solves="ridge=1")] = 0.0,
    folds: Annotated[
        int, about("The number of folds of the cross-validation, which keep users together.", least=2)
    ] = 5,
    seed: Annotated[int, about("The seed of the folds.", least=0, below=2**64)] = 0,
    sessions: SessionRule = AUTO,
    silence: Silence = SILENCE,
) -> Satisfaction:
    """Fit a logistic regression of labels on the signals of queries, and cross-validate it over users.

    labels: the name of a column of the queries that holds labels, a mapping {query_id: label}, or anything that
        `Engine.read` reads, with columns query_id and label. A label is 0 or 1, true or false, yes or no.
    signals: names of `SIGNALS`; default: all that vary.

    Errors and tests of coefficients are robust against dependence between the queries of a user. If there are more
    than 200,000 labels, as many are drawn by a hash of the query, with a note.
    Reference: Ferro & Maistro 2024, §6.5, learned measures
    """
    wanted = tuple(signals or SIGNALS)
    for name in wanted:
        if name not in SIGNALS:
            raise check.nearest(name, tuple(SIGNALS), "signal")
    frame, notes = _labelled(log, labels, sessions, silence, seed)
    table = log.engine.fetch(frame.sort("query_id"))
    y = _numbers(table.column("label").to_pylist(), labels)
    users = np.array(table.column("user").to_pylist(), dtype=object)
    every = {name: np.array(table.column(f"s{i}").to_pylist(), dtype=np.float64) for i, name in enumerate(SIGNALS)}
    constant = [name for name in wanted if len(y) and np.ptp(every[name]) == 0]
    names = tuple(name for name in wanted if name not in constant)
    if len(y) < LEAST_LABELS or not names:
        raise UsageError(f"{counted(len(y), 'labelled query', 'labelled queries')}, at least {LEAST_LABELS} are needed")
    features = np.column_stack([every[name] for name in names])
    number = _in_order(users)
    fit = fit_logistic(features, y, number, ridge=ridge)
    predicted = _cross_validated(features, y, number, folds, ridge, seed)
    if constant:
        notes.append(f"signals that are the same for all labelled queries are left out: {listed(constant)}")
    if ridge:
        notes.append(method_note(f"ridge: {ridge:g}; errors and tests do not account for it"))
    notes += ["errors are robust against dependence between the queries of a user", *log.notes]
    return Satisfaction(
        (CONSTANT, *names), fit, len(y), int(number.max()) + 1, float(y.mean()), area_under_curve(predicted, y), folds,
        reliability_curve(predicted, y), tuple(notes),
    )  # fmt: skip


def _in_order(users: NDArray[np.object_]) -> NDArray[np.int64]:
    """The number of each user in the order of the rows; the order of their names changes with the salt of each run.

    >>> _in_order(np.array(["u9", "u1", "u9", "u5"], dtype=object)).tolist()
    [0, 1, 0, 2]
    """
    _, first, number = np.unique(users.astype(str), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def _labelled(log: Log, labels: Any, sessions: str, silence: float, seed: int) -> tuple[Any, list[str]]:
    """A lazy frame with the user, the label and the signals (s0, s1, …) of labelled queries."""
    rows = LogRows(log, (LearnedSatisfaction(),), (), sessions, silence)
    known = _label_frame(log, labels)
    count = log.engine.fetch(known.select(nw.len().alias("n"), nw.col("query_id").n_unique().alias("different")))
    total, different = (int(number or 0) for number in count.to_pylist()[0].values())
    if total != different:
        raise UsageError(f"{counted(total - different, 'label')} of queries that already have one; give one per query")
    known = log.engine.keep(known)
    joined = rows.queries.join(known, on="query_id", how="inner")
    values = {f"s{i}": expression() for i, expression in enumerate(SIGNALS.values())}
    frame = log.engine.keep(joined.select("query_id", "user", "label", **values))
    size = log.engine.count(frame)
    notes = []
    if size < total:
        notes.append(f"{counted(total - size, 'label')} of queries that the log does not have are left out")
    if size > MOST_LABELS:
        frame = log.engine.add_bucket(frame, "bucket", "query_id", f"satisfaction-{seed}")
        frame = frame.filter(col("bucket") < int(BUCKETS * MOST_LABELS / size)).drop("bucket")
        notes.append(f"{counted(size, 'label')}; a sample of about {MOST_LABELS:,} is used")
    return frame, notes


def _label_frame(log: Log, labels: Any) -> Any:
    """query_id and label, both as text."""
    if isinstance(labels, str) and labels in log.segments:
        frame = log.queries.select("query_id", col(labels).alias("label"))
    else:
        if isinstance(labels, Mapping):
            import pyarrow

            labels = pyarrow.table(
                {"query_id": [str(key) for key in labels], "label": [str(v) for v in labels.values()]}
            )
        frame = log.engine.read(labels, text=("query_id",))  # the query 0012 is not the number 12
        names = frame.collect_schema().names()
        for name in ("query_id", "label"):
            if name not in names:
                have = f"it has {listed(map(repr, names))}"
                raise UsageError(f"labels have no column {name!r}; {have}, but query_id and label are needed")
    text = col("label").cast(nw.String()).str.to_lowercase()
    frame = frame.select(col("query_id").cast(nw.String()), text.alias("label"))
    return frame.filter(~col("label").is_null() & (col("label") != ""))


def _numbers(texts: Sequence[str], source: Any) -> Array:
    wrong = sorted({text for text in texts if text not in (*TRUE, *FALSE)})
    if wrong:
        allowed = "expected 0 or 1, true or false, yes or no"
        what = f"{listed(map(shown, wrong), most=3)} as a label, {allowed}"
        raise DataError(source, None, what) if isinstance(source, str) else UsageError(f"labels: {what}")
    return np.array([float(text in TRUE) for text in texts])


def _cross_validated(features: Array, y: Array, users: NDArray[np.int64], folds: int, ridge: float, seed: int) -> Array:
    """Predictions for every row from fits without the rows of its fold."""
    count = int(users.max()) + 1
    if count < folds:
        raise UsageError(f"labels of {counted(count, 'user')}, at least one user per fold is needed ({folds})")
    fold = np.random.default_rng(seed).permutation(np.arange(count) % folds)[users]
    predicted = np.empty(len(y))
    for number in range(folds):
        inside = fold == number
        predicted[inside] = fit_logistic(features[~inside], y[~inside], ridge=ridge).predict(features[inside])
    return predicted
