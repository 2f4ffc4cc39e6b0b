"""The methods that a study can use.

A new method needs one row in `METHODS`; its options are the parameters of its function. A method whose result has more
than `table()` also needs a row in `TABLES`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.table import Table, headings
from cranfield.types import Progress

if TYPE_CHECKING:  # these import most of meta-evaluation
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.collection.run import Run
    from cranfield.meta.reproduction.reproduction import Reproduction
    from cranfield.meta.stability.informativeness import Informativeness


SCORES, COLLECTION, MEASURES = "scores", "collection", "measures"
"""What a method works on: scores; judgments and runs; or only measures, whatever the collection."""
NOT_OPTIONS = ("progress", "threads", "options", "missing", "teams", "measures", "measure", "data")
"""Parameters that the study sets itself."""
TABLES = {
    "compare": {"": "ranking"},
    "power": {"": "table", "overlap": "overlap", "asl": "asl_table"},
    "swap": {"": "table", "curves": "curves"},
    "concord": {"": "table", "pairs": "pairs"},
    "loo": {"": "table", "contributions": "contribution_table", "runs": "run_table"},
    "axioms": {"": "table", "examples": "examples"},
    "ranks": {"": "table", "runs": "by_run"},
    "reproduce": {"": "table", "topics": "topics"},
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
    takes: str = SCORES
    measures_in: tuple[str, ...] = ()
    """Options that name other measures to score, such as gold standards."""
    files: tuple[str, ...] = ()
    """Options that name files, relative to the study file."""

    @property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.home.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"cranfield.{module}"), name)
        return function

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        first = {SCORES: 1, COLLECTION: 2, MEASURES: 1}[self.takes]
        return list(inspect.signature(self.function).parameters.values())[first:]

    def options(self) -> dict[str, Any]:
        """The options of a study file with their defaults; `inspect.Parameter.empty` for a required option."""
        return {option.name: option.default for option in self._parameters if option.name not in NOT_OPTIONS}

    def accepts(self, name: str) -> bool:
        return any(parameter.name == name for parameter in self._parameters)

    def tables_of(self, record: Any) -> dict[str, Table]:
        """The tables of a result, by the suffix of their file names."""
        return {suffix: getattr(record, method)() for suffix, method in TABLES.get(self.name, {"": "table"}).items()}


METHODS = {
    method.name: method
    for method in (
        Method("compare", "which systems differ", "comparison:compare"),
        Method("power", "how many pairs of systems a measure separates", "meta:discriminative_power"),
        Method("swap", "how often another topic set would reverse a difference", "meta:swap_rates"),
        Method("correlate", "do measures rank systems alike", "meta:correlate"),
        Method("concord", "which measures agree with a gold standard", "meta:concord", measures_in=("gold",)),
        Method(
            "predict", "which measures agree with preference judgments", "meta:predictive_power", files=("preferences",)
        ),
        Method("loo", "what a run or team loses if it was not pooled", "meta:leave_one_out", COLLECTION),
        Method("robust", "how scores change with fewer judgments or topics", "meta:robustness", COLLECTION),
        Method("gains", "do other gains change the ranking", "meta:change_gains", COLLECTION),
        Method("topics", "how rankings change with fewer topics", "meta:topic_subsets"),
        Method("scale", "is a measure on an interval scale", "meta:scales", MEASURES),
        Method("scale-tests", "pairs that differ by ranks and by means", "meta:scale_tests"),
        Method("axioms", "what a measure rewards", "meta:axioms", MEASURES),
        Method("gtheory", "how well scores generalise to other topics", "meta:g_studies"),
        Method(
            "ranks", "where the preferred rank and the first relevant document are", "meta:preferred_ranks", COLLECTION
        ),
        Method(
            "inform",
            "how much a score says about its list",
            "meta.study.study_methods:inform_of_collection",
            COLLECTION,
        ),
        Method(
            "reproduce",
            "does a repeated run reproduce the original",
            "meta.study.study_methods:reproduce_in_collection",
            COLLECTION,
            files=("other_qrels",),
        ),
        Method("tests", "which significance test to trust", "meta:accuracy_of_tests"),
        Method("meaningful", "which conclusions survive a change of scale", "meta:meaningfulness"),
    )
}


def methods_table() -> Table:
    """Every method with what it works on and its options."""
    rows = []
    for method in METHODS.values():
        options = [
            name if default in (inspect.Parameter.empty, None) else f"{name} = {_toml(default)}"
            for name, default in method.options().items()
        ]
        rows.append((method.name, method.question, method.takes, ", ".join(options)))
    return Table(headings("text", "method", "question", "works on", "options"), tuple(rows))


def _toml(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return repr(list(default) if isinstance(default, tuple) else default)


# -- methods that take judgments and all runs of a collection, where the function itself takes other input


def inform_of_collection(
    qrels: Any,
    runs: Mapping[str, Run],
    measures: Any = None,
    *,
    depth: int = 1000,
    rel: float = 1.0,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> Informativeness:
    """How much scores say about the lists of a collection, see `informativeness`.

    Reference: Aslam, Yilmaz & Pavlu, SIGIR 2005, 27-34
    """
    from cranfield.assessed.join import join
    from cranfield.meta.stability.informativeness import informativeness

    return informativeness(join(qrels, runs, options), measures, depth=depth, rel=rel, progress=progress)


def reproduce_in_collection(
    qrels: Any,
    runs: Mapping[str, Run],
    measures: Any = None,
    *,
    baseline: Sequence[str],
    advanced: Sequence[str] | None = None,
    other_qrels: Any = None,
    p: float = 0.95,
    union: str = "rank",
    depth: int | None = None,
    missing: str = "zero",
    options: JoinOptions | None = None,
) -> Reproduction:
    """Compare runs of a collection with their repetitions, see `reproduce`; pairs are given by the names of runs.

    Reference: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036
    """
    from cranfield.meta.reproduction.reproduction import reproduce

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
