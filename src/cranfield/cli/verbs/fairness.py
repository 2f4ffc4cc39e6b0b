"""`cranfield fairness`: who gets the attention."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Annotated

from cranfield import check
from cranfield.cli.parser import (
    RANKING,
    READING,
    RESULT,
    Argument,
    Digits,
    Format,
    OnDuplicate,
    Order,
    Output,
    Precision,
    QrelsFormat,
    Quiet,
    RunFormat,
    measure_names,
    option,
)
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, only_one_from_stdin, rendered
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.collection.run import Run
    from cranfield.fairness import Attention

EXAMPLES = """\
  $ cranfield fairness qrels.txt bm25.run dense.run --groups regions.tsv
  $ cranfield fairness qrels.txt bm25.run --groups regions.tsv -m AWRF --target north=1,south=1
  $ cranfield fairness qrels.txt bm25.run --groups regions.tsv -m rND -m rKL --protected south --per-topic
  $ cranfield fairness qrels.txt draws/*.run --draws -m EE-L --attention geometric --p 0.8
  $ cranfield fairness qrels.txt bm25.run --groups regions.tsv --format csv -o fairness.csv

Measures:
  AWRF           how near the groups' shares of attention are to a target; 1 is fair
  EE-D EE-R EE-L expected exposure: disparity, relevance, and the loss against a fair policy; EE-L 0 is fair
  equity         attention against relevance, added up over the topics in order; 0 is fair
  exposure       of each group: attention, its share, members, per member (mean), relevant part (merit), per merit
  parity         of each group: how often a member stands above another document; one half is fair
  rND rKL rRD    of each group: its part in the first 10, 20, ... documents against its part in all; 0 is fair
"""


def fairness_verb(
    qrels: Annotated[str, Argument(metavar="QRELS", help="Judgments; - is standard input.")],
    runs: Annotated[list[str], Argument(metavar="RUN", help="Runs: files, patterns such as 'runs/*.run', or -.")],
    groups: Annotated[
        str | None,
        option(
            "--groups",
            metavar="FILE",
            help="Which groups documents belong to: lines of doc, group and, for soft labels, weight. Without it, EE "
            "and equity are of documents.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        option(
            "--measure",
            "-m",
            metavar="NAME",
            help="AWRF, EE-D, EE-R, EE-L, equity, exposure, parity, rND, rKL or rRD; default: all. Repeat it, or "
            "separate by commas.",
        ),
    ] = None,
    draws: Annotated[bool, option("--draws", help="The runs are draws of one policy: all are one row.")] = False,
    individual: Annotated[
        bool, option("--individual", help="EE and equity of documents, though there are groups.")
    ] = False,
    protected: Annotated[
        list[str] | None,
        option("--protected", metavar="GROUP", help="rND, rKL and rRD of this group only. Repeat it for several."),
    ] = None,
    target: Annotated[
        str | None,
        option(
            "--target",
            metavar="GROUP=SHARE,...",
            help="What AWRF compares with; default: the groups of the topic's relevant documents.",
        ),
    ] = None,
    attention: Annotated[
        str | None,
        option(
            "--attention",
            metavar="KIND",
            help="How attention falls with rank: geometric (1, p, p^2, ...), log (as in nDCG) or trec (as in the Fair "
            "Ranking tracks); default: geometric, and trec for AWRF.",
        ),
    ] = None,
    p: Annotated[
        float | None, option("--p", metavar="P", help="Persistence of the geometric attention; default: 0.5.")
    ] = None,
    stop: Annotated[
        float | None,
        option(
            "--stop",
            metavar="P",
            help="The probability that a relevant document ends the reading; default: 0. AWRF knows of none.",
        ),
    ] = None,
    step: Annotated[
        int, option("--step", metavar="N", help="rND, rKL and rRD look at the first N, 2N, 3N, ... documents.")
    ] = 10,
    rel: Annotated[float, option("--rel", metavar="GRADE", help="The lowest grade that counts as relevant.")] = 1.0,
    missing: Annotated[
        str,
        option(
            "--missing",
            metavar="RULE",
            help="EE of a judged topic that a run lacks: zero (it shows nothing) or skip (left out of the mean).",
        ),
    ] = "zero",
    missing_group: Annotated[
        str | None,
        option(
            "--missing-group",
            metavar="GROUP",
            help="The group of documents that the file of groups lacks, such as unknown; default: an error.",
            group=READING,
        ),
    ] = None,
    per_topic: Annotated[
        bool, option("--per-topic", "-q", help="Every topic's numbers besides; in data formats instead.", group=RESULT)
    ] = False,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    order: Order = None,
    precision: Precision = 64,
    depth: Annotated[
        int | None, option("--depth", metavar="N", help="Look at the first N documents of each list.", group=RANKING)
    ] = None,
    on_duplicate: OnDuplicate = "error",
    run_format: RunFormat = None,
    qrels_format: QrelsFormat = None,
) -> int:
    """Tell how fair runs are: how attention is shared among groups of documents, or among documents.

    A table of runs, and one of the groups in each of them; means over topics, but for equity. In json, csv and tsv
    there is one record per number: run, group (empty where the run is meant), measure, value.
    """
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    if digits is not None:
        check.between("--digits", low=0, high=17, digits=digits)
    check.whole("--depth", depth=depth)
    only_one_from_stdin(qrels, *runs, groups)

    from cranfield.assessed.joined_runs import distinct_names
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import read_runs
    from cranfield.fairness import audit

    judgments = Qrels.read(qrels, format=qrels_format, on_duplicate=on_duplicate)
    read = read_runs(runs, format=run_format, on_duplicate=on_duplicate)
    names = distinct_names([run.name for run in read], [run.path or "" for run in read])
    found = audit(
        judgments,
        {name: rankings(run, order, precision, depth) for name, run in zip(names, read, strict=True)},
        groups,
        measure_names(measures) if measures else None,
        draws=draws,
        individual=individual,
        protected=protected,
        target=shares(target),
        attention=reader(attention, p, stop),
        step=step,
        rel=rel,
        missing=missing,
        missing_group=missing_group,
    )
    if format in ("json", "csv", "tsv"):
        tables = [found.records(per_topic=per_topic, digits=digits)]
    else:
        tables = found.tables(per_topic=True, digits=digits, notes=False) if per_topic else []
        tables += found.tables(digits=digits)
    emit("\n\n".join(rendered(table, format, output) for table in tables), output, format=format)
    return 0


def rankings(run: Run, order: str | None, precision: int, depth: int | None) -> dict[str, list[list[str]]]:
    """{topic: [documents from the top]}."""
    return {
        topic: [[place.doc for place in run.ranking(topic, order or "score", precision)[:depth]]]
        for topic in run.topics
    }


def shares(text: str | None) -> dict[str, float] | None:
    """The value of `--target`.

    >>> shares("north=1, south=0.5")
    {'north': 1.0, 'south': 0.5}
    """
    if text is None:
        return None
    found: dict[str, float] = {}
    for pair in text.split(","):
        group, _, share = pair.rpartition("=")
        if not group.strip() or not re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*", share):
            raise UsageError(
                f"--target {text}: expected groups and shares, such as north=0.5,south=0.5, found {pair!r}"
            )
        if group.strip() in found:
            raise UsageError(f"--target {text}: group {group.strip()!r} is given twice")
        found[group.strip()] = float(share)
    return found


def reader(kind: str | None, p: float | None, stop: float | None) -> Attention | None:
    """The attention asked for; None where nothing is said, and each measure has its own."""
    from cranfield.fairness import Attention

    if kind is None and p is None and stop is None:
        return None
    if p is not None and kind not in (None, "geometric"):
        raise UsageError(f"--p {p:g} is for geometric attention, not for {kind!r}; leave it out")
    given = {"kind": kind, "p": p, "stop": stop}
    return Attention(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
