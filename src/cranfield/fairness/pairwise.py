"""Dissatisfaction: how often a document is ranked below one of lower merit, by group."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.collection.qrels import Qrels
from cranfield.fairness.attention import GEOMETRIC, Attention, rankings_of, relevant_grades
from cranfield.fairness.groups import Groups
from cranfield.scores.scores import Scores
from cranfield.types import Array

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
        found = [_of_list(docs, relevant_grades(grades[topic], rel), table, attention) for docs in lists]
        if found:
            values[:, :, t] = np.mean(found, axis=0)
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
