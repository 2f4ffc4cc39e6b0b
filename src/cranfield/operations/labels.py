"""Labels of several assessors: how well they agree, their merging, and what follows for scores.

The functions have the names of the verbs of `cranfield labels`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.building.agreement.assessor_agreement import agreement as agree
    from cranfield.building.effect.aware import aware_scores as aware
    from cranfield.building.effect.merge_effect import merge_effect as effect
    from cranfield.building.merging.assessor_report import rate_assessors as assessors
    from cranfield.building.merging.merge_labels import merge as merge

__all__ = ["agree", "assessors", "aware", "effect", "merge"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "agree": "building.agreement.assessor_agreement:agreement",
            "aware": "building.effect.aware:aware_scores",
            "effect": "building.effect.merge_effect:merge_effect",
            "merge": "building.merging.merge_labels:merge",
            "assessors": "building.merging.assessor_report:rate_assessors",
        },
    )
