"""Splits by topic: exact, alike in classes, and stable."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import CranfieldError
from cranfield.building.topic_sets import split_files, split_topics
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.topics import Topics
from cranfield.scores.topic_classes import TopicClasses

TOPICS = [str(number) for number in range(1, 51)]


def test_parts_have_exact_sizes() -> None:
    split = split_topics(TOPICS)
    assert Counter(split.part_of.values()) == {"train": 30, "validation": 10, "test": 10}
    assert list(split.part_of) == TOPICS


def test_a_split_does_not_depend_on_the_order_of_topics() -> None:
    assert split_topics(TOPICS).part_of == split_topics(TOPICS[::-1]).part_of
    assert split_topics(TOPICS).part_of != split_topics(TOPICS, seed=1).part_of


def test_every_topic_is_equally_likely_to_be_in_a_part() -> None:
    """2 of 4 topics: over many seeds each topic is in the part half of the time, within 4 standard errors."""
    times = 2000
    drawn = Counter(
        topic for seed in range(times) for topic in split_topics("abcd", {"x": 1, "y": 1}, seed=seed).topics("x")
    )
    assert all(abs(drawn[topic] / times - 0.5) < 4 * (0.25 / times) ** 0.5 for topic in "abcd")


@given(
    st.dictionaries(st.integers(0, 200).map(str), st.sampled_from("abc"), min_size=1, max_size=60),
    st.lists(st.integers(1, 6), min_size=2, max_size=4),
)
@settings(max_examples=200, deadline=None)
def test_each_class_is_split_alike(classes: dict[str, str], shares: list[int]) -> None:
    """A part has its share of every class, rounded down or up, and of all topics within one for each class."""
    wanted = {f"p{i}": share / sum(shares) for i, share in enumerate(shares)}
    split = split_topics(classes, wanted, classes=classes)
    sizes = Counter(classes.values())
    for part, share in wanted.items():
        members = Counter(classes[topic] for topic in split.topics(part))
        for name, size in sizes.items():
            assert abs(members[name] - share * size) < 1 + 1e-9
        assert abs(len(split.topics(part)) - share * len(classes)) < len(sizes) + 1e-9
    assert sum(len(split.topics(part)) for part in wanted) == len(classes)


def test_left_over_topics_of_classes_balance_the_parts() -> None:
    """Ten classes of one topic each: half of the topics in each part, not all in the first."""
    classes = {topic: f"class{topic}" for topic in TOPICS[:10]}
    split = split_topics(classes, {"train": 1, "test": 1}, classes=classes)
    assert Counter(split.part_of.values()) == {"train": 5, "test": 5}


def test_topics_added_later_move_no_others_by_id() -> None:
    fewer, more = split_topics(TOPICS[:25], by_id=True), split_topics(TOPICS, by_id=True)
    assert {topic: more.part_of[topic] for topic in TOPICS[:25]} == fewer.part_of
    many = Counter(split_topics(map(str, range(4000)), by_id=True).part_of.values())
    assert many["train"] / 4000 == pytest.approx(0.6, abs=4 * (0.24 / 4000) ** 0.5)


def test_files_of_a_collection_are_split(tmp_path: Path) -> None:
    topics = {str(t): f"query {t}" for t in range(10)}
    qrels = {t: {"d1": 1, "d2": 0} for t in topics}
    files = [tmp_path / name for name in ("topics.tsv", "qrels.json", "bm25.run")]
    Topics.from_dict(topics).write(files[0])
    Qrels.from_dict(qrels).write(files[1])
    Run.from_dict({t: {"d1": 2.0, "d3": 1.0} for t in [*topics, "99"]}, "bm25").write(files[2])
    folder = tmp_path / "parts"
    split = split_files(files, folder, {"train": 0.7, "test": 0.3}, kinds={files[1]: "qrels"})
    assert split.notes == (f"{files[2]}: 1 topic in no part, left out: 99",)
    seen: list[str] = []
    for part in ("train", "test"):
        members = split.topics(part)
        assert list(Topics.read(folder / part / "topics.tsv")) == members
        assert Qrels.read(folder / part / "qrels.json").to_dict() == {t: qrels[t] for t in members}
        assert set(Run.read(folder / part / "bm25.run").topics) == set(members)
        assert Run.read(folder / part / "bm25.run").name == "bm25"
        seen += members
    assert sorted(seen) == sorted(topics)
    assert TopicClasses.of(folder / "split.tsv") == split.part_of
    again = split_files([files[1]], tmp_path / "again", kinds={files[1]: "qrels"}, assigned=folder / "split.tsv")
    assert again.part_of == split.part_of


@pytest.mark.filterwarnings("ignore::cranfield.errors.NotedWarning")
def test_scores_of_a_part_are_those_of_the_whole_on_its_topics(tmp_path: Path) -> None:
    from cranfield.samples import sample

    collection = sample()
    run = str(next(iter(collection.runs)))
    split = split_files([collection.qrels, run], tmp_path)
    whole = cf.evaluate(collection.qrels, [run], "AP", missing="zero")
    part = cf.evaluate(
        str(tmp_path / "test" / Path(collection.qrels).name), [str(tmp_path / "test" / Path(run).name)], "AP"
    )
    assert part.means().tolist() == whole.select(topics=split.topics("test")).means().tolist()


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        Qrels.from_dict({"1": {"d1": 1}}).write(tmp_path / folder / "qrels.txt")
    with pytest.raises(CranfieldError, match=r"several files are called qrels\.txt, and a part has one; rename one"):
        split_files([tmp_path / "a" / "qrels.txt", tmp_path / "b" / "qrels.txt"], tmp_path / "parts")


def test_topics_without_a_class_are_a_class() -> None:
    split = split_topics(["1", "2", "3", "4"], {"x": 1, "y": 1}, classes={"1": "a", "2": "a"})
    assert split.notes == ("2 topics without a class, split as one class: 3, 4",)
    assert [len([t for t in split.topics(part) if t in "12"]) for part in "xy"] == [1, 1]


def test_an_empty_part_is_noted() -> None:
    assert split_topics(["1"], {"x": 2, "y": 1}).notes == ("no topics for y: 1 topic for 2 parts",)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_topics([]), "there are no topics"),
        (lambda: split_topics("ab", {"x": 1}), "must be two parts or more"),
        (lambda: split_topics("ab", {"x": 1, "y": 0}), "y == 0, must be above 0"),
        (lambda: split_topics("ab", {"x": 1, "../y": 1}), "must be a name for a folder"),
        (lambda: split_topics("ab", classes={"c": "x"}), "no topic has a class"),
        (lambda: split_topics("ab", classes={"a": "x"}, by_id=True), "classes need parts of exact sizes"),
        (lambda: split_files([], "x"), "there are no files to split"),
        (lambda: split_files(["-"], "x"), "standard input has no name"),
    ],
)
def test_wrong_calls_are_refused(call: object, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        call()  # type: ignore[operator]
