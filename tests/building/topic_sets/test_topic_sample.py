"""Topics drawn from a query log, and their probabilities."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from cranfield import CranfieldError
from cranfield.building.topic_sets import QueryLog, sample_topics
from cranfield.building.topic_sets.topic_sample import _probabilities, strata_of
from cranfield.collection.topics import Topics

LOG = {"weather": 60, "maps": 25, "news": 20, "tv guide": 8, "recipes": 4, "xylophone": 3}


def test_strata_are_cut_by_share_of_the_volume() -> None:
    """120 queries in all: the volume before each is 0, 60, 85, 105, 113, 117; thirds end at 40 and 80."""
    sample = sample_topics(LOG, [1, 1, 4], seed=3)
    assert dict(zip(sample.texts, sample.classes, strict=True)) == {
        "weather": "head", "maps": "torso", "news": "tail", "tv guide": "tail", "recipes": "tail", "xylophone": "tail",
    }  # fmt: skip
    assert [(s.queries, s.volume, s.most, s.least) for s in sample.strata] == [
        (1, 60, 60, 60), (1, 25, 25, 25), (4, 35, 20, 3),
    ]  # fmt: skip
    halves = sample_topics(LOG, 6, strata=["often", "seldom"], shares=[0.75])  # ends at 90
    assert [s.queries for s in halves.strata] == [3, 3]


def test_a_border_exactly_at_a_query_begins_the_next_stratum() -> None:
    assert strata_of(np.array([5, 5, 5, 5]), [0.25, 0.75]).tolist() == [0, 1, 1, 2]


def test_every_sample_is_equally_likely() -> None:
    """All samples of 2 of 4 queries, enumerated: each query is in half of them, and each sample has probability 1/6."""
    log = dict.fromkeys(["a", "b", "c", "d"], 1)
    samples = list(combinations(sorted(log), 2))
    assert [sum(name in drawn for drawn in samples) / len(samples) for name in sorted(log)] == [0.5] * 4
    counts = dict.fromkeys(samples, 0)
    times = 3000
    for seed in range(times):
        sample = sample_topics(log, 2, strata=["all"], seed=seed, edits=False)
        assert sample.probability.tolist() == [0.5, 0.5]
        counts[tuple(sorted(sample.texts))] += 1
    expected = times / len(samples)
    chi_squared = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_squared < 20.5  # the 99.9 % point with 5 degrees of freedom


def test_draws_by_volume_have_the_probabilities_that_are_stated() -> None:
    """Counts 60, 25, 20, 8, 4, 3 and a sample of 3: 60 · 3 / 120 ≥ 1 is certain; then 25 · 2 / 60, 20 · 2 / 60 …"""
    counts = np.array([60, 25, 20, 8, 4, 3])
    expected = [1, 25 * 2 / 60, 20 * 2 / 60, 8 * 2 / 60, 4 * 2 / 60, 3 * 2 / 60]
    assert _probabilities(counts, 3, "volume").tolist() == pytest.approx(expected)
    times = 4000
    drawn = dict.fromkeys(LOG, 0)
    for seed in range(times):
        sample = sample_topics(LOG, 3, strata=["all"], draw="volume", seed=seed, edits=False)
        assert len(set(sample.texts)) == 3
        for text, chance in zip(sample.texts, sample.probability.tolist(), strict=True):
            drawn[text] += 1
            assert chance == pytest.approx(expected[list(LOG).index(text)])
    for text, chance in zip(LOG, expected, strict=True):
        error = (chance * (1 - chance) / times) ** 0.5
        assert abs(drawn[text] / times - chance) <= 4 * error + 1e-12


def test_a_second_query_becomes_certain_when_the_first_is() -> None:
    """Counts 70, 20, 6, 4 and a sample of 3: 70 is certain; of the rest, 20 · 2 / 30 ≥ 1 is; then 6/10 and 4/10."""
    assert _probabilities(np.array([70, 20, 6, 4]), 3, "volume").tolist() == pytest.approx([1, 1, 0.6, 0.4])


def test_weights_estimate_totals_without_bias() -> None:
    """The sum of weights over all samples of a stratum, on average, is its number of queries (Horvitz–Thompson)."""
    for draw in ("uniform", "volume"):
        totals = [
            sample_topics(LOG, 3, strata=["all"], draw=draw, seed=seed, jaccard=None, edits=False).weight.sum()
            for seed in range(3000)
        ]
        assert np.mean(totals) == pytest.approx(len(LOG), abs=5 * np.std(totals) / len(totals) ** 0.5 + 1e-9)


def test_near_duplicates_count_for_the_query_that_is_kept() -> None:
    sample = sample_topics(
        {"cheap flights paris": 5, "paris flight cheap": 3, "cheap flihgts paris": 2}, 1, strata=["all"]
    )
    assert (sample.texts, sample.counts.tolist()) == (("cheap flights paris",), [10])
    assert sample.dropped == (
        ("paris flight cheap", 3, "cheap flights paris"),
        ("cheap flihgts paris", 2, "cheap flights paris"),
    )
    assert sample.notes[0].startswith(
        "2 near-duplicates are dropped, and their volume (5) is added to the queries that are kept: 'paris"
    )
    kept = sample_topics(
        {"cheap flights paris": 5, "paris flight cheap": 3, "cheap flihgts paris": 2}, 3, strata=["all"], jaccard=None,
        edits=False,
    )  # fmt: skip
    assert (len(kept.topics), kept.dropped) == (3, ())


def test_the_same_seed_draws_the_same_topics_in_any_order_of_the_log() -> None:
    lines = [f"query number {i} of {chr(97 + i % 26)}{i}" for i in range(200)] * 2
    first = sample_topics(lines, 20, seed=5, edits=False)
    second = sample_topics(lines[::-1], 20, seed=5, edits=False)
    other = sample_topics(lines, 20, seed=6, edits=False)
    assert first.texts == second.texts != other.texts


def test_equally_frequent_queries_at_a_border_are_noted() -> None:
    notes = sample_topics(["a", "b", "c"], 3).notes
    cause = "is among 3 queries that were each asked 1 time; a hash of their text decides"
    assert notes == (
        f"the border between head and torso {cause}",
        f"the border between torso and tail {cause}",
    )


@pytest.mark.parametrize("suffix", ["tsv", "xml", "sgml", "json", "jsonl"])
def test_topics_are_written_in_every_format(tmp_path: Path, suffix: str) -> None:
    log = {"weather": 60, "a < b & c": 5, "\u5929\u6c17": 4, '"quoted"': 2}
    sample = sample_topics(log, [1, 0, 3], shares=[0.1, 0.2], first=101, prefix="q")
    path = tmp_path / f"topics.{suffix}"
    sample.to_topics().write(path)
    topics = Topics.read(path)
    assert topics.queries() == dict(zip(sample.topics, sample.texts, strict=True))
    assert list(topics) == ["q101", "q102", "q103", "q104"]
    assert {topic.id: topic.fields["class"] for topic in topics.values()} == sample.to_classes()
    assert [float(topic.fields["probability"]) for topic in topics.values()] == sample.probability.tolist()


def test_a_stratum_smaller_than_its_sample_is_taken_whole() -> None:
    sample = sample_topics(LOG, 6)
    assert sample.notes == (
        "head has 1 query, fewer than the 2 asked for; all are taken",
        "torso has 1 query, fewer than the 2 asked for; all are taken",
    )
    assert sample.probability.tolist() == [1, 1, 0.5, 0.5]


def test_a_log_with_one_query_is_a_sample_of_one() -> None:
    sample = sample_topics(["maps"], 3)
    assert sample.texts == ("maps",)
    assert sample.notes == (
        "the log has one query",
        "torso has 0 queries, fewer than the 1 asked for",
        "tail has 0 queries, fewer than the 1 asked for",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n == 0, must be a whole number, 1 or more"),
        ({"n": [1, 2]}, "n == .*must be a whole number for each of the 3 strata"),
        ({"n": [0, 0, 0]}, "and not all 0"),
        ({"shares": [0.5]}, "must be 2 rising numbers between 0 and 1"),
        ({"shares": [0.5, 0.5]}, "must be 2 rising numbers between 0 and 1"),
        ({"strata": ["a", "a"]}, "must be names without blanks that differ"),
        ({"jaccard": 0}, "jaccard == 0, must be above 0 and at most 1"),
        ({"draw": "both"}, "draw == 'both', must be one of 'uniform', 'volume'"),
        ({"users": 2}, "does not name users"),
        ({"times": 100}, "no query is left"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        sample_topics(LOG, **options)  # type: ignore[arg-type]


def test_rare_queries_are_left_out_before_duplicates_are_merged() -> None:
    """A person's query stays out, even if others asked a similar one."""
    sample = sample_topics({"maps of berlin": 3, "map of berlin": 1}, 1, strata=["all"], times=2)
    assert (sample.counts.tolist(), sample.dropped) == ([3], ())
    assert len(QueryLog.of({"a": 2, "b": 1}).at_least(2)) == 1
