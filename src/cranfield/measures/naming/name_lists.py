"""Several names of measures in one text, such as `nDCG@10,AP`."""

from __future__ import annotations

import re
from collections.abc import Iterable


def names_in(texts: Iterable[str]) -> list[str]:
    """The names of measures in texts, separated by commas or blanks outside brackets and quotes.

    Numbers belong to the name before them: further cutoffs after `@`, further parameters in trec_eval's spelling.

    >>> names_in(["nDCG@5,10", "RBP(p=0.8, rel=2) AP'", "P.5,10", "ndcg_1=3,2=9"])
    ['nDCG@5', 'nDCG@10', 'RBP(p=0.8, rel=2)', "AP'", 'P.5,10', 'ndcg_1=3,2=9']
    >>> names_in(["NCUgu,P,AP"])
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
