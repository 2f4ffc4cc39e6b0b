"""Preferences between documents from clicks, the systems that they favour, and preferences that go in circles."""

from __future__ import annotations

from cranfield.online.log_measures.preferences.click_preferences import (
    RULES,
    Cycle,
    Preferences,
    click_preferences,
    shortest_cycle,
)
from cranfield.online.log_measures.preferences.run_agreement import RunAgreement, run_agreement

__all__ = [
    "RULES", "Cycle", "Preferences", "RunAgreement", "click_preferences", "run_agreement", "shortest_cycle",
]  # fmt: skip
