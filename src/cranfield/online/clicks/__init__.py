"""Click models: fitted to logs, evaluated on other sessions, simulated, and turned into judgments."""
