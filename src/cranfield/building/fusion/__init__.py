"""Fusion: one run from several."""

from cranfield.building.fusion.fuse import fuse
from cranfield.building.fusion.fusion_methods import known_fusion_methods
from cranfield.building.fusion.normalisation import NORMALISATIONS

__all__ = ["NORMALISATIONS", "fuse", "known_fusion_methods"]
