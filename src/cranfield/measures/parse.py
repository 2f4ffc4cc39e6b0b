"""From a name to a measure: ours, trec_eval's and ir_measures' spellings, and a user's own by `module:name`.

    name ['] [( parameter = value , ... )] [@ cutoff] [[ view , ... ]]

A value is a number, a string in quotes, True, False, None, a table {1: 1, 2: 3} or a list [0.2, 0.5].
Nothing is evaluated.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import UsageError
from cranfield.intent_views import ByIntent, GlobalGain, Sharp
from cranfield.measures.base import REGISTRY, Measure, measure
from cranfield.measures.counts import NumRelRet
from cranfield.measures.cwl import CWLMeasure
from cranfield.measures.gain import LINEAR, Gain
from cranfield.measures.ncu import NCU
from cranfield.measures.ranked import AP11, RBP, IPrec, nDCG
from cranfield.measures.sets import Rprec
from cranfield.measures.trec import G, RelativeP, Rndcg, SetF, Utility, nDCGrel, rbp_resid
from cranfield.views import Condensed, View, parse_view

LONGEST = 1000
"""Characters in a measure's name, at most."""

TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<string>"[^"\\]*"|'[^'\\]*')
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>[(){}\[\],:=@])
    )""",
    re.VERBOSE,
)
NAME = re.compile(r"\s*([^\s'’′()@\[\]{},:=\"]+)\s*(['’′]?)")
MODULE = re.compile(r"\s*([^\W\d][\w.]*):([^\W\d]\w*)(['’′]?)")
WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "none": None}


def parse(text: str, *, modules: bool = True) -> Measure:
    """The measure of this name; `parse(str(m)) == m` for every measure.

    `modules=False` refuses `module:name`, which imports that module.

    >>> parse("nDCG(gain='exp')@10")
    nDCG(gain="exp")@10
    >>> parse("ndcg_cut_10"), parse("AP(rel=2, judged_only=True)@100")
    (nDCG@10, AP'(rel=2)@100)
    """
    many = parse_many(text, modules=modules)
    if len(many) != 1:
        raise UsageError(f"{text!r} names {len(many)} measures: write {', '.join(map(str, many))}")
    return many[0]


def parse_many(text: str, *, modules: bool = True) -> tuple[Measure, ...]:
    """Like `parse`, but trec_eval's lists of cutoffs are taken as so many measures.

    >>> parse_many("P.5,10")
    (P@5, P@10)
    """
    if not isinstance(text, str):
        raise UsageError(f"a measure is given by its name, not by {text!r}")
    if len(text) > LONGEST:
        raise UsageError(f"{text[:40]!r}... is {len(text)} characters long, a measure's name has at most {LONGEST}")
    try:
        return _trec(text.strip()) or _over_dimensions(text, modules) or (_Reader(text, modules).measure(),)
    except TypeError as wrong:  # a parameter of a kind that its measure cannot compare
        raise UsageError(f"{text!r}: {wrong}") from None


# -- the grammar


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


class _Reader:
    def __init__(self, text: str, modules: bool) -> None:
        self.text, self.modules = text, modules
        self.tokens: list[_Token] = []
        self.next = 0

    def measure(self) -> Measure:
        module = MODULE.match(self.text)
        found = module or NAME.match(self.text)
        if not found:
            raise self.wrong("a measure's name", 0)
        marked = found.group(found.re.groups)
        self._tokenize(found.end())
        given = self._parameters()
        cutoff = self._cutoff()
        views = self._views()
        if self.next < len(self.tokens):
            raise self.wrong("the end", self.tokens[self.next].at)
        if module:
            made = _user(module.group(1), module.group(2), given, self.modules, self.text)
        else:
            made = _named(found.group(1), given)
        if cutoff is not None:
            made = made @ cutoff
        return made.view(*([Condensed()] if marked else []), *views)

    def _tokenize(self, at: int) -> None:
        while self.text[at:].strip():
            found = TOKEN.match(self.text, at)
            if not found:
                raise self.wrong("a number, a name, a string in quotes or one of ( ) { } [ ] , : = @", at)
            kind = found.lastgroup or ""
            self.tokens.append(_Token(kind, found.group(kind), found.start(kind)))
            at = found.end()

    def wrong(self, expected: str, at: int) -> UsageError:
        here = self.text[at:].strip()
        return UsageError(f"{self.text!r}: expected {expected}, found {f'{here[:20]!r}' if here else 'nothing'}")

    def take(self, mark: str) -> bool:
        if self.next < len(self.tokens) and self.tokens[self.next].text == mark:
            self.next += 1
            return True
        return False

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise self.wrong(repr(mark), self._at())

    def _at(self) -> int:
        return self.tokens[self.next].at if self.next < len(self.tokens) else len(self.text)

    def token(self, kind: str, expected: str) -> str:
        if self.next >= len(self.tokens) or self.tokens[self.next].kind != kind:
            raise self.wrong(expected, self._at())
        self.next += 1
        return self.tokens[self.next - 1].text

    def _parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if not self.take("("):
            return given
        while not self.take(")"):
            at = self._at()
            name = self.token("word", "a parameter's name or )")
            if name in given:
                raise UsageError(f"{self.text!r}: {name} is given twice")
            if not self.take("="):
                raise self.wrong(f"= after {name!r}", at + len(name))
            given[name] = self.value(nested=True)
            if not self.take(","):
                self.need(")")
                break
        return given

    def value(self, *, nested: bool) -> Any:
        if nested and self.take("{"):
            return self._table()
        if nested and self.take("["):
            return self._list()
        if self.next >= len(self.tokens):
            raise self.wrong("a value", len(self.text))
        token = self.tokens[self.next]
        if token.kind == "number":
            return self._number()
        if token.kind == "string":
            self.next += 1
            return token.text[1:-1]
        if token.kind == "word" and token.text in WORDS:
            self.next += 1
            return WORDS[token.text]
        raise self.wrong("a number, a string in quotes, True, False, None, {...} or [...]", token.at)

    def _number(self) -> float:
        text = self.token("number", "a number")
        return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)

    def _table(self) -> dict[Any, Any]:
        table: dict[Any, Any] = {}
        while not self.take("}"):
            key: Any
            if self.take("else") or self.take('"else"') or self.take("'else'"):
                key = "else"
            else:
                key = self._number()
            self.need(":")
            if key in table:
                raise UsageError(f"{self.text!r}: grade {key} is in the table twice")
            if key == "else" and self.take("linear"):
                table[key] = "linear"
            else:
                table[key] = self.value(nested=False)
            if not self.take(","):
                self.need("}")
                break
        return table

    def _list(self) -> tuple[Any, ...]:
        values = []
        while not self.take("]"):
            values.append(self.value(nested=False))
            if not self.take(","):
                self.need("]")
                break
        return tuple(values)

    def _cutoff(self) -> float | None:
        return self._number() if self.take("@") else None

    def _views(self) -> list[View]:
        views: list[View] = []
        if not self.take("["):
            return views
        while not self.take("]"):
            name = self.token("word", "a view: condensed, best, worst, ties, ties=best or ties=worst")
            reading = f"={self.token('word', 'best or worst')}" if self.take("=") else ""
            views.append(ByIntent() if name + reading == "IA" else parse_view(name + reading))
            if not self.take(","):
                self.need("]")
                break
        return views


# -- names


def names() -> dict[str, type[Measure]]:
    """Every name that a measure goes by, aliases included."""
    found: dict[str, type[Measure]] = {}
    for kind in REGISTRY.values():
        for alias in kind.aliases:
            found.setdefault(alias, kind)
    return {**found, **REGISTRY}


def _named(name: str, given: dict[str, Any]) -> Measure:
    known = names()
    name, given, by_intent = _diversity(name, known, dict(given))
    if name not in known:
        raise UsageError(_unknown(name, known))
    kind, given, views = _ir_measures(name, known[name], given)
    views = (*views, *by_intent)
    if any(isinstance(view, GlobalGain) for view in by_intent) and "gain" not in kind.parameters():
        raise UsageError(f"D-{name}: D- and DIN- read a document's gains over all intents, but {name} counts no gains")
    cutoff = given.pop("cutoff", None)
    made = kind(**_accepted(kind, given))
    return made.replace(cutoff=cutoff, views=views) if cutoff is not None or views else made


BY_INTENT = re.compile(r"(?:(D|DIN)([#♯]?)-)?(.+?)([-_]IA)?([#♯]?)")
"""D-, DIN-, D#-, DIN#- before a name; -IA and # behind it."""


def _diversity(name: str, known: Mapping[str, Any], given: dict[str, Any]) -> tuple[str, dict[str, Any], list[View]]:
    """The measure that is read by intent, its own parameters, and the views that do so."""
    parts = BY_INTENT.fullmatch(name)
    if name in known or parts is None or parts[3] == name:
        return name, given, []
    of_its_own = f"{parts[3]}{ByIntent.mark}"
    if parts[3] not in known and not (parts[4] and of_its_own in known):
        return name, given, []
    views: list[View] = []
    if parts[2] or parts[5]:
        views.append(Sharp(given.pop("gamma", Sharp().gamma)))
    if parts[1]:
        views.append(GlobalGain(Gain.of(given.pop("gain", LINEAR)), din=parts[1] == "DIN"))
    if parts[4] and of_its_own in known:
        return of_its_own, given, views
    if parts[4]:
        views.append(ByIntent())
    return parts[3], given, views


ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("gm_map", "GMAP"), "the geometric mean of AP: score AP and ask for the geometric mean"),
    "gm_bpref": "the geometric mean of bpref: score bpref and ask for the geometric mean",
    **dict.fromkeys(("num_q", "NumQ"), "the number of topics, which every table of scores has"),
    **dict.fromkeys(
        ("AWRF", "EE-D", "EE-R", "EE-L", "rND", "rKL", "rRD", "parity", "exposure", "equity"),
        "a measure of fairness: see `cranfield fairness --help`, in Python cranfield.fairness",
    ),
    "runid": "the name of the run, not a measure",
    "relstring": "a string, not a number: see `cranfield explain`",
}
LONGEST_NAME = 60


def _unknown(name: str, known: Mapping[str, type[Measure]]) -> str:
    if name in ELSEWHERE:
        return f"{name} is {ELSEWHERE[name]}"
    if f"{name}{ByIntent.mark}" in known:  # a measure of its own, such as alpha#-nDCG-IA
        return f"there is no measure {name!r}; did you mean {known[f'{name}{ByIntent.mark}'].name}?"
    import difflib  # only to help after a mistake

    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
    lower = name[:LONGEST_NAME].lower()  # comparing takes the square of the length
    lowered = {there.lower(): kind.name for there, kind in known.items()}
    near = dict.fromkeys(lowered[found] for found in difflib.get_close_matches(lower, lowered, n=3, cutoff=0.5))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no measure {shown!r}{hint} (`cranfield measures` lists them all)"


def _ir_measures(
    name: str, kind: type[Measure], given: dict[str, Any]
) -> tuple[type[Measure], dict[str, Any], tuple[View, ...]]:
    """ir_measures' parameters in ours: judged_only, dcg, gains, relative, recall, max_rel; NumRet(rel=)."""
    views: tuple[View, ...] = ()
    if "judged_only" not in kind.parameters() and "judged_only" in given:
        views = (Condensed(),) if given.pop("judged_only") else ()
    if kind is nDCG:
        form = given.pop("dcg", "log2")
        if form not in ("log2", "exp-log2"):
            raise UsageError(f"{name}: dcg == {form!r}, must be 'log2' or 'exp-log2'")
        if form == "exp-log2":
            given.setdefault("gain", "exp")
        if "gains" in given:
            given["gain"] = _else_linear(name, given.pop("gains"))
    if issubclass(kind, CWLMeasure) and "max_rel" in given:
        given.update(_between(name, given.pop("min_rel", 0), given.pop("max_rel")))
    if name in ("ERR_IA", "alpha_DCG"):  # ir_measures takes them from ndeval
        given.setdefault("dialect", "ndeval")
    if kind is IPrec and "recall" in given:
        given["cutoff"] = given.pop("recall")
    if name in ("SetP", "set_P") and given.pop("relative", False):
        kind = RelativeP
    if name == "NumRet" and "rel" in given:
        kind = NumRelRet
    if name in ("uRBPgr", "cRBPgr"):
        given.setdefault("graded", True)
    if kind is NCU:
        given = {**NCU.members.get(name, {}), **given}
    return kind, given, views


def _between(name: str, lowest: Any, highest: Any) -> dict[str, Any]:
    """Gains from 0 for grades up to `lowest`, to 1 for `highest`."""
    if not (isinstance(lowest, int) and isinstance(highest, int) and 0 <= lowest < highest <= 1000):
        raise UsageError(
            f"{name}: min_rel == {lowest!r}, max_rel == {highest!r}, must be whole numbers, the first below"
        )
    table = {grade: max(grade - lowest, 0) for grade in range(1, highest + 1)}
    return {"max_grade": highest, **({"gain": table} if lowest else {})}


def _else_linear(name: str, gains: Any) -> dict[Any, Any]:
    if not isinstance(gains, Mapping):
        raise UsageError(f"{name}: gains == {gains!r}, must be a table such as {{1: 1, 2: 3}}")
    return {**gains, "else": "linear"}


# -- measures of another one in several dimensions: CAM(AP), MM(nDCG@10,weights={relevance:2,credibility:1})

OVER = re.compile(
    r"""\s*(?P<name>CAM|MM)\s*\(\s*(?:inner\s*=\s*)?(?P<inner>.*?)\s*
    (?:,?\s*weights\s*=\s*\{(?P<weights>[^{}]*)\}\s*)?\)(?P<rest>[^()]*)""",
    re.VERBOSE | re.DOTALL,
)
WEIGHT = re.compile(r"""\s*(["']?)(?P<dimension>[^"':]+?)\1\s*:\s*(?P<weight>\S+)\s*""")


def _over_dimensions(text: str, modules: bool) -> tuple[Measure, ...]:
    """A measure of this kind; none if it is no such name. What follows the bracket belongs to the measure within."""
    found = OVER.fullmatch(text)
    if not found:
        return ()
    kind = REGISTRY[found["name"]]
    inner = (found["inner"] or str(kind.parameters()["inner"])) + found["rest"]
    if OVER.fullmatch(inner):
        raise UsageError(f"{text!r}: {kind.name} is a mean over all dimensions; within it stands a measure of one")
    given: dict[str, Any] = {"inner": parse(inner, modules=modules)}
    if found["weights"] is not None:
        given["weights"] = {}
        for pair in filter(str.strip, found["weights"].split(",")):
            one = WEIGHT.fullmatch(pair)
            if one is None or not PLAIN.fullmatch(one["weight"]):
                raise UsageError(f"{text!r}: expected a dimension and its weight, such as relevance:2, found {pair!r}")
            if one["dimension"] in given["weights"]:
                raise UsageError(f"{text!r}: dimension {one['dimension']!r} is weighted twice")
            given["weights"][one["dimension"]] = float(one["weight"])
    return (kind(**given),)


# -- trec_eval's names: measure, then a dot or an underscore, then parameters

CUT = ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj")
PAIRS: dict[str, type[Measure]] = {"ndcg": nDCG, "ndcg_rel": nDCGrel, "Rndcg": Rndcg, "G": G}
PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _numbers(parameters: str) -> list[float] | None:
    items = parameters.split(",")
    return [float(item) for item in items] if all(PLAIN.fullmatch(item) for item in items) else None


def _gain_pairs(kind: type[Measure], parameters: str) -> Measure | None:
    pairs = [item.split("=") for item in parameters.split(",")]
    if not all(len(pair) == 2 and all(PLAIN.fullmatch(number) for number in pair) for pair in pairs):
        return None
    given: dict[str, Any] = {"gain": _else_linear(kind.name, {float(level): float(gain) for level, gain in pairs})}
    return kind(**given)


def _one(make: Callable[..., Measure], count: int) -> Callable[[list[float]], tuple[Measure, ...]]:
    return lambda numbers: (make(*numbers),) if len(numbers) == count else ()


NUMBERS: dict[str, Callable[[list[float]], tuple[Measure, ...]]] = {
    "iprec_at_recall": lambda points: tuple(IPrec(dialect="trec9") @ point for point in points),
    "Rprec_mult": lambda multiples: tuple(Rprec(mult=multiple) for multiple in multiples),
    "11pt_avg": lambda points: (AP11(points=tuple(points), dialect="trec9"),),
    "utility": _one(lambda a, b, c, d: Utility(a, b, c, d), 4),
    "set_F": _one(lambda beta: SetF(beta=beta), 1),
    "rbp": _one(lambda p: RBP(p=p), 1),
    "rbp_resid": _one(lambda p: rbp_resid(p=p), 1),
}
BARE: dict[str, Measure] = {"11pt_avg": AP11(dialect="trec9"), "rbp": RBP(p=0.9)}


def _trec(text: str) -> tuple[Measure, ...]:
    """The measures that trec_eval would compute for this name with parameters; none if it is no such name."""
    if text in BARE:
        return (BARE[text],)
    for base in sorted((*CUT, *PAIRS, *NUMBERS), key=len, reverse=True):
        if not text.startswith((base + "_", base + ".")):
            continue
        parameters = text[len(base) + 1 :]
        if base in PAIRS and (made := _gain_pairs(PAIRS[base], parameters)):
            return (made,)
        numbers = _numbers(parameters)
        if numbers is None or base in PAIRS:
            continue
        if base in CUT:
            return tuple(names()[base]() @ number for number in numbers)
        return NUMBERS[base](numbers)
    return ()


# -- measures of the user


def _user(module: str, name: str, given: dict[str, Any], allowed: bool, text: str) -> Measure:
    if not allowed:
        raise UsageError(f"{text!r}: measures from modules are not allowed here")
    thing = _imported(module, name)
    if isinstance(thing, Measure):
        return thing.replace(**_accepted(type(thing), given)) if given else thing
    if inspect.isclass(thing) and issubclass(thing, Measure):
        kind: type[Measure] = thing if REGISTRY.get(thing.name) is thing else measure(thing)
    elif inspect.isfunction(thing):
        kind = measure(thing)
    else:
        raise UsageError(f"{module}:{name} is {thing!r}, must be a measure or a function of assessed lists")
    return kind(**_accepted(kind, given))


def _accepted(kind: type[Measure], given: dict[str, Any]) -> dict[str, Any]:
    there = kind.parameters()
    for parameter in given:
        if parameter not in there:
            raise UsageError(f"{kind.name}: no parameter {parameter!r}; there are: {', '.join(there) or 'none'}")
    return given


def _imported(module: str, name: str) -> Any:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as wrong:  # whatever the user's module raises is for the user to read
        raise UsageError(f"cannot import {module!r}: {type(wrong).__name__}: {wrong}") from None
    finally:
        sys.path.remove(here)
    if not hasattr(loaded, name):
        public = ", ".join(there for there in vars(loaded) if not there.startswith("_")) or "nothing"
        raise UsageError(f"module {module!r} has no {name!r}; it has {public[:200]}")
    return getattr(loaded, name)
