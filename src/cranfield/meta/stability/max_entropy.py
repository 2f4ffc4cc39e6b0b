"""The most random list with a given score: how likely is the document at each rank to be relevant?

Documents are relevant independently of each other, with probability p_r at rank r. Among all such lists with a given
expected score and number of relevant documents, the list of maximum entropy assumes nothing else. If the score depends
on intents, every intent has its own probabilities.
"""

from __future__ import annotations

import numpy as np

from cranfield import _core, check
from cranfield.comparison.resampling import threads_of
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.measures import Measure
from cranfield.meta.stability.expected_scores import NEGLIGIBLE, ExpectedScore, expected_of_rows, repetition
from cranfield.types import Array, Index64

NOT_A_SUM = "expected values of independent documents are not known"


def max_entropy(measure: object, value: float, *, length: int, relevant: int, found: float | None = None) -> Array:
    r"""The probability of relevance at each rank of the most random list of `length` documents with this score.

    .. math:: \max_p \sum_{r=1}^{N} H(p_r) \quad\text{subject to}\quad E[M] = v, \quad \sum_r p_r = R_{ret}

    E[M] is a weighted sum of :math:`p_r` for additive measures (P@k, Rprec, R@k, DCG, nDCG, RBP, ...),
    :math:`\frac{1}{R} \sum_r \frac{p_r}{r} \left(1 + \sum_{j<r} p_j\right)` for AP and similar for Q, and
    :math:`\sum_r w(r) p_r \prod_{j<r} (1 - \alpha p_j)` for cascade measures (ERR, RR, Success). `relevant` is R,
    `found` the number of relevant documents in the list (default: all of them).

    Reference: Aslam, Yilmaz & Pavlu, The maximum entropy method for analyzing retrieval measures, SIGIR 2005, 27-34;
    Ashkan & Clarke, On the informativeness of cascade and intent-aware effectiveness measures, WWW 2011, 407-416

    >>> max_entropy("P@2", 0.5, length=6, relevant=2).round(3).tolist()
    [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    >>> max_entropy("RR", 1.0, length=4, relevant=2).round(3).tolist()
    [1.0, 0.333, 0.333, 0.333]
    """
    check.whole("max_entropy", length=length, relevant=relevant)
    check.finite("max_entropy", value=value)
    retrieved = float(min(relevant, length) if found is None else found)
    check.between("max_entropy", low=0, high=min(relevant, length), found=retrieved)
    parsed = as_measures(measure)[0]  # type: ignore[arg-type]
    check_informative(parsed)
    lengths = np.array([length])
    parts = expected_of_rows(parsed, np.array([float(relevant)]), lengths, length)
    assert parts is not None  # check_informative
    expected = ExpectedScore((parts[0],), parts[1])
    p, error = solve(expected, np.array([float(value)]), np.array([retrieved]), lengths, np.array([0, 1]))
    if error[0] > 1e-3:
        lists = f"no list of {length} documents with {retrieved:g} of {relevant} relevant ones"
        raise UsageError(f"{lists} has an expected {parsed} of {value:g}")
    return np.asarray(p[0])


def check_informative(measure: Measure) -> None:
    """Refuse a measure of plain lists whose expected value is not known."""
    if repetition(measure) is None:
        way_out = "give AP, Q, RR, ERR, or an additive measure such as P@10, Rprec, R@100, nDCG@10 or RBP"
        raise UsageError(f"{measure}: {NOT_A_SUM}; {way_out}")


def solve(
    expected: ExpectedScore,
    value: Array,
    found: Array,
    length: Index64,
    start: Index64,
    lists: slice | None = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """Probabilities, rows × ranks, and the error of each list's score; `lists` are the ones to solve (default: all).

    `value` has a score per list; `found` and `length` a number per row; `start` is where the rows of each list begin.
    The constraints of expected scores that are not linear are linearised around the last solution, until it no longer
    changes.
    """
    lists = slice(0, len(value)) if lists is None else lists
    rows = slice(int(start[lists.start]), int(start[lists.stop]))
    parts = expected.parts
    offset = np.cumsum([0, *(len(part.tables) for part in parts)])
    tables = np.concatenate([part.tables for part in parts])
    largest = np.abs(tables).max(axis=1, keepdims=True)
    counts = np.abs(tables) > NEGLIGIBLE * largest
    used = np.where(counts.any(axis=1), tables.shape[1] - np.argmax(counts[:, ::-1], axis=1), 0)
    table_of = np.concatenate([part.table[rows] + first for part, first in zip(parts, offset.tolist(), strict=False)])
    p, reached = _core.max_entropy(
        np.ascontiguousarray(start[lists.start : lists.stop + 1] - start[lists.start], dtype=np.int64),
        np.ascontiguousarray((value - expected.constant)[lists], dtype=np.float64),
        np.ascontiguousarray(found[rows], dtype=np.float64),
        np.ascontiguousarray(length[rows], dtype=np.int64),
        np.ascontiguousarray(tables, dtype=np.float64).ravel(),
        np.ascontiguousarray(used, dtype=np.int64),
        np.ascontiguousarray(table_of, dtype=np.int32),
        np.concatenate([part.scale[rows] for part in parts]).astype(np.float64),
        np.concatenate([part.alpha[rows] for part in parts]).astype(np.float64),
        tables.shape[1],
        len(parts),
        threads_of(threads),
    )
    return p.reshape(-1, tables.shape[1]), np.abs(reached - (value - expected.constant)[lists])
