"""What a measure is: a value with a name, a formula over assessed lists, and a place in the registry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform, overload

import numpy as np

from cranfield import check
from cranfield.assessed.by_rank import ByRank
from cranfield.assessed.dimensions import Dimensions
from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.assessed.sampling import Sample
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.gain import LINEAR, Gain, number
from cranfield.measures.properties import Properties, by_parameters, normalised_unless_cut
from cranfield.types import Array
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.parse_view import parse_view
from cranfield.views.ties import Ties, only_with
from cranfield.views.view import View

__all__ = [
    "REGISTRY",
    "FunctionMeasure",
    "M",
    "Measure",
    "MeasureType",
    "Properties",
    "Terms",
    "by_parameters",
    "divide",
    "measure",
    "normalised_unless_cut",
    "show",
]

DEEPEST = 2**62 - 1
"""No cutoff lies deeper: a whole number that arrays can hold, and far beyond any list."""

REGISTRY: dict[str, type[Measure]] = {}
"""Every measure by its name; filled by `@measure`."""


@dataclass(frozen=True, eq=False)
class Terms:
    """What a measure counts at each hit: the score is the sum of `adds` over a list, divided by `over`.

    `besides` is what it counts for documents that are not in the list.
    """

    hits: Hits
    adds: Array
    over: Array | float = 1.0
    columns: Mapping[str, Array] = field(default_factory=dict)
    besides: Array | float = 0.0

    def score(self) -> Array:
        return divide(self.hits.sum(self.adds) + self.besides, self.over)


def divide(above: Array, below: Array | float) -> Array:
    """`above / below`, undefined (NaN) where `below` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.equal(below, 0), np.nan, np.true_divide(above, below))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class MeasureType(type):
    """Makes the annotated names of a class its parameters; lets a class stand for its default instance: `nDCG @ 10`.

    To a type checker measures are frozen dataclasses. They are not made by `dataclass`, which compiles code for every
    class: with all measures that took longer than reading a run.
    """

    _defaults: dict[str, Any]
    """Every parameter with its default, `cutoff` and `views` first."""

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        inherited = [base._defaults for base in reversed(cls.__mro__[1:]) if isinstance(base, MeasureType)]
        cls._defaults = {name: default for defaults in inherited for name, default in defaults.items()}
        for parameter, kind in inspect.get_annotations(cls).items():
            if not str(kind).startswith(("ClassVar", "typing.ClassVar")):
                if parameter not in cls.__dict__:
                    raise UsageError(f"{name}: give the parameter {parameter!r} a default")
                default = cls.__dict__[parameter]
                cls._defaults[parameter] = default.default if isinstance(default, Field) else default

    def __matmul__(cls, cutoff: float) -> Any:
        return cls() @ cutoff


M = TypeVar("M", bound="Measure")


class Measure(metaclass=MeasureType):
    """A measure is a value: two with the same parameters are equal, and `parse(str(m)) == m`.

    A subclass defines `terms` (what each hit adds) or `score` (one number per list).
    """

    cutoff: float | None = field(default=None, kw_only=True)
    views: tuple[View, ...] = field(default=(), kw_only=True)

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    properties: ClassVar[Properties] = Properties()
    cutoff_kind: ClassVar[str] = "rank"
    """What `@` means: `rank`, `recall` (a number from 0 to 1) or `none`."""
    needs: ClassVar[str] = ""
    """What it cannot be computed without, besides judgments and ranks: `intents`, `lengths`,
    `inclusion`, `scores`, `dimensions`."""
    only_relevant: ClassVar[bool] = False
    """Does it look at documents of grade `rel` or better only, so that others can be left out?"""
    uses_intent_types: ClassVar[bool] = False
    """Does it matter which intents are navigational?"""

    if not TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None:
            parameters = list(self.parameters())
            if len(values) > len(parameters):
                raise UsageError(f"{self.name}: {len(values)} values, but there are only {', '.join(parameters)}")
            for name in named:
                if name not in self._defaults or name in parameters[: len(values)]:
                    known = ", ".join(parameters) or "none"
                    raise UsageError(f"{self.name}: parameter {name!r} is not known or given twice; there are: {known}")
            self.__dict__.update(self._defaults, **dict(zip(parameters, values, strict=False)), **named)
            self._check()

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"{self} is a value: make another with replace({name}=...)")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def replace(self: M, **changes: Any) -> M:
        """This measure with some parameters changed.

        >>> from cranfield.measures import P
        >>> (P @ 5).replace(rel=2)
        P(rel=2)@5
        """
        return type(self)(**{**self.__dict__, **changes})

    def _check(self) -> None:
        for name, default in self.parameters().items():
            self._check_kind(name, default)
        self.check()
        self._check_views()
        if (gain := self.gains()) is not None:
            gain.check(self.name)
        if self.cutoff is None:
            return
        if self.cutoff_kind == "none":
            raise UsageError(f"{self.name}@{self.cutoff}: {self.name} takes no cutoff")
        if isinstance(self.cutoff, bool) or not isinstance(self.cutoff, (int, float, np.number)):
            raise UsageError(f"{self.name}@{self.cutoff}: the cutoff must be a number")
        if self.cutoff_kind == "recall":
            check.between(f"{self.name}@", low=0, high=1, cutoff=float(self.cutoff))
            self.__dict__["cutoff"] = float(self.cutoff)
        else:
            if self.cutoff > DEEPEST:
                way_out = "leave the cutoff out, or make it smaller"
                raise UsageError(f"{self.name}@{self.cutoff}: no list is as long; {way_out}")
            if not self.cutoff >= 1 or self.cutoff != int(self.cutoff):
                raise UsageError(f"{self.name}@{self.cutoff}: the cutoff must be a whole number, 1 or more")
            self.__dict__["cutoff"] = int(self.cutoff)

    def _check_views(self) -> None:
        ties = [str(view) for view in self.views if isinstance(view, Ties)]
        if len(ties) > 1:
            both = " and ".join(ties)
            raise UsageError(f"{self.name}: views {both}, must be one of them: documents are tied only once")
        for kind, mark in ((Sharp, "#"), (GlobalGain, "D- or DIN-"), (ByIntent, "-IA")):
            if sum(isinstance(view, kind) for view in self.views) > 1:
                raise UsageError(f"{self.name}: {mark} twice, must be there once")
        if self.needs == "intents" and any(isinstance(view, GlobalGain | ByIntent) for view in self.views):
            raise UsageError(f"{self.name} looks at all intents itself and takes no -IA, D- or DIN-")
        if not any(isinstance(view, GlobalGain) for view in self.views) or "gain" not in self.parameters():
            return
        if self.__dict__["gain"] is None:  # relevant or not by default, but global gains are there to be counted
            self.__dict__["gain"] = LINEAR
        if self.__dict__["gain"] != LINEAR:
            raise UsageError(f"D-{self.name}: gains are taken for each intent; give `gain` to the view, GlobalGain")

    def _check_kind(self, name: str, default: Any) -> None:
        value = getattr(self, name)
        if isinstance(default, Gain):
            self.__dict__[name] = Gain.of(value)
        elif isinstance(default, str) and not isinstance(value, str):
            raise UsageError(f"{self.name}: {name} == {value!r}, must be a name such as {default!r}")
        elif isinstance(default, (int, float)) and not isinstance(default, bool):
            check.finite(self.name, **{name: value})

    def check(self) -> None:
        """Complain about parameters out of range; subclasses override."""

    def declares(self, default: Properties) -> Properties:
        """The properties with the parameters as they are; subclasses with `by_parameters` override."""
        return default

    def gains(self) -> Gain | None:
        """How grades become gains, if it counts any; where documents are read by their global gain, that one's."""
        by_intent = [view.gain for view in self.views if isinstance(view, GlobalGain)]
        given = by_intent[0] if by_intent else self.__dict__.get("gain")
        return Gain.of(given) if isinstance(given, Gain | str | Mapping) else None

    # -- what it computes

    def terms(self, lists: Assessed) -> Terms | None:
        """What each hit adds to the score, for `explain`; None where the score is no sum over hits."""
        return None

    def score(self, lists: Assessed) -> Array:
        """One number per list (row), views not applied."""
        terms = self.terms(lists)
        if terms is None:
            raise UsageError(f"{type(self).__name__} defines neither terms() nor score()")
        return terms.score()

    def evaluate(self, lists: Assessed) -> Array:
        """One number per list (row), read through this measure's views."""
        score: Callable[[Assessed], Array] = self.score
        if self.views:
            lists = only_with(lists, self.looks_at())
        additive = self.properties.additive
        for view in reversed(self.views):
            view = view.for_measure(self, score)
            score = view.around(score, additive=additive, cutoff=self.rank_cutoff)
            additive = False  # ranks as another view reads them depend on the other documents
        return score(lists)

    def beyond_grades(self) -> bool:
        """Does it look at more of a document than its grade, so that no order by grade need be the best?"""
        by_intent = any(view.place for view in self.views)
        return by_intent or bool(self.needs and self.needs != "scores")  # documents that are tied have the same score

    def looks_at(self) -> frozenset[str]:
        """What it cannot be computed without, whatever is within; `places` where it ranks documents by dimension."""
        return frozenset({self.needs})

    def of(
        self,
        grades: Sequence[Any],
        missed: Sequence[Any] = (),
        *,
        lengths: Any = None,
        strata: Any = None,
        inclusion: Any = None,
        scores: Any = None,
        dimensions: Any = None,
    ) -> float:
        """The score of one list, given as its grades from the top (None: unjudged).

        `missed` are the grades of judged documents that were not retrieved. Where a topic has intents a document is
        given as its grades by intent: {"a": 1, "b": 2}. `lengths`, for measures that need them, are those of the
        retrieved documents from the top. `strata` (labels) and `inclusion` (probabilities of having been drawn), for
        measures that estimate from a sample, are those of all documents, the missed ones last. `scores`, for ADM, are
        what the run gave the retrieved documents. `dimensions`, for measures of several, are further grades of all
        documents, the missed ones last: {"credibility": [1, None, 0]}.
        """
        by_intent = any(isinstance(grade, Mapping) for grade in (*grades, *missed))
        lists = (with_intents if by_intent else Assessed.one)(grades, missed)
        if lengths is not None:
            lists = lists.replace(lengths=Lengths.one(lengths, len(grades)))
        if scores is not None:
            lists = lists.replace(scores=ByRank.of_list("scores", {"score": scores}, len(grades)))
        if strata is not None or inclusion is not None:
            sample = Sample.one([*grades, *missed], strata=strata, inclusion=inclusion)
            lists = lists.replace(sample=sample, document=np.arange(len(lists.row)))
        if dimensions is not None:
            given = Dimensions.one([*grades, *missed], len(grades), dimensions)
            judged = np.flatnonzero([grade is not None for grade in grades])
            lists = lists.replace(dimensions=given, document=judged)
        return float(self.evaluate(lists)[0])

    def note(self, lists: Assessed) -> str | None:
        """What the reader of a score must know besides the name, e.g. a parameter taken from the judgments."""
        return None

    def remarks(self, lists: Assessed) -> list[str]:
        """How the score of one list comes about, where the terms do not show it; for `explain`."""
        return []

    def undefined_because(self) -> str | None:
        """Why the score of a topic with relevant documents may be undefined, and the way out."""
        return None

    def uses_intents(self) -> bool:
        """Whether it reads documents by intent, or by their gains for all intents."""
        return self.needs == "intents" or any(view.place for view in self.views)

    def grades_by_intent(self) -> bool:
        """Whether it uses grades for intents, not the highest grade of a document."""
        return self.needs == "intents" or any(view.grades_by_intent for view in self.views)

    def first_through(self: M, view: View) -> M:
        """This measure, reading the lists through `view` before its own views."""
        return self.replace(views=(view, *self.views))

    def has_bounds(self) -> bool:
        """Whether its scores with all unjudged documents worst, and all best, enclose every judgment in between."""
        more_intents = self.needs == "intents" and self.__dict__.get("rel", 1) > 1  # new ones may have that grade
        told = self.properties
        views = all(view.keeps_bounds for view in self.views)
        return told.recall_free and told.better != "neither" and views and not more_intents

    @property
    def k(self) -> int | None:
        """The cutoff as a rank."""
        return None if self.cutoff is None else int(self.cutoff)

    @property
    def rank_cutoff(self) -> int | None:
        """The rank down to which it reads; None if it reads the whole list or `@` is not a rank."""
        return self.k if self.cutoff_kind == "rank" else None

    # -- what it is called

    def __matmul__(self: M, cutoff: float) -> M:
        return self.replace(cutoff=cutoff)

    def view(self: M, *views: View | str) -> M:
        """This measure read through further views.

        >>> from cranfield.measures import AP
        >>> str(AP().view("condensed"))
        "AP'"
        """
        more = tuple(parse_view(v) if isinstance(v, str) else v for v in views)
        made = self.replace(views=self.views + more)
        return made.replace(views=tuple(sorted(made.views, key=lambda view: view.place)))

    def split_views(self) -> tuple[tuple[View, ...], tuple[View, ...]]:
        """Views of the whole list, which are read first, and those by intent, which show in the name."""

        def rest(after: int) -> Callable[[Assessed], Array]:
            return lambda lists: self.replace(views=self.views[after:]).evaluate(lists)

        head = tuple(view.for_measure(self, rest(after)) for after, view in enumerate(self.views, 1) if not view.place)
        return head, tuple(sorted((view for view in self.views if view.place), key=lambda view: view.place))

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Parameter names and defaults."""
        return {name: default for name, default in cls._defaults.items() if name not in ("cutoff", "views")}

    def __str__(self) -> str:
        head, tail = self.split_views()
        by_gain = any(isinstance(v, GlobalGain) for v in tail)
        changed = [
            f"{name}={show(getattr(self, name))}"
            for name, default in self.parameters().items()
            if getattr(self, name) != default and not (by_gain and name == "gain")
        ]
        mark = head[0].mark if head else ""  # views are read in order: a mark can only stand for the first
        named = [str(v) for v in head[1 if mark else 0 :]]
        taken = f"{self.name}{ByIntent.mark}" in REGISTRY  # a measure of its own, such as nERR-IA: the view is [IA]
        named += [str(v) for v in tail if isinstance(v, ByIntent) and taken]
        sharp = "#" if any(isinstance(v, Sharp) for v in tail) else ""
        prefix = "".join(f"{v}{sharp}-" for v in tail if isinstance(v, GlobalGain))
        changed += [f"gain={show(v.gain)}" for v in tail if isinstance(v, GlobalGain) and v.gain != LINEAR]
        changed += [f"gamma={show(v.gamma)}" for v in tail if isinstance(v, Sharp) and v.gamma != Sharp().gamma]
        return (
            prefix
            + self.name
            + ("" if taken else "".join(v.mark for v in tail))
            + ("" if prefix else sharp)
            + mark
            + (f"({','.join(changed)})" if changed else "")
            + ("" if self.cutoff is None else f"@{number(self.cutoff)}")
            + (f"[{','.join(named)}]" if named else "")
        )

    __repr__ = __str__

    @classmethod
    def reference(cls) -> str:
        """The paper, from the docstring's `Reference:` line."""
        found = re.search(r"Reference: (.*?)(?:\n\s*\n|\Z)", inspect.getdoc(cls) or "", re.DOTALL)
        return " ".join(found.group(1).split()) if found else ""


def show(value: Any) -> str:
    """A parameter's value as it is written in a measure's name."""
    if isinstance(value, Gain):
        return str(value) if value.kind == "table" else f'"{value.kind}"'
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Measure):
        return str(value)
    if isinstance(value, tuple):
        return f"[{','.join(map(show, value))}]"
    if isinstance(value, bool) or value is None:
        return repr(value)
    return number(value)


class FunctionMeasure(Measure):
    """A measure that is just a function of the lists."""

    function: ClassVar[Callable[[Assessed], Array]]

    def score(self, lists: Assessed) -> Array:
        return np.asarray(type(self).function(lists), dtype=np.float64)


@overload
def measure(thing: type[M]) -> type[M]: ...
@overload
def measure(thing: Callable[[Assessed], Array]) -> type[Measure]: ...


def measure(thing: Any) -> Any:
    """Register a measure: a subclass of `Measure`, or a function from assessed lists to one number per list.

    >>> import cranfield as cf
    >>> @cf.measure
    ... def FirstIsRelevant(lists):
    ...     "1 if the top document is relevant."
    ...     return lists.relevant(rel=1, cutoff=1).count
    >>> FirstIsRelevant().of([1, 0])
    1.0
    """
    if not isinstance(thing, type):
        body = {"function": staticmethod(thing), "__doc__": thing.__doc__, "__module__": thing.__module__ or "__main__"}
        thing = MeasureType(thing.__name__, (FunctionMeasure,), {**body, "cutoff_kind": "none"})
    made: type[Measure] = thing
    if not made.__dict__.get("name"):
        made.name = made.__name__
    taken = REGISTRY.get(made.name, made).__module__
    if taken.startswith("cranfield.") and not made.__module__.startswith("cranfield."):
        raise UsageError(f"the name {made.name!r} is taken by {taken}; choose another")
    REGISTRY[made.name] = made
    return made
