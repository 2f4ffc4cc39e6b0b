"""Logs of live traffic: reading, checking, sessions, and a simulated log."""
