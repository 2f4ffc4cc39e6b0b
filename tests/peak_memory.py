"""Tests of the memory that a process uses at its peak."""

from __future__ import annotations

import os
import sys

import pytest

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
needs_peak_memory = pytest.mark.skipif(
    sys.platform != "linux" or SANITIZED, reason="needs /proc/self/status, and no sanitizer that uses memory of its own"
)
