"""Merge the labels of several assessors, rate the assessors, and plan more labels.

The public functions are `merge`, `rate_assessors` and `plan_labels`:

    merged = merge(labels, method="dawid-skene")       # -> Merged; labels: anything that `Labels.of` takes
    merged.to_qrels(expected=False)                    # -> Qrels with the merged label, or with the expected grade
    merged.posterior, merged.label, merged.expected    # items × scale; labels, None if undecided; expected grades
    MERGING_METHODS                            # -> {name: MergingMethod}, for help texts and loops

The items, assessors and scale of a result are those of `merged.labels`. A method is one function in a module of
`merging/models/`, registered with `@merging_method(...)`.
"""

from cranfield.building.merging.assessor_report import AssessorReport, rate_assessors
from cranfield.building.merging.label_problem import MERGING_METHODS, MergeSettings, MergingMethod
from cranfield.building.merging.merge_labels import merge
from cranfield.building.merging.merged import Merged
from cranfield.building.merging.next_labels import LabelPlan, plan_labels

__all__ = [
    "MERGING_METHODS",
    "AssessorReport",
    "LabelPlan",
    "MergeSettings",
    "Merged",
    "MergingMethod",
    "merge",
    "plan_labels",
    "rate_assessors",
]
