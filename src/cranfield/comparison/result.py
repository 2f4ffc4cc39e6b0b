"""The result of comparing systems: pairs, a ranking with groups, and the topics behind a difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.comparison.assumptions import cautions_of
from cranfield.comparison.corrections import family_wise_error, out_of_reach
from cranfield.comparison.effects import MATERIAL, NOTICEABLE, SIZES
from cranfield.comparison.pair_tests import Family
from cranfield.comparison.result_tables import (
    AGAINST_MARK,
    BETTER_MARK,
    COUNTS,
    OF_DIFFERENCES,
    OF_MEANS,
    WORSE_MARK,
    chosen_columns,
    chosen_marks,
    latex,
    notes_of,
    wide_table,
)
from cranfield.comparison.test_result import Assumption, pairs_differ
from cranfield.errors import UsageError
from cranfield.evaluation.topic_sheet import topics_that_decide
from cranfield.notes import caution_note, lead_note, method_note
from cranfield.record import Record, plain, rows_of, table_of
from cranfield.scores.mean_intervals import how_of
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed

FEW_PAIRS = 28
"""Up to this many pairs, those of eight systems, are shown with the ranking."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Record):
    """All comparisons of one call, with a row per pair.

    `rows`, `to_pandas` and the like return the pairs; `ranking` and `pairs` return tables; `topics` shows one pair.
    """

    figure = "describe_intervals"
    facts = (
        "test", "correction", "alpha", "alternative", "baseline", "resamples", "seed", "asl", "comparisons",
        "interval_level", "notes",
    )  # fmt: skip

    families: tuple[Family, ...]
    test: str
    statistic: str
    correction: str
    simultaneous: bool
    alpha: float
    alternative: str
    baseline: str | None
    effect: str
    resamples: int | None
    seed: int | None
    assumptions: tuple[Assumption, ...]
    interval_level: float
    """The level of the interval of each difference. Intervals of effects and of means have level 1 − α."""
    asl: str = "plus-one"
    """How p follows from resamples, see `comparison.resampling.ASL`."""
    rule_of_thumb: bool = False
    """Whether differences are named by Spärck Jones's rule."""

    # -- as data

    def columns(self) -> dict[str, NDArray[Any]]:
        """collection, measure, system, other, means, difference, low, high, statistic, p, p adjusted, effect, ...

        There is a row per pair.
        """
        parts = [self._family_columns(family) for family in self.families]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _family_columns(self, family: Family) -> dict[str, NDArray[Any]]:
        names = np.array(family.matrix.systems, dtype=object)
        n = len(family.first)
        statistic = {} if "difference" in self.statistic else {self.statistic: family.tests.statistic}
        return {
            "collection": np.full(n, family.collection, dtype=object),
            "measure": np.full(n, family.matrix.measure, dtype=object),
            "system": names[family.first],
            "other": names[family.second],
            "mean": family.means[family.first],
            "other mean": family.means[family.second],
            "difference": family.difference,
            "low": family.tests.low,
            "high": family.tests.high,
            **statistic,
            "p": family.tests.p,
            "p adjusted": family.adjusted,
            "significant": family.differ(self.alpha),
            "against mean": family.against(self.alpha),
            self.effect: family.effects[0],
            "effect low": family.effects[1],
            "effect high": family.effects[2],
            "win": family.win,
            "tie": family.tie,
            "loss": family.loss,
            "topics": family.tests.n,
            **({"size": family.sizes} if self.rule_of_thumb else {}),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """A dict per pair."""
        yield from rows_of(self.columns())

    def to_dict(self) -> dict[str, Any]:
        """The settings, the ranking and the pairs, ready for JSON; undefined is None."""
        ranking = [row for family in self.families for row in self._ranked(family)]
        parts = {"assumptions": self.assumptions, "ranking": ranking, "pairs": list(self.rows())}
        return {**self._metadata(), **plain(parts)}

    @property
    def comparisons(self) -> int:
        """The number of compared pairs, over all measures and collections."""
        return sum(len(family.first) for family in self.families)

    @property
    def significant(self) -> int:
        """The number of pairs that differ."""
        return sum(int(family.differ(self.alpha).sum()) for family in self.families)

    # -- as tables

    def _ranked(self, family: Family) -> Iterator[dict[str, Any]]:
        """A dict per system, best first."""
        low, high = family.intervals(1 - self.alpha)
        counts = (~np.isnan(family.matrix.values)).sum(axis=0)
        marks = self.marks(family)
        beaten, beaten_by = (counts.tolist() for counts in family.counts(self.alpha))
        flags = self.disagreements(family)
        for place, column in enumerate(family.ranking.tolist()):
            yield {
                "collection": family.collection,
                "measure": family.matrix.measure,
                "rank": place + 1,
                "system": family.matrix.systems[column],
                "mean": float(family.means[column]),
                "low": float(low[column]),
                "high": float(high[column]),
                "groups" if self.baseline is None else "against baseline": marks[place],
                **(
                    {
                        "beats": beaten[column],
                        "loses to": beaten_by[column],
                        AGAINST_MARK: flags.get(family.matrix.systems[column], ""),
                    }
                    if marks[place] is None
                    else {}
                ),
                "topics": int(counts[column]),
            }

    @cached_property
    def _groups(self) -> dict[tuple[str, str], list[str] | None]:
        """The groups of the systems, by collection and measure; None where they would not fit in a table."""
        if self.baseline is not None:
            return {}
        return {(family.collection, family.matrix.measure): family.letters(self.alpha) for family in self.families}

    def group_rule(self) -> str:
        """How to read the groups; empty if none are shown."""
        shown = [groups for groups in self._groups.values() if groups is not None]
        numbered = sum(any(mark[0].isdigit() for mark in groups) for groups in shown)
        name = "letter or number" if 0 < numbered < len(shown) else "number" if numbered else "letter"
        return f"systems with a {name} in common do not differ significantly, all others do" if shown else ""

    def marks(self, family: Family) -> list[str | None]:
        """For each system of the ranking: its groups, or whether it is significantly above or below the baseline.

        Above and below are as the test finds. ≠ follows if its means say the opposite. None stands for groups that
        would not fit in a table.
        """
        if self.baseline is None:
            groups = self._groups[family.collection, family.matrix.measure]
            if groups is None:
                return [None] * len(family.ranking)
            flags = self.disagreements(family)
            systems = (family.matrix.systems[column] for column in family.ranking.tolist())
            return [mark + flags.get(system, "") for mark, system in zip(groups, systems, strict=True)]
        marks = {**dict.fromkeys(family.matrix.systems, ""), self.baseline: "baseline"}
        pairs = (family.first, family.direction, family.differ(self.alpha), family.against(self.alpha))
        for system, direction, differs, against in zip(*(column.tolist() for column in pairs), strict=True):
            if differs:
                mark = BETTER_MARK if direction > 0 else WORSE_MARK
                marks[family.matrix.systems[system]] = mark + AGAINST_MARK * against
        return [marks[family.matrix.systems[column]] for column in family.ranking.tolist()]

    def disagreements(self, family: Family) -> dict[str, str]:
        """{system: ≠} for the systems of pairs in which the test and the means point in opposite directions."""
        against = family.against(self.alpha)
        members = np.concatenate([family.first[against], family.second[against]])
        return {family.matrix.systems[column]: AGAINST_MARK for column in np.unique(members).tolist()}

    def ranking(self) -> Table:
        """Systems, best first, with intervals, and with letters (two systems differ if they share none) or marks."""
        several = len(self.families) > 1
        groups = ["against baseline"]
        if self.baseline is None:
            unreadable = any(letters is None for letters in self._groups.values())
            groups = ["groups"] * bool(self.group_rule()) + ["beats", "loses to"] * unreadable
            groups += [AGAINST_MARK] * (unreadable and any(map(self.disagreements, self.families)))
        names = ["rank", "system", "mean", *groups, "topics"]
        if several:
            names = ["collection"] * any(family.collection for family in self.families) + ["measure", *names]
        rows: list[tuple[Cell, ...]] = []
        for row in (row for family in self.families for row in self._ranked(family)):
            ends = row["low"], row["high"]
            row["mean"] = Estimate(row["measure"], row["system"], row["mean"], *ends, row["topics"])
            rows.append(tuple(row.get(name) for name in names))
        kinds = {"mean": "number", **dict.fromkeys(("rank", "topics", "beats", "loses to"), "count")}
        heads = tuple(Column(name, kinds.get(name, "text")) for name in names)
        caption = "" if several else self.families[0].matrix.measure
        notes = tuple(note for note in self.notes if not note.startswith(OF_DIFFERENCES))
        return Table(heads, tuple(rows), caption=caption, notes=notes)

    def table(self) -> Table:
        """The table of pairs."""
        return self.pairs()

    def wide(self, show: Iterable[str] | str | None = None, *, marks: str | None = None) -> Table:
        """A row per system and a few columns per measure, as papers have it.

        With a baseline, `show` names the columns beside the mean: difference (system − baseline), percent, interval, p,
        effect, wins; the default is difference and p for several measures, and all but percent for one. ▲ and ▼ mark
        significant differences. Without a baseline, `marks` is "beats" (the letters of the systems that are
        significantly worse; the default), "groups" (two systems differ exactly if they share no letter) or "counts"
        (how many systems are significantly worse, and better; the default beyond 26 systems).

        >>> from cranfield.comparison import compare
        >>> scores = {"a": [0.2, 0.5, 0.4, 0.6], "b": [0.3, 0.6, 0.5, 0.8], "c": [0.2, 0.4, 0.4, 0.5]}
        >>> print(replace(compare(scores, "AP", baseline="a").wide("difference, p"), notes=()).text())
                             AP
        system    mean  sig        Δ       p
        a       0.4250             -       -
        b       0.5500  ▲    +0.1250  0.0308
        c       0.3750       -0.0500  0.1817
        """
        return wide_table(self, show, marks)

    def pairs(self, *, only_significant: bool = False) -> Table:
        """A row per pair, largest difference first."""
        columns = self.columns()
        hidden = {"effect low", "effect high", "low", "high", "mean", "other mean"}
        hidden |= {"collection"} if not any(columns["collection"]) else set()
        hidden |= {"measure"} if len({family.matrix.measure for family in self.families}) == 1 else set()
        hidden |= {"p adjusted"} if self.correction == "none" else set()
        hidden |= set() if columns["against mean"].any() else {"against mean"}
        family_of = np.repeat(np.arange(len(self.families)), [len(family.first) for family in self.families])
        order = np.lexsort((-np.abs(columns["difference"]), family_of))
        if only_significant:
            order = order[columns["significant"][order]]
        shown = {name: column for name, column in columns.items() if name not in hidden}
        table, place = table_of(shown, order, notes=self.notes), list(shown).index("difference")
        value, low, high, topics = (columns[name][order].tolist() for name in ("difference", "low", "high", "topics"))
        numbers = zip(value, low, high, topics, strict=True)
        estimates = (Estimate("", "", mean, start, end, n) for mean, start, end, n in numbers)
        rows = zip(table.rows, estimates, strict=True)
        return replace(table, rows=tuple((*row[:place], cell, *row[place + 1 :]) for row, cell in rows))

    def topics(self, system: str, other: str | None = None, *, measure: str | None = None) -> Table:
        """A row per topic, largest difference first: both scores, their difference, and the mean difference without it.

        `other` is by default the baseline.
        """
        family = self._family(measure)
        against = other if other is not None else self.baseline
        if against is None:
            raise UsageError(f"topics: without a baseline, name the system to compare {system!r} with: other=")
        x, y = (family.matrix.values[:, family.matrix.column(name)] for name in (system, against))
        difference = x - y
        defined = np.flatnonzero(~np.isnan(difference))
        total, n = difference[defined].sum(), len(defined)
        rows: list[tuple[Cell, ...]] = []
        for t in defined[np.argsort(-np.abs(difference[defined]), kind="stable")].tolist():
            without = (total - difference[t]) / (n - 1) if n > 1 else math.nan
            rows.append((family.matrix.topics[t], float(x[t]), float(y[t]), float(difference[t]), float(without)))
        heads = (Column("topic"), *(Column(h, "number") for h in (system, against, "difference", "mean without it")))
        caption = (
            f"{family.matrix.measure}: {system} − {against}, mean difference {total / max(n, 1):.4f} on {n} topics"
        )
        fewest = topics_that_decide(difference[defined])
        topics = "most favourable topic" if fewest == 1 else f"{fewest} most favourable topics"
        note = caution_note(f"the mean difference changes sign or becomes 0 without its {topics}")
        return Table(heads, tuple(rows), caption=caption, notes=(note,) if fewest else ())

    def _family(self, measure: str | None) -> Family:
        if measure is None:
            return self.families[0]
        for family in self.families:
            if family.matrix.measure == measure:
                return family
        raise nearest(measure, [family.matrix.measure for family in self.families], "measure")

    # -- in words

    def method(self) -> str:
        """The test, correction, α, n and B, for the caption of a table."""
        ns = sorted({int(n) for family in self.families for n in family.tests.n})
        n = f"n = {ns[0]}" if len(ns) == 1 else f"n = {ns[0]} to {ns[-1]}"
        parts = [f"{self.test} test, {self.alternative}", f"α = {self.alpha:g}", f"{n} topics"]
        if self.simultaneous:
            parts.append("p is for all pairs together")
        elif self.correction != "none" and self.comparisons > 1:
            parts.append(f"p corrected for {self.comparisons:,} comparisons ({self.correction})")
        elif self.comparisons > 1:
            parts.append(f"p not corrected for {self.comparisons:,} comparisons")
        if self.resamples:
            parts.append(f"B = {self.resamples:,}, seed {self.seed}")
        if self.asl == "share":
            parts.append("p = hits / B, significant below α")
        return "; ".join(parts)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """How the numbers were computed, how to read them, and reasons for doubt."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        yield lead_note(self.method())
        yield pairs_differ(self.significant, self.comparisons)
        if self.resamples and not self.simultaneous and self.asl != "share":
            yield from out_of_reach(self.resamples, self.comparisons, self.correction, self.alpha)
        if self.correction == "none" and not self.simultaneous and self.comparisons > 1:
            error = family_wise_error(self.alpha, self.comparisons)
            yield (
                caution_note(
                    f"not corrected: if no systems differed, {self.comparisons:,} independent tests at α = "
                    f"{self.alpha:g} would still find a difference with probability {error:.2f} (1 − (1 − α)^c)"
                )
            )
        if self.baseline is None:
            yield from self._notes_on_groups()
        else:
            yield f"{BETTER_MARK} significantly higher than {self.baseline}, {WORSE_MARK} significantly lower"
        critical = [family.tests.critical for family in self.families if not math.isnan(family.tests.critical)]
        if critical:
            widths = ", ".join(f"{difference / 2:.4f}" for difference in critical)
            yield f"{OF_MEANS} means ± {widths}; two systems differ significantly if their intervals do not overlap"
        else:
            how = how_of((family.matrix.measure, family.matrix.values) for family in self.families)
            yield (
                f"{OF_MEANS} {100 * (1 - self.alpha):g}% interval of each mean ({how}); p decides whether two "
                "systems differ, not the overlap of intervals"
            )
        yield from self._notes_on_intervals()
        yield from self._notes_on_sizes()
        identical = list(self._identical_pairs())
        if identical:
            yield caution_note(
                f"identical on every topic, so p = 1 and the effect is 0: {listed(identical, noun='pairs')}"
            )
        yield from dict.fromkeys(note for family in self.families for note in family.tests.notes)
        yield from dict.fromkeys(note for family in self.families for note in family.matrix.notes)
        yield from self.contradictions()
        yield from cautions_of(self.assumptions)

    def contradictions(self) -> Iterator[str]:
        """A caution about the pairs in which the test contradicts the means."""
        pairs = []
        for family in self.families:
            names, against = family.matrix.systems, family.against(self.alpha)
            by = f" by {family.matrix.measure}" if len(self.families) > 1 else ""
            where = f" on {family.collection}" if family.collection else ""
            columns = (family.first[against], family.second[against], family.direction[against])
            for first, second, direction in zip(*(column.tolist() for column in columns), strict=True):
                higher, lower = (first, second) if direction > 0 else (second, first)
                pairs.append(f"{names[higher]} is higher than {names[lower]}{by}{where}, though its mean is lower")
        if pairs:
            yield f"caution: the {self.test} test contradicts the means ({AGAINST_MARK}): {listed(pairs, noun='pairs')}"

    def _notes_on_groups(self) -> Iterator[str]:
        if rule := self.group_rule():
            yield f"groups: {rule}"
        left_out = [" ".join(filter(None, name)) for name, groups in self._groups.items() if groups is None]
        if left_out:
            of = f" of {listed(left_out)}" if len(self.families) > 1 else ""
            yield f"groups{of} are not shown, because there are too many; {COUNTS}"

    def _notes_on_intervals(self) -> Iterator[str]:
        """The level of the intervals of differences, if p is corrected."""
        missing = all(np.isnan(family.tests.low).all() for family in self.families)
        if self.correction == "none" or self.comparisons < 2 or missing:
            return
        together = f"{100 * (1 - self.alpha):g}%"
        if self.interval_level == 1 - self.alpha:
            alone = caution_note(f"{together} interval of each pair alone, not corrected; p adjusted decides")
            yield caution_note(f"{OF_DIFFERENCES} {alone} whether two systems differ")
            return
        after = "Šidák" if "sidak" in self.correction else "Bonferroni"
        each = f"{100 * self.interval_level:.6g}% each, after {after}"
        yield method_note(
            f"{OF_DIFFERENCES} {together} intervals for all {self.comparisons:,} comparisons together ({each})"
        )
        contain = sum(
            int((family.differ(self.alpha) & (family.tests.low <= 0) & (family.tests.high >= 0)).sum())
            for family in self.families
        )
        if contain:
            yield (
                caution_note(
                    f"{OF_DIFFERENCES} the interval of {counted(contain, 'pair')} contains 0 although the "
                    "systems differ: "
                    f"the {self.correction} correction is stronger than {after}'s, and has no intervals of its own"
                )
            )

    def _notes_on_sizes(self) -> Iterator[str]:
        """How many differences have each size, and where size and significance disagree."""
        if not self.rule_of_thumb:
            return
        size = np.concatenate([family.sizes for family in self.families])
        differ = np.concatenate([family.differ(self.alpha) for family in self.families])
        if outside := dict.fromkeys(f.matrix.measure for f in self.families if not all(f.sizes)):
            yield f"size: the rule is for scores between 0 and 1, so it says nothing about {listed(outside)}"
        if any(size):
            count = {word: int((size == word).sum()) for word in SIZES}
            yield (
                f"size by Spärck Jones's rule: {count['material']:,} of {len(size):,} differences are material (above "
                f"{MATERIAL:g}), {count['noticeable']:,} noticeable ({NOTICEABLE:g} to {MATERIAL:g}), "
                f"{count['small']:,} smaller; it knows nothing of chance: "
                f"{int(((size == 'material') & ~differ).sum()):,} material ones are not significant, "
                f"{int(((size == 'small') & differ).sum()):,} smaller ones are"
            )

    def _identical_pairs(self) -> Iterable[str]:
        for family in self.families:
            names = family.matrix.systems
            tied = np.flatnonzero((family.win == 0) & (family.loss == 0) & (family.tie > 0))
            identical = np.array([not np.any(values) for values in family.differences_of(tied)], dtype=bool)
            for i in tied[identical].tolist():
                yield f"{names[family.first[i]]} and {names[family.second[i]]}"

    def tables(
        self, show: Iterable[str] | str | None = None, *, marks: str | None = None, pairs: bool | None = None
    ) -> tuple[Table, ...]:
        """What `print` shows: the ranking, or with a baseline or several measures the wide table; then the pairs.

        `show` and `marks` are those of `wide`. Pairs are shown if there are few, or if `pairs` is True; those with a
        baseline are in the wide table already.
        """
        ranked = self.baseline is None and len(self.families) == 1 and marks is None
        first = self.ranking() if ranked else self.wide(show, marks=marks)
        if pairs is None:
            pairs = self.baseline is None and self.comparisons <= FEW_PAIRS
        if not pairs:
            return (first,)
        notes = self.notes if ranked else tuple(self._wide_notes(show, marks))
        return replace(first, notes=()), replace(self.pairs(), notes=notes)

    def _wide_notes(self, show: Iterable[str] | str | None, marks: str | None) -> Iterable[str]:
        """The notes below the wide table and the pairs."""
        return notes_of(self, chosen_marks(self, marks), chosen_columns(self, show, ("difference",)), True)

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self._with_hint())

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self._with_hint())

    def _with_hint(self) -> tuple[Table, ...]:
        """The tables, with a note on how to get what they leave out."""
        first, *pairs = self.tables()
        if pairs:
            return (first, *pairs)
        hint = f"pairs() has the difference, p and effect size of {counted(self.comparisons, 'pair')}"
        return (replace(first, notes=(*first.notes, hint)),)

    def to_latex(
        self,
        show: Iterable[str] | str | None = None,
        *,
        marks: str | None = None,
        caption: str | None = None,
        label: str = "tab:comparison",
        digits: int | None = None,
    ) -> str:
        r"""A table for a paper: systems × measures, the best in bold, superscripts for significance.

        `show` and `marks` are those of `wide`; with a baseline, the default is the difference in percent. `caption` is
        LaTeX; the default one gives the test, the correction, α and n. The table needs the package booktabs only.
        """
        return latex(self, show, marks, caption, label, digits)
