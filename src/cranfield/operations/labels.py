"""Labels of several assessors: how well they agree, their merging, and what follows for scores.

The functions have the names of the verbs of `cranfield labels`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.building.agreement.assessor_agreement import agreement as agree
    from cranfield.building.effect.aware import aware_scores as aware
    from cranfield.building.effect.merge_effect import merge_effect as effect
    from cranfield.building.merging.merge_labels import merge as merge
    from cranfield.building.merging.worker_report import rate_workers as workers

__all__ = ["agree", "aware", "effect", "merge", "workers"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "agree": "building.agreement.assessor_agreement:agreement",
            "aware": "building.effect.aware:aware_scores",
            "effect": "building.effect.merge_effect:merge_effect",
            "merge": "building.merging.merge_labels:merge",
            "workers": "building.merging.worker_report:rate_workers",
        },
    )
