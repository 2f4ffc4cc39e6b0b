"""The names that measures go by, and what to say of those that none does."""

from __future__ import annotations

from collections.abc import Mapping

from cranfield.measures.base import REGISTRY, Measure
from cranfield.views.by_intent import ByIntent


def names() -> dict[str, type[Measure]]:
    """Every name that a measure goes by, aliases included."""
    found: dict[str, type[Measure]] = {}
    for kind in REGISTRY.values():
        for alias in kind.aliases:
            found.setdefault(alias, kind)
    return {**found, **REGISTRY}


ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(
        ("gm_map", "GMAP", "GM-MAP", "gmap"),
        'the geometric mean of AP: `-m AP --statistic gmean`, in Python Scores.summary("gmean")',
    ),
    "gm_bpref": 'the geometric mean of bpref: `-m bpref --statistic gmean`, in Python Scores.summary("gmean")',
    **{
        kind: f"what a measure's scores risk against a baseline: `--statistic {kind} --baseline RUN` with the measure, "
        f'in Python Scores.risk("{kind}", "RUN")'
        for kind in ("URisk", "TRisk")
    },
    "GeoRisk": "what a measure's scores risk against all runs: `--statistic GeoRisk` with the measure, "
    'in Python Scores.risk("GeoRisk")',
    **dict.fromkeys(("num_q", "NumQ"), "the number of topics, which every table of scores has"),
    **dict.fromkeys(
        ("AWRF", "EE-D", "EE-R", "EE-L", "rND", "rKL", "rRD", "parity", "exposure", "equity"),
        "a measure of fairness: see `cranfield fairness --help`, in Python cranfield.fairness",
    ),
    "runid": "the name of the run, not a measure",
    "relstring": "a string, not a number: see `cranfield explain`",
}
LONGEST_NAME = 60


def unknown(name: str, known: Mapping[str, type[Measure]]) -> str:
    if name in ELSEWHERE:
        return f"{name} is {ELSEWHERE[name]}"
    if f"{name}{ByIntent.mark}" in known:  # a measure of its own, such as alpha#-nDCG-IA
        return f"there is no measure {name!r}; did you mean {known[f'{name}{ByIntent.mark}'].name}?"
    import difflib  # only to help after a mistake

    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
    lower = name[:LONGEST_NAME].lower()  # comparing takes the square of the length
    lowered = {there.lower(): kind.name for there, kind in known.items()}
    near = dict.fromkeys(lowered[found] for found in difflib.get_close_matches(lower, lowered, n=3, cutoff=0.5))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no measure {shown!r}{hint} (`cranfield measures` lists them all)"
