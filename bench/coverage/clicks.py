"""Intervals of click models (`clicks fit`): logs that the model itself made, with documents of low attractiveness.

The outcomes of a data set are its parameters of ranks and of the model, and some documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from numpy.typing import NDArray

from cranfield.online.clicks import fit_clicks
from cranfield.online.clicks.click_pages import Pages

RANKS, QUERIES, CANDIDATES = 5, 30, 8
ATTRACTIVE = {"attractiveness near 0.2": (2.0, 8.0), "attractiveness near 0.05": (1.0, 19.0), "half attractive": (3, 3)}
EXAMINED = 1 / np.arange(1, RANKS + 1)
AFTER = {
    "DBN": {"continuation": np.array([0.85])},
    "DCM": {"continuation": np.linspace(0.7, 0.4, RANKS)},
    "CCM": {
        "continuation after a skip": np.array([0.85]),
        "continuation after a click, not relevant": np.array([0.6]),
        "continuation after a click, relevant": np.array([0.3]),
    },
}
"""The true parameters of models that go on."""
PARAMETERS = {
    ("PBM", ("examination", "attractiveness")): 6,
    ("UBM", ("examination", "attractiveness")): 5,
    ("DBN", ("continuation", "attractiveness", "satisfaction")): 8,
    ("CCM", (*AFTER["CCM"], "attractiveness")): 0,
    ("DCM", ("continuation", "attractiveness")): 3,
    ("SDBN", ("satisfaction", "attractiveness")): 3,
    ("CM", ("attractiveness",)): 0,
    ("DCTR", ("attractiveness",)): 0,
}
"""The parameters of each model, and the data sets in the tests."""
OF_DOCUMENTS = 20
"""Documents whose intervals are looked at."""


def cases() -> list[Case]:
    made = []
    usual = next(iter(ATTRACTIVE))
    for (model, parameters), small in PARAMETERS.items():
        for parameter in parameters:
            for kind in ATTRACTIVE if model in ("PBM", "DBN") else [usual]:
                for sessions in (1_000, 5_000) if kind == usual else (5_000,):
                    made.append(
                        Case(
                            f"{parameter} of {model}", kind, f"{sessions:,} sessions",
                            partial(fitted, model, parameter, kind, sessions), trials=100,
                            small=small if kind == usual and sessions == 5_000 and parameter == parameters[0] else 0,
                        )
                    )  # fmt: skip
    return made


def fitted(model: str, parameter: str, kind: str, sessions: int, rng: np.random.Generator) -> Iterator[Outcome]:
    truth, pages = world(model, kind, sessions, rng)
    found = fit_clicks(pages, model)
    if parameter not in ("attractiveness", "satisfaction"):
        values, shown = truth[parameter], found.value(parameter)
        # The first examination is 1 by definition, and nobody goes on after the last rank.
        for place in range(parameter == "examination", max(len(values) - (model == "DCM"), 1)):
            yield covers(float(values[place]), float(shown.low[place]), float(shown.high[place]))
        return
    pairs = found.pair_columns()
    for place in np.linspace(0, len(pairs["doc"]) - 1, OF_DOCUMENTS).astype(int).tolist():
        number = int(pairs["query"][place]) * CANDIDATES + int(pairs["doc"][place])
        ends = (float(pairs[f"{parameter} {end}"][place]) for end in ("low", "high"))
        yield covers(float(truth[parameter][number]), *ends)


def world(
    model: str, kind: str, sessions: int, rng: np.random.Generator
) -> tuple[dict[str, NDArray[np.float64]], Pages]:
    """Queries with candidates in a random order, and users of the model."""
    attractive = rng.beta(*ATTRACTIVE[kind], QUERIES * CANDIDATES)
    satisfied = rng.beta(3, 3, QUERIES * CANDIDATES)
    truth = {"attractiveness": attractive}
    query = rng.integers(0, QUERIES, sessions)
    docs = rng.permuted(np.tile(np.arange(CANDIDATES), (sessions, 1)), axis=1)[:, :RANKS]
    pair = query[:, None] * CANDIDATES + docs
    chance = rng.random((sessions, RANKS)) < attractive[pair]
    clicked = np.zeros((sessions, RANKS), dtype=int)
    reads, last = np.ones(sessions, dtype=bool), np.zeros(sessions, dtype=int)
    if model == "UBM":
        places = [(rank, above) for rank in range(1, RANKS + 1) for above in range(rank)]
        truth["examination"] = np.array([1.0, *(0.3 + 0.5 / (rank - above) ** 0.7 for rank, above in places[1:])])
    elif model == "PBM":
        truth["examination"] = EXAMINED
    elif model in AFTER:
        truth |= AFTER[model]
    if model in ("DBN", "SDBN"):
        truth["satisfaction"] = satisfied
    for rank in range(RANKS):
        examined = reads
        if model == "PBM":
            examined = rng.random(sessions) < EXAMINED[rank]
        elif model == "UBM":
            examined = rng.random(sessions) < truth["examination"][rank * (rank + 1) // 2 + last]
        click = examined & chance[:, rank]
        clicked[:, rank] = click
        last = np.where(click, rank + 1, last)
        on = np.ones(sessions)
        if model == "CM":
            on = np.where(click, 0.0, 1.0)
        elif model == "DCM":
            on = np.where(click, truth["continuation"][rank], 1.0)
        elif model in ("DBN", "SDBN"):
            on = np.where(click, 1 - satisfied[pair[:, rank]], 1.0) * (0.85 if model == "DBN" else 1.0)
        elif model == "CCM":
            skip, miss, hit = (float(value[0]) for value in AFTER["CCM"].values())
            worth = attractive[pair[:, rank]]
            on = np.where(click, miss * (1 - worth) + hit * worth, skip)
        reads = reads & (rng.random(sessions) < on)
    names = [[str(doc) for doc in row] for row in docs.tolist()]
    return truth, Pages.of([str(number) for number in query.tolist()], names, clicked.tolist())
