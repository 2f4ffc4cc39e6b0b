"""The number of topics that an experiment needs, and the differences that it can find (Ferro & Maistro 2024 §2.3)."""

from __future__ import annotations

from typing import Any

from cranfield import check
from cranfield.comparison.data import Matrix
from cranfield.comparison.power.answers import PowerAnswer
from cranfield.comparison.power.designs import DESIGNS, Design, Experiment
from cranfield.comparison.power.variance import Variance, estimated_variance
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.scores.labels import label


def topic_set_size(
    data: Any = None,
    measure: Any = None,
    *,
    difference: float | None = None,
    width: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    test: str | None = None,
    variance: float | Variance | None = None,
    systems: int | None = None,
    alternative: str = "two-sided",
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
        _above_zero(width=width)
        topics = experiment.fewest_topics(lambda n: bool(experiment.width(n) <= width))
        return PowerAnswer("topics", experiment, ground, topics, width=width, measure=name)
    assert difference is not None
    _above_zero(difference=difference)
    _check_power(power, alpha)
    topics = experiment.fewest_topics(lambda n: bool(experiment.power(n, difference) >= power))
    return PowerAnswer("topics", experiment, ground, topics, difference, power, measure=name)


def detectable_difference(
    data: Any = None,
    measure: Any = None,
    *,
    topics: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    test: str = "t",
    variance: float | Variance | None = None,
    systems: int | None = None,
    alternative: str = "two-sided",
) -> PowerAnswer:
    """The smallest difference that a test finds with this power and number of topics (by default that of `data`).

    For an interval, it is the expected width. Parameters are those of `topic_set_size`.

    >>> round(detectable_difference(topics=50, variance=0.0225).difference, 4)
    0.0606
    """
    design = DESIGNS.find(test)
    experiment, ground, name = _plan(design, data, measure, variance, systems, alpha, alternative)
    n = _topics(topics, ground)
    if not design.tests:
        return PowerAnswer("width", experiment, ground, n, width=float(experiment.width(n)), measure=name)
    _check_power(power, alpha)
    smallest = float(experiment.smallest_difference(n, power))
    return PowerAnswer("difference", experiment, ground, n, smallest, power, measure=name)


def achieved_power(
    data: Any = None,
    measure: Any = None,
    *,
    difference: float | None = None,
    topics: int | None = None,
    alpha: float = 0.05,
    test: str = "t",
    variance: float | Variance | None = None,
    systems: int | None = None,
    alternative: str = "two-sided",
) -> PowerAnswer:
    """The power of an experiment to find a difference that matters, with `topics` (by default those of `data`).

    You must state the difference. The power at the observed difference is a function of the p-value and adds nothing to
    it (Hoenig & Heisey, The American Statistician 55(1), 2001, doi:10.1198/000313001300339897). Parameters are those of
    `topic_set_size`.

    >>> round(achieved_power(difference=0.05, topics=50, variance=0.0225).power, 4)
    0.6371
    """
    design = DESIGNS.find(test)
    if not design.tests:
        raise UsageError(f"achieved_power: test == {test!r}, an interval has no power; use detectable_difference")
    if difference is None:
        raise UsageError("achieved_power: state the difference that would matter, such as difference=0.05")
    _above_zero(difference=difference)
    experiment, ground, name = _plan(design, data, measure, variance, systems, alpha, alternative)
    n = _topics(topics, ground)
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


def _topics(topics: int | None, ground: Variance) -> int:
    if topics is None:
        if len(ground.topics) != 1:
            raise UsageError("the number of topics is needed: topics=")
        return ground.topics[0]
    check.whole("power", topics=topics)
    if topics < 2:
        raise UsageError(f"power: topics == {topics!r}, must be 2 or more")
    return int(topics)


def _check_power(power: float, alpha: float) -> None:
    check_alpha("power", alpha)
    check_alpha("power", power, "power")
    if power <= alpha:
        raise UsageError(f"power == {power!r}, must be above alpha ({alpha:g}), the power of a test without data")


def _above_zero(**values: float) -> None:
    check.finite("power", **values)
    check.positive("power", **values)
