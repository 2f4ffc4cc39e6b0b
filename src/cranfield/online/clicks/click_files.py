"""Click models as files: JSON with a version."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, read_bytes, shown_path, write_bytes
from cranfield.errors import DataError
from cranfield.online.clicks.click_estimates import Estimates
from cranfield.online.clicks.click_kinds import CLICK_MODELS, PAIR
from cranfield.online.clicks.click_model import ClickModel
from cranfield.online.clicks.click_pages import PairNames
from cranfield.record import plain
from cranfield.text import shown as shown_text
from cranfield.types import Array

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
    except ValueError as error:
        raise DataError(where, None, f"is not a click model: it is not valid JSON ({error})") from None
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
