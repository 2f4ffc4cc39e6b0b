"""The verbs of `cranfield interleave`, one file each."""
