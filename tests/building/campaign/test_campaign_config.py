"""The file of a campaign: what it means, and what is said about mistakes in it."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.campaign.campaign_config import config_of, read_config, starter
from cranfield.errors import DataError, UsageError

LEAST: dict[str, Any] = {"name": "Notes", "measures": ["nDCG@10"]}


def test_the_file_of_a_new_campaign_says_the_defaults() -> None:
    text = starter('Notes "2027"', ["nDCG@10", "AP"], documents="any")
    assert config_of(tomllib.loads(text)) == config_of({"name": 'Notes "2027"', "measures": ["nDCG@10", "AP"]})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"rules": {"dept": 10}}, "no entry 'rules.dept'"),
        ({"rules": {"depth": "10"}}, "rules.depth == '10', must be a whole number"),
        ({"rules": {"depth": 0}}, "depth == 0"),
        ({"rules": {"tag": "["}}, "is not a regular expression"),
        ({"rules": {"bytes": 10**12}}, "must be at most"),
        ({"measures": ["nDGC@10"]}, "nDCG"),
        ({"measures": []}, "measures is missing"),
        ({"pool": {"method": "stratified"}}, "from the sample that stratified draws"),
        ({"judging": {"grades": ["only one"]}}, "grades: there are 1"),
        ({"results": {"public": "yes"}}, "results.public == 'yes', must be true or false"),
        ({"phases": {"submission": {"closes": "soon"}}}, "phases.submission.closes == 'soon', must be a time"),
        ({"phases": {"submision": {}}}, "no entry 'phases.submision'"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_entry(table: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        config_of({**LEAST, **table})
    assert message in str(caught.value)


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text("name = ")
    with pytest.raises(DataError, match=r"campaign\.toml: not valid TOML"):
        read_config(str(tmp_path))


def test_a_phase_is_open_between_its_dates() -> None:
    opens, closes = datetime(2027, 1, 10, tzinfo=UTC), datetime(2027, 3, 1)  # without a zone: UTC
    config = config_of({**LEAST, "phases": {"submission": {"opens": opens, "closes": closes}}})
    assert config.closed("submission", datetime(2027, 2, 1, tzinfo=UTC)) is None
    early, late = datetime(2027, 1, 9, tzinfo=UTC), datetime(2027, 3, 2, tzinfo=UTC)
    assert config.closed("submission", early) == "the phase submission opens at 2027-01-10 00:00 UTC"
    assert config.closed("submission", late) == "the phase submission closed at 2027-03-01 00:00 UTC"
    assert config.closed("judging", late) is None
