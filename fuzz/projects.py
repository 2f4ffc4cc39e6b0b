"""Files of projects: studies, collections, rules, campaigns, judging projects, and the history of a gate."""

from __future__ import annotations

import json
import os
import random
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from fuzzing import Target, attempt
from mutation import PIECES, mutate, mutated, mutated_json, mutated_toml

from cranfield.building.campaign.campaign_config import FILE, read_config, starter
from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_setup import import_campaign, init_campaign
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.campaign.submitting import submit
from cranfield.building.pools.pool_file import Pool
from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.importing import import_log
from cranfield.building.serve.project.judging_project import prepare, read_documents, read_facets, read_pairs
from cranfield.building.serve.project.judging_status import status
from cranfield.building.serve.project.judgment_log import FIELDS
from cranfield.building.serve.project.store import Store
from cranfield.collection.collection_files import read_collections
from cranfield.collection.linting.run_rules import RunRules, check_run, read_track_rules
from cranfield.collection.topics import Topic, Topics
from cranfield.comparison.gate.gate_history import GateHistory
from cranfield.meta.study.study_file import read_study

STUDY = [
    b'title = "t"\noutput = "results"\nmeasures = ["AP", "nDCG@10"]\nseed = 1\n\n[collections.a]\nqrels = "qrels.txt"\n'
    b'runs = ["runs/*.run"]\nteams = "teams.txt"\n\n[methods.correlate]\ncoefficients = ["tau-b", "tau-ap"]\n\n'
    b'[methods.tukey]\nmethod = "compare"\ntest = "randomised-tukey"\ncollections = ["a"]\n',
    b"title: t\nmeasures: [AP, nDCG@10]\ncollections:\n  a: {qrels: q, runs: [r], depth: 10}\n  b: {scores: s.csv}\n"
    b"methods:\n  swap: {}\n  correlate: {coefficients: &x [tau-b, *x]}\n",
    b'{"measures": ["AP"], "seed": 1, "collections": {"a": {"qrels": "q", "runs": "r"}},'
    b' "methods": {"loo": {}, "power": {}}}',
]
COLLECTIONS = [
    b'[collections.a]\nqrels = "a.qrels"\nruns = ["a/*.run", "b"]\n[collections.b]\nqrels = "irds:x"\n'
    b'[collections.b.runs]\nbm25 = "b.run"\n',
]
RULES = [
    b'topics = "input"\ndocument_ids = "input"\n[rules]\ndepth = 10\nleast = 1\nall_topics = true\n'
    b"documents = \"collection\"\ntag = '[A-Z]+'\n",
]
CAMPAIGN = [
    starter("Notes", ["AP", "P@5"], documents="any").encode().replace(b"# ", b""),
    b'name = "x"\nmeasures = ["nDCG@10"]\n[rules]\ndepth = 5\nruns = 2\nsubmissions = 3\nbytes = 1000\n[pool]\n'
    b'method = "mtf"\ndepth = 5\nbudget = 10\n[judging]\nmode = "dimensions"\ndimensions = ["a", "b"]\n'
    b'grades = ["no", "yes"]\noverlap = 2\n[results]\npublic = true\n[phases.submission]\n'
    b"opens = 2027-01-10T00:00:00Z\ncloses = 2027-03-01T23:59:59Z\n",
]
HISTORY = [
    b'{"build": "1", "time": "2026-01-01", "candidate": "a", "passed": true, "means": {"AP": 0.5},'
    b' "digests": {"topics": "x"}}\n'
    b'{"build": "2", "time": "2026-01-02", "candidate": "a", "passed": false, "means": {"AP": 0.4}, "digests": {}}\n',
]
ROW = {
    **dict.fromkeys(FIELDS), "id": 1, "request": "r-1", "topic": "1", "doc": "d1", "assessor": "anna",
    "action": "judge", "state": "graded", "grade": 1.0, "payload": None, "reason": "", "milliseconds": 900,
    "position": 1, "judged_at": "2026-01-01T00:00:00Z", "purpose": "pool", "counted": 1, "guideline": 0,
}  # fmt: skip
LOG = [
    json.dumps(ROW).encode() + b"\n" + json.dumps({**ROW, "id": 2, "request": "r-2", "supersedes": 1}).encode() + b"\n",
]
PARTS = [
    b"topic\tdoc\torder\trun\trank\n1\td1\t1\tbm25\t1\n1\td2\t2\tbm25\t2\n",
    b"1 d1\n1 d2\n",
    b"topic\tfirst\tsecond\n1\td1\td2\n",
    b'{"id": "d1", "title": "a", "text": "b"}\n{"id": "d2", "text": "c"}\n',
    b"topic\tid\ttext\tweight\n1\tn1\ta nugget\t1\n",
    b"id\ttitle\ttext\nd1\ta\tb\n",
    b'{"topic": "1", "id": "n1", "text": "x"}\n',
]
RUN = b"".join(b"%d Q0 d%d %d %d tag\n" % (topic, doc, doc + 1, 9 - doc) for topic in (1, 2) for doc in range(5))


def study_file(path: Path) -> None:
    for suffix in (".toml", ".yaml", ".json"):
        named = path.with_suffix(suffix)
        named.write_bytes(path.read_bytes())
        attempt(read_study, named)


def campaign_file(path: Path) -> None:
    shutil.copyfile(path, path.parent / FILE)
    attempt(read_config, str(path.parent))


def upload(path: Path) -> None:
    """The check of an uploaded run, without its server."""
    for rules in (RunRules(), RunRules(depth=3, least=2, all_topics=False, documents="collection")):
        attempt(check_run, str(path), "run.txt", rules, ["1", "2"], lambda docs: set(docs) - {"d1", "d2"})


def judging_log(path: Path) -> None:
    """A log into a new project, and again."""
    for old in path.parent.glob("project.db*"):
        old.unlink()
    with Store(str(path.parent / "project.db")) as store:
        store.add_topics(Topics([Topic("1", "a")]))
        for _ in range(2):
            attempt(import_log, store, str(path))
        attempt(status, store)


def judging_parts(path: Path) -> None:
    """The files from which a judging project is made."""
    name = str(path)
    attempt(Pool.read, path)
    attempt(read_pairs, name)
    attempt(lambda: list(read_documents(name)))
    for kind in ("intent", "nugget"):
        attempt(read_facets, name, kind)
    for old in path.parent.glob("project.db*"):
        old.unlink()
    with Store(str(path.parent / "project.db")) as store:
        store.add_topics(Topics([Topic("1", "a")]))
        attempt(prepare, store, pool=name)
        attempt(prepare, store, docs=(name,))


@cache
def project_bytes() -> bytes:
    """A small project in SQLite."""
    folder = mkdtemp()
    try:
        with Store(f"{folder}/project.db") as store:
            store.add_topics(Topics([Topic("1", "a")]))
            add_account(store, "anna")
            Path(folder, "log").write_bytes(LOG[0])
            import_log(store, f"{folder}/log")
        return Path(folder, "project.db").read_bytes()
    finally:
        shutil.rmtree(folder)


def database_bytes(rng: random.Random) -> bytes:
    data = bytearray(project_bytes())
    if rng.random() < 0.2:
        return bytes(data[: rng.randrange(len(data))])
    for _ in range(rng.choice([1, 5, 50])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def database_file(path: Path) -> None:
    for old in path.parent.glob("damaged.db*"):
        old.unlink()
    damaged = path.parent / "damaged.db"
    damaged.write_bytes(path.read_bytes())

    def use() -> None:
        with Store(str(damaged)) as store:
            store.settings()
            status(store)

    attempt(use)


@cache
def exported() -> str:
    """The folder of an exported campaign."""
    folder = mkdtemp()
    Path(folder, "topics.tsv").write_text("1\ta\n2\tb\n")
    init_campaign(f"{folder}/campaign", name="x", topics=f"{folder}/topics.tsv", measures=["AP"])
    with Campaign(f"{folder}/campaign") as campaign:
        add_account(campaign.store, "anna")
        campaign.add_team("red", "Red", "red@example.org", None, 0.0, log=True)
        assert submit(campaign, "red", "run.txt", RUN).submission
        export_campaign(campaign, f"{folder}/files")
    return f"{folder}/files"


def export_bytes(rng: random.Random) -> bytes:
    """The name of a file of the export, and its changed content."""
    names = sorted(name for name in os.listdir(exported()) if os.path.isfile(os.path.join(exported(), name)))
    name = rng.choice(names)
    data = Path(exported(), name).read_bytes()
    if name.endswith(("jsonl", ".json")) and data.strip() and data.count(b"\n") > 1:
        changed = mutated_json([data])(rng) if name.endswith("jsonl") else mutate(data, rng, PIECES)
    else:
        changed = mutated_toml([data])(rng) if name == FILE else mutate(data, rng, PIECES, rng.choice([1, 2, 5]))
    return name.encode() + b"\n" + changed


def export_file(path: Path) -> None:
    name, _, data = path.read_bytes().partition(b"\n")
    for old in ("files", "made"):
        shutil.rmtree(path.parent / old, ignore_errors=True)
    shutil.copytree(exported(), path.parent / "files")
    (path.parent / "files" / name.decode()).write_bytes(data)
    made = attempt(import_campaign, str(path.parent / "made"), str(path.parent / "files"), database="campaign.db")
    if made is not None:
        made.store.close()


TARGETS = {
    "study": Target(lambda rng: (mutated_toml(STUDY[:1]) if rng.random() < 0.3 else mutated(STUDY))(rng), study_file),
    "collections": Target(mutated_toml(COLLECTIONS), lambda path: attempt(read_collections, path)),
    "rules": Target(mutated_toml(RULES), lambda path: attempt(read_track_rules, path)),
    "campaign": Target(mutated_toml(CAMPAIGN), campaign_file),
    "campaign-import": Target(export_bytes, export_file),
    "checked-runs": Target(mutated([RUN]), upload),
    "judging-log": Target(mutated_json(LOG), judging_log),
    "judging-parts": Target(mutated(PARTS), judging_parts),
    "judging-database": Target(database_bytes, database_file),
    "gate-history": Target(
        mutated_json(HISTORY),
        lambda path: attempt(lambda: (history := GateHistory.read(str(path))) and (history.notes, history.columns())),
    ),
}
