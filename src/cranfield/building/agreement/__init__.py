"""Agreement between assessors: coefficients with intervals, by pair, topic, assessor, time and group.

>>> labels = [("t1", "anna", 1), ("t1", "ben", 1), ("t2", "anna", 0), ("t2", "ben", 0), ("t3", "anna", 1)]
>>> round(agreement([*labels, ("t3", "ben", 0)], resamples=0)["cohen"], 4)
0.4
"""

from __future__ import annotations

from cranfield.building.agreement.against_the_others import (
    AgreementOverTime,
    AgreementWithOthers,
    agreement_over_time,
    agreement_with_others,
)
from cranfield.building.agreement.assessor_agreement import Agreement, TopicAgreement, agreement, topic_agreement
from cranfield.building.agreement.pairs_and_groups import (
    Confusion,
    GroupAgreement,
    PairAgreement,
    confusion,
    group_agreement,
    pair_agreement,
)

__all__ = [
    "Agreement",
    "AgreementOverTime",
    "AgreementWithOthers",
    "Confusion",
    "GroupAgreement",
    "PairAgreement",
    "TopicAgreement",
    "agreement",
    "agreement_over_time",
    "agreement_with_others",
    "confusion",
    "group_agreement",
    "pair_agreement",
    "topic_agreement",
]
