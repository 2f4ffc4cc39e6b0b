"""Logs of live traffic: reading, checking, sessions, and a simulated log."""

from __future__ import annotations

from cranfield.online.logs.demo_log import simulate_log as simulate_log
from cranfield.online.logs.demo_log import write_demo as write_demo
from cranfield.online.logs.log import Log as Log
from cranfield.online.logs.read_log import read_log as read_log

__all__ = ["Log", "read_log", "simulate_log", "write_demo"]
