"""The verbs of `cranfield gate`, one file each; `check` runs if none is named."""
