"""The scores of NTCIREVAL for one ranked list, in its order and under its names.

Sums are computed rank by rank, as in NTCIREVAL. The definitions are those of `cranfield.measures`, except that the
probability of satisfaction is g / (the highest gain + 1) in ERR, nERR, EBR and iRBU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

Score = tuple[str, float]


@dataclass(frozen=True)
class Parameters:
    """The options of `compute` and `gcompute`."""

    cutoffs: tuple[int, ...] = (1000,)
    beta: float = 1.0
    gamma: float = 0.95
    log_base: float = 2.0
    persistence: float = 0.95
    irbu_persistence: float | None = None
    gap: bool = False
    condensed: bool = False


@dataclass(frozen=True)
class Ranked:
    """One list beside the ideal one.

    `gains`: of the documents of the list in order, 0 if not relevant; `relevant`: which documents are; `ideal`: the
    gains of all relevant documents, best first. GAP compares `weights` and `ideal_weights`: levels if there are any,
    else gains. `highest` is the highest possible gain, `nonrelevant` the number of documents judged nonrelevant.
    `stops` are the stop values of graded-uniform NCU, None without levels.
    """

    gains: list[float]
    relevant: list[bool]
    ideal: list[float]
    weights: list[float]
    ideal_weights: list[float]
    highest: float
    nonrelevant: int
    stops: list[float] | None = None
    all_stops: float = 0.0


def divided(a: float, b: float) -> float:
    """a / b, where 0 / 0 is NaN, as in C."""
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a)


def dcg_discount(base: float, rank: int) -> float:
    """The divisor of the original DCG: 1 down to the base, then the logarithm; base 0 means the natural logarithm.

    >>> dcg_discount(2, 2), dcg_discount(2, 4), dcg_discount(0, 1)
    (1.0, 2.0, 1.0)
    """
    if rank == 1 or rank <= base:
        return 1.0
    return math.log(rank) if base == 0 else math.log(rank) / math.log(base)


class Curves:
    """Sums down to each rank; index 0 is the empty list, the last rank is that of the longer list."""

    def __init__(self, ranked: Ranked, parameters: Parameters) -> None:
        self.length, self.rel = len(ranked.gains), len(ranked.ideal)
        self.last = max(self.length, self.rel)
        ranks, beta = range(1, self.last + 1), parameters.beta

        def padded(values: Sequence[float]) -> list[float]:
            return [*values, *[0.0] * (self.last - len(values))]

        def sums(gains: list[float]) -> tuple[list[float], ...]:
            """CG, DCG, MSDCG and ERR, and the probability that no document above a rank satisfies."""
            chances = [gain / (ranked.highest + 1) for gain in gains]
            unsatisfied = list(accumulate((1 - chance for chance in chances), mul, initial=1.0))
            return (
                _running(gains),
                _running(gain / dcg_discount(parameters.log_base, rank) for rank, gain in enumerate(gains, 1)),
                _running(gain / math.log(rank + 1) for rank, gain in enumerate(gains, 1)),
                _running(unsatisfied[rank - 1] / rank * chances[rank - 1] for rank in ranks),
                unsatisfied,
            )

        self.ideal_cg, self.ideal_dcg, self.ideal_msdcg, self.ideal_err, _ = sums(padded(ranked.ideal))
        self.ideal_gap = _running(weight * (weight + 1) for weight in padded(ranked.ideal_weights))
        gains = padded(ranked.gains)
        self.gain = [0.0, *ranked.gains]
        self.cg, self.dcg, self.msdcg, self.err, unsatisfied = sums(gains)
        self.count = _running(padded(ranked.relevant))
        blended = [(beta * self.cg[rank] + self.count[rank]) / (beta * self.ideal_cg[rank] + rank) for rank in ranks]
        self.blended = [0.0, *blended]
        self.rbp = _running(map(mul, gains, accumulate([parameters.persistence] * self.last, mul, initial=1.0)))
        stays = [(parameters.irbu_persistence or 0.0) ** rank for rank in ranks]
        scale = ranked.highest + 1
        self.ebr, self.irbu = (
            _running(w * left * gain / scale for w, left, gain in zip(weights, unsatisfied, gains, strict=False))
            for weights in (blended, stays)
        )
        hits = [rank for rank in range(1, self.length + 1) if ranked.relevant[rank - 1]]
        self.first = hits[0] if hits else 0
        self.preferred = max(hits, key=lambda rank: ranked.weights[rank - 1], default=0)
        self.useful = [rank for rank in range(1, self.length + 1) if self.gain[rank] > 0]


def _running(terms: Iterable[float]) -> list[float]:
    """The sums of the first terms, from none to all, added term by term."""
    return list(accumulate(terms, initial=0.0))


def scores(ranked: Ranked, parameters: Parameters, curves: Curves) -> list[Score]:
    """All scores of a list."""
    return [
        *_one_document(curves),
        *_whole_list(ranked, parameters, curves),
        *(score for cutoff in parameters.cutoffs for score in _cut(ranked, parameters, curves, cutoff)),
        *(_preferences(ranked, curves) if parameters.condensed else ()),
    ]


def _one_document(curves: Curves) -> Iterator[Score]:
    first, preferred = curves.first, curves.preferred
    if not first:
        yield from (("RR", 0.0), ("O-measure", 0.0), ("P-measure", 0.0), ("P-plus", 0.0))
        return
    yield "RR", 1 / first
    yield "O-measure", curves.blended[first]
    yield "P-measure", curves.blended[preferred]
    total = _added(curves.blended[rank] for rank in curves.useful if rank <= preferred)
    yield "P-plus", total / curves.count[preferred]


def _whole_list(ranked: Ranked, parameters: Parameters, curves: Curves) -> Iterator[Score]:
    useful, rel = curves.useful, curves.rel
    precision = {rank: curves.count[rank] / rank for rank in useful}
    yield "AP", _added(precision.values()) / rel
    yield "Q-measure", _added(curves.blended[rank] for rank in useful) / rel
    if ranked.stops is not None:
        stops = [0.0, *ranked.stops]
        yield "NCUgu,P", divided(_added(precision[rank] * stops[rank] for rank in useful), ranked.all_stops)
        yield "NCUgu,BR", divided(_added(curves.blended[rank] * stops[rank] for rank in useful), ranked.all_stops)
    whole = _added(parameters.gamma**place for place in range(rel))
    fading = {rank: parameters.gamma ** (curves.count[rank] - 1) for rank in useful}
    yield "NCUrb,P", _added(precision[rank] * fading[rank] for rank in useful) / whole
    yield "NCUrb,BR", _added(curves.blended[rank] * fading[rank] for rank in useful) / whole
    if parameters.gap:
        yield "GAP", divided(_gap(ranked, curves.length), curves.ideal_gap[rel])
    yield "RBP", divided((1 - parameters.persistence) * curves.rbp[curves.length], ranked.highest)
    yield "ERR", curves.err[curves.length]
    yield "EBR", curves.ebr[curves.length]


def _cut(ranked: Ranked, parameters: Parameters, curves: Curves, cutoff: int) -> Iterator[Score]:
    inside = [rank for rank in curves.useful if rank <= cutoff]
    over = min(cutoff, curves.rel)
    at = min(cutoff, curves.last)
    tail = f"@{cutoff:04d}"
    yield f"AP{tail}", _added(curves.count[rank] / rank for rank in inside) / over
    yield f"Q{tail}", _added(curves.blended[rank] for rank in inside) / over
    if parameters.gap:
        yield f"GAP{tail}", divided(_gap(ranked, min(cutoff, curves.length)), curves.ideal_gap[over])
    yield f"nDCG{tail}", divided(curves.dcg[at], curves.ideal_dcg[at])
    yield f"MSnDCG{tail}", divided(curves.msdcg[at], curves.ideal_msdcg[at])
    yield f"P{tail}", curves.count[at] / cutoff
    yield f"RBP{tail}", divided((1 - parameters.persistence) * curves.rbp[at], ranked.highest)
    yield f"ERR{tail}", curves.err[at]
    yield f"nERR{tail}", divided(curves.err[at], curves.ideal_err[at])
    yield f"EBR{tail}", curves.ebr[at]
    if parameters.irbu_persistence:
        yield f"iRBU{tail}", curves.irbu[at]
    yield f"Hit{tail}", float(curves.count[at] > 0)


def _gap(ranked: Ranked, depth: int) -> float:
    """The sum over relevant documents of the weight they share with those above them, divided by their rank."""
    weights, total = ranked.weights[:depth], 0.0
    for place, weight in enumerate(weights):
        if ranked.relevant[place]:
            shared = _added(min(weight, other) * (min(weight, other) + 1) for other in weights[: place + 1])
            total += shared / (place + 1)
    return total


def _preferences(ranked: Ranked, curves: Curves) -> Iterator[Score]:
    """bpref and its variants on a condensed list: they count the worse judged documents above each document."""
    rel, worse, useful = curves.rel, ranked.nonrelevant, curves.useful
    above = {rank: rank - curves.count[rank] for rank in useful}
    yield "bpref", _added(1 - min(above[rank], rel) / min(rel, worse) for rank in useful) / rel
    yield "bpref_R", _added(1 - min(above[rank], rel) / rel for rank in useful) / rel
    yield "bpref_N", _added(1 - above[rank] / worse for rank in useful) / rel
    yield "bpref_relative", _added(1 - above[rank] / (rank - 1) for rank in useful if rank > 1) / rel
    gain = curves.gain
    penalty = {
        rank: _added((gain[rank] - higher) / gain[rank] for higher in gain[1:rank] if gain[rank] > higher)
        for rank in useful
    }
    all_gain = curves.ideal_cg[rel]
    most = rel + worse - divided(all_gain, ranked.highest)
    yield "rpref_N", divided(_added(gain[rank] * (1 - divided(penalty[rank], most)) for rank in useful), all_gain)
    relative = _added(gain[rank] * (1 - penalty[rank] / (rank - 1)) for rank in useful if rank > 1)
    yield "rpref_relative", divided(relative, all_gain)
    yield "rpref_relative2", divided(_added(gain[rank] * (1 - penalty[rank] / rank) for rank in useful), all_gain)


def _added(numbers: Iterable[float]) -> float:
    """Add term by term; `sum` may keep more digits than C does."""
    return _running(numbers)[-1]
