"""Labels of simulated assessors, and runs, on a small collection."""

import numpy as np

TOPICS, DOCS = 6, 14


def simulated(
    seed: int = 0, assessors: int = 4, share: float = 1.0, grades: int = 2
) -> tuple[list[tuple[str, str, str, int]], dict[str, dict[str, dict[str, float]]], dict[str, dict[str, int]]]:
    """Labels (topic, doc, worker, label), runs, and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((TOPICS, DOCS)) < 0.4) * rng.integers(1, grades, (TOPICS, DOCS), endpoint=False)
    truth[:, 0] = 1
    accuracy = np.linspace(0.95, 0.4, assessors)
    labels = []
    for t in range(TOPICS):
        for d in range(DOCS):
            for k in range(assessors):
                if rng.random() < share:
                    right = rng.random() < accuracy[k]
                    labels.append((f"q{t}", f"d{d}", f"w{k}", int(truth[t, d] if right else rng.integers(grades))))
    runs = {}
    for s in range(5):
        scores = truth * 0.3 * s + rng.normal(0, 1, truth.shape)
        runs[f"s{s}"] = {f"q{t}": {f"d{d}": float(scores[t, d]) for d in range(DOCS)} for t in range(TOPICS)}
    gold = {f"q{t}": {f"d{d}": int(truth[t, d]) for d in range(DOCS)} for t in range(TOPICS)}
    return labels, runs, gold
