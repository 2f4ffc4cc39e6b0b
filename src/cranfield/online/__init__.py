"""Live traffic: logs, clicks, A/B tests, interleaving."""
