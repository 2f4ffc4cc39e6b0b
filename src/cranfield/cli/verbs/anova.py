"""`cranfield anova`: how much of the scores is due to topics, to systems, to what systems are made of."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import RESULT, Digits, Format, Measures, Output, Quiet, option
from cranfield.cli.plotting import Plot, check_plot, save_plot
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, rendered
from cranfield.cli.scores_input import Missing, QrelsWord, RunWords, SampleFlag, ScoreFiles, scores_by_file, scores_from
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.comparison.anova.anova import Anova, LevelMeans
    from cranfield.comparison.methods.tukey import LevelPairs
    from cranfield.table import Table

USAGE = """\
usage: cranfield anova QRELS RUN RUN... [-m MEASURE] [--factors FILE] [--interactions A:B]

  cranfield anova qrels.txt runs/*.run -m AP                         topics and systems
  cranfield anova qrels.txt runs/*.run -m AP --factors parts.csv     topics, and what the systems are made of
  cranfield anova --scores matrix.csv                                a row per topic, a column per run
  cranfield anova --sample                                           try it: a small collection that comes along

cranfield anova --help tells all options"""

EXAMPLES = """\
  $ cranfield anova --sample
  $ cranfield anova qrels.txt runs/*.run -m AP
  $ cranfield anova qrels.txt runs/*.run -m AP --factors parts.csv --interactions stemmer:model --tukey stemmer
  $ cranfield anova --scores matrix.csv --pairs --format csv -o pairs.csv
  $ cranfield anova --scores shard1.csv --scores shard2.csv --across shard --interactions topic:system
  $ cranfield anova qrels.txt runs/*.run --factor system=seeds.txt
"""


def anova_verb(
    qrels: QrelsWord = None,
    runs: RunWords = None,
    measures: Measures = None,
    scores: ScoreFiles = None,
    sample: SampleFlag = False,
    factors: Annotated[
        str | None,
        option(
            "--factors",
            metavar="FILE",
            help="A table with a row per run: a first line of names (run, stemmer, model, ...), then a line for every "
            "run. Its columns are the factors instead of the system.",
        ),
    ] = None,
    factor: Annotated[
        list[str] | None,
        option(
            "--factor",
            metavar="NAME",
            help="A factor: a column of --factors by its name, or NAME=COLUMN under another, or NAME=FILE with lines "
            "of run and level. Runs alike in all factors are replicates, nested in these. Repeat it.",
        ),
    ] = None,
    interactions: Annotated[
        list[str] | None,
        option(
            "--interactions",
            "-i",
            metavar="A:B",
            help="Which factors (topic is one) interact: stemmer:model,topic:stemmer; or all, for every two.",
        ),
    ] = None,
    across: Annotated[
        str | None,
        option(
            "--across",
            metavar="NAME",
            help="Every file of --scores is a level of this factor, such as shard. Topics are nested in a factor that "
            "is called collection.",
        ),
    ] = None,
    nested: Annotated[
        list[str] | None,
        option("--nested", metavar="CHILD=PARENT", help="A factor whose levels are others in every level of another."),
    ] = None,
    type: Annotated[
        str,
        option(
            "--type",
            metavar="TYPE",
            help="Sums of squares where scores are not balanced: I (in sequence), II (after all terms that do not "
            "contain it) or III (after all others).",
        ),
    ] = "II",
    nan: Annotated[
        str,
        option(
            "--nan",
            metavar="RULE",
            help="Where a run has no value on a topic: pairwise (that score is left out) or listwise (the topic is).",
        ),
    ] = "pairwise",
    tukey: Annotated[
        list[str] | None,
        option(
            "--tukey",
            metavar="FACTOR",
            help="Tukey's HSD on this factor, or on a combination such as stemmer:model; default: every factor but "
            "topics. Repeat it.",
        ),
    ] = None,
    scheffe: Annotated[bool, option("--scheffe", help="Scheffé's test instead of Tukey's.")] = False,
    alpha: Annotated[float, option("--alpha", metavar="A", help="Significance level of the comparisons.")] = 0.05,
    pairs: Annotated[bool, option("--pairs", help="Show the pairs: which differ, by how much.", group=RESULT)] = False,
    means: Annotated[
        list[str] | None,
        option(
            "--means",
            metavar="FACTOR",
            help="The mean of every level with its interval, for plots; stemmer:model for every combination. "
            "Repeat it.",
            group=RESULT,
        ),
    ] = None,
    plot: Plot = None,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    missing: Missing = "zero",
    joining: Joining = AS_USUAL,
) -> int:
    """Analyse the variance of scores: a table with SS, df, MS, F, p and ω², and which levels of factors differ.

    Data formats (csv, tsv) hold the table, or the pairs with --pairs, or the means with --means; json holds everything.
    --plot draws how two factors work together, those of --means A:B.
    """
    if qrels is None and not scores and not sample:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    if format in ("csv", "tsv") and pairs and means:
        raise UsageError(f"--format {format} holds one table; leave out --pairs or --means")
    check_plot(plot)
    if plot is not None and not any(one.count(":") == 1 for one in means or []):
        raise UsageError("--plot draws how two factors work together; say which: --means A:B")
    from cranfield.comparison.anova.anova import anova
    from cranfield.comparison.test_result import check_alpha

    check_alpha("--alpha", alpha)
    joining.only_one_from_stdin(qrels, *(runs or []), *(scores or []), factors)
    if across is not None:
        parts = scores_by_file(
            f"--across {across}: every file of --scores is a level",
            scores or [],
            measures,
            qrels,
            sample=sample,
            missing=missing,
        )
    else:
        parts = {
            "": scores_from(
                qrels,
                runs,
                measures,
                scores,
                sample=sample,
                missing=missing,
                quiet=quiet,
                qrels_format=joining.qrels_format,
                **joining.options(),
            )
        }
    table = _factors(factors, factor or [], [run for part in parts.values() for run in part.runs])
    first = next(iter(parts.values()))
    if plot is not None and len(first.measures) > 1:
        raise UsageError(f"--plot draws one measure, there are {len(first.measures)}; say which with -m")
    interacting: str | list[str] = "all" if interactions == ["all"] else interactions or []
    told = []
    for measure in first.measures:
        found = anova(
            first if across is None else parts,
            measure,
            factors=table,
            interactions=interacting,
            across=across,
            nested=_nested(nested or []),
            type=type,
            nan=nan,
        )
        compared = [_compared(found, one, alpha, scheffe) for one in tukey or _usual(found)]
        told.append((found, compared, [found.means(*one.split(":"), level=1 - alpha) for one in means or []]))
    emit(_text(told, format, pairs, digits, output), output, format=format)
    if plot is not None:
        from cranfield.report.figures import describe_interaction

        shown = next(one for one in told[0][2] if len(one.factors) == 2)
        save_plot(describe_interaction(shown, *shown.factors, measure=first.measures[0]), plot)
    return 0


def _factors(path: str | None, chosen: Sequence[str], runs: Sequence[str]) -> dict[str, dict[str, str]] | None:
    """{factor: {run: level}}, or None where every run is a system."""
    from cranfield.check import nearest
    from cranfield.collection.run_table import read_run_table
    from cranfield.comparison.anova.factors import factor_table

    if path is None and not chosen:
        return None
    each = list(dict.fromkeys(runs))
    columns = factor_table(path, each) if path is not None else {}
    if not chosen:
        return columns
    found: dict[str, dict[str, str]] = {}
    for word in chosen:
        name, given, where = word.partition("=")
        where = where if given else name
        if where in columns:
            found[name] = columns[where]
        elif given and os.path.exists(where):
            levels = read_run_table(where, name)
            # As for `compare --systems`: a run that is not listed is a system of its own.
            alone = {run: run for run in each} if name == "system" else {}
            found |= factor_table({name: alone | levels}, each)
        elif columns:
            raise nearest(where, list(columns), "factor")
        else:
            raise UsageError(f"--factor {word}: no file {where!r}; give NAME=FILE, or a table of factors by --factors")
    return found


def _nested(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """From words CHILD=PARENT or CHILD=PARENT,PARENT.

    >>> _nested(["topic=collection"])
    {'topic': ('collection',)}
    """
    pairs = [word.partition("=") for word in words]
    for word, (child, given, parent) in zip(words, pairs, strict=True):
        if not (child and given and parent):
            raise UsageError(f"--nested {word!r}, must be CHILD=PARENT, such as topic=collection")
    return {child: tuple(parent.split(",")) for child, _, parent in pairs}


def _usual(found: Anova) -> list[str]:
    """The factors whose levels people compare."""
    return [name for name, one in found.model.layout.factors.items() if name != "topic" and not one.parents]


def _compared(found: Anova, factor: str, alpha: float, scheffe: bool) -> LevelPairs:
    from cranfield.comparison.methods.tukey import scheffe as by_scheffe
    from cranfield.comparison.methods.tukey import tukey as by_tukey

    return (by_scheffe if scheffe else by_tukey)(found, factor=factor, alpha=alpha)


Told = tuple["Anova", list["LevelPairs"], list["LevelMeans"]]


def _text(told: Sequence[Told], format: str, pairs: bool, digits: int | None, output: str | None) -> str:
    if format == "json":
        whole = {"analyses": [_facts(*one, pairs) for one in told]}
        return json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1)
    if format in ("csv", "tsv"):
        return rendered(_together(told, pairs, digits), format, output)
    tables: list[Table] = []
    for found, compared, means in told:
        said = [found.sentence(), *(one.sentence() for one in compared)]
        tables.append(replace(found.table(digits), notes=(*said, *found.notes)))
        tables += [replace(one.table(), digits=digits) for one in means]
        if pairs:
            tables += [replace(one.table(digits=digits), notes=()) for one in compared]
    return "\n\n".join(rendered(table, format, output) for table in tables)


def _facts(found: Anova, compared: list[LevelPairs], means: list[LevelMeans], pairs: bool) -> dict[str, Any]:
    """Everything about one measure, as JSON can hold it."""
    from cranfield.record import plain

    def rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
        entries = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, entry, strict=True)) for entry in entries]

    comparisons = [
        {
            **one._metadata(),
            "differ": int(one.differ.sum()),
            "of": len(one),
            "half_width": one.half_width,
            "levels": rows(one.intervals().columns()),
            **({"pairs": rows(one.columns())} if pairs else {}),
        }
        for one in compared
    ]
    shown = [{"factors": list(one.factors), "level": one.level, "levels": rows(one.columns())} for one in means]
    whole = {**found.to_dict(), "sentence": found.sentence(), "comparisons": comparisons, "means": shown}
    return {name: plain(value) for name, value in whole.items()}


def _together(told: Sequence[Told], pairs: bool, digits: int | None) -> Table:
    """One table of all measures and factors, for programs."""
    from cranfield.table import Column, Table

    parts: list[tuple[dict[str, str], dict[str, Any]]] = []
    for found, compared, means in told:
        if means:
            for one in means:
                levels = [":".join(level) for level in one.levels]
                facts = {name: one.columns()[name].tolist() for name in ("mean", "low", "high", "n")}
                parts.append(({"measure": found.measure, "factor": ":".join(one.factors)}, {"level": levels, **facts}))
        elif pairs:
            for each in compared:
                facts = {name: column.tolist() for name, column in each.columns().items()}
                facts["differ"] = ["true" if one else "false" for one in facts["differ"]]
                parts.append(({"measure": found.measure, "factor": each.factor}, facts))
        else:
            parts.append(({"measure": found.measure}, {k: column.tolist() for k, column in found.columns().items()}))
    names = [*parts[0][0], *parts[0][1]]
    rows = [(*same.values(), *row) for same, facts in parts for row in zip(*facts.values(), strict=True)]
    texts = ("measure", "factor", "level", "first", "second", "differ", "source", "size", "against")
    kinds = {**dict.fromkeys(texts, "text"), "n": "count", "df": "count"}
    return Table(tuple(Column(name, kinds.get(name, "number")) for name in names), tuple(rows), digits=digits)
