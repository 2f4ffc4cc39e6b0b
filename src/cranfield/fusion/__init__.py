"""Fusion: one run from several."""

from cranfield.fusion.fuse import fuse
from cranfield.fusion.fusion_methods import FUSION_METHODS, NORMALISATIONS

__all__ = ["FUSION_METHODS", "NORMALISATIONS", "fuse"]
