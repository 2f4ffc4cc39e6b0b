"""Measures as `-m` names them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.measures import Measure


def chosen(texts: Iterable[str] | None) -> list[Measure]:
    """The measures that `-m` names, each once; the default ones if it was not given."""
    from cranfield.measures import DEFAULT, parse_many

    if not texts:
        return list(DEFAULT)
    measures: list[Measure] = []
    for name in measure_names(texts):
        for measure in parse_many(name):
            if measure not in measures:
                measures.append(measure)
    return measures


def score_names(texts: Iterable[str] | None) -> list[str]:
    """The names that `-m` gives, as a file of scores has them: as measures print, others unchanged."""
    names = []
    for name in measure_names(texts) if texts else []:
        try:
            names.append(str(chosen([name])[0]))
        except UsageError:
            names.append(name)
    return names


def measure_names(texts: Iterable[str]) -> list[str]:
    """The names in the values of `-m`, separated by commas or blanks outside brackets and quotes.

    Numbers belong to the name before them: further cutoffs after `@`, further parameters in trec_eval's spelling.

    >>> measure_names(["nDCG@5,10", "RBP(p=0.8, rel=2) AP'", "P.5,10", "ndcg_1=3,2=9"])
    ['nDCG@5', 'nDCG@10', 'RBP(p=0.8, rel=2)', "AP'", 'P.5,10', 'ndcg_1=3,2=9']
    >>> measure_names(["NCUgu,P,AP"])
    ['NCUguP', 'AP']
    """
    names: list[str] = []
    for text in texts:
        begun = len(names)
        text = re.sub(r"NCU(gu|rb),(P|BR)\b", r"NCU\1\2", text)  # NTCIREVAL's names have a comma
        for piece in _pieces(re.sub(r"\s*@\s*", "@", text)):
            if len(names) == begun or not re.fullmatch(r"[-+.\d=]+", piece):
                names.append(piece)
            elif cutoff := re.fullmatch(r"(.*@)[.\d]+", names[-1]):
                names.append(cutoff[1] + piece)
            else:
                names[-1] += f",{piece}"
    if not names:
        raise UsageError("-m names no measure; give one such as nDCG@10")
    return names


def _pieces(text: str) -> list[str]:
    pieces, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "([{") - (letter in ")]}")
            if depth <= 0 and (letter == "," or letter.isspace()):
                pieces.append("")
                continue
        pieces[-1] += letter
    return [piece for piece in pieces if piece]
