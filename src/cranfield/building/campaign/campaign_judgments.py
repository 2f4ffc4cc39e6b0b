"""The judgments of a campaign in the form that its measures read: grades, grades by intent, or those of a sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.sampled_qrels import SampledQrels, join_pool
from cranfield.building.serve.exporting import grades, grades_by_row, intents_of_topics
from cranfield.collection.qrels import Qrels

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
        return _by_intent(campaign)
    by_topic: dict[str, dict[str, float]] = {}
    for (topic, doc), grade in grades(campaign.store).items():
        by_topic.setdefault(topic, {})[doc] = grade
    if not by_topic:
        return None
    if campaign.config.pool.samples and (sampled := sampled_judgments(campaign)) is not None:
        return CampaignJudgments(sampled.qrels(), notes=sampled.notes)
    return CampaignJudgments(Qrels.from_dict(by_topic))


def _by_intent(campaign: Campaign) -> CampaignJudgments | None:
    judged = grades_by_row(campaign.store)
    if not judged:
        return None
    lines = "".join(f"{topic} {intent} {doc} {grade:g}\n" for (topic, doc, intent), grade in judged.items())
    intents = intents_of_topics(campaign.store)
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
    judged: dict[str, dict[str, float]] = {}
    for (topic, doc), grade in grades(campaign.store).items():
        judged.setdefault(topic, {})[doc] = grade
    return join_pool(Pool.parse(kept, "sample"), judged, partial=True)
