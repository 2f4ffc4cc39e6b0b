"""Every verb with the inputs that grow, and its limits."""

from collections.abc import Callable
from pathlib import Path

from bench.growth import people_and_texts as people
from bench.growth import traffic
from bench.growth.inputs import collection, collections, command, grows, judged, kept, nothing, ranked, rows, table
from bench.growth.measuring import QUADRATIC, Case

from cranfield.cli import GROUPS, STAND_INS, VERBS

ALL = ("topics", "documents", "runs")
PAIRS = {"time": QUADRATIC, "memory": 3.2, "why": "compares all pairs of runs"}
WITHOUT_EACH = {"time": QUADRATIC, "memory": 4.2, "why": "scores and ranks all runs anew without each of them"}
PAIRS_OF_TOPICS = {"time": QUADRATIC, "memory": 11, "why": "compares all pairs of topics, in blocks of a fixed size"}
SUBSEQUENCES = {"time": QUADRATIC, "why": "the longest common subsequence of two texts looks at all pairs of words"}
NUMBER = {"memory": float("inf"), "why": "the input is a number, and the output grows with it"}
STEPS = "--steps 20"
"""As many for each size: how many are needed until nothing changes depends on the labels."""
JUDGED = "qrels.txt runs/*.run"
TWO = "qrels.txt runs/r00000.run runs/r00001.run"


def every_verb() -> list[str]:
    """The verbs of the command line."""
    return [*VERBS, *(f"{group} {verb}" for group in GROUPS for verb in GROUPS[group].verbs), *STAND_INS]


def of_documents(name: str, value: str) -> Callable[[Path, dict[str, int]], None]:
    """A file with a value for each document; `{n}` is the place of the document."""

    def write(folder: Path, sizes: dict[str, int]) -> None:
        files = [folder / "qrels.txt", *(folder / "runs").iterdir()]
        ids = {line.split()[2] for path in files for line in path.read_text().splitlines()}
        rows(folder / name, "", (f"{doc}\t{value.format(n=n, m=n % 3)}" for n, doc in enumerate(sorted(ids))))

    return write


def times(folder: Path, sizes: dict[str, int]) -> None:
    rows(folder / "times.tsv", "", (
        f"r{run:05}\t1{topic:07}\t{0.1 * (1 + (run + topic) % 7):.1f}"
        for run in range(sizes["runs"]) for topic in range(sizes["topics"])
    ))  # fmt: skip


def predictors(folder: Path, sizes: dict[str, int]) -> None:
    rows(folder / "qpp.csv", "topic,clarity", (f"1{n:07},{n * 37 % 101 / 7:.3f}" for n in range(sizes["topics"])))


def machine(folder: Path, sizes: dict[str, int]) -> None:
    """Other judgments of the same documents."""
    kept(folder / "machine.qrels", judged, sizes["topics"], sizes["documents"], 3)


def study(folder: Path, sizes: dict[str, int]) -> None:
    lines = ['output = "results"', 'measures = ["AP", "nDCG@10"]', "[collections.c]", 'qrels = "qrels.txt"']
    lines += ['runs = ["runs/*.run"]', "[methods.correlate]", 'coefficients = ["tau-b"]']
    rows(folder / "study.toml", "", lines)


def sampled(folder: Path, topics: int) -> None:
    """A sampled pool, and its judgments."""
    collection(folder, topics)
    command(folder, "pool runs/r00000.run --method stratified --strata 10:1,50:0.2 --seed 7 -o sample.tsv --quiet")
    drawn = [line.split("\t") for line in (folder / "sample.tsv").read_text().splitlines()]
    head = drawn[0]
    at = [head.index("topic"), head.index("doc")]
    rows(folder / "drawn.qrels", "", (f"{row[at[0]]} 0 {row[at[1]]} 1" for row in drawn[1:]))


BYTES = (10, 1 << 20)
"""Topics of one run."""


def one_run_in(format: str) -> Callable[[Path, int], None]:
    """One large run in a format."""

    def write(folder: Path, topics: int) -> None:
        kept(folder / "big.run", ranked, topics, 1000, 1)
        if format != "run":
            command(folder, f"convert big.run big.{format}")
            (folder / "big.run").unlink()

    return write


ENTRIES: dict[str, list[Case] | str] = {
    "eval": collections(f"{JUDGED} -m AP,nDCG@10", *ALL),
    "measures": "it has no input",
    "explain": collections(f"{TWO} --topic 10000000 -m AP", "topics", "documents"),
    "topics": collections(f"{JUDGED} -m AP", *ALL),
    "plot": collections(f"boxes {JUDGED} -m AP -o boxes.svg", *ALL),
    "efficiency": collections(f"{JUDGED} -m AP --times times.tsv", *ALL, extra=times),
    "fairness": collections(f"{JUDGED} --groups groups.tsv", *ALL, extra=of_documents("groups.tsv", "g{m}")),
    "simulate-time": collections(
        f"{JUDGED} --lengths lengths.tsv --users 100", *ALL, extra=of_documents("lengths.tsv", "{n}")
    ),
    "compare": collections(f"{JUDGED} -m AP -t t", *ALL, runs=PAIRS),
    "leaderboard": collections(f"{JUDGED} -m AP", *ALL, runs=PAIRS),
    "report": collections(f"{JUDGED} -m AP -o report.html", *ALL, runs=PAIRS),
    "anova": collections(f"{JUDGED} -m AP", *ALL, runs=PAIRS),
    "power": collections(f"{JUDGED} -m AP", *ALL, runs=PAIRS),
    "collection sample-topics": [grows("queries", "queries.txt -n 50", people.queries)],
    "collection split": collections(f"{JUDGED} --folder parts", *ALL),
    "collection shard": collections(f"{JUDGED} --folder parts", *ALL),
    "collection design": [
        grows("users", "--users {n} --system a,b,c --topics topics.tsv", people.twelve_topics, (30, 30 << 16), **NUMBER)
    ],
    "labels agree": [
        grows("labels", "labels.csv", people.labels),
        grows(
            "assessors",
            "labels.csv",
            people.many_assessors,
            (9, 1 << 20),
            time=1.7,
            memory=78,
            why="resamples sum numbers of each pair of assessors with common items, in blocks of a fixed size",
        ),
    ],
    "labels merge": [
        grows("labels", "labels.csv -o out.qrels", people.labels),
        grows(
            "assessors", f"labels.csv --method dawid-skene {STEPS} -o out.qrels", people.many_assessors, (9, 1 << 20)
        ),
    ],
    "labels assessors": [
        grows("labels", "labels.csv", people.labels),
        grows("assessors", f"labels.csv {STEPS}", people.many_assessors, (9, 1 << 20)),
    ],
    "labels aware": [grows("topics", "labels.csv runs/*.run -m AP", people.labelled_runs, (20, 1 << 20))],
    "labels effect": [
        grows(
            "topics",
            "labels.csv runs/*.run -m AP --methods majority --resamples 20",
            people.labelled_runs,
            (20, 1 << 20),
        )
    ],
    "machine audit": collections("qrels.txt machine.qrels runs/*.run", *ALL, extra=machine, runs=PAIRS),
    "machine ppi": collections("qrels.txt machine.qrels runs/*.run -m AP", *ALL, extra=machine),
    "machine label": [grows("documents", "topics.tsv pool.tsv docs.jsonl --dry-run", people.documents)],
    "pool bias": collections(f"{JUDGED} --pool-depth 20 -m AP", *ALL),
    "clicks calibrate": [grows("users", "log --measure RBP", traffic.log)],
    "clicks offpolicy": [grows("decisions", "log.csv --policy new --least-ess 0", traffic.decisions)],
    "answers rouge": [
        grows("topics", "mine.jsonl other.jsonl -r reference.jsonl", people.texts, (20, 1 << 20)),
        grows("words", "mine.jsonl other.jsonl -r reference.jsonl", people.long_texts, (20, 1 << 20), **SUBSEQUENCES),
    ],
    "answers bleu": [
        grows("topics", "mine.jsonl other.jsonl -r reference.jsonl", people.texts, (20, 1 << 20)),
        grows("words", "mine.jsonl other.jsonl -r reference.jsonl", people.long_texts, (20, 1 << 20)),
    ],
    "answers nuggets": [grows("topics", "--assignments assignments.tsv --nuggets nuggets.tsv", people.nuggets)],
    "answers citations": [grows("topics", "citations.tsv", people.answers)],
    "answers one-click": [grows("topics", "mine.jsonl --iunits iunits.tsv --spans spans.tsv", people.one_click)],
    "answers passages": [grows("topics", "spans.tsv mine.tsv other.tsv", people.passages)],
    "answers labels": [grows("items", "gold.csv mine.csv", people.item_labels)],
    "answers verticals": [
        grows("topics", "qrels.txt mine.tsv other.tsv --orientation orientation.tsv", people.verticals)
    ],
    "answers preferences": [
        grows("topics", "preferences.tsv mine.run", people.document_preferences),
        grows("documents", "preferences.tsv mine.run", people.longer_lists, (20, 1 << 16)),
    ],
    "answers trailtext": [grows("topics", "trailtext.tsv", people.trailtexts)],
    "answers sessions": [grows("sessions", "qrels.txt mine.jsonl", people.sessions)],
    "validate": [*collections(JUDGED, *ALL), grows("bytes", "big.jsonl", one_run_in("jsonl"), BYTES)],
    "convert": [
        grows("bytes", "big.run out.jsonl", one_run_in("run"), BYTES),
        grows("bytes (jsonl)", "big.jsonl out.run", one_run_in("jsonl"), BYTES),
        grows(
            "bytes (csv)",
            "big.csv out.run",
            one_run_in("csv"),
            BYTES,
            memory=3,
            why="a row in memory is longer than its line",
        ),
        grows(
            "bytes (json)",
            "big.json out.run --kind run",
            one_run_in("json"),
            BYTES,
            memory=9.7,
            why="the text, and rows longer than in it",
        ),
    ],
    "fuse": collections("runs/*.run -o fused.run", *ALL),
    "collection stats": collections(JUDGED, *ALL),
    "completion": "it has no input",
    "meta power": collections(f"{JUDGED} -m AP -B 100", *ALL, runs=PAIRS),
    "meta swap": collections(f"{JUDGED} -m AP -B 100", *ALL, runs=PAIRS),
    "meta correlate": collections(f"{JUDGED} -m AP,nDCG", *ALL, runs=PAIRS),
    "meta concord": collections(f"{JUDGED} -m AP,nDCG --gold-measure P@5", *ALL, runs=PAIRS),
    "meta ranks": collections(JUDGED, *ALL),
    "meta loo": collections(JUDGED, *ALL, runs=WITHOUT_EACH),
    "meta robust": collections(f"{JUDGED} -m AP", *ALL),
    "meta order": "an order has 2,000 lists at most",
    "meta scale": [grows("lists", "-m nDCG --length 40 --draw {n}", nothing, (1000, 1 << 20), **NUMBER)],
    "meta meaningful": collections(f"{JUDGED} -m AP", *ALL, runs=PAIRS),
    "meta axioms": "it has no input",
    "meta gtheory": collections(f"{JUDGED} -m AP", *ALL),
    "meta inform": collections(f"{JUDGED} -m AP", *ALL),
    "meta predict": collections(
        "qrels.txt runs/r00000.run -m AP --predictors qpp.csv",
        "topics",
        "documents",
        extra=predictors,
        topics=PAIRS_OF_TOPICS,
    ),
    "meta users": [grows("users", f"ratings.csv {JUDGED} -m AP -B 100", people.ratings, (20, 1 << 20))],
    "meta tests": collections(f"{JUDGED} -m AP --simulations 60", *ALL, runs=PAIRS),
    "meta reproduce": collections(TWO, "topics", "documents"),
    "meta study": collections("study.toml", *ALL, extra=study, runs=PAIRS),
    "meta online": collections(f"{JUDGED} -m AP --outcomes outcomes.tsv", *ALL, extra=traffic.outcomes),
    "gate check": collections(
        "qrels.txt --baseline runs/r00000.run runs/r00001.run -m AP --margin 1", "topics", "documents"
    ),
    "gate history": [grows("builds", "builds.jsonl", people.builds, (10, 1 << 20))],
    "pool build": collections("runs/*.run --depth 1000000 -o pool.tsv", *ALL),
    "pool join": [grows("topics", "sample.tsv drawn.qrels -o out.qrels", sampled, (20, 1 << 20))],
    "pool holes": collections(JUDGED, *ALL),
    "pool contributions": collections(JUDGED, *ALL),
    "pool simulate": collections(f"{JUDGED} --methods depth,max-mean,hedge", *ALL, runs=PAIRS),
    "judge demo": "it is a server of the sample",
    "judge serve": "it is a server, which `bench.run serve` loads",
    "judge account": "it reads only the list of people",
    "judge status": [grows("topics", "judgments.db", people.judgments, (20, 1 << 20))],
    "judge export": [grows("topics", "judgments.db", people.judgments, (20, 1 << 20))],
    "judge import": [grows("topics", "judgments.db qrels.txt --assessor ben", people.project, (20, 1 << 20))],
    "judge backup": [grows("topics", "judgments.db copy.db", people.judgments, (20, 1 << 20))],
    "campaign init": [grows("documents", "notes --topics topics.tsv --docs docs.jsonl", people.documents)],
    "campaign serve": "it is a server, which `bench.run campaign` loads",
    "campaign run": "its time is that of the command, which has a limit",
    "campaign status": [grows("documents", "notes", people.campaign)],
    "campaign report": [grows("documents", "notes -o report.html", people.campaign)],
    "campaign export": [grows("documents", "notes files", people.campaign)],
    "campaign import": [grows("documents", "copy files", people.exported)],
    "log check": [grows("users", "log", traffic.log)],
    "log sessions": [grows("users", "log", traffic.log)],
    "log measures": [grows("users", "log", traffic.log)],
    "log documents": [grows("users", "log", traffic.log)],
    "log preferences": [grows("users", "log", traffic.log)],
    "log satisfaction": [grows("users", "log --labels labels.csv", traffic.labelled_log)],
    "log demo": [grows("users", "demo --users {n} --days 3", nothing, **NUMBER)],
    "ab assign": [grows("users", "ids.txt --experiment x", table("ids.txt", "", lambda n: f"u{n}"))],
    "ab analyse": [
        grows("users", "users.csv --metric revenue --metric clicks/impressions", traffic.users, (51_200, 1 << 22))
    ],
    "ab power": [grows("users", "users.csv --metric revenue --effect 0.02", traffic.users)],
    "ab aa": [grows("users", "users.csv --unit user --metric revenue", traffic.users)],
    "interleave make": collections("runs/r00000.run runs/r00001.run -o lists.jsonl", "topics", "documents"),
    "interleave simulate": [
        grows(
            "impressions",
            f"{TWO} --impressions {{n}} --methods team-draft",
            lambda folder, n: collection(folder),
            (1000, 1 << 22),
            **NUMBER,
        )
    ],
    "interleave analyse": [grows("lists", "log.jsonl", traffic.interleaved, (1000, 1 << 20))],
    "interleave power": [grows("lists", "log.jsonl --delta 0.02", traffic.interleaved, (1000, 1 << 20))],
    "interleave pairs": collections("runs/r00000.run -o lists.jsonl", "topics", "documents"),
    "interleave reuse": [
        grows(
            "lists",
            "log.jsonl runs/r00002.run runs/r00003.run --old runs/r00000.run --old runs/r00001.run",
            traffic.interleaved,
            (1000, 1 << 20),
        )
    ],
    "clicks fit": [grows("sessions", "log.csv --model PBM", traffic.impressions)],
    "clicks evaluate": [
        grows(
            "sessions",
            "log.csv --fit PBM,DCM",
            traffic.impressions,
            (1_600, 1 << 20),
            time=2.0,
            why="EM takes more steps on more data",
        )
    ],
    "clicks simulate": [
        grows(
            "sessions",
            "model.json bm25.run --simulated-sessions {n} -o out.csv",
            traffic.a_model,
            (1000, 1 << 22),
            **NUMBER,
        )
    ],
    "clicks judgments": [grows("sessions", "model.json -o out.qrels", traffic.model)],
    "trec_eval": collections("qrels.txt runs/r00000.run", "topics", "documents"),
    "ndeval": collections("qrels.txt runs/r00000.run", "topics", "documents"),
    "gdeval": collections("qrels.txt runs/r00000.run", "topics", "documents"),
    "ntcireval": collections("eval -g 1:2:3 qrels.txt runs/r00000.run", "topics", "documents"),
}


TEXTS = "entries of small tables are Python texts, each of which is longer than its cell"
ENGINE = "the database engine keeps buffers of its own"
MEMORY = {
    "collection sample-topics": (62, "the words and the near-duplicates of every query are Python objects"),
    "labels agree": (22, "statistics of each item and of each pair of its labels, in several arrays"),
    "labels merge": (12, TEXTS),
    "labels assessors": (12, TEXTS),
    "labels aware": (3.8, TEXTS),
    "labels effect": (3, TEXTS),
    "answers nuggets": (18, TEXTS),
    "answers citations": (36, TEXTS),
    "answers one-click": (5, TEXTS),
    "answers passages": (17, TEXTS),
    "answers verticals": (10.5, TEXTS),
    "answers preferences": (10.5, TEXTS),
    "answers trailtext": (24, TEXTS),
    "answers sessions": (27, TEXTS),
    "gate history": (6.9, TEXTS),
    "machine label": (4.7, TEXTS),
    "answers rouge": (3.5, TEXTS),
    "meta users": (45, TEXTS),
    "ab assign": (22, TEXTS),
    "pool build": (8.4, "the documents of a pool are Python texts before they are written"),
    "pool join": (3.3, TEXTS),
    "fuse": (3.2, "the lists of all runs, and the fused list"),
    "clicks calibrate": (3.4, ENGINE),
    "log preferences": (6.3, ENGINE),
    **dict.fromkeys(("log check", "log sessions", "log measures"), (4, ENGINE)),
    "log satisfaction": (4.4, ENGINE),
    **dict.fromkeys(("log documents", "ab aa"), (6, ENGINE)),
    "ab analyse": (4.5, ENGINE),
    "ndeval": (2.8, TEXTS),
    **dict.fromkeys(("clicks fit", "clicks evaluate", "clicks judgments"), (20, ENGINE)),
    "simulate-time": (6.3, "the lengths of documents, and the gains of simulated users"),
    "fairness": (4.8, "the groups of every document, as Python texts"),
    "machine audit": (6.3, "two sets of judgments are compared document by document"),
    **dict.fromkeys(
        ("pool bias", "pool simulate", "meta robust", "meta tests"), (4.6, "the lists are copied under other judgments")
    ),
    **dict.fromkeys(
        ("collection split", "collection shard", "meta loo", "meta inform"),
        (2.5, "all files are held at once, with their ranks"),
    ),
}
"""Verbs that need more than twice their input, how much more at most, and why."""
for _verb, (_memory, _why) in MEMORY.items():
    _cases = ENTRIES[_verb]
    assert not isinstance(_cases, str)
    ENTRIES[_verb] = [
        case._replace(memory=max(case.memory, _memory), why="; ".join(filter(None, [case.why, _why])))
        for case in _cases
    ]
