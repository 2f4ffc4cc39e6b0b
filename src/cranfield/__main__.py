"""`python -m cranfield` is the command `cranfield`."""

import sys

from cranfield.cli import main

sys.exit(main())
