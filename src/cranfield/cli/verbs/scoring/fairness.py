"""`cranfield fairness`: which groups of documents get the attention."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import MORE, argument, flag, option
from cranfield.cli.options.by_class import Experiment, SplitByClass
from cranfield.cli.options.option_values import measure_names
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.fairness import Attention


class FairnessVerb(options.Ranked, SplitByClass, Printing):
    """Measure how fair runs are: how attention is shared among groups of documents, or among documents.

    It prints a table of runs, and one of the groups in each run; values are means over topics, except equity. json, csv
    and tsv hold one record per number: run, group (empty for the whole run), measure, value.

    AWRF compares the groups' shares of attention with a target; 1 is fair. EE-D, EE-R and EE-L are expected exposure:
    disparity, relevance, and the loss against a fair policy, where 0 is fair. equity sums attention minus relevance
    over topics; 0 is fair. exposure gives for each group its attention, share, members, attention per member (mean),
    relevant part (merit) and attention per merit. parity is how often a member of a group is ranked above another
    document; one half is fair. dissatisfaction is how often a document of lower merit stands above a member of a
    group: in all pairs (dissatisfied), in those with other groups (inter) or with its own (intra), and the attention
    that members lose by it (lost); a fair ranking treats groups alike. rND, rKL and rRD compare a group's part of the
    first 10, 20, ... documents with its part of all; 0 is fair. FA*IR tests whether every prefix of a ranking has
    enough members of a group for a least share of --proportion: fair is the share of rankings that pass, fair p the
    p-value.
    """

    summary = "how attention is shared among groups of documents"
    examples = """
cranfield fairness qrels.txt bm25.run --groups regions.tsv
cranfield fairness qrels.txt bm25.run --groups regions.tsv -m AWRF --target north=1,south=1
cranfield fairness qrels.txt bm25.run --groups regions.tsv -m rND -m rKL --protected south --per-topic
cranfield fairness qrels.txt bm25.run --groups regions.tsv -m 'FA*IR' --protected south --proportion 0.4 --depth 50
cranfield fairness qrels.txt bm25.run --groups regions.tsv -m dissatisfaction
cranfield fairness qrels.txt draws/*.run --draws -m EE-L --attention geometric --persistence 0.8
cranfield fairness qrels.txt bm25.run --groups regions.tsv --by classes.txt  # for each class of topics
cranfield fairness qrels.txt bm25.run --groups regions.tsv --format csv -o fairness.csv
"""

    qrels: str = argument("QRELS", options.QRELS, required=True, reads=True)
    runs: list[str] = argument("RUN", options.RUNS, required=True, reads=True)
    groups: str | None = option(
        "--groups FILE",
        "The groups of documents: lines of doc, group and optionally weight. Without it, only EE and equity are "
        "computed, for single documents.",
        reads=True,
        solves="groups=",
    )
    measures: list[str] | None = option(
        "--measure, -m MEASURE",
        "{names}; default: all except FA*IR and dissatisfaction. May be repeated.",
        names="fairness.audit:MEASURES",
    )
    draws: bool = flag("--draws", "The runs are random rankings by one system: print one row for all of them.")
    individual: bool = flag("--individual", "Compute EE and equity for single documents, even if there are groups.")
    protected: list[str] | None = option(
        "--protected GROUP", "Compute rND, rKL, rRD and FA*IR only for this group. May be repeated."
    )
    proportion: float | None = option(
        "--proportion P", "The least share of a group in a fair ranking, for FA*IR.", solves="proportion="
    )
    alpha: float = options.alpha(0.1, "Significance level of FA*IR, for all prefixes of a ranking together.")
    target: str | None = option(
        "--target GROUP=SHARE,...", "The target of AWRF; default: the groups of the topic's relevant documents."
    )
    attention: str | None = option(
        "--attention KIND",
        "How attention decreases with rank: {names} (1, p, p^2, ...; as in nDCG; or as in the TREC Fair Ranking "
        "tracks); default: geometric, and trec for AWRF.",
        names="fairness.attention:KINDS",
    )
    p: float | None = option("--persistence, -p P", "Persistence of geometric attention; default: 0.5.", group=MORE)
    stop: float | None = option(
        "--stop P", "Probability that a reader stops at a relevant document; default: 0. AWRF ignores it.", group=MORE
    )
    step: int = option("--step N", "rND, rKL and rRD use the first N, 2N, 3N, ... documents.", default=10, group=MORE)
    rel: float = options.rel(MORE)
    missing: str = options.missing()
    missing_group: str | None = option(
        "--missing-group GROUP",
        "The group of documents that are not in the file of groups, such as unknown; default: stop with an error.",
        group=MORE,
        solves="missing_group=",
    )
    per_topic: bool = options.per_topic("Also print the numbers of each topic; in json, csv and tsv only these.")
    depth: int | None = options.depth()

    def check(self) -> None:
        super().check()
        check.whole("", **{"--depth": self.depth})

    def run(self) -> None:
        from cranfield.fairness import audit

        judgments, runs = self.part(lambda: Experiment(self.read_qrels(self.qrels), self.read_runs(self.runs)))
        order = self.order or "score"
        rankings = {
            name: {
                topic: [[place.doc for place in run.ranking(topic, order, self.precision, self.ties)[: self.depth]]]
                for topic in run.topics
            }
            for name, run in runs.items()
        }
        result = audit(
            judgments,
            rankings,
            self.groups,
            measure_names(self.measures) if self.measures else None,
            **self.values(
                "draws", "individual", "protected", "step", "rel", "missing", "missing_group", "proportion", "alpha"
            ),
            target=shares(self.target),
            attention=self._attention(),
        )
        if self.for_programs:
            tables = [result.records(per_topic=self.per_topic, digits=self.digits)]
        else:
            tables = result.tables(per_topic=True, digits=self.digits, notes=False) if self.per_topic else []
            tables += result.tables(digits=self.digits)
        self.emit(self.rendered(*tables))

    def _attention(self) -> Attention | None:
        """The attention asked for; None if each measure uses its own."""
        from cranfield.fairness import Attention

        if self.p is not None and self.attention not in (None, "geometric"):
            raise UsageError(
                f"--persistence {self.p:g} is for geometric attention, not for {self.attention!r}; leave it out"
            )
        settings = {"kind": self.attention, "p": self.p, "stop": self.stop}
        settings = {name: value for name, value in settings.items() if value is not None}
        return Attention(**settings) if settings else None  # type: ignore[arg-type]


def shares(text: str | None) -> dict[str, float] | None:
    """The value of `--target`.

    >>> shares("north=1, south=0.5")
    {'north': 1.0, 'south': 0.5}
    """
    if text is None:
        return None
    by_group: dict[str, float] = {}
    for pair in text.split(","):
        group, _, share = pair.rpartition("=")
        group = group.strip()
        if not group or not re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*", share):
            raise UsageError(f"--target {text}: expected shares such as north=0.5,south=0.5, found {pair!r}")
        if group in by_group:
            raise UsageError(f"--target {text}: group {group!r} is given twice")
        by_group[group] = float(share)
    return by_group
