"""`cranfield eval`: score runs against judgments."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cranfield import check
from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RANKING, READING, RESULT, Argument, Digits, Measures, Output, Quiet, chosen, option
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit, rendered, tell_notes
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cranfield.measures import Measure
    from cranfield.scores.risk import Risk
    from cranfield.scores.scores import Scores

    Risks = Callable[[Scores], Risk] | None

FORMATS = (*TABLE_FORMATS, "trec")
RISKS = ("URisk", "TRisk", "GeoRisk")
STATISTICS = ("mean", "gmean", "median", *RISKS)

USAGE = """\
usage: cranfield eval QRELS RUN... [-m MEASURE]...

  cranfield eval qrels.txt bm25.run                       the usual measures
  cranfield eval qrels.txt runs/*.run -m nDCG@10 -m AP    your own choice, many runs
  cranfield eval --sample                                 try it: a small collection that comes along

cranfield eval --help tells all options"""

EXAMPLES = """\
  $ cranfield eval --sample
  $ cranfield eval qrels.txt bm25.run
  $ cranfield eval qrels.txt runs/*.run.gz -m nDCG@10,20 -m "RBP(p=0.95)" --ci
  $ cranfield eval qrels.txt bm25.run -m AP -q --format csv -o ap.csv
  $ zcat bm25.run.gz | cranfield eval qrels.txt - -m AP
  $ cranfield eval qrels.txt bm25.run -m uRBP -m "CAM(nDCG@10)" --dimension understandability=clear.qrels
  $ cranfield eval qrels.txt runs/*.run -m AP --statistic URisk --baseline bm25 --alpha 5
  $ cranfield eval qrels.txt bm25.run -m my_measures:HitsOnFirstPage
"""


def prepare(args: list[str]) -> list[str]:
    """The level after `--ci` may be left out.

    >>> prepare(["--ci", "qrels.txt", "--interval", ".9"])
    ['--ci=0.95', 'qrels.txt', '--interval=.9']
    """
    out: list[str] = []
    for word in args:
        if out and out[-1] in ("--ci", "--interval"):
            level = re.fullmatch(r"[\d.]+%?", word)
            out[-1] += f"={word}" if level else "=0.95"
            if level:
                continue
        out.append(word)
    if out and out[-1] in ("--ci", "--interval"):
        out[-1] += "=0.95"
    return out


def eval_verb(
    qrels: Annotated[str | None, Argument(metavar="QRELS", help="Judgments; - is standard input.")] = None,
    runs: Annotated[
        list[str] | None, Argument(metavar="RUN", help="Runs: files, patterns such as 'runs/*.run', or -.")
    ] = None,
    measures: Measures = None,
    sample: Annotated[
        bool,
        option("--sample", help="Score the runs of the small collection that comes along."),
    ] = False,
    missing: Annotated[
        str,
        option(
            "--missing",
            metavar="RULE",
            help="A judged topic that a run lacks: zero (it scores as an empty list) or skip (left out of the mean).",
        ),
    ] = "zero",
    statistic: Annotated[
        str,
        option(
            "--statistic",
            metavar="NAME",
            help="One number per run: mean, gmean (geometric), median, or what it risks: URisk, TRisk, GeoRisk.",
        ),
    ] = "mean",
    baseline: Annotated[
        str | None, option("--baseline", "-b", metavar="RUN", help="The run that URisk and TRisk compare with.")
    ] = None,
    alpha: Annotated[
        float | None, option("--alpha", metavar="A", help="Of risks: losses count 1 + A times (default: 1).")
    ] = None,
    interval: Annotated[
        str | None,
        option(
            "--interval",
            "--ci",
            metavar="LEVEL",
            help="Confidence intervals, at 0.95 unless said: Student's t for means, bootstrap for the median.",
        ),
    ] = None,
    residual: Annotated[
        bool,
        option(
            "--residual",
            help="Beside each measure its score with unjudged documents all of grade 0 ([worst]) and all of the "
            "highest ([best]): bounds for measures free of recall, two scenarios for others.",
        ),
    ] = False,
    per_topic: Annotated[
        bool,
        option(
            "--per-topic",
            "-q",
            help="Every topic's scores besides. In json, csv and tsv: a record per score, for Scores.read.",
            group=RESULT,
        ),
    ] = False,
    format: Annotated[
        str,
        option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="table, json, csv, tsv, latex, markdown, html, or trec (lines as trec_eval's).",
            group=RESULT,
        ),
    ] = "table",
    sort: Annotated[
        str | None,
        option("--sort", metavar="MEASURE", help="Best run first, by this measure.", group=RESULT),
    ] = None,
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    depth: Annotated[
        int | None, option("--depth", metavar="N", help="Look at the first N documents of each list.", group=RANKING)
    ] = None,
    joining: Joining = AS_USUAL,
    threads: Annotated[
        int | None,
        option(
            "--threads", metavar="N", help="Threads that read; the answer is the same at any number.", group=READING
        ),
    ] = None,
) -> int:
    """Score runs against judgments: one row per run, one column per measure.

    The rule that ordered the documents, and whatever else a reader of the numbers must know, is told below the table;
    in formats that have no room for it, on standard error.
    """
    if qrels is None and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    level = _level(interval)
    checked(format, FORMATS)
    check.one_of("--statistic", STATISTICS, statistic=statistic)
    if digits is not None:
        check.between("--digits", low=0, high=17, digits=digits)
    if format == "trec" and (level or statistic != "mean"):
        raise UsageError("--format trec prints means only; leave out --interval and --statistic, or use another format")
    measured = chosen(measures)
    _check_risk(statistic, baseline, alpha, level, [*measured, *(chosen([sort]) if sort else [])])
    if residual:
        from cranfield.evaluation.residuals import ends

        measured = list(dict.fromkeys(one for measure in measured for one in (measure, *ends(measure))))
    first = chosen([sort]) if sort else []
    if len(first) > 1:
        raise UsageError(f"--sort names {len(first)} measures, must be one")

    from cranfield.evaluation.evaluator import evaluate

    judgments, lists = _files(qrels, runs or [], sample)
    joining.only_one_from_stdin(judgments, *lists)
    with Progress("reading", quiet=quiet) as progress:
        scores = evaluate(
            joining.judgments(judgments),
            lists,
            list(dict.fromkeys([*measured, *first])),
            missing=missing,
            depth=depth,
            threads=threads,
            progress=progress,
            **joining.options(),
        )
    risks = (lambda of: of.risk(statistic, baseline, 1.0 if alpha is None else alpha)) if statistic in RISKS else None
    if first:
        scores = best_first(scores, first[0], statistic, risks)
    scores = scores.select(measures=measured)
    emit(_text(scores, measured, per_topic, format, statistic, level, digits, output, risks), output, format=format)
    return 0


def _check_risk(
    statistic: str, baseline: str | None, alpha: float | None, level: float | None, measures: list[Measure]
) -> None:
    if statistic not in RISKS and not (baseline is None and alpha is None):
        raise UsageError(f"--baseline and --alpha are of risks; add --statistic {', '.join(RISKS[:2])} or {RISKS[2]}")
    if statistic not in RISKS:
        return
    if statistic == "GeoRisk" and baseline is not None:
        raise UsageError("GeoRisk compares with all runs together; leave out --baseline")
    if statistic != "GeoRisk" and baseline is None:
        raise UsageError(f"{statistic} compares with a run; name it: --baseline RUN")
    if level:
        raise UsageError(f"{statistic} has no interval; leave out --interval")
    for measure in measures:
        if measure.properties.better != "higher":
            raise UsageError(f"{statistic}: a higher score must be better to be no loss, but that of {measure} is not")


def _level(text: str | None) -> float | None:
    """The level of the intervals as a number: 0.95, or 95%."""
    if text is None:
        return None
    try:
        level = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise UsageError(f"--interval: level == {text!r}, must be above 0 and below 1, such as 0.95")
    return level


def _files(qrels: str | None, runs: list[str], sample: bool) -> tuple[str, list[str]]:
    if sample:
        from cranfield.samples import sample as collection

        if qrels is not None:
            raise UsageError(f"--sample brings its own files; leave out {qrels!r}")
        return collection().qrels, list(collection().runs)
    assert qrels is not None
    if not runs:
        raise UsageError(f"no run to score against {qrels}; give one or more files: cranfield eval {qrels} RUN...")
    return qrels, runs


def best_first(scores: Scores, measure: Measure, statistic: str, risks: Risks = None) -> Scores:
    """The runs sorted by a measure, undefined ones last."""
    one_measure = scores[str(measure)]
    if risks:
        values = dict(zip(scores.runs, risks(one_measure).values[0].tolist(), strict=True))
    else:
        values = {one.run: one.value for one in one_measure.summary(statistic, interval=None)}
    sign = 1 if measure.properties.better == "lower" else -1
    worth = {run: (value != value, sign * value) for run, value in values.items()}
    return scores.select(runs=sorted(scores.runs, key=worth.__getitem__))


def _text(
    scores: Scores,
    measures: list[Measure],
    per_topic: bool,
    format: str,
    statistic: str,
    level: float | None,
    digits: int | None,
    output: str | None,
    risks: Risks,
) -> str:
    from cranfield.report.tables import risk_table, summary_table, topic_table, trec_lines
    from cranfield.table import DIGITS

    if format == "trec":
        tell_notes(scores.notes, format)
        return "\n".join(trec_lines(scores, per_topic=per_topic, digits=DIGITS if digits is None else digits))
    if per_topic and format in ("json", "csv", "tsv"):
        kept = scores if digits is None else rounded(scores, digits)
        return kept.to_json() if format == "json" else kept.to_csv(sep="\t" if format == "tsv" else ",")
    better = {str(measure): measure.properties.better for measure in measures}
    # The notes below the last table are those of all.
    tables = [replace(topic_table(scores, digits=digits), notes=())] if per_topic else []
    if risks:
        tables.append(risk_table(scores, risks(scores), digits=digits))
    else:
        tables.append(summary_table(scores, statistic=statistic, interval=level, better=better, digits=digits))
    return "\n\n".join(rendered(table, format, output) for table in tables)


def rounded(scores: Scores, digits: int) -> Scores:
    """The same scores with fewer digits."""
    from cranfield.scores.scores import Scores

    return Scores(
        scores.measures,
        scores.runs,
        scores.topics,
        scores.values.round(digits),
        scores.missing,
        scores.missing_rule,
        scores.notes,
    )
