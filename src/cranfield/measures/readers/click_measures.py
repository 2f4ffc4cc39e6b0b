"""Measures on click models: expected gain of what is clicked (utility), and 1/rank where readers stop (effort)."""

from __future__ import annotations

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.measures.base import Properties, Terms, measure
from cranfield.measures.declarations import Probability
from cranfield.measures.gain import EXP, Gain, GainLike, gained
from cranfield.measures.readers.click_readers import (
    ClickChain,
    DependentClicks,
    DynamicBayesian,
    EffortMeasure,
    PositionBased,
    Reading,
    SimplifiedBayesian,
    UserBrowsing,
    UtilityMeasure,
    followed,
)

UTILITY = Properties(graded=True, recall_free=True, high=np.inf)


@measure
class uPBM(PositionBased, UtilityMeasure):
    r"""Expected gain of the clicked documents under the position-based click model: examination depends on the rank.

    .. math:: \sum_i P(C_i)\,g_i, \qquad P(C_i) = \gamma_i\,a(g_i)

    `attractive` (a) says how likely an examined document of grade g is clicked: `"exp"` (2^g − 1) / 2^max, `"linear"`
    g / (max + 1), or a table such as {0: 0.1, 1: 0.4, 2: 0.8}; documents that are not judged count as grade 0.
    `max_grade` is the highest possible grade, by default the highest in the judgments. `examined` (γ) lists how likely
    each rank is examined, from the top; documents below the last number are not examined. By default it is 1/rank down
    to rank 10. The defaults are for trying things out: estimate them from a log of clicks.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071; Craswell, Zoeter, Taylor &
    Ramsey, WSDM 2008, doi:10.1145/1341531.1341545

    >>> uPBM(attractive={0: 0, 1: 0.5}, examined=[1, 0.6, 0.4]).of([1, 0, 1])
    0.7
    """

    properties = UTILITY.replace(additive=True)

    def terms(self, lists: Assessed) -> Terms:
        examined = self.examination()
        hits, gains = gained(lists, Gain.of(self.gain), min(self.k or len(examined), len(examined)))
        attractive = self.chance("attractive", lists, hits.grade)
        clicked = examined[hits.rank - 1] * attractive
        return Terms(hits, clicked * gains, 1.0, {"examined": examined[hits.rank - 1], "clicked": clicked})


@measure
class uUBM(UserBrowsing, UtilityMeasure):
    r"""Expected gain of the clicked documents under the user browsing model: examination depends on the last click.

    .. math:: \sum_i P(C_i)\,g_i, \qquad P(C_i) = a_i \sum_{j<i} P(C_j)\,\gamma_{ij} \prod_{j<k<i}(1 - a_k\gamma_{kj}),
        \quad P(C_0) = 1

    `attractive` (a) and `max_grade` are as for uPBM. `examined` lists γ row by row: one number for rank 1; two for rank
    2 (no click above, a click at rank 1); three for rank 3 (no click above, last click at rank 1, at rank 2); and so
    on. Documents below the last of these ranks are not examined. By default γ is 1 / (distance to the last click, or to
    the top of the page) down to rank 10.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071; Dupret & Piwowarski, SIGIR 2008,
    doi:10.1145/1390334.1390392

    >>> model = uUBM(attractive={0: 0, 1: 0.5}, examined=[1, 0.2, 0.8])
    >>> model.of([1, 1])  # 0.5 + 0.5 · (0.5 · 0.2 + 0.5 · 0.8)
    0.75
    """

    properties = UTILITY


@measure
class uDCM(DependentClicks, UtilityMeasure):
    r"""Expected gain of the clicked documents under the dependent click model: readers may go on after a click.

    .. math:: \sum_i P(C_i)\,g_i, \qquad P(C_i) = a_i \prod_{k<i}\bigl(1 - a_k (1 - \lambda_k)\bigr)

    `attractive` (a) and `max_grade` are as for uPBM. `go_on` (λ) lists how likely a reader goes on after a click at
    each rank, from the top; the last number holds for all further ranks. Without a click, readers always go on.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071; Guo, Liu & Wang, WSDM 2009,
    doi:10.1145/1498759.1498818

    >>> model = uDCM(attractive={0: 0, 1: 0.5}, go_on=[0.2])
    >>> model.of([1, 0, 1])  # 0.5 + 0.5 · (1 - 0.5 · 0.8)
    0.8
    """

    properties = UTILITY


@measure
class uCCM(ClickChain, UtilityMeasure):
    r"""Expected gain of the clicked documents under the click chain model: three probabilities of going on.

    .. math:: \sum_i P(C_i)\,g_i, \qquad P(C_i) = a_i \prod_{k<i}\bigl(\tau_1 (1 - a_k)
        + a_k\,(\tau_2 (1 - a_k) + \tau_3 a_k)\bigr)

    `attractive` (a) and `max_grade` are as for uPBM. Readers go on with probability `t1` after a document that they do
    not click, with `t2` after a click that does not satisfy them, and with `t3` after a click that does; in this model
    a clicked document satisfies with the probability with which it attracts.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071; Guo et al., WWW 2009,
    doi:10.1145/1526709.1526712

    >>> model = uCCM(attractive={0: 0, 1: 0.5}, t1=1, t2=0.8, t3=0)
    >>> model.of([1, 1])  # 0.5 + 0.5 · (0.5 + 0.5 · 0.4)
    0.85
    """

    properties = UTILITY


@measure
class uDBN(DynamicBayesian, UtilityMeasure):
    r"""Expected gain of the clicked documents under the dynamic Bayesian network model: satisfied readers stop.

    .. math:: \sum_i P(C_i)\,g_i, \qquad P(C_i) = a_i \prod_{k<i}\gamma\,(1 - a_k s_k)

    `attractive` (a) and `max_grade` are as for uPBM. `satisfied` (s) says how likely a clicked document of grade g
    satisfies, in the same ways. Readers who are not satisfied go on with probability `go_on` (γ).
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071; Chapelle & Zhang, WWW 2009,
    doi:10.1145/1526709.1526711

    >>> model = uDBN(attractive={0: 0, 1: 0.5}, satisfied={1: 0.4}, go_on=0.5)
    >>> model.of([1, 1])  # 0.5 + 0.5 · 0.5 · (1 - 0.2)
    0.7
    """

    properties = UTILITY


@measure
class uSDBN(SimplifiedBayesian, UtilityMeasure):
    r"""Expected gain of the clicked documents under the simplified dynamic Bayesian network model.

    .. math:: \sum_i P(C_i)\,g_i, \qquad P(C_i) = a_i \prod_{k<i}(1 - a_k s_k)

    This is uDBN with `go_on=1`: only satisfaction makes readers stop. `attractive` (a), `satisfied` (s) and `max_grade`
    are as for uDBN.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071; Chapelle & Zhang, WWW 2009,
    doi:10.1145/1526709.1526711

    >>> model = uSDBN(attractive={0: 0, 1: 0.5}, satisfied={1: 0.4})
    >>> model.of([1, 1])  # 0.5 + 0.5 · (1 - 0.2)
    0.9
    """

    properties = UTILITY


@measure
class EBU(UtilityMeasure):
    r"""Expected browsing utility: gains of clicked documents, for a reader who goes on or not after each document.

    .. math:: \sum_i P(E_i)\,a_i\,g_i, \qquad P(E_i) = \prod_{k<i} \bigl(a_k (1 - s_k) + (1 - a_k)\,\gamma\bigr)

    `attractive` (a), `satisfied` (s, here the probability of stopping after a clicked document) and `max_grade` are as
    for uDBN. `go_on` (γ) is the probability of going on after a document that was not clicked. It differs from uDBN in
    that a reader who clicked and is not satisfied always goes on.
    No relevant documents: 0.
    Reference: Yilmaz, Shokouhi, Craswell & Robertson, CIKM 2010, doi:10.1145/1871437.1871672

    >>> model = EBU(attractive={0: 0, 1: 0.5}, satisfied={1: 0.4}, go_on=0.8)
    >>> model.of([1, 1])  # 0.5 + 0.5 · (0.5 · 0.6 + 0.5 · 0.8)
    0.85
    """

    satisfied: GainLike = EXP
    go_on: Probability = 0.8

    properties = UTILITY

    def read(self, lists: Assessed) -> Reading:
        every, grade, attractive = self.documents(lists)
        satisfied = self.chance("satisfied", lists, grade)
        examined = followed(every, attractive * (1.0 - satisfied) + (1.0 - attractive) * float(self.go_on))
        return Reading(every, examined, examined * attractive, satisfied)


EFFORT = Properties(graded=True, recall_free=True, diminishing=True)


@measure
class rrDCM(DependentClicks, EffortMeasure):
    r"""Expected reciprocal rank of the document after which readers of the dependent click model stop.

    .. math:: \sum_i \frac{1}{i}\,(1 - \lambda_i)\,P(C_i), \qquad P(C_i) = a_i \prod_{k<i}\bigl(1 - a_k (1 - \lambda_k)
        \bigr)

    This is ERR with the stopping probabilities R_i = a_i (1 − λ_i). `attractive` (a), `go_on` (λ) and `max_grade` are
    as for uDCM.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071

    >>> model = rrDCM(attractive={0: 0, 1: 0.5}, go_on=[0.2])
    >>> model.of([1, 1])  # 0.4 + 0.6 · 0.4 / 2
    0.52
    """

    properties = EFFORT


@measure
class rrCCM(ClickChain, EffortMeasure):
    r"""Expected reciprocal rank of the documents that satisfy readers of the click chain model.

    .. math:: \sum_i \frac{1}{i}\,a_i\,P(C_i)

    P(C) is that of uCCM. In this model a clicked document satisfies with the probability a with which it attracts, and
    satisfied readers may go on and be satisfied again. `attractive`, `t1`, `t2`, `t3` and `max_grade` are as for uCCM.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071

    >>> model = rrCCM(attractive={0: 0, 1: 0.5}, t1=1, t2=0.8, t3=0)
    >>> model.of([1, 1])  # 0.25 + 0.25 · 0.7 / 2
    0.3375
    """

    properties = EFFORT.replace(diminishing=False, high=np.inf)


@measure
class rrDBN(DynamicBayesian, EffortMeasure):
    r"""Expected reciprocal rank of the document that satisfies readers of the dynamic Bayesian network model.

    .. math:: \sum_i \frac{1}{i}\,s_i\,P(C_i), \qquad P(C_i) = a_i \prod_{k<i}\gamma\,(1 - a_k s_k)

    `attractive` (a), `satisfied` (s), `go_on` (γ) and `max_grade` are as for uDBN.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071

    >>> model = rrDBN(attractive={0: 0, 1: 0.5}, satisfied={1: 0.4}, go_on=0.5)
    >>> round(model.of([1, 1]), 4)  # 0.2 + 0.4 · 0.2 / 2
    0.24
    """

    properties = EFFORT


@measure
class rrSDBN(SimplifiedBayesian, EffortMeasure):
    r"""Expected reciprocal rank of the document that satisfies readers of the simplified Bayesian network model.

    .. math:: \sum_i \frac{1}{i}\,s_i\,P(C_i), \qquad P(C_i) = a_i \prod_{k<i}(1 - a_k s_k)

    This is ERR with the stopping probabilities R_i = a_i s_i. `attractive` (a), `satisfied` (s) and `max_grade` are as
    for uDBN.
    No relevant documents: 0.
    Reference: Chuklin, Serdyukov & de Rijke, SIGIR 2013, doi:10.1145/2484028.2484071

    >>> model = rrSDBN(attractive={0: 0, 1: 0.5}, satisfied={1: 0.4})
    >>> model.of([1, 1])  # 0.2 + 0.8 · 0.2 / 2
    0.28
    """

    properties = EFFORT
