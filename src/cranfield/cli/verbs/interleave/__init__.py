"""The verbs of `cranfield interleave`."""
