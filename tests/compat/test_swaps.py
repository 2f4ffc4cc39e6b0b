"""PyTerrier, BEIR and MTEB return the same numbers with our modules in place of the originals.

These packages are large and no dependencies of the tests; where one is installed, its evaluation runs in a process of
its own, once with the original and once with the replacement.
"""

import subprocess
import sys
from importlib.util import find_spec

import pytest

PYTERRIER = """
import pandas as pd
import pyterrier as pt
from pyterrier.measures import AP, P, RR, nDCG
topics = pd.DataFrame({"qid": ["q1", "q2", "q3"], "query": ["lamp", "desk", "chair"]})
qrels = pd.DataFrame({"qid": ["q1", "q1", "q2", "q3"], "docno": ["d1", "d2", "d3", "d9"], "label": [2, 1, 1, 1]})
found = pd.DataFrame({"qid": ["q1"] * 3 + ["q2"] * 3, "docno": ["d1", "x", "d2", "y", "d3", "d4"],
                      "score": [3.0, 2.0, 1.0] * 2, "rank": [0, 1, 2] * 2})
turned = found.assign(score=-found["score"])
measures = ["map", "recip_rank", "P_5", "ndcg_cut_10", nDCG @ 10, AP(rel=2), RR @ 10, "official"]
systems = [pt.Transformer.from_df(found), pt.Transformer.from_df(turned)]
means = pt.Experiment(systems, topics, qrels, measures, names=["a", "b"], baseline=0).round(6)
print(means.sort_index(axis=1).T.to_string())
by_query = pt.Experiment(systems, topics, qrels, [nDCG @ 10, P @ 2], names=["a", "b"], perquery=True).round(6)
print(by_query.sort_values(["name", "qid", "measure"]).to_string(index=False))
"""
QRELS = "qrels = {'q1': {'d1': 2, 'd2': 0, 'd3': 1}, 'q2': {'d4': 1}, 'q3': {'d1': 1}}"
RESULTS = "results = {'q1': {'d1': 0.3, 'd2': 0.9, 'd3': 0.3}, 'q2': {'d4': 0.1, 'd5': 0.1}, 'q3': {'d7': 1.0}}"
BEIR = f"""
from beir.retrieval.evaluation import EvaluateRetrieval
{QRELS}
{RESULTS}
print(EvaluateRetrieval.evaluate(qrels, results, k_values=[1, 3, 10]))
print(EvaluateRetrieval.evaluate_custom(qrels, results, [1, 10], metric="mrr"))
"""
MTEB = f"""
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores
{QRELS}
{RESULTS}
print(calculate_retrieval_scores(results, qrels, [1, 3, 10]))
"""
PROGRAMS = {
    "pyterrier": ("ir_measures", PYTERRIER),
    "beir": ("pytrec_eval", BEIR),
    "mteb": ("pytrec_eval", MTEB),
}
SWAP = "import importlib, sys\nsys.modules['{0}'] = importlib.import_module('cranfield.compat.{0}')\n"
WHO = "\nimport sys\nprint(sys.modules['{0}'].__name__, file=sys.stderr)\n"


def output(program: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("skipped [")]  # a message of ir_measures
    return "\n".join(lines), done.stderr.splitlines()[-1]


@pytest.mark.parametrize("package", PROGRAMS)
def test_a_package_returns_the_same_numbers_with_the_replacement(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    original, program = PROGRAMS[package]
    tried = subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in tried.stderr:
        pytest.skip(f"{package} is installed without its dependencies: {tried.stderr.splitlines()[-1]}")
    expected, used = output(program + WHO.format(original))
    assert used == original
    numbers, used = output(SWAP.format(original) + program + WHO.format(original))
    assert used == f"cranfield.compat.{original}"
    assert numbers == expected
