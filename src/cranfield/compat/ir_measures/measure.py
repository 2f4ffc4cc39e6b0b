"""What a measure of ir_measures is: a name, parameters and a way to combine topics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, SupportsFloat

from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, CalcResults, Metric
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.compat.ir_measures.provider import Evaluator, Provider


class _NotProvided:
    """The value of a parameter that was not given."""

    def __repr__(self) -> str:
        return "NOT_PROVIDED"


_NOT_PROVIDED: Any = _NotProvided()


class ParameterError(UsageError, AssertionError):
    """A parameter that the measure lacks or refuses; an AssertionError too, as in ir_measures."""


# -- combining topics


class Agg(ABC):
    """Combines the values of topics."""

    @abstractmethod
    def add(self, value: float) -> None:
        """Take the value of a topic."""

    @abstractmethod
    def result(self) -> float:
        """The value over all topics."""


class MeanAgg(Agg):
    """The mean; `default` if there is no value.

    >>> mean = MeanAgg()
    >>> mean.add(0.25), mean.add(0.75), mean.result()
    (None, None, 0.5)
    """

    def __init__(self, default: float = float("nan")) -> None:
        self.sum = 0.0
        self.count = 0
        self.default = default

    def add(self, value: float) -> None:
        self.sum += value
        self.count += 1

    def result(self) -> float:
        return self.sum / self.count if self.count else self.default


class SumAgg(Agg):
    """The sum, 0 if there is no value."""

    def __init__(self) -> None:
        self.sum: float = 0

    def add(self, value: float) -> None:
        self.sum += value

    def result(self) -> float:
        return self.sum


# -- measures


class ParamInfo:
    """What a parameter may be: its type, whether it is required, the values to choose from, and the default."""

    def __init__(
        self,
        dtype: type | None = None,
        required: bool = False,
        choices: Any = _NOT_PROVIDED,
        default: Any = _NOT_PROVIDED,
        desc: str | None = None,
    ) -> None:
        self.dtype = dtype
        self.required = required
        self.choices = choices
        self.default = default
        self.desc = desc

    def validate(self, value: Any) -> bool:
        """Whether the parameter may have this value; a whole number may stand for a float."""
        if value is _NOT_PROVIDED:
            return not self.required
        types = (float, int) if self.dtype is float else self.dtype
        if types is not None and not isinstance(value, types):
            return False
        return self.choices is _NOT_PROVIDED or value in self.choices


class Measure:
    """A measure with its parameters; a call sets parameters, and `@` sets the parameter `AT_PARAM`.

    >>> from cranfield.compat.ir_measures import AP, P, nDCG
    >>> nDCG @ 10, AP(rel=2), P(rel=2, judged_only=True) @ 5
    (nDCG@10, AP(rel=2), P(rel=2,judged_only=True)@5)
    """

    NAME: str | None = None
    __name__: str | None = None
    AT_PARAM: str = "cutoff"
    SUPPORTED_PARAMS: Mapping[str, ParamInfo] = {}
    PRETTY_NAME: str | None = None
    SHORT_DESC: str | None = None
    DEFAULT: float = 0.0
    AGGREGATOR: ClassVar[type[MeanAgg | SumAgg]] = MeanAgg

    def __init__(self, **params: Any) -> None:
        self.params: dict[str, Any] = {name: _plain(value) for name, value in params.items()}
        self.validated = False

    def validate_params(self) -> None:
        """Raise an error (an AssertionError) unless every parameter is known and has a value that it may have."""
        if self.validated:
            return
        for name, value in self.params.items():
            if name not in self.SUPPORTED_PARAMS:
                known = ", ".join(self.SUPPORTED_PARAMS) or "none"
                raise ParameterError(f"{self.NAME}: no parameter {name!r}; its parameters: {known}")
            if not self.SUPPORTED_PARAMS[name].validate(value):
                raise ParameterError(
                    f"{self.NAME}: {name} == {value!r}, must be {_allowed(self.SUPPORTED_PARAMS[name])}"
                )
        for name, info in self.SUPPORTED_PARAMS.items():
            if info.required and name not in self.params:
                at = " @ 0.1" if info.dtype is float else " @ 10"
                example = at if name == self.AT_PARAM else f"({name}=3)"
                raise ParameterError(f"{self.NAME} needs a {name}: write {self.NAME}{example}")
        self.validated = True

    def __call__(self, **params: Any) -> Measure:
        return type(self)(**{**self.params, **params})

    def __matmul__(self, at: SupportsFloat) -> Measure:
        return self(**{self.AT_PARAM: at})

    def __getitem__(self, name: str) -> Any:
        return self.params.get(name, self.SUPPORTED_PARAMS[name].default)

    def __repr__(self) -> str:
        shown = ",".join(
            f"{name}={_shown(value)}"
            for name, value in self.params.items()
            if name != self.AT_PARAM and not self._is_default(name, value)
        )
        at = f"@{self.params[self.AT_PARAM]}" if self.AT_PARAM in self.params else ""
        return f"{self.__name__}{f'({shown})' if shown else ''}{at}"

    def _is_default(self, name: str, value: Any) -> bool:
        info = self.SUPPORTED_PARAMS.get(name)
        return info is not None and bool(value == info.default)

    def __str__(self) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def aggregator(self) -> Agg:
        """An object that combines the values of topics."""
        return self.AGGREGATOR()

    def iter_calc(self, qrels: TYPE_QREL, run: TYPE_RUN) -> Iterator[Metric]:
        """The value on every judged topic."""
        return _pipeline().iter_calc([self], qrels, run)

    def calc_aggregate(self, qrels: TYPE_QREL, run: TYPE_RUN) -> float:
        """The value over all judged topics."""
        return _pipeline().calc_aggregate([self], qrels, run)[self]

    def calc(self, qrels: TYPE_QREL, run: TYPE_RUN) -> CalcResults:
        """The value over all judged topics, and the value on each."""
        aggregated, per_query = _pipeline().calc([self], qrels, run)
        return CalcResults(aggregated[self], per_query)

    def evaluator(self, qrels: TYPE_QREL) -> Evaluator:
        """The measure and the judgments, prepared to score many runs."""
        return _pipeline().evaluator([self], qrels)


BaseMeasure = Measure


def _pipeline() -> Provider:
    from cranfield.compat import ir_measures

    return ir_measures.DefaultPipeline


def _plain(value: Any) -> Any:
    """A number of numpy as a number of Python, so that it prints and compares as one."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return value.item()
    if type(value) is dict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def _shown(value: Any) -> str:
    if isinstance(value, dict):  # a grade that gains itself need not be said, and the order does not matter
        return "{" + ",".join(f"{grade}:{gain}" for grade, gain in sorted(value.items()) if grade != gain) + "}"
    return repr(value)


def _allowed(info: ParamInfo) -> str:
    if info.choices is not _NOT_PROVIDED:
        return f"one of {', '.join(map(repr, info.choices))}"
    return {int: "a whole number", float: "a number", bool: "True or False", dict: "a dict", str: "text"}.get(
        info.dtype or object, "another value"
    )


# -- the registry

registry: dict[str, Measure] = {}
"""Every measure that `parse_measure` knows, by its names."""


def register(measure: Measure, aliases: Iterable[str] = (), name: str | None = None) -> dict[str, Measure]:
    """Make a measure known under its name and its aliases. Returns the registry."""
    for known_as in (name or str(measure.__name__), *aliases):
        if known_as in registry:
            raise ParameterError(f"a measure {known_as!r} is registered already")
        registry[known_as] = measure
    return registry
