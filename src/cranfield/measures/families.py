"""The families of measures: each file of this folder is one, and its first line is the family's title and summary."""

from __future__ import annotations

import inspect
import sys

from cranfield.measures.base import REGISTRY, Measure

ORDER = (
    "sets", "contingency", "counts", "ranked", "graded", "first", "ncu", "ntcir", "cwl", "cwl_members", "recall",
    "estimates", "compatibility", "total_orders", "time", "incomplete", "sampled", "diversity", "novelty", "difficulty",
    "multidimensional", "trec",
)  # fmt: skip
"""The order of the families in lists; a family that is not named here comes last."""
OWN = "Measures of your own"


def title_and_summary(kind: type[Measure]) -> tuple[str, str]:
    """The title of a measure's family, and what its measures have in common.

    >>> title_and_summary(REGISTRY["AP"])
    ('Ranked lists, many relevant documents', 'measures for a reader who wants to find many.')
    """
    if not kind.__module__.startswith("cranfield."):
        return OWN, ""
    first = (inspect.getdoc(sys.modules[kind.__module__]) or kind.__module__).split("\n")[0]
    title, _, summary = first.partition(": ")
    return title.rstrip("."), summary


def by_family() -> dict[str, list[type[Measure]]]:
    """All measures, grouped by the module of their family, in the order of lists."""
    modules = dict.fromkeys(f"cranfield.measures.{family}" for family in ORDER)
    modules.update(dict.fromkeys(kind.__module__ for kind in REGISTRY.values()))
    families: dict[str, list[type[Measure]]] = {module: [] for module in modules}
    for kind in REGISTRY.values():
        families[kind.__module__].append(kind)
    return {module: kinds for module, kinds in families.items() if kinds}
