"""The files of the gallery: noisy copies of the sample's judgments, labels of five assessors, times and others."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np

import cranfield as cf

SAMPLES = Path(cf.__file__).parent / "samples"


def write_files(folder: Path) -> None:
    """Write all files to a folder; `sample/` is the sample collection. The same files on every machine."""
    shutil.copytree(SAMPLES, folder / "sample", dirs_exist_ok=True)
    judgments = cf.Qrels.read(SAMPLES / "qrels.txt").to_dict()
    rng = np.random.default_rng(19)
    lines = [(topic, doc, int(grade)) for topic, grades in judgments.items() for doc, grade in grades.items()]
    highest = max(grade for _, _, grade in lines)
    published = [(2000, "a", 0.3, ""), (2001, "b", 0.2, ""), (2001, "c", 0.28, "b"), (2003, "d", 0.31, "e"),
                 (2003, "e", 0.22, ""), (2006, "f", 0.3, "")]  # fmt: skip
    table = "".join(f"{year},{system},{score},{baseline}\n" for year, system, score, baseline in published)
    (folder / "published.csv").write_text(f"year,system,score,baseline\n{table}")

    def noisy(grade: int, right: float, bias: int = 0) -> int:
        wrong = grade + rng.choice([-1, 1]) + bias
        return grade if rng.random() < right else int(np.clip(wrong, 0, highest))

    for name, right, bias in (("careful", 0.9, 0), ("lenient", 0.6, 1)):
        text = "".join(f"{topic} 0 {doc} {noisy(grade, right, bias)}\n" for topic, doc, grade in lines)
        (folder / f"{name}.qrels").write_text(text)
    some = [line for line in lines if line[0] in [*judgments][:12]]
    (folder / "human.qrels").write_text("".join(f"{topic} 0 {doc} {grade}\n" for topic, doc, grade in some))
    people = {"anna": 0.95, "ben": 0.9, "cleo": 0.8, "dan": 0.7, "eve": 0.35}
    shown = [lines[place] for place in sorted(rng.choice(len(lines), 240, replace=False))]
    labels = [
        f"{topic},{doc},{person},{noisy(grade, right)},2026-03-{2 + number // 40:02d}T10:{number % 60:02d}:00Z\n"
        for number, (topic, doc, grade) in enumerate(shown)
        for person, right in people.items()
    ]
    (folder / "labels.csv").write_text("topic,doc,worker,label,time\n" + "".join(labels))
    speed = {"bm25": 0.02, "coord": 0.01, "dense": 0.08, "fusion": 0.11}
    times = [
        f"{run} {topic} {seconds * rng.lognormal(0, 0.4):.5f}\n"
        for run, seconds in speed.items()
        for topic in judgments
    ]
    (folder / "times.tsv").write_text("".join(times))
    (folder / "order.csv").write_text("better,worse\n100,010\n")
    (folder / "parts.csv").write_text("run,words,vectors\ncoord,no,no\nbm25,yes,no\ndense,no,yes\nfusion,yes,yes\n")
    _write_intents(folder, lines, rng)
    _write_repetition(folder, rng)
    _write_users(folder, rng)
    _write_session(folder)
    _write_preferences(folder, rng)


def _write_intents(folder: Path, lines: list[tuple[str, str, int]], rng: np.random.Generator) -> None:
    intents = []
    for topic, doc, grade in lines:
        for intent in ("1", "2", "3"):
            intents.append(f"{topic} {intent} {doc} {grade if grade and rng.random() < 0.5 else 0}\n")
    (folder / "intents.qrels").write_text("".join(intents))


def _write_repetition(folder: Path, rng: np.random.Generator) -> None:
    """The same systems, run again with a little noise in their scores."""
    for name in ("bm25", "dense"):
        again = []
        for line in (SAMPLES / f"{name}.run").read_text().splitlines():
            topic, q0, doc, rank, score, tag = line.split()
            again.append(f"{topic} {q0} {doc} {rank} {float(score) * rng.normal(1, 0.03):.4f} {tag}-again\n")
        (folder / f"{name}-again.run").write_text("".join(again))


def _write_users(folder: Path, rng: np.random.Generator) -> None:
    rows = ["user,arm,revenue,impressions,clicks\n"]
    for user in range(3000):
        arm = "AB"[user % 2]
        shown = int(rng.integers(5, 40))
        clicks = rng.binomial(shown, 0.22 if arm == "B" else 0.2)
        rows.append(f"{user},{arm},{rng.exponential(2.1 if arm == 'B' else 2):.2f},{shown},{clicks}\n")
    (folder / "users.csv").write_text("".join(rows))


def _write_session(folder: Path) -> None:
    queries = [
        {"query": 1, "time": 0, "list": ["d1", "d2", "d3"], "clicks": [{"doc": "d2", "time": 8, "end": 40}]},
        {"query": 2, "time": 60, "list": ["d4", "d5"], "clicks": [{"rank": 1, "time": 70}, {"rank": 2, "time": 99}]},
    ]
    lines = [json.dumps({"session": "s1", "topic": "t1", **query}) for query in queries]
    (folder / "sessions.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "lengths.txt").write_text("d1 900\nd2 1500\nd3 400\nd4 2200\nd5 700\n")


def _write_preferences(folder: Path, rng: np.random.Generator) -> None:
    """Which of two lists people prefer: mostly the one with the higher nDCG@5."""
    sample = cf.sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of topics without relevant documents, and one that a run lacks
        scores = cf.evaluate(sample.qrels, sample.runs, ["nDCG@5"])
    runs, rows = scores.runs, []
    for topic, values in zip(scores.topics, scores.values[0].T, strict=True):
        first, second = rng.choice(len(runs), 2, replace=False)
        better = (first, second)[int(values[second] + rng.normal(0, 0.2) > values[first])]
        rows.append(f"{topic}\t{runs[first]}\t{runs[second]}\t{runs[better]}\n")
    (folder / "preferences.tsv").write_text("".join(rows))


def label_queries(folder: Path) -> None:
    """Label the queries of the simulated log: satisfied are mostly those with a long click."""
    rng = np.random.default_rng(7)
    events = [json.loads(line) for line in (folder / "log" / "ubi_events.jsonl").read_text("utf-8").splitlines()]
    longest: dict[str, float] = {}
    for event in events:
        seconds = event["event_attributes"].get("dwell") or 0.0
        longest[event["query_id"]] = max(seconds, longest.get(event["query_id"], 0.0))
    rows = [
        f"{query},{int(rng.random() < 0.1 + 0.8 * seconds / (seconds + 30))}\n" for query, seconds in longest.items()
    ]
    (folder / "satisfied.csv").write_text("query_id,label\n" + "".join(rows[:1500]))
