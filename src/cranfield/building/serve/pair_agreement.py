"""Agreement between pairs of assessors while they judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class PairAgreement:
    """How two assessors agree on the documents that both judged."""

    first: str
    second: str
    documents: int
    agreement: float
    """The share of documents with the same grade."""
    kappa: float
    """Cohen's kappa: agreement beyond chance; NaN if chance alone would agree always."""


def pair_agreement(labels: Iterable[tuple[str, str, str, float]]) -> list[PairAgreement]:
    r"""Agreement of all pairs of assessors who judged a common document, the largest number of documents first.

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}, \quad p_e = \sum_g p_1(g)\, p_2(g)

    labels: (topic, document, assessor, grade).
    Reference: Cohen, Educational and Psychological Measurement 20(1), 1960, doi:10.1177/001316446002000104

    >>> labels = [("1", "a", "anna", 1), ("1", "a", "ben", 1), ("1", "b", "anna", 0), ("1", "b", "ben", 1)]
    >>> pair_agreement(labels)[0].agreement
    0.5
    """
    grades: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for topic, doc, assessor, grade in labels:
        grades[topic, doc][assessor] = grade
    both: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for given in grades.values():
        for first, second in combinations(sorted(given), 2):
            both[first, second].append((given[first], given[second]))
    pairs = []
    for (first, second), values in both.items():
        size = len(values)
        observed = sum(one == other for one, other in values) / size
        shares: list[dict[float, float]] = [defaultdict(float), defaultdict(float)]
        for pair in values:
            for share, grade in zip(shares, pair, strict=True):
                share[grade] += 1 / size
        expected = sum(share * shares[1].get(grade, 0.0) for grade, share in shares[0].items())
        kappa = (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else float("nan")
        pairs.append(PairAgreement(first, second, size, observed, kappa))
    return sorted(pairs, key=lambda pair: (-pair.documents, pair.first, pair.second))
