"""`python -m cranfield` is the command `cranfield`."""

from cranfield.cli import script

script()
