"""`cranfield meta ranks`: how far down the first relevant document is, and the first of the best."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Annotated

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Output, Quiet, option
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit_table
from cranfield.cli.scores_input import QrelsWord, RunWords, SampleFlag, collection_from

USAGE = """\
usage: cranfield meta ranks QRELS RUN... [--by-run] [--rel GRADE]

  cranfield meta ranks qrels.txt runs/*.run               topic by topic, the run that makes a reader go furthest
  cranfield meta ranks qrels.txt runs/*.run --by-run      run by run, means and medians
  cranfield meta ranks --sample                           try it: a small collection that comes along

cranfield meta ranks --help tells all options"""

EXAMPLES = """\
  $ cranfield meta ranks --sample
  $ cranfield meta ranks qrels.txt runs/*.run --format latex
  $ cranfield meta ranks qrels.txt runs/*.run --by-run --rel 2
"""


def ranks_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    sample: SampleFlag = False,
    rel: Annotated[float, option("--rel", metavar="GRADE", help="The lowest grade that is relevant.")] = 1.0,
    by_run: Annotated[
        bool, option("--by-run", help="A row per run: means, medians and largest over topics.", group=RESULT)
    ] = False,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    joining: Joining = AS_USUAL,
) -> int:
    """Ranks of the first relevant document (r1) and of the preferred one (rp), the first of the best grade in a list.

    Where RR, O and NWRR stop looking, and where P-measure and P+ do. Topic by topic: the largest rp of any run, and of
    each grade how many documents it found down to there (of how many there are).
    """
    if qrels is None and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    path, files = collection_from(qrels, runs, sample=sample)
    joining.only_one_from_stdin(path, *files)
    from cranfield.assessed.join import join
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.meta.agreement.preferred_rank import preferred_ranks

    with Progress("reading", quiet=quiet) as progress:
        lists = join(joining.judgments(path), files, JoinOptions(**joining.options()), progress)
    found = preferred_ranks(lists, rel=rel)
    emit_table(replace(found.by_run() if by_run else found.table(), digits=digits), format, output)
    return 0
