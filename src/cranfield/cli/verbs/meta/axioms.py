"""`cranfield meta axioms`: what does a measure reward?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Annotated

from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, chosen, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, rendered

USAGE = """\
usage: cranfield meta axioms -m MEASURE [--only AXIOM] [--examples]

  cranfield meta axioms -m nDCG@10                          all of them, with what was found
  cranfield meta axioms -m nDCG,AP,Q,P+,ERR,RBP             a table like Fig. 6 of Sakai's Metrics, Statistics, Tests
  cranfield meta axioms -m P+ --only swap --examples        the lists that break it, with their scores

cranfield meta axioms --help tells all options"""

EXAMPLES = """\
  $ cranfield meta axioms -m nDCG@10
  $ cranfield meta axioms -m nDCG,AP,Q,P+,ERR,RBP,TBG,U --plot axioms.pdf
  $ cranfield meta axioms -m P+ --only swap,replacement --examples
  $ cranfield meta axioms -m alpha-nDCG,D#-nDCG,ERR-IA -f latex
"""


def axioms_verb(
    measures: Measures = None,
    only: Annotated[
        str | None,
        option(
            "--only",
            metavar="NAMES",
            help="Some of: swap, replacement, top_heavy, graded, normalised, recall_free, diminishing, additive, "
            "lengths, intent_probabilities; separated by commas.",
        ),
    ] = None,
    examples: Annotated[
        bool,
        option("--examples", help="Show the lists behind each finding; done for a single measure.", group=RESULT),
    ] = False,
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
) -> int:
    """Try on all small lists what a measure rewards, and show the lists that break an axiom.

    Swap and replacement monotonicity, top-heaviness, and whether it is graded, normalised, free of recall, diminishing,
    additive, and counts lengths; for measures of diversity the same by intent.
    """
    if not measures:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check_plot(plot)
    from cranfield.meta.axioms.axioms import axioms

    wanted = chosen(measures)
    found = axioms(wanted, only.replace("-", "_").split(",") if only else None)
    tables = [found.table()]
    if examples or len(wanted) == 1:
        told = found.examples()
        tables = [told] if format in ("json", "csv", "tsv") else [tables[0], told] if len(wanted) > 1 else [told]
    texts = [rendered(replace(table, digits=digits), format, output) for table in tables]
    emit("\n\n".join(texts), output, format=format)
    if plot is not None:
        from cranfield.report.figures import describe_axioms

        save_plot(describe_axioms(found), plot)
    return 0
