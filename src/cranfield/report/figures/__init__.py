"""Pictures: `describe_*` gives a `Figure` (tidy data, tested), which draws itself with altair and saves itself.

>>> made = describe_boxes({"bm25": [0.1, 0.2, 0.3, 0.4, 0.9], "dense": [0.3, 0.4, 0.4, 0.5, 0.6]}, "AP")
>>> made.title
'AP of 2 systems on 5 topics'

`made.save("boxes.html")` writes a page that needs nothing else; also .svg, .pdf, .png, .json and .csv.
"""

from __future__ import annotations

from cranfield.report.figures.agreement import describe_agreement, describe_informativeness
from cranfield.report.figures.asl import describe_asl
from cranfield.report.figures.axioms import describe_axioms
from cranfield.report.figures.boxes import describe_boxes
from cranfield.report.figures.components import describe_components
from cranfield.report.figures.concordance import describe_concordance
from cranfield.report.figures.curves import describe_curves, describe_precision_recall
from cranfield.report.figures.differences import describe_differences
from cranfield.report.figures.diversity import describe_diversity
from cranfield.report.figures.figure import Axis, Figure, Reference
from cranfield.report.figures.heat import describe_heat
from cranfield.report.figures.interaction import describe_interaction
from cranfield.report.figures.intervals import describe_intervals
from cranfield.report.figures.power import describe_power
from cranfield.report.figures.ranks import describe_rank_changes
from cranfield.report.figures.reproduction import describe_alike, describe_effects
from cranfield.report.figures.robustness import describe_robustness
from cranfield.report.figures.spacing import describe_spacing
from cranfield.report.figures.swap import describe_swap_rates

__all__ = [
    "Axis",
    "Figure",
    "Reference",
    "describe_agreement",
    "describe_alike",
    "describe_asl",
    "describe_axioms",
    "describe_boxes",
    "describe_components",
    "describe_concordance",
    "describe_curves",
    "describe_differences",
    "describe_diversity",
    "describe_effects",
    "describe_heat",
    "describe_informativeness",
    "describe_interaction",
    "describe_intervals",
    "describe_power",
    "describe_precision_recall",
    "describe_rank_changes",
    "describe_robustness",
    "describe_spacing",
    "describe_swap_rates",
]
