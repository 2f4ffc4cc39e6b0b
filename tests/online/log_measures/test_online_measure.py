"""The registry of online measures: names, parameters, and what their documentation says."""

from __future__ import annotations

import pytest

from cranfield.errors import UsageError
from cranfield.online.log_measures import ONLINE_MEASURES, SETS, metric_set, parse_online, parse_online_many
from cranfield.online.log_measures.measured_log import DEFAULT
from cranfield.online.log_measures.online_measure import LEVELS


@pytest.mark.parametrize("name", ONLINE_MEASURES)
def test_a_measure_is_documented_and_its_name_parses_back(name: str) -> None:
    measure = parse_online(name)
    assert parse_online(str(measure)) == measure
    assert measure.summary().endswith(".")
    assert measure.formula()
    assert measure.reference()
    assert measure.unit
    assert measure.level in LEVELS


def test_parameters_that_differ_from_the_default_are_in_the_name() -> None:
    assert str(parse_online("satisfied-clicks(seconds=20)")) == "satisfied-clicks(seconds=20)"
    assert str(parse_online("satisfied-clicks( seconds = 30 )")) == "satisfied-clicks"
    assert (
        str(parse_online("good-abandonment(rule=last, similarity=0.5)")) == "good-abandonment(rule=last,similarity=0.5)"
    )
    assert str(parse_online("CTR@k")) == "CTR@5"
    assert parse_online("ctr@7").k == 7  # type: ignore[attr-defined]


def test_the_same_measure_counts_once() -> None:
    assert len(parse_online_many(["CTR@5", "ctr@5", "CTR"])) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("CTRR", "no online measure 'CTRR'; did you mean 'CTR'"),
        ("dwell@5", "no online measure 'dwell@k'"),
        ("satisfied-clicks(minutes=2)", "no parameter 'minutes'; there are 'seconds'"),
        ("CTR(x=1)", "no parameter 'x'; it has no parameters"),
        ("satisfied-clicks(seconds)", "expected = after 'seconds'"),
        ("satisfied-clicks(seconds=long)", "satisfied-clicks: seconds == 'long', must be a number"),
        ("satisfied-clicks(seconds=-1)", "seconds == -1.0, must be 0 or above"),
        ("CTR@0", "k == 0, must be a whole number, 1 or more"),
        ("good-abandonment(rule=none)", "rule == 'none', must be one of 'only', 'last', 'no-reformulation', 'hover'"),
        ("reformulation(similarity=2)", "similarity == 2.0, must be between 0 and 1"),
        ("retention(days=0)", "days == 0, must be a whole number"),
        ("CTR)(", "not written as NAME"),
    ],
)
def test_wrong_names_are_refused_with_the_way_out(name: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_online(name)
    assert message in str(error.value)


def test_the_sets_and_the_default_name_existing_measures() -> None:
    for name in (*DEFAULT, *(measure for chosen in SETS.values() for measure in chosen.measures)):
        assert parse_online(name)


def test_the_sets_have_the_parts_of_their_names() -> None:
    """Ferro & Maistro 2024, §6.5: PULSE, HEART, and AARRR for the pirates."""
    initials = {name: "".join(part.name[0] for part in chosen.parts) for name, chosen in SETS.items()}
    assert initials == {"pulse": "PULSE", "heart": "HEART", "pirate": "AARRR"}


def test_a_set_says_what_a_log_does_not_have() -> None:
    assert [note.split(":")[1].strip() for note in metric_set("pulse").notes] == ["Uptime", "Latency"]
    assert [note.split(":")[1].strip() for note in metric_set("HEART").notes] == ["Happiness"]
    with pytest.raises(UsageError, match="no set of measures 'hart'; did you mean 'heart'"):
        metric_set("hart")


def test_every_level_has_measures() -> None:
    assert {cls.level for cls in ONLINE_MEASURES.values()} == set(LEVELS)
