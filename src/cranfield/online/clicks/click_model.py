"""A fitted click model: its values, its predictions for pages, and its file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, read_bytes, shown_path, write_bytes
from cranfield.errors import DataError, UsageError
from cranfield.online.clicks.click_estimates import Estimates, Prior
from cranfield.online.clicks.click_kinds import (
    BROWSING,
    CLICK_MODELS,
    PAIR,
    RANK,
    ClickKind,
    Walk,
    conditional,
    drawn_clicks,
)
from cranfield.online.clicks.click_pages import Pages, PairNames
from cranfield.record import Record, plain, table_of
from cranfield.table import Table
from cranfield.text import shown as shown_text
from cranfield.types import Array, Index64


class Placement:
    """The parameters of a model at the places of pages.

    A pair that the model has not seen gets the mean of the prior, which is that of the pairs that the model has seen if
    it came from the log; without a prior, the mean of the impressions that it has seen. A rank below the deepest rank
    of the model gets the parameters of the deepest rank.
    """

    def __init__(
        self,
        values: dict[str, Estimates],
        names: PairNames,
        shown: Array,
        prior: Prior,
        ranks: int,
        pages: tuple[PairNames, Index64],
    ) -> None:
        page_names, pair = pages
        self.present = pair >= 0
        known = names.numbers_in(page_names)
        self._at = np.where(self.present, known[pair] if len(known) else -1, -1)
        self.unseen = self.present & (self._at < 0)
        self._values, self._shown, self._prior = values, shown, prior
        self._ranks, self._wanted = ranks, pair.shape[1]

    def unseen_value(self, name: str) -> float:
        """The value of a parameter for a pair that the model has not seen."""
        value = self._values[name].value
        if self._prior is None:
            return float(value.mean()) if len(value) else 0.5
        total = sum(self._prior)
        if total > 0:
            return self._prior[0] / total
        return float(np.average(value, weights=self._shown)) if self._shown.sum() > 0 else 0.5

    def pair(self, name: str) -> Array:
        value = self._values[name].value
        known = value[self._at] if len(value) else np.zeros(self._at.shape)
        return np.where(self.present, np.where(self.unseen, self.unseen_value(name), known), 0.0)

    def rank(self, name: str) -> Array:
        return np.asarray(self._values[name].value[np.minimum(np.arange(self._wanted), self._ranks - 1)])

    def browsing(self, name: str) -> Array:
        """A rank below the deepest has the place of the deepest rank with its click as far above."""
        rank = np.arange(1, self._wanted + 1)[:, None]
        above = np.arange(self._wanted + 1)[None, :]
        near = np.minimum(rank, self._ranks)
        moved = np.where(above == 0, 0, np.clip(near - (rank - above), 1, np.maximum(near - 1, 1)))
        moved = np.where((near == 1) | (above >= rank), 0, moved)  # places that do not occur
        return np.asarray(self._values[name].value[near * (near - 1) // 2 + moved])

    def single(self, name: str) -> float:
        return float(self._values[name].value[0])


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

        save_click_model(self, path)


def _places(scope: str, size: int) -> list[tuple[int, int]]:
    """The rank and the rank of the click above, for each value; 0 where there is none."""
    if scope == RANK:
        return [(rank, 0) for rank in range(1, size + 1)]
    if scope == BROWSING:
        ranks = int((np.sqrt(8 * size + 1) - 1) / 2 + 0.5)
        return [(rank, above) for rank in range(1, ranks + 1) for above in range(rank)]
    return [(0, 0)] * size


FORMAT, VERSION = "cranfield click model", 1


def save_click_model(model: ClickModel, path: PathLike) -> None:
    """Write a model to a JSON file; a suffix such as `.gz` compresses."""
    names = model.names
    content = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.model,
        "ranks": model.ranks,
        "fit": {name: getattr(model, name) for name in FIT},
        "queries": list(names.queries),
        "pairs": {"query": names.query, "doc": names.doc, "shown": model.shown, "clicked": model.clicked},
        "values": {
            name: {"value": each.value, "low": each.low, "high": each.high} for name, each in model.values.items()
        },
        "observations": dict(model.observations),
        "notes": list(model.notes),
    }
    text = json.dumps(plain(content), ensure_ascii=False, allow_nan=False)
    write_bytes(path, (text + "\n").encode("utf-8", "surrogateescape"))


MOST_RANKS = 1_000_000
FIT = (
    "log_likelihood", "steps", "converged", "level", "exact", "prior", "rank_prior", "kept_clicks", "held_out",
)  # fmt: skip
"""The attributes that say how a model was fitted."""


@reads
def load_click_model(path: PathLike) -> ClickModel:
    """Read a model that `save_click_model` wrote."""
    where = shown_path(str(path))
    try:
        content = json.loads(read_bytes(path).decode("utf-8", "surrogateescape"))
    except DataError:
        raise
    except ValueError as error:
        what = f"is not a click model: it is not valid JSON ({error}); if it is a log, fit a model to it first"
        raise DataError(where, None, what) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(where, None, "is not a click model; expected a file that `ClickModel.save` wrote")
    if content.get("version") != VERSION:
        raise DataError(where, None, f"has version {content.get('version')!r}, expected {VERSION}")
    try:
        return _model(content)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(where, None, f"is not a complete click model: {type(error).__name__}: {error}") from None


def _model(content: dict[str, Any]) -> ClickModel:
    kind, pairs, fit = CLICK_MODELS.find(content["model"]), content["pairs"], dict(content["fit"])
    if not all(isinstance(name, str) for name in (*content["queries"], *pairs["doc"])):
        raise ValueError("queries and documents must be texts")
    size, ranks = len(pairs["doc"]), int(content["ranks"])
    if not 1 <= ranks <= MOST_RANKS:
        raise ValueError(f"ranks is {shown_text(content['ranks'])}")
    query = np.array(pairs["query"], dtype=np.int64)
    if len(query) != size or (size and not 0 <= query.min() <= query.max() < len(content["queries"])):
        raise ValueError("pairs and queries do not belong together")
    names = PairNames(tuple(content["queries"]), query, np.array(pairs["doc"], dtype=object))
    values = {}
    for name, scope in kind.parameters.items():
        ends = [_numbers(content["values"][name][end]) for end in ("value", "low", "high")]
        if any(len(end) != len(ends[0]) for end in ends) or (scope == PAIR and len(ends[0]) != size):
            raise ValueError(f"{name} has the wrong number of values")
        values[name] = Estimates(*ends)
    log_likelihood = fit.pop("log_likelihood")
    for name in ("prior", "rank_prior"):
        fit[name] = None if fit[name] is None else tuple(map(float, fit[name]))
    shown, clicked = (_numbers(pairs[name]) for name in ("shown", "clicked"))
    if len(shown) != size or len(clicked) != size:
        raise ValueError("pairs have the wrong number of values")
    observations = {name: _numbers(counts) for name, counts in content.get("observations", {}).items()}
    return ClickModel(
        kind.name, names, values, ranks, shown, clicked,
        float("nan") if log_likelihood is None else float(log_likelihood), **fit,
        observations=observations, notes=tuple(content["notes"]),
    )  # fmt: skip


def _numbers(values: list[float | None]) -> Array:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
