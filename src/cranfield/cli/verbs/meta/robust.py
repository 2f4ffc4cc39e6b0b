"""`cranfield meta robust`: how scores and rankings change with fewer judgments, other grades or fewer topics."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class RobustVerb(TopRuns, options.Source, Plotting, of="meta.judgments.robustness:robustness"):
    """Remove judgments or topics, or change grades, and show how scores and the ranking of runs change.

    random drops judgments at random, depth keeps those of a shallower pool, flips moves grades to the next one,
    confusion draws grades again, topics uses fewer topics, intents uses fewer intents of each topic. A good measure
    keeps its ranking (Kendall's tau with the full ranking) and its scores. --plot draws the first method.
    """

    summary = "how scores change with fewer judgments or topics"
    examples = """
cranfield meta robust qrels.txt runs/*.run -m AP,bpref
cranfield meta robust --sample  # try it on the bundled sample collection
cranfield meta robust qrels.txt runs/*.run -m AP -m nDCG@10 --condensed --how random --rates 0.5,0.2,0.1
cranfield meta robust qrels.txt runs/*.run --how depth --depths 10,20,50,100 --show rmse
cranfield meta robust qrels.txt runs/*.run --how confusion --confusions assessors.txt
cranfield meta robust diversity.txt runs/*.run -m alpha-nDCG@10,D#-nDCG@10,ERR-IA@10 --how intents
cranfield meta robust --scores scores.csv --how topics --size 10,25,40 -f csv
"""

    how: list[str] | None = option(
        "--how METHOD",
        "{names}; default: all except confusion and intents. May be repeated, or separated by commas.",
        names="meta.judgments.robustness:METHODS",
    )
    rates: str | None
    depths: str | None
    flips: str | None
    confusion: str | None = option(
        "--confusions FILE", "confusion: lines of grade, new grade, probability.", reads=True
    )
    sizes: str | None
    intent_shares: str | None
    repeats: int
    seed: int
    condensed: bool
    what: str = options.show(
        "tau",
        "change",
        "rmse",
        "all",
        "repeats",
        help="{names}: tau with the full ranking, change of the mean score, RMSE, all three (as in json, csv "
        "and tsv), or a row per repeat.",
    )

    def check(self) -> None:
        super().check()
        self.methods = [name for word in self.how for name in word.replace(",", " ").split()] if self.how else None
        levels = {
            "random": ("--rates", self.rates),
            "depth": ("--depths", self.depths),
            "flips": ("--flips", self.flips),
            "confusion": ("--confusions", self.confusion),
            "topics": ("--size", self.sizes),
            "intents": ("--intent-shares", self.intent_shares),
        }
        for method, (name, value) in levels.items():
            if value is not None and method not in (self.methods or (["topics"] if self.scores else levels)):
                raise UsageError(f"{name} {value} applies only to --how {method}; add it, or leave out {name}")
        if self.scores and self.condensed:
            raise UsageError("--condensed needs judgments and runs; --scores has only its own measures")
        if self.scores and self.methods not in (None, ["topics"]):
            raise UsageError(
                f"--how {','.join(self.methods or [])} needs judgments and runs; --scores allows only topics"
            )

    def run(self) -> None:
        from cranfield.meta.judgments.robustness import VALUES, robustness, topic_subsets

        if self.scores:
            kept = {name: value for name, value in self.settings().items() if name in ("sizes", "repeats", "seed")}
            result = topic_subsets(self.read_scores(), **kept)
        else:
            with self.progress("scoring") as progress:
                confusion = None if self.confusion is None else read_confusion(self.confusion)
                result = robustness(
                    *self.read(),
                    chosen(self.measures or ["AP"]),
                    **{**self.settings(), "how": self.methods, "confusion": confusion},
                    missing=self.missing,
                    options=self.joining(),
                    progress=progress,
                )
        if self.what == "repeats":
            from cranfield.record import table_of

            self.show(table_of(result.columns(), notes=result.notes))
        elif self.what == "all" or self.for_programs:
            self.show(result.table())
        else:
            self.show(*result.tables(self.what))
        self.save_plot(result, value=self.what if self.what in VALUES else "tau")


def read_confusion(path: str) -> dict[float, dict[float, float]]:
    """Lines of grade, new grade and probability, separated by blanks, tabs, commas or semicolons."""
    from cranfield.collection.tables.table_schema import Numbers, Schema

    schema = Schema(
        "grade, new grade, probability", header=False, separators=",; ", mixed=True, comments=True,
        old=Numbers(noun="grade"), new=Numbers(noun="new grade"), share=Numbers(noun="probability"),
    )  # fmt: skip
    rows = schema.read(path)
    matrix: dict[float, dict[float, float]] = {}
    for at, (old, new, share) in enumerate(rows):
        if new in matrix.setdefault(old, {}):
            raise rows.fault(at, f"grade {old:g} becomes {new:g} twice")
        matrix[old][new] = share
    return matrix
