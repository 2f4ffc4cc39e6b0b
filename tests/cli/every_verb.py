"""Every verb with files that it can read: for tests that give each verb other files, or other values of options.

Verbs come from the parser, so a new one is in these tests: it is called with the files that its arguments are named
after, or with the words of `WORDS`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from cranfield.cli import GROUPS, VERBS, find
from cranfield.cli.declare import Parameter, declared
from tests.cli.conftest import in_process

EVERY = (*VERBS, *(f"{word} {verb}" for word, group in GROUPS.items() for verb in group.verbs))
"""All verbs, such as `eval` and `meta power`."""

TOPICS, DOCS = ("T1", "T2", "T3", "T4"), ("D1", "D2", "D3", "D4")


def _run(number: int) -> str:
    docs = DOCS[number:] + DOCS[:number]
    return "".join(f"{t} Q0 {d} {rank} {9 - rank} R{number}\n" for t in TOPICS for rank, d in enumerate(docs, 1))


def _lines(head: str, rows: list[str]) -> str:
    return "\n".join([head, *rows]) + "\n"


def _json_lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


_SHOWN = [
    {"position": 1, "doc": "D1", "team": "R1", "credit": [1.0, 0.0], "ranks": [1, 0]},
    {"position": 2, "doc": "D3", "team": "R2", "credit": [0.0, 1.0], "ranks": [2, 1]},
]


def _mixed(number: int, topic: str, method: str) -> dict[str, object]:
    """The record of an interleaved list."""
    named = {"query_id": f"X{number}", "query": topic, "method": method, "length": 2, "seed": number}
    return {**named, "systems": ["R1", "R2"], "shown": _SHOWN, "clicks": [number % 2 + 1]}


FILES = {
    "qrels.txt": "T1 0 D1 2\nT1 0 D2 0\nT2 0 D1 1\nT2 0 D3 0\nT3 0 D2 1\nT3 0 D4 0\nT4 0 D1 1\n",
    "machine.qrels": "T1 0 D1 1\nT1 0 D2 0\nT2 0 D1 0\nT2 0 D3 1\nT3 0 D2 1\nT3 0 D4 0\nT4 0 D1 1\n",
    "a.run": _run(1),
    "b.run": _run(2),
    "c.run": _run(3),
    "topics.tsv": "T1\tX1 one\nT2\ttwo X2\nT3\tthree\nT4\tfour\n",
    "docs.jsonl": _json_lines(*({"id": doc, "text": f"text of {doc}"} for doc in DOCS)),
    "ids.txt": "D1\nD2\nD3\nD4\n",
    "sample.tsv": _lines("topic\tdoc\tprobability\tstratum", [f"{t}\t{d}\t0.5\t1" for t in TOPICS for d in DOCS]),
    "pool.tsv": _lines(
        "topic\tdoc\torder\trun\trank", [f"{t}\t{d}\t{n}\tR1\t{n}" for t in TOPICS for n, d in enumerate(DOCS, 1)]
    ),
    "labels.csv": _lines(
        "topic,doc,assessor,label",
        [f"{t},{d},X{a},{(n + a) % 2}" for t in TOPICS for n, d in enumerate(DOCS) for a in (1, 2, 3)],
    ),
    "scores.csv": _lines(
        "measure,run,topic,value",
        [
            f"{m},R{r},{t},0.{(7 * r + 5 * n + r * n * len(m)) % 9 + 1}"
            for m in ("AP", "RR", "M1")
            for r in (1, 2, 3)
            for n, t in enumerate(TOPICS)
        ],
    ),
    "scores.json": json.dumps(
        {
            "cranfield": "scores",
            "measures": ["AP", "M1"],
            "runs": ["R1", "R2"],
            "topics": list(TOPICS),
            "values": [[[0.1, 0.2, 0.4, 0.2], [0.3, 0.1, 0.9, 0.5]]] * 2,
            "missing_rule": "zero",
            "notes": ["M1"],
        }
    ),
    "classes.tsv": "T1\tX1\nT2\tX1\nT3\tX2\nT4\tX1\n",
    "teams.txt": "R1\tX1\nR2\tX2\nR3\tX2\n",
    "groups.tsv": "D1\tX1\nD2\tX2\nD3\tX2\nD4\tX1\n",
    "lengths.tsv": "D1\t100\nD2\t200\nD3\t300\nD4\t50\n",
    "times.tsv": "".join(f"R{r}\t{t}\t{r}\n" for r in (1, 2, 3) for t in TOPICS),
    "queries.txt": "query\tcount\tuser\nX1\t50\ta\nmaps\t30\ta\nnews X2\t20\tc\n",
    "study.toml": (
        '[collections.X4]\nqrels = "qrels.txt"\nruns = ["*.run"]\n[methods.correlate]\nmeasures = ["AP", "M1"]\n'
    ),
    "rules.toml": '[rules]\ntag = "R1"\ndepth = 5\n',
    "outline.toml": 'title = "X1"\nsections = ["methods"]\n',
    "collections.toml": '[collections.X4]\nqrels = "qrels.txt"\nruns = ["a.run", "b.run", "c.run"]\n',
    "oec.toml": 'name = "shop"\n[[parts]]\nmeasure = "M3"\nweight = 1\n',
    "columns.toml": 'query_id = "query_id"\n',
    "predictors.csv": "topic,X1\nT1,0.1\nT2,0.4\nT3,0.3\nT4,0.2\n",
    "ratings.csv": _lines(
        "user,topic,run,rating",
        [f"X{u},{t},R{r},{(u + r + n) % 5}" for u in (1, 2) for r in (1, 2, 3) for n, t in enumerate(TOPICS)],
    ),
    "document-preferences.csv": "topic,first,second,preferred\nT1,D1,D2,D1\nT2,D1,D2,D2\n",
    "preferences.csv": "topic,first,second,preferred\nT1,R1,R2,R1\nT2,R1,R2,R2\n",
    "outcomes.tsv": "R1\tR2\t0.2\nR1\tR3\t-0.1\nR2\tR3\t0.3\n",
    "factors.csv": "run,X1\nR1,a\nR2,b\nR3,b\n",
    "history.jsonl": _json_lines(
        {
            "build": "1",
            "time": "2026-11-18T10:59:17+00:00",
            "candidate": "R1",
            "passed": True,
            "means": {"M1": 0.5},
            "digests": {"judgments": "X1"},
        }
    ),
    "texts.jsonl": _json_lines({"topic": "T1", "text": "police X1 the gunman"}, {"topic": "T2", "text": "a dog barks"}),
    "references.tsv": "T1\tpolice killed the X1\nT2\tdogs bark\n",
    "nuggets.tsv": (
        "topic\tnugget\ttype\tweight\ttext\nT1\tX1\tvital\t2\tpolice kill gunman\nT2\tX2\tokay\t1\tdogs bark\n"
    ),
    "assignments.tsv": "topic\trun\tnugget\tsupport\nT1\ttexts\tX1\tsupport\nT2\ttexts\tX2\tpartial\n",
    "cited.jsonl": _json_lines(
        {"run_id": "R1", "topic_id": "T1", "references": ["D1"], "answer": [{"text": "X1.", "citations": [0]}]}
    ),
    "support.tsv": "run\ttopic\tsentence\tcitation\tsupport\nR1\tT1\t1\tD1\tsupport\n",
    "iunits.tsv": "topic\tiunit\tweight\tvital_string\nT1\tX1\t1\tgunman\n",
    "spans.tsv": "topic\tiunit\trun\tstart\tend\nT1\tX1\ttexts\t14\t20\n",
    "relevant.tsv": "topic\tdoc\tstart\tend\nT1\tD1\t0\t10\n",
    "passages.tsv": "topic\tdoc\tstart\tend\trank\nT1\tD1\t5\t15\t1\n",
    "pages.tsv": "topic\tblock\tvertical\tdoc\nT1\t1\tX1\tD1\n",
    "orientation.tsv": "topic\tvertical\torientation\nT1\tX1\t1\n",
    "trailtext.tsv": "topic\tgain\tlength\n1\t0\t200\n1\t1\t100\n",
    "order.csv": "better,worse\n11,10\n10,00\n",
    "gold-classes.csv": "item,label\nD1,1\nD2,2\n",
    "classes.csv": "item,label\nD1,1\nD2,1\n",
    "sessions.jsonl": _json_lines(
        {"session": "X1", "topic": "T1", "query": 1, "list": ["D1", "D2"], "clicks": [{"doc": "D2", "time": 3}]}
    ),
    "users.csv": _lines("user,arm,revenue,clicks", [f"u{n},{'AB'[n % 2]},{n % 7},{n % 3}" for n in range(40)]),
    "units.txt": "X1\nX2\nX3\n",
    "clicks.csv": _lines(
        "session,query,position,doc,clicked",
        [f"s{s},{t},{p},{d},{int((s + p) % 3 == 0)}" for s in range(8) for t in TOPICS for p, d in enumerate(DOCS, 1)],
    ),
    "mixed.jsonl": _json_lines(*(_mixed(n, t, "team-draft") for n, t in enumerate(TOPICS))),
    "reused.jsonl": _json_lines(_mixed(1, "T1", "probabilistic(tau=3)")),
    "log/ubi_queries.jsonl": _json_lines(
        *(
            {
                "query_id": f"q{n}",
                "client_id": f"u{n % 12}",
                "user_query": "X1",
                "timestamp": f"2026-03-02T12:00:{n:02}Z",
                "query_response_hit_ids": ["D1", "D2"],
            }
            for n in range(40)
        )
    ),
    "log/ubi_events.jsonl": _json_lines(
        *(
            {
                "query_id": f"q{n}",
                "client_id": f"u{n % 12}",
                "action_name": "click",
                "timestamp": f"2026-03-02T12:01:{n:02}Z",
                "event_attributes": {"object": {"object_id": "D1"}, "position": {"ordinal": 1}},
            }
            for n in range(40)
        )
    ),
    "judged.csv": _lines("query_id,label", [f"q{n},{n % 2}" for n in range(40)]),
    "decisions.csv": _lines("user,reward,propensity,new", [f"u{n},{n % 2},0.5,{0.25 + n % 2 / 2}" for n in range(30)]),
}
"""Small files of every kind. T, D, R, M, X and a digit: a topic, document, run, measure, or another name."""

NAMES = {"M1": "P@5", "M3": "CTR@5", "X4": "books"}
"""What stands for a name; the others stand for themselves."""

METAVARS = {
    "QRELS": "qrels.txt",
    "RUN": "a.run b.run c.run",
    "[RUN]": "a.run",
    "LABELS": "labels.csv",
    "HUMAN": "qrels.txt",
    "MACHINE": "machine.qrels",
    "SYSTEM": "texts.jsonl",
    "LOG": "log",
    "TABLE": "users.csv",
    "POOL": "pool.tsv",
    "TOPICS": "topics.tsv",
    "DOCS": "docs.jsonl",
    "DATABASE": "judgments.db",
    "DIR": "campaign",
    "MODEL": "model.json",
    "IDS": "units.txt",
    "SPANS": "relevant.tsv",
    "RATINGS": "ratings.csv",
    "QRELS ORIGINAL AGAIN": "qrels.txt a.run b.run",
    "SESSIONS": "sessions.jsonl",
    "PAGES": "pages.tsv",
    "ANSWERS": "cited.jsonl",
    "RUN...": "a.run",
}
"""Files for an argument with this name."""

WORDS = {
    "eval": "qrels.txt a.run b.run -m AP",
    "measures": "nDCG",
    "explain": "qrels.txt a.run --topic T1 -m AP",
    "plot": "boxes -s scores.csv -m AP -o out.csv",
    "efficiency": "qrels.txt a.run b.run c.run -m AP --times times.tsv",
    "fairness": "qrels.txt a.run --groups groups.tsv",
    "simulate-time": "qrels.txt a.run --lengths lengths.tsv",
    "compare": "-s scores.csv -m AP -B 20",
    "leaderboard": "-s scores.csv -B 20",
    "report": "-s scores.csv -o out.html -B 20 --outline outline.toml",
    "power": "-s scores.csv -m AP -d 0.1",
    "collection sample-topics": "queries.txt -n 2",
    "collection split": "--topics topics.tsv --qrels qrels.txt --runs a.run --folder out",
    "collection shard": "qrels.txt a.run --shards 2 --folder out",
    "collection design": "--users 6 --system R1,R2,R3 --topics topics.tsv",
    "labels effect": "labels.csv a.run b.run c.run -m AP --methods majority",
    "machine label": "topics.tsv pool.tsv docs.jsonl --endpoint http://127.0.0.1:9/v1 --model X -o out --attempts 1",
    "pool bias": "qrels.txt a.run b.run c.run --pool-depth 2",
    "clicks calibrate": "log --measure RBP",
    "clicks offpolicy": "decisions.csv --policy new --least-ess 0",
    "answers rouge": "texts.jsonl -r references.tsv",
    "answers bleu": "texts.jsonl -r references.tsv",
    "answers nuggets": "texts.jsonl --assignments assignments.tsv --nuggets nuggets.tsv",
    "answers citations": "cited.jsonl --support support.tsv",
    "answers one-click": "texts.jsonl --iunits iunits.tsv --spans spans.tsv",
    "answers passages": "relevant.tsv passages.tsv",
    "answers verticals": "qrels.txt pages.tsv --orientation orientation.tsv",
    "answers labels": "gold-classes.csv classes.csv",
    "answers preferences": "document-preferences.csv a.run b.run",
    "answers trailtext": "trailtext.tsv",
    "validate": "qrels.txt a.run topics.tsv --rules rules.toml",
    "convert": "qrels.txt out.parquet",
    "fuse": "a.run b.run -o out.run",
    "completion": "bash",
    "meta axioms": "-m AP",
    "meta concord": "-s scores.csv -m AP,M1 --gold-measure RR",
    "meta predict": "-s scores.csv -m AP --predictors predictors.csv",
    "meta online": "qrels.txt a.run b.run c.run -m AP,RR --outcomes outcomes.tsv -B 20",
    "meta robust": "qrels.txt a.run b.run c.run -m AP",
    "meta order": "order.csv -m AP",
    "meta scale": "-s scores.csv -m AP",
    "meta study": "study.toml",
    "meta tests": "-s scores.csv -m AP --simulations 20 -B 20",
    "gate check": "qrels.txt b.run --baseline a.run -m AP --margin 9",
    "gate history": "history.jsonl",
    "pool join": "sample.tsv qrels.txt -o out.qrels",
    "pool simulate": "qrels.txt a.run b.run c.run --budgets 2,3",
    "judge demo": "out.db --port 99999",
    "judge serve": "out.db --topics topics.tsv --pool pool.tsv --docs docs.jsonl --port 99999",
    "judge account": "judgments.db X1",
    "judge export": "judgments.db qrels",
    "judge import": "judgments.db qrels.txt --assessor X",
    "judge backup": "judgments.db out.db",
    "campaign init": "out --topics topics.tsv --doc-ids ids.txt",
    "campaign serve": "campaign --port 99999",
    "campaign run": "campaign --team X --command true",
    "campaign report": "campaign -o out.html",
    "campaign export": "campaign out",
    "campaign import": "out files",
    "log satisfaction": "log --labels judged.csv --least 1",
    "log measures": "log --oec oec.toml --least 1",
    "log documents": "log --least 1",
    "log preferences": "log --least 1",
    "machine audit": "qrels.txt machine.qrels a.run b.run c.run -m AP",
    "log demo": "out --users 5 --days 2",
    "ab assign": "units.txt --experiment e --share A=0.5 --share B=0.5",
    "ab analyse": "users.csv --metric revenue",
    "ab power": "users.csv --metric revenue --effect 0.5",
    "ab aa": "users.csv --unit user --metric revenue --splits 20",
    "interleave make": "a.run b.run --length 2",
    "interleave simulate": "qrels.txt a.run b.run --impressions 20",
    "interleave analyse": "mixed.jsonl",
    "interleave power": "mixed.jsonl --delta 0.1",
    "interleave pairs": "a.run",
    "interleave reuse": "reused.jsonl a.run b.run --old a.run --old b.run",
    "clicks fit": "clicks.csv",
    "clicks evaluate": "clicks.csv model.json",
    "clicks simulate": "model.json a.run --simulated-sessions 5 -o out.csv",
    "clicks judgments": "model.json",
    "meta users": "ratings.csv -s scores.csv",
}  # fmt: skip
"""The words of verbs for which the names of their arguments are not enough."""


PLAIN = {"judge demo": "starts a server", "completion": "prints a script"}
"""Verbs that read no file."""


def words_of(verb: str) -> list[str]:
    """Words with which the verb reads all its arguments from the files here."""
    if verb in WORDS:
        return [*verb.split(), *WORDS[verb].split()]
    named = [METAVARS[one.metavar].split() for one in declared(find(verb)) if not one.spellings]
    return [*verb.split(), *(word for words in named for word in words)]


def write_files(folder: Path, name: Callable[[str], str] = lambda mark: NAMES.get(mark, mark)) -> None:
    """Write the files, with names in place of their marks."""
    for file, content in FILES.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(re.sub(r"\b[TDRMX]\d\b", lambda found: name(found[0]), content))


def prepare(folder: Path, name: Callable[[str], str] = lambda mark: NAMES.get(mark, mark)) -> None:
    """Write the files, and what verbs make of them: a click model, a database of judgments, a campaign, its export.

    The current folder must be `folder`.
    """
    from cranfield.building.serve.project import judging_project
    from cranfield.building.serve.project.store import Store

    write_files(folder, name)
    with Store("judgments.db") as store:
        judging_project.prepare(store, topics="topics.tsv", pool="pool.tsv")
    for line in (
        "clicks fit clicks.csv --save model.json",
        "judge import judgments.db qrels.txt --assessor X1",
        "campaign init campaign --topics topics.tsv --doc-ids ids.txt -m P@7",
        "campaign export campaign files",
    ):
        done = in_process(*line.split())
        assert done.code == 0, done.err
    for path in (folder / "campaign/campaign.toml", folder / "files/campaign.toml"):
        path.write_text(path.read_text().replace("P@7", name("M1")))


def tidy(folder: Path) -> None:
    """Remove what a verb wrote to files whose names begin with `out`, and the results of the study."""
    for path in (*folder.glob("out*"), *folder.glob("study-results")):
        if path.name != "outline.toml" and path.name != "outcomes.tsv":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def reading(verb: str) -> list[Parameter]:
    """The arguments and options of a verb that are files to read, or folders and databases."""
    return [one for one in declared(find(verb)) if one.reads or (not one.spellings and one.metavar in METAVARS)]


def each_file() -> list[tuple[str, Parameter]]:
    """Every verb with each of its files to read; an option that verbs share is listed once, except --scores."""
    out, seen = [], set()
    for verb in EVERY:
        for one in reading(verb) if verb not in PLAIN else ():
            shared = bool(one.spellings) and one.spellings[0] != "--scores"
            if not shared or (one.spellings, one.help) not in seen:
                out.append((verb, one))
            seen.add((one.spellings, one.help))
    return out


def with_file(verb: str, parameter: Parameter, file: str) -> list[str]:
    """The words of a verb, where one argument or option is another file."""
    words = words_of(verb)
    if parameter.spellings:
        for spelling in parameter.spellings:
            if spelling in words:
                place = words.index(spelling) + 1
                return [*words[:place], file, *words[place + 1 :]]
        return [*words, parameter.spellings[0], file]
    size = len(verb.split())
    names = [one for one in declared(find(verb)) if not one.spellings]
    place = size + names.index(parameter)
    return [*words[:place], file, *words[place + 1 :]]
