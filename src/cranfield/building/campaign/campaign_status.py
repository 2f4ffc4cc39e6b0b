"""How far a campaign is: the phase, and what each team has submitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.serve.project.judging_status import status
from cranfield.record import Record, column
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Index64

PLURALS = {"document": "documents", "pair of lists": "pairs of lists"}


@dataclass(frozen=True, eq=False, repr=False)
class CampaignStatus(Record):
    """The state of a campaign, with a row per team."""

    facts = ("name", "phase", "topics", "pool", "wanted", "judged")

    name: str
    phase: str
    topics: int
    pool: int
    """The documents of the pool; in the mode preferences, the pairs of lists to compare."""
    wanted: int
    judged: int
    """Judgments that are wanted in all, and those that are made."""
    team: Annotated[tuple[str, ...], column()]
    state: Annotated[tuple[str, ...], column()]
    submitted: Annotated[Index64, column()]
    counting: Annotated[Index64, column()]
    refused: Annotated[Index64, column()]
    """Files that were refused, because they broke a rule."""
    last: Annotated[tuple[str, ...], column("last run")]
    """The tag of the last submission."""
    notes: tuple[str, ...] = ()
    pooled: str = "document"
    """What the pool holds: documents, or pairs of lists."""

    def table(self) -> Table:
        """A row per team, and lines about the whole."""
        table = super().table()
        pool = counted(self.pool, self.pooled, PLURALS[self.pooled])
        judged = f"{self.judged:,} of {counted(self.wanted, 'judgment')} of {pool}"
        return Table(table.columns, table.rows, self.name, (f"phase: {self.phase}", judged, *self.notes))


def campaign_status(campaign: Campaign) -> CampaignStatus:
    """The state of a campaign."""
    state, teams, submissions = status(campaign.store), campaign.teams(), campaign.submissions()
    refused = [event.who for event in campaign.events() if event.what == "refused"]
    of = {team.name: [submission for submission in submissions if submission.team == team.name] for team in teams}
    ((topics,),) = campaign.store.database.read("SELECT COUNT(*) FROM topic")
    closed = campaign.config.closed(campaign.phase)
    return CampaignStatus(
        campaign.config.name,
        campaign.phase,
        int(topics),
        state.documents,
        state.wanted,
        state.counted,
        tuple(team.name for team in teams),
        tuple("active" if team.active else "off" for team in teams),
        np.array([len(of[team.name]) for team in teams], dtype=np.int64),
        np.array([sum(submission.counts for submission in of[team.name]) for team in teams], dtype=np.int64),
        np.array([refused.count(team.name) for team in teams], dtype=np.int64),
        tuple(of[team.name][-1].tag if of[team.name] else "" for team in teams),
        (closed,) if closed else (),
        "pair of lists" if campaign.config.mode == "preferences" else "document",
    )
