"""The parts of the benchmark: who takes part, on which data, and the targets."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import data
from bench.contest import Entry, Part, Target, in_turns, processes, quotient, race, ratio, script, warm
from bench.peers import Job

FIVE = ["AP", "nDCG@10", "RR", "P@10", "R@1000"]
THIRTY = [
    *("AP", "AP@100", "AP@1000", "RR", "Rprec", "bpref", "IPrec@0.5", "Success@1", "Success@5", "Success@10"),
    *("nDCG", "nDCG@5", "nDCG@10", "nDCG@20", "nDCG@100", "nDCG@1000"),
    *("P@5", "P@10", "P@15", "P@20", "P@30", "P@100", "P@200", "P@500", "P@1000"),
    *("R@10", "R@100", "R@200", "R@500", "R@1000"),
]
DIVERSE = [
    f"{name}@{cutoff}"
    for name in (
        *(f"{name}(dialect='ndeval')" for name in ("ERR-IA", "nERR-IA", "alpha-DCG")),
        *("alpha-nDCG", "P-IA", "I-rec"),
    )
    for cutoff in (5, 10, 20)  # pyndeval has no higher cutoffs
] + ["NRBP", "nNRBP", "AP-IA"]
DEEPER = [name.replace("@20", "@100") for name in DIVERSE if name.endswith("@20")]
REPORTED_RUNS = 126


def large(folder: Path, repeats: int) -> Part:
    job = passages_job(folder, *data.LARGE)
    names = ["cranfield", "pytrec_eval", "ir_measures", "ranx", "trec_eval"]
    rows = race([Entry(name, name, job) for name in names], repeats)
    size = os.path.getsize(job.runs[0])
    targets = [
        Target("times faster than pytrec_eval", ratio(rows, "pytrec_eval", "cranfield"), at_least=8),
        Target("times faster than ir_measures", ratio(rows, "ir_measures", "cranfield"), at_least=12),
        Target("times faster than ranx", ratio(rows, "ranx", "cranfield"), at_least=25),
        Target("peak memory over file size", quotient(rows["cranfield"].get("peak"), size), at_most=2),
    ]
    topics, depth = data.LARGE
    return Part(f"one run, {topics:,} topics x {depth:,} documents, {size / 1e6:.0f} MB, five measures", rows, targets)


def metal(folder: Path, repeats: int) -> Part:
    job = passages_job(folder, *data.LARGE)
    files, options = [job.qrels, job.runs[0]], [word for name in FIVE for word in ("-m", name)]
    commands = {
        "cranfield eval": [script("cranfield"), "eval", *files, *options],
        "md5sum": ["md5sum", job.runs[0]],
        "wc -l": ["wc", "-l", job.runs[0]],
    }
    warm(files)
    rows = processes(commands, repeats * 2)
    targets = [Target("times the time of md5sum", ratio(rows, "cranfield eval", "md5sum"), at_most=1)]
    return Part(f"whole processes on one run of {os.path.getsize(files[1]) / 1e6:.0f} MB, five measures", rows, targets)


def memory(folder: Path, repeats: int) -> Part:
    command = [sys.executable, "-m", "bench.large_files", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows: dict[str, dict[str, Any]] = json.loads(done.stdout)
    per_byte = {label: row["cpu"] / row["size"] for label, row in rows.items()}
    judged = [row["peak"] / row["size"] for label, row in rows.items() if "judgments" in label]
    limited = max(rows[form]["peak"] for form in ("plain", "gzip", "pipe"))
    targets = [
        Target("GB at the peak, within 1 GB", limited / 2**30, at_most=1),
        Target("GB at the peak with topics not together", rows["topics not together"]["peak"] / 2**30, at_most=0.5),
        Target("times the processor time per byte of a tenth", per_byte["plain"] / per_byte["a tenth"], at_most=1.25),
        Target("peak memory over the size of 20 million judgments", max(judged), at_most=2),
    ]
    return Part(f"a run of {rows['plain']['size'] / 1e9:.1f} GB, five measures", rows, targets)


def many(folder: Path, repeats: int) -> Part:
    qrels, runs = data.ad_hoc(folder)
    thirty = Job(str(qrels), [str(run) for run in runs], THIRTY)
    entries = [Entry(name, name, thirty) for name in ("cranfield", "pytrec_eval", "ir_measures", "trec_eval")]
    entries.insert(1, Entry("cranfield, AP only", "cranfield", thirty._replace(measures=["AP"])))
    rows = race(entries, repeats)
    targets = [
        Target("times the time with one measure", ratio(rows, "cranfield", "cranfield, AP only"), at_most=1.2),
        Target("times faster than ir_measures", ratio(rows, "ir_measures", "cranfield"), at_least=10),
    ]
    size = sum(os.path.getsize(run) for run in runs)
    title = f"{len(runs)} runs x {data.MANY_TOPICS} topics x {data.MANY_DEPTH:,} documents, {size / 1e6:.0f} MB"
    return Part(f"{title}, {len(THIRTY)} measures", rows, targets)


def dicts(folder: Path, repeats: int) -> Part:
    job = passages_job(folder, *data.LARGE)
    rows = race([Entry(name, f"{name}, dicts", job) for name in ("cranfield", "pytrec_eval")], repeats)
    targets = [Target("times faster than pytrec_eval", ratio(rows, "pytrec_eval", "cranfield"), at_least=8)]
    return Part(f"dicts in memory, {data.LARGE[0] * data.LARGE[1]:,} entries, five measures", rows, targets)


def diversity(folder: Path, repeats: int) -> Part:
    qrels, runs = data.diverse(folder)
    job = Job(str(qrels), [str(run) for run in runs], DIVERSE)
    names = ["cranfield", "pyndeval", "cranfield, in memory", "pyndeval, in memory"]
    entries = [Entry(name, name, job) for name in names]
    entries.insert(1, Entry("cranfield, also @100", "cranfield", job._replace(measures=DIVERSE + DEEPER)))
    rows = race(entries, repeats)
    in_memory = ratio(rows, "pyndeval, in memory", "cranfield, in memory")
    targets = [
        Target("times faster than pyndeval", ratio(rows, "pyndeval", "cranfield"), at_least=10),
        Target("times faster, also with cutoff 100", ratio(rows, "pyndeval", "cranfield, also @100"), at_least=10),
        Target("times faster, data in memory", in_memory, at_least=10),
    ]
    size = f"{len(runs)} runs x {data.DIVERSE_TOPICS} topics x {data.DIVERSE_DEPTH:,} documents"
    return Part(f"{size}, {data.DIVERSE_INTENTS} intents a topic, {len(DIVERSE)} measures", rows, targets)


def start(folder: Path, repeats: int) -> Part:
    qrels, runs = data.ad_hoc(folder)
    files, options = [str(qrels), str(runs[0])], [word for name in FIVE for word in ("-m", name)]
    commands = {
        "cranfield eval": [script("cranfield"), "eval", *files, *options],
        "ir_measures": [script("ir_measures"), *files, *FIVE],
        "import cranfield": [sys.executable, "-c", "import cranfield"],
        "from cranfield import evaluate": [sys.executable, "-c", "from cranfield import evaluate"],
        "import numpy": [sys.executable, "-c", "import numpy"],
        "python": [sys.executable, "-c", "pass"],
    }
    warm(files)
    rows = processes(commands, repeats * 4)
    bare, numpy = rows["python"]["seconds"], rows["import numpy"]["seconds"]
    evaluating = quotient(rows["cranfield eval"].get("seconds"), 2 * numpy + 0.06)
    imported = rows["import cranfield"].get("seconds")
    importing = None if imported is None else (imported - bare) / (numpy - bare)
    targets = [
        Target("cranfield eval over twice import numpy and 60 ms", evaluating, at_most=1),
        Target("import cranfield over import numpy, without the start of python", importing, at_most=1.5),
    ]
    title = f"whole processes, {data.MANY_TOPICS} topics x {data.MANY_DEPTH:,} documents, five measures"
    return Part(title, rows, targets)


def scale(folder: Path, repeats: int) -> Part:
    sizes = [size for pair in data.SCALE for size in pair]
    labels = {size: f"{size[0]:,} topics x {size[1]:,}" for size in sizes}
    rows = race([Entry(labels[size], "cranfield", passages_job(folder, *size)) for size in sizes], repeats)
    targets = [
        Target(f"times the time of {labels[small]}", ratio(rows, labels[tenfold], labels[small]), at_most=11)
        for small, tenfold in data.SCALE
    ]
    return Part("ten times the documents", rows, targets)


def compare(folder: Path, repeats: int) -> Part:
    from bench.comparisons import (
        ANOVA,
        BOOTSTRAP,
        CONTESTANTS,
        MAX_T,
        RANDOMISATION,
        RANDOMISED_TUKEY,
        SCIPY,
        SCIPY_PAIRS,
    )

    rows = in_turns("bench.comparisons", CONTESTANTS, repeats)
    most = [("s, paired bootstrap", BOOTSTRAP, 5), ("s, randomised Tukey", RANDOMISED_TUKEY, 3), ("s, max-t", MAX_T, 8)]
    most += [("s, randomisation", RANDOMISATION, 20), ("s, two-way ANOVA with Tukey", ANOVA, 0.2)]
    peaks = [row.get("peak") for label, row in rows.items() if label != SCIPY]
    targets = [Target(what, rows[label].get("seconds"), at_most=limit) for what, label, limit in most]
    targets += [
        Target(
            f"times faster than scipy.stats.bootstrap ({SCIPY_PAIRS} pairs, scaled up)",
            ratio(rows, SCIPY, BOOTSTRAP),
            at_least=200,
        ),
        Target("GB, highest peak memory of ours", None if None in peaks else max(peaks) / 1e9, at_most=1),
    ]
    return Part("129 systems x 50 topics, p-values and intervals of all 8,256 pairs", rows, targets)


def meta(folder: Path, repeats: int) -> Part:
    from bench.meta import CONTESTANTS, LIMITS

    rows = in_turns("bench.meta", CONTESTANTS, repeats)
    peaks = [row.get("peak") for row in rows.values()]
    targets = [Target(f"s, {label}", rows[label].get("seconds"), at_most=limit) for label, limit in LIMITS.items()]
    targets.append(Target("GB, highest peak memory of ours", None if None in peaks else max(peaks) / 1e9, at_most=1))
    return Part("meta-evaluation, 129 systems x 50 topics x 20 measures", rows, targets)


def building(folder: Path, repeats: int) -> Part:
    from bench.building import CONTESTANTS, LIMITS, RATIOS

    qrels, runs = data.ad_hoc(folder)
    warm({str(path) for path in (qrels, *runs)})
    rows = in_turns("bench.building", CONTESTANTS, repeats, str(folder))
    targets = [
        Target(f"times {other}, {label}", ratio(rows, label, other), at_most=limit)
        for label, (other, limit) in RATIOS.items()
    ]
    targets += [Target(f"s, {label}", rows[label].get("seconds"), at_most=limit) for label, limit in LIMITS.items()]
    return Part(f"{len(runs)} runs x {data.MANY_TOPICS} topics x {data.MANY_DEPTH:,} documents", rows, targets)


def merging(folder: Path, repeats: int) -> Part:
    from bench.merging import CONTESTANTS, FASTER

    rows = in_turns("bench.merging", CONTESTANTS, repeats)
    targets = [
        Target(f"times faster than {peer}", ratio(rows, peer, ours), at_least=least)
        for (ours, peer), least in FASTER.items()
    ]
    return Part("merging the labels of assessors", rows, targets)


def machine_judges(folder: Path, repeats: int) -> Part:
    from bench.machine import CONTESTANTS, LIMITS

    data.ad_hoc(folder)  # made before the clock starts
    rows = in_turns("bench.machine", CONTESTANTS, repeats, str(folder))
    targets = [Target(f"s, {label}", rows[label].get("seconds"), at_most=limit) for label, limit in LIMITS.items()]
    return Part("machine judges: prediction-powered intervals and an audit", rows, targets)


def serve(folder: Path, repeats: int) -> Part:
    from bench.serving import BARE, CONTESTANTS, LIMITS, MEGABYTES, SERVED

    rows = in_turns("bench.serving", CONTESTANTS, repeats)
    targets = [Target("of the speed of bare commits, judgments by HTTP", ratio(rows, BARE, SERVED), at_least=0.7)]
    targets += [Target(f"s, {label}", rows[label].get("seconds"), at_most=limit) for label, limit in LIMITS.items()]
    targets += [
        Target(f"MB, {label}", quotient(rows[label].get("peak"), 2**20), at_most=limit)
        for label, limit in MEGABYTES.items()
    ]
    return Part("judging in the browser", rows, targets)


def interleave(folder: Path, repeats: int) -> Part:
    from bench.interleaving import CONTESTANTS, LISTS, MICROSECONDS

    rows = in_turns("bench.interleaving", CONTESTANTS, repeats)
    targets = [
        Target(f"µs for a list, {label}", quotient(rows[label].get("seconds"), LISTS / 1e6), at_most=most)
        for label, most in MICROSECONDS.items()
    ]
    return Part(f"interleaving, {LISTS:,} lists of ten", rows, targets)


def ab_test(folder: Path, repeats: int) -> Part:
    from bench.experiments import CONTESTANTS, CRANFIELD, METRICS, USERS, table

    for users in (1_000, USERS):  # made before the clock starts
        table(folder, users)
    rows = in_turns("bench.experiments", CONTESTANTS, repeats, str(folder))
    targets = [
        Target(f"times faster than {name}", ratio(rows, name, CRANFIELD), at_least=3)
        for name in CONTESTANTS
        if name != CRANFIELD
    ]
    return Part(f"A/B test of {USERS:,} users, {len(METRICS)} metrics, from Parquet", rows, targets)


def logs(folder: Path, repeats: int) -> Part:
    from bench.logs import (
        BARE,
        BARE_MEASURES,
        CONTESTANTS,
        LARGE_USERS,
        MEASURES,
        OURS,
        SAME,
        SMALL_USERS,
        WRITING,
        log_of,
    )

    for users in (LARGE_USERS, SMALL_USERS, 100):
        log_of(folder, users)  # made before the clock starts
    rows = in_turns("bench.logs", CONTESTANTS, repeats, str(folder))
    for first, second in SAME:
        if rows[first].get("answer") != rows[second].get("answer"):
            rows[second]["broken"] = f"{rows[second].get('answer')} instead of {rows[first].get('answer')}"
    targets = [
        Target("times the time of bare SQL, sessions", ratio(rows, OURS, BARE), at_most=2),
        Target("times the time of bare SQL for sessions, all measures", ratio(rows, MEASURES, BARE), at_most=2),
        Target("times the time of bare SQL, all measures", ratio(rows, MEASURES, BARE_MEASURES), at_most=1),
        Target(f"s, {WRITING}", rows[WRITING].get("seconds"), at_most=60),
    ]
    return Part("logs of live traffic", rows, targets)


def click_models(folder: Path, repeats: int) -> Part:
    from bench.clicks import (
        CONTESTANTS,
        COUNTS_FEW,
        COUNTS_MANY,
        LIMITS,
        MANY,
        OFF_POLICY,
        OFF_POLICY_LIMIT,
        RANKS,
        clicks_log,
        decisions,
    )

    clicks_log(folder, MANY)  # made before the clock starts
    decisions(folder)
    rows = in_turns("bench.clicks", CONTESTANTS, repeats, str(folder))
    targets = [Target(f"s, {label}", rows[label].get("seconds"), at_most=limit) for label, limit in LIMITS.items()]
    more = quotient(rows[COUNTS_MANY].get("peak"), rows[COUNTS_FEW].get("peak"))
    targets.append(Target("times the bytes of counts, with four times the sessions", more, at_most=1.1))
    targets.append(Target("s, off-policy estimates", rows[OFF_POLICY].get("seconds"), at_most=OFF_POLICY_LIMIT))
    return Part(f"click models, {MANY:,} sessions x {RANKS} ranks from a Parquet file, 50 EM steps", rows, targets)


def answers(folder: Path, repeats: int) -> Part:
    from bench.answers import CONTESTANTS, LONG, MORE, OURS, PAIRS, PEER, TWO, WORDS

    rows = in_turns("bench.answers", CONTESTANTS, repeats)
    grown = rows[TWO].get("grown")
    targets = [
        Target("times faster than rouge-score", ratio(rows, PEER, OURS), at_least=30),
        Target("times the time of a tenth of the pairs", ratio(rows, MORE, OURS), at_most=12),
        Target("bytes a word, ROUGE-L of two long texts", quotient(grown, 2 * LONG), at_most=200),
    ]
    title = f"ROUGE-1, -2, -L and -Lsum with stemmer of {PAIRS:,} pairs x {WORDS} words; two texts of {LONG:,} words"
    return Part(title, rows, targets)


def campaign(folder: Path, repeats: int) -> Part:
    from bench.campaigns import CONTESTANTS, LIMITS

    rows = in_turns("bench.campaigns", CONTESTANTS, repeats)
    targets = [Target(f"s, {label}", rows[label].get("seconds"), at_most=limit) for label, limit in LIMITS.items()]
    return Part("a campaign in the browser", rows, targets)


def sessions(folder: Path, repeats: int) -> Part:
    from bench.sessions import CLICKED, CONTESTANTS, DOCUMENTS, JUDGED, QUERIES, SESSIONS

    rows = in_turns("bench.sessions", CONTESTANTS, repeats)
    targets = [Target(f"seconds, {name}", rows[name].get("seconds"), at_most=5) for name in (JUDGED, CLICKED)]
    return Part(f"all measures of {SESSIONS:,} sessions x {QUERIES} queries x {DOCUMENTS} documents", rows, targets)


def inputs(folder: Path, repeats: int) -> Part:
    from bench.inputs import CONTESTANTS, PAIRS, prepare

    prepare(folder)
    rows = in_turns("bench.inputs", CONTESTANTS, repeats, str(folder))
    for ours, peer in PAIRS:
        answer, expected = rows[ours].get("answer"), rows[peer].get("answer")
        if None not in (answer, expected) and not abs(answer - expected) <= 1e-6 * abs(expected):
            rows[ours]["broken"] = f"{answer} instead of {expected}"
    targets = [
        Target(f"times faster than {peer}", ratio(rows, peer, ours), at_least=round(least, 2))
        for (ours, peer), least in PAIRS.items()
    ]
    return Part("what people bring, ours and other tools", rows, targets)


def service(folder: Path, repeats: int) -> Part:
    from bench.service import CONTESTANTS, DOCUMENTS, EVALUATIONS, MATRIX, OURS, PEER, TOPICS

    rows = in_turns("bench.service", CONTESTANTS, repeats)
    targets = [
        Target(f"evaluations a second, {name}", quotient(EVALUATIONS, rows[name].get("seconds")), at_least=1000)
        for name in (OURS, MATRIX)
    ]
    targets.append(Target(f"times faster than {PEER}", ratio(rows, PEER, OURS), at_least=2))
    return Part(f"{EVALUATIONS:,} evaluations of {TOPICS} x {DOCUMENTS} documents, nDCG@10", rows, targets)


def commands(folder: Path, repeats: int) -> Part:
    judgments, files = data.ad_hoc(folder)
    qrels, runs = str(judgments), [str(file) for file in files]
    cranfield, measure = script("cranfield"), ["-m", "nDCG@10", "--quiet", "-o", os.devnull]
    several = {name: [cranfield, name, qrels, *runs, *measure] for name in ("eval", "topics", "leaderboard")}
    gate = [cranfield, "gate", qrels, "--margin", "1", *measure, "--baseline"]
    several["gate"] = [*gate, *runs]
    two = {"eval, two runs": [cranfield, "eval", qrels, *runs[:2], *measure], "gate, two runs": [*gate, *runs[:2]]}
    standing_in = {"cranfield.compat.ir_measures": "ir_measures", "cranfield.compat.pytrec_eval": "pytrec_eval"}
    modules = [name for pair in standing_in.items() for name in pair]
    imports = {f"import {name}": [sys.executable, "-c", f"import {name}"] for name in modules}
    warm([qrels, *runs])
    rows = processes({**several, **two, **imports}, repeats)
    limits = {("topics", "eval"): 1.3, ("leaderboard", "eval"): 1.3, ("gate", "eval"): 1.3}
    limits[("gate, two runs", "eval, two runs")] = 1.3
    limits |= {(f"import {ours}", f"import {original}"): 1.0 for ours, original in standing_in.items()}
    targets = [
        Target(f"times the time of {other}, {name}", ratio(rows, name, other), at_most=limit)
        for (name, other), limit in limits.items()
    ]
    return Part(f"whole processes, {len(runs)} runs, nDCG@10; importing stand-ins", rows, targets)


def report(folder: Path, repeats: int) -> Part:
    judgments, files = data.ad_hoc(folder)
    inputs = [str(judgments), *map(str, files[:REPORTED_RUNS])]
    page = folder / "report.html"
    cranfield, measures = script("cranfield"), ["-m", "nDCG@10,AP,RR,P@10", "--quiet"]
    warm(inputs)
    both = {
        "eval": [cranfield, "eval", *inputs, *measures, "-o", os.devnull],
        "report": [cranfield, "report", *inputs, *measures, "-o", str(page)],
    }
    rows = processes(both, repeats)
    less, more = (rows[name].get("seconds") for name in both)
    beyond = None if less is None or more is None else more - less
    size = page.stat().st_size / 1e6 if page.exists() else None
    targets = [
        Target("seconds of report beyond those of eval", beyond, at_most=3),
        Target("MB of the page", size, at_most=5),
    ]
    return Part(f"the report of {REPORTED_RUNS} runs and {data.MANY_TOPICS} topics, whole processes", rows, targets)


PARTS: dict[str, Callable[[Path, int], Part]] = {
    "large": large,
    "metal": metal,
    "memory": memory,
    "many": many,
    "dicts": dicts,
    "diversity": diversity,
    "start": start,
    "scale": scale,
    "compare": compare,
    "meta": meta,
    "building": building,
    "merging": merging,
    "machine": machine_judges,
    "serve": serve,
    "interleave": interleave,
    "ab": ab_test,
    "logs": logs,
    "clicks": click_models,
    "answers": answers,
    "sessions": sessions,
    "campaign": campaign,
    "inputs": inputs,
    "commands": commands,
    "report": report,
    "service": service,
}


def passages_job(folder: Path, topics: int, depth: int) -> Job:
    qrels, run = data.passages(folder, topics, depth)
    return Job(str(qrels), [str(run)], FIVE)
