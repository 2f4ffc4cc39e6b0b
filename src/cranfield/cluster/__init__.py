"""Evaluation where the data is: runs in tables that DuckDB scans here, or Spark on a cluster."""

from __future__ import annotations

from cranfield.cluster.evaluate_tables import evaluate_tables as evaluate_tables

__all__ = ["evaluate_tables"]
