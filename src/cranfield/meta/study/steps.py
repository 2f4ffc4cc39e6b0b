"""The methods a study can ask for. A row here is all that a new one takes: its options are those of its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from cranfield.table import Column, Table

SCORES, COLLECTION, MEASURES = "scores", "collection", "measures"
"""What a method works on: scores; judgments and runs; or measures alone, whatever the collection."""
NOT_OPTIONS = ("progress", "threads", "options", "missing", "teams", "measures", "measure", "data")
"""Parameters that the study itself sees to."""


@dataclass(frozen=True)
class Method:
    """One method of meta-evaluation, or of comparison."""

    name: str
    what: str
    home: str
    """`module:function` of this package; imported when it is asked for."""
    takes: str = SCORES
    measures_in: tuple[str, ...] = ()
    """Options that name further measures to be scored, such as gold standards."""
    files: tuple[str, ...] = ()
    """Options that name files, which are read from where the study file is."""
    tables: Mapping[str, str] = field(default_factory=lambda: {"": "table"})
    """What each table is called, and the method of the record that gives it."""

    @property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.home.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"cranfield.{module}"), name)
        return found

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        first = {SCORES: 1, COLLECTION: 2, MEASURES: 1}[self.takes]
        return list(inspect.signature(self.function).parameters.values())[first:]

    def options(self) -> dict[str, Any]:
        """The options that a study may give, with their defaults (`inspect.Parameter.empty`: it must be given)."""
        return {one.name: one.default for one in self._parameters if one.name not in NOT_OPTIONS}

    def accepts(self, parameter: str) -> bool:
        return any(one.name == parameter for one in self._parameters)

    def found_tables(self, record: Any) -> dict[str, Table]:
        """The tables of what the function gave."""
        return {part: getattr(record, how)() for part, how in self.tables.items()}


METHODS = {
    one.name: one
    for one in (
        Method("compare", "which systems differ", "comparison.compare:compare", tables={"": "ranking"}),
        Method(
            "power",
            "how many pairs of systems a measure tells apart",
            "meta.stability.discrimination:discriminative_power",
            tables={"": "table", "overlap": "overlap", "asl": "asl_table"},
        ),
        Method(
            "swap",
            "how often another topic set would turn a difference",
            "meta.stability.swap:swap_rates",
            tables={"": "table", "curves": "curves"},
        ),
        Method("correlate", "do measures rank systems alike", "meta.agreement.correlation:correlate"),
        Method(
            "concord",
            "which measures agree with a gold standard",
            "meta.agreement.concordance:concord",
            measures_in=("gold",),
            tables={"": "table", "pairs": "pairs"},
        ),
        Method(
            "predict",
            "which measures agree with preference judgments",
            "meta.agreement.preferences:predictive_power",
            files=("preferences",),
        ),
        Method(
            "loo",
            "what a run or team loses that was not pooled",
            "meta.judgments.leave_out:leave_one_out",
            takes=COLLECTION,
            tables={"": "table", "contributions": "contribution_table", "runs": "run_table"},
        ),
        Method(
            "robust",
            "how scores stand fewer judgments or topics",
            "meta.judgments.robustness:robustness",
            takes=COLLECTION,
        ),
        Method(
            "gains", "do other gains change the ranking", "meta.judgments.gain_change:change_gains", takes=COLLECTION
        ),
        Method("topics", "how rankings stand fewer topics", "meta.judgments.robustness:topic_subsets"),
        Method("scale", "is a measure on an interval scale", "meta.scale.scale:scales", takes=MEASURES),
        Method("scale-tests", "pairs found by ranks and by means", "meta.scale.scale_tests:scale_tests"),
        Method(
            "axioms",
            "what a measure rewards",
            "meta.axioms.axioms:axioms",
            takes=MEASURES,
            tables={"": "table", "examples": "examples"},
        ),
        Method("gtheory", "how far scores generalise to other topics", "meta.stability.generalisability:g_studies"),
        Method(
            "ranks",
            "where the preferred rank and the first relevant document are",
            "meta.agreement.preferred_rank:preferred_ranks",
            takes=COLLECTION,
            tables={"": "table", "runs": "by_run"},
        ),
    )
}
"""All methods by name."""


def methods_table() -> Table:
    """Every method with what it takes and the options a study may give it."""
    rows = []
    for one in METHODS.values():
        told = [
            name if default in (inspect.Parameter.empty, None) else f"{name} = {_shown(default)}"
            for name, default in one.options().items()
        ]
        rows.append((one.name, one.what, one.takes, ", ".join(told)))
    heads = (Column("method"), Column("question"), Column("works on"), Column("options"))
    return Table(heads, tuple(rows))


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return repr(list(default) if isinstance(default, tuple) else default)
