"""Fusion: one run from several."""

from cranfield.building.fusion.fuse import fuse
from cranfield.building.fusion.fusion_methods import FUSION_METHODS
from cranfield.building.fusion.normalisation import NORMALISATIONS

__all__ = ["FUSION_METHODS", "NORMALISATIONS", "fuse"]
