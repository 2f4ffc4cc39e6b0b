"""Old module names: they can still be imported; a DeprecationWarning gives the new name."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "by_dimension": "assessed.dimensions",
    "by_rank": "assessed.by_rank",
    "comparison.location": "comparison.methods.t",
    "comparison.nonparametric": "comparison.methods.friedman_and_kruskal",
    "comparison.pairs": "comparison.registry",
    "comparison.ranks": "comparison.methods.wilcoxon_and_sign",
    "comparison.systems": "comparison.compare",
    "comparison.topic_set_size": "comparison.power.topic_set_size",
    "dimensions": "evaluation.dimension_scores",
    "explanation": "evaluation.explanation",
    "groups": "fairness.groups",
    "hits_by_intent": "assessed.hits_by_intent",
    "intents": "assessed.intents",
    "join_options": "assessed.join_options",
    "joining": "assessed.join",
    "lengths": "assessed.lengths",
    "measures.parse": "measures.naming.parse",
    "meta.concordance": "meta.agreement.concordance",
    "meta.correlation": "meta.agreement.correlation",
    "meta.discrimination": "meta.stability.discrimination",
    "meta.generalisability": "meta.stability.generalisability",
    "meta.leave_out": "meta.judgments.leave_out",
    "meta.robustness": "meta.judgments.robustness",
    "meta.swap": "meta.stability.swap",
    "pool_bias": "evaluation.pool_bias",
    "residuals": "evaluation.residuals",
    "risk": "scores.risk",
    "sampling": "assessed.sampling",
    "score_files": "scores.score_files",
    "segments": "assessed.segments",
}
"""Old name: new name, both below `cranfield`."""


class MovedModule(ModuleType):
    """The contents of a module under its old name.

    Importing it hides a function of the same name in its package, so a call of the module calls that function.
    """

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name)
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return getattr(self._target, self.__name__.rpartition(".")[2])(*args, **options)


class MovedModules:
    """Find modules by their old names, after all other finders have failed.

    This is a finder and a loader without the base classes of `importlib.abc`, which take 10 ms to import.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        moved = name.startswith("cranfield.") and name.removeprefix("cranfield.") in MOVED
        return ModuleSpec(name, self) if moved else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = f"cranfield.{MOVED[spec.name.removeprefix('cranfield.')]}"
        warnings.warn(f"{spec.name} has moved to {new}", DeprecationWarning, stacklevel=2)
        return MovedModule(spec.name, import_module(new))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the new module is already loaded."""


def install() -> None:
    """Make the old names importable."""
    sys.meta_path.append(MovedModules())
