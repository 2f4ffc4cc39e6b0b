"""One way for functions of scores to take judgments and runs too.

    compare(scores, "AP", baseline="bm25")
    compare("qrels.txt", "runs/*.run", "AP", baseline="bm25")

Scores may also be a file, a frame or a dict. For options of the evaluation, such as `missing`, call `evaluate` first.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from cranfield.assessed.join import join
from cranfield.assessed.lists import Assessed
from cranfield.check import wrong
from cranfield.collection.accepted_inputs import FrameLike, QrelsLike, RunsLike
from cranfield.collection.column_names import named_columns
from cranfield.collection.grade_labels import named_grades
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures, evaluate
from cranfield.measures import Measure
from cranfield.scores.scores import Scores

ByTopic: TypeAlias = Mapping[Any, float] | Mapping[Any, Mapping[str, float]]
ScoresInput: TypeAlias = Scores | str | os.PathLike[str] | FrameLike | Mapping[str, ByTopic]
"""Scores, a file of them, a frame, {run: {topic: value}} or {run: {topic: {measure: value}}}."""
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
D = TypeVar("D", contravariant=True)
MEASURES = ("measure", "measures")
READING = ("columns", "grades")
"""How tables of judgments and runs are read."""
ALSO_SCORED = ("gold",)
"""Further parameters that name measures to compute."""


class OfScores(Protocol[D, P, R]):
    """A function of scores that also takes judgments and runs."""

    @overload
    def __call__(self, scores: D | ScoresInput, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, qrels: QrelsLike, runs: RunsLike, /, *args: P.args, **kwargs: P.kwargs) -> R: ...


class MayTakeScores(Protocol[D, P, R]):
    """As `OfScores`, for a function that also works without scores."""

    @overload
    def __call__(self, scores: D | ScoresInput, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, qrels: QrelsLike, runs: RunsLike, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


def may_take_runs(function: Callable[Concatenate[D, P], R]) -> MayTakeScores[D, P, R]:
    """As `takes_runs`, for a function that also works without scores."""
    return cast(MayTakeScores[D, P, R], takes_runs(function))


def takes_runs(function: Callable[Concatenate[D, P], R]) -> OfScores[D, P, R]:
    """Let a function of scores, or of assessed lists, also take judgments and runs in place of its first input."""
    first, *others = inspect.signature(function).parameters.values()
    by_place = [each for each in others if each.kind is each.POSITIONAL_OR_KEYWORD]
    names = [each.name for each in by_place]
    own = {each.name for each in others}
    needed = sum(each.default is each.empty and each.name not in (*MEASURES, *ALSO_SCORED) for each in by_place)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if args and (isinstance(args[0], (Scores, Assessed)) or _of_several(args[0])):
            return function(*args, **kwargs)
        if args and args[0] is None and first.default is first.empty:
            raise UsageError(f"{function.__name__}: {first.name} is None; give scores, or judgments and runs")
        inputs = [kwargs.pop(name) for name in ("qrels", "runs") if name in kwargs and name not in names]
        if inputs and len(args) + len(inputs) < 2:
            lacking = "runs" if "qrels" in kwargs or not args else "qrels"
            raise UsageError(f"{function.__name__}: judgments and runs go together; give {lacking} too")
        args = (*args[: 2 - len(inputs)], *inputs, *args[2 - len(inputs) :]) if inputs else args
        if inputs or inputs_in(args) >= needed + 2:
            given = dict(zip(names, args[2:], strict=False)) | kwargs
            reading = {name: kwargs.pop(name) for name in READING if name in kwargs and name not in own}
            with named_columns(reading.get("columns")), named_grades(reading.get("grades")):
                scored = _of_runs(first, args[0], args[1], given)
            return function(scored, *args[2:], **kwargs)  # type: ignore[arg-type]
        if args and str(first.annotation) in ("Scores", "Assessed"):
            args = (_of_scores(function.__name__, first, args[0]), *args[1:])
        elif first.name in kwargs and str(first.annotation) in ("Scores", "Assessed"):
            kwargs[first.name] = _of_scores(function.__name__, first, kwargs[first.name])
        return function(*args, **kwargs)

    called.__doc__ = (
        f"{inspect.getdoc(function)}\n\nJudgments and runs may take the place of `{first.name}`, with `columns` and "
        "`grades` as in `evaluate` for tables with unusual names and labels."
    )
    return called


def _of_several(value: object) -> bool:
    """Is a value a mapping of scores, such as those of several collections?"""
    return isinstance(value, Mapping) and any(isinstance(part, Scores) for part in value.values())


def inputs_in(values: Sequence[Any]) -> int:
    """The number of values before the first that names measures."""
    return next((place for place, value in enumerate(values) if place and names_measures(value)), len(values))


def names_measures(value: Any) -> bool:
    """Is a value a measure, a text that names measures and no file, or a list of these?

    >>> names_measures("AP,nDCG@10"), names_measures("bm25.run"), names_measures({"q1": {"d1": 0.5}})
    (True, False, False)
    """
    if value is None or isinstance(value, (Measure, type)):
        return True
    if isinstance(value, str):
        if os.path.exists(value):
            return False
        try:
            return bool(as_measures(value))
        except UsageError:
            return False
    return isinstance(value, (list, tuple, set)) and bool(value) and all(map(names_measures, value))


def _of_runs(first: inspect.Parameter, qrels: Any, runs: Any, given: Mapping[str, Any]) -> Scores | Assessed:
    if str(first.annotation) == "Assessed":
        return join(qrels, runs)
    chosen = next((given[name] for name in MEASURES if given.get(name) is not None), None)
    also = [given[name] for name in ALSO_SCORED if given.get(name) is not None]
    measures = as_measures(chosen)
    for extra in also:
        measures += [measure for measure in as_measures(extra) if measure not in measures]
    return evaluate(qrels, runs, measures)


def _of_scores(caller: str, first: inspect.Parameter, value: Any) -> Scores | Assessed:
    if str(first.annotation) == "Assessed":
        if isinstance(value, Assessed):
            return value
        raise UsageError(f"{caller}: {first.name} is of type {type(value).__name__}; give judgments and runs")
    return scores_of(value, caller)


def scores_of(value: object, caller: str) -> Scores:
    """The scores in a file, a frame or a dict.

    >>> scores_of({"a": {"q1": 0.5}, "b": {"q1": 1.0}}, "swap_rates").runs
    ('a', 'b')
    """
    if isinstance(value, Scores):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Scores.read(value)
    if isinstance(value, Mapping):
        topics = [set(each) for each in value.values() if isinstance(each, Mapping)]
        if len(topics) > 1 and len(set().union(*topics)) == sum(map(len, topics)):
            have = "no two runs have a topic in common, so these may be judgments {topic: {doc: grade}}"
            raise UsageError(f"{caller}: expected scores {{run: {{topic: value}}}}; {have}: give the runs too")
        return Scores.from_dict(value)
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__dataframe__"):
        return Scores.from_frame(cast(FrameLike, value))
    raise wrong(caller, "scores", value, "Scores, a file, a frame or {run: {topic: value}}; or judgments and runs")
