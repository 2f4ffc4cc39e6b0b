"""`cranfield meta scale`: is a measure on an interval scale, and what does that do to significance?"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, chosen, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, rendered
from cranfield.cli.scores_input import Missing, QrelsWord, RunWords, SampleFlag, ScoreFiles, scores_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.scale.scale import Scales
    from cranfield.report.figures import Figure
    from cranfield.table import Table

USAGE = """\
usage: cranfield meta scale -m MEASURE [--length N] [--grades C] [--recall-base R]
       cranfield meta scale QRELS RUN RUN RUN... [-m MEASURE]

  cranfield meta scale -m P@4,AP,RBP(p=0.5) --length 4       all lists of 4 documents, ordered and spaced
  cranfield meta scale -m nDCG --grades 3 --show lists       three grades, every list with its score
  cranfield meta scale qrels.txt runs/*.run -m AP,P@10       pairs found by ranks and by means

cranfield meta scale --help tells all options"""

EXAMPLES = """\
  $ cranfield meta scale -m P@4,AP,RR --length 4
  $ cranfield meta scale -m "RBP(p=0.5)" --length 4 --show lists --plot spacing.html
  $ cranfield meta scale -m nDCG --length 40 --draw 100000
  $ cranfield meta scale --show theory
  $ cranfield meta scale qrels.txt runs/*.run -m AP,P@10
"""
SHOWN = ("scales", "lists", "theory")
MOST_DRAWN = 100_000
"""A picture of more lists shows nothing."""


def scale_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    length: Annotated[int, option("--length", "-n", metavar="N", help="How many documents the lists have.")] = 4,
    grades: Annotated[
        int, option("--grades", "-c", metavar="C", help="How many grades there are, 0 included; 2 is binary.")
    ] = 2,
    recall_base: Annotated[
        str | None,
        option(
            "--recall-base",
            metavar="R",
            help="How many documents of each relevant grade the topic has: one number, or one for each grade, "
            "separated by commas; default: as many as a list can hold.",
        ),
    ] = None,
    draw: Annotated[
        int | None,
        option("--draw", metavar="N", help="Look at so many lists, drawn at random, where all are too many."),
    ] = None,
    seed: Annotated[int, option("--seed", metavar="N", help="Same seed, same lists.")] = 0,
    alpha: Annotated[
        float, option("--alpha", metavar="A", help="With runs or scores: the level at which pairs differ.")
    ] = 0.05,
    show: Annotated[
        str,
        option(
            "--show",
            metavar="WHAT",
            help="scales (a row per measure), lists (every score and its lists) or theory (what was proved).",
            group=RESULT,
        ),
    ] = "scales",
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    plot: Plot = None,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """Order and space all lists of a length by a measure: equally spaced values make an interval scale.

    With runs or scores: how many pairs of systems differ by a test of ranks, which asks for order only, and by a test
    of means, which asks for an interval scale.
    """
    given = qrels is not None or bool(scores) or sample
    if not given and not measures and show != "theory":
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    if show not in SHOWN:
        raise UsageError(f"--show {show}: must be one of {', '.join(SHOWN)}")
    check_plot(plot)
    if given:
        if plot:
            raise UsageError("--plot draws the spacing of lists; leave out runs and scores")
        from cranfield.meta.scale.scale_tests import scale_tests

        joining.only_one_from_stdin(qrels, *(runs or []))
        found = scores_from(
            qrels, runs, measures, scores,
            sample=sample, missing=missing, quiet=quiet, qrels_format=joining.qrels_format, **joining.options(),
        )  # fmt: skip
        tables = [scale_tests(found, alpha=alpha).table()]
    elif show == "theory":
        from cranfield.meta.scale.scale_theory import proved_scales

        tables = [proved_scales()]
    else:
        from cranfield.meta.scale.scale import scales

        base = _recall_base(recall_base)
        made = scales(chosen(measures), length, grades, recall_base=base, sample=draw, seed=seed)
        tables = _tables(made, show, format)
        if plot:
            save_plot(_figure(made), plot)
    told = [rendered(replace(table, digits=digits), format, output) for table in tables]
    emit("\n\n".join(told), output, format=format)
    return 0


def _tables(made: Scales, show: str, format: str) -> list[Table]:
    if show == "scales":
        return [made.table()]
    if format in ("json", "csv", "tsv"):
        return [_every_list(made)]
    return [one.spacing() for one in made]


def _every_list(made: Scales) -> Table:
    from cranfield.table import Column, Table

    columns = made.columns()
    kinds = {"measure": "text", "list": "text", "value": "count"}
    heads = tuple(Column(name, kinds.get(name, "number")) for name in columns)
    return Table(heads, tuple(zip(*(column.tolist() for column in columns.values()), strict=True)))


def _recall_base(text: str | None) -> Any:
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--recall-base {text}: expected a number, or some separated by commas") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _figure(made: Scales) -> Figure:
    from cranfield.report.figures import describe_spacing

    columns = made.columns()
    names = [text.replace(" ", "") for text in made.scales[0].columns()["list"].tolist()]
    if len(names) > MOST_DRAWN:
        raise UsageError(f"--plot: {len(names):,} lists are too many to draw; take shorter ones")
    scores: dict[str, dict[str, float]] = {}
    for measure, text, score in zip(columns["measure"], columns["list"], columns["score"].tolist(), strict=True):
        scores.setdefault(measure, {})[text.replace(" ", "")] = score
    ordered = sorted(names)
    by_measure = {measure: [of.get(name, float("nan")) for name in ordered] for measure, of in scores.items()}
    return describe_spacing(by_measure, ordered)
