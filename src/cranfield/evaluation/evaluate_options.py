"""The keyword arguments of `evaluate`, as a type, for functions that pass them on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from cranfield.collection.accepted_inputs import Content, Numbers, QrelsLike
from cranfield.types import Progress

if TYPE_CHECKING:
    from concurrent.futures import Executor


class EvaluateOptions(TypedDict, total=False):
    """The keyword arguments of `evaluate`; a test compares them with its signature."""

    missing: str
    order: str | None
    ties: str
    precision: int
    on_duplicate: str
    depth: int | None
    format: str | None
    split_tags: bool
    threads: int | None
    memory: int | str | None
    intent_probabilities: Content | Numbers | None
    intent_types: Content | Mapping[Any, Mapping[Any, str]] | None
    lengths: Content | Mapping[Any, float] | None
    missing_length: float | str | None
    strata: bool
    inclusion: Content | Numbers | None
    dimensions: Mapping[str, QrelsLike] | None
    empty_intents: str
    topic_numbers: Content | Numbers | None
    together: Content | Mapping[Any, Mapping[Any, Iterable[str]]] | None
    progress: Progress | None
    shards: int | None
    executor: Executor | None
    resume: str | os.PathLike[str] | None
