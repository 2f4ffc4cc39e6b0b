"""What organisers do to teams is in the log of the campaign, whichever page they use."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.serve.project import accounts
from cranfield.errors import UsageError
from tests.building.campaign.players import PASSWORD, make_campaign


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    make_campaign(tmp_path)
    made = Campaign(str(tmp_path / "notes"))
    made.register("red", "Red", "red@example.org", PASSWORD, made.join_code)
    return made


def test_a_team_is_not_switched_without_an_event(campaign: Campaign) -> None:
    """The leaderboard is made again only after an event."""
    with campaign:
        with pytest.raises(UsageError, match="'red' is a team; switch it on or off on the page Campaign"):
            accounts.set_active(campaign.store, "red", False)
        assert campaign.teams()[0].active
        before = campaign.last_event()
        campaign.switch_team("red", False, "olga")
        campaign.new_password("red", "olga")
        events = [(one.who, one.what, one.data) for one in campaign.events() if one.number > before]
        assert events == [
            ("olga", "switch", {"team": "red", "active": False}),
            ("olga", "new password", {"team": "red"}),
        ]
        assert not campaign.teams()[0].active


@pytest.mark.parametrize("name", ["RED", "Olga", "\uff52\uff45\uff44"])
def test_a_team_cannot_take_a_name_that_looks_like_another(campaign: Campaign, name: str) -> None:
    with campaign, pytest.raises(UsageError, match="name == "):
        campaign.register(name, "Other", "x@example.org", PASSWORD, campaign.join_code)
