"""How well groups are represented in rankings, above all near the top, and how often a better document is below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.fairness.attention import (
    GEOMETRIC,
    TREC,
    Attention,
    Groups,
    rankings_of,
    relevant_grades,
    scores_of_lists,
)
from cranfield.scores.scores import Scores
from cranfield.types import Array

ROUNDING = 1e-9
"""Sums of shares that differ by less than this are equal."""


def awrf(
    rankings: Any,
    groups: Any,
    target: Any,
    *,
    attention: Attention = TREC,
    base: float = np.e,
    rel: float = 1,
    name: str = "run",
) -> Scores:
    r"""Attention-weighted rank fairness: how close the groups' shares of attention are to a target.

    .. math:: 1 - \text{JS}(\hat{g}, g^*), \quad \hat{g} = \frac{\sum_r a(r)\, m(d_r)}{\sum_r a(r)}

    `target` is {group: share} for all topics (shares are divided by their sum), or judgments: then the target is the
    mean membership of the topic's relevant documents. The divergence is in nats, as in the TREC tracks, so the lowest
    value is 1 − ln 2; with `base=2` it is 0. Several rankings of a topic are averaged.
    Undefined if nothing is retrieved or, with judgments as the target, nothing is relevant.

    Reference: Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the Impact of User Attention on Fair Group
    Representation in Ranked Lists, WWW 2019; Ekstrand, McDonald, Raj & Johnson, Overview of the TREC 2021 Fair Ranking
    Track

    >>> groups = {"d1": "a", "d2": "b"}
    >>> awrf({"q": [["d1", "d2"]]}, groups, {"a": 0.5, "b": 0.5}).mean()["run"]
    {'AWRF': 1.0}
    """
    check.finite("AWRF", base=base)
    if base <= 1:
        raise UsageError(f"AWRF: base == {base!r}, must be above 1")
    if attention.stop:
        raise UsageError(f"AWRF: stop == {attention.stop!r}, must be 0: in AWRF, attention depends only on the rank")
    shown, table = rankings_of(rankings), Groups.of(groups)
    fixed = _fixed_target(target, table)
    grades = {} if fixed is not None else Qrels.of(target).to_dict()
    topics = tuple(shown if fixed is not None else grades)
    values = np.full((1, 1, len(topics)), np.nan)
    for t, topic in enumerate(topics):
        wanted = fixed
        if wanted is None:
            relevant = list(relevant_grades(grades[topic], rel))
            wanted = table.of_documents(relevant).mean(axis=0) if relevant else None
        lists = [ranking for ranking in shown.get(topic, []) if ranking]
        weights = [attention.of(np.zeros(len(ranking), dtype=bool)) for ranking in lists]
        shares = [w @ table.of_documents(docs) / w.sum() for w, docs in zip(weights, lists, strict=True)]
        if wanted is not None and shares:
            values[0, 0, t] = np.mean([1.0 - jensen_shannon(share, wanted) / np.log(base) for share in shares])
    lacking = np.array([[topic not in shown for topic in topics]])
    return Scores(("AWRF",), (name,), topics, values, lacking)


def _fixed_target(target: Any, table: Groups) -> Array | None:
    """Return the target shares in the order of the groups; None if the target is judgments."""
    if not isinstance(target, Mapping) or any(isinstance(share, Mapping) for share in target.values()):
        return None
    unknown = [group for group in target if group not in table.names]
    if unknown:
        raise UsageError(f"target: no group {unknown[0]!r}; there are {', '.join(map(repr, table.names))}")
    shares = np.array([target.get(group, 0.0) for group in table.names], dtype=np.float64)
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise UsageError(f"target == {dict(target)!r}, must be shares of 0 or more, at least one above 0")
    return np.asarray(shares / shares.sum())


def jensen_shannon(p: Array, q: Array) -> float:
    r"""Return the Jensen-Shannon divergence of two distributions, in nats.

    .. math:: \tfrac12 \text{KL}(p, m) + \tfrac12 \text{KL}(q, m), \quad m = \tfrac12 (p + q)

    >>> round(jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])), 4)
    0.6931
    """
    middle = (p + q) / 2
    return max(0.0, (_kullback_leibler(p, middle) + _kullback_leibler(q, middle)) / 2)


def _kullback_leibler(p: Array, q: Array) -> float:
    positive = p > 0
    return float((p[positive] * np.log(p[positive] / q[positive])).sum())


def prefix_fairness(rankings: Any, groups: Any, protected: str, *, step: int = 10, name: str = "run") -> Scores:
    r"""rND, rKL and rRD: compare the share of a protected group in the first 10, 20, ... documents with that in all.

    .. math:: \frac{1}{Z} \sum_{i = 10, 20, \ldots} \frac{1}{\log_2 i}\, \Delta_i

    | measure | difference :math:`\Delta_i` with :math:`s_i` protected among the first i, s among all N |
    |---|---|
    | rND | :math:`\lvert s_i / i - s / N \rvert` |
    | rKL | KL divergence of :math:`(s_i / i, 1 - s_i / i)` from :math:`(s / N, 1 - s / N)` |
    | rRD | :math:`\lvert s_i / (i - s_i) - s / (N - s) \rvert`, a fraction with denominator 0 is 0 |

    Z is the largest value of any ranking of the same documents, so 0 is fair and 1 is the least fair. With soft labels,
    s counts documents by how much they belong to the group. Several rankings of a topic are averaged.
    Undefined if all rankings are equally fair: with `step` or fewer documents, or if all documents have the same label.

    Reference: Yang & Stoyanovich, Measuring Fairness in Ranked Outputs, SSDBM 2017

    >>> groups = {"a": "p", "b": "p", "c": "other", "d": "other"}
    >>> prefix_fairness({"q": [["a", "b", "c", "d"]]}, groups, "p", step=2).mean()["run"]
    {'rND': 1.0, 'rKL': 1.0, 'rRD': 1.0}
    >>> prefix_fairness({"q": [["a", "c", "b", "d"]]}, groups, "p", step=2).mean()["run"]["rND"]
    0.0
    """
    check.whole("prefix_fairness", step=step)
    if step < 2:
        raise UsageError(f"prefix_fairness: step == {step!r}, must be 2 or more: log2(1) is 0")
    shown, table = rankings_of(rankings), Groups.of(groups)
    column = table.column(protected)
    return scores_of_lists(
        tuple(_DIFFERENCES), name, shown, lambda docs: _prefix(table.of_documents(docs)[:, column], step)
    )


def _difference_of_shares(s: Array, i: Array, all_s: float, n: float) -> Array:
    return np.abs(s / i - all_s / n)


def _difference_of_ratios(s: Array, i: Array, all_s: float, n: float) -> Array:
    ratio = np.divide(s, i - s, out=np.zeros_like(s), where=i - s > ROUNDING)
    return np.abs(ratio - (all_s / (n - all_s) if n - all_s > ROUNDING else 0.0))


def _divergence(s: Array, i: Array, all_s: float, n: float) -> Array:
    def part(p: Array, q: float) -> Array:
        return p * np.log(np.divide(p, q, out=np.ones_like(p), where=p > 0)) if q > 0 else np.zeros_like(p)

    rest = np.maximum(1 - s / i, 0.0)
    return np.asarray(part(s / i, all_s / n) + part(rest, 1 - all_s / n))


_DIFFERENCES = {"rND": _difference_of_shares, "rKL": _divergence, "rRD": _difference_of_ratios}


def _prefix(protected: Array, step: int) -> list[float]:
    """Return rND, rKL and rRD of a ranking; `protected` is how much each document belongs to the protected group."""
    n, all_s = len(protected), float(protected.sum())
    if n <= step or np.ptp(protected) <= ROUNDING:
        return [np.nan] * len(_DIFFERENCES)
    cut = np.arange(step, n + 1, step)
    counts = np.vstack([np.cumsum(protected)[cut - 1], _least_fair(protected, cut)])
    results = []
    for difference in _DIFFERENCES.values():
        here, *others = (difference(counts, cut.astype(np.float64), all_s, float(n)) / np.log2(cut)).sum(axis=1)
        worst = max(others)
        results.append(float(here / worst) if worst > ROUNDING else np.nan)
    return results


def _least_fair(protected: Array, cut: NDArray[np.int64]) -> Array:
    """Return the number of members in each prefix (rankings × prefixes), for rankings that include the least fair one.

    For rND and rKL the least fair ranking has all members first or all members last. The fraction of rRD grows as a
    prefix fills up with members, but is 0 if it holds nothing else. So there are further rankings: all members first,
    with the next best document put among them after none, one, two, ... of the prefixes.
    """
    first = np.sort(protected)[::-1]
    best, least = np.cumsum(first)[cut - 1], np.cumsum(first[::-1])[cut - 1]
    members = int((first >= 1 - ROUNDING).sum())
    after = np.concatenate(([0], cut[cut < members]))[:, None]
    less = 1.0 - first[members]  # exists: not all documents are full members
    mixed = np.where((cut > after) & (cut <= members), best - less, best)
    return np.vstack([best, least, mixed])


def pairwise_parity(rankings: Any, groups: Any, *, name: str = "run") -> Scores:
    r"""For each group, the share of pairs of a member and a non-member in which the member is ranked higher.

    .. math:: \frac{\sum_{r < s} m(d_r)\,(1 - m(d_s))}{\sum_{r \ne s} m(d_r)\,(1 - m(d_s))}

    One half is parity; 1 means that the group is ranked above all others, 0 below. Soft labels count pairs by their
    shares. Several rankings of a topic are averaged. Undefined without such pairs.

    Reference: Kuhlman, VanValkenburg & Rundensteiner, FARE: Diagnostics for Fair Ranking using Pairwise Error Metrics,
    WWW 2019

    >>> pairwise_parity({"q": [["x", "y", "z"]]}, {"x": "a", "y": "b", "z": "a"}).mean()["run"]
    {'parity(a)': 0.5, 'parity(b)': 0.5}
    """
    shown, table = rankings_of(rankings), Groups.of(groups)
    names = [f"parity({group})" for group in table.names]
    return scores_of_lists(names, name, shown, lambda docs: _parity(table.of_documents(docs)))


def _parity(member: Array) -> Array:
    other = 1.0 - member
    above = np.cumsum(member, axis=0) - member
    favoured = (above * other).sum(axis=0)
    pairs = member.sum(axis=0) * other.sum(axis=0) - (member * other).sum(axis=0)
    return np.where(pairs > 0, favoured / np.where(pairs > 0, pairs, 1.0), np.nan)


COLUMNS = ("dissatisfied", "inter", "intra", "lost")


def dissatisfaction(
    qrels: Any, rankings: Any, groups: Any, *, attention: Attention = GEOMETRIC, rel: float = 1, name: str = "run"
) -> Scores:
    r"""For each group, the share of pairs in which a member is ranked below a document of lower merit.

    .. math:: \frac{\sum_{i, j:\,v_i > v_j} m(i)\,[r_j < r_i]}{\sum_{i, j:\,v_i > v_j} m(i)}

    The producer of a document is dissatisfied if a document of lower merit stands above it. The merit v is the grade of
    a relevant document; all others have merit 0. `dissatisfied` counts all pairs, `inter` those in which the document
    of lower merit belongs to another group, and `intra` those in which it belongs to the same group. A group that is
    treated worse than others has a higher `inter`; `intra` says how much of the disorder is not about groups. `lost` is
    the attention a(j) − a(i) that members lose in these swaps, averaged over all pairs: a swap near the top counts
    more.

    The paper is about the construct; where it leaves a choice, the rules are ours. A relevant document that was not
    retrieved stands below all that were, with attention 0. The document of lower merit must have been retrieved, since
    nobody sees the others. Documents of equal merit make no pairs. Soft labels count pairs by their shares. Several
    rankings of a topic are averaged. Undefined for a group without such pairs.

    Reference: Fabris, Silvello, Susto & Biega, Pairwise Fairness in Ranking as a Dissatisfaction Measure, WSDM 2023

    >>> qrels, groups = {"q": {"x": 1, "y": 1}}, {"x": "a", "y": "b", "z": "b"}
    >>> scores = dissatisfaction(qrels, {"q": [["x", "z", "y"]]}, groups).mean()["run"]
    >>> scores["dissatisfied(a)"], scores["dissatisfied(b)"], scores["lost(b)"]
    (0.0, 1.0, 0.25)
    """
    shown, table, grades = rankings_of(rankings), Groups.of(groups), Qrels.of(qrels).to_dict()
    topics = [topic for topic in grades if topic in shown]
    values = np.full((len(COLUMNS), len(table.names), len(topics)), np.nan)
    for t, topic in enumerate(topics):
        lists = [ranking for ranking in shown[topic] if ranking]
        scores = [_of_list(docs, relevant_grades(grades[topic], rel), table, attention) for docs in lists]
        if scores:
            values[:, :, t] = np.mean(scores, axis=0)
    names = [f"{column}({group})" for column in COLUMNS for group in table.names]
    return Scores(names, (name,), tuple(topics), values.reshape(len(names), 1, len(topics)))


def _of_list(docs: list[str], merits: dict[str, float], table: Groups, attention: Attention) -> Array:
    """The columns (rows) of each group (column) for one ranking."""
    missed = sorted(set(merits) - set(docs))
    ranked = len(docs)
    merit = np.array([merits.get(doc, 0.0) for doc in [*docs, *missed]])
    member = table.of_documents([*docs, *missed])
    relevant = np.array([doc in merits for doc in docs], dtype=bool)
    weight = np.concatenate((attention.of(relevant), np.zeros(len(missed))))
    place = np.minimum(np.arange(len(merit)), ranked)  # how many documents can stand above
    pairs, swapped, lost = np.zeros((2, member.shape[1])), np.zeros((2, member.shape[1])), np.zeros(member.shape[1])
    for level in np.unique(merit[merit > 0]):
        lower = (merit[:ranked] < level)[:, None]
        mass = np.vstack((np.zeros((1, member.shape[1])), np.cumsum(lower * member[:ranked], axis=0)))
        seen = np.concatenate(([0.0], np.cumsum(lower[:, 0] * weight[:ranked])))
        at = np.flatnonzero(merit == level)
        own, above, every = member[at], mass[place[at]], mass[-1]
        for row, (over, total) in enumerate(
            ((above.sum(axis=1, keepdims=True) - above, every.sum() - every), (above, every))
        ):
            swapped[row] += (own * over).sum(axis=0)
            pairs[row] += (own * total).sum(axis=0)
        lost += (own * (seen[place[at]] - weight[at] * above.sum(axis=1))[:, None]).sum(axis=0)
    counts = np.vstack((swapped.sum(axis=0), swapped, lost))
    over = np.vstack((pairs.sum(axis=0), pairs, pairs.sum(axis=0)))
    return np.where(over > 0, counts / np.where(over > 0, over, 1.0), np.nan)
