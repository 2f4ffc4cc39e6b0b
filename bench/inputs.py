"""What people bring: responses of search engines, matrices, named tuples, frames, runs to fuse; ours and other tools.

`python -m bench.inputs NAME FOLDER` runs one contestant in its own process, and prints seconds and bytes as JSON. The
time is the best of three calls; imports and the making of data are not included.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench import data
from bench.peers import peak_bytes

Timed = Callable[[], float]
"""Returns a number that contestants must agree on."""

RESPONSES, HITS = 1_000, 590  # 100 MB
DEEP, SHALLOW = (5_000, 1_000), (100_000, 20)
TOPICS, DEPTH = 500, 200
MEASURES = ["AP", "nDCG@10", "RR", "P@10", "R@100"]
FUSED = 10
CALLS = 3


# -- responses of a search engine


def responses(folder: Path) -> Path:
    """An answer to msearch: a short title with each hit."""
    path = folder / f"msearch-{RESPONSES}-{HITS}.json"
    if not path.exists():
        rng = np.random.default_rng(0)
        title = "a title of about sixty characters, as products and notes have"
        searches = []
        for score in np.sort(rng.uniform(1, 30, (RESPONSES, HITS)), axis=1)[:, ::-1].round(6).tolist():
            ids = rng.choice(10_000_000, HITS, replace=False).tolist()
            hits = [
                {"_index": "notes", "_id": f"note-{doc}", "_score": value, "_source": {"title": title}}
                for doc, value in zip(ids, score, strict=True)
            ]
            found = {"total": {"value": HITS, "relation": "eq"}, "max_score": score[0], "hits": hits}
            searches.append({"took": 3, "timed_out": False, "_shards": {"total": 1}, "hits": found, "status": 200})
        data.save(path, [json.dumps({"took": 9, "responses": searches}).encode()])
    return path


def read_responses(folder: Path) -> Timed:
    from cranfield import Run

    path = responses(folder)
    return lambda: float(len(Run.of(path.read_bytes())))


def json_loads(folder: Path) -> Timed:
    path = responses(folder)
    return lambda: float(sum(len(found["hits"]["hits"]) for found in json.loads(path.read_bytes())["responses"]))


# -- matrices


def matrices(shape: tuple[int, int]) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.choice(4, shape, p=[0.7, 0.15, 0.1, 0.05]).astype(float), rng.random(shape)


def our_matrices(shape: tuple[int, int]) -> Callable[[Path], Timed]:
    def prepared(folder: Path) -> Timed:
        from cranfield import assess_arrays, parse

        measure = parse("nDCG@10")
        grades, scores = matrices(shape)
        grades[:, 0] = 1.0  # without a relevant document nDCG is undefined here, and 0 in scikit-learn
        return lambda: float(measure.evaluate(assess_arrays(grades, scores)).mean())

    return prepared


def scikit_learn(shape: tuple[int, int]) -> Callable[[Path], Timed]:
    def prepared(folder: Path) -> Timed:
        from sklearn.metrics import ndcg_score

        grades, scores = matrices(shape)
        grades[:, 0] = 1.0
        return lambda: float(ndcg_score(grades, scores, k=10, ignore_ties=True))

    return prepared


# -- named tuples and frames, as users of ir_measures have them


def with_measures(module_name: str, frames: bool) -> Callable[[Path], Timed]:
    def prepared(folder: Path) -> Timed:
        from importlib import import_module

        module: Any = import_module(module_name)
        qrels_file, run_file = data.passages(folder, TOPICS, DEPTH)
        qrels: Any = list(module.read_trec_qrels(str(qrels_file)))
        run: Any = list(module.read_trec_run(str(run_file)))
        if frames:
            import pandas as pd

            qrels, run = pd.DataFrame(qrels), pd.DataFrame(run)
        measures = [module.parse_measure(name) for name in MEASURES]
        return lambda: float(sum(module.calc_aggregate(measures, qrels, run).values()))

    return prepared


# -- fusion


def fused_runs(folder: Path) -> list[str]:
    return [str(path) for path in data.ad_hoc(folder)[1][:FUSED]]


def our_fusion(folder: Path) -> Timed:
    from cranfield import fuse

    paths = fused_runs(folder)
    return lambda: float(len(fuse(paths, "rrf")))


def ranx_fusion(folder: Path) -> Timed:
    from ranx import Run, fuse

    tiny = Run.from_dict({f"topic{number}": {"a": 2.0, "b": 1.0} for number in range(20)})
    fuse([tiny, tiny], norm=None, method="rrf")
    paths = fused_runs(folder)

    def timed() -> float:
        run = fuse([Run.from_file(path, kind="trec") for path in paths], norm=None, method="rrf")
        return float(sum(len(docs) for docs in run.to_dict().values()))

    return timed


OURS, LOADS = "cranfield, msearch response of 100 MB", "json.loads, the same bytes"
ROWS, ROWS_PEER = "cranfield, matrix of 5,000 x 1,000", "scikit-learn, matrix of 5,000 x 1,000"
FLAT, FLAT_PEER = "cranfield, matrix of 100,000 x 20", "scikit-learn, matrix of 100,000 x 20"
TUPLES, TUPLES_PEER = "stand-in, named tuples", "ir_measures, named tuples"
FRAMES, FRAMES_PEER = "stand-in, pandas frames", "ir_measures, pandas frames"
FUSE, FUSE_PEER = f"cranfield, {FUSED} files fused", f"ranx, {FUSED} files fused"

CONTESTANTS: dict[str, Callable[[Path], Timed]] = {
    OURS: read_responses,
    LOADS: json_loads,
    ROWS: our_matrices(DEEP),
    ROWS_PEER: scikit_learn(DEEP),
    FLAT: our_matrices(SHALLOW),
    FLAT_PEER: scikit_learn(SHALLOW),
    TUPLES: with_measures("cranfield.compat.ir_measures", frames=False),
    TUPLES_PEER: with_measures("ir_measures", frames=False),
    FRAMES: with_measures("cranfield.compat.ir_measures", frames=True),
    FRAMES_PEER: with_measures("ir_measures", frames=True),
    FUSE: our_fusion,
    FUSE_PEER: ranx_fusion,
}
PAIRS = {
    (OURS, LOADS): 1 / 1.5,
    (ROWS, ROWS_PEER): 2.0,
    (FLAT, FLAT_PEER): 1.0,
    (TUPLES, TUPLES_PEER): 4.0,
    (FRAMES, FRAMES_PEER): 8.0,
    (FUSE, FUSE_PEER): 1.0,
}
"""How many times faster than the peer ours has to be."""


def prepare(folder: Path) -> None:
    """Make the files before the clock starts."""
    responses(folder)
    data.passages(folder, TOPICS, DEPTH)
    data.ad_hoc(folder)


def main(name: str, folder: str) -> None:
    began = time.perf_counter()
    try:
        timed = CONTESTANTS[name](Path(folder))
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    ready = time.perf_counter()
    times = []
    for _ in range(CALLS):
        before = time.perf_counter()
        answer = timed()
        times.append(time.perf_counter() - before)
    spent = time.perf_counter() - began
    seconds = {"seconds": min(times), "with_imports": ready - began + times[0], "spent": spent}
    print(json.dumps({**seconds, "peak": peak_bytes(), "answer": answer}))


if __name__ == "__main__":
    main(*sys.argv[1:])
