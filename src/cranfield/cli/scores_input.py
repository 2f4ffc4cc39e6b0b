"""Scores to work on: from judgments and runs, or from files that hold scores already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.cli.parser import READING, Argument, chosen, measure_names, option
from cranfield.cli.printing import Progress, only_one_from_stdin
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.scores.scores import Scores

QrelsWord = Annotated[
    str | None, Argument(metavar="QRELS", help="Judgments; - is standard input. Left out with --scores and --sample.")
]
RunWords = Annotated[
    list[str] | None, Argument(metavar="RUN", help="Runs: files, patterns such as 'runs/*.run', or -.")
]
ScoreFiles = Annotated[
    list[str] | None,
    option(
        "--scores",
        "-s",
        metavar="FILE",
        help="Scores instead of runs: what `cranfield eval -q` or Scores.write wrote, trec_eval -q output, or a plain "
        "matrix (a row per topic, a column per run, with or without a topic column). Repeat it for several files.",
        group=READING,
    ),
]
Missing = Annotated[
    str,
    option(
        "--missing",
        metavar="RULE",
        help="A judged topic that a run lacks: zero (it scores as an empty list) or skip (it has no score).",
        group=READING,
    ),
]
SampleFlag = Annotated[bool, option("--sample", help="Use the small collection that comes along.")]

USUAL = "nDCG@10"
"""What is measured when nobody says what."""


def scores_from(
    qrels: str | None,
    runs: Sequence[str] | None,
    measures: Sequence[str] | None,
    scores: Sequence[str] | None,
    *,
    sample: bool = False,
    missing: str = "zero",
    quiet: bool = False,
    qrels_format: str | None = None,
    usual: str = USUAL,
    **join: Any,
) -> Scores:
    """The scores a verb works on. `join` are the options of `evaluate`: order, on_duplicate, format, lengths, ...

    From files of scores without `measures`: all measures that are there. From runs without `measures`: `usual`.
    """
    if scores:
        return _from_files(scores, measures, missing, qrels, sample)
    from cranfield.collection.qrels import Qrels
    from cranfield.evaluation.evaluator import evaluate

    qrels, runs = collection_from(qrels, runs, sample=sample)
    with Progress("reading", quiet=quiet) as progress:
        return evaluate(
            Qrels.read(qrels, format=qrels_format, on_duplicate=join.get("on_duplicate", "error")),
            runs,
            chosen(measures or [usual]),
            missing=missing,
            progress=progress,
            **join,
        )


def collection_from(qrels: str | None, runs: Sequence[str] | None, *, sample: bool) -> tuple[str, list[str]]:
    """The files of judgments and runs that a verb works on: those given, or those that come along."""
    if sample:
        from cranfield.samples import sample as collection

        if qrels is not None:
            raise UsageError(f"--sample brings its own files; leave out {qrels!r}")
        qrels, runs = collection().qrels, collection().runs
    if qrels is None:
        raise UsageError("no judgments and no scores; give QRELS RUN..., or --scores FILE, or --sample")
    if not runs:
        raise UsageError(f"no run to score against {qrels}; give one or more files")
    only_one_from_stdin(qrels, *runs)
    return qrels, list(runs)


def scores_by_file(
    why: str,
    files: Sequence[str],
    measures: Sequence[str] | None,
    qrels: str | None = None,
    *,
    sample: bool = False,
    missing: str = "zero",
) -> dict[str, Scores]:
    """The scores of every file under its name: levels of a factor, or collections. `why` begins the complaint."""
    from cranfield.collection.source import stem

    if len(files) < 2:
        raise UsageError(f"{why}; give --scores two times or more")
    found: dict[str, Scores] = {}
    for path in files:
        name = stem(path) if stem(path) not in found else path
        found[name] = scores_from(qrels, None, measures, [path], sample=sample, missing=missing)
    return found


def _from_files(
    files: Sequence[str], measures: Sequence[str] | None, missing: str, qrels: str | None, sample: bool
) -> Scores:
    from cranfield.scores.scores import Scores

    if qrels is not None or sample:
        also = "--sample" if sample else repr(qrels)
        raise UsageError(f"--scores brings all that is needed; leave out {also}")
    wanted = wanted_names(measures)
    named = wanted[0] if len(wanted) == 1 else "score"
    read = [Scores.read(one, measure=named) for one in files]
    # A score that a file does not hold is no score: only whoever evaluates knows that a run lacked the topic.
    scores = read[0] if len(read) == 1 else Scores.combine(*read, missing="skip" if missing == "zero" else missing)
    return scores.select(measures=wanted) if wanted else scores


def wanted_names(measures: Sequence[str] | None) -> list[str]:
    """Names as they stand in a file of scores: as measures print them where they are measures."""
    out = []
    for name in measure_names(measures) if measures else []:
        try:
            out.append(str(chosen([name])[0]))
        except UsageError:  # a name of somebody else's making, which the file may well hold
            out.append(name)
    return out
