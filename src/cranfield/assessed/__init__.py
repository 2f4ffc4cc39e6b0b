"""Runs joined with judgments: every ranked list as the judged documents in it."""

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Gains, Hits, Ideal, Judged, position_in_segment, segment_starts
from cranfield.types import Array, Index

__all__ = ["Array", "Assessed", "Gains", "Hits", "Ideal", "Index", "Judged", "position_in_segment", "segment_starts"]
