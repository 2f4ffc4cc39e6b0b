"""The judgments of a campaign in the form that its measures read: grades (also by intent, nugget or dimension, or of a
sample), or preferences between lists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.assessed.dimensions import RELEVANCE
from cranfield.building.campaign.campaign_modes import WINS
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pool_samples import SampledQrels, join_pool
from cranfield.building.serve.project.exporting import grades, grades_by_row, intents_of_topics, nuggets_by_document
from cranfield.collection.qrels import Qrels
from cranfield.scores.scores import Scores

SAMPLE = "campaign sample"
"""Where the database has the sample that was drawn, with the documents that were not."""


@dataclass(frozen=True)
class CampaignJudgments:
    """Judgments, and what `evaluate` needs with them."""

    qrels: Qrels
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def campaign_judgments(campaign: Campaign) -> CampaignJudgments | None:
    """The judgments so far; None if there are none."""
    if campaign.config.mode == "intents":
        return _by_part(campaign, "intent", grades_by_row(campaign.store))
    if campaign.config.mode == "nuggets":
        return _by_part(campaign, "nugget", nuggets_by_document(campaign.store))
    by_topic = by_document(grades(campaign.store))
    if not by_topic:
        return None
    if campaign.config.mode == "dimensions":
        judged = grades_by_row(campaign.store)
        others: dict[str, Any] = {
            name: by_document({(topic, doc): grade for (topic, doc, row), grade in judged.items() if row == name})
            for name in campaign.config.dimensions
            if name != RELEVANCE
        }
        return CampaignJudgments(Qrels.from_dict(by_topic), {"dimensions": others})
    if campaign.config.pool.samples and (sampled := sampled_judgments(campaign)) is not None:
        return CampaignJudgments(sampled.qrels(), notes=sampled.notes)
    return CampaignJudgments(Qrels.from_dict(by_topic))


def by_document(judged: Mapping[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    """{topic: {document: grade}}."""
    by_topic: dict[str, dict[str, float]] = {}
    for (topic, doc), grade in judged.items():
        by_topic.setdefault(topic, {})[doc] = grade
    return by_topic


def _by_part(
    campaign: Campaign, kind: str, judged: Mapping[tuple[str, str, str], float]
) -> CampaignJudgments | None:  # fmt: skip
    """Judgments by intent, or by nugget, which is read as an intent."""
    if not judged:
        return None
    lines = "".join(f"{topic} {part} {doc} {grade:g}\n" for (topic, doc, part), grade in judged.items())
    intents = intents_of_topics(campaign.store, kind)
    probabilities: dict[str, dict[str, float]] = {}
    types: dict[str, dict[str, str]] = {}
    for topic, intent, probability, kind in intents.rows:
        probabilities.setdefault(topic, {})[intent] = probability
        types.setdefault(topic, {})[intent] = kind
    options = {"intent_probabilities": probabilities, "intent_types": types}
    return CampaignJudgments(Qrels.of(lines.encode(), format="diversity"), options, intents.notes)


def sampled_judgments(campaign: Campaign) -> SampledQrels | None:
    """The sample with the judgments so far; drawn documents that are not judged yet count as not drawn."""
    kept = campaign.store.fact(SAMPLE)
    if kept is None:
        return None
    return join_pool(Pool.parse(kept, "sample"), by_document(grades(campaign.store)), partial=True)


def wins(campaign: Campaign, runs: Sequence[str]) -> Scores | None:
    r"""The share of comparisons that each run wins on each topic; None if nothing is judged.

    .. math:: \text{wins} = \frac{\text{preferred} + \text{ties} / 2}{\text{comparisons}}

    Every judgment of every assessor is a comparison. A run without any on a topic has NaN there. Comparisons with runs
    that do not count any more are left out.
    """
    topics = campaign.store.topic_ids()
    row, column = ({name: at for at, name in enumerate(names)} for names in (runs, topics))
    won, made = np.zeros((len(runs), len(topics))), np.zeros((len(runs), len(topics)))
    for topic, payload in campaign.store.database.read(
        "SELECT topic, payload FROM current_qrels WHERE payload IS NOT NULL ORDER BY topic, doc, assessor"
    ):
        said = json.loads(payload)
        if said["first"] not in row or said["second"] not in row:
            continue
        for side in ("first", "second"):
            place = row[said[side]], column[topic]
            made[place] += 1
            won[place] += {side: 1.0, "tie": 0.5}.get(said["preferred"], 0.0)
    judged = np.flatnonzero(made.sum(axis=0))
    if not len(judged):
        return None
    shares = np.divide(won, made, out=np.full_like(won, np.nan), where=made > 0)
    return Scores([WINS], runs, [topics[at] for at in judged.tolist()], shares[None, :, judged])
