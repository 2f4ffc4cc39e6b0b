"""The verbs of `cranfield clicks`, one file each."""
