"""A large file of judgments is read window by window, with the same result as in one go."""

import random

import pytest

from cranfield import _core

COLUMNS = ["topic", "label", "doc", "value"]


def content(draw: random.Random, *, together: bool, twice: float, labels: int, faulty: bool) -> bytes:
    """Judgments with comments, blank lines and other line ends; `twice` is how often a document is judged again."""
    rows = []
    for topic in range(draw.randrange(1, 9)):
        docs: list[int] = []
        for _ in range(draw.randrange(1, 30)):
            docs.append(draw.choice(docs) if docs and draw.random() < twice else len(docs) * 7)
            grade = draw.choice(["0", "1", "-2", "0.5", "3e0"])
            rows.append(f"t{topic} {draw.randrange(labels)} doc-{docs[-1]} {grade}")
    if not together:
        draw.shuffle(rows)
    if faulty:
        rows.insert(draw.randrange(len(rows)), "t1 0 d1 high")
    ends = ["\n", "\n", "\r\n", "\n\n", "\n# a comment\n"]
    text = "\ufeff" * draw.randrange(2) + "".join(row + draw.choice(ends) for row in rows)
    return (text.rstrip("\n") if draw.random() < 0.3 else text).encode()


def read(data: bytes, rule: str, window: int, threads: int, labels_count: bool) -> tuple[object, ...]:
    table, faults = _core.read(
        [data], COLUMNS, " ", False, "topic 0 doc grade", True, rule, threads, 5, labels_count=labels_count,
        window=window,
    )  # fmt: skip
    columns = (table.docs(0, 10**6), table.values.tolist(), table.label.tolist(), table.list_start.tolist())
    return table.topics, table.labels, columns, table.dropped, faults


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("faulty", [True, False])
@pytest.mark.parametrize(("twice", "labels"), [(0, 1), (0, 3), (0.3, 1), (0.3, 3)])
def test_windows_change_nothing(together: bool, faulty: bool, twice: float, labels: int) -> None:
    for seed in range(30):
        draw = random.Random(seed)
        data = content(draw, together=together, twice=twice, labels=labels, faulty=faulty)
        rule, labels_count = draw.choice(["error", "first", "max"]), draw.random() < 0.7
        whole = read(data, rule, len(data), 1, labels_count)
        for window in (1, 50, 300):
            assert read(data, rule, window, draw.choice([1, 2, 4]), labels_count) == whole, (seed, window)


def test_a_label_that_comes_late_is_kept() -> None:
    data = b"".join(b"t%d %d d%d 1\n" % (line // 10, line == 95, line) for line in range(100))
    table, faults = _core.read([data], COLUMNS, " ", False, "", True, "error", 2, 5, window=100)
    assert faults == []
    assert table.labels == ["0", "1"]
    assert table.label.tolist() == [int(line == 95) for line in range(100)]
