"""Providers compute measures; an evaluator is a provider's measures and judgments, prepared to score many runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any as Anything
from typing import ClassVar

from cranfield.compat.ir_measures.measure import _NOT_PROVIDED, Measure
from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, CalcResults, Metric, deprecated
from cranfield.compat.ir_measures.names import parse_measure

NOT_PROVIDED: Anything = _NOT_PROVIDED


class Evaluator:
    """Measures and judgments, prepared to score many runs; a subclass defines `_iter_calc`."""

    def __init__(self, measures: Iterable[Measure], qrel_qids: Iterable[str]) -> None:
        self.measures = measures
        self.qrel_qids = qrel_qids

    def iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        """Every measure on every judged topic; `DEFAULT` of the measure on topics without a value."""
        lacking = {(measure, topic) for measure in self.measures for topic in self.qrel_qids}
        for metric in self._iter_calc(run):
            lacking.discard((metric.measure, metric.query_id))
            yield metric
        for measure, topic in sorted(lacking, key=lambda pair: (str(pair[0]), pair[1])):
            yield Metric(topic, measure, measure.DEFAULT)

    def _iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        raise NotImplementedError

    def calc_aggregate(self, run: TYPE_RUN) -> dict[Measure, float]:
        """Every measure over all judged topics: the mean, for counts the sum."""
        aggregated: dict[Measure, float] = self.calc(run).aggregated
        return aggregated

    def calc(self, run: TYPE_RUN) -> CalcResults:
        """Values over all judged topics, and values of each."""
        aggregators = {measure: measure.aggregator() for measure in self.measures}
        metrics = list(self.iter_calc(run))
        for metric in metrics:
            aggregators[metric.measure].add(metric.value)
        return CalcResults({measure: aggregator.result() for measure, aggregator in aggregators.items()}, metrics)


class Provider:
    """Computes some measures; a subclass lists them in `SUPPORTED_MEASURES` and defines `_evaluator`."""

    NAME: str
    SUPPORTED_MEASURES: ClassVar[list[Measure]] = []

    def __init__(self) -> None:
        self._is_available: bool | None = None

    # -- what it can do

    def supports(self, measure: Measure) -> bool:
        """Whether it computes the measure with these parameters."""
        measure.validate_params()
        return any(
            known.NAME == measure.NAME and all(spec.validate(measure[name]) for name, spec in known.params.items())
            for known in self.SUPPORTED_MEASURES
        )

    def is_available(self) -> bool:
        """Whether what it needs is installed: `initialize` raises no RuntimeError."""
        if self._is_available is None:
            try:
                self.initialize()
                self._is_available = True
            except RuntimeError:
                self._is_available = False
        return self._is_available

    def initialize(self) -> None:
        """Import what is needed."""

    def install_instructions(self) -> str | None:
        """How to install what is needed."""
        return None

    def _check_available(self) -> None:
        if not self.is_available():
            how = self.install_instructions()
            raise RuntimeError(f"provider {self.NAME} is not available{f'; install it: {how}' if how else ''}")

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """The columns that these measures need in a run."""
        return ["query_id", "doc_id", "score"]

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """The columns that these measures need in the judgments."""
        return ["query_id", "doc_id", "relevance"]

    # -- what it does

    def _evaluator(self, measures: Iterable[Measure], qrels: TYPE_QREL) -> Evaluator:
        raise NotImplementedError

    def evaluator(self, measures: Iterable[Measure | str], qrels: TYPE_QREL) -> Evaluator:
        """The measures and the judgments, prepared to score many runs."""
        self._check_available()
        return self._evaluator(list(dict.fromkeys(map(checked, measures))), qrels)

    def iter_calc(self, measures: Iterable[Measure | str], qrels: TYPE_QREL, run: TYPE_RUN) -> Iterator[Metric]:
        """Every measure on every judged topic."""
        return self.evaluator(measures, qrels).iter_calc(run)

    def calc_aggregate(
        self, measures: Iterable[Measure | str], qrels: TYPE_QREL, run: TYPE_RUN
    ) -> dict[Measure, float]:
        """Every measure over all judged topics: the mean, for counts the sum."""
        return self.evaluator(measures, qrels).calc_aggregate(run)

    def calc(self, measures: Iterable[Measure | str], qrels: TYPE_QREL, run: TYPE_RUN) -> CalcResults:
        """Values over all judged topics, and values of each."""
        return self.evaluator(measures, qrels).calc(run)

    @contextmanager
    def calc_ctxt(
        self, measures: Iterable[Measure | str], qrels: TYPE_QREL
    ) -> Iterator[Callable[[TYPE_RUN], Iterator[Metric]]]:
        """A function that scores runs: the old form of `evaluator`."""
        deprecated("calc_ctxt", "evaluator")
        yield self.evaluator(measures, qrels).iter_calc


def checked(measure: Anything) -> Measure:
    """A measure of this module or of the ir_measures package, or the one with this name; anything else is an error."""
    if isinstance(measure, str):
        return parse_measure(measure)
    if isinstance(measure, type) or not all(hasattr(measure, name) for name in ("NAME", "params", "validate_params")):
        raise ValueError(f"unsupported measure {measure!r}; expected one of ir_measures, such as nDCG @ 10")
    return measure  # type: ignore[no-any-return]


# -- which values of a parameter a provider supports


class ParamSpec:
    """Which values of a parameter a provider supports."""

    def validate(self, value: Anything) -> bool:
        """Whether it supports this value."""
        raise NotImplementedError


class Any(ParamSpec):
    """Every value; if `required`, there must be one."""

    def __init__(self, required: bool = False) -> None:
        self.required = required

    def validate(self, value: Anything) -> bool:
        return not self.required or not is_absent(value)

    def __repr__(self) -> str:
        return "REQUIRED" if self.required else "ANY"


class Choices(ParamSpec):
    """Some values."""

    def __init__(self, *choices: Anything) -> None:
        self.choices = choices

    def validate(self, value: Anything) -> bool:
        return value in self.choices or (NOT_PROVIDED in self.choices and is_absent(value))

    def __repr__(self) -> str:
        return repr(self.choices[0] if len(self.choices) == 1 else self.choices)


def is_absent(value: Anything) -> bool:
    """Whether a parameter was not given; the ir_measures package has a value of its own for that."""
    return value is NOT_PROVIDED or type(value) is object


registry: dict[str, Provider] = {}
"""All providers, by name."""


def register(provider: Provider) -> Provider:
    """Make a provider known under its name."""
    registry[provider.NAME] = provider
    return provider
