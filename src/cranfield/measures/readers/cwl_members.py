"""C/W/L measures with names of their own: each is a model of how likely a reader is to go on.

Other measures have C/W/L forms, and C, W and L of one list are data (`cwl_vectors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, measure
from cranfield.measures.declarations import NotNegative, Positive, Probability
from cranfield.measures.readers.cwl import (
    CWL,
    CWLMeasure,
    Seen,
    bejeweled_player,
    check_wanted_gain,
    information_goal,
    information_rate,
    insq,
    inst,
    logarithmic,
)
from cranfield.types import Array, Index
from cranfield.views.ties import Ties


@measure
class INST(CWLMeasure):
    r"""Expected utility for a reader who wants a gain of `T` and is more likely to go on the more of it is missing.

    .. math:: C(i) = \left(\frac{i + T + T_i - 1}{i + T + T_i}\right)^2, \qquad T_i = T - \sum_{j \le i} g(j)

    `T` must be 0.5 or more. `gain`, `max_grade`, `cost`, `cost_below`, `depth` and `report` are as for CWL.
    No relevant documents: 0.
    Reference: Bailey, Moffat, Scholer & Thomas, SIGIR 2015, doi:10.1145/2766462.2767728; Moffat, Bailey, Scholer &
    Thomas, TOIS 35(3), 2017, doi:10.1145/3052768

    >>> INST(report="ED", T=1).of([1]) < INST(report="ED", T=1).of([0])
    True
    >>> round(INST(T=2).of([1, 0, 1]), 4)
    0.4261
    """

    T: float = 1

    properties = Properties(graded=True, recall_free=True)

    def check(self) -> None:
        check_wanted_gain(self.name, "INST", self.T)

    def continues(self, seen: Seen) -> Array:
        return inst(seen, self.T)


@measure
class INSQ(CWLMeasure):
    r"""Expected utility for a reader who wants a gain of `T` and grows more patient with depth, whatever the documents.

    .. math:: C(i) = \left(\frac{i + 2T - 1}{i + 2T}\right)^2

    `gain`, `max_grade`, `cost`, `cost_below`, `depth` and `report` are as for CWL.
    No relevant documents: 0.
    Reference: Moffat, Scholer & Thomas, ADCS 2012, doi:10.1145/2407085.2407092

    >>> INSQ(T=0.5, depth=2).of([1, 0])
    0.8
    """

    T: Positive = 1

    properties = Properties(graded=True, recall_free=True, additive=True)

    def continues(self, seen: Seen) -> Array:
        return insq(seen, self.T)


@measure
class SDCG(CWLMeasure):
    r"""Scaled DCG: discounted gain divided by that of a list with only documents of the best grade.

    .. math:: \frac{\sum_{i \le l} g(i) / \log_2(i + 1)}{\sum_{i \le l} 1 / \log_2(i + 1)}

    This is the C/W/L form of DCG: C(i) = log2(i + 1) / log2(i + 2), down to the cutoff. It equals nDCG if the topic has
    l documents of the best grade. `gain`, `max_grade`, `cost`, `cost_below`, `depth` (instead of a cutoff) and `report`
    are as for CWL.
    No relevant documents: 0.
    Reference: Järvelin & Kekäläinen, TOIS 20(4), 2002, doi:10.1145/582415.582418; Moffat, Bailey, Scholer & Thomas,
    TOIS 35(3), 2017, doi:10.1145/3052768

    >>> round((SDCG @ 3).of([0, 0, 1]), 4)
    0.2346
    """

    properties = Properties(graded=True, recall_free=True, additive=True)

    def continues(self, seen: Seen) -> Array:
        return logarithmic(seen)


@measure
class BPM(CWLMeasure):
    r"""Bejeweled player model: gain per document for a reader who stops once `T` is gained or the cost reaches `K`.

    .. math:: C(i) = 1 \text{ if } \sum_{j \le i} g(j) < T_i \text{ and } \sum_{j \le i} c(j) < K_i, \text{ else } 0

    By default the limits are fixed: T_i = T, K_i = K. With `hb` or `hc` they move with the gains seen above: T_i = T +
    hb · Σ_{j<i} (g(j) − median), K_i = K + hc · Σ_{j<i} (g(j) − median), where `median` is a medium gain. K is by
    default the cutoff, or 10. `gain`, `max_grade`, `cost`, `cost_below`, `depth` and `report` are as for CWL. Note that
    cwl-eval 1.0.12 ignores its hc.
    No relevant documents: 0.
    Reference: Zhang, Liu, Li, Zhang, Xu & Ma, SIGIR 2017, doi:10.1145/3077136.3080841

    >>> BPM(T=2, K=10).of([1, 0, 1, 1])
    0.6666666666666666
    """

    T: Positive = 1
    K: Positive | None = None
    hb: float = 0
    hc: float = 0
    median: Probability = 0.5

    properties = Properties(graded=True, recall_free=True)

    def declares(self, default: Properties) -> Properties:
        # with grades, the best document of a topic can have a lower grade than the best of all topics
        return super().declares(default.replace(normalised=self.gain is None and self.T <= 1))

    def continues(self, seen: Seen) -> Array:
        most_cost = self.K if self.K is not None else self.k or 10
        return bejeweled_player(seen, self.T, most_cost, self.hb, self.hc, self.median)


RULES = ("C1-C2", "C1", "C2")


@measure
class IFT(CWLMeasure):
    r"""Information foraging: a reader goes on until about `T` is gained and while gain per cost stays at about `A`.

    .. math:: C_1(i) = 1 - \frac{1}{1 + b_1 e^{(T - G_i) R_1}}, \qquad
        C_2(i) = \frac{1}{1 + b_2 e^{(A - G_i / K_i) R_2}}, \qquad C(i) = C_1(i)\,C_2(i)

    G_i and K_i are the gain and the cost down to rank i. `rule="C1"` uses only the goal, `rule="C2"` only the rate.
    `R1` and `R2` say how strictly the reader keeps to goal and rate (0: not at all, which is RBP), `b1` and `b2` where
    the reader starts.
    `gain`, `max_grade`, `cost`, `cost_below`, `depth` and `report` are as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Thomas & Craswell, SIGIR 2018, doi:10.1145/3209978.3210027

    >>> IFT(rule="C1", b1=1, R1=0).of([1, 0, 1])
    0.625
    """

    T: NotNegative = 2
    b1: Positive = 0.9
    R1: NotNegative = 1
    A: NotNegative = 0.2
    b2: Positive = 0.9
    R2: NotNegative = 1
    rule: str = "C1-C2"

    properties = Properties(graded=True, recall_free=True)

    def check(self) -> None:
        check.one_of(self.name, RULES, rule=self.rule)

    def continues(self, seen: Seen) -> Array:
        if self.rule == "C1":
            return information_goal(seen, self.T, self.b1, self.R1)
        rate = information_rate(seen, self.A, self.b2, self.R2)
        return rate if self.rule == "C2" else information_goal(seen, self.T, self.b1, self.R1) * rate


class _Nearly(CWLMeasure):
    """The base class of the nearly-ERR measures: a document of the largest gain ends the reading."""

    def declares(self, default: Properties) -> Properties:
        return super().declares(default.replace(normalised=self.gain is None))


@measure
class NERR8(_Nearly):
    r"""Nearly expected reciprocal rank, equation 8: a document of gain g ends the reading with probability g.

    .. math:: C(i) = 1 - g(i)

    Expected reciprocal rank is not a C/W/L measure; this one comes near. Use it with a cutoff. `gain`, `max_grade`,
    `cost`, `cost_below`, `depth` and `report` are as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> (NERR8 @ 3).of([0, 1, 1])
    0.5
    """

    properties = Properties(graded=True, recall_free=True)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(1.0 - seen.gain)


@measure
class NERR9(_Nearly):
    r"""Nearly expected reciprocal rank, equation 9: like equation 8, for a reader who is less patient at the top.

    .. math:: C(i) = \frac{i}{i + 1}\,(1 - g(i))

    Use it with a cutoff. `gain`, `max_grade`, `cost`, `cost_below`, `depth` and `report` are as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> (NERR9 @ 3).of([0, 1, 1])
    0.3333333333333333
    """

    properties = Properties(graded=True, recall_free=True)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(seen.rank / (seen.rank + 1) * (1.0 - seen.gain))


@measure
class NERR10(_Nearly):
    r"""Nearly expected reciprocal rank, equation 10: like equation 8, with the patience of RBP.

    .. math:: C(i) = p\,(1 - g(i))

    `gain`, `max_grade`, `cost`, `cost_below`, `depth` and `report` are as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> NERR10(p=0.5).of([0, 1, 1])
    0.3333333333333333
    """

    p: Probability = 0.9

    properties = Properties(graded=True, recall_free=True)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(self.p * (1.0 - seen.gain))


@measure
class NERR11(_Nearly):
    r"""Nearly expected reciprocal rank, equation 11: like equation 8, with the patience of INSQ.

    .. math:: C(i) = \left(\frac{i + 2T - 1}{i + 2T}\right)^2 (1 - g(i))

    `gain`, `max_grade`, `cost`, `cost_below`, `depth` and `report` are as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> round(NERR11(T=1).of([0, 1]), 4)
    0.3077
    """

    T: Positive = 1

    properties = Properties(graded=True, recall_free=True)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(insq(seen, self.T) * (1.0 - seen.gain))


@dataclass(frozen=True, eq=False)
class Reader:
    """C, W and L of one list: arrays with an entry per rank, and the five numbers that follow from them."""

    rank: Index
    gain: Array
    cost: Array
    C: Array
    W: Array
    L: Array
    EU: float
    ETU: float
    EC: float
    ETC: float
    ED: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}


def cwl_vectors(measure: Measure, grades: Sequence[float | None] | Assessed, missed: Sequence[float] = ()) -> Reader:
    """C, W and L of one list at every rank, and the five numbers that follow from them.

    The list is given as its grades from the top (None: unjudged) and the grades of judged documents that it missed, or
    as assessed lists with a single list. RBP, P at a cutoff, RR and AP are turned into their C/W/L forms.

    >>> reader = cwl_vectors(CWL(continuation="RBP", p=0.5), [1, 0, 1])
    >>> reader.C[:3].tolist(), reader.W[:3].tolist(), reader.L[:3].tolist()
    ([0.5, 0.5, 0.5], [0.5, 0.25, 0.125], [0.5, 0.25, 0.125])
    >>> reader.EU, reader.ED
    (0.625, 2.0)
    """
    cwl = as_cwl(measure)
    lists = grades if isinstance(grades, Assessed) else Assessed.one(grades, missed)
    for view in cwl.split_views()[0]:  # views by intent do not apply
        if isinstance(view, Ties) and view.reading == "expected":
            raise UsageError(f"{measure}: a mean over many orders has no C, W and L; use [ties=best] or [ties=worst]")
        lists = view.apply(lists)
    if lists.rows != 1:
        raise UsageError(f"cwl_vectors takes one list, not {lists.rows}")
    (_, vectors), *_ = cwl.blocks(lists)
    tables = {"gain": vectors.seen.gain, "cost": vectors.seen.cost, "C": vectors.C, "W": vectors.W, "L": vectors.L}
    by_rank: dict[str, Any] = {
        name: np.array(np.broadcast_to(table, (1, cwl.reading_depth))[0]) for name, table in tables.items()
    }
    numbers: dict[str, Any] = {
        name: float(cwl.defined(lists, vectors.report(name))[0]) for name in ("EU", "ETU", "EC", "ETC", "ED")
    }
    return Reader(rank=np.arange(1, cwl.reading_depth + 1), **by_rank, **numbers)


def as_cwl(measure: Measure) -> CWLMeasure:
    """The C/W/L measure that gives the same numbers.

    >>> from cranfield.measures import RBP
    >>> as_cwl(RBP(p=0.5))
    CWL(p=0.5,gain=None)
    """
    if isinstance(measure, CWLMeasure):
        return measure
    settings = measure.cwl_settings()
    if settings is None:
        raise UsageError(f"{measure} is not a C/W/L measure; RBP, RR, AP, P at a cutoff and the C/W/L family are")
    return CWL(**settings, cutoff=measure.cutoff, views=measure.views)
