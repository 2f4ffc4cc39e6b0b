"""`cranfield anova`: how much of the variance of scores is due to topics, systems and their components."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, MOST_PARTS, RESULT, flag, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.comparison.anova.anova import Anova, LevelMeans
    from cranfield.comparison.anova.mixed import MixedAnova
    from cranfield.comparison.anova.residuals import Residuals
    from cranfield.comparison.methods.tukey import LevelPairs
    from cranfield.record import Columns
    from cranfield.scores.scores import Scores
    from cranfield.table import Table

Analysis = tuple["Anova | MixedAnova", list["LevelPairs"], list["LevelMeans"]]
"""An analysis of variance with its comparisons and means of levels."""
TEXT_COLUMNS = ("measure", "factor", "level", "interval", "first", "second", "differ", "source", "size", "against")


class AnovaVerb(ByClass, options.BinaryGrades, options.Rescaled, Plotting, of="comparison.anova.anova:anova"):
    """Analyse the variance of scores: how much comes from topics, systems or their components, and which differ.

    The table has the columns SS, df, MS, F, p and ω², or with --random df, F, p and variances. csv and tsv hold this
    analysis, or the pairs with --pairs, or the means with --means; json holds everything. --plot draws the means of the
    first factor that is compared, with intervals that overlap if two levels do not differ; with --means A:B, the
    interaction of the two factors; with --residuals, the residuals.
    """

    repeats_warnings = True
    summary = "how much variance is due to topics, systems and components"
    examples = """
cranfield anova qrels.txt runs/*.run -m AP
cranfield anova --sample  # try it on the bundled sample collection
cranfield anova qrels.txt runs/*.run -m AP --factors parts.csv --interactions stemmer:model --tukey stemmer
cranfield anova --scores matrix.csv --pairs --format csv -o pairs.csv
cranfield anova --scores shard1.csv --scores shard2.csv --across shard --interactions topic:system
cranfield anova qrels.txt runs/*.run --factor system=seeds.txt
cranfield anova qrels.txt runs/*.run -m AP --shards 5 --random topic  # conclusions beyond these
cranfield anova qrels.txt runs/*.run -m AP --classes classes.tsv --means class:system
cranfield anova qrels.txt runs/*.run -m AP --transform arcsine --residuals fitted --plot residuals.pdf
"""

    factors: str | None = option(
        "--factors FILE",
        "A table with a row per run and a header (run, stemmer, model, ...). The other columns are the factors.",
        reads=True,
    )
    factor: list[str] | None = option(
        "--factor NAME",
        "A factor: a column of --factors, or NAME=COLUMN, or NAME=FILE with lines of run, level. Runs with the "
        "same levels are replicates. May be repeated.",
    )
    interactions: list[str] | None = option(
        "--interactions, -i A:B",
        "Interactions of factors and topics, such as stemmer:model,topic:stemmer; or all, for all pairs.",
    )
    across: str | None = option(
        "--across NAME",
        "Each file of --scores is a level of this factor, such as shard. Topics are nested in a factor named "
        "collection.",
        group=MORE,
    )
    shards: int | None = option(
        "--shards N",
        "Cut the documents of runs and judgments into N random parts, score each, and add the factor shard. Without "
        "--interactions and factors, the model has the interaction topic:system.",
        group=MORE,
        most=MOST_PARTS,
    )
    seed: int = option("--seed N", "With --shards: the seed of the random numbers.", default=0, group=MORE)
    classes: str | None = option(
        "--classes FILE",
        "Classes of topics, lines of topic, class: topics are nested in the factor class, and its interaction with the "
        "systems is tested; --by prints an analysis of each class.",
        group=MORE,
        reads=True,
    )
    nested: list[str] | None = option(
        "--nested CHILD=PARENT", "A factor whose levels differ in each level of its parent.", group=MORE
    )
    type: str
    one_way: bool
    random: list[str] | None = option(
        "--random FACTOR",
        "A factor whose levels are a sample, such as topic: estimate variances by REML, and test the other factors so "
        "that conclusions hold for other topics. May be repeated.",
        group=MORE,
    )
    repeated: bool = flag(
        "--repeated",
        "Repeated measures: test each effect against its interaction with topics, which need a score for every "
        "combination of levels.",
        group=MORE,
    )
    tukey: list[str] | None = option(
        "--tukey FACTOR",
        "Compare the levels of this factor, or of a combination such as stemmer:model, by Tukey's HSD; default: "
        "all factors except topics. May be repeated.",
    )
    scheffe: bool = flag("--scheffe", "Use Scheffé's test instead of Tukey's.", group=MORE)
    fdr: bool = flag(
        "--fdr",
        "Instead of Tukey's test, use t with the error of the model, and keep the share of false discoveries below "
        "alpha (Benjamini & Hochberg): it finds more pairs.",
        group=MORE,
    )
    alpha: float = options.alpha(help="Significance level of the comparisons.")
    pairs: bool = flag("--pairs", "Print all pairs of levels with their differences.", group=RESULT)
    means: list[str] | None = option(
        "--means FACTOR",
        "Print the mean of each level with its interval; stemmer:model for all combinations. If levels are compared, "
        "two differ if their intervals do not overlap; otherwise these are t intervals. May be repeated.",
        group=RESULT,
    )
    residuals: str | None = option(
        "--residuals KIND",
        "Check the assumptions on the residuals: their normality, and their spread at each level of the first factor "
        "of --tukey. --plot draws them: {names} (against the fitted scores, or against normal quantiles). csv and tsv "
        "hold a row per score.",
        choices=("fitted", "normal"),
        group=MORE,
    )

    def check(self) -> None:
        super().check()
        for name in ("random", "repeated"):
            if self.residuals is not None and getattr(self, name):
                raise UsageError(f"--residuals has no --{name}; leave out one of them")
            if self.one_way and getattr(self, name):
                raise UsageError(f"--one-way leaves topics out, --{name} needs them; leave out one of them")
        if self.format in ("csv", "tsv") and self.residuals and (self.pairs or self.means):
            raise UsageError(f"--format {self.format} holds one table; leave out --residuals, --pairs or --means")
        if self.format in ("csv", "tsv") and self.pairs and self.means:
            raise UsageError(f"--format {self.format} holds one table; leave out --pairs or --means")
        if self.shards is not None:
            for name in ("scores", "across"):
                if getattr(self, name):
                    raise UsageError(f"--shards cuts judgments and runs into parts; leave out --{name}")
            if self.shards < 2:
                raise UsageError(f"--shards {self.shards}, must be 2 or more")
        for name in ("random", "classes", "nested", "interactions"):
            if self.repeated and getattr(self, name):
                raise UsageError(f"--repeated has all factors and their interactions; leave out --{name}")
        if self.scheffe and self.fdr:
            raise UsageError("--scheffe and --fdr are two tests; leave out one of them")
        if self.classes is not None and self.by is not None:
            raise UsageError("--by analyses each class alone, --classes all of them together; leave out one of them")
        if self.random and self.type == "III":
            raise UsageError("--type III does not go with --random; use I or II")
        from cranfield.comparison.test_result import check_alpha

        check_alpha("", self.alpha, "--alpha")

    def run(self) -> None:
        from cranfield.comparison.anova.anova import anova, repeated_measures
        from cranfield.comparison.anova.mixed import mixed

        across = self.across
        if self.shards is not None:
            across, parts = "shard", self._score_shards(self.shards)
        elif across is not None:
            parts = self.read_scores_by_file(f"--across {across}: each file of --scores is a level")
        else:
            parts = {"": self.read_scores()}
        table = self._factors([run for part in parts.values() for run in part.runs])
        first: Scores = next(iter(parts.values()))
        if self.plot and len(first.measures) > 1:
            raise UsageError(f"--plot draws one measure, but there are {len(first.measures)}; choose one with -m")
        interactions = "all" if self.interactions == ["all"] else self.interactions or []
        if self.shards is not None and not interactions and table is None and not self.one_way:
            interactions = ["topic:system"]
        analyses: list[Analysis] = []
        for measure in first.measures:
            settings: dict[str, Any] = {
                "factors": table,
                "interactions": interactions,
                "across": across,
                "nested": nesting(self.nested or []),
                "classes": self.classes,
                **self.settings(),
            }
            data = first if across is None else parts
            result: Anova | MixedAnova
            if self.repeated:
                result = repeated_measures(data, measure, factors=table, across=across)
            elif self.random:
                del settings["one_way"]
                result = mixed(data, measure, random=self.random, **settings)
            else:
                result = anova(data, measure, **settings)
            comparisons = [self._compared(result, factor) for factor in self.tukey or compared_factors(result)]
            means = [self._means(result, comparisons, factor) for factor in self.means or []]
            analyses.append((result, comparisons, means))
        left = [self._residuals(result) for result, _, _ in analyses] if self.residuals else []
        self.emit(self._text(analyses, left))
        if self.plot and left:
            from cranfield.report.figures import describe_residuals

            self.save_figure(describe_residuals(left[0], against=self.residuals or "fitted"))
        elif self.plot:
            from cranfield.report.figures import describe_interaction, describe_levels

            _, comparisons, means = analyses[0]
            shown = next((part for part in means if len(part.factors) == 2), None)
            if shown is not None:
                figure = describe_interaction(shown, *shown.factors, measure=first.measures[0])
            elif comparisons:
                figure = describe_levels(comparisons[0])
            else:
                raise UsageError("--plot draws the levels of a factor, but none is compared; name one with --tukey")
            self.save_figure(figure)

    def _score_shards(self, shards: int) -> dict[str, Scores]:
        from cranfield.evaluation.shard_scores import shard_scores

        qrels, runs = self.read()
        wanted = self.usual_as(chosen(self.measures or [options.USUAL]))
        with self.progress("reading") as progress:
            settings = self.join_options() | self.values("seed", "missing")
            parts = shard_scores(qrels, runs, wanted, shards, progress=progress, **settings)
        return {shard: self.rescaled(scores) for shard, scores in parts.items()}

    def _factors(self, runs: Sequence[str]) -> dict[str, dict[str, str]] | None:
        """{factor: {run: level}}, or None if each run is a system."""
        from cranfield.check import nearest
        from cranfield.collection.run import read_run_table
        from cranfield.comparison.anova.factors import factor_table

        if self.factors is None and not self.factor:
            return None
        runs = list(dict.fromkeys(runs))
        columns = factor_table(self.factors, runs) if self.factors is not None else {}
        if not self.factor:
            return columns
        factors: dict[str, dict[str, str]] = {}
        for word in self.factor:
            name, sign, where = word.partition("=")
            where = where if sign else name
            if where in columns:
                factors[name] = columns[where]
            elif sign and os.path.exists(where):
                # As in `compare --systems`, a run that the file lacks is a system of its own.
                alone = {run: run for run in runs} if name == "system" else {}
                factors |= factor_table({name: alone | read_run_table(where, name)}, runs)
            elif columns:
                raise nearest(where, list(columns), "factor")
            else:
                raise UsageError(f"--factor {word}: no file {where!r}; give NAME=FILE, or a table with --factors")
        return factors

    def _compared(self, result: Anova | MixedAnova, factor: str) -> LevelPairs:
        from cranfield.comparison.methods.tukey import pooled_t, scheffe, tukey

        test = scheffe if self.scheffe else pooled_t if self.fdr else tukey
        return test(result, factor=factor, alpha=self.alpha)

    def _means(self, result: Anova | MixedAnova, comparisons: list[LevelPairs], factor: str) -> LevelMeans:
        """The means of levels; if they are compared, with the intervals of that test."""
        from math import isfinite

        means = result.means(*factor.split(":"), level=1 - self.alpha)
        for comparison in comparisons:
            if comparison.factor == ":".join(means.factors) and isfinite(comparison.half_width):
                return means.with_half_width(comparison.half_width, comparison.method)
        return means

    def _residuals(self, result: Anova | MixedAnova) -> Residuals:
        from cranfield.comparison.anova.anova import Anova
        from cranfield.comparison.anova.residuals import residuals

        assert isinstance(result, Anova)  # `check` refuses the others
        named = [factor for factor in self.tukey or compared_factors(result) if factor in result.factors]
        return residuals(result, named[0] if named else None)

    def _text(self, analyses: Sequence[Analysis], left: Sequence[Residuals]) -> str:
        digits = self.digits
        if self.format == "json":
            data = [facts(*analysis, pairs=self.pairs) for analysis in analyses]
            for each, of_analysis in zip(data, left, strict=False):
                each["residuals"] = of_analysis.to_dict()
            return json.dumps({"analyses": data}, ensure_ascii=False, allow_nan=False, indent=1)
        if self.format in ("csv", "tsv") and left:
            from cranfield.record import table_of

            return self.rendered(table_of(stacked([(each.measure, each.every()) for each in left]), digits=digits))
        if self.format in ("csv", "tsv"):
            return self.rendered(self._one_table(analyses))
        tables: list[Table] = []
        for result, comparisons, means in analyses:
            sentences = [result.sentence(), *(comparison.sentence() for comparison in comparisons)]
            tables.append(replace(result.table(digits), notes=(*sentences, *result.notes)))
            tables += [replace(levels.table(), digits=digits) for levels in means]
            if self.pairs:
                tables += [replace(comparison.table(digits=digits), notes=()) for comparison in comparisons]
        tables += [replace(each.table(), digits=digits) for each in left]
        return self.rendered(*tables)

    def _one_table(self, analyses: Sequence[Analysis]) -> Table:
        """One table of all measures and factors, for programs."""
        from cranfield.table import Column, Table

        parts: list[tuple[dict[str, str], dict[str, Any]]] = []
        for result, comparisons, means in analyses:
            measure = {"measure": result.measure}
            if means:
                for table in means:
                    columns = {
                        name: table.columns()[name].tolist() for name in ("mean", "low", "high", "interval", "n")
                    }
                    columns = {"level": [":".join(level) for level in table.levels], **columns}
                    parts.append((measure | {"factor": ":".join(table.factors)}, columns))
            elif self.pairs:
                for comparison in comparisons:
                    columns = {name: column.tolist() for name, column in comparison.columns().items()}
                    columns["differ"] = ["true" if differ else "false" for differ in columns["differ"]]
                    parts.append((measure | {"factor": comparison.factor}, columns))
            else:
                parts.append((measure, {name: column.tolist() for name, column in result.columns().items()}))
        names = [*parts[0][0], *parts[0][1]]
        rows = [(*same.values(), *row) for same, columns in parts for row in zip(*columns.values(), strict=True)]
        kinds = {**dict.fromkeys(TEXT_COLUMNS, "text"), "n": "count", "df": "count"}
        heads = tuple(Column(name, kinds.get(name, "number")) for name in names)
        return Table(heads, tuple(rows), digits=self.digits)


def stacked(parts: Sequence[tuple[str, Columns]]) -> Columns:
    """The columns of several measures one below the other, with the measure as the first column."""
    import numpy as np

    measure = np.array([name for name, columns in parts for _ in columns["score"]], dtype=object)
    return {"measure": measure} | {name: np.concatenate([part[name] for _, part in parts]) for name in parts[0][1]}


def nesting(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values of `--nested`: CHILD=PARENT or CHILD=PARENT,PARENT.

    >>> nesting(["topic=collection"])
    {'topic': ('collection',)}
    """
    parents = {}
    for word in words:
        child, sign, parent = word.partition("=")
        if not (child and sign and parent):
            raise UsageError(f"--nested {word!r}, must be CHILD=PARENT, such as topic=collection")
        parents[child] = tuple(parent.split(","))
    return parents


def compared_factors(result: Anova | MixedAnova) -> list[str]:
    """The factors whose levels are compared by default."""
    factors = result.model.layout.factors
    return [name for name in result.factors if name != "topic" and not factors[name].parents]


def facts(
    result: Anova | MixedAnova, comparisons: list[LevelPairs], means: list[LevelMeans], *, pairs: bool
) -> dict[str, Any]:
    """Everything about one measure as plain data."""
    from cranfield.record import plain, rows_of

    compared = [
        {
            **comparison._metadata(),
            "differ": int(comparison.differ.sum()),
            "of": len(comparison),
            "half_width": comparison.half_width,
            "levels": rows_of(comparison.intervals().columns()),
            **({"pairs": rows_of(comparison.columns())} if pairs else {}),
        }
        for comparison in comparisons
    ]
    shown = [{"factors": list(part.factors), "level": part.level, "levels": rows_of(part.columns())} for part in means]
    whole = {**result.to_dict(), "sentence": result.sentence(), "comparisons": compared, "means": shown}
    return {name: plain(value) for name, value in whole.items()}
