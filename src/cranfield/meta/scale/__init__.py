"""Scales of measurement."""
