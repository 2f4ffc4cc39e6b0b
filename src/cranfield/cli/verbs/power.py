"""`cranfield power`: how many topics an experiment needs, and what it can find."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, measure_names, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, rendered
from cranfield.cli.scores_input import Missing, QrelsWord, RunWords, SampleFlag, ScoreFiles, scores_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.comparison.power.answers import PowerAnswer
    from cranfield.comparison.power.variance import Variance
    from cranfield.report.figures import Figure
    from cranfield.scores.scores import Scores
    from cranfield.table import Table

USAGE = """\
usage: cranfield power QRELS RUN... [-m MEASURE] [--difference D] [--topics N] [--test TEST]

  cranfield power qrels.txt runs/*.run -m AP --difference 0.05    how many topics to find a difference
  cranfield power qrels.txt runs/*.run -m AP                      which difference the topics at hand can find
  cranfield power --variance 0.045 --difference 0.05              without any files
  cranfield power --sample --difference 0.05                      try it: a small collection that comes along

cranfield power --help tells all options"""

EXAMPLES = """\
  $ cranfield power --sample --difference 0.05
  $ cranfield power qrels.txt runs/*.run -m nDCG@10
  $ cranfield power qrels.txt runs/*.run -m nDCG@10 --difference 0.05 --power 0.9
  $ cranfield power --scores ap.csv --difference 0.05 --topics 100
  $ cranfield power --variance 0.045 --test anova --systems 20 --topics 50
  $ cranfield power --scores old.csv --scores new.csv --pool --width 0.1
"""


@dataclass(frozen=True)
class Question:
    """What is asked, of one measure or of a variance."""

    difference: float | None
    width: float | None
    topics: int | None
    power: float | None
    alpha: float
    test: str
    systems: int | None
    alternative: str

    def answers(self, data: Any, measure: str | None, variance: float | Variance | None) -> list[PowerAnswer]:
        """One answer; where the number of topics was asked for and scores are at hand, a second one on their topics."""
        from cranfield.comparison.power.topic_set_size import achieved_power, detectable_difference, topic_set_size

        common: dict[str, Any] = {
            "data": data,
            "measure": measure,
            "variance": variance,
            "alpha": self.alpha,
            "test": self.test,
            "systems": self.systems,
            "alternative": self.alternative,
        }
        wanted: dict[str, Any] = {"power": self.power} if self.power is not None else {}
        if self.width is not None:
            needed = topic_set_size(width=self.width, **common)
            return [needed, *([detectable_difference(**common)] if data is not None else [])]
        if self.difference is None:
            return [detectable_difference(topics=self.topics, **wanted, **common)]
        if self.topics is not None:
            return [achieved_power(difference=self.difference, topics=self.topics, **common)]
        needed = topic_set_size(difference=self.difference, **wanted, **common)
        return [needed, *([achieved_power(difference=self.difference, **common)] if data is not None else [])]


def power_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    variance: Annotated[
        float | None,
        option(
            "--variance",
            metavar="X",
            help="Instead of scores: the variance of differences between two systems (t, interval) or of one system's "
            "scores (all other tests).",
        ),
    ] = None,
    difference: Annotated[
        float | None,
        option("--difference", "-d", metavar="D", help="The smallest true difference that should be found."),
    ] = None,
    width: Annotated[
        float | None,
        option("--width", "-w", metavar="W", help="How wide an interval of the mean difference may be, on average."),
    ] = None,
    topics: Annotated[
        int | None,
        option(
            "--topics",
            "-n",
            metavar="N",
            help="How many topics there are: asks for the power, or for the difference found. Default: ask for topics.",
        ),
    ] = None,
    power: Annotated[
        float | None,
        option("--power", metavar="P", help="The probability with which it should be found; default: 0.8."),
    ] = None,
    alpha: Annotated[
        float, option("--alpha", metavar="A", help="The level of the test, 1 − that of an interval.")
    ] = 0.05,
    test: Annotated[
        str | None,
        option(
            "--test",
            "-t",
            metavar="NAME",
            help="t (paired), unpaired, anova (one-way), two-way, tukey, interval (paired) or unpaired-interval; "
            "default: t, or interval where --width is given.",
        ),
    ] = None,
    systems: Annotated[
        int | None,
        option(
            "--systems",
            metavar="M",
            help="How many systems are compared at once, for anova, two-way and tukey; default: those there are.",
        ),
    ] = None,
    one_sided: Annotated[
        bool, option("--one-sided", help="Only a difference in the right direction counts (t and unpaired).")
    ] = False,
    pool: Annotated[
        bool,
        option("--pool", help="Each file of scores is a collection of its own; their variances are pooled."),
    ] = False,
    missing: Missing = "zero",
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    no_curve: Annotated[bool, option("--no-curve", help="Only the answer, in a sentence.", group=RESULT)] = False,
    joining: Joining = AS_USUAL,
) -> int:
    """Tell how many topics are needed to find a difference, which difference can be found, or with which power.

    Give --difference, --topics or both: what is left out is the answer. The variance comes from the scores of runs on a
    collection at hand, or from --variance. Below the answer: power and difference for other numbers of topics.
    """
    if qrels is None and not scores and not sample and variance is None:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(plot)
    from cranfield.comparison.power.designs import find_design

    design = find_design(test or ("interval" if width is not None else "t"))
    _check_fit(difference, width, topics, power, design.tests)
    if systems is not None and not design.all_systems:
        raise UsageError(f"--systems goes with --test anova, two-way or tukey, not {design.name}")
    asked = Question(
        difference, width, topics, power, alpha, design.name, systems, "greater" if one_sided else "two-sided"
    )
    if variance is not None:
        _nothing_else(qrels, runs, scores, sample)
        if difference is None and width is None and topics is None:
            raise UsageError("what is asked? give --difference (how many topics?), --topics (what is found?) or both")
        if design.all_systems and systems is None:
            raise UsageError(f"--test {design.name} needs to know how many systems are compared: --systems M")
        names = measure_names(measures) if measures else [None]
        answers = [answer for name in names for answer in asked.answers(None, name, variance)]
    elif pool:
        answers = _pooled(asked, scores or [], measures, missing, design.model)
    else:
        joining.only_one_from_stdin(qrels, *(runs or []))
        found = scores_from(
            qrels, runs, measures, scores,
            sample=sample, missing=missing, quiet=quiet, qrels_format=joining.qrels_format, **joining.options(),
        )  # fmt: skip
        answers = [answer for name in found.measures for answer in asked.answers(found, name, None)]
    emit(told(answers, format, digits, output, curves=not no_curve), output, format=format)
    if plot is not None:
        save_plot(figure(answers), plot)
    return 0


def _check_fit(
    difference: float | None, width: float | None, topics: int | None, power: float | None, is_test: bool
) -> None:
    if not is_test and difference is not None:
        raise UsageError("an interval has a --width; --difference goes with tests")
    if not is_test and power is not None:
        raise UsageError("an interval has no power; leave out --power")
    if is_test and width is not None:
        raise UsageError("--width goes with --test interval or unpaired-interval; a test finds a --difference")
    if width is not None and topics is not None:
        raise UsageError("--width asks for the number of topics; give --topics alone to ask for the width")
    if None not in (difference, topics, power):
        raise UsageError("--difference and --topics together ask for the power; leave out --power, or one of them")


def _nothing_else(qrels: str | None, runs: Sequence[str] | None, scores: Sequence[str] | None, sample: bool) -> None:
    given = [*([qrels] if qrels else []), *(runs or []), *(scores or []), *(["--sample"] if sample else [])]
    if given:
        raise UsageError(f"--variance stands instead of scores; leave out {given[0]!r}, or --variance")


def _pooled(
    asked: Question, files: Sequence[str], measures: Sequence[str] | None, missing: str, model: str
) -> list[PowerAnswer]:
    from cranfield.comparison.power.variance import pooled_variance

    if len(files) < 2:
        raise UsageError("--pool pools the variances of several collections; give --scores FILE two times or more")
    if asked.difference is None and asked.width is None and asked.topics is None:
        raise UsageError("what is asked? give --difference (how many topics?), --topics (what is found?) or both")
    read: list[Scores] = [scores_from(None, None, measures, [one], missing=missing) for one in files]
    names = [name for name in read[0].measures if all(name in one for one in read)]
    if not names:
        raise UsageError(f"no measure is in all {len(files)} files of scores; name the one to read: -m")
    return [
        answer
        for name in names
        for answer in asked.answers(None, name, pooled_variance([one[name] for one in read], model=model))
    ]


def told(answers: Sequence[PowerAnswer], format: str, digits: int | None, output: str | None, *, curves: bool) -> str:
    """All answers in the format asked for."""
    if format == "json":
        facts = [{k: v for k, v in one.to_dict().items() if curves or k != "curve"} for one in answers]
        return json.dumps({"answers": facts}, ensure_ascii=False, allow_nan=False, indent=1)
    if format in ("csv", "tsv") or not curves:
        made = _together(answers, curves, digits)
        if format == "table" and not curves:
            return "\n".join([*map(str, answers), *made.notes])
        return rendered(made, format, output)
    groups: dict[str, list[PowerAnswer]] = {}
    for one in answers:
        groups.setdefault(one.measure, []).append(one)
    return "\n\n".join(_with_curve(group, format, digits, output) for group in groups.values())


def _with_curve(answers: Sequence[PowerAnswer], format: str, digits: int | None, output: str | None) -> str:
    """The curve of the first answer below all of them, drawn where people read plain text."""
    table = replace(answers[0].table(bars=format == "table"), digits=digits)
    if format == "table":
        return "\n".join([*(f"{one}." for one in answers), rendered(replace(table, caption=""), format, output)])
    return rendered(replace(table, caption=" ".join(f"{one}." for one in answers)), format, output)


def _together(answers: Sequence[PowerAnswer], curves: bool, digits: int | None) -> Table:
    """One table of everything, for programs: the rows of all curves, or a row per answer."""
    from cranfield.table import Column, Table

    parts = [(one.curve() if curves else one).columns() for one in answers if not curves or one is _first(answers, one)]
    names = list(dict.fromkeys(name for part in parts for name in part))
    kinds = {"measure": "text", "test": "text", "topics": "count"}
    rows = []
    for part in parts:
        size = len(part["topics"])
        rows += list(zip(*(part[name].tolist() if name in part else [None] * size for name in names), strict=True))
    notes = tuple(dict.fromkeys(note for one in answers for note in one.notes))
    return Table(tuple(Column(name, kinds.get(name, "number")) for name in names), tuple(rows), "", notes, digits)


POINTS = 40
"""How many numbers of topics a drawn curve has."""


def figure(answers: Sequence[PowerAnswer]) -> Figure:
    """The curves of all measures: power, or the difference that is found, or the width of intervals."""
    import numpy as np

    from cranfield.comparison.power.answers import share
    from cranfield.report.figures import describe_power

    firsts = [one for one in answers if one is _first(answers, one)]
    lead = firsts[0]
    value = "width" if not lead.experiment.design.tests else "difference" if lead.asked == "difference" else "power"
    most = 3 * max(one.topics for one in firsts)
    grid = np.unique(np.geomspace(max(2, min(one.topics for one in firsts) / 6), most, POINTS).round().astype(int))
    parts = [one.curve(grid.tolist()).columns() for one in firsts]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in ("measure", "topics", value)}
    wanted = {"power": lead.power, "difference": None, "width": lead.width}[value] if lead.asked == "topics" else None
    found = f"to find a difference of {lead.difference:g}; " if value == "power" else ""
    with_power = f"found with power {share(lead.power)}; " if value == "difference" else ""
    of = f"{lead.measure}: " if lead.measure and len(firsts) == 1 else ""
    told = f"{of}{found}{with_power}{lead.experiment.design.says}, α = {lead.experiment.alpha:g}"
    marked = lead.topics if len(firsts) == 1 else None
    return describe_power(columns, value=value, wanted=wanted, answer=marked, subtitle=told)


def _first(answers: Sequence[PowerAnswer], one: PowerAnswer) -> PowerAnswer:
    """The first answer about the same measure: its curve stands for all."""
    return next(other for other in answers if other.measure == one.measure)
