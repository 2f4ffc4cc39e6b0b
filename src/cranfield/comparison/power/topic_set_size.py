"""The number of topics that an experiment needs, and the differences that it can find (Ferro & Maistro 2024 §2.3).

An answer is a sentence, a record and a curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import Matrix
from cranfield.comparison.power.designs import DESIGNS, Design, Experiment, Variance, estimated_variance
from cranfield.comparison.test_result import ALTERNATIVES
from cranfield.declared.operation import ALPHA, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.runs_or_scores import may_take_runs
from cranfield.record import Record, one_row, plain, table_of
from cranfield.scores.labels import label
from cranfield.table import Column, Table
from cranfield.text import counted
from cranfield.types import Array

Difference = Annotated[
    float | None, about("The smallest true difference to detect.", above=0, spelled="--difference, -d D")
]
Power = Annotated[float, about("The probability of detecting the difference.", above=0, below=1, spelled="--power P")]
LevelOfTest = Annotated[float, about("Level of the test, or 1 − level of the interval.", **ALPHA)]
EXPERIMENT: dict[str, Any] = {"names": "comparison.power.designs:DESIGNS", "spelled": "--test, -t TEST"}
Systems = Annotated[
    int | None,
    about(
        "The number of systems in anova, two-way and tukey; default: those in the scores.",
        spelled="--number-of-systems N",
    ),
]
Side = Annotated[str, about("The alternative hypothesis: {names}.", choices=ALTERNATIVES)]


@may_take_runs
@operation
def topic_set_size(
    data: Any = None,
    measure: Any = None,
    *,
    difference: Difference = None,
    width: Annotated[
        float | None, about("The expected width of the confidence interval.", above=0, spelled="--width, -w W")
    ] = None,
    power: Power = 0.8,
    alpha: LevelOfTest = 0.05,
    test: Annotated[
        str | None, about("The experiment: {names}; default: t, or interval with --width.", **EXPERIMENT)
    ] = None,
    variance: float | Variance | None = None,
    systems: Systems = None,
    alternative: Side = "two-sided",
) -> PowerAnswer:
    r"""The smallest number of topics with which a test finds a difference, or an interval is narrow enough.

    Either a test at level `alpha` finds a true `difference` with probability `power` or more; or an interval at level
    1 − `alpha` is expected to be at most `width` wide (`power` then has no effect). The numbers are exact, from the
    noncentral F distribution:

    | test | n is the smallest number with | variance |
    |---|---|---|
    | `t`, paired | P(F(1, n−1; nD²/σ_t²) > F_α) ≥ power | of differences |
    | `unpaired`, n topics in each sample | P(F(1, 2n−2; nD²/2σ²) > F_α) ≥ power | of scores, one-way |
    | `anova`, m systems, best and worst D apart | P(F(m−1, m(n−1); nD²/2σ²) > F_α) ≥ power | of scores, one-way |
    | `two-way`, the same with topics as a factor | P(F(m−1, (m−1)(n−1); nD²/2σ²) > F_α) ≥ power | of scores, two-way |
    | `tukey`, a given pair of m systems | P(F(1, (m−1)(n−1); nD²/2σ²) > q_α²/2) ≥ power | of scores, two-way |
    | `interval`, paired | 2 t_{α/2} E[s] / √n ≤ width | of differences |
    | `unpaired-interval` | 2 t_{α/2} E[s] √(2/n) ≤ width | of scores, one-way |

    The analyses of variance assume that all other systems are half-way between the best and the worst, which is the
    worst case. `variance` is a number (see the last column), or is estimated from `data`: scores of systems on earlier
    topics. All designs assume normal scores with equal variances, and new topics that vary as the old ones do.

    Reference: Sakai, Topic set size design, Information Retrieval Journal 19(3), 2016, doi:10.1007/s10791-015-9273-z

    >>> print(topic_set_size(difference=0.05, variance=0.0225, measure="nDCG@10"))
    73 topics are needed to find a difference of 0.05 in nDCG@10 with power 0.80 at α = 0.05
    (paired t test, variance of differences 0.0225)
    >>> topic_set_size(difference=0.1, variance=0.045, test="anova", systems=10).topics
    142
    """
    if (difference is None) == (width is None):
        raise UsageError("topic_set_size: either difference= (for a test) or width= (for an interval) is needed")
    design = _design(test, width is not None)
    experiment, ground, name = _plan(design, data, measure, variance, systems, alpha, alternative)
    if width is not None:
        topics = experiment.fewest_topics(lambda n: bool(experiment.width(n) <= width))
        return PowerAnswer("topics", experiment, ground, topics, width=width, measure=name)
    assert difference is not None
    _check_power(power, alpha)
    topics = experiment.fewest_topics(lambda n: bool(experiment.power(n, difference) >= power))
    return PowerAnswer("topics", experiment, ground, topics, difference, power, measure=name)


@operation
def detectable_difference(
    data: Any = None,
    measure: Any = None,
    *,
    size: int | None = None,
    power: Power = 0.8,
    alpha: LevelOfTest = 0.05,
    test: str = "t",
    variance: float | Variance | None = None,
    systems: Systems = None,
    alternative: Side = "two-sided",
) -> PowerAnswer:
    """The smallest difference that a test finds with this power and number of topics (by default that of `data`).

    For an interval, it is the expected width. Parameters are those of `topic_set_size`.

    >>> round(detectable_difference(size=50, variance=0.0225).difference, 4)
    0.0606
    """
    design = DESIGNS.find(test)
    experiment, ground, name = _plan(design, data, measure, variance, systems, alpha, alternative)
    n = _size(size, ground)
    if not design.tests:
        return PowerAnswer("width", experiment, ground, n, width=float(experiment.width(n)), measure=name)
    _check_power(power, alpha)
    smallest = float(experiment.smallest_difference(n, power))
    return PowerAnswer("difference", experiment, ground, n, smallest, power, measure=name)


@operation
def achieved_power(
    data: Any = None,
    measure: Any = None,
    *,
    difference: Difference = None,
    size: int | None = None,
    alpha: LevelOfTest = 0.05,
    test: str = "t",
    variance: float | Variance | None = None,
    systems: Systems = None,
    alternative: Side = "two-sided",
) -> PowerAnswer:
    """The power of an experiment to find a difference that matters, with `size` topics (by default those of `data`).

    You must state the difference. The power at the observed difference is a function of the p-value and adds nothing to
    it (Hoenig & Heisey, The American Statistician 55(1), 2001, doi:10.1198/000313001300339897). Parameters are those of
    `topic_set_size`.

    >>> round(achieved_power(difference=0.05, size=50, variance=0.0225).power, 4)
    0.6371
    """
    design = DESIGNS.find(test)
    if not design.tests:
        raise UsageError(f"achieved_power: test == {test!r}, an interval has no power; use detectable_difference")
    if difference is None:
        raise UsageError("achieved_power: state the difference that would matter, such as difference=0.05")
    experiment, ground, name = _plan(design, data, measure, variance, systems, alpha, alternative)
    n = _size(size, ground)
    power = float(experiment.power(n, difference))
    return PowerAnswer("power", experiment, ground, n, difference, power, measure=name)


def _design(test: str | None, interval: bool) -> Design:
    design = DESIGNS.find(test or ("interval" if interval else "t"))
    if interval and design.tests:
        name = "unpaired-interval" if design.per_sample else "interval"
        raise UsageError(f"width= goes with test={name!r}, not {design.name!r}")
    if not interval and not design.tests:
        raise UsageError(f"test={design.name!r} goes with width=, not difference=")
    return design


def _plan(
    design: Design,
    data: Any,
    measure: Any,
    variance: float | Variance | None,
    systems: int | None,
    alpha: float,
    alternative: str,
) -> tuple[Experiment, Variance, str]:
    """The experiment, the variance it is based on, and the name of the measure."""
    if (data is None) == (variance is None):
        raise UsageError("either scores (to estimate the variance) or variance= is needed")
    if data is not None:
        ground = estimated_variance(Matrix.of(data, measure), model=design.model)
    elif isinstance(variance, Variance):
        ground = variance
    else:
        ground = Variance(variance, design.variance_of)  # type: ignore[arg-type]  # Variance raises the error if it is not a number
    if design.variance_of == "differences":
        ground = ground.differences()
    elif ground.of == "differences":
        raise UsageError(f"{design.name} needs a variance of scores; this one is of differences")
    if not design.all_systems:
        systems = 2
    elif systems is None:
        if len(ground.systems) != 1:
            raise UsageError(f"{design.name} needs the number of systems: systems=")
        systems = ground.systems[0]
    name = label(measure) if measure is not None else ground.measure
    experiment = Experiment(design, ground.value, alpha, systems, alternative)
    return experiment, ground, "" if name == "score" else name  # "score" is the default name of a measure


def _size(size: int | None, ground: Variance) -> int:
    if size is None:
        if len(ground.topics) != 1:
            raise UsageError("the number of topics is needed: size=")
        return ground.topics[0]
    check.whole("power", size=size)
    if size < 2:
        raise UsageError(f"power: size == {size!r}, must be 2 or more")
    return int(size)


def _check_power(power: float, alpha: float) -> None:
    if power <= alpha:
        raise UsageError(f"power == {power!r}, must be above alpha ({alpha:g}), the power of a test without data")


# -- answers

BAR = 30
"""The length of a bar of 1, in characters."""


@dataclass(frozen=True, repr=False)
class PowerAnswer(Record):
    """The answer to one question, with everything that it depends on."""

    figure = "power_answer_figure"

    asked: str
    """The quantity in question: `topics`, `difference`, `power` or `width`."""
    experiment: Experiment
    ground: Variance
    """The variance that was used, and its source."""
    topics: int
    difference: float = math.nan
    """The true difference; for analyses of variance, between the best and the worst system."""
    power: float = math.nan
    """If topics were in question, the desired power; the actual one, `power_had`, is a little higher."""
    width: float = math.nan
    measure: str = ""

    @property
    def power_had(self) -> float:
        """The power with this number of topics; NaN for an interval."""
        if not self.experiment.design.tests:
            return math.nan
        return float(self.experiment.power(self.topics, self.difference))

    @property
    def range(self) -> tuple[float, float]:
        """The power (or width) of the tenth of pairs with the lowest and the highest; NaN if it is not known.

        Pairs of systems differ in variance, and the variance is itself an estimate.
        """
        least, most = self.ground.range
        if math.isnan(most) or least <= 0:
            return math.nan, math.nan
        values = [replace(self.experiment, variance=variance) for variance in (least, most)]
        if self.experiment.design.tests:
            return float(values[1].power(self.topics, self.difference)), float(
                values[0].power(self.topics, self.difference)
            )
        return float(values[0].width(self.topics)), float(values[1].width(self.topics))

    @property
    def notes(self) -> tuple[str, ...]:
        low, high = self.range
        if math.isnan(low):
            return self.ground.notes
        if self.experiment.design.tests:
            worst = (
                f"with {counted(self.topics, 'topic')} the power is {share(low)} or less in the worst tenth of cases"
            )
            tenths = f"{worst}, and {share(high)} or more in the best"
        else:
            tenths = f"in a tenth of cases the interval is {small(high)} or wider, in a tenth {small(low)} or narrower"
        return (f"pairs differ in variance, which is itself an estimate: {tenths}", *self.ground.notes)

    def __str__(self) -> str:
        claim = self._claim()
        sided = "" if self.experiment.alternative == "two-sided" else ", one-sided"
        return f"{claim[0].upper()}{claim[1:]} ({self.experiment.design.says}{sided}, {self.ground})"

    def _claim(self) -> str:
        experiment = self.experiment
        within = f" in {self.measure}" if self.measure else ""
        each = " in each sample" if experiment.design.per_sample else ""
        n = f"{self.topics:,} topics{each}"
        if not experiment.design.tests:
            interval = f"{100 * (1 - experiment.alpha):g}% interval of the mean difference{within}"
            if self.asked == "topics":
                return f"{n} are needed for a {interval} at most {self.width:g} wide"
            return f"with {n} the {interval} is {small(self.width)} wide"
        odds = f"with power {self._wanted()} at α = {experiment.alpha:g}"
        where = within
        if experiment.design.all_systems:
            pair = "a given pair" if experiment.design.name == "tukey" else "the best and the worst"
            where += f" between {pair} of {experiment.systems:,} systems"
        difference = f"a difference of {self.difference:g}{where}"
        if self.asked == "topics":
            return f"{n} are needed to find {difference} {odds}"
        if self.asked == "power":
            return f"with {n}, {difference} is found {odds}"
        return f"with {n}, the smallest difference{where} found {odds} is {small(self.difference)}"

    def _wanted(self) -> str:
        exactly = self.asked != "power" and round(self.power, 2) != self.power
        return f"{self.power:.12g}" if exactly else share(self.power)

    # -- the curve

    def curve(self, topics: Iterable[int] | None = None) -> PowerCurve:
        """For several numbers of topics: the power to find the difference, and the difference found with the power.

        For an interval, it is the width. The default `topics` are numbers around the answer.
        """
        counts = sorted(set(self._around() if topics is None else topics))
        for count in counts:
            check.whole("curve", topics=count)
        if not counts or counts[0] < 2:
            raise UsageError(f"curve: topics == {counts!r}, must be numbers of topics, 2 or more")
        n = np.array(counts, dtype=np.int64)
        none = np.full(len(n), np.nan)
        experiment = self.experiment
        if not experiment.design.tests:
            return PowerCurve(self.measure, n, none, none, experiment.width(n), self.topics)
        # If the power is in question, there is no desired power that determines a difference.
        smallest = none if self.asked == "power" else experiment.smallest_difference(n, self.power)
        return PowerCurve(self.measure, n, experiment.power(n, self.difference), smallest, none, self.topics)

    def _around(self) -> list[int]:
        """Numbers from a sixth of the answer to three times the answer, with two significant digits, and the answer."""
        spread = np.geomspace(max(2.0, self.topics / 6), max(12.0, 3 * self.topics), 12)
        return [*(int(f"{float(f'{count:.2g}'):.0f}") for count in spread), self.topics]

    # -- output

    def to_dict(self) -> dict[str, Any]:
        """All fields and the curve, ready for JSON; undefined is None."""
        experiment = self.experiment
        facts = {
            **self._row(),
            "asked": self.asked,
            "power_had": self.power_had,
            "range": list(self.range),
            "alternative": experiment.alternative,
            "systems": experiment.systems if experiment.design.all_systems else None,
            "variance_of": self.ground.of,
            "variance_model": self.ground.model,
            "says": str(self),
            "notes": self.notes,
            "curve": {name: column.tolist() for name, column in self.curve().columns().items() if name != "measure"},
        }
        return {name: plain(value) for name, value in facts.items()}

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: measure, test, topics, difference, power, width, alpha, variance."""
        return one_row(self._row())

    def _row(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "test": self.experiment.design.name,
            "topics": self.topics,
            "difference": float(self.difference),
            "power": float(self.power),
            "width": float(self.width),
            "alpha": float(self.experiment.alpha),
            "variance": float(self.ground.value),
        }

    def table(self, *, bars: bool = False) -> Table:
        """The answer and the curve; `bars` adds a drawing of it."""
        legend = []
        if self.experiment.design.tests:
            legend.append(f"power: to find a difference of {self.difference:.4g}")
            if self.asked != "power":
                legend[0] += f"; difference: found with power {self._wanted()}"
        return self.curve().table(caption=str(self), notes=(*legend, *self.notes), bars=bars)


@dataclass(frozen=True, eq=False)
class PowerCurve(Record):
    """One entry per number of topics."""

    measure: str
    topics: NDArray[np.int64]
    power: Array
    """The power to find the difference of the question."""
    difference: Array
    """The difference that is found with the power of the question."""
    width: Array
    """The expected width of an interval."""
    answer: int
    """The number of topics of the answer."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, topics, and power and difference, or width."""
        curves = {"power": self.power, "difference": self.difference, "width": self.width}
        kept = {name: values for name, values in curves.items() if not np.isnan(values).all()}
        return {"measure": np.full(len(self.topics), self.measure, dtype=object), "topics": self.topics, **kept}

    def table(self, *, caption: str = "", notes: tuple[str, ...] = (), bars: bool = False) -> Table:
        """A row per number of topics; `bars` adds a drawing of the first column after it."""
        columns = {name: values for name, values in self.columns().items() if name != "measure"}
        table = table_of(columns, caption=caption, notes=notes)
        if not bars:
            return table
        drawn = next(values for name, values in columns.items() if name != "topics")
        highest = 1.0 if "power" in columns else float(drawn.max())
        marks = [" <" if n == self.answer else "" for n in self.topics.tolist()]
        lines = [bar(value / highest) + mark for value, mark in zip(drawn.tolist(), marks, strict=True)]
        rows = tuple((*row, line) for row, line in zip(table.rows, lines, strict=True))
        return replace(table, columns=(*table.columns, Column("")), rows=rows)


def bar(share: float, length: int = BAR) -> str:
    """A line of blocks, to an eighth of a character.

    >>> bar(0.5, 5)
    '██▌'
    """
    eighths = round(8 * length * min(max(share, 0.0), 1.0))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def share(x: float) -> str:
    """A power in a sentence.

    >>> share(0.8), share(0.6367), share(0.99996)
    ('0.80', '0.637', 'above 0.999')
    """
    if x > 0.999:
        return "above 0.999"
    return f"{x:.2f}" if round(x, 2) == x else f"{x:.3f}"


def small(x: float) -> str:
    """A difference in a sentence.

    >>> small(0.06061), small(0.0000123)
    ('0.0606', '1.23e-05')
    """
    return f"{x:.4f}" if x >= 0.001 else f"{x:.3g}"
