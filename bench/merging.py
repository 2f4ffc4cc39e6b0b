"""Merging the labels of assessors: ours and crowd-kit's.

`python -m bench.merging NAME` runs one contestant in its own process, and prints seconds and bytes as JSON. The time
goes from labels in a pandas frame to probabilities; imports and the making of the frame are not included.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.peers import peak_bytes

Timed = Callable[[], Any]

MANY = (60_000, 1_000, 5, 5)
"""Items, assessors, labels per item and classes: 300,000 labels."""
FEW = (3_000, 300, 5, 4)
"""The same for 15,000 labels, which all methods of crowd-kit finish."""
STEPS, GLAD_STEPS, MACE_STEPS, MACE_STARTS = 34, 10, 50, 10


# -- merging


def crowd(items: int, workers: int, each: int, classes: int) -> Any:
    """Labels of assessors with different accuracies, as a pandas frame with the columns of crowd-kit."""
    import pandas as pd

    rng = np.random.default_rng(0)
    share = np.linspace(2, 1, classes)
    truth = rng.choice(classes, items, p=share / share.sum())
    accuracy = rng.beta(4, 2, workers)
    item = np.repeat(np.arange(items), each)
    worker = np.concatenate([rng.choice(workers, each, replace=False) for _ in range(items)])
    wrong = (truth[item] + rng.integers(1, classes, len(item))) % classes
    label = np.where(rng.random(len(item)) < accuracy[worker], truth[item], wrong)
    names = {"task": [f"t{i}" for i in item], "worker": [f"w{w}" for w in worker]}
    return pd.DataFrame({**names, "label": label})


def merging(sizes: tuple[int, int, int, int], method: str, **settings: Any) -> Callable[[], Timed]:
    def prepared() -> Timed:
        import scipy.sparse
        import scipy.special  # noqa: F401

        from cranfield.building.merging import MERGING_METHODS, merge

        list(MERGING_METHODS)  # imports all methods
        frame = crowd(*sizes)
        return lambda: merge(frame, method, tolerance=0.0, compare_votes=False, **settings).posterior

    return prepared


def crowd_kit(sizes: tuple[int, int, int, int], method: str, **settings: Any) -> Callable[[], Timed]:
    def prepared() -> Timed:
        from crowdkit import aggregation

        frame = crowd(*sizes)
        return lambda: getattr(aggregation, method)(**settings).fit(frame).probas_

    return prepared


DS, DS_PEER = f"Dawid-Skene, 300,000 labels, {STEPS} steps", f"crowd-kit, Dawid-Skene, {STEPS} steps"
GLAD, GLAD_PEER = f"GLAD, 15,000 labels, {GLAD_STEPS} steps", f"crowd-kit, GLAD, {GLAD_STEPS} steps"
WORK = f"{MACE_STARTS} starts of {MACE_STEPS} steps"
MACE, MACE_PEER = f"MACE, 15,000 labels, {WORK}", f"crowd-kit, MACE, {WORK}"

CONTESTANTS: dict[str, Callable[[], Timed]] = {
    DS: merging(MANY, "dawid-skene", steps=STEPS),
    DS_PEER: crowd_kit(MANY, "DawidSkene", n_iter=STEPS, tol=-1.0),
    GLAD: merging(FEW, "glad", steps=GLAD_STEPS),
    GLAD_PEER: crowd_kit(FEW, "GLAD", n_iter=GLAD_STEPS, tol=-1e9),
    MACE: merging(FEW, "mace", steps=MACE_STEPS, restarts=MACE_STARTS - 1),
    MACE_PEER: crowd_kit(FEW, "MACE", n_iter=MACE_STEPS, n_restarts=MACE_STARTS),
}
FASTER = {(DS, DS_PEER): 5.0, (GLAD, GLAD_PEER): 20.0, (MACE, MACE_PEER): 20.0}
"""How many times faster than the peer ours has to be."""


def main(name: str) -> None:
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    timed = CONTESTANTS[name]()
    ready = time.perf_counter()
    timed()
    done = time.perf_counter()
    print(
        json.dumps({"seconds": done - ready, "with_imports": done - began, "spent": done - began, "peak": peak_bytes()})
    )


if __name__ == "__main__":
    main(sys.argv[1])
