"""What can be read as judgments or as runs, for type checkers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

from cranfield.collection.source import Readable

if TYPE_CHECKING:
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import Run
    from cranfield.collection.topics import Topics


class Frame(Protocol):
    """A data frame of pandas or polars, or an Arrow table."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""


class ArrowStream(Protocol):
    """Any other table that offers the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


FrameLike: TypeAlias = Frame | ArrowStream
Content: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | Readable | Frame | ArrowStream
"""A path, the bytes of a file, an open file, or a frame."""
Numbers: TypeAlias = Mapping[Any, Mapping[Any, float]]
"""{topic: {document: number}}."""
Documents: TypeAlias = Mapping[Any, Sequence[str] | Set[str]]
"""{topic: [document, ...]}: ranked documents, or relevant ones."""
Records: TypeAlias = Iterable[tuple[object, ...]] | Iterable[Mapping[str, object]]
"""Tuples, named tuples or dicts, one for each document."""

QrelsLike: TypeAlias = Union["Qrels", Content, Numbers, Documents, Records]
"""Anything that `Qrels.of` reads."""
RunLike: TypeAlias = Union["Run", Content, Numbers, Documents, Records]
"""Anything that `Run.of` reads."""
RunsLike: TypeAlias = Union[RunLike, Mapping[str, RunLike], Sequence[RunLike]]  # noqa: UP007
"""One run, a list of runs, or {name: run}."""
TopicsLike: TypeAlias = Union["Topics", str, os.PathLike[str], bytes, Mapping[str, str]]
"""`Topics`, a file of topics or its bytes, or {topic: query}."""
