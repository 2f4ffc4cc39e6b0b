"""The options of every verb that joins runs with judgments: how files are read, how lists are ranked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield.cli.parser import (
    DimensionFiles,
    Inclusion,
    IntentProbabilities,
    IntentTypes,
    Lengths,
    MissingLength,
    OnDuplicate,
    Order,
    Precision,
    QrelsFormat,
    RunFormat,
    assumed_length,
    named_files,
)
from cranfield.cli.printing import only_one_from_stdin

if TYPE_CHECKING:
    from cranfield.collection.qrels import Qrels


@dataclass(frozen=True)
class Joining:
    """A parameter of this type is a verb's way to say that it takes all of these options."""

    order: Order = None
    precision: Precision = 64
    on_duplicate: OnDuplicate = "error"
    run_format: RunFormat = None
    qrels_format: QrelsFormat = None
    intent_probabilities: IntentProbabilities = None
    intent_types: IntentTypes = None
    lengths: Lengths = None
    missing_length: MissingLength = None
    inclusion: Inclusion = None
    dimension: DimensionFiles = None

    def options(self) -> dict[str, Any]:
        """What `evaluate` and `JoinOptions` call them."""
        return {
            "order": self.order,
            "precision": self.precision,
            "on_duplicate": self.on_duplicate,
            "format": self.run_format,
            "intent_probabilities": self.intent_probabilities,
            "intent_types": self.intent_types,
            "lengths": self.lengths,
            "missing_length": assumed_length(self.missing_length),
            "inclusion": self.inclusion,
            "dimensions": named_files(self.dimension),
        }

    def only_one_from_stdin(self, *paths: str | None) -> None:
        """Complain if more than one of these files and those of the options is standard input."""
        beside = (self.intent_probabilities, self.intent_types, self.lengths, self.inclusion)
        only_one_from_stdin(*paths, *beside, *(named_files(self.dimension) or {}).values())

    def judgments(self, path: str) -> Qrels:
        """The judgments in a file, read as the options say."""
        from cranfield.collection.qrels import Qrels

        return Qrels.read(path, format=self.qrels_format, on_duplicate=self.on_duplicate)


AS_USUAL = Joining()
