"""The verbs of `cranfield pool`, one file each; `build` runs if none is named."""
