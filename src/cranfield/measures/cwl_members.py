"""The C/W/L measures that go by names of their own: each is a model of when a reader goes on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cranfield import check
from cranfield.measures import continuation as going_on
from cranfield.measures.base import Properties, by_parameters, measure
from cranfield.measures.continuation import Seen
from cranfield.measures.cwl import CWLMeasure, check_wanted
from cranfield.types import Array


@measure
class INST(CWLMeasure):
    r"""Expected utility for a reader who wants `T` of gain, and goes on the more surely the more of it is missing.

    .. math:: C(i) = \left(\frac{i + T + T_i - 1}{i + T + T_i}\right)^2, \qquad T_i = T - \sum_{j \le i} g(j)

    Gains lie between 0 and 1. `gain`, `max_grade`, `cost`, `depth` and `report` as for CWL; `T` must be 0.5 or more.
    No relevant documents: 0.
    Reference: Bailey, Moffat, Scholer & Thomas, SIGIR 2015, doi:10.1145/2766462.2767728; Moffat, Bailey, Scholer &
    Thomas, TOIS 35(3), 2017, doi:10.1145/3052768

    >>> INST(report="ED", T=1).of([1]) < INST(report="ED", T=1).of([0])
    True
    >>> round(INST(T=2).of([1, 0, 1]), 4)
    0.4261
    """

    T: float = 1

    properties: ClassVar[Any] = by_parameters(Properties(graded=True, recall_free=True))

    def check(self) -> None:
        check_wanted(self.name, "INST", self.T)

    def continues(self, seen: Seen) -> Array:
        return going_on.inst(seen, self.T)


@measure
class INSQ(CWLMeasure):
    r"""Expected utility for a reader who wants `T` of gain and grows more patient with depth, whatever comes.

    .. math:: C(i) = \left(\frac{i + 2T - 1}{i + 2T}\right)^2

    `gain`, `max_grade`, `cost`, `depth` and `report` as for CWL.
    No relevant documents: 0.
    Reference: Moffat, Scholer & Thomas, ADCS 2012, doi:10.1145/2407085.2407092

    >>> INSQ(T=0.5, depth=2).of([1, 0])
    0.8
    """

    T: float = 1

    properties: ClassVar[Any] = by_parameters(Properties(graded=True, recall_free=True, additive=True))

    def check(self) -> None:
        check.positive(self.name, T=self.T)

    def continues(self, seen: Seen) -> Array:
        return going_on.insq(seen, self.T)


@measure
class SDCG(CWLMeasure):
    r"""Scaled DCG: discounted gain as a share of what a list of nothing but the best grade would have.

    .. math:: \frac{\sum_{i \le l} g(i) / \log_2(i + 1)}{\sum_{i \le l} 1 / \log_2(i + 1)}

    The C/W/L form of DCG: C(i) = log2(i + 1) / log2(i + 2), to the cutoff. It is nDCG where l documents of the best
    grade exist. `gain`, `max_grade`, `cost`, `depth` (in place of a cutoff) and `report` as for CWL.
    No relevant documents: 0.
    Reference: Järvelin & Kekäläinen, TOIS 20(4), 2002, doi:10.1145/582415.582418; Moffat, Bailey, Scholer & Thomas,
    TOIS 35(3), 2017, doi:10.1145/3052768

    >>> round((SDCG @ 3).of([0, 0, 1]), 4)
    0.2346
    """

    properties: ClassVar[Any] = by_parameters(Properties(graded=True, recall_free=True, additive=True))

    def continues(self, seen: Seen) -> Array:
        return going_on.logarithmic(seen)


@measure
class BPM(CWLMeasure):
    r"""Bejeweled player model: gain per document for a reader who stops once `T` is gained or `K` is spent.

    .. math:: C(i) = 1 \text{ if } \sum_{j \le i} g(j) < T_i \text{ and } \sum_{j \le i} c(j) < K_i, \text{ else } 0

    Static by default: T_i = T, K_i = K. With `hb` or `hc` it is dynamic, the limits move with what was seen above:
    T_i = T + hb · Σ_{j<i} (g(j) − median), K_i = K + hc · Σ_{j<i} (g(j) − median); `median` is a middling gain. K is by
    default the cutoff, or 10. `gain`, `max_grade`, `cost`, `depth` and `report` as for CWL. Beware that cwl-eval 1.0.12
    leaves K where it was, whatever its hc.
    No relevant documents: 0.
    Reference: Zhang, Liu, Li, Zhang, Xu & Ma, SIGIR 2017, doi:10.1145/3077136.3080841

    >>> BPM(T=2, K=10).of([1, 0, 1, 1])
    0.6666666666666666
    """

    T: float = 1
    K: float | None = None
    hb: float = 0
    hc: float = 0
    median: float = 0.5

    properties: ClassVar[Any] = by_parameters(Properties(graded=True, recall_free=True))

    def check(self) -> None:
        check.positive(self.name, T=self.T)
        check.between(self.name, low=0, high=1, median=self.median)
        if self.K is not None:
            check.finite(self.name, K=self.K)
            check.positive(self.name, K=self.K)

    def declares(self, default: Properties) -> Properties:
        # with grades, the best document of a topic need not be as good as the best of all
        return super().declares(default.replace(normalised=self.gain is None and self.T <= 1))

    def continues(self, seen: Seen) -> Array:
        willing = self.K if self.K is not None else self.k or 10
        return going_on.bejeweled(seen, self.T, willing, self.hb, self.hc, self.median)


RULES = ("C1-C2", "C1", "C2")


@measure
class IFT(CWLMeasure):
    r"""Information foraging: a reader goes on until about `T` is gained, while gain per cost stays about `A` or above.

    .. math:: C_1(i) = 1 - \frac{1}{1 + b_1 e^{(T - G_i) R_1}}, \qquad
        C_2(i) = \frac{1}{1 + b_2 e^{(A - G_i / K_i) R_2}}, \qquad C(i) = C_1(i)\,C_2(i)

    G_i and K_i are gain and cost down to rank i. `rule="C1"` looks at the goal only, `rule="C2"` at the rate only.
    `R1` and `R2` say how strictly the two are kept (0: not at all, which is RBP), `b1` and `b2` where a reader starts.
    `gain`, `max_grade`, `cost`, `depth` and `report` as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Thomas & Craswell, SIGIR 2018, doi:10.1145/3209978.3210027

    >>> IFT(rule="C1", b1=1, R1=0).of([1, 0, 1])
    0.625
    """

    T: float = 2
    b1: float = 0.9
    R1: float = 1
    A: float = 0.2
    b2: float = 0.9
    R2: float = 1
    rule: str = "C1-C2"

    properties: ClassVar[Any] = by_parameters(Properties(graded=True, recall_free=True))

    def check(self) -> None:
        check.one_of(self.name, RULES, rule=self.rule)
        check.positive(self.name, b1=self.b1, b2=self.b2)
        check.not_negative(self.name, T=self.T, A=self.A, R1=self.R1, R2=self.R2)

    def continues(self, seen: Seen) -> Array:
        if self.rule == "C1":
            return going_on.toward_a_goal(seen, self.T, self.b1, self.R1)
        by_rate = going_on.while_it_pays(seen, self.A, self.b2, self.R2)
        return by_rate if self.rule == "C2" else going_on.toward_a_goal(seen, self.T, self.b1, self.R1) * by_rate


NERR = Properties(graded=True, recall_free=True)


class _Nearly(CWLMeasure):
    """What the nearly ERRs share: a document of the largest gain is the last one."""

    def declares(self, default: Properties) -> Properties:
        return super().declares(default.replace(normalised=self.gain is None))


@measure
class NERR8(_Nearly):
    r"""Nearly expected reciprocal rank, equation 8: a document of gain g ends the reading with the chance g.

    .. math:: C(i) = 1 - g(i)

    Expected reciprocal rank itself is no C/W/L measure; this is one that is near. Meant for a cutoff. `gain`,
    `max_grade`, `cost`, `depth` and `report` as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> (NERR8 @ 3).of([0, 1, 1])
    0.5
    """

    properties: ClassVar[Any] = by_parameters(NERR)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(1.0 - seen.gain)


@measure
class NERR9(_Nearly):
    r"""Nearly expected reciprocal rank, equation 9: as equation 8, and ever less patient.

    .. math:: C(i) = \frac{i}{i + 1}\,(1 - g(i))

    Meant for a cutoff. `gain`, `max_grade`, `cost`, `depth` and `report` as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> (NERR9 @ 3).of([0, 1, 1])
    0.3333333333333333
    """

    properties: ClassVar[Any] = by_parameters(NERR)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(seen.rank / (seen.rank + 1) * (1.0 - seen.gain))


@measure
class NERR10(_Nearly):
    r"""Nearly expected reciprocal rank, equation 10: as equation 8, with the patience of RBP.

    .. math:: C(i) = p\,(1 - g(i))

    `gain`, `max_grade`, `cost`, `depth` and `report` as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> NERR10(p=0.5).of([0, 1, 1])
    0.3333333333333333
    """

    p: float = 0.9

    properties: ClassVar[Any] = by_parameters(NERR)

    def check(self) -> None:
        check.between(self.name, low=0, high=1, p=self.p)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(self.p * (1.0 - seen.gain))


@measure
class NERR11(_Nearly):
    r"""Nearly expected reciprocal rank, equation 11: as equation 8, with the patience of INSQ.

    .. math:: C(i) = \left(\frac{i + 2T - 1}{i + 2T}\right)^2 (1 - g(i))

    `gain`, `max_grade`, `cost`, `depth` and `report` as for CWL.
    No relevant documents: 0.
    Reference: Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239

    >>> round(NERR11(T=1).of([0, 1]), 4)
    0.3077
    """

    T: float = 1

    properties: ClassVar[Any] = by_parameters(NERR)

    def check(self) -> None:
        check.positive(self.name, T=self.T)

    def continues(self, seen: Seen) -> Array:
        return np.asarray(going_on.insq(seen, self.T) * (1.0 - seen.gain))
