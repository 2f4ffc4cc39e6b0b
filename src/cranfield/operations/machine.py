"""Judgments by a language model: ask for them, check them against people, and correct scores for their errors.

The functions have the names of the verbs of `cranfield machine`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.building.machine.labelling import label as label
    from cranfield.building.machine.machine_audit import audit as audit
    from cranfield.building.machine.powered_intervals import powered_intervals as ppi

__all__ = ["audit", "label", "ppi"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "audit": "building.machine.machine_audit:audit",
            "label": "building.machine.labelling:label",
            "ppi": "building.machine.powered_intervals:powered_intervals",
        },
    )
