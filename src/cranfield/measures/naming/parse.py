"""From a name to a measure: ours, trec_eval's and ir_measures' spellings, and a user's own by `module:name`.

`spelling` says how a name is written, `known_names` which names there are, `trec_names` how trec_eval writes them.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from cranfield import check
from cranfield.errors import UsageError
from cranfield.measures.base import REGISTRY, Measure, measure
from cranfield.measures.counts import NumRelRet
from cranfield.measures.cwl import CWLMeasure
from cranfield.measures.gain import LINEAR, Gain
from cranfield.measures.naming.known_names import names, unknown
from cranfield.measures.naming.spelling import split_name
from cranfield.measures.naming.trec_names import PLAIN, else_linear, trec_measures
from cranfield.measures.ncu import NCU
from cranfield.measures.ranked import IPrec, nDCG
from cranfield.measures.trec import RelativeP
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.condensed import Condensed
from cranfield.views.view import View

LONGEST = 1000
"""Characters in a measure's name, at most."""


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
        return trec_measures(text.strip()) or _over_dimensions(text, modules) or (_made(text, modules),)
    except TypeError as wrong:  # a parameter of a kind that its measure cannot compare
        raise UsageError(f"{text!r}: {wrong}") from None


# -- names


def _made(text: str, modules: bool) -> Measure:
    written = split_name(text)
    given = written.given or {}
    if written.module is not None:
        made = _user(written.module, written.name, given, modules, text)
    else:
        made = _named(written.name, given)
    if written.cutoff is not None:
        made = made @ written.cutoff
    return made.view(*written.views)


def _named(name: str, given: dict[str, Any]) -> Measure:
    known = names()
    name, given, by_intent = _diversity(name, known, dict(given))
    if name not in known:
        raise UsageError(unknown(name, known))
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
        gamma = given.pop("gamma", Sharp().gamma)
        check.finite(name, gamma=gamma)
        check.between(name, low=0, high=1, gamma=gamma)
        views.append(Sharp(gamma))
    if parts[1]:
        views.append(GlobalGain(Gain.of(given.pop("gain", LINEAR)), din=parts[1] == "DIN"))
    if parts[4] and of_its_own in known:
        return of_its_own, given, views
    if parts[4]:
        views.append(ByIntent())
    return parts[3], given, views


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
            given["gain"] = else_linear(name, given.pop("gains"))
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
