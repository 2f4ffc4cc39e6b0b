"""trec_eval's names: a measure, then a dot or an underscore, then parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.measures.naming.known_names import names
from cranfield.measures.ranked import AP11, RBP, IPrec, nDCG
from cranfield.measures.sets import Rprec
from cranfield.measures.trec import G, Rndcg, SetF, Utility, nDCGrel, rbp_resid

CUT = ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj")
PAIRS: dict[str, type[Measure]] = {"ndcg": nDCG, "ndcg_rel": nDCGrel, "Rndcg": Rndcg, "G": G}
PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _numbers(parameters: str) -> list[float] | None:
    items = parameters.split(",")
    return [float(item) for item in items] if all(PLAIN.fullmatch(item) for item in items) else None


def else_linear(name: str, gains: Any) -> dict[Any, Any]:
    """A table of gains, grades that it lacks being gains themselves."""
    if not isinstance(gains, Mapping):
        raise UsageError(f"{name}: gains == {gains!r}, must be a table such as {{1: 1, 2: 3}}")
    return {**gains, "else": "linear"}


def _gain_pairs(kind: type[Measure], parameters: str) -> Measure | None:
    pairs = [item.split("=") for item in parameters.split(",")]
    if not all(len(pair) == 2 and all(PLAIN.fullmatch(number) for number in pair) for pair in pairs):
        return None
    given: dict[str, Any] = {"gain": else_linear(kind.name, {float(level): float(gain) for level, gain in pairs})}
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


def trec_measures(text: str) -> tuple[Measure, ...]:
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
