"""Labels with known truth, and data of the literature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cranfield.building.assessor_labels import Labels
from cranfield.types import Array, Index64

# Dawid & Skene 1979, Table 1: 45 patients; observer 1 saw every patient three times, observers 2 to 5 once.
DAWID_SKENE = """
1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212 1211111
1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222
"""
OBSERVERS = "1112345"


def patients() -> Labels:
    """The labels of Dawid and Skene 1979."""
    rows = [
        (f"patient {i}", f"observer {who}", grade)
        for i, grades in enumerate(DAWID_SKENE.split(), 1)
        for who, grade in zip(OBSERVERS, grades, strict=True)
    ]
    return Labels.of(rows, on_duplicate="keep")


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated labels."""

    labels: Labels
    truth: Index64
    accuracy: Array

    @property
    def triples(self) -> list[tuple[int, int, int]]:
        one = self.labels
        return list(zip(one.item.tolist(), one.worker.tolist(), one.label.tolist(), strict=True))

    @property
    def sizes(self) -> tuple[int, int, int]:
        return len(self.labels.items), len(self.labels.workers), len(self.labels.scale)

    def frame(self) -> pd.DataFrame:
        """The columns that crowd-kit reads."""
        return pd.DataFrame({"task": self.labels.item, "worker": self.labels.worker, "label": self.labels.label})

    def share_right(self, label: Index64) -> float:
        return float((label == self.truth).mean())


def simulated(
    items: int = 40, workers: int = 6, each: int = 4, classes: int = 3, seed: int = 1, spammers: int = 0
) -> Simulated:
    """Every item is labelled by `each` assessors, whose accuracies are between 0.4 and 0.95; spammers guess."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    accuracy = np.linspace(0.95, 0.4, workers)
    accuracy[workers - spammers :] = 1 / classes
    item = np.repeat(np.arange(items), each)
    worker = np.concatenate([rng.permutation(workers)[:each] for _ in range(items)])
    right = rng.random(len(item)) < accuracy[worker]
    wrong = (truth[item] + rng.integers(1, classes, len(item))) % classes
    label = np.where(right, truth[item], wrong)
    names = tuple(f"t{i}" for i in range(items)), tuple(f"w{i}" for i in range(workers))
    scale = tuple(map(str, range(classes)))
    return Simulated(Labels(*names, scale, item, worker, label), truth, accuracy)
