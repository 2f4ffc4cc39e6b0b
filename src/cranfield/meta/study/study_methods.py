"""The methods that a study can use: operations by name, whose settings are the keys of a step.

A new method needs one row in `METHODS`. A method whose result has more than `table()` also needs a row in `TABLES`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cranfield.check import nearest
from cranfield.comparison.anova.anova import Anova, anova
from cranfield.declared.operation import about, operation, settings_of
from cranfield.declared.settings import NO_DEFAULT, Setting
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.meta.reproduction.reproduction import Depth, Persistence, Reproduction, Union, reproduce
from cranfield.record import Columns, Record, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Table, headings

if TYPE_CHECKING:  # these import most of meta-evaluation
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.collection.run import Run

SCORES, COLLECTION, LISTS, MEASURES, NOTHING = "scores", "collection", "lists", "measures", "nothing"
"""What a method works on: scores; judgments and runs, also as joined lists; measures, whatever the collection; or only
its options."""
INPUTS = {
    "scores": SCORES, "data": SCORES, "qrels": COLLECTION, "lists": LISTS, "measures": MEASURES, "text": NOTHING,
}  # fmt: skip
ALONE = (MEASURES, NOTHING)
"""What a method works on that needs no collection."""
"""What a method works on, by the name of the first parameter of its function."""
OF_STUDY = ("progress", "threads", "options", "missing", "teams", "measures")
"""Settings that come from the collection, or on which no result depends."""
TABLES = {
    "compare": {"": "ranking"},
    "power": {"": "table", "overlap": "overlap", "asl": "asl_table"},
    "power-by-test": {"": "table", "agreement": "agreement_data", "asl": "asl_table"},
    "swap": {"": "table", "curves": "curves"},
    "concord": {"": "table", "pairs": "pairs"},
    "loo": {"": "table", "contributions": "contribution_table", "runs": "run_table"},
    "axioms": {"": "table", "examples": "examples"},
    "ranks": {"": "table", "runs": "by_run"},
    "reproduce": {"": "table", "topics": "topics"},
    "scales": {"": "summary", "pairs": "table"},
    "meaningful": {"": "table", "correlations": "correlations"},
}
"""{method: {suffix of the table's file name: method of the record that returns the table}}."""


@dataclass(frozen=True)
class Method:
    """One method of meta-evaluation or comparison."""

    name: str
    question: str
    home: str
    """`package:function`; imported on first use."""

    @property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.home.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"cranfield.{module}"), name)
        return function

    @property
    def settings(self) -> dict[str, Setting]:
        """The keys of a step: the settings of the operation."""
        return {name: each for name, each in settings_of(self.function).items() if name not in OF_STUDY}

    def holding(self, what: str) -> tuple[str, ...]:
        """The settings that name files, or measures to score."""
        return tuple(name for name, setting in self.settings.items() if setting.holds == what)

    @property
    def takes(self) -> str:
        return INPUTS[next(iter(inspect.signature(self.function).parameters))]

    def accepts(self, name: str) -> bool:
        return name in [*inspect.signature(self.function).parameters][1:]

    def tables_of(self, record: Any) -> dict[str, Table]:
        """The tables of a result, by the suffix of their file names."""
        return {suffix: getattr(record, method)() for suffix, method in TABLES.get(self.name, {"": "table"}).items()}


METHODS = {
    method.name: method
    for method in (
        Method("compare", "which systems differ", "comparison:compare"),
        Method("power", "how many pairs of systems a measure separates", "meta:power"),
        Method("power-by-test", "which pairs several tests separate", "meta:power_by_test"),
        Method("swap", "how often another topic set would reverse a difference", "meta:swap"),
        Method("correlate", "do measures rank systems alike", "meta:correlate"),
        Method("concord", "which measures agree with a gold standard", "meta:concord"),
        Method("predict", "which measures agree with preference judgments", "meta:predictive_power"),
        Method("loo", "what a run or team loses if it was not pooled", "meta:loo"),
        Method("robust", "how scores change with fewer judgments or topics", "meta:robust"),
        Method("gains", "do other gains change the ranking", "meta:change_gains"),
        Method("topics", "how rankings change with fewer topics", "meta:topic_subsets"),
        Method("scale", "is a measure on an interval scale", "meta:scale"),
        Method("scale-tests", "pairs that differ by ranks and by means", "meta:scale_tests"),
        Method("scales", "which verdicts depend on the scale or the test", "meta:compare_scales"),
        Method("axioms", "what a measure rewards", "meta:axioms"),
        Method("gtheory", "how well scores generalise to other topics", "meta:gtheory"),
        Method("ranks", "where the preferred rank and the first relevant document are", "meta:ranks"),
        Method("inform", "how much a score says about its list", "meta:inform"),
        Method(
            "reproduce",
            "does a repeated run reproduce the original",
            "meta.study.study_methods:reproduce_in_collection",
        ),
        Method("tests", "which significance test to trust", "meta:tests"),
        Method("anova-square", "which analysis of variance finds stable pairs", "meta:anova_square"),
        Method("meaningful", "which conclusions survive a change of scale", "meta:meaningful"),
        Method(
            "anova",
            "how much of the variance is due to topics and to systems",
            "meta.study.study_methods:anova_by_measure",
        ),
        Method("worked-examples", "do we compute the numbers that a text works out", "papers:worked_examples"),
        Method("errata", "what is wrong in a text", "papers:errata"),
    )
}


def methods_table() -> Table:
    """Every method with what it works on and its options."""
    rows = [
        (
            method.name,
            method.question,
            COLLECTION if method.takes == LISTS else method.takes,
            ", ".join(map(_toml, method.settings, method.settings.values())),
        )
        for method in METHODS.values()
    ]
    return Table(headings("text", "method", "question", "works on", "options"), tuple(rows))


def _toml(name: str, setting: Setting) -> str:
    """A key, and its default as a study file writes it."""
    default = setting.default
    if default is NO_DEFAULT or default is None:
        return name
    if isinstance(default, bool):
        return f"{name} = {str(default).lower()}"
    return f"{name} = {list(default) if isinstance(default, tuple) else default!r}"


@dataclass(frozen=True, eq=False, repr=False)
class AnovaByMeasure(Record):
    """A two-way analysis of variance for each measure."""

    scores: Scores
    analyses: tuple[Anova, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for each in self.analyses for note in each.notes))

    def columns(self) -> Columns:
        """measure, source, ss, df, ms, f, p, omega2; a row per measure and source."""
        parts = [each.columns() for each in self.analyses]
        sizes = [len(part["source"]) for part in parts]
        measure = np.repeat(np.array([each.measure for each in self.analyses], dtype=object), sizes)
        names = ("source", "ss", "df", "ms", "f", "p", "omega2")
        return {"measure": measure, **{name: np.concatenate([part[name] for part in parts]) for name in names}}

    def table(self) -> Table:
        """A row per measure and source, as Ferro & Maistro 2024 Table 1."""
        heads = {"ss": "SS", "df": "DF", "ms": "MS", "f": "F", "omega2": "ω²"}
        shown = {heads.get(name, name): column for name, column in self.columns().items()}
        return table_of(shown, caption="Analysis of variance: topic + system", notes=self.notes)


@operation
def anova_by_measure(
    scores: Scores, *, one_way: Annotated[bool, about("Leave the topics out of the model.")] = False
) -> AnovaByMeasure:
    """Topics × systems, for each measure; see `anova`.

    Reference: Ferro & Maistro 2024 (7), (8)
    """
    analyses = tuple(anova(scores, measure, one_way=one_way) for measure in scores.measures)
    return AnovaByMeasure(scores, analyses)


@operation
def reproduce_in_collection(
    qrels: Any,
    runs: Mapping[str, Run],
    measures: MeasuresLike | None = None,
    *,
    baseline: Annotated[Sequence[str], about("The original run and its repetition, by the names of runs.")],
    advanced: Annotated[
        Sequence[str] | None, about("The run that was to improve on the original one, and its repetition.")
    ] = None,
    other_qrels: Annotated[Any, about("Judgments for the repeated runs, on another collection.", holds="file")] = None,
    p: Persistence = 0.95,
    union: Union = "rank",
    depth: Depth = None,
    missing: str = "zero",
    options: JoinOptions | None = None,
) -> Reproduction:
    """Compare runs of a collection with their repetitions, see `reproduce`; pairs are given by the names of runs.

    Reference: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036
    """

    def pair(role: str, names: Any) -> tuple[Run, Run]:
        if isinstance(names, str) or len(names) != 2:
            raise UsageError(f"{role} == {names!r}, must be the names of two runs: the original and its repetition")
        for name in names:
            if name not in runs:
                raise nearest(str(name), list(runs), "run")
        return runs[names[0]], runs[names[1]]

    both = None if advanced is None else pair("advanced", advanced)
    order, ties = (None, "z-a") if options is None else (options.order, options.ties)
    return reproduce(
        qrels, pair("baseline", baseline), both, measures, other_qrels=other_qrels, p=p, union=union, depth=depth,
        missing=missing, order=order, ties=ties,
    )  # fmt: skip
