"""Which runs of several collections belong together: they are matched by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cranfield.collection.source import stem
from cranfield.scores.scores import Scores


def matched_names(parts: Mapping[str, Scores], paths: Mapping[str, Sequence[str]]) -> tuple[dict[str, Scores], str]:
    """The scores of each collection with names of runs that match best, and a note on the names.

    Runs are called by their tags, by their file names, or by these without the name of the collection, whichever gives
    the fewest different runs; tags if it is a tie. `paths` has the file of each run, and nothing for collections whose
    runs have names of their own, which are kept.

    >>> parts = {"nq": Scores.from_matrix([[0.5, 0.6]], runs=["nq-a", "nq-b"]),
    ...          "fever": Scores.from_matrix([[0.1]], runs=["anserini"])}
    >>> matched, note = matched_names(parts, {"nq": ["a.nq.run", "b.nq.run"], "fever": ["runs/a.fever.run"]})
    >>> [scores.runs for scores in matched.values()], note
    ([('a', 'b'), ('a',)], 'runs are called by their file names without the name of the collection, ...')
    """
    tags = {name: list(scores.runs) for name, scores in parts.items()}
    files = {name: [stem(path) for path in paths[name]] if paths.get(name) else tags[name] for name in parts}
    without = {
        name: [_without(file, name) for file in files[name]] if paths.get(name) else tags[name] for name in parts
    }
    ways = {"": tags, "their file names": files, "their file names without the name of the collection": without}
    usable = {
        how: names
        for how, names in ways.items()
        if all(len(set(names[name])) == len(parts[name].runs) == len(names[name]) for name in parts) or not how
    }
    how = min(usable, key=lambda way: len({run for names in usable[way].values() for run in names}))
    if not how:
        return dict(parts), ""
    renamed = {name: replace(scores, runs=tuple(usable[how][name])) for name, scores in parts.items()}
    return renamed, f"runs are called by {how}, because their tags match less well across collections"


def _without(file: str, collection: str) -> str:
    """The name of a file without that of the collection and the signs around it.

    >>> _without("run.beir.bm25.nfcorpus", "nfcorpus"), _without("nfcorpus", "nfcorpus")
    ('run.beir.bm25', 'nfcorpus')
    """
    pieces = re.split(rf"[-_.]*{re.escape(collection)}(?![A-Za-z0-9])[-_.]*", file, flags=re.IGNORECASE)
    return "-".join(piece for piece in pieces if piece) or file
