"""Offline measures with parameters that are estimated from a log of live traffic."""

from __future__ import annotations

from cranfield.online.calibration.calibrate import calibrate as calibrate
from cranfield.online.calibration.calibrated import Calibrated as Calibrated

__all__ = ["Calibrated", "calibrate"]
