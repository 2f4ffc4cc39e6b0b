"""From a name to a measure: our names, those of trec_eval and ir_measures, and a user's own measure by `module:name`.

`spelling` splits a name into its parts, `known_names` finds the measure.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from cranfield import check
from cranfield.declared.registry import folded
from cranfield.errors import UsageError
from cranfield.measures.base import REGISTRY, Measure, measure
from cranfield.measures.gain import LINEAR, Gain
from cranfield.measures.naming.spelling import find, names, not_a_measure, split_name, unknown
from cranfield.measures.ranked_lists.counts import NumRelRet
from cranfield.measures.ranked_lists.ncu import NCU
from cranfield.measures.ranked_lists.ranked import AP, AP11, RBP, IPrec, nDCG
from cranfield.measures.ranked_lists.sets import Rprec
from cranfield.measures.ranked_lists.trec import G, RelativeP, Rndcg, SetF, Utility, nDCGrel, rbp_resid
from cranfield.measures.readers.cwl import CWLMeasure
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.unjudged import Condensed
from cranfield.views.view import View

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

TAKES_CUTOFFS = ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj")
TAKES_GAINS: dict[str, type[Measure]] = {"ndcg": nDCG, "ndcg_rel": nDCGrel, "Rndcg": Rndcg, "G": G}


def _with(make: Callable[..., Measure], count: int) -> Callable[[list[float]], tuple[Measure, ...]]:
    """One measure made from exactly `count` numbers; no measure for any other count."""
    return lambda numbers: (make(*numbers),) if len(numbers) == count else ()


TAKES_NUMBERS: dict[str, Callable[[list[float]], tuple[Measure, ...]]] = {
    "iprec_at_recall": lambda points: tuple(IPrec(dialect="trec9", cutoff=point) for point in points),
    "Rprec_mult": lambda multiples: tuple(Rprec(mult=multiple) for multiple in multiples),
    "11pt_avg": lambda points: (AP11(points=tuple(points), dialect="trec9"),),
    "utility": _with(Utility, 4),
    "set_F": _with(SetF, 1),
    "rbp": _with(RBP, 1),
    "rbp_resid": _with(rbp_resid, 1),
}
WITHOUT_PARAMETERS: dict[str, Measure] = {
    "11pt_avg": AP11(dialect="trec9"), "rbp": RBP(p=0.9), "InducedAP": AP().view("condensed"),
}  # fmt: skip
"""Names with other defaults than the measure has here, or of a measure with a view."""

LONGEST_FIRST = sorted((*TAKES_CUTOFFS, *TAKES_GAINS, *TAKES_NUMBERS), key=len, reverse=True)
WITH_PARAMETERS = re.compile(rf"({'|'.join(LONGEST_FIRST)})[._](.+)", re.DOTALL)


def trec_measures(text: str) -> tuple[Measure, ...]:
    """The measures that trec_eval computes for this name; none if it is not a name of trec_eval with parameters."""
    if text in WITHOUT_PARAMETERS:
        return (WITHOUT_PARAMETERS[text],)
    match = WITH_PARAMETERS.fullmatch(text)
    if match is None:
        return ()
    base, parameters = match[1], match[2].split(",")
    if base in TAKES_GAINS:
        return _with_gains(TAKES_GAINS[base], [parameter.split("=") for parameter in parameters])
    if not all(map(NUMBER.fullmatch, parameters)):
        return ()
    numbers = [float(parameter) for parameter in parameters]
    if base not in TAKES_CUTOFFS:
        return TAKES_NUMBERS[base](numbers)
    kind = find(base)
    assert kind is not None
    return tuple(kind(cutoff=number) for number in numbers)


def _with_gains(kind: type[Measure], pairs: list[list[str]]) -> tuple[Measure, ...]:
    if not all(len(pair) == 2 and all(map(NUMBER.fullmatch, pair)) for pair in pairs):
        return ()
    settings: dict[str, Any] = {"gain": else_linear(kind.name, {float(grade): float(gain) for grade, gain in pairs})}
    return (kind(**settings),)


def else_linear(name: str, gains: Any) -> dict[Any, Any]:
    """A table of gains in which the gain of any other grade is the grade itself."""
    if not isinstance(gains, Mapping):
        raise UsageError(f"{name}: gains == {gains!r}, must be a table such as {{1: 1, 2: 3}}")
    return {**gains, "else": "linear"}


EVERYDAY = {
    "hr": "Success",
    "hits": "Success",
    "hitratio": "Success",
    "f1": "F",
    "f1score": "F",
    "f1measure": "F",
    "fscore": "F",
    "fmeasure": "F",
    "rprecision": "Rprec",
    "averageprecision": "AP",
    "meanaverageprecision": "AP",
    "avgprec": "AP",
    "reciprocalrank": "RR",
    "meanreciprocalrank": "RR",
    "expectedreciprocalrank": "ERR",
    "rankbiasedprecision": "RBP",
    "discountedcumulativegain": "DCG",
    "normalizeddiscountedcumulativegain": "nDCG",
}
"""Names in everyday use that no paper or tool among the aliases has, folded."""

BETA_OR_CUTOFF = ("F", "E")
"""Measures after whose name a number could also be beta."""

_BY_INTENT = re.compile(r"(?:(d|din)([#♯]?)[-_])?(.+?)([-_]ia)?([#♯]?)", re.IGNORECASE)
_CUTOFF = re.compile(r"(.*?)[-_]*(\d{1,18})")
_LONGEST = 60


class Reading(NamedTuple):
    """What a loosely written name can mean: our name, and the cutoff that it contains."""

    name: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


def readings(name: str) -> list[Reading]:
    """All that a name can mean if case, `_` and `-` are ignored and a number at its end is a cutoff.

    >>> list(map(str, readings("ndcg10"))), list(map(str, readings("ap11"))), readings("nothing")
    (['nDCG@10'], ['AP11', 'AP@11'], [])
    """
    if len(name) > _LONGEST:
        return []
    possible = [Reading(known) for known in _named(name)]
    number = _CUTOFF.fullmatch(name)
    if number and folded(name) not in EVERYDAY:
        base, cutoff = number[1], int(number[2])
        without_at = re.sub(r"[-_]*at$", "", base, flags=re.IGNORECASE)
        known_names = _named(base) or _named(without_at)
        possible += [Reading(known, cutoff) for known in known_names if _takes_cutoff(known)]
    return list(dict.fromkeys(possible))


def meanings(name: str) -> list[str]:
    """As `readings`, as names to write; a number that a tool or the literature reads otherwise has two meanings.

    >>> meanings("f2"), meanings("Rbp")
    (['F@2', 'F(beta=2)'], ['RBP', 'RBP(p=0.9)'])
    """
    texts: list[str] = []
    for reading in readings(name):
        texts.append(str(reading))
        if reading.cutoff is not None and reading.name in BETA_OR_CUTOFF:
            texts.append(f"{reading.name}(beta={reading.cutoff})")
        elif reading.cutoff is None and (other := _OTHER_DEFAULTS.get(folded(name))):
            texts.append(other)
        elif reading.cutoff is not None and (trec := _TREC_NUMBERS.get(re.sub(r"\d+$", "", folded(name)))):
            texts.append(f"{trec}.{reading.cutoff}")
    return texts


_OTHER_DEFAULTS = {folded(name): str(measure) for name, measure in WITHOUT_PARAMETERS.items()}
_TREC_NUMBERS = {folded(name): name for name in TAKES_NUMBERS}


def _named(name: str) -> list[str]:
    """The names of measures that are the same if case, `_` and `-` are ignored, with marks for intents."""
    if known := _folded_names().get(folded(name)):
        return known
    match = _BY_INTENT.fullmatch(name)
    if match is None or match[3] == name:
        return []
    prefix = f"{match[1].upper()}{match[2]}-" if match[1] else ""
    suffix = ("-IA" if match[4] else "") + match[5]
    return [f"{prefix}{known}{suffix}" for known in _folded_names().get(folded(match[3]), ())]


def _takes_cutoff(name: str) -> bool:
    kind = names().get(name)
    return kind is None or kind.cutoff_kind == "rank"


_folded: tuple[int, dict[str, list[str]]] = (0, {})


def _folded_names() -> dict[str, list[str]]:
    """Our names by their folded spellings; made again if a user has added a measure."""
    global _folded
    known = names()
    if _folded[0] != len(known):
        table: dict[str, list[str]] = {spelling: [name] for spelling, name in EVERYDAY.items()}
        for name, kind in known.items():
            own = table.setdefault(folded(name), [])
            if kind.name not in own:
                own.append(kind.name)
        _folded = (len(known), table)
    return _folded[1]


LONGEST_TEXT = 1000
NTCIR_COMMA = re.compile(r"NCU(gu|rb),(P|BR)\b")
"""NTCIREVAL's names for members of NCU, with the comma that separates stop and utility."""
PLAIN = re.compile(r"([^\W\d]\w*)(?:@(\d{1,18}))?")
"""The usual case: a name and perhaps a cutoff, without parameters and views."""


Modules = bool | Collection[str]
"""Which modules a name may import: none (False), any (True), or those that are listed."""


def parse(text: str, *, modules: Modules = False) -> Measure:
    """The measure with this name; `parse(str(m)) == m` for every measure.

    `module:name` imports a module and so runs its code. A name may come from a file of somebody else, so it is refused
    unless the caller allows it: `modules=True` for a name that a person gave, or a list of modules.

    >>> parse("nDCG(gain='exp')@10")
    nDCG(gain="exp")@10
    >>> parse("ndcg_cut_10"), parse("AP(rel=2, judged_only=True)@100")
    (nDCG@10, AP'(rel=2)@100)
    >>> parse("theirs:AP", modules=["mine"])
    Traceback (most recent call last):
    cranfield.errors.UsageError: 'theirs:AP' would run the code of module 'theirs'; if you trust it, allow it with \
modules=, or import the measure and give it instead of its name
    """
    measures = parse_many(text, modules=modules)
    if len(measures) != 1:
        raise UsageError(f"{text!r} names {len(measures)} measures: write {', '.join(map(str, measures))}")
    return measures[0]


def parse_many(text: str, *, modules: Modules = False) -> tuple[Measure, ...]:
    """Like `parse`, but a list of cutoffs as trec_eval writes it gives several measures.

    >>> parse_many("P.5,10")
    (P@5, P@10)
    """
    if not isinstance(text, str):
        raise UsageError(f"a measure is given by its name, not by {text!r}")
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"{text[:40]!r}... is {len(text)} characters long, at most {LONGEST_TEXT} are allowed")
    text = NTCIR_COMMA.sub(r"NCU\1\2", text)
    plain = PLAIN.fullmatch(text)
    if plain and plain[1] in REGISTRY:
        return (REGISTRY[plain[1]](cutoff=int(plain[2]) if plain[2] else None),)
    try:
        return trec_measures(text.strip()) or (_parse(text, modules),)
    except TypeError as error:  # a parameter of a type that its measure cannot compare
        raise UsageError(f"{text!r}: {error}") from None


def _parse(text: str, modules: Modules) -> Measure:
    if over_dimensions := OVER_DIMENSIONS.fullmatch(text):
        return _parse_over_dimensions(text, over_dimensions, modules)
    parts = split_name(text)
    settings, views = dict(parts.parameters or {}), list(parts.views)
    kind: type[Measure] | Measure
    if parts.module is None:
        kind = _find_measure(parts.name, settings, views)
    elif modules is True or (modules and parts.module in modules):
        kind = _import_measure(parts.module, parts.name)
    else:
        raise UsageError(
            f"{text!r} would run the code of module {parts.module!r}; if you trust it, allow it with modules=, or "
            "import the measure and give it instead of its name"
        )
    for parameter in settings:
        if parameter not in kind.parameters() and (parameter != "cutoff" or parts.module is not None):
            known = ", ".join(kind.parameters()) or "none"
            raise UsageError(f"{kind.name}: no parameter {parameter!r}; the parameters are: {known}")
    if parts.cutoff is not None:
        if "cutoff" in settings and settings["cutoff"] != (parts.parameters or {}).get("cutoff"):
            raise UsageError(f"{text!r} has two cutoffs, {settings['cutoff']} and {parts.cutoff}; write one of them")
        settings["cutoff"] = parts.cutoff
    if isinstance(kind, Measure):
        return kind.replace(**settings, views=(*kind.views, *views))
    return kind(**settings, views=tuple(views))


# -- our names and those of ir_measures

BY_INTENT = re.compile(r"(?:(D|DIN)([#♯]?)-)?(.+?)([-_]IA)?([#♯]?)")
"""D-, DIN-, D#-, DIN#- before a name; -IA and # after it."""


def _find_measure(name: str, settings: dict[str, Any], views: list[View]) -> type[Measure]:
    """The measure with this name; changes `settings` to our parameters and adds the views that the name contains."""
    kind = find(name)
    if kind is None:
        name = _split_by_intent(name, settings, views)
        kind = find(name)
    if kind is None:
        return _find_loosely(name, settings, views)
    kind = _from_ir_measures(name, kind, settings, views)
    if "gain" not in kind.parameters() and any(isinstance(view, GlobalGain) for view in views):
        raise UsageError(f"D-{name}: D- and DIN- add up gains over all intents, but {name} counts no gains")
    return kind


def _find_loosely(name: str, settings: dict[str, Any], views: list[View]) -> type[Measure]:
    """The measure with this name if case, `_` and `-` are ignored and a number at the end is a cutoff."""
    possible = [] if not_a_measure(name) else meanings(name)
    if not possible:
        raise UsageError(unknown(name))
    if len(possible) > 1:
        raise UsageError(f"{name!r} can mean {' or '.join(possible)}; write one of these")
    reading = readings(name)[0]
    if reading.cutoff is not None:
        settings["cutoff"] = reading.cutoff
    return _find_measure(reading.name, settings, views)


def _split_by_intent(name: str, settings: dict[str, Any], views: list[View]) -> str:
    """The name without D-, DIN-, -IA and #, which become views; an unknown name is returned as it is."""
    match = BY_INTENT.fullmatch(name)
    if match is None:
        return name
    prefix, sharp_before, plain, suffix, sharp_after = match.groups()
    own_measure = f"{plain}{ByIntent.mark}" if suffix and find(f"{plain}{ByIntent.mark}") else ""  # such as nERR-IA
    if plain == name or not (own_measure or find(plain)):
        return name
    if sharp_before or sharp_after:
        gamma = settings.pop("gamma", Sharp().gamma)
        check.finite(name, gamma=gamma)
        check.between(name, low=0, high=1, gamma=gamma)
        views.append(Sharp(gamma))
    if prefix:
        views.append(GlobalGain(Gain.of(settings.pop("gain", LINEAR)), din=prefix == "DIN"))
    if suffix and not own_measure:
        views.append(ByIntent())
    return own_measure or plain


def _from_ir_measures(name: str, kind: type[Measure], settings: dict[str, Any], views: list[View]) -> type[Measure]:
    """Translate ir_measures' parameters to ours: judged_only, dcg, gains, relative, recall, max_rel; NumRet(rel=)."""
    if "judged_only" in settings and "judged_only" not in kind.parameters() and settings.pop("judged_only"):
        views.insert(0, Condensed())
    if kind is nDCG:
        form = settings.pop("dcg", "log2")
        if form not in ("log2", "exp-log2"):
            raise UsageError(f"{name}: dcg == {form!r}, must be 'log2' or 'exp-log2'")
        if form == "exp-log2":
            settings.setdefault("gain", "exp")
        if "gains" in settings:
            settings["gain"] = else_linear(name, settings.pop("gains"))
    if issubclass(kind, CWLMeasure) and "max_rel" in settings:
        settings.update(_gains_between(name, settings.pop("min_rel", 0), settings.pop("max_rel")))
    if kind is IPrec and "recall" in settings:
        settings["cutoff"] = settings.pop("recall")
    if name in ("SetP", "set_P") and settings.pop("relative", False):
        return RelativeP
    if name == "NumRet" and "rel" in settings:
        return NumRelRet
    if name in ("uRBPgr", "cRBPgr"):
        settings.setdefault("graded", True)
    if kind is NCU:
        settings.update({**NCU.members.get(name, {}), **settings})
    return kind


def _gains_between(name: str, lowest: Any, highest: Any) -> dict[str, Any]:
    """Gains from 0 for grades up to `lowest`, to 1 for `highest`."""
    if not (isinstance(lowest, int) and isinstance(highest, int) and 0 <= lowest < highest <= 1000):
        raise UsageError(
            f"{name}: min_rel == {lowest!r}, max_rel == {highest!r}, must be whole numbers, the first below the second"
        )
    table = {grade: max(grade - lowest, 0) for grade in range(1, highest + 1)}
    return {"max_grade": highest, **({"gain": table} if lowest else {})}


# -- a measure over several dimensions: CAM(AP), MM(nDCG@10,weights={relevance:2,credibility:1}), TOMA(Q)

OVER_DIMENSIONS = re.compile(
    r"""\s*(?P<name>CAM|MM|TOMA)\s*\(\s*(?:inner\s*=\s*)?(?P<inner>.*?)\s*
    (?:,?\s*weights\s*=\s*\{(?P<weights>[^{}]*)\}\s*)?
    (?P<words>(?:,?\s*(?:distance|grades)\s*=\s*["']?\w+["']?\s*)*)\)(?P<rest>[^()]*)""",
    re.VERBOSE | re.DOTALL,
)
WEIGHT = re.compile(r"""\s*(["']?)(?P<dimension>[^"':]+?)\1\s*:\s*(?P<weight>\S+)\s*""")


def _parse_over_dimensions(text: str, match: re.Match[str], modules: Modules) -> Measure:
    """CAM, MM or TOMA of another measure; what follows the closing bracket belongs to the measure inside."""
    kind = REGISTRY[match["name"]]
    inner = (match["inner"] or str(kind.parameters()["inner"])) + match["rest"]
    if OVER_DIMENSIONS.fullmatch(inner):
        raise UsageError(f"{text!r}: {kind.name} is a measure over all dimensions; the measure inside must be of one")
    settings: dict[str, Any] = {"inner": parse(inner, modules=modules)}
    if match["weights"] is not None:
        weights = settings["weights"] = {}
        for item in filter(str.strip, match["weights"].split(",")):
            pair = WEIGHT.fullmatch(item)
            if pair is None or not NUMBER.fullmatch(pair["weight"]):
                raise UsageError(f"{text!r}: expected a dimension and its weight, such as relevance:2, found {item!r}")
            if pair["dimension"] in weights:
                raise UsageError(f"{text!r}: dimension {pair['dimension']!r} is weighted twice")
            weights[pair["dimension"]] = float(pair["weight"])
    for name, word in re.findall(r"(\w+)\s*=\s*[\"']?(\w+)", match["words"]):
        if settings.setdefault(name, word) != word:
            raise UsageError(f"{text!r}: {name} is given twice")
    return kind(**settings)


# -- a user's own measures


def _import_measure(module: str, name: str) -> type[Measure] | Measure:
    thing = _import(module, name)
    if isinstance(thing, Measure):
        return thing
    if inspect.isclass(thing) and issubclass(thing, Measure):
        return thing if REGISTRY.get(thing.name) is thing else measure(thing)
    if inspect.isfunction(thing):
        return measure(thing)
    raise UsageError(f"{module}:{name} is {thing!r}, must be a measure or a function of assessed lists")


def _import(module: str, name: str) -> Any:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # show the user whatever their module raises
        raise UsageError(f"cannot import {module!r}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(here)
    if not hasattr(loaded, name):
        public = ", ".join(known for known in vars(loaded) if not known.startswith("_")) or "nothing"
        raise UsageError(f"module {module!r} has no {name!r}; it has {public[:200]}")
    return getattr(loaded, name)


def names_in(texts: Iterable[str]) -> list[str]:
    """The names of measures in texts, separated by commas or blanks outside brackets and quotes.

    Numbers belong to the name before them: further cutoffs after `@`, further parameters in trec_eval's spelling.

    >>> names_in(["nDCG@5,10", "RBP(p=0.8, rel=2) AP'", "P.5,10", "ndcg_1=3,2=9"])
    ['nDCG@5', 'nDCG@10', 'RBP(p=0.8, rel=2)', "AP'", 'P.5,10', 'ndcg_1=3,2=9']
    >>> names_in(["NCUgu,P,AP"])
    ['NCUguP', 'AP']
    """
    names: list[str] = []
    for text in texts:
        begun = len(names)
        text = re.sub(r"NCU(gu|rb),(P|BR)\b", r"NCU\1\2", text)  # NTCIREVAL's names have a comma
        for piece in _pieces(re.sub(r"\s*@\s*", "@", text)):
            if len(names) == begun or not re.fullmatch(r"[-+.\d=]+", piece):
                names.append(piece)
            elif cutoff := re.fullmatch(r"(.*@)[.\d]+", names[-1]):
                names.append(cutoff[1] + piece)
            else:
                names[-1] += f",{piece}"
    return names


def _pieces(text: str) -> list[str]:
    pieces, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "([{") - (letter in ")]}")
            if depth <= 0 and (letter == "," or letter.isspace()):
                pieces.append("")
                continue
        pieces[-1] += letter
    return [piece for piece in pieces if piece]
