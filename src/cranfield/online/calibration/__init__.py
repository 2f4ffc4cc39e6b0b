"""Offline measures with parameters that are estimated from a log of live traffic."""
