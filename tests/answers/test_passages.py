"""Ranked passages by character, beside document measures in which every character is a document."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import cranfield as cf
from cranfield import DataError, UsageError
from cranfield.answers.passages import passage_scores, read_passage_runs, read_relevant_passages

Passages = list[tuple[str, int, int]]


def test_by_hand() -> None:
    """30 relevant characters; shown: 10 of them, 10 others, 20 of an unjudged document, then 10 relevant ones."""
    relevant = {"1": {"d": [(0, 20), (50, 60)]}}
    run: Passages = [("d", 10, 30), ("u", 0, 20), ("d", 50, 60)]
    scores = passage_scores(relevant, {"x": {"1": run}}).values[:, 0, 0].tolist()
    precision, recall = 20 / 50, 20 / 30
    bpref = (10 * 1 + 10 * (1 - 10 / 30)) / 30
    assert scores == pytest.approx([precision, recall, 2 * precision * recall / (precision + recall), bpref])


@pytest.mark.parametrize("seed", range(5))
def test_characters_are_like_documents(seed: int) -> None:
    """Every character as a document of its own: P and R of the list, and bpref_R, must be the same."""
    rng = random.Random(seed)

    def span() -> tuple[int, int]:
        start = rng.randrange(30)
        return start, start + rng.randrange(1, 12)

    relevant = {f"d{i}": sorted(span() for _ in range(rng.randrange(3))) for i in range(3)}
    run = [(f"d{rng.randrange(4)}", *span()) for _ in range(8)]  # d3 is unjudged
    from cranfield.answers.passages import merged_spans

    relevant = {doc: merged_spans(spans) for doc, spans in relevant.items()}
    if not any(relevant.values()):
        relevant["d0"] = [(3, 9)]
    marked = {f"{doc}:{i}" for doc, spans in relevant.items() for a, b in spans for i in range(a, b)}
    judged = {f"{doc}:{i}": int(f"{doc}:{i}" in marked) for doc in relevant for i in range(60)}
    shown = list(dict.fromkeys(f"{doc}:{i}" for doc, a, b in run for i in range(a, b)))
    ranked = {name: float(-place) for place, name in enumerate(shown)}
    cut = rng.choice([None, 5, 17])
    if cut:
        ranked = dict(list(ranked.items())[:cut])
    names = [cf.P @ len(ranked), cf.R @ 1000, cf.bpref_R()]
    expected = cf.evaluate({"1": judged}, {"x": {"1": ranked}}, names).values[:, 0, 0].tolist()
    measures = ["char-P", "char-R", "char-bpref"]
    ours = passage_scores({"1": relevant}, {"x": {"1": run}}, measures, characters=cut).values[:, 0, 0].tolist()
    assert ours == pytest.approx(expected)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "spans.tsv").write_text(
        "topic\tnugget\tdoc\tstart\tend\tassessor\ttext\n1\tn\td1\t0\t10\tanna\t\n1\tn\td1\t5\t12\tben\t\n1\tn\td2\t0\t0\tben\t\n"
    )
    relevant, notes = read_relevant_passages(tmp_path / "spans.tsv")
    assert relevant == {"1": {"d1": [(0, 12)], "d2": []}}
    assert notes == ["1 relevant passage overlapping with another; their characters count once"]
    (tmp_path / "mine.tsv").write_text("topic\tdoc\tstart\tend\tscore\n1\td2\t0\t5\t0.5\n1\td1\t0\t6\t0.9\n")
    assert read_passage_runs([tmp_path / "mine.tsv"]) == {"mine": {"1": [("d1", 0, 6), ("d2", 0, 5)]}}
    (tmp_path / "bad.tsv").write_text("topic\tdoc\tstart\tend\n1\td2\t5\t5\n")
    with pytest.raises(DataError, match=r"bad.tsv:2: the passage is empty"):
        read_passage_runs([tmp_path / "bad.tsv"])


def test_repeats_and_topics_without_relevant_characters() -> None:
    relevant = {"1": {"d": [(0, 10)]}, "2": {"d": []}}
    runs = {"x": {"1": [("d", 0, 10), ("d", 5, 15)], "2": [("d", 0, 5)]}}
    scores = passage_scores(relevant, runs)
    assert scores.values[0, 0].tolist() == pytest.approx([10 / 15, 0])
    assert scores.undefined[1:, 0, 1].all()
    assert "5 characters shown again in the same list, counted once" in scores.notes
    with pytest.raises(UsageError, match="no run has a judged topic; these are '1', '2'"):
        passage_scores(relevant, {"x": {"9": [("d", 0, 1)]}})
