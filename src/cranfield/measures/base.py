"""The base class of measures, their registry, and the decorator that adds a measure to it."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, FrozenInstanceError, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform, overload

import numpy as np

from cranfield import check
from cranfield.assessed.attachment import ByRank, topic_numbers_of
from cranfield.assessed.changed_lists.prefixes import Prefixes, score_cut_lists
from cranfield.assessed.dimensions import Dimensions
from cranfield.assessed.hits_by_intent import intents_of, with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.assessed.sampling import Sample
from cranfield.errors import UsageError
from cranfield.measures.declarations import (
    Parameter,
    Properties,
    PropertiesOfMeasure,
    Terms,
    divide,
    docstring_reference,
    normalised_unless_cut,
    number_tuple,
)
from cranfield.measures.gain import LINEAR, Gain, number
from cranfield.types import Array
from cranfield.views import parse_view
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.ties import Ties, only_with
from cranfield.views.view import View

__all__ = [
    "REGISTRY", "FunctionMeasure", "M", "Measure", "MeasureType", "Properties", "Terms", "divide", "measure",
    "normalised_unless_cut", "number_tuple", "show",
]  # fmt: skip

DEEPEST_CUTOFF = 2**62 - 1
"""The largest cutoff: far beyond any list, and small enough for integer arrays."""

REGISTRY: dict[str, type[Measure]] = {}
"""Every measure by its name; filled by `@measure`."""

ALIASES: dict[str, type[Measure]] = {}
"""Every measure by its other names; filled by `@measure`."""


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class MeasureType(ABCMeta):
    """Turns the annotated names of a class into parameters, and lets a class stand for its default: `nDCG @ 10`.

    Type checkers see measures as frozen dataclasses. The class does not use `dataclass`, which compiles code for every
    class: for all measures together that took longer than reading a run.
    """

    _parameters: dict[str, Parameter]
    """Every parameter, also `cutoff` and `views`; those that can only be given by name come last."""

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        if isinstance(body.get("properties"), Properties):
            type.__setattr__(cls, "properties", PropertiesOfMeasure(body["properties"]))
        parameters: dict[str, Parameter] = {}
        for base in reversed(cls.__mro__[1:]):
            parameters.update(base._parameters if isinstance(base, MeasureType) else {})
        for parameter, annotation in inspect.get_annotations(cls).items():
            if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                continue
            if parameter not in cls.__dict__:
                raise UsageError(f"{name}: parameter {parameter!r} needs a default value")
            default = cls.__dict__[parameter]
            keyword_only = isinstance(default, Field)
            declared = Parameter(default.default if keyword_only else default, str(annotation), keyword_only)
            declared.check(name, parameter, declared.default)
            parameters[parameter] = declared._replace(default=declared.normalised(parameter, declared.default))
        cls._parameters = dict(sorted(parameters.items(), key=lambda item: item[1].keyword_only))

    def __matmul__(cls: type[T], cutoff: float) -> T:
        return cls(cutoff=cutoff)  # type: ignore[call-arg]


M = TypeVar("M", bound="Measure")
V = TypeVar("V", bound=View)


OF_CUTOFFS = ("k", "n", "at", "depth", "top")
"""What people call a cutoff."""


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
    """Data it needs in addition to ranks and grades: `intents`, `lengths`, `inclusion`, `scores` or `dimensions`."""
    only_relevant: ClassVar[bool] = False
    """Whether documents below grade `rel` never matter, so that they can be left out."""
    top_down: ClassVar[bool] = False
    """Whether the score counts with sums over hits in which a document counts by its rank, the documents above it and
    the judgments, and with the number of retrieved documents of the list. Then `score` also works for `Prefixes`, and
    `explain` adds up instead of scoring a copy of the list for every rank."""
    estimates: ClassVar[bool] = False
    """Whether it estimates from a sample of the pool, in which a negative grade means that a document was not drawn."""
    uses_intent_types: ClassVar[bool] = False
    """Whether it matters which intents are navigational."""
    caveat: ClassVar[str] = ""
    """What readers of any table with the measure must know."""

    if not TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None:
            parameters = list(self.parameters())
            if len(values) > len(parameters):
                raise UsageError(f"{self.name}: {len(values)} values, but the parameters are {', '.join(parameters)}")
            for name in named:
                if name not in self._parameters or name in parameters[: len(values)]:
                    known = f"the parameters are: {', '.join(parameters) or 'none'}"
                    if name in OF_CUTOFFS and self.cutoff_kind != "none":
                        known = f"a cutoff is written {self.name} @ {named[name]}"
                    raise UsageError(f"{self.name}: unknown or repeated parameter {name!r}; {known}")
            if values and type(values[0]) is int and self.cutoff_kind != "none":
                cutoff = f"a cutoff is written {self.name} @ {values[0]}, and {parameters[0]} is given by its name"
                raise UsageError(f"{self.name}({values[0]}): {cutoff}")
            self.__dict__.update((name, parameter.default) for name, parameter in self._parameters.items())
            self.__dict__.update(zip(parameters, values, strict=False), **named)
            changed = [name for name in parameters if self.__dict__[name] is not self._parameters[name].default]
            self.__dict__.update(self._normalised(changed))
            self.__dict__.update(self.normalised())
            self._check(changed)

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"{self} cannot be changed; use replace({name}=...) to make another measure")

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

    # -- parameters: one form for each value, and complaints

    def normalised(self) -> dict[str, Any]:
        """Parameters that can be written in several ways, in the one way they are kept; subclasses override."""
        return {}

    def check(self) -> None:
        """Raise an error if a parameter is out of range; subclasses override."""

    def _normalised(self, changed: list[str]) -> dict[str, Any]:
        values = {name: type(self)._parameters[name].normalised(name, self.__dict__[name]) for name in changed}
        if len(self.views) > 0:
            values["views"] = tuple(sorted(self.views, key=lambda view: view.place))
            if values.get("gain", self.__dict__.get("gain", LINEAR)) is None and self.find_view(GlobalGain):
                values["gain"] = LINEAR  # relevant or not by default, but D- and DIN- exist to count gains
        if isinstance(self.cutoff, (int, float, np.number)) and not isinstance(self.cutoff, bool):
            if self.cutoff_kind == "recall":
                values["cutoff"] = float(self.cutoff)
            elif abs(self.cutoff) <= DEEPEST_CUTOFF and self.cutoff == int(self.cutoff):
                values["cutoff"] = int(self.cutoff)
        return values

    def _check(self, changed: list[str]) -> None:
        for name in changed:
            type(self)._parameters[name].check(self.name, name, self.__dict__[name])
        if self.views:
            self._check_views()
        if (gain := self.gains()) is not None and gain.table:
            gain.check(self.name)
        if self.cutoff is not None:
            self._check_cutoff(self.cutoff)
        self.check()

    def _check_cutoff(self, cutoff: float) -> None:
        written = f"{self.name}@{cutoff}"
        if self.cutoff_kind == "none":
            raise UsageError(f"{written}: {self.name} takes no cutoff")
        if isinstance(cutoff, bool) or not isinstance(cutoff, (int, float, np.number)):
            raise UsageError(f"{written}: the cutoff must be a number")
        if self.cutoff_kind == "recall":
            check.between(f"{self.name}@", low=0, high=1, cutoff=cutoff)
        elif cutoff > DEEPEST_CUTOFF:
            raise UsageError(f"{written}: the cutoff is too large; leave it out, or make it smaller")
        elif not cutoff >= 1 or not isinstance(cutoff, int):
            raise UsageError(f"{written}: the cutoff must be a whole number, 1 or more")

    def _check_views(self) -> None:
        ties = [str(view) for view in self.views if isinstance(view, Ties)]
        if len(ties) > 1:
            raise UsageError(f"{self.name}: views {' and '.join(ties)}; give only one of them")
        for kind, mark in ((Sharp, "#"), (GlobalGain, "D- or DIN-"), (ByIntent, "-IA")):
            if sum(isinstance(view, kind) for view in self.views) > 1:
                raise UsageError(f"{self.name}: {mark} twice, give it once")
        global_gain = self.find_view(GlobalGain)
        if self.needs == "intents" and (global_gain or self.find_view(ByIntent)):
            raise UsageError(f"{self.name} uses all intents itself and takes no -IA, D- or DIN-")
        if global_gain and self.__dict__.get("gain", LINEAR) != LINEAR:
            raise UsageError(f"D-{self.name}: a gain belongs to an intent; give `gain` to the view, GlobalGain")

    def declares(self, default: Properties) -> Properties:
        """The properties with these parameters; subclasses override."""
        return default

    def gains(self) -> Gain | None:
        """How grades become gains, for measures that count gains; with D- or DIN- the gain of that view."""
        global_gain = self.find_view(GlobalGain)
        gain = self.__dict__.get("gain") if global_gain is None else global_gain.gain
        return gain if isinstance(gain, Gain) else None

    def find_view(self, kind: type[V]) -> V | None:
        """The first view of this class, if the measure has one."""
        return next((view for view in self.views if isinstance(view, kind)), None)

    # -- what it computes

    def terms(self, lists: Assessed) -> Terms | None:
        """What each hit adds to the score, for `explain`; None if the score is not a sum over hits."""
        return None

    def score(self, lists: Assessed) -> Array:
        """One number per list (row), views not applied."""
        terms = self.terms(lists)
        if terms is None:
            raise UsageError(f"{type(self).__name__} defines neither terms() nor score()")
        return terms.score()

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """The scores of the first of the lists, cut after rank 1, 2, ... up to `ranks`; views not applied.

        Time grows with the number of ranks if the measure is `top_down`; other measures override this if they can.
        """
        if self.top_down:
            return self.score(Prefixes.of(lists, ranks))
        return score_cut_lists(self.score, lists, ranks)

    def evaluate(self, lists: Assessed) -> Array:
        """One number per list (row), read through this measure's views."""
        score: Callable[[Assessed], Array] = self.score
        if not self.views:
            return score(lists)
        lists = only_with(lists, self.looks_at())
        additive = self.properties.additive
        for view in reversed(self.views):
            view = view.for_measure(self, score)
            score = view.around(score, additive=additive, cutoff=self.rank_cutoff)
            additive = False  # ranks as another view reads them depend on the other documents
        return score(lists)

    def evaluate_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """The scores of the first of the lists, cut after rank 1, 2, ... up to `ranks`, read through the views."""
        if ranks == 0:
            return np.zeros(0)
        if not all(view.top_down for view in self.views):
            return score_cut_lists(self.evaluate, lists, ranks)

        score: Callable[[Assessed], Array] = partial(self.score_prefixes, ranks=ranks)
        for view in reversed(self.views):
            score = view.for_measure(self, score).around_prefixes(score, self.rank_cutoff)
        return score(lists)

    def cwl_settings(self) -> dict[str, Any] | None:
        """The parameters of the CWL measure that gives the same numbers; None if this is not a C/W/L measure."""
        return None

    def beyond_grades(self) -> bool:
        """Whether more than a document's grade counts, so that ordering by grade need not be best."""
        by_intent = any(view.place for view in self.views)
        return by_intent or bool(self.needs and self.needs != "scores")  # documents that are tied have the same score

    def looks_at(self) -> frozenset[str]:
        """The data it needs, including that of a measure inside it; `places`: the ranks of documents by dimension."""
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
        intent_probabilities: Any = None,
        intent_types: Any = None,
        topic_numbers: Mapping[str, float] | None = None,
    ) -> float:
        """The score of one list, given as its grades from the top (None: unjudged).

        `missed` are the grades of judged documents that were not retrieved. For topics with intents, a document is
        given as its grades by intent: {"a": 1, "b": 2}; `intent_probabilities` is then {intent: probability}, `uniform`
        or `nonuniform`, and `intent_types` is {intent: type}, `informational` or `navigational`; by default all intents
        are equally likely and informational. Some measures need more: `lengths` of the retrieved documents;
        `scores` that the run gave them (ADM); `strata` (labels) and `inclusion` (probabilities of having been drawn) of
        all documents, the missed ones last; `dimensions`, further grades of all documents, the missed ones last:
        {"credibility": [1, None, 0]}; `topic_numbers`, parameters of the topic: {"N": 1000, "alpha": 0.5}.
        """
        if any(isinstance(grade, Mapping) for grade in (*grades, *missed)):
            lists = with_intents(grades, missed)
            lists = lists.replace(intents=intents_of(lists).described(intent_probabilities, intent_types))
        elif intent_probabilities is None and intent_types is None:
            lists = Assessed.one(grades, missed)
        else:
            raise UsageError(
                f"{self}: probabilities or types of intents are given, but no document has grades by intent; write "
                'a document as {"a": 1, "b": 2}'
            )
        if lengths is not None:
            lists = lists.replace(lengths=Lengths.one(lengths, len(grades)))
        if scores is not None:
            lists = lists.replace(scores=ByRank.of_list("scores", {"score": scores}, len(grades)))
        if strata is not None or inclusion is not None:
            sample = Sample.one([*grades, *missed], strata=strata, inclusion=inclusion)
            lists = lists.replace(sample=sample, document=np.arange(len(lists.row)))
        if dimensions is not None:
            by_dimension = Dimensions.one([*grades, *missed], len(grades), dimensions)
            judged = np.flatnonzero([grade is not None for grade in grades])
            lists = lists.replace(dimensions=by_dimension, document=judged)
        if topic_numbers is not None:
            by_name = {name: {lists.topics[0]: value} for name, value in topic_numbers.items()}
            lists = lists.replace(topic_numbers=topic_numbers_of(by_name, lists))
        return float(self.evaluate(lists)[0])

    def note(self, lists: Assessed) -> str | None:
        """What a reader of the scores must know, such as a parameter taken from the judgments."""
        return None

    def remarks(self, lists: Assessed) -> list[str]:
        """How the score of one list comes about, where the terms do not show it; for `explain`."""
        return []

    def divisor_in_words(self, lists: Assessed) -> str:
        """What the sum of the terms of one list is divided by, if a number does not say it; for `explain`."""
        return ""

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
        bounded = self.properties.recall_free and self.properties.better != "neither" and not more_intents
        return bounded and all(view.keeps_bounds for view in self.views)

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
        more = tuple(parse_view(view) if isinstance(view, str) else view for view in views)
        return self.replace(views=self.views + more)

    def split_views(self) -> tuple[tuple[View, ...], tuple[View, ...]]:
        """Views of the whole list, which are applied first, and views by intent, which show in the name."""

        def rest(after: int) -> Callable[[Assessed], Array]:
            return lambda lists: self.replace(views=self.views[after:]).evaluate(lists)

        head = tuple(view.for_measure(self, rest(after)) for after, view in enumerate(self.views, 1) if not view.place)
        return head, tuple(view for view in self.views if view.place)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Parameter names and defaults."""
        every = cls._parameters.items()
        return {name: parameter.default for name, parameter in every if name not in ("cutoff", "views")}

    def __str__(self) -> str:
        head, _ = self.split_views()
        global_gain, sharp, by_intent = self.find_view(GlobalGain), self.find_view(Sharp), self.find_view(ByIntent)
        defaults = self.parameters()
        settings = {name: self.__dict__[name] for name in defaults if self.__dict__[name] != defaults[name]}
        if global_gain is not None:
            settings.pop("gain", None)  # the view holds the gain
            if global_gain.gain != LINEAR:
                settings["gain"] = global_gain.gain
        if sharp is not None and sharp != Sharp():
            settings["gamma"] = sharp.gamma
        mark = head[0].mark if head else ""  # views are applied in order: a mark can only stand for the first
        in_brackets = [str(view) for view in head[1 if mark else 0 :]]
        suffix = ""
        if by_intent is not None:
            if f"{self.name}{by_intent.mark}" in REGISTRY:  # another measure, such as nERR-IA: the view is [IA]
                in_brackets.append(str(by_intent))
            else:
                suffix = by_intent.mark
        hash_sign = "" if sharp is None else "#"
        written = f"{self.name}{suffix}{hash_sign}"
        if global_gain is not None:
            written = f"{global_gain}{hash_sign}-{self.name}{suffix}"
        arguments = ",".join(f"{name}={show(value)}" for name, value in settings.items())
        return (
            written
            + mark
            + (f"({arguments})" if arguments else "")
            + ("" if self.cutoff is None else f"@{number(self.cutoff)}")
            + (f"[{','.join(in_brackets)}]" if in_brackets else "")
        )

    __repr__ = __str__

    @classmethod
    def reference(cls) -> str:
        """The paper, from the docstring's `Reference:` line."""
        return docstring_reference(cls)


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
    """A measure made from a function of the lists."""

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
    kind: type[Measure] = thing
    if not kind.__dict__.get("name"):
        kind.name = kind.__name__
    owner = REGISTRY.get(kind.name, kind).__module__
    if owner.startswith("cranfield.") and not kind.__module__.startswith("cranfield."):
        raise UsageError(f"the name {kind.name!r} is taken by {owner}; choose another")
    REGISTRY[kind.name] = kind
    for alias in kind.aliases:
        if ALIASES.setdefault(alias, kind).name == kind.name:
            ALIASES[alias] = kind
    return kind
