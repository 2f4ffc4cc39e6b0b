"""The contestants: each function does its imports and preparation, and returns the function that is timed.

`python -m bench.peers NAME JOB` runs one contestant in its own process, so that the peak memory is its own. It prints
seconds, bytes and means as JSON. Means are measures × runs, in the order of the job.
"""

import json
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Means = list[list[float]]
Timed = Callable[[], Means]


class Job(NamedTuple):
    qrels: str
    runs: list[str]
    measures: list[str]


def cranfield(job: Job) -> Timed:
    from cranfield import evaluate

    return lambda: evaluate(job.qrels, job.runs, job.measures).means().tolist()


def pytrec_eval(job: Job) -> Timed:
    import pytrec_eval as pte

    def timed() -> Means:
        evaluator = pte.RelevanceEvaluator(parsed(pte.parse_qrel, job.qrels), trec_names(job.measures))
        return columns(pytrec_eval_means(evaluator, parsed(pte.parse_run, run), job.measures) for run in job.runs)

    return timed


def ir_measures(job: Job) -> Timed:
    import ir_measures as irm

    # ir_measures writes Bpref.
    measures = [irm.parse_measure(name.replace("bpref", "Bpref")) for name in job.measures]

    def timed() -> Means:
        evaluator = irm.evaluator(measures, irm.read_trec_qrels(job.qrels))
        means = (evaluator.calc_aggregate(irm.read_trec_run(run)) for run in job.runs)
        return columns([mean[measure] for measure in measures] for mean in means)

    return timed


def ranx(job: Job) -> Timed:
    from ranx import Qrels, Run, evaluate

    names = ranx_names(job.measures)

    # Compile the code that will be timed. With fewer than ten topics, ranx would stay on one thread from then on.
    tiny = {f"topic{number}": {"a": 1, "b": 2} for number in range(20)}
    evaluate(Qrels.from_dict(tiny), Run.from_dict({topic: {"a": 2.0, "b": 1.0} for topic in tiny}), names)

    def timed() -> Means:
        qrels = Qrels.from_file(job.qrels, kind="trec")
        means = (evaluate(qrels, Run.from_file(run, kind="trec"), names) for run in job.runs)
        return columns([float(mean[name]) for name in names] for mean in means)

    return timed


def trec_eval(job: Job) -> Timed:
    if not shutil.which("trec_eval"):
        raise ImportError("trec_eval is not on the path")
    options = [word for name in trec_names(job.measures) for word in ("-m", name)]

    def means(run: str) -> list[float]:
        output = subprocess.check_output(["trec_eval", *options, job.qrels, run], text=True)
        value = {line.split()[0]: float(line.split()[2]) for line in output.splitlines()}
        return [value[key] for key in trec_keys(job.measures)]

    return lambda: columns(means(run) for run in job.runs)


def cranfield_dicts(job: Job) -> Timed:
    from cranfield import Evaluator

    qrels, run = dicts(job)
    return lambda: Evaluator(qrels, job.measures).evaluate(run).means().tolist()


def pytrec_eval_dicts(job: Job) -> Timed:
    import pytrec_eval as pte

    qrels, run = dicts(job)
    names = trec_names(job.measures)
    return lambda: columns([pytrec_eval_means(pte.RelevanceEvaluator(qrels, names), run, job.measures)])


def pyndeval(job: Job) -> Timed:
    import pyndeval as pnd

    def timed() -> Means:  # pyndeval has no reader; this is the shortest loop
        evaluator = pnd.RelevanceEvaluator(intent_tuples(job.qrels), pyndeval_names(job.measures))
        return columns(pyndeval_means(evaluator, run_tuples(run)) for run in job.runs)

    return timed


def cranfield_in_memory(job: Job) -> Timed:
    from cranfield import Qrels, Run, evaluate

    qrels, runs = Qrels.read(job.qrels), [Run.read(run) for run in job.runs]
    return lambda: evaluate(qrels, runs, job.measures).means().tolist()


def pyndeval_in_memory(job: Job) -> Timed:
    import pyndeval as pnd

    qrels, runs = list(intent_tuples(job.qrels)), [list(run_tuples(run)) for run in job.runs]
    names = pyndeval_names(job.measures)

    def timed() -> Means:
        evaluator = pnd.RelevanceEvaluator(qrels, names)
        return columns(pyndeval_means(evaluator, run) for run in runs)

    return timed


CONTESTANTS: dict[str, Callable[[Job], Timed]] = {
    "cranfield": cranfield,
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
    "trec_eval": trec_eval,
    "cranfield, dicts": cranfield_dicts,
    "pytrec_eval, dicts": pytrec_eval_dicts,
    "pyndeval": pyndeval,
    "cranfield, in memory": cranfield_in_memory,
    "pyndeval, in memory": pyndeval_in_memory,
}


def trec_names(measures: list[str]) -> list[str]:
    """Return the names that trec_eval and pytrec_eval take: `AP@100` and `AP@1000` become map_cut.100,1000."""
    cutoffs: dict[str, list[str]] = {}
    for key in trec_keys(measures):
        name, cutoff = re.fullmatch(r"([a-zA-Z_]+?)(?:_([\d.]+))?", key).groups()  # type: ignore[union-attr]
        cutoffs.setdefault(name, []).extend([cutoff] if cutoff else [])
    return [f"{name}.{','.join(cuts)}" if cuts else name for name, cuts in cutoffs.items()]


def trec_keys(measures: list[str]) -> list[str]:
    """Return the names that trec_eval and pytrec_eval print: `P@5` is P_5, `IPrec@0.5` is iprec_at_recall_0.50."""
    plain = {"AP": "map", "nDCG": "ndcg", "RR": "recip_rank"}
    cut = {"AP": "map_cut", "nDCG": "ndcg_cut", "R": "recall", "Success": "success", "IPrec": "iprec_at_recall"}
    keys = []
    for name, _, cutoff in (measure.partition("@") for measure in measures):
        shown = f"{float(cutoff):.2f}" if "." in cutoff else cutoff
        keys.append(f"{cut.get(name, name)}_{shown}" if cutoff else plain.get(name, name))
    return keys


def ranx_names(measures: list[str]) -> list[str]:
    names = {"AP": "map", "nDCG": "ndcg", "RR": "mrr", "P": "precision", "R": "recall"}
    return [re.sub(r"^\w+", lambda name: names[name[0]], measure) for measure in measures]


def pyndeval_names(measures: list[str]) -> list[str]:
    names = {"I-rec": "strec", "AP-IA": "MAP-IA"}
    return [re.sub(r"^[\w-]+", lambda name: names.get(name[0], name[0]), re.sub(r"\(.*\)", "", m)) for m in measures]


def pyndeval_means(evaluator: Any, run: Any) -> list[float]:
    topics = evaluator.evaluate(run).values()
    return [sum(topic[key] for topic in topics) / len(topics) for key in evaluator.measures]


def intent_tuples(path: str) -> Iterator[tuple[str, str, str, int]]:
    with open(path) as file:
        for topic, intent, doc, grade in map(str.split, file):
            yield topic, intent, doc, int(grade)


def run_tuples(path: str) -> Iterator[tuple[str, str, float]]:
    with open(path) as file:
        for topic, _, doc, _, score, _ in map(str.split, file):
            yield topic, doc, float(score)


def pytrec_eval_means(evaluator: Any, run: dict[str, dict[str, float]], measures: list[str]) -> list[float]:
    topics = evaluator.evaluate(run).values()
    return [sum(topic[key] for topic in topics) / len(topics) for key in trec_keys(measures)]


def parsed(parse: Callable[[Any], Any], path: str) -> Any:
    with open(path) as file:
        return parse(file)


def dicts(job: Job) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Read the files into dicts of dicts, as a program that made its run in memory would hold them."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    with open(job.qrels) as file:
        for topic, _, doc, grade in map(str.split, file):
            qrels.setdefault(topic, {})[doc] = int(grade)
    with open(job.runs[0]) as file:
        for topic, _, doc, _, score, _ in map(str.split, file):
            run.setdefault(topic, {})[doc] = float(score)
    return qrels, run


def columns(rows: Any) -> Means:
    """Transpose runs × measures to measures × runs."""
    return [list(column) for column in zip(*rows, strict=True)]


def peak_bytes() -> int:
    """Return the peak resident memory of this process and of those it started.

    getrusage includes the memory of the parent at the fork, so on Linux the value comes from /proc instead.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    peaks = [resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit]
    if sys.platform == "linux":
        with open("/proc/self/status") as status:
            peaks += [int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")]
    else:
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
    return max(peaks)


def main(name: str, job: str) -> None:
    began = time.perf_counter()
    try:
        timed = CONTESTANTS[name](Job(**json.loads(job)))
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    ready, before = time.perf_counter(), peak_bytes()
    means = timed()
    done = time.perf_counter()
    seconds = {"seconds": done - ready, "with_imports": done - began}
    print(json.dumps({**seconds, "peak": peak_bytes(), "peak_before": before, "means": means}))


if __name__ == "__main__":
    main(*sys.argv[1:])
