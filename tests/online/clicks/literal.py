"""Click models, literally: every hidden path of a user down a page, with its probability. The witness of fast code.

A parameter is a key: ("a", query, doc), ("s", query, doc), ("e", rank, previous), ("c", ...). A path is the clicks, and
the hidden events as (key, whether it happened); its probability is the product over the events.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from cranfield.online.clicks import ClickModel, Pages
from cranfield.online.clicks.click_estimates import fixed
from cranfield.online.clicks.click_kinds import CLICK_MODELS
from cranfield.online.clicks.click_pages import PairNames

Key = tuple[Any, ...]
Path = tuple[tuple[int, ...], tuple[tuple[Key, bool], ...]]
Theta = Mapping[Key, float]

CHAINS = ("CM", "DCM", "CCM", "DBN", "SDBN")
BY_STEPS = ("PBM", "UBM", "DBN", "CCM", "DCM", "SDBN")
"""Models that can be fitted by EM."""


def paths(model: str, query: str, docs: Sequence[str]) -> Iterator[Path]:
    """All hidden paths of a user."""
    if model in CHAINS:
        yield from _chain(model, query, docs, 0)
        return
    hidden: list[list[Key]] = []
    for rank, doc in enumerate(docs, start=1):
        hidden.append({
            "RCM": [("c",)], "RCTR": [("c", rank)], "DCTR": [("a", query, doc)],
            "PBM": [("e", rank), ("a", query, doc)], "UBM": [("e", rank, None), ("a", query, doc)],
        }[model])  # fmt: skip
    keys = [key for of_rank in hidden for key in of_rank]
    for happened in itertools.product([False, True], repeat=len(keys)):
        outcome = iter(happened)
        clicks: list[int] = []
        events: list[tuple[Key, bool]] = []
        previous = 0
        for rank, of_rank in enumerate(hidden, start=1):
            each = [(("e", rank, previous) if key == ("e", rank, None) else key, next(outcome)) for key in of_rank]
            clicks.append(int(all(yes for _, yes in each)))
            events += each
            previous = rank if clicks[-1] else previous
        yield tuple(clicks), tuple(events)


def _chain(model: str, query: str, docs: Sequence[str], at: int) -> Iterator[Path]:
    """The paths of a user who examines the document at this place."""
    if at == len(docs):
        yield (), ()
        return
    rest = (0,) * (len(docs) - at - 1)
    attract: Key = ("a", query, docs[at])
    for clicked in (False, True):
        events = ((attract, clicked),)
        if at == len(docs) - 1:
            yield (int(clicked),), events
            continue
        for goes_on, more in _onward(model, query, docs[at], at + 1, clicked):
            if goes_on:
                for clicks, below in _chain(model, query, docs, at + 1):
                    yield (int(clicked), *clicks), events + more + below
            else:
                yield (int(clicked), *rest), events + more


def _onward(model: str, query: str, doc: str, rank: int, clicked: bool) -> Iterator[tuple[bool, tuple[Any, ...]]]:
    """Whether the user goes on, with the hidden events."""
    attract, satisfy = ("a", query, doc), ("s", query, doc)
    if model == "CM":
        yield not clicked, ()
    elif model == "DCM":
        yield from ([(yes, ((("c", rank), yes),)) for yes in (True, False)] if clicked else [(True, ())])
    elif model in ("DBN", "SDBN"):
        if clicked:
            yield False, ((satisfy, True),)
        for yes in (True, False) if model == "DBN" else (True,):
            dissatisfied = ((satisfy, False),) if clicked else ()
            yield yes, dissatisfied + (((("c",), yes),) if model == "DBN" else ())
    elif model == "CCM":
        if not clicked:
            yield from ((yes, ((("c", "skip"), yes),)) for yes in (True, False))
            return
        for relevant in (True, False):
            key = ("c", "hit") if relevant else ("c", "miss")
            yield from ((yes, ((attract, relevant), (key, yes))) for yes in (True, False))


@cache
def paths_to(model: str, query: str, docs: tuple[str, ...], clicks: tuple[int, ...]) -> list[Any]:
    """The hidden events of all paths with these clicks."""
    return [events for done, events in paths(model, query, docs) if done == clicks]


def probability(events: Sequence[tuple[Key, bool]], theta: Theta) -> float:
    return math.prod(theta[key] if yes else 1 - theta[key] for key, yes in events)


def sequences(model: str, query: str, docs: Sequence[str], theta: Theta) -> dict[tuple[int, ...], float]:
    """The probability of every sequence of clicks."""
    total: dict[tuple[int, ...], float] = dict.fromkeys(itertools.product([0, 1], repeat=len(docs)), 0.0)
    for clicks, events in paths(model, query, docs):
        total[clicks] += probability(events, theta)
    return total


Session = tuple[str, tuple[str, ...], tuple[int, ...]]


def expected_counts(model: str, sessions: Sequence[Session], theta: Theta) -> tuple[dict[Key, list[float]], float]:
    """{key: [expected successes, expected failures]} and the log-likelihood, session by session."""
    counts: dict[Key, list[float]] = {key: [0.0, 0.0] for key in theta}
    likelihood = 0.0
    for (query, docs, clicks), times in Counter(sessions).items():
        weights = [(probability(events, theta), events) for events in paths_to(model, query, docs, clicks)]
        total = sum(weight for weight, _ in weights)
        likelihood += times * math.log(total)
        for weight, events in weights:
            for key, yes in events:
                counts[key][0 if yes else 1] += times * weight / total
    return counts, likelihood


def literal_em(
    model: str, sessions: Sequence[Session], start: Theta, anchor: Key | None, prior: tuple[float, float], steps: int
) -> dict[Key, float]:
    """EM as the book says, one session after the other."""
    theta = dict(start)
    for _ in range(steps):
        counts, _ = expected_counts(model, sessions, theta)
        for key, (good, bad) in counts.items():
            if key != anchor and good + bad + sum(prior) > 0:
                theta[key] = (good + prior[0]) / (good + bad + sum(prior))
    return theta


# -- between keys and the arrays of the package

SINGLE = {"click rate": ("c",), "continuation": ("c",)} | {
    "continuation after a skip": ("c", "skip"),
    "continuation after a click, not relevant": ("c", "miss"),
    "continuation after a click, relevant": ("c", "hit"),
}
LETTER = {"attractiveness": "a", "satisfaction": "s"}


def keys_of(model: str, names: PairNames, ranks: int) -> dict[str, list[Key]]:
    """The keys of each parameter of a model, in the order of its values."""
    keys: dict[str, list[Key]] = {}
    for name, scope in CLICK_MODELS[model].parameters.items():
        if name == "relevance":
            continue
        if scope == "pair":
            keys[name] = [(LETTER[name], *pair) for pair in names.keys]
        elif scope == "single":
            keys[name] = [SINGLE[name]]
        elif scope == "rank":
            letter = "e" if name == "examination" else "c"
            keys[name] = [(letter, rank) for rank in range(1, ranks + 1)]
        else:
            keys[name] = [("e", rank, above) for rank in range(1, ranks + 1) for above in range(rank)]
    return keys


def anchor_of(model: str) -> Key | None:
    return {"PBM": ("e", 1), "UBM": ("e", 1, 0)}.get(model)


def random_theta(model: str, names: PairNames, ranks: int, rng: np.random.Generator) -> dict[Key, float]:
    """Random parameters; the anchor is 1."""
    keys = [key for of_name in keys_of(model, names, ranks).values() for key in of_name]
    return {key: 1.0 if key == anchor_of(model) else float(rng.uniform(0.15, 0.85)) for key in keys}


def model_of(model: str, names: PairNames, ranks: int, theta: Theta) -> ClickModel:
    """A fitted model with these parameters."""
    values = {
        name: fixed(np.array([theta[key] for key in keys])) for name, keys in keys_of(model, names, ranks).items()
    }
    if "satisfaction" in values:
        values["relevance"] = fixed(values["attractiveness"].value * values["satisfaction"].value)
    ones = np.ones(len(names))
    return ClickModel(model, names, values, ranks, ones, ones, float("nan"))


def sessions_of(pages: Pages) -> list[Session]:
    """Every session of pages."""
    sessions = []
    names = pages.names.keys
    for row, clicked, count in zip(pages.pair.tolist(), pages.clicked.tolist(), pages.sessions.tolist(), strict=True):
        shown = [names[pair] for pair in row if pair >= 0]
        clicks = tuple(int(yes) for yes, pair in zip(clicked, row, strict=True) if pair >= 0)
        sessions += [(shown[0][0], tuple(doc for _, doc in shown), clicks)] * count
    return sessions


def random_lists(rng: np.random.Generator, sessions: int, queries: int = 2, docs: int = 4, ranks: int = 3) -> Any:
    """Queries and lists of documents, some of them shorter."""
    names = [f"q{number}" for number in rng.integers(0, queries, sessions)]
    lists = [[f"d{doc}" for doc in rng.permutation(docs)[:ranks]] for _ in range(sessions)]
    return names, [row[: ranks - int(rng.random() < 0.2)] for row in lists]


def all_pairs(queries: int = 2, docs: int = 4) -> PairNames:
    return PairNames(
        tuple(f"q{number}" for number in range(queries)),
        np.repeat(np.arange(queries), docs),
        np.array([f"d{doc}" for doc in range(docs)] * queries, dtype=object),
    )


def simulated(model: str, seed: int, sessions: int, **sizes: int) -> tuple[Pages, dict[Key, float]]:
    """Sessions of a model with random parameters, and these."""
    rng = np.random.default_rng(seed)
    ranks = sizes.get("ranks", 3)
    names = all_pairs(sizes.get("queries", 2), sizes.get("docs", 4))
    theta = random_theta(model, names, ranks, rng)
    queries, lists = random_lists(rng, sessions, **sizes)
    clicked = model_of(model, names, ranks, theta).simulate(queries, lists, rng)
    return Pages.of(queries, lists, clicked), theta
