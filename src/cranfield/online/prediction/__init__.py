"""Which offline measure predicts the winner of an online comparison?"""

from __future__ import annotations

from cranfield.online.prediction.online_agreement import OnlineAgreement as OnlineAgreement
from cranfield.online.prediction.online_agreement import OnlineOutcomes as OnlineOutcomes
from cranfield.online.prediction.online_agreement import online_agreement as online_agreement
from cranfield.online.prediction.online_agreement import read_outcomes as read_outcomes
from cranfield.online.prediction.online_agreement import simulate_outcomes as simulate_outcomes

__all__ = ["OnlineAgreement", "OnlineOutcomes", "online_agreement", "read_outcomes", "simulate_outcomes"]
