"""trec_eval's names: a measure, then a dot or an underscore, then parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.measures.naming.known_names import find
from cranfield.measures.ranked import AP11, RBP, IPrec, nDCG
from cranfield.measures.sets import Rprec
from cranfield.measures.trec import G, Rndcg, SetF, Utility, nDCGrel, rbp_resid

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
WITHOUT_PARAMETERS: dict[str, Measure] = {"11pt_avg": AP11(dialect="trec9"), "rbp": RBP(p=0.9)}
"""Names with other defaults than the measure has here."""

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
