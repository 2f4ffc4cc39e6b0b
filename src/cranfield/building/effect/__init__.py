"""The effect of merging on the scores and rankings of systems: AWARE, and a comparison of methods and scales."""

from __future__ import annotations

from cranfield.building.assessor_labels import collapse
from cranfield.building.effect.aware import AwareWeights, aware, aware_weights
from cranfield.building.effect.effect_record import MergeEffect
from cranfield.building.effect.merge_effect import merge_effect

__all__ = ["AwareWeights", "MergeEffect", "aware", "aware_weights", "collapse", "merge_effect"]
