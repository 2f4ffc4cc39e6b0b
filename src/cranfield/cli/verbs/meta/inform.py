"""`cranfield meta inform`: how much does a score tell of the list it was computed from?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, chosen, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit_table
from cranfield.cli.scores_input import QrelsWord, RunWords, SampleFlag, collection_from

if TYPE_CHECKING:
    from cranfield.meta.stability.informativeness import Informativeness
    from cranfield.table import Table

USAGE = """\
usage: cranfield meta inform QRELS RUN... [-m MEASURES] [--depth N] [--rel GRADE]

  cranfield meta inform qrels.txt runs/*.run -m AP,Rprec,P@10     which score tells most of the list?
  cranfield meta inform qrels.txt runs/*.run --lists -f csv        the error of every list
  cranfield meta inform --sample                                   try it: a small collection that comes along

cranfield meta inform --help tells all options"""

EXAMPLES = """\
  $ cranfield meta inform --sample
  $ cranfield meta inform qrels.txt runs/*.run -m AP,Rprec,P@10,P@100 --plot errors.pdf
  $ cranfield meta inform qrels.txt runs/*.run -m AP --lists -f csv -o errors.csv
"""
MEASURES = "AP,Rprec,P@10"


def inform_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    sample: SampleFlag = False,
    depth: Annotated[int, option("--depth", metavar="N", help="How far down lists are read.")] = 1000,
    rel: Annotated[float, option("--rel", metavar="GRADE", help="The lowest grade that is relevant.")] = 1.0,
    lists: Annotated[bool, option("--lists", help="A row per measure, run and topic.", group=RESULT)] = False,
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    joining: Joining = AS_USUAL,
) -> int:
    """Informativeness by maximum entropy (Aslam, Yilmaz & Pavlu, SIGIR 2005).

    Of all lists with a score, the most random one is inferred, and its precision-recall curve compared with the true
    one: the smaller the error, the more the score tells. Relevance is binary.
    """
    if qrels is None and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(plot)
    wanted = chosen(measures or [MEASURES])
    path, files = collection_from(qrels, runs, sample=sample)
    joining.only_one_from_stdin(path, *files)
    from cranfield.assessed.join import join
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.meta.stability.informativeness import informativeness

    with Progress("reading", quiet=quiet) as progress:
        joined = join(joining.judgments(path), files, JoinOptions(**joining.options()), progress)
    with Progress("inferring", quiet=quiet) as progress:
        found = informativeness(joined, wanted, depth=depth, rel=rel, progress=progress)
    emit_table(replace(_lists(found) if lists else found.table(), digits=digits), format, output)
    if plot is not None:
        from cranfield.report.figures import describe_informativeness

        save_plot(describe_informativeness(found), plot)
    return 0


def _lists(found: Informativeness) -> Table:
    from cranfield.meta.meta_record import table_of

    return table_of(found.columns(), found.notes)
