"""How well click models predict the clicks of sessions: log-likelihood and perplexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.declared.operation import operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.clicks.click_kinds import BROWSING, PAIR, RANK
from cranfield.online.clicks.click_model import ClickModel
from cranfield.online.clicks.click_pages import Pages
from cranfield.record import Record, crossed
from cranfield.table import Column, Table
from cranfield.text import counted
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False, repr=False)
class ClickEvaluation(Record):
    """Log-likelihood and perplexity of click models on the same sessions, overall and by rank."""

    figure = "describe_click_perplexity"
    facts = ("sessions", "impressions", "clicks")

    models: tuple[str, ...]
    log_likelihood: Array
    """models: per session, over the sessions that are possible in the model."""
    impossible: Index64
    """models: sessions that are impossible in the model; the log-likelihood of all sessions is -inf if there is one."""
    perplexity: Array
    """models: the mean over ranks."""
    rank_log_likelihood: Array
    """models × ranks: per impression, given the clicks above; over the sessions that are possible in the model."""
    rank_perplexity: Array
    """models × ranks."""
    rank_impressions: Index64
    unseen: Index64
    """models: impressions of documents that the model has not seen for the query, if it has parameters of documents."""
    deeper: Index64
    """models: impressions at ranks that the model has not seen, if it has parameters of ranks."""
    sessions: int
    clicks: int
    notes: tuple[str, ...] = ()

    @property
    def impressions(self) -> int:
        return int(self.rank_impressions.sum())

    def columns(self) -> dict[str, NDArray[Any]]:
        """model, rank (0: all), impressions, log_likelihood, perplexity; a row for all ranks and one for each."""
        numbers = {
            "impressions": np.append([self.impressions], self.rank_impressions)[None],
            "log_likelihood": np.column_stack([self.log_likelihood, self.rank_log_likelihood]),
            "perplexity": np.column_stack([self.perplexity, self.rank_perplexity]),
        }
        return crossed({"model": self.models, "rank": range(len(self.rank_impressions) + 1)}, numbers)

    def table(self) -> Table:
        """A row per model."""
        columns = (
            Column("model"),
            Column("log-likelihood per session", "number", "higher"),
            Column("perplexity", "number", "lower"),
            Column("unseen", "count"),
            Column("impossible sessions", "count"),
        )
        numbers = (self.log_likelihood, self.perplexity, self.unseen, self.impossible)
        rows = tuple(zip(self.models, *(column.tolist() for column in numbers), strict=True))
        return Table(columns, rows, f"Click models on {counted(self.sessions, 'session')}", self.notes)

    def rank_table(self) -> Table:
        """Perplexity: a row per rank, a column per model."""
        columns = (Column("rank", "count"), *(Column(name, "number", "lower") for name in self.models))
        rows = tuple((rank, *each.tolist()) for rank, each in enumerate(self.rank_perplexity.T, start=1))
        return Table(columns, rows, "Perplexity by rank")


@operation
def evaluate_clicks(models: Mapping[str, ClickModel] | ClickModel, pages: Pages) -> ClickEvaluation:
    r"""Evaluate click models on sessions, best on sessions that they were not fitted on.

    The log-likelihood of a session is that of its clicks, each given the clicks above. The perplexity at a rank is

    .. math:: p_r = 2^{-\frac{1}{|S|} \sum_{s \in S} \left(c_r \log_2 q_r + (1 - c_r) \log_2 (1 - q_r)\right)}

    where q_r is the probability of a click at rank r, whatever happens above; 1 is a perfect prediction, 2 that of a
    coin. The overall perplexity is the mean over ranks. Documents that a model has not seen get the mean of its prior,
    and ranks that it has not seen the parameters of its deepest rank.
    Reference: Dupret & Piwowarski, SIGIR 2008; Chuklin, Markov & de Rijke, Click Models for Web Search, 2015, chapter 5

    >>> from cranfield.online.clicks import fit_clicks
    >>> pages = Pages.of(["cats"] * 4, [["d1", "d2"]] * 4, [[1, 0], [1, 0], [0, 1], [0, 0]])
    >>> result = evaluate_clicks(fit_clicks(pages, "DCTR", prior=(0, 0)), pages)
    >>> result.rank_perplexity.round(4).tolist()  # 2^H(1/2) and 2^H(1/4)
    [[2.0, 1.7548]]
    """
    named = {models.model: models} if isinstance(models, ClickModel) else dict(models)
    if not named:
        raise UsageError("no click models to evaluate")
    if not pages.impressions:
        raise UsageError("there are no impressions to evaluate the models on")
    weight, present = pages.sessions.astype(np.float64), pages.present
    shown = (weight[:, None] * present).sum(axis=0)
    parts = [_of_model(model, pages, weight, shown) for model in named.values()]
    sums = [np.array(column) for column in zip(*parts, strict=True)]
    likelihood, impossible, perplexity, by_rank, rank_perplexity, unseen, deeper = sums
    result = ClickEvaluation(
        tuple(named), likelihood, impossible, perplexity, by_rank, rank_perplexity, shown.astype(np.int64), unseen,
        deeper, int(weight.sum()), int((weight[:, None] * pages.clicked).sum()),
    )  # fmt: skip
    return replace(result, notes=tuple(_notes(result, named, pages)))


def _of_model(model: ClickModel, pages: Pages, weight: Array, shown: Array) -> tuple[Any, ...]:
    clicked, present = pages.clicked, pages.present
    logs = _log_of(model.conditional_probabilities(pages), clicked)
    logs = np.where(present, logs, 0.0)
    possible = np.isfinite(logs.sum(axis=1))
    held = weight * possible
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        likelihood = float((held[possible, None] * logs[possible]).sum() / held.sum()) if held.any() else -np.inf
        counts = (held[:, None] * present).sum(axis=0)
        by_rank = (held[possible, None] * logs[possible]).sum(axis=0) / counts
        surprise = np.where(present, _log_of(model.click_probabilities(pages), clicked), 0.0)
        total = (weight[:, None] * surprise).sum(axis=0)
        rank_perplexity = np.exp(-total / shown)
    perplexity = float(np.nanmean(rank_perplexity))
    scopes = set(model.kind.parameters.values())
    unseen = int((weight[:, None] * model.placement(pages).unseen).sum()) if PAIR in scopes else 0
    deeper = int((weight[:, None] * present)[:, model.ranks :].sum()) if scopes & {RANK, BROWSING} else 0
    return likelihood, int(weight[~possible].sum()), perplexity, by_rank, rank_perplexity, unseen, deeper


def _log_of(probability: Array, clicked: NDArray[np.bool_]) -> Array:
    """The logarithm of the probability of what happened."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.where(clicked, probability, 1 - probability)))


def _notes(result: ClickEvaluation, models: Mapping[str, ClickModel], pages: Pages) -> list[str]:
    """What a reader of the numbers needs to know; a sentence that holds for several models names them all."""
    about: dict[str, list[str]] = {}
    for place, name in enumerate(result.models):
        for sentence in _sentences(result, place, models[name], pages):
            about.setdefault(sentence, []).append(name)
    return [*pages.notes, *(method_note(f"{', '.join(names)}: {sentence}") for sentence, names in about.items())]


def _sentences(result: ClickEvaluation, place: int, model: ClickModel, pages: Pages) -> Iterator[str]:
    if unseen := int(result.unseen[place]):
        known = set(model.names.queries)
        new = sum(query not in known for query in pages.names.queries)
        text = f"{counted(unseen, 'impression')} ({unseen / result.impressions:.1%}) of documents"
        text += " that the model has not seen" + (f", {counted(new, 'new query', 'new queries')}" if new else "")
        prior = model.prior is None or sum(model.prior) > 0
        value = "the mean of the prior" if prior else "the mean of the documents that it has seen"
        yield f"{text}; they get {value}"
    if deeper := int(result.deeper[place]):
        yield (
            f"{counted(deeper, 'impression')} below rank {model.ranks}, the deepest that the model has seen; they get "
            f"the parameters of rank {model.ranks}"
        )
    if impossible := int(result.impossible[place]):
        text = (
            f"{counted(impossible, 'session')} that are impossible in the model, so its log-likelihood of all sessions"
        )
        if impossible == result.sessions:
            yield f"{text} is -inf; these are all sessions, so that none is left to compare"
        else:
            yield f"{text} is -inf; the one shown is that of the other sessions, and does not compare with other models"
    if model.converged is False:
        yield "did not converge when it was fitted"


def held_out_pages(source: Any, models: Mapping[str, ClickModel], **reading: Any) -> Pages:
    """The sessions of a log on which models are evaluated: those that were held out when they were fitted.

    source, reading: as for `fit_clicks`. Models that were fitted without held-out sessions are evaluated on all
    sessions, which flatters them if they are the same; a note says so. Models must agree on what was held out.
    """
    from cranfield.online.clicks.click_rows import click_rows, read_pages

    splits = {name: model.held_out for name, model in models.items()}
    rows = click_rows(source, **reading)
    first = next(iter(splits.values()))
    if other := next((name for name, split in splits.items() if split != first), None):
        raise UsageError(
            f"{next(iter(splits))} and {other} were fitted on different parts of a log ({first or 'all sessions'}, "
            f"{splits[other] or 'all sessions'}); fit them alike"
        )
    if first is not None:
        pages = read_pages(rows.split(**first)[1])
        chosen = "the latest sessions" if first["by"] == "time" else f"by a hash of the session, seed {first['seed']}"
        note = method_note(f"{first['share']:.0%} of the sessions, held out when the models were fitted ({chosen})")
        return replace(pages, notes=(note, *pages.notes))
    pages = read_pages(rows)
    note = caution_note("all sessions of the log; if the models were fitted on the same sessions, this flatters them")
    return replace(pages, notes=(note, *pages.notes))
