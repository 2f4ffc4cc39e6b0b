"""`python -m cranfield` is the command `cranfield`."""

import sys

from cranfield.cli import script

if not sys.flags.safe_path:
    del sys.path[0]  # the working folder, which holds data: a file yaml.py in it must not replace the package

script()
