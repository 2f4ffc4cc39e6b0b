"""A fitted click model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.online.clicks.click_estimates import Estimates
from cranfield.online.clicks.click_kinds import BROWSING, CLICK_MODELS, PAIR, RANK, ClickKind
from cranfield.online.clicks.click_pages import Pages, PairNames
from cranfield.online.clicks.click_placement import Placement
from cranfield.online.clicks.click_settings import Prior
from cranfield.online.clicks.click_walks import Walk, conditional, drawn_clicks
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class ClickModel(Record):
    """The parameters of a click model with intervals, and how they were fitted."""

    figure = "describe_click_parameters"
    facts = (
        "model", "impressions", "clicks", "queries", "pairs", "ranks", "log_likelihood", "steps", "converged", "level",
        "exact", "prior", "rank_prior", "kept_clicks", "held_out",
    )  # fmt: skip

    model: str
    """The name of the model, such as PBM."""
    names: PairNames
    """The pairs of a query and a document that the model has seen."""
    values: Mapping[str, Estimates]
    """{parameter: estimates}, over pairs, over ranks, over places (rank and click above), or a single one."""
    ranks: int
    """The deepest rank that the model has seen."""
    shown: Array
    """pairs: impressions."""
    clicked: Array
    """pairs: impressions with a click."""
    log_likelihood: float
    """Of the sessions that it was fitted on."""
    steps: int = 0
    converged: bool | None = None
    """None for a model that takes no steps."""
    level: float | None = 0.95
    exact: bool = True
    prior: Prior = None
    """None: the mean came from the log."""
    rank_prior: Prior = None
    kept_clicks: str = "all"
    held_out: Mapping[str, Any] | None = None
    """How sessions were held out of the fit: `share`, `seed` and `by`; None if none were."""
    trace: tuple[float, ...] = ()
    observations: Mapping[str, Array] = field(default_factory=dict)
    """{parameter of ranks or places: documents shown there, or clicked there for a continuation}; may be empty."""
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> ClickKind:
        """What the model is."""
        return CLICK_MODELS.find(self.model)

    @property
    def impressions(self) -> int:
        return int(self.shown.sum())

    @property
    def clicks(self) -> int:
        return int(self.clicked.sum())

    @property
    def queries(self) -> int:
        return len(self.names.queries)

    @property
    def pairs(self) -> int:
        return len(self.names)

    def value(self, parameter: str) -> Estimates:
        """The estimates of a parameter, such as "examination"."""
        if parameter not in self.values:
            known = ", ".join(self.values)
            raise UsageError(f"{self.model} has no parameter {parameter!r}; it has {known}")
        return self.values[parameter]

    def of_pair(self, query: str, doc: str, parameter: str = "attractiveness") -> float:
        """A parameter of one document for a query; for one that the model has not seen, as `Placement` says."""
        pages = Pages.of([query], [[doc]], [[0]])
        self.value(parameter)
        return float(self.placement(pages).pair(parameter)[0, 0])

    # ---- pages

    def placement(self, pages: Pages) -> Placement:
        """The parameters at the places of pages."""
        return Placement(dict(self.values), self.names, self.shown, self.prior, self.ranks, (pages.names, pages.pair))

    def walk(self, pages: Pages) -> Walk:
        """Users of this model on pages."""
        return self.kind.walk(self.placement(pages))

    def click_probabilities(self, pages: Pages) -> Array:
        """pages × ranks: the probability of a click, whatever happens above."""
        return self.walk(pages).marginal()

    def conditional_probabilities(self, pages: Pages) -> Array:
        """pages × ranks: the probability of a click given the clicks above it."""
        return conditional(self.walk(pages), pages.clicked)

    def page_log_likelihood(self, pages: Pages) -> Array:
        """The log-probability of the clicks of each page; -inf if the model holds them impossible."""
        probability = self.conditional_probabilities(pages)
        seen = np.where(pages.clicked, probability, 1 - probability)
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(pages.present, np.log(seen), 0.0).sum(axis=1))

    def simulate(self, queries: Sequence[Any], docs: Any, rng: np.random.Generator | int = 0) -> NDArray[np.bool_]:
        """sessions × ranks: random clicks on lists of documents.

        queries: a query per session. docs: sessions × ranks of names.
        """
        rng = np.random.default_rng(rng)
        pages = Pages.lists(queries, docs)
        return drawn_clicks(self.walk(pages), len(pages.pair), pages.ranks, rng)

    # ---- tables

    def columns(self) -> dict[str, NDArray[Any]]:
        """parameter, rank, above (the rank of the click above), value, low, high; means of parameters of documents."""
        rows: list[tuple[str, int, int, float, float, float]] = []
        for name, scope in self.kind.parameters.items():
            estimates = self.values[name]
            if scope == PAIR:
                mean = float(np.average(estimates.value, weights=self.shown)) if self.impressions else np.nan
                rows.append((f"{name}, mean", 0, 0, mean, np.nan, np.nan))
                continue
            places = _places(scope, len(estimates))
            ends = zip(estimates.value.tolist(), estimates.low.tolist(), estimates.high.tolist(), strict=True)
            rows += [(name, *place, *each) for place, each in zip(places, ends, strict=True)]
        heads = ("parameter", "rank", "above", "value", "low", "high")
        kinds = (object, np.int64, np.int64, np.float64, np.float64, np.float64)
        return {head: np.array([row[i] for row in rows], dtype=kinds[i]) for i, head in enumerate(heads)}

    def table(self) -> Table:
        """A row per parameter of ranks and of the model; parameters of documents are averaged over impressions."""
        columns = self.columns()
        shown = {"parameter": columns["parameter"]}
        scopes = set(self.kind.parameters.values())
        for head, scope in (("rank", {RANK, BROWSING}), ("above", {BROWSING})):
            if scopes & scope:
                words = [str(number) if number else "" for number in columns[head].tolist()]
                shown["click above" if head == "above" else head] = np.array(words, dtype=object)
        shown |= {head: columns[head] for head in ("value", "low", "high")}
        return table_of(shown, caption=f"{self.model}, {self.kind.title}", notes=self.notes)

    def pair_columns(self) -> dict[str, NDArray[Any]]:
        """query, doc, impressions, clicks, and each parameter of documents with its interval."""
        queries = np.array(self.names.queries, dtype=object)
        columns = {
            "query": queries[self.names.query] if len(queries) else queries,
            "doc": self.names.doc,
            "impressions": self.shown.astype(np.int64),
            "clicks": self.clicked.astype(np.int64),
        }
        for name, scope in self.kind.parameters.items():
            if scope == PAIR:
                each = self.values[name]
                columns |= {name: each.value, f"{name} low": each.low, f"{name} high": each.high}
        return columns

    def save(self, path: str) -> None:
        """Write the model to a JSON file, which `load_click_model` reads; `.gz` and the like are compressed."""
        from cranfield.online.clicks.click_files import save_click_model

        save_click_model(self, path)


def _places(scope: str, size: int) -> list[tuple[int, int]]:
    """The rank and the rank of the click above, for each value; 0 where there is none."""
    if scope == RANK:
        return [(rank, 0) for rank in range(1, size + 1)]
    if scope == BROWSING:
        ranks = int((np.sqrt(8 * size + 1) - 1) / 2 + 0.5)
        return [(rank, above) for rank in range(1, ranks + 1) for above in range(rank)]
    return [(0, 0)] * size
