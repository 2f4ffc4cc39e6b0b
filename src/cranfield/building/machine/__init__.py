"""Machine judges: compare their judgments with human ones, use both in valid intervals, and ask a language model.

>>> human = {"1": {"a": 1, "b": 0, "c": 0}, "2": {"d": 1, "e": 0}}
>>> machine = {"1": {"a": 1, "b": 1, "c": 0}, "2": {"d": 1, "e": 0}}
>>> audit(human, {"model": machine}).agreement.kappa[0].round(3).tolist()
[0.615]
"""

from cranfield.building.machine.asking import Patience
from cranfield.building.machine.document_texts import read_texts
from cranfield.building.machine.endpoint import Endpoint
from cranfield.building.machine.label_plan import LabelPlan
from cranfield.building.machine.labelling import label
from cranfield.building.machine.machine_audit import audit
from cranfield.building.machine.pool_items import read_items
from cranfield.building.machine.powered_intervals import powered_intervals
from cranfield.building.machine.powered_means import powered_means
from cranfield.building.machine.prompts import SCALE, Prompt
from cranfield.building.machine.topics_needed import topics_needed

__all__ = [
    "SCALE", "Endpoint", "LabelPlan", "Patience", "Prompt", "audit", "label", "powered_intervals", "powered_means",
    "read_items", "read_texts", "topics_needed",
]  # fmt: skip
